/* SPDX-License-Identifier: GPL-2.0-only */
/* Two and more sessions at once: every race that the claim protocol has to decide. The gates are
   open transactions and the test clock; nothing here depends on timing. */
#include "async.h"
#include "fixture.h"

#include <pthread.h>
#include <unistd.h>

#define THREADS_MAX 64

/* ---- the same key at the same moment ----------------------------------------------------------
 */

struct racer {
    pthread_t thread;
    pthread_barrier_t *gate;
    enum door door;
    const char *key;
    int number;
    bool rolls_back;
    bool claimed;
    unsigned int error;
};

static void *race(void *data)
{
    struct racer *racer = data;
    MYSQL *sql = server_connect(fixture_server);
    struct answer answer;

    pthread_barrier_wait(racer->gate);
    answer = begin(sql, racer->door, "'race'", racer->key, "NULL");
    racer->error = answer.error;
    racer->claimed = strcmp(answer.state, "CLAIMED") == 0;
    pthread_barrier_wait(racer->gate);
    if (racer->claimed && racer->rolls_back) {
        run(sql, "ROLLBACK");
    } else if (racer->claimed) {
        run(sql, "INSERT INTO test.orders (note) VALUES (%s)", racer->key);
        racer->error = commit(sql, racer->door, "'race'", racer->key, "NULL", "'{}'");
    }
    mysql_close(sql);
    mysql_thread_end();
    return NULL;
}

/* Runs count racers for one key; returns how many were told CLAIMED. */
static int run_race(int count, const char *key, bool roll_back)
{
    static struct racer racers[THREADS_MAX];
    pthread_barrier_t gate;
    int claimed = 0;

    pthread_barrier_init(&gate, NULL, (unsigned int)count);
    for (int i = 0; i < count; i++) {
        racers[i] = (struct racer){.gate = &gate,
                                   .door = i % 2 == 0 ? PROCEDURE_DOOR : UDF_DOOR,
                                   .key = key,
                                   .rolls_back = roll_back};
        pthread_create(&racers[i].thread, NULL, race, &racers[i]);
    }
    for (int i = 0; i < count; i++) {
        pthread_join(racers[i].thread, NULL);
        assert_int_equal(racers[i].error, 0);
        claimed += racers[i].claimed;
    }
    pthread_barrier_destroy(&gate);
    return claimed;
}

static void case_01_same_key_at_once_is_claimed_by_one(void **state)
{
    const int counts[] = {2, 8, 64};

    (void)state;
    for (int i = 0; i < 3; i++) {
        for (int round = 0; round < 3; round++) {
            const char *key = fresh_key("race");

            assert_int_equal(run_race(counts[i], key, true), 1);
            assert_int_equal(run_race(counts[i], key, false), 1);
            assert_int_equal(run_race(counts[i], key, false), 0);
            expect_text(s1, "1", "SELECT COUNT(*) FROM test.orders WHERE note = %s", key);
        }
    }
}

static void owner_rolls_back_while_others_ask(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        const char *key = fresh_key("rollback");

        run(s1, "BEGIN");
        assert_string_equal(claim(s1, door, "'pay'", key, "NULL").state, "CLAIMED");
        run(s2, "BEGIN");
        assert_string_equal(claim(s2, door, "'pay'", key, "NULL").state, "IN_PROGRESS");
        assert_string_equal(claim(s3, door, "'pay'", key, "NULL").state, "IN_PROGRESS");
        run(s1, "ROLLBACK");
        assert_string_equal(claim(s2, door, "'pay'", key, "NULL").state, "CLAIMED");
        assert_string_equal(claim(s3, door, "'pay'", key, "NULL").state, "IN_PROGRESS");
        run(s2, "ROLLBACK");
    }
}

/* ---- waiting ----------------------------------------------------------------------------------
 */

struct waiter {
    pthread_t thread;
    MYSQL *sql;
    char statement[256];
    unsigned int error;
    char answer[1024];
};

static void *wait_for_key(void *data)
{
    struct waiter *waiter = data;

    waiter->error = run_errno(waiter->sql, "%s", waiter->statement);
    mysql_thread_end();
    return NULL;
}

/* Starts the statement on sql in a thread and returns when the server is executing it. */
static void start_waiting(struct waiter *waiter, MYSQL *sql, const char *format, const char *key)
{
    unsigned long id = mysql_thread_id(sql);

    waiter->sql = sql;
    snprintf(waiter->statement, sizeof(waiter->statement), format, key);
    pthread_create(&waiter->thread, NULL, wait_for_key, waiter);
    wait_for_sleep(s3, id);
}

static void a_wait_ends_when_the_holder_ends(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        const char *key = fresh_key("wait");
        struct waiter waiter;

        run(s1, "BEGIN");
        claim(s1, door, "'pay'", key, "NULL");
        start_waiting(&waiter, s2,
                      door == UDF_DOOR
                          ? "SET @a = idem_claim('pay', %s, NULL, 60000)"
                          : "CALL idem.claim_into('pay', %s, NULL, 60000, @a, @token, @detail)",
                      key);
        finish(s1, door, "'pay'", key, "NULL", "'[7]'");
        run(s1, "COMMIT");
        pthread_join(waiter.thread, NULL);
        assert_int_equal(waiter.error, 0);
        expect_text(s2, "1", "SELECT @a LIKE '%%DONE%%'");
    }
}

static void case_42_kill_and_time_limit_during_a_claim(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        const char *key = fresh_key("kill");
        const char *call = door == UDF_DOOR
                               ? "SELECT idem_claim('pay', %s, NULL, 60000)"
                               : "CALL idem.claim_into('pay', %s, NULL, 60000, @a, @b, @c)";
        struct waiter waiter;
        char limited[300];

        run(s1, "BEGIN");
        claim(s1, door, "'pay'", key, "NULL");
        run(s2, "BEGIN");
        run(s2, "INSERT INTO test.orders (note) VALUES (%s)", key);
        start_waiting(&waiter, s2, call, key);
        run(s3, "KILL QUERY %lu", mysql_thread_id(s2));
        pthread_join(waiter.thread, NULL);
        assert_int_equal(waiter.error, 1317);
        expect_text(s2, "1", "SELECT @@in_transaction");

        snprintf(limited, sizeof(limited), "SET STATEMENT max_statement_time = 0.2 FOR %s",
                 door == UDF_DOOR ? "SELECT idem_claim('pay', %s, NULL, 2000)"
                                  : "CALL idem.claim_into('pay', %s, NULL, 2000, @a, @b, @c)");
        snprintf(waiter.statement, sizeof(waiter.statement), limited, key);
        /* Now and then the server loses its own kill between two statements of a procedure; then
           the wait ends by itself, with an answer. */
        for (int tries = 0; tries < 5; tries++)
            if ((waiter.error = run_errno(s2, "%s", waiter.statement)) != 0)
                break;
        assert_int_equal(waiter.error, 1969);
        expect_text(s2, "1", "SELECT @@in_transaction");

        run(s1, "ROLLBACK");
        run(s2, "COMMIT"); /* the order stays, the key was never taken */
        expect_text(s3, "1", "SELECT COUNT(*) FROM test.orders WHERE note = %s", key);
        assert_string_equal(claim(s3, door, "'pay'", key, "NULL").state, "CLAIMED");
        release(s3, door, "'pay'", key, "NULL");
    }
}

static void a_leased_holder_is_not_waited_for_inside_a_transaction(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        const char *key = fresh_key("leased");

        claim(s1, door, "'pay'", key, "NULL");
        run(s2, "BEGIN");
        /* would never end: the row lock of this very transaction keeps s1 from finishing */
        run(s2, "CALL idem.claim_into('pay', %s, NULL, 60000, @s, @t, @d)", key);
        expect_text(s2, "IN_PROGRESS", "SELECT @s");
        run(s2, "ROLLBACK");
        assert_int_equal(finish(s1, door, "'pay'", key, "NULL", "'{}'"), 0);
    }
}

/* Neither in a function or trigger, whose statement keeps its locks to its end. */
static void a_leased_holder_is_not_waited_for_inside_a_function(void **state)
{
    const char *key = fresh_key("leased");
    int64_t before;

    (void)state;
    run(s1, "CREATE FUNCTION test.waits(k VARBINARY(255)) RETURNS VARCHAR(16) DETERMINISTIC BEGIN"
            " DECLARE s VARCHAR(16); DECLARE t BIGINT UNSIGNED; DECLARE d LONGTEXT;"
            " CALL idem.claim_into('pay', k, NULL, 60000, s, t, d); RETURN s; END");
    claim(s1, PROCEDURE_DOOR, "'pay'", key, "NULL");
    before = value_int(s3, "SELECT query_id FROM information_schema.processlist WHERE id = %lu",
                       mysql_thread_id(s2));
    send_query(s2, "SET @s = test.waits(%s)", key);
    wait_until(s3,
               "SELECT COUNT(*) FROM information_schema.processlist WHERE id = %lu AND query_id <> "
               "%lld AND (command = 'Sleep' OR state = 'User sleep')",
               mysql_thread_id(s2), (long long)before);
    assert_int_equal(finish(s1, PROCEDURE_DOOR, "'pay'", key, "NULL", "'{}'"), 0);
    assert_int_equal(receive(s2), 0);
    expect_text(s2, "IN_PROGRESS", "SELECT @s");
    run(s1, "DROP FUNCTION test.waits");
}

/* ---- snapshots, savepoints, leases -------------------------------------------------------------
 */

static void case_05_snapshot_older_than_the_winner(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        const char *key = fresh_key("snapshot");

        run(s1, "SET SESSION innodb_snapshot_isolation = OFF"); /* ON is the default of 11.8 */
        run(s1, "START TRANSACTION WITH CONSISTENT SNAPSHOT");
        begin(s2, door, "'pay'", key, "NULL");
        commit(s2, door, "'pay'", key, "NULL", "'{\"r\":1}'");
        assert_string_equal(claim(s1, door, "'pay'", key, "NULL").result, "{\"r\":1}");
        run(s1, "ROLLBACK");
        run(s1, "SET SESSION innodb_snapshot_isolation = DEFAULT");
    }
}

static void case_06_snapshot_isolation_raises_1020_and_nothing_else(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        const char *key = fresh_key("isolation");
        struct answer answer;

        run(s1, "SET SESSION innodb_snapshot_isolation = ON");
        run(s1, "START TRANSACTION WITH CONSISTENT SNAPSHOT");
        run(s1, "INSERT INTO test.orders (note) VALUES (%s)", key);
        begin(s2, door, "'pay'", key, "NULL");
        commit(s2, door, "'pay'", key, "NULL", "'{\"r\":1}'");
        answer = claim(s1, door, "'pay'", key, "NULL");
        assert_int_equal(answer.error, 1020);
        assert_string_equal(answer.state, "");
        expect_text(s1, "0", "SELECT @@in_transaction");
        expect_text(s1, "0", "SELECT COUNT(*) FROM test.orders WHERE note = %s", key);
        /* begin's own transaction holds nothing yet: it starts again by itself */
        assert_string_equal(begin(s1, door, "'pay'", key, "NULL").state, "DONE");
        run(s1, "SET SESSION innodb_snapshot_isolation = DEFAULT");
    }
}

/* Finished, not committed, is no replay yet: a claim that looked for it would open a snapshot, and
   pay for it (1020) once it is committed. */
static void case_06_a_duplicate_of_an_uncommitted_finish_opens_no_snapshot(void **state)
{
    (void)state;
    run(s1, "SET SESSION innodb_snapshot_isolation = ON");
    EACH_DOOR(door)
    {
        const char *key = fresh_key("in-flight");

        run(s2, "START TRANSACTION");
        assert_string_equal(claim(s2, door, "'pay'", key, "NULL").state, "CLAIMED");
        assert_int_equal(finish(s2, door, "'pay'", key, "NULL", "'1'"), 0);
        run(s1, "START TRANSACTION");
        assert_string_equal(claim(s1, door, "'pay'", key, "NULL").state, "IN_PROGRESS");
        run(s2, "COMMIT");
        assert_string_equal(claim(s1, door, "'pay'", key, "NULL").state, "DONE");
        run(s1, "ROLLBACK");
    }
    run(s1, "SET SESSION innodb_snapshot_isolation = DEFAULT");
}

static void case_09_savepoint_rollback_takes_the_claim_with_it(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        const char *key = fresh_key("savepoint");
        unsigned long long first;

        run(s1, "BEGIN");
        run(s1, "SAVEPOINT s");
        first = claim(s1, door, "'pay'", key, "NULL").token;
        run(s1, "ROLLBACK TO s");
        assert_int_equal(finish(s1, door, "'pay'", key, "NULL", "'{}'"), 52004);
        assert_true(claim(s1, door, "'pay'", key, "NULL").token > first);
        run(s1, "COMMIT");
        assert_int_equal(finish(s1, door, "'pay'", key, "NULL", "'{}'"), 0);
    }
}

static void case_04_done_is_terminal(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        const char *key = fresh_key("terminal");

        begin(s1, door, "'pay'", key, "NULL");
        commit(s1, door, "'pay'", key, "NULL", "'{\"r\":1}'");
        run(s2, "BEGIN");
        assert_string_equal(claim(s2, door, "'pay'", key, "NULL").state, "DONE");
        run(s2, "ROLLBACK");
        assert_int_equal(finish(s3, door, "'pay'", key, "NULL", "'{\"r\":2}'"), 52004);
        assert_int_equal(finish(s1, door, "'pay'", key, "NULL", "'{\"r\":2}'"), 52004);
        assert_int_equal(release(s1, door, "'pay'", key, "NULL"), 52004);
        assert_string_equal(claim(s3, door, "'pay'", key, "NULL").result, "{\"r\":1}");
    }
}

static void case_10_case_36_lapsed_lease_goes_to_one_and_the_late_owner_is_refused(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        const char *key = fresh_key("lease");
        unsigned long long first;
        struct answer answer;
        char token[32];

        set_clock(s1, NULL);
        clock_with_days("2031-04-01 12:00:00");
        first = claim(s1, door, "'pay'", key, "NULL").token;
        snprintf(token, sizeof(token), "%llu", first);
        clock_with_days("2031-04-01 12:04:59");
        assert_string_equal(claim(s2, door, "'pay'", key, "NULL").state, "IN_PROGRESS");
        assert_int_equal(renew(s1, door, "'pay'", key, token, "300"), 0);
        clock_with_days("2031-04-01 12:09:58");
        assert_string_equal(claim(s2, door, "'pay'", key, "NULL").state, "IN_PROGRESS");
        clock_with_days("2031-04-01 12:10:00");
        run(s2, "BEGIN");
        answer = claim(s2, door, "'pay'", key, "NULL");
        assert_string_equal(answer.state, "RECLAIMED");
        assert_true(answer.token > first);
        assert_string_equal(claim(s3, door, "'pay'", key, "NULL").state, "IN_PROGRESS");
        run(s2, "ROLLBACK");
        assert_string_equal(claim(s3, door, "'pay'", key, "NULL").state, "RECLAIMED");
        assert_int_equal(finish(s1, door, "'pay'", key, token, "'{\"by\":1}'"), 52004);
        assert_int_equal(renew(s1, door, "'pay'", key, token, "10"), 52004);
        assert_int_equal(release(s1, door, "'pay'", key, token), 52004);
        assert_int_equal(checkpoint(s1, door, "'pay'", key, token, "'1'"), 52004);
        assert_int_equal(fail_claim(s1, door, "'pay'", key, token, "'1'", 0), 52004);
        assert_int_equal(finish(s3, door, "'pay'", key, "NULL", "'{\"by\":3}'"), 0);
        assert_string_equal(claim(s1, door, "'pay'", key, "NULL").result, "{\"by\":3}");
    }
}

static void case_32_clock_going_back_never_shortens_a_lease(void **state)
{
    const char *key = fresh_key("clock");

    (void)state;
    clock_with_days("2031-04-03 12:00:00");
    claim(s1, PROCEDURE_DOOR, "'pay'", key, "NULL");
    set_clock(s1, "2031-04-03 10:00:00");
    assert_string_equal(claim(s2, PROCEDURE_DOOR, "'pay'", key, "NULL").state, "IN_PROGRESS");
    set_clock(s1, "2031-04-03 14:00:00");
    assert_string_equal(claim(s2, PROCEDURE_DOOR, "'pay'", key, "NULL").state, "RECLAIMED");
    /* a caller's own clock counts for nothing */
    key = fresh_key("clock");
    run(s1, "SET timestamp = 1, time_zone = '-12:00'");
    claim(s1, PROCEDURE_DOOR, "'pay'", key, "NULL");
    expect_text(s1, "2031-04-03", "SELECT created_on FROM idem.record WHERE idem_key = %s", key);
    run(s1, "SET timestamp = DEFAULT, time_zone = DEFAULT");
}

static void lapsed_lease_follows_the_policy_at_claim_time(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        char unknown[16], fails[16];

        snprintf(unknown, sizeof(unknown), "'unknown%d'", door);
        snprintf(fails, sizeof(fails), "'fails%d'", door);
        run(s1, "CALL idem.set_policy(%s, 10, 'unknown', NULL, NULL, NULL)", unknown);
        run(s1, "CALL idem.set_policy(%s, 10, 'fail', NULL, NULL, NULL)", fails);
        set_clock(s1, NULL);
        clock_with_days("2031-04-05 12:00:00");
        assert_string_equal(claim(s1, door, unknown, "'policy-u'", "NULL").state,
                            door == UDF_DOOR ? "" : "CLAIMED");
        if (door == UDF_DOOR)
            continue; /* the key belongs to the first door's biz_type */
        assert_string_equal(claim(s1, door, fails, "'policy-f'", "NULL").state, "CLAIMED");
        set_clock(s1, "2031-04-05 12:00:11");
        assert_string_equal(claim(s2, door, unknown, "'policy-u'", "NULL").state, "UNKNOWN");
        assert_string_equal(claim(s2, door, fails, "'policy-f'", "NULL").state, "FAILED");
        assert_int_equal(finish(s1, door, unknown, "'policy-u'", "NULL", "'{}'"), 52004);
        run(s1, "CALL idem.resolve(%s, 'policy-u', 'retry', NULL)", unknown);
        assert_string_equal(claim(s2, door, unknown, "'policy-u'", "NULL").state, "RECLAIMED");
    }
}

/* In autocommit a trigger's or function's statement may still fail after the answer, and would take
   back what the policy has just decided. */
static void no_answer_of_a_policy_goes_back_with_a_statement(void **state)
{
    (void)state;
    run(s1, "CALL idem.set_policy('nest-u', NULL, 'unknown', NULL, NULL, NULL)");
    run(s1, "CALL idem.set_policy('nest-f', NULL, 'fail', NULL, NULL, NULL)");
    run(s1, "CREATE TABLE test.nested (biz_type VARCHAR(20)) ENGINE=InnoDB");
    run(s1, "CREATE TRIGGER test.nested BEFORE INSERT ON test.nested FOR EACH ROW BEGIN "
            "CALL idem.claim_into(NEW.biz_type, CONCAT('in-', NEW.biz_type), NULL, 0, @state, "
            "@token, @detail); SIGNAL SQLSTATE '45000'; END");
    run(s1, "SET GLOBAL log_bin_trust_function_creators = ON");
    run(s1, "CREATE FUNCTION test.nested(t VARCHAR(20)) RETURNS INT MODIFIES SQL DATA BEGIN "
            "CALL idem.claim_into(t, CONCAT('in-', t), NULL, 0, @state, @token, @detail); "
            "SIGNAL SQLSTATE '45000'; RETURN 1; END");
    for (int policy = 0; policy < 2; policy++) {
        const char *type = policy == 0 ? "'nest-u'" : "'nest-f'";
        const char *key = policy == 0 ? "'in-nest-u'" : "'in-nest-f'";
        char token[32];

        set_clock(s1, NULL);
        clock_with_days("2031-04-02 12:00:00");
        snprintf(token, sizeof(token), "%llu", claim(s1, PROCEDURE_DOOR, type, key, "NULL").token);
        clock_with_days("2031-04-02 12:30:00");
        expect_errno(s2, 1644, "INSERT INTO test.nested VALUES (%s)", type);
        expect_text(s2, "IN_PROGRESS", "SELECT @state");
        expect_errno(s2, 1644, "SELECT test.nested(%s)", type);
        expect_text(s2, "IN_PROGRESS", "SELECT @state");
        assert_int_equal(finish(s1, PROCEDURE_DOOR, type, key, token, "'1'"), 0);
        expect_errno(s2, 1644, "INSERT INTO test.nested VALUES (%s)", type);
        expect_text(s2, "DONE", "SELECT @state");
    }
    run(s1, "DROP TABLE test.nested");
    run(s1, "DROP FUNCTION test.nested");
}

/* A FAILED or UNKNOWN that was answered must not go back with the asker's transaction, or the late
   owner could still finish what somebody was told has failed. */
static void what_the_policy_decided_is_not_rolled_back(void **state)
{
    (void)state;
    run(s1, "CALL idem.set_policy('lapsing', 10, 'fail', NULL, NULL, NULL)");
    EACH_DOOR(door)
    {
        const char *asked_by_begin = fresh_key("lapse"), *asked_inside = fresh_key("lapse");

        clock_with_days("2031-04-05 12:00:00");
        assert_string_equal(claim(s1, door, "'lapsing'", asked_by_begin, "NULL").state, "CLAIMED");
        assert_string_equal(claim(s1, door, "'lapsing'", asked_inside, "NULL").state, "CLAIMED");
        set_clock(s1, "2031-04-05 12:00:11");
        assert_string_equal(begin(s2, door, "'lapsing'", asked_by_begin, "NULL").state, "FAILED");
        assert_int_equal(finish(s1, door, "'lapsing'", asked_by_begin, "NULL", "'{}'"), 52004);
        run(s2, "BEGIN");
        assert_string_equal(claim(s2, door, "'lapsing'", asked_inside, "NULL").state,
                            "IN_PROGRESS");
        run(s2, "ROLLBACK");
        assert_string_equal(claim(s2, door, "'lapsing'", asked_inside, "NULL").state, "FAILED");
    }
}

/* ---- locks -------------------------------------------------------------------------------------
 */

static void case_08_case_11_a_held_key_is_answered_at_once(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        const char *key = fresh_key("held");

        run(s1, "SET autocommit = 0");
        assert_string_equal(claim(s1, door, "'pay'", key, "NULL").state, "CLAIMED");
        run(s2, "BEGIN");
        run(s2, "INSERT INTO test.orders (note) VALUES (%s)", key);
        assert_string_equal(claim(s2, door, "'pay'", key, "NULL").state, "IN_PROGRESS");
        expect_text(s2, "1", "SELECT @@in_transaction");
        run(s2, "COMMIT");
        expect_text(s3, "1", "SELECT COUNT(*) FROM test.orders WHERE note = %s", key);
        run(s1, "ROLLBACK");
        run(s1, "SET autocommit = 1");
    }
}

static void different_keys_never_block_each_other(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        run(s1, "BEGIN");
        run(s2, "BEGIN");
        for (int i = 0; i < 20; i++) {
            char key[32];

            snprintf(key, sizeof(key), "'neighbour-%d-%02d'", door, i);
            assert_string_equal(claim(i % 2 == 0 ? s1 : s2, door, "'pay'", key, "NULL").state,
                                "CLAIMED");
        }
        run(s1, "ROLLBACK");
        run(s2, "ROLLBACK");
    }
}

static void case_07_after_a_lost_transaction_nothing_looks_owned(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        const char *key = fresh_key("deadlock");
        struct waiter waiter = {.sql = s2};

        run(s1, "CREATE OR REPLACE TABLE test.locks (id INT PRIMARY KEY, n INT) ENGINE=InnoDB");
        run(s1, "INSERT INTO test.locks VALUES (1, 0), (2, 0)");
        begin(s1, door, "'pay'", key, "NULL");
        run(s1, "UPDATE test.locks SET n = 1 WHERE id = 1");
        run(s2, "BEGIN"); /* s2 has written more, so s1 will be the victim */
        run(s2, "INSERT INTO test.orders (note) SELECT 'x' FROM test.seq_1_to_500");
        run(s2, "UPDATE test.locks SET n = 2 WHERE id = 2");
        snprintf(waiter.statement, sizeof(waiter.statement),
                 "UPDATE test.locks SET n = 2 WHERE id = 1");
        pthread_create(&waiter.thread, NULL, wait_for_key, &waiter);
        wait_until(s3, "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE "
                       "VARIABLE_NAME = 'INNODB_ROW_LOCK_CURRENT_WAITS'");
        expect_errno(s1, 1213, "UPDATE test.locks SET n = 1 WHERE id = 2");
        pthread_join(waiter.thread, NULL);
        run(s2, "ROLLBACK");
        expect_text(s1, "0", "SELECT @@in_transaction");
        assert_int_equal(commit(s1, door, "'pay'", key, "NULL", "'{}'"), 52004);
        assert_string_equal(claim(s2, door, "'pay'", key, "NULL").state, "CLAIMED");
    }
}

/* Claims never wait for a lock, so a deadlock cannot be made inside one; the error is put there. */
static void case_07_server_errors_keep_number_and_sqlstate(void **state)
{
    const struct {
        unsigned int number;
        const char *sqlstate;
    } errors[] = {
        {1213, "40001"}, {1020, "HY000"}, {1290, "HY000"}, {1030, "HY000"}, {1114, "HY000"}};

    (void)state;
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        run(s1,
            "CREATE OR REPLACE TRIGGER idem.injected BEFORE INSERT ON idem.record FOR EACH ROW "
            "SIGNAL "
            "SQLSTATE '%s' SET MYSQL_ERRNO = %u, MESSAGE_TEXT = 'injected'",
            errors[i].sqlstate, errors[i].number);
        EACH_DOOR(door)
        {
            struct answer answer = claim(s1, door, "'pay'", fresh_key("injected"), "NULL");

            assert_int_equal(answer.error, errors[i].number);
            assert_string_equal(mysql_sqlstate(s1), errors[i].sqlstate);
            assert_int_equal(consume(s1, door, "'c'", fresh_key("injected"), "NULL").error,
                             errors[i].number);
            if (errors[i].number != 1020)
                assert_int_equal(begin(s1, door, "'pay'", fresh_key("injected"), "NULL").error,
                                 errors[i].number);
            expect_text(s1, "0", "SELECT @@in_transaction");
        }
    }
    run(s1, "DROP TRIGGER idem.injected");
}

struct looper {
    pthread_t thread;
    int number, round; /* each round has keys of its own: a take-over may look plainly, and rightly
                          get 1020 on 11.8 */
    bool random_order;
    int deadlocks, others;
};

static void *loop(void *data)
{
    struct looper *looper = data;
    MYSQL *sql = server_connect(fixture_server);
    unsigned int seed = (unsigned int)looper->number;

    for (int i = 0; i < 150; i++) {
        run(sql, "BEGIN");
        for (int k = 0; k < 3; k++) {
            char key[64];
            struct answer answer;

            if (looper->random_order)
                snprintf(key, sizeof(key), "'m%d-%d'", looper->round, rand_r(&seed) % 40);
            else
                snprintf(key, sizeof(key), "'fresh%d-%d-%d-%d'", looper->round, i, k,
                         looper->number);
            answer =
                claim(sql, looper->number % 2 ? UDF_DOOR : PROCEDURE_DOOR, "'loop'", key, "NULL");
            if (answer.error == 1213)
                looper->deadlocks++;
            else if (answer.error != 0)
                looper->others++;
            if (answer.error == 1213)
                break;
        }
        run(sql, rand_r(&seed) % 2 ? "ROLLBACK" : "COMMIT");
    }
    mysql_close(sql);
    mysql_thread_end();
    return NULL;
}

static void case_02_case_03_no_deadlock_between_claims_in_any_order(void **state)
{
    (void)state;
    for (int round = 0; round < 4; round++) {
        static struct looper loopers[16];

        clock_with_days(round < 2 ? "2031-06-01 12:00:00" : "2031-06-01 23:00:00");
        for (int i = 0; i < 16; i++) {
            loopers[i] = (struct looper){.number = i, .round = round, .random_order = round % 2};
            pthread_create(&loopers[i].thread, NULL, loop, &loopers[i]);
        }
        for (int i = 0; i < 16; i++) {
            pthread_join(loopers[i].thread, NULL);
            assert_int_equal(loopers[i].deadlocks, 0);
            assert_int_equal(loopers[i].others, 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_teardown(name, fixture_settle)
        T(case_01_same_key_at_once_is_claimed_by_one),
        T(owner_rolls_back_while_others_ask),
        T(a_wait_ends_when_the_holder_ends),
        T(case_42_kill_and_time_limit_during_a_claim),
        T(a_leased_holder_is_not_waited_for_inside_a_transaction),
        T(a_leased_holder_is_not_waited_for_inside_a_function),
        T(case_05_snapshot_older_than_the_winner),
        T(case_06_snapshot_isolation_raises_1020_and_nothing_else),
        T(case_06_a_duplicate_of_an_uncommitted_finish_opens_no_snapshot),
        T(case_09_savepoint_rollback_takes_the_claim_with_it),
        T(case_04_done_is_terminal),
        T(case_10_case_36_lapsed_lease_goes_to_one_and_the_late_owner_is_refused),
        T(case_32_clock_going_back_never_shortens_a_lease),
        T(lapsed_lease_follows_the_policy_at_claim_time),
        T(no_answer_of_a_policy_goes_back_with_a_statement),
        T(what_the_policy_decided_is_not_rolled_back),
        T(case_08_case_11_a_held_key_is_answered_at_once),
        T(different_keys_never_block_each_other),
        T(case_07_after_a_lost_transaction_nothing_looks_owned),
        T(case_07_server_errors_keep_number_and_sqlstate),
        T(case_02_case_03_no_deadlock_between_claims_in_any_order),
    };

    return cmocka_run_group_tests_name("interleavings", tests, fixture_start, fixture_stop);
}
