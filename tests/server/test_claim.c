/* SPDX-License-Identifier: GPL-2.0-only */
/* What a claim answers, through both doors: every state, every refusal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "claims.h"
#include "server.h"

static struct server *server;
static MYSQL *s1, *s2;

static int start(void **state)
{
    (void)state;
    server = server_start(NULL);
    s1 = server_connect(server);
    s2 = server_connect(server);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    mysql_close(s1);
    mysql_close(s2);
    server_stop(server);
    return 0;
}

#define EACH_DOOR(door) for (enum door door = PROCEDURE_DOOR; door <= UDF_DOOR; door++)

static void first_claim_is_claimed_and_replayed_when_done(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        char key[32];
        struct answer answer;

        snprintf(key, sizeof(key), "'first-%d'", door);
        answer = claim(s1, door, "'pay'", key, "'{\"a\":1}'");
        assert_string_equal(answer.state, "CLAIMED");
        assert_int_equal(answer.attempt, 1);
        assert_true(answer.token > 0);
        assert_int_equal(finish(s1, door, "'pay'", key, "NULL", "'{\"receipt\": 7 }'"), 0);
        answer = claim(s2, door, "'pay'", key, "'{ \"a\" : 1.0 }'");
        assert_string_equal(answer.state, "DONE");
        assert_string_equal(answer.result, "{\"receipt\": 7 }");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_claim_is_claimed_and_replayed_when_done),
    };

    return cmocka_run_group_tests_name("claim", tests, start, stop);
}
