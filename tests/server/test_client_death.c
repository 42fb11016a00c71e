/* SPDX-License-Identifier: GPL-2.0-only */
/* The client dies: its socket is cut, its process is killed, or another session kills its
   connection, at every step of its claim (see crashpoint.c). What was not committed is gone with it
   and the key is free at once; a lease keeps others out until it lapses; the plugin keeps nothing
   of it. */
#include "fixture.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include <sys/socket.h>
#include <sys/wait.h>

#define STATEMENTS_MAX 6

enum death { CUT, KILLED };

struct client {
    MYSQL *sql;
    pthread_t thread;
    const char *const *statements;
    int answered;
    atomic_bool survived;
};

static int start(void **state)
{
    static const char *const options[] = {CRASHPOINT, NULL};

    (void)state;
    fixture_server = server_start(options);
    s1 = server_connect(fixture_server);
    run(s1, "CREATE DATABASE test");
    run(s1, "CREATE TABLE test.work (k VARCHAR(64), KEY (k)) ENGINE=InnoDB");
    set_clock(s1, "2032-01-01 12:00:00");
    run(s1, "CALL idem.ensure_partitions()");
    return 0;
}

static int stop(void **state)
{
    (void)state;
    mysql_close(s1);
    server_stop(fixture_server);
    return 0;
}

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static int64_t stopped(void)
{
    return value_int(s1, "SELECT variable_value FROM information_schema.global_status WHERE "
                         "variable_name = 'crashpoint_stopped'");
}

static bool is_gone(unsigned int error)
{
    return error == 2006 || error == 2013 || error == 1927 || error == 1317 || error == 2055;
}

static void *carry_out(void *data)
{
    struct client *client = data;

    for (; client->statements[client->answered] != NULL; client->answered++)
        if (run_errno(client->sql, "%s", client->statements[client->answered]) != 0)
            return NULL;
    if (run_errno(client->sql, "SET crashpoint_stop_at = 0") == 0)
        atomic_store(&client->survived, true);
    return NULL;
}

/* Runs the statements up to a step, where the client dies. False: it got through. */
static bool die_at(int step, enum death death, const char *key, struct client *client)
{
    client->sql = server_connect(fixture_server);
    run(client->sql, "SET @k = %s", key);
    run(client->sql, "SET crashpoint_stop_at = %d", step);
    pthread_create(&client->thread, NULL, carry_out, client);
    while (!atomic_load(&client->survived) && stopped() == 0)
        pause_ms(1);
    if (!atomic_load(&client->survived)) {
        if (death == CUT)
            shutdown(mysql_get_socket(client->sql), SHUT_RDWR);
        else
            run(s1, "KILL CONNECTION %lu", mysql_thread_id(client->sql));
        run(s1, "SET GLOBAL crashpoint_going = 1");
    }
    pthread_join(client->thread, NULL);
    if (!atomic_load(&client->survived)) {
        wait_until(s1, "SELECT COUNT(*) = 0 FROM information_schema.processlist WHERE id = %lu",
                   mysql_thread_id(client->sql));
        run(s1, "SET GLOBAL crashpoint_going = 0");
        assert_true(is_gone(mysql_errno(client->sql)));
    }
    mysql_close(client->sql);
    return !atomic_load(&client->survived);
}

/* The key is there with its work, or free; and then it is carried out once, here and now. */
static void expect_whole_or_free(const char *key, bool acknowledged)
{
    struct answer answer = begin(s1, PROCEDURE_DOOR, "'p'", key, "NULL");
    bool done = strcmp(answer.state, "DONE") == 0;

    if (!done && (acknowledged || strcmp(answer.state, "CLAIMED") != 0))
        fail_msg("%s: %u %s", key, answer.error, answer.state);
    expect_text(s1, done ? "1" : "0", "SELECT COUNT(*) FROM test.work WHERE k = %s", key);
    if (!done) {
        run(s1, "INSERT INTO test.work VALUES (%s)", key);
        assert_int_equal(commit(s1, PROCEDURE_DOOR, "'p'", key, "NULL", "'[1]'"), 0);
    }
    expect_text(s1, "1", "SELECT COUNT(*) FROM idem.record WHERE scope = '' AND idem_key = %s",
                key);
}

static void walk(const char *const *statements, int count, enum death death)
{
    bool died = true;
    int step;

    for (step = 1; died; step++) {
        const char *key = fresh_key("died");
        struct client client = {.statements = statements};

        died = die_at(step, death, key, &client);
        expect_whole_or_free(key, client.answered == count);
    }
    assert_true(step > 30); /* it has walked */
}

static const char *const by_procedure[] = {
    "CALL idem.begin('p', @k, '{\"n\":1}')",
    "INSERT INTO test.work SELECT @k FROM DUAL WHERE @@in_transaction",
    "CALL idem.commit('p', @k, NULL, '1')", NULL};
static const char *const by_function[] = {
    "SELECT idem_begin('p', @k)",
    "INSERT INTO test.work SELECT @k FROM DUAL WHERE @@in_transaction",
    "SELECT idem_commit('p', @k, '1')", NULL};

static void client_cut_off_at_every_step(void **state)
{
    (void)state;
    walk(by_procedure, 3, CUT);
}

static void connection_killed_at_every_step(void **state)
{
    (void)state;
    walk(by_function, 3, KILLED);
}

static void key_of_a_killed_process_is_free_at_once(void **state)
{
    int ready[2];
    char byte;
    pid_t child;

    (void)state;
    assert_int_equal(pipe(ready), 0);
    child = fork();
    if (child == 0) {
        MYSQL *sql = server_connect(fixture_server);

        begin(sql, UDF_DOOR, "'p'", "'process'", "NULL");
        run(sql, "INSERT INTO test.work VALUES ('process')");
        if (write(ready[1], "x", 1) != 1)
            _exit(1);
        pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_string_equal(begin(s1, UDF_DOOR, "'p'", "'process'", "NULL").state, "IN_PROGRESS");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    wait_until(s1, "SELECT COUNT(*) = 1 FROM information_schema.processlist WHERE user = 'root'");
    expect_whole_or_free("'process'", false);
    close(ready[0]);
    close(ready[1]);
}

/* A lease is kept although its owner died at any step after it was answered, until it lapses; then
   one of those who ask takes over, with a later token, and the dead one's token is worth nothing.
 */
static void case_10_lease_of_a_dead_client_lapses_and_one_takes_over(void **state)
{
    static const char *const lease[] = {"SELECT idem_claim('p', @k)", NULL};
    static const char *const lapse = "SET GLOBAL idem_test_now_us = @@idem_test_now_us + 301000000";
    bool died = true;
    int taken = 0;

    (void)state;
    for (int step = 1; died; step++) {
        const char *key = fresh_key("lease");
        struct client client = {.statements = lease};
        MYSQL *s[3];
        int owners = 0;
        uint64_t token;

        died = die_at(step, step % 2 ? CUT : KILLED, key, &client);
        token = (uint64_t)value_int(s1, "SELECT token FROM idem.record WHERE idem_key = %s", key);
        assert_true(token != 0 || client.answered == 0);
        assert_string_equal(claim(s1, PROCEDURE_DOOR, "'p'", key, "NULL").state,
                            token != 0 ? "IN_PROGRESS" : "CLAIMED");
        if (token == 0)
            continue;
        taken++;
        run(s1, "%s", lapse);
        for (size_t i = 0; i < COUNT(s); i++) {
            struct answer answer;

            s[i] = server_connect(fixture_server);
            answer = claim(s[i], i % 2 ? UDF_DOOR : PROCEDURE_DOOR, "'p'", key, "NULL");
            owners += strcmp(answer.state, "RECLAIMED") == 0 && answer.token > token;
            if (i > 0)
                assert_string_equal(answer.state, "IN_PROGRESS");
        }
        assert_int_equal(owners, 1);
        {
            char old[32];

            snprintf(old, sizeof(old), "%llu", (unsigned long long)token);
            assert_int_equal(finish(s1, UDF_DOOR, "'p'", key, old, "'1'"), 52004);
        }
        for (size_t i = 0; i < COUNT(s); i++)
            mysql_close(s[i]);
    }
    assert_true(taken > 3);
}

static void wait_for_handles(int handles)
{
    wait_until(s1,
               "SELECT variable_value = %d FROM information_schema.global_status WHERE "
               "variable_name = 'idem_sessions'",
               handles);
}

static void sessions_leave_no_handle_behind_however_they_end(void **state)
{
    MYSQL *others[30];

    (void)state;
    wait_for_handles(1); /* of all that died above, too */
    for (size_t i = 0; i < COUNT(others); i++) {
        others[i] = server_connect(fixture_server);
        begin(others[i], i % 2 ? UDF_DOOR : PROCEDURE_DOOR, "'p'", fresh_key("left"), "NULL");
    }
    wait_for_handles(1 + COUNT(others));
    for (size_t i = 0; i < COUNT(others); i++) {
        if (i % 3 == 0)
            shutdown(mysql_get_socket(others[i]), SHUT_RDWR);
        else if (i % 3 == 1)
            run(s1, "KILL CONNECTION %lu", mysql_thread_id(others[i]));
        mysql_close(others[i]);
    }
    wait_for_handles(1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(client_cut_off_at_every_step),
        cmocka_unit_test(connection_killed_at_every_step),
        cmocka_unit_test(key_of_a_killed_process_is_free_at_once),
        cmocka_unit_test(case_10_lease_of_a_dead_client_lapses_and_one_takes_over),
        cmocka_unit_test(sessions_leave_no_handle_behind_however_they_end),
    };

    return cmocka_run_group_tests_name("client death", tests, start, stop);
}
