/* SPDX-License-Identifier: GPL-2.0-only */
/* Galera: two nodes that cannot see each other's locks. Of two transactions that would carry out
   the same action, on whatever nodes and in whatever days, one must fail. */
#include "fixture.h"

#include <errmsg.h>
#include <pthread.h>

#include "nodes.h"

#define CONSUMED "SELECT " GLOBAL_STATUS("IDEM_CONSUME_NEW")
#define DUPLICATES "SELECT COUNT(*) - COUNT(DISTINCT k) FROM test.work"

static MYSQL *early;           /* on the second node, from before the plugin was there */
static char second_before[64]; /* the second node before its own part of the installation */

static const char *const both_clocks_at_noon[] = {"2027-01-10 12:00:00", "2027-01-10 12:00:00"};

/* install.sql runs where the library is; the other node has only the file. */
static int start(void **state)
{
    (void)state;
    if (!nodes_start())
        return 0;
    early = server_connect(nodes[1]);
    server_run_sql(nodes[0], "install.sql", "");
    nodes_catch_up();
    snprintf(second_before, sizeof(second_before), "%s",
             value(watch[1],
                   "SELECT CONCAT((SELECT COUNT(*) FROM mysql.func WHERE name LIKE 'idem\\_%%'), "
                   "' functions, version ', (SELECT value FROM idem.meta WHERE name = 'version'), "
                   "', ', " GLOBAL_STATUS("WSREP_CLUSTER_SIZE") ", ' nodes')"));
    nodes_open();
    return 0;
}

static int stop(void **state)
{
    mysql_close(early);
    return nodes_stop(state);
}

static void case_41_install_leaves_a_node_without_the_library_in_the_cluster(void **state)
{
    NEEDS_CLUSTER();
    assert_string_equal(second_before, "0 functions, version 0.1.0, 2 nodes");
    expect_text(a, "1", "SELECT idem_galera()");
    expect_text(b, "1", "SELECT idem_galera()");
    EACH_DOOR(door)
    {
        const char *key = fresh_key("install");

        assert_string_equal(claim(b, door, "'pay'", key, "NULL").state, "CLAIMED");
        nodes_catch_up();
        assert_string_equal(claim(a, door, "'pay'", key, "NULL").state, "IN_PROGRESS");
    }
    /* Safe to run again, anywhere. */
    server_run_sql(nodes[1], "install.sql", "");
    server_run_sql(nodes[0], "install-library.sql", "");
    nodes_expect_equal();
}

/* A claim that stays on its node would be the worst that can happen. */
static void
case_35_a_session_older_than_the_plugin_claims_for_the_cluster_or_not_at_all(void **state)
{
    const char *key;
    struct answer answer;

    NEEDS_CLUSTER();
    key = fresh_key("early");
    run(early, "BEGIN");
    answer = claim(early, UDF_DOOR, "'pay'", key, "NULL");
    assert_int_equal(answer.error, 52006);
    nodes_roll_back(early);
    assert_string_equal(claim(early, UDF_DOOR, "'pay'", key, "NULL").state, "CLAIMED");
    nodes_catch_up();
    assert_string_equal(claim(a, UDF_DOOR, "'pay'", key, "NULL").state, "IN_PROGRESS");
    nodes_expect_equal();
}

static void case_41_what_the_other_nodes_would_not_learn_is_refused(void **state)
{
    MYSQL *off, *old;

    NEEDS_CLUSTER();
    off = server_connect(nodes[0]);
    run(off, "SET SESSION wsrep_on = OFF");
    EACH_DOOR(door)
    {
        assert_int_equal(claim(off, door, "'pay'", "'off'", "NULL").error, 52006);
        assert_int_equal(begin(off, door, "'pay'", "'off'", "NULL").error, 52006);
        assert_int_equal(consume(off, door, "'pay'", "'off'", "NULL").error, 52006);
        assert_int_equal(finish(off, door, "'pay'", "'off'", "1", "NULL"), 52006);
    }
    expect_errno(off, 52006, "CALL idem.reap()");
    expect_errno(off, 52006, "CALL idem.ensure_partitions()");
    mysql_close(off);

    old = server_connect(nodes[0]);
    run(old, "SET SESSION wsrep_OSU_method = 'RSU'");
    expect_errno(old, 52006, "CALL idem.ensure_partitions()");
    expect_errno(old, 52006, "CALL idem.drop_expired()");
    run(old, "SET SESSION binlog_format = 'MIXED'");
    EACH_DOOR(door)
    assert_int_equal(claim(old, door, "'pay'", "'old'", "NULL").error, 52006);
    mysql_close(old);
    expect_text(a, "0", "SELECT COUNT(*) FROM idem.record WHERE idem_key IN ('off', 'old')");
    nodes_expect_equal();
}

/* The binlog of the node is its own matter; and a transaction may begin without BEGIN. */
static void case_41_sessions_without_binlog_or_autocommit_claim_for_the_cluster(void **state)
{
    MYSQL *sql;

    NEEDS_CLUSTER();
    sql = server_connect(nodes[0]);
    EACH_DOOR(door)
    {
        const char *key = fresh_key("session");

        run(sql, "SET SESSION sql_log_bin = 0");
        assert_string_equal(claim(sql, door, "'pay'", key, "NULL").state, "CLAIMED");
        nodes_catch_up();
        assert_string_equal(claim(b, door, "'pay'", key, "NULL").state, "IN_PROGRESS");
        run(sql, "SET SESSION sql_log_bin = 1, autocommit = 0");
        for (int i = 0; i < 2; i++) {
            key = fresh_key("session");
            if (door == UDF_DOOR) {
                assert_int_equal(claim(sql, door, "'pay'", key, "NULL").error, 52006);
                run(sql, "START TRANSACTION");
            }
            assert_string_equal(claim(sql, door, "'pay'", key, "NULL").state, "CLAIMED");
            run(sql, "INSERT INTO test.work (k) VALUES (%s)", key);
            assert_int_equal(finish(sql, door, "'pay'", key, "NULL", "'1'"), 0);
            assert_string_equal(claim(sql, door, "'pay'", key, "NULL").state, "DONE");
            run(sql, "COMMIT");
            assert_string_equal(begin(sql, door, "'pay'", key, "NULL").state, "DONE");
            nodes_catch_up();
            assert_string_equal(claim(b, door, "'pay'", key, "NULL").state, "DONE");
        }
        /* Aborted for the other node: the transaction is gone, and the caller hears of it. */
        key = fresh_key("session");
        assert_string_equal(begin(sql, door, "'pay'", key, "NULL").state, "CLAIMED");
        assert_string_equal(claim(b, door, "'pay'", key, "NULL").state, "CLAIMED");
        nodes_catch_up();
        assert_int_equal(claim(sql, door, "'pay'", key, "NULL").error, 1213);
        run(sql, "SET SESSION autocommit = 1");
    }
    mysql_close(sql);
    nodes_expect_equal();
}

struct job {
    pthread_t thread;
    MYSQL *sql;
    const char *text;
    enum door door;
    const char *key;
    struct answer answer;
    unsigned int error;
};

static void *run_text(void *data)
{
    struct job *job = data;

    job->error = run_errno(job->sql, "%s", job->text);
    mysql_thread_end();
    return NULL;
}

static void *run_claim(void *data)
{
    struct job *job = data;

    job->answer = claim(job->sql, job->door, "'pay'", job->key, "NULL");
    mysql_thread_end();
    return NULL;
}

static void *run_commit(void *data)
{
    struct job *job = data;

    job->error = commit(job->sql, job->door, "'pay'", job->key, "NULL", "'1'");
    mysql_thread_end();
    return NULL;
}

/* Does it on both nodes at the same time. */
static void at_once(void *(*what)(void *), struct job jobs[2])
{
    jobs[0].sql = a;
    jobs[1].sql = b;
    for (int i = 0; i < 2; i++)
        pthread_create(&jobs[i].thread, NULL, what, &jobs[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(jobs[i].thread, NULL);
}

/* Rows of the keys before may just be being applied: for a moment they are in the way, or abort
   what is in theirs. In the middle of a CALL's rows the client library wants no more of the
   connection. */
static void open_claim(int node, enum door door, const char *key)
{
    MYSQL **sql = node == 0 ? &a : &b;

    for (int tries = 0; tries < 100; tries++) {
        struct answer answer = begin(*sql, door, "'pay'", key, "NULL");
        unsigned int error = answer.error;

        if (strcmp(answer.state, "CLAIMED") == 0 &&
            (error = run_errno(*sql, "INSERT INTO test.work (k) VALUES (%s)", key)) == 0)
            return;
        if (error == 0)
            assert_string_equal(answer.state, "IN_PROGRESS");
        else if (!nodes_lost(error) && error != CR_COMMANDS_OUT_OF_SYNC)
            fail_msg("error %u: %s", error, mysql_error(*sql));
        if (run_errno(*sql, "ROLLBACK") == CR_COMMANDS_OUT_OF_SYNC) {
            mysql_close(*sql);
            *sql = server_connect(nodes[node]);
        }
        run(*sql, "SELECT SLEEP(0.01)");
    }
    fail_msg("no claim of %s", key);
}

/* Both nodes claim the key, each by its own clock; one commits and the other one must not. */
static void expect_one_commit(const char *const clocks[2], const char *commit_clock)
{
    const char *const later[] = {commit_clock, commit_clock};

    EACH_DOOR(door)
    {
        for (int first = 0; first < 2; first++) {
            const char *key = fresh_key("one");
            MYSQL *winner, *loser;

            /* The loser learns it before it commits. */
            nodes_set_clocks(clocks);
            open_claim(0, door, key);
            open_claim(1, door, key);
            for (int n = 0; n < 2; n++)
                expect_text(
                    n ? b : a, "1",
                    "SELECT created_on = LEFT('%s', 10) FROM idem.record WHERE idem_key = %s",
                    clocks[n], key);
            if (commit_clock != NULL)
                nodes_set_clocks(later);
            winner = first == 0 ? a : b;
            loser = first == 0 ? b : a;
            assert_int_equal(commit(winner, door, "'pay'", key, "NULL", "'1'"), 0);
            nodes_catch_up();
            assert_int_equal(commit(loser, door, "'pay'", key, "NULL", "'2'"), 1213);
            expect_text(loser, "0", "SELECT @@in_transaction");
            assert_string_equal(claim(loser, door, "'pay'", key, "NULL").state, "DONE");
        }
        for (int i = 0; i < 12; i++) {
            const char *key = fresh_key("race");
            struct job jobs[2] = {{.door = door, .key = key}, {.door = door, .key = key}};

            nodes_set_clocks(clocks);
            open_claim(0, door, key);
            open_claim(1, door, key);
            at_once(run_commit, jobs);
            assert_int_equal(jobs[0].error + jobs[1].error, 1213);
            assert_true(jobs[0].error == 0 || jobs[1].error == 0);
            expect_text(a, "0", "SELECT @@in_transaction");
            expect_text(b, "0", "SELECT @@in_transaction");
        }
    }
    nodes_catch_up();
    expect_text(a, "0", DUPLICATES);
    nodes_expect_equal();
}

static void case_41_same_key_on_both_nodes_commits_once(void **state)
{
    NEEDS_CLUSTER();
    expect_one_commit(both_clocks_at_noon, NULL);
}

static void case_26_same_key_on_two_nodes_on_both_sides_of_midnight(void **state)
{
    NEEDS_CLUSTER();
    expect_one_commit((const char *const[]){"2027-01-10 23:59:59", "2027-01-11 00:00:01"}, NULL);
    expect_one_commit((const char *const[]){"2027-01-13 00:30:00", "2027-01-12 23:30:00"}, NULL);
}

static void case_26_same_key_in_a_transaction_that_is_days_old(void **state)
{
    NEEDS_CLUSTER();
    expect_one_commit((const char *const[]){"2027-01-10 12:00:00", "2027-01-14 12:00:00"},
                      "2027-01-14 12:00:00");
}

/* A row of tomorrow, from the node whose clock is ahead, is newer than this transaction's snapshot.
 */
static void case_26_a_claim_of_the_node_that_is_already_in_tomorrow_is_seen(void **state)
{
    NEEDS_CLUSTER();
    EACH_DOOR(door)
    {
        const char *key = fresh_key("ahead"), *other = fresh_key("other");
        struct answer answer;
        MYSQL *second;

        nodes_set_clocks((const char *const[]){"2027-01-11 00:30:00", "2027-01-10 23:30:00"});
        run(b, "BEGIN");
        run(b, "SELECT COUNT(*) FROM idem.record");
        assert_string_equal(claim(a, door, "'pay'", key, "NULL").state, "CLAIMED");
        nodes_catch_up();
        answer = claim(b, door, "'pay'", key, "NULL");
        if (answer.error != 1020)
            assert_string_equal(answer.state, "IN_PROGRESS");
        nodes_roll_back(b);

        /* And on the same node: who claims after midnight meets who claimed before, but nobody
         * else. */
        key = fresh_key("before");
        run(b, "BEGIN");
        assert_string_equal(claim(b, door, "'pay'", key, "NULL").state, "CLAIMED");
        set_clock(b, "2027-01-11 00:00:01");
        second = server_connect(nodes[1]);
        assert_string_equal(claim(second, door, "'pay'", key, "NULL").state, "IN_PROGRESS");
        assert_string_equal(claim(second, door, "'pay'", other, "NULL").state, "CLAIMED");
        nodes_roll_back(b);
        assert_string_equal(claim(second, door, "'pay'", key, "NULL").state, "CLAIMED");
        mysql_close(second);
    }
    nodes_expect_equal();
}

static void expect_one_lease(const char *const clocks[2], int times)
{
    nodes_set_clocks(clocks);
    EACH_DOOR(door)
    {
        for (int i = 0; i < times; i++) {
            const char *key = fresh_key("lease");
            struct job jobs[2] = {{.door = door, .key = key}, {.door = door, .key = key}};
            int claimed = 0;

            nodes_catch_up();
            at_once(run_claim, jobs);
            for (int n = 0; n < 2; n++) {
                if (strcmp(jobs[n].answer.state, "CLAIMED") == 0)
                    claimed++;
                else if (!nodes_lost(jobs[n].answer.error))
                    assert_string_equal(jobs[n].answer.state, "IN_PROGRESS");
            }
            assert_int_equal(claimed, 1);
        }
    }
    nodes_expect_equal();
}

static void case_41_a_lease_is_given_to_one_node(void **state)
{
    NEEDS_CLUSTER();
    expect_one_lease(both_clocks_at_noon, 40);
    expect_one_lease((const char *const[]){"2027-01-18 00:00:01", "2027-01-17 23:59:00"}, 40);
}

static void case_41_a_released_key_is_taken_over_by_one_node_with_a_later_token(void **state)
{
    NEEDS_CLUSTER();
    EACH_DOOR(door)
    {
        for (int i = 0; i < 12; i++) {
            const char *key = fresh_key("over");
            struct job jobs[2] = {{.door = door, .key = key}, {.door = door, .key = key}};
            struct answer first;
            int won;

            /* Released by the node whose clock is ahead; the other one must go beyond its token. */
            nodes_set_clocks((const char *const[]){"2027-01-10 12:01:00", "2027-01-10 12:00:00"});
            first = claim(a, door, "'pay'", key, "NULL");
            assert_string_equal(first.state, "CLAIMED");
            assert_int_equal(release(a, door, "'pay'", key, "NULL"), 0);
            nodes_catch_up();
            at_once(run_claim, jobs);
            won = strcmp(jobs[0].answer.state, "RECLAIMED") == 0 ? 0 : 1;
            assert_string_equal(jobs[won].answer.state, "RECLAIMED");
            assert_true(jobs[won].answer.token > first.token);
            if (!nodes_lost(jobs[!won].answer.error))
                assert_string_equal(jobs[!won].answer.state, "IN_PROGRESS");
            nodes_catch_up();
            assert_int_equal(finish(won ? b : a, door, "'pay'", key, "NULL", "'1'"), 0);
        }
    }
    nodes_expect_equal();
}

/* Connection ids are counted on each node. */
static void case_41_a_session_with_the_same_id_on_another_node_is_not_the_owner(void **state)
{
    MYSQL *here, *there;

    NEEDS_CLUSTER();
    here = server_connect(nodes[0]);
    there = server_connect(nodes[1]);
    while (mysql_thread_id(here) != mysql_thread_id(there)) {
        MYSQL **behind = mysql_thread_id(here) < mysql_thread_id(there) ? &here : &there;

        mysql_close(*behind);
        *behind = server_connect(nodes[behind == &there]);
    }
    EACH_DOOR(door)
    {
        const char *key = fresh_key("same-id");

        assert_string_equal(claim(here, door, "'pay'", key, "NULL").state, "CLAIMED");
        nodes_catch_up();
        assert_string_equal(claim(there, door, "'pay'", key, "NULL").state, "IN_PROGRESS");
        assert_int_equal(finish(there, door, "'pay'", key, "NULL", "NULL"), 52004);
        assert_int_equal(finish(here, door, "'pay'", key, "NULL", "NULL"), 0);
    }
    mysql_close(here);
    mysql_close(there);
}

/* The look at a record and the write of a stale worker on another node. */
static void case_41_a_fenced_write_and_a_takeover_do_not_both_commit(void **state)
{
    NEEDS_CLUSTER();
    for (int i = 0; i < 12; i++) {
        const char *key = fresh_key("fence");
        struct job jobs[2] = {{.text = "COMMIT"}, {.text = "COMMIT"}};
        struct answer first, second;
        char token[32];

        nodes_set_clocks(both_clocks_at_noon);
        first = claim(a, PROCEDURE_DOOR, "'pay'", key, "NULL");
        snprintf(token, sizeof(token), "%llu", first.token);
        nodes_catch_up();
        run(a, "BEGIN");
        run(a, "INSERT INTO test.work (k) VALUES (%s)", key);
        assert_int_equal(finish(a, UDF_DOOR, "'pay'", key, token, "'1'"), 0);
        set_clock(b, "2027-01-10 13:00:00"); /* there the lease has run out */
        run(b, "BEGIN");
        second = claim(b, UDF_DOOR, "'pay'", key, "NULL");
        assert_string_equal(second.state, "RECLAIMED");
        run(b, "INSERT INTO test.work (k) VALUES (%s)", key);
        assert_int_equal(finish(b, UDF_DOOR, "'pay'", key, "NULL", "'2'"), 0);
        at_once(run_text, jobs);
        assert_int_equal(jobs[0].error + jobs[1].error, 1213);
    }
    nodes_catch_up();
    expect_text(a, "0", DUPLICATES);
    nodes_expect_equal();
}

/* The work of event `i`, which both nodes are sent, is only done when it is NEW; see open_claim().
 */
static void open_batch(MYSQL *sql, int node, int i)
{
    for (int tries = 0; tries < 100; tries++) {
        run(sql, "BEGIN");
        if (run_errno(sql, "SET @answer = idem_consume_many('bill', '[\"x%d-%d\", \"e%d\"]')", node,
                      i, i) == 0 &&
            value_int(sql, "SELECT @answer NOT LIKE '%%IN_PROGRESS%%'") == 1 &&
            run_errno(sql, "INSERT INTO test.work (k) VALUES ('batch-%d')", i) == 0)
            return;
        nodes_roll_back(sql);
        run(sql, "SELECT SLEEP(0.01)");
    }
    fail_msg("event %d is not new on node %d", i, node);
}

static void case_41_a_batch_of_events_is_new_on_one_node(void **state)
{
    NEEDS_CLUSTER();
    nodes_set_clocks((const char *const[]){"2027-01-15 23:59:59", "2027-01-16 00:00:01"});
    for (int i = 0; i < 12; i++) {
        struct job jobs[2] = {{.text = "COMMIT"}, {.text = "COMMIT"}};

        nodes_catch_up();
        open_batch(a, 0, i);
        open_batch(b, 1, i);
        at_once(run_text, jobs);
        assert_int_equal(jobs[0].error + jobs[1].error, 1213);
    }
    nodes_catch_up();
    expect_text(a, "0", DUPLICATES);
    nodes_expect_equal();
}

/* Aborted in the middle of one call: the rest of it must not go on outside the transaction. */
static void case_41_a_batch_that_is_aborted_half_way_leaves_nothing(void **state)
{
    char events[8192] = "[\"first\"";
    char text[9000], consumer[32];

    NEEDS_CLUSTER();
    nodes_set_clocks(both_clocks_at_noon);
    for (int i = 0; i < 500; i++)
        snprintf(events + strlen(events), sizeof(events) - strlen(events), ",\"%d\"%s", i,
                 i == 499 ? "]" : "");
    for (int i = 0; i < 4; i++) {
        struct job job = {.sql = b, .text = text};
        int64_t before = value_int(watch[1], CONSUMED);

        snprintf(consumer, sizeof(consumer), "'half-%d'", i);
        snprintf(text, sizeof(text),
                 i % 2 ? "CALL idem.consume_many(%s, '%s')" : "SELECT idem_consume_many(%s, '%s')",
                 consumer, events);
        run(b, "BEGIN");
        pthread_create(&job.thread, NULL, run_text, &job);
        wait_until(watch[1], CONSUMED " > %lld", (long long)before + 20);
        assert_string_equal(consume(a, UDF_DOOR, consumer, "'first'", "NULL").state, "NEW");
        pthread_join(job.thread, NULL);
        assert_int_equal(job.error, 1213);
        expect_text(b, "0", "SELECT @@in_transaction");
        nodes_catch_up();
        expect_text(watch[0], "1", "SELECT COUNT(*) FROM idem.record WHERE scope = %s", consumer);
    }
    nodes_expect_equal();
}

/* The transaction goes to the other node in pieces, before its commit. */
static void case_41_streaming_replication(void **state)
{
    NEEDS_CLUSTER();
    nodes_set_clocks((const char *const[]){"2027-01-17 23:59:59", "2027-01-18 00:00:01"});
    EACH_DOOR(door)
    {
        const char *key = fresh_key("stream");
        struct answer answer;

        run(a, "SET SESSION wsrep_trx_fragment_unit = 'rows', SESSION wsrep_trx_fragment_size = 1");
        open_claim(0, door, key);
        run(b, "BEGIN");
        answer = claim(b, door, "'pay'", key, "NULL");
        if (!nodes_lost(answer.error))
            assert_string_equal(answer.state, "IN_PROGRESS");
        nodes_roll_back(b);
        assert_int_equal(commit(a, door, "'pay'", key, "NULL", "'1'"), 0);
        nodes_catch_up();
        assert_string_equal(claim(b, door, "'pay'", key, "NULL").state, "DONE");
        run(a, "SET SESSION wsrep_trx_fragment_size = 0");

        key = fresh_key("stream-late");
        open_claim(1, door, key);
        run(a, "SET SESSION wsrep_trx_fragment_size = 1");
        open_claim(0, door, key);
        assert_int_equal(commit(a, door, "'pay'", key, "NULL", "'1'"), 0);
        run(a, "SET SESSION wsrep_trx_fragment_size = 0");
        assert_int_equal(commit(b, door, "'pay'", key, "NULL", "'1'"), 1213);
    }
    expect_text(a, "0", DUPLICATES);
    nodes_expect_equal();
}

static void days_are_not_sealed(void **state)
{
    NEEDS_CLUSTER();
    nodes_set_clocks((const char *const[]){"2027-01-20 12:00:00", "2027-01-20 12:00:00"});
    run(a, "CALL idem.seal_days()");
    assert_non_null(strstr(value(a, "SELECT outcome FROM idem.task WHERE name = 'seal_days'"),
                           "\"outcome\": \"galera\""));
    expect_text(a, "0", "SELECT COUNT(*) FROM idem.live_day WHERE sealed");
    expect_text(a, "0", "SELECT COUNT(*) FROM idem.sealed_day");
}

/* Parking and closing the gap would miss each other on two nodes. */
static void early_events_are_not_parked(void **state)
{
    NEEDS_CLUSTER();
    run(a,
        "CREATE TABLE test.account (id INT PRIMARY KEY, version INT NOT NULL, cents INT NOT NULL "
        "DEFAULT 0) ENGINE=InnoDB");
    run(a, "CALL idem.define_projection('balance', 'test', 'account', 'id', 'version', 'delta')");
    run(a, "CALL idem.set_projection('balance', NULL, TRUE, NULL)");
    run(a, "CALL idem.apply_delta('balance', 7, 1, '{\"cents\": 5}', @o, @e)");
    expect_text(a, "APPLIED", "SELECT @o");
    run(a, "CALL idem.apply_delta('balance', 7, 3, '{\"cents\": 5}', @o, @e)");
    expect_text(a, "GAP", "SELECT @o");
}

/* Its lock on the definition is in the way of the rows that come from the other node. */
static void a_new_definition_aborts_open_transactions_of_the_other_node(void **state)
{
    NEEDS_CLUSTER();
    nodes_catch_up();
    run(b, "BEGIN");
    run(b, "CALL idem.apply_delta('balance', 7, 2, '{\"cents\": 5}', @o, @e)");
    expect_text(b, "APPLIED", "SELECT @o");
    run(a, "CALL idem.set_projection('balance', NULL, FALSE, NULL)");
    nodes_catch_up();
    expect_errno(b, 1213, "COMMIT");
    run(b, "CALL idem.apply_delta('balance', 7, 2, '{\"cents\": 5}', @o, @e)");
    expect_text(b, "APPLIED", "SELECT @o");
}

static void policies_reach_the_other_node(void **state)
{
    NEEDS_CLUSTER();
    run(a, "CALL idem.set_policy('guarded', NULL, 'unknown', NULL, TRUE, FALSE)");
    wait_until(b, "SELECT idem_policy('guarded', 'on_expiry')");
    assert_int_equal(claim(b, UDF_DOOR, "'guarded'", "'x'", "NULL").error, 52001);
}

/* DDL goes through the cluster in order: what is open is aborted, nothing waits, nothing is lost.
 */
static void case_41_partitions_change_under_open_claims_of_the_other_node(void **state)
{
    NEEDS_CLUSTER();
    nodes_set_clocks((const char *const[]){"2027-01-24 12:00:00", "2027-01-24 12:00:00"});
    EACH_DOOR(door)
    {
        const char *key = fresh_key("ddl"), *kept = fresh_key("kept");

        assert_string_equal(claim(b, door, "'pay'", kept, "NULL").state, "CLAIMED");
        open_claim(1, door, key);
        run(a, "SET GLOBAL idem_partitions_ahead = %d", 30 + door);
        run(a, "CALL idem.ensure_partitions()");
        nodes_catch_up();
        assert_int_equal(commit(b, door, "'pay'", key, "NULL", "'1'"), 1213);
        assert_string_equal(claim(a, door, "'pay'", key, "NULL").state, "CLAIMED");
        assert_int_equal(finish(a, door, "'pay'", key, "NULL", "'1'"), 0);
        assert_int_equal(finish(b, door, "'pay'", kept, "NULL", "'1'"), 0);
    }
    /* A day with an unfinished lease of the other node stays, an empty one before it goes. */
    nodes_set_clocks((const char *const[]){"2027-01-24 12:00:00", "2027-01-05 12:00:00"});
    assert_string_equal(claim(b, UDF_DOOR, "'pay'", "'pinned'", "NULL").state, "CLAIMED");
    nodes_catch_up();
    set_clock(a, "2027-02-08 12:00:00");
    run(a, "CALL idem.drop_expired()");
    expect_text(
        a, "2027-01-05 pinned",
        "SELECT GROUP_CONCAT(j.day, ' ', j.outcome) FROM idem.task t, JSON_TABLE(t.outcome, "
        "'$[*]' COLUMNS (day DATE PATH '$.day', outcome VARCHAR(16) PATH '$.outcome')) j "
        "WHERE t.name = 'drop_expired' AND j.day > '2027-01-01' AND j.outcome <> 'dropped'");
    nodes_expect_equal();
    set_clock(b, "2027-02-08 12:00:00");
    expect_text(b, "1", "SELECT COUNT(*) FROM idem.record WHERE idem_key = 'pinned'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_teardown(name, nodes_settle)
        TEST(case_41_install_leaves_a_node_without_the_library_in_the_cluster),
        TEST(case_35_a_session_older_than_the_plugin_claims_for_the_cluster_or_not_at_all),
        TEST(case_41_what_the_other_nodes_would_not_learn_is_refused),
        TEST(case_41_sessions_without_binlog_or_autocommit_claim_for_the_cluster),
        TEST(case_41_same_key_on_both_nodes_commits_once),
        TEST(case_26_same_key_on_two_nodes_on_both_sides_of_midnight),
        TEST(case_26_same_key_in_a_transaction_that_is_days_old),
        TEST(case_26_a_claim_of_the_node_that_is_already_in_tomorrow_is_seen),
        TEST(case_41_a_lease_is_given_to_one_node),
        TEST(case_41_a_released_key_is_taken_over_by_one_node_with_a_later_token),
        TEST(case_41_a_session_with_the_same_id_on_another_node_is_not_the_owner),
        TEST(case_41_a_fenced_write_and_a_takeover_do_not_both_commit),
        TEST(case_41_a_batch_of_events_is_new_on_one_node),
        TEST(case_41_a_batch_that_is_aborted_half_way_leaves_nothing),
        TEST(case_41_streaming_replication),
        TEST(days_are_not_sealed),
        TEST(early_events_are_not_parked),
        TEST(a_new_definition_aborts_open_transactions_of_the_other_node),
        TEST(policies_reach_the_other_node),
        TEST(case_41_partitions_change_under_open_claims_of_the_other_node),
    };

    return cmocka_run_group_tests_name("galera", tests, start, stop);
}
