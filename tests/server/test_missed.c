/* SPDX-License-Identifier: GPL-2.0-only */
/* A KILL QUERY or max_statement_time that hits an UPDATE (from MariaDB 11 on) or a DELETE in a
   procedure may be answered with "0 rows, success", and the procedure goes on. Here that happens on
   purpose: each UPDATE and DELETE of the installed procedures is made to miss once, and every call
   must end as if it had not. Functions and triggers are left as they are: in there a kill is never
   lost. So may a SELECT ... INTO over a range be answered with no row, but never a COUNT. */
#include "fixture.h"

#define INSTALL_SQL IDEM_TEST_SQL_DIR "/install.sql"
#define INSTALL_BYTES (1 << 20)
#define PATCHED_BYTES (1 << 17)
#define WRITES 64
#define PROCEDURE "CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE "

/* Misses the @at-th row that is about to be written from now on; notes the statement in @missed. */
#define MISS "IF((@at := @at - 1) = 0, (@missed := @missed | 1 << %d) IS NULL, TRUE) AND "

static char writers[WRITES][64]; /* the routine of each write */
static int write_count;

/* True when a statement may begin here: at the head of a line, or behind SET STATEMENT ... FOR. */
static bool begins(const char *text, const char *at)
{
    while (at > text && at[-1] == ' ')
        at--;
    return at > text && (at[-1] == '\n' || (at - text > 4 && strncmp(at - 4, " FOR", 4) == 0));
}

/* The next UPDATE or DELETE of a table in a procedure's text, or read that may miss; or NULL. */
static char *next_write(char *text)
{
    static const char *const heads[] = {"UPDATE idem.", "DELETE FROM idem.", "'UPDATE '",
                                        "SELECT r.scope, r.created_on,"};
    char *found = NULL;

    for (size_t i = 0; i < COUNT(heads); i++) {
        char *at = strstr(text, heads[i]);

        while (at != NULL && at[0] != '\'' && !begins(text, at))
            at = strstr(at + 1, heads[i]);
        if (at != NULL && (found == NULL || at < found))
            found = at;
    }
    return found;
}

/* Installs a procedure, `text` without its delimiter, so that its writes can be made to miss. */
static void install_missing(MYSQL *sql, char *text)
{
    char *patched = calloc(1, PATCHED_BYTES), *at = text, *write;
    size_t length = 0;

    assert_non_null(patched);
    while ((write = next_write(at)) != NULL) {
        char *end = strchr(write, ';'), *where = strstr(write, "WHERE ");

        if (end == NULL || where == NULL || where > end || write_count == WRITES) {
            fail_msg("cannot make this miss: %.60s", write);
            break;
        }
        where += strlen("WHERE ");
        length += (size_t)snprintf(patched + length, PATCHED_BYTES - length, "%.*s",
                                   (int)(where - at), at);
        at = where;
        /* Takes back a row after two hours in which the call stood still: out of reach here. */
        if (memmem(where, (size_t)(end - where), "SUBSTRING(v_plan, 11, 20)", 25) != NULL)
            continue;
        length += (size_t)snprintf(patched + length, PATCHED_BYTES - length, MISS, write_count);
        sscanf(text, PROCEDURE "idem.%63[a-z_]", writers[write_count++]);
    }
    if (length > 0)
        run(sql, "%s%s", patched, at);
    free(patched);
}

static int start(void **state)
{
    FILE *file = fopen(INSTALL_SQL, "r");
    char *text = calloc(1, INSTALL_BYTES), *at, *end;

    fixture_start(state);
    assert_true(file != NULL && text != NULL && fread(text, 1, INSTALL_BYTES - 1, file) > 0);
    fclose(file);
    run(s1, "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'");
    /* The read of a day to be sealed finds no row, ever. */
    assert_non_null(at = strstr(text, "LIMIT 4999, 1"));
    memcpy(at, "LIMIT 4999, 0", 13);
    for (at = text; (at = strstr(at, PROCEDURE)) != NULL; at = end) {
        assert_non_null(end = strstr(at, "$$"));
        *end++ = '\0';
        install_missing(s1, at);
    }
    free(text);
    run(s1, "SET @missed = 0");
    run(s1, "SET GLOBAL idem_partitions_ahead = 1");
    run(s1, "CREATE DATABASE shop");
    run(s1, "CREATE TABLE shop.item (id INT PRIMARY KEY, state VARCHAR(16) NOT NULL DEFAULT 'NEW',"
            " version BIGINT UNSIGNED NOT NULL DEFAULT 1, n INT NOT NULL DEFAULT 0)");
    run(s1,
        "CALL idem.define_machine('item', 'shop', 'item', 'id', 'state', '[[\"NEW\",\"OLD\"]]')");
    run(s1, "CALL idem.define_projection('snap', 'shop', 'item', 'id', 'version', 'snapshot')");
    run(s1, "CALL idem.define_projection('delta', 'shop', 'item', 'id', 'version', 'delta')");
    run(s1, "CALL idem.set_projection('delta', NULL, TRUE, NULL)");
    run(s1, "CALL idem.set_policy('lapse', NULL, 'fail', NULL, NULL, NULL)");
    return 0;
}

/* A call with @k, a fresh key, and @id, a fresh id; what it needs before, what is seen after. */
struct deed {
    const char *before[4], *call, *look, *expected;
    bool no_transaction; /* cannot be made in an open one */
};

#define STATUS "SELECT CONCAT_WS(' ', status, result, error) FROM idem.record WHERE idem_key = @k"
#define CLAIM "CALL idem.claim('pay', @k, NULL)"
#define LAPSE                                                                                      \
    "UPDATE idem.record SET lease_until = '2000-01-01', owner_conn = 0 WHERE idem_key = @k"
#define ITEM "INSERT INTO shop.item (id) VALUES (@id)"
#define SHOW_ITEM "SELECT CONCAT_WS(' ', @o, state, version, n) FROM shop.item WHERE id = @id"
#define AUDIT "(SELECT COUNT(*) FROM idem.audit WHERE idem_key = @k AND action = "
#define ADD "'{\"n\":{\"$add\":1}}'"
#define DELTA(version) "CALL idem.apply_delta('delta', @id, " #version ", " ADD ", @o, @e)"

static const struct deed deeds[] = {
    {{CLAIM}, "CALL idem.finish('pay', @k, NULL, '[7]')", STATUS, "1 [7]", false},
    {{CLAIM}, "SELECT idem_finish('pay', @k, '[7]')", STATUS, "1 [7]", false},
    {{CLAIM}, "CALL idem.fail('pay', @k, NULL, '[8]', FALSE)", STATUS, "2 [8]", false},
    {{CLAIM}, "CALL idem.fail('pay', @k, NULL, '[8]', TRUE)", STATUS, "4 [8]", false},
    {{CLAIM}, "CALL idem.release('pay', @k, NULL)", STATUS, "4", false},
    {{CLAIM},
     "CALL idem.renew('pay', @k, NULL, 9000)",
     "SELECT lease_until >= created_at + INTERVAL 9000 SECOND FROM idem.record WHERE idem_key = @k",
     "1",
     false},
    {{CLAIM},
     "CALL idem.checkpoint('pay', @k, NULL, '[9]')",
     "SELECT checkpoint FROM idem.record WHERE idem_key = @k",
     "[9]",
     false},
    {{"CALL idem.begin('pay', @k, NULL)"},
     "CALL idem.commit('pay', @k, NULL, '[7]')",
     STATUS,
     "1 [7]",
     true},
    {{"SELECT idem_begin('pay', @k, NULL)"},
     "SELECT idem_commit('pay', @k, '[7]')",
     STATUS,
     "1 [7]",
     true},
    {{"CALL idem.claim('lapse', @k, NULL)", LAPSE},
     "CALL idem.claim_into('lapse', @k, NULL, 0, @o, @t, @d)",
     "SELECT @o",
     "FAILED",
     true},
    {{CLAIM, LAPSE},
     "CALL idem.reap()",
     "SELECT CONCAT(JSON_VALUE(outcome, '$.released'), ' ', JSON_VALUE(outcome, '$.skipped'), ' ',"
     " (SELECT status FROM idem.record WHERE idem_key = @k)) FROM idem.task WHERE name = 'reap'"
     " AND ended_at IS NOT NULL",
     "1 0 4",
     true},
    {{CLAIM},
     "CALL idem.resolve('pay', @k, 'done', '[7]')",
     "SELECT CONCAT_WS(' ', status, result, " AUDIT "'resolve')) FROM idem.record"
     " WHERE idem_key = @k",
     "1 [7] 1",
     false},
    {{CLAIM},
     "CALL idem.forget('pay', @k)",
     "SELECT CONCAT((SELECT COUNT(*) FROM idem.record WHERE idem_key = @k), ' ', " AUDIT
     "'forget'))",
     "0 1",
     false},
    {{DELTA(3)},
     "CALL idem.forget_parked('delta', @id, NULL)",
     "SELECT CONCAT((SELECT COUNT(*) FROM idem.parked_event WHERE id = @id), ' ', (SELECT COUNT(*)"
     " FROM idem.audit WHERE idem_key = @id AND action = 'forget_parked'))",
     "0 1",
     false},
    {{"CALL idem.define_machine(@k, 'shop', 'item', 'id', 'state', '[[\"NEW\",\"OLD\"]]')"},
     "CALL idem.drop_machine(@k)",
     "SELECT COUNT(*) FROM idem.machine WHERE name = @k",
     "0",
     false},
    {{"CALL idem.define_projection(@k, 'shop', 'item', 'id', 'version', 'delta')"},
     "CALL idem.set_projection(@k, 7, TRUE, 8)",
     "SELECT CONCAT_WS(' ', first_version, park, max_parked) FROM idem.projection WHERE name = @k",
     "7 1 8",
     false},
    {{"CALL idem.define_projection(@k, 'shop', 'item', 'id', 'version', 'delta')"},
     "CALL idem.drop_projection(@k)",
     "SELECT COUNT(*) FROM idem.projection WHERE name = @k",
     "0",
     false},
    {{ITEM},
     "CALL idem.transition('item', @id, 'OLD', " ADD ", @o, @s)",
     SHOW_ITEM,
     "APPLIED OLD 1 1",
     false},
    {{ITEM},
     "CALL idem.apply_snapshot('snap', @id, 5, '{\"n\":6}', @o)",
     SHOW_ITEM,
     "UPDATED NEW 5 6",
     false},
    {{ITEM},
     "CALL idem.compare_and_set('snap', @id, 1, '{\"n\":6}', @o)",
     SHOW_ITEM,
     "APPLIED NEW 2 6",
     false},
    {{ITEM}, DELTA(2), SHOW_ITEM, "APPLIED NEW 2 1", false},
    {{ITEM},
     "CALL idem.consume_and_apply('c', @k, 'delta', @id, 2, " ADD ", @o)",
     SHOW_ITEM,
     "APPLIED NEW 2 1",
     false},
    {{DELTA(2), DELTA(3), DELTA(4)},
     DELTA(1),
     "SELECT CONCAT_WS(' ', @o, @e, version, n, (SELECT COUNT(*) FROM idem.parked_event WHERE"
     " id = @id)) FROM shop.item WHERE id = @id",
     "APPLIED 5 4 4 0",
     false},
};

/* Calls with the n-th write missed; false when the call does not write so often. */
static bool miss(int n, const char *call)
{
    run(s1, "SET @at = %d", n);
    run(s1, "%s", call);
    n = (int)value_int(s1, "SELECT @at");
    run(s1, "SET @at = NULL");
    return n <= 0;
}

static void every_call_ends_as_if_no_write_had_missed(void **state)
{
    int key = 0;

    (void)state;
    for (size_t i = 0; i < COUNT(deeds); i++) {
        const struct deed *deed = &deeds[i];

        for (int inside = 0; inside < (deed->no_transaction ? 1 : 2); inside++) {
            bool more = true;

            for (int n = 1; more; n++) {
                key++;
                run(s1, "SET @k = 'missed-%d', @id = %d, @o = NULL", key, key);
                for (int j = 0; j < 4 && deed->before[j] != NULL; j++)
                    run(s1, "%s", deed->before[j]);
                if (inside)
                    run(s1, "BEGIN");
                more = miss(n, deed->call);
                expect_text(s1, deed->expected, "%s", deed->look);
                if (inside)
                    run(s1, "COMMIT");
                assert_true(more || n > 1);
            }
        }
    }
}

static void a_day_is_not_sealed_before_it_is_marked(void **state)
{
    bool more = true;

    (void)state;
    for (int n = 1; more; n++) {
        char clock[64];

        snprintf(clock, sizeof(clock), "2031-01-%02d 12:00:00", n);
        set_clock(s1, clock);
        run(s1, "CALL idem.ensure_partitions()");
        run(s1, "CALL idem.claim('pay', 'seal-%d', NULL)", n);
        snprintf(clock, sizeof(clock), "2031-01-%02d 03:00:00", n + 1);
        set_clock(s1, clock);
        more = miss(n, "CALL idem.seal_days()");
        expect_text(s1, "1",
                    "SELECT l.sealed AND s.`keys` = 1 FROM idem.live_day l JOIN idem.sealed_day s"
                    " ON s.day = l.day WHERE l.day = '2031-01-%02d'",
                    n);
        assert_true(more || n > 1);
    }
}

static void an_open_writer_is_met_although_the_read_of_its_day_found_nothing(void **state)
{
    (void)state;
    set_clock(s1, "2035-01-01 12:00:00");
    run(s1, "CALL idem.ensure_partitions()");
    run(s2, "BEGIN");
    run(s2, "CALL idem.claim('pay', 'open', NULL)");
    set_clock(s1, "2035-01-02 03:00:00");
    run(s1, "CALL idem.ensure_partitions()");
    run(s1, "CALL idem.seal_days()");
    expect_text(s1, "0", "SELECT COUNT(*) FROM idem.sealed_day WHERE day = '2035-01-01'");
    run(s2, "COMMIT");
    run(s1, "CALL idem.seal_days()");
    expect_text(s1, "1", "SELECT `keys` FROM idem.sealed_day WHERE day = '2035-01-01'");
}

static void what_drop_expired_misses_the_next_call_drops(void **state)
{
    bool more = true;

    (void)state;
    for (int n = 1; more; n++) {
        char clock[64];

        snprintf(clock, sizeof(clock), "%d-01-01 12:00:00", 2040 + n);
        set_clock(s1, clock);
        run(s1, "CALL idem.ensure_partitions()");
        run(s1, "CALL idem.drop_expired()");
        run(s1, "CALL idem.claim('pay', 'drop-%d', NULL)", n);
        run(s1, "CALL idem.release('pay', 'drop-%d', NULL)", n);
        snprintf(clock, sizeof(clock), "%d-03-01 12:00:00", 2040 + n);
        set_clock(s1, clock);
        run(s1, "CALL idem.ensure_partitions()");
        more = miss(n, "CALL idem.drop_expired()");
        run(s1, "CALL idem.drop_expired()");
        expect_text(
            s1, "0",
            "SELECT COUNT(*) FROM idem.live_day WHERE day > '2040-01-01' AND day < idem_today()");
        expect_text(s1, "0", "SELECT COUNT(*) FROM idem.record WHERE idem_key = 'drop-%d'", n);
        assert_true(more || n > 2);
    }
}

/* Last: nobody has added an UPDATE or DELETE that is not tried above. */
static void every_write_has_missed_once(void **state)
{
    (void)state;
    assert_true(write_count > 0);
    for (int i = 0; i < write_count; i++)
        if (value_int(s1, "SELECT @missed >> %d & 1", i) == 0)
            fail_msg("write %d, in %s, was never missed", i, writers[i]);
}

/* An old snapshot shows what is gone: nobody looks again for ever, or takes what came after. */
static void what_others_have_forgotten_is_gone_and_what_came_after_stays(void **state)
{
    (void)state;
    run(s1,
        "CALL idem.define_machine('gone', 'shop', 'item', 'id', 'state', '[[\"NEW\",\"OLD\"]]')");
    run(s1, "CALL idem.claim('pay', 'gone', NULL)");
    run(s1, "SET SESSION innodb_snapshot_isolation = OFF");
    run(s1, "START TRANSACTION WITH CONSISTENT SNAPSHOT");
    run(s2, "CALL idem.drop_machine('gone')");
    run(s2, "CALL idem.forget('pay', 'gone')");
    run(s2, "CALL idem.claim('pay', 'gone', NULL)");
    expect_errno(s1, 52001, "CALL idem.drop_machine('gone')");
    run(s1, "CALL idem.forget('pay', 'gone')");
    run(s1, "COMMIT");
    expect_text(s1, "1", "SELECT COUNT(*) FROM idem.record WHERE idem_key = 'gone'");
    run(s1, "SET SESSION innodb_snapshot_isolation = DEFAULT");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(every_call_ends_as_if_no_write_had_missed, fixture_settle),
        cmocka_unit_test_teardown(a_day_is_not_sealed_before_it_is_marked, fixture_settle),
        cmocka_unit_test_teardown(an_open_writer_is_met_although_the_read_of_its_day_found_nothing,
                                  fixture_settle),
        cmocka_unit_test_teardown(what_drop_expired_misses_the_next_call_drops, fixture_settle),
        cmocka_unit_test(every_write_has_missed_once),
        cmocka_unit_test_teardown(what_others_have_forgotten_is_gone_and_what_came_after_stays,
                                  fixture_settle),
    };

    return cmocka_run_group_tests_name("missed", tests, start, fixture_stop);
}
