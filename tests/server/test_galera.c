/* SPDX-License-Identifier: GPL-2.0-only */
/* Galera: two nodes that cannot see each other's locks. Of two transactions that would carry out
   the same action, on whatever nodes and in whatever days, one must fail. */
#include "fixture.h"

#include <errmsg.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "cluster.h"

#define WORK_DIGEST "SELECT CONCAT(COUNT(*), ' ', SUM(CRC32(CONCAT(id, k)))) FROM test.work"
#define CONSUMED "SELECT " GLOBAL_STATUS("IDEM_CONSUME_NEW")
#define DUPLICATES "SELECT COUNT(*) - COUNT(DISTINCT k) FROM test.work"

static struct server *nodes[2];
static MYSQL *a, *b;           /* a session on each node */
static MYSQL *watch[2];        /* and one that takes no part */
static MYSQL *early;           /* on the second node, from before the plugin was there */
static char second_before[64]; /* the second node before its own part of the installation */

static const char *const both_clocks_at_noon[] = {"2027-01-10 12:00:00", "2027-01-10 12:00:00"};

static void catch_up(void)
{
    cluster_catch_up(watch);
}

/* The real clock in between lets the day go back. What comes next begins with nothing under way:
   rows of what was before, when they are just being applied, could abort it (1213). */
static void set_clocks(const char *const utc[2])
{
    catch_up();
    for (int i = 0; i < 2; i++) {
        set_clock(watch[i], NULL);
        if (utc[i] != NULL)
            set_clock(watch[i], utc[i]);
    }
}

/* The transaction is gone because another one was first. 1020 instead of 1213: a row was changed by
   it since this one's snapshot (innodb_snapshot_isolation, which MariaDB 11.8 has on). */
static bool has_lost(unsigned int error)
{
    return error == 1213 || error == 1020;
}

/* One that the other node has just aborted may be told so by its own ROLLBACK; it is over either
 * way. */
static void roll_back(MYSQL *sql)
{
    unsigned int error = run_errno(sql, "ROLLBACK");

    if (error != 0 && !has_lost(error))
        fail_msg("ROLLBACK: error %u: %s", error, mysql_error(sql));
}

/* install.sql runs where the library is; the other node has only the file. */
static int start(void **state)
{
    (void)state;
    if (!cluster_start(nodes))
        return 0;
    early = server_connect(nodes[1]);
    for (int i = 0; i < 2; i++)
        watch[i] = server_connect(nodes[i]);
    server_run_sql(nodes[0], "install.sql", "");
    catch_up();
    snprintf(second_before, sizeof(second_before), "%s",
             value(watch[1],
                   "SELECT CONCAT((SELECT COUNT(*) FROM mysql.func WHERE name LIKE 'idem\\_%%'), "
                   "' functions, version ', (SELECT value FROM idem.meta WHERE name = 'version'), "
                   "', ', " GLOBAL_STATUS("WSREP_CLUSTER_SIZE") ", ' nodes')"));
    server_run_sql(nodes[1], "install-library.sql", "");
    a = server_connect(nodes[0]);
    b = server_connect(nodes[1]);
    run(a, "CREATE DATABASE test");
    run(a, "CREATE TABLE test.work (id INT AUTO_INCREMENT PRIMARY KEY, k VARCHAR(64), KEY (k)) "
           "ENGINE=InnoDB");
    for (int i = 0; i < 2; i++)
        run(i ? b : a, "SET GLOBAL idem_partitions_ahead = 30");
    set_clock(a, "2027-01-01 12:00:00");
    run(a, "CALL idem.ensure_partitions()");
    catch_up();
    run(b, "SET @reloaded = idem_reload()");
    set_clock(a, NULL);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    if (nodes[0] == NULL)
        return 0;
    mysql_close(a);
    mysql_close(b);
    mysql_close(early);
    for (int i = 0; i < 2; i++)
        mysql_close(watch[i]);
    cluster_stop(nodes);
    return 0;
}

static int settle(void **state)
{
    (void)state;
    if (nodes[0] == NULL)
        return 0;
    roll_back(a);
    roll_back(b);
    set_clocks((const char *const[]){NULL, NULL});
    return 0;
}

/* What schema idem holds, as one number. */
static const char *digest(MYSQL *sql)
{
    return value(
        sql, "SELECT CONCAT(COUNT(*), ' ', SUM(CRC32(CONCAT_WS('|', scope, idem_key, created_on, "
             "status, attempt, token, owner_conn, owner_epoch, COALESCE(result, '-'), "
             "COALESCE(lease_until, '-'), updated_at)))) FROM idem.record");
}

static void expect_nodes_equal(void)
{
    char first[64];

    catch_up();
    snprintf(first, sizeof(first), "%s", digest(a));
    assert_string_equal(first, digest(b));
    snprintf(first, sizeof(first), "%s", value(a, WORK_DIGEST));
    expect_text(b, first, WORK_DIGEST);
    expect_text(a, "0", "SELECT COUNT(*) FROM idem.galera_guard");
    expect_text(b, "0", "SELECT COUNT(*) FROM idem.galera_guard");
    expect_text(a, "NULL", "CALL idem.verify()");
    expect_text(b, "2", "SELECT " GLOBAL_STATUS("WSREP_CLUSTER_SIZE"));
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
        catch_up();
        assert_string_equal(claim(a, door, "'pay'", key, "NULL").state, "IN_PROGRESS");
    }
    /* Safe to run again, anywhere. */
    server_run_sql(nodes[1], "install.sql", "");
    server_run_sql(nodes[0], "install-library.sql", "");
    expect_nodes_equal();
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
    roll_back(early);
    assert_string_equal(claim(early, UDF_DOOR, "'pay'", key, "NULL").state, "CLAIMED");
    catch_up();
    assert_string_equal(claim(a, UDF_DOOR, "'pay'", key, "NULL").state, "IN_PROGRESS");
    expect_nodes_equal();
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
    expect_nodes_equal();
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
        catch_up();
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
            catch_up();
            assert_string_equal(claim(b, door, "'pay'", key, "NULL").state, "DONE");
        }
        /* Aborted for the other node: the transaction is gone, and the caller hears of it. */
        key = fresh_key("session");
        assert_string_equal(begin(sql, door, "'pay'", key, "NULL").state, "CLAIMED");
        assert_string_equal(claim(b, door, "'pay'", key, "NULL").state, "CLAIMED");
        catch_up();
        assert_int_equal(claim(sql, door, "'pay'", key, "NULL").error, 1213);
        run(sql, "SET SESSION autocommit = 1");
    }
    mysql_close(sql);
    expect_nodes_equal();
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
        else if (!has_lost(error) && error != CR_COMMANDS_OUT_OF_SYNC)
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
            set_clocks(clocks);
            open_claim(0, door, key);
            open_claim(1, door, key);
            for (int n = 0; n < 2; n++)
                expect_text(
                    n ? b : a, "1",
                    "SELECT created_on = LEFT('%s', 10) FROM idem.record WHERE idem_key = %s",
                    clocks[n], key);
            if (commit_clock != NULL)
                set_clocks(later);
            winner = first == 0 ? a : b;
            loser = first == 0 ? b : a;
            assert_int_equal(commit(winner, door, "'pay'", key, "NULL", "'1'"), 0);
            catch_up();
            assert_int_equal(commit(loser, door, "'pay'", key, "NULL", "'2'"), 1213);
            expect_text(loser, "0", "SELECT @@in_transaction");
            assert_string_equal(claim(loser, door, "'pay'", key, "NULL").state, "DONE");
        }
        for (int i = 0; i < 12; i++) {
            const char *key = fresh_key("race");
            struct job jobs[2] = {{.door = door, .key = key}, {.door = door, .key = key}};

            set_clocks(clocks);
            open_claim(0, door, key);
            open_claim(1, door, key);
            at_once(run_commit, jobs);
            assert_int_equal(jobs[0].error + jobs[1].error, 1213);
            assert_true(jobs[0].error == 0 || jobs[1].error == 0);
            expect_text(a, "0", "SELECT @@in_transaction");
            expect_text(b, "0", "SELECT @@in_transaction");
        }
    }
    catch_up();
    expect_text(a, "0", DUPLICATES);
    expect_nodes_equal();
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

        set_clocks((const char *const[]){"2027-01-11 00:30:00", "2027-01-10 23:30:00"});
        run(b, "BEGIN");
        run(b, "SELECT COUNT(*) FROM idem.record");
        assert_string_equal(claim(a, door, "'pay'", key, "NULL").state, "CLAIMED");
        catch_up();
        answer = claim(b, door, "'pay'", key, "NULL");
        if (answer.error != 1020)
            assert_string_equal(answer.state, "IN_PROGRESS");
        roll_back(b);

        /* And on the same node: who claims after midnight meets who claimed before, but nobody
         * else. */
        key = fresh_key("before");
        run(b, "BEGIN");
        assert_string_equal(claim(b, door, "'pay'", key, "NULL").state, "CLAIMED");
        set_clock(b, "2027-01-11 00:00:01");
        second = server_connect(nodes[1]);
        assert_string_equal(claim(second, door, "'pay'", key, "NULL").state, "IN_PROGRESS");
        assert_string_equal(claim(second, door, "'pay'", other, "NULL").state, "CLAIMED");
        roll_back(b);
        assert_string_equal(claim(second, door, "'pay'", key, "NULL").state, "CLAIMED");
        mysql_close(second);
    }
    expect_nodes_equal();
}

static void expect_one_lease(const char *const clocks[2], int times)
{
    set_clocks(clocks);
    EACH_DOOR(door)
    {
        for (int i = 0; i < times; i++) {
            const char *key = fresh_key("lease");
            struct job jobs[2] = {{.door = door, .key = key}, {.door = door, .key = key}};
            int claimed = 0;

            catch_up();
            at_once(run_claim, jobs);
            for (int n = 0; n < 2; n++) {
                if (strcmp(jobs[n].answer.state, "CLAIMED") == 0)
                    claimed++;
                else if (!has_lost(jobs[n].answer.error))
                    assert_string_equal(jobs[n].answer.state, "IN_PROGRESS");
            }
            assert_int_equal(claimed, 1);
        }
    }
    expect_nodes_equal();
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
            set_clocks((const char *const[]){"2027-01-10 12:01:00", "2027-01-10 12:00:00"});
            first = claim(a, door, "'pay'", key, "NULL");
            assert_string_equal(first.state, "CLAIMED");
            assert_int_equal(release(a, door, "'pay'", key, "NULL"), 0);
            catch_up();
            at_once(run_claim, jobs);
            won = strcmp(jobs[0].answer.state, "RECLAIMED") == 0 ? 0 : 1;
            assert_string_equal(jobs[won].answer.state, "RECLAIMED");
            assert_true(jobs[won].answer.token > first.token);
            if (!has_lost(jobs[!won].answer.error))
                assert_string_equal(jobs[!won].answer.state, "IN_PROGRESS");
            catch_up();
            assert_int_equal(finish(won ? b : a, door, "'pay'", key, "NULL", "'1'"), 0);
        }
    }
    expect_nodes_equal();
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
        catch_up();
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

        set_clocks(both_clocks_at_noon);
        first = claim(a, PROCEDURE_DOOR, "'pay'", key, "NULL");
        snprintf(token, sizeof(token), "%llu", first.token);
        catch_up();
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
    catch_up();
    expect_text(a, "0", DUPLICATES);
    expect_nodes_equal();
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
        roll_back(sql);
        run(sql, "SELECT SLEEP(0.01)");
    }
    fail_msg("event %d is not new on node %d", i, node);
}

static void case_41_a_batch_of_events_is_new_on_one_node(void **state)
{
    NEEDS_CLUSTER();
    set_clocks((const char *const[]){"2027-01-15 23:59:59", "2027-01-16 00:00:01"});
    for (int i = 0; i < 12; i++) {
        struct job jobs[2] = {{.text = "COMMIT"}, {.text = "COMMIT"}};

        catch_up();
        open_batch(a, 0, i);
        open_batch(b, 1, i);
        at_once(run_text, jobs);
        assert_int_equal(jobs[0].error + jobs[1].error, 1213);
    }
    catch_up();
    expect_text(a, "0", DUPLICATES);
    expect_nodes_equal();
}

/* Aborted in the middle of one call: the rest of it must not go on outside the transaction. */
static void case_41_a_batch_that_is_aborted_half_way_leaves_nothing(void **state)
{
    char events[8192] = "[\"first\"";
    char text[9000], consumer[32];

    NEEDS_CLUSTER();
    set_clocks(both_clocks_at_noon);
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
        catch_up();
        expect_text(watch[0], "1", "SELECT COUNT(*) FROM idem.record WHERE scope = %s", consumer);
    }
    expect_nodes_equal();
}

/* The transaction goes to the other node in pieces, before its commit. */
static void case_41_streaming_replication(void **state)
{
    NEEDS_CLUSTER();
    set_clocks((const char *const[]){"2027-01-17 23:59:59", "2027-01-18 00:00:01"});
    EACH_DOOR(door)
    {
        const char *key = fresh_key("stream");
        struct answer answer;

        run(a, "SET SESSION wsrep_trx_fragment_unit = 'rows', SESSION wsrep_trx_fragment_size = 1");
        open_claim(0, door, key);
        run(b, "BEGIN");
        answer = claim(b, door, "'pay'", key, "NULL");
        if (!has_lost(answer.error))
            assert_string_equal(answer.state, "IN_PROGRESS");
        roll_back(b);
        assert_int_equal(commit(a, door, "'pay'", key, "NULL", "'1'"), 0);
        catch_up();
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
    expect_nodes_equal();
}

static void days_are_not_sealed(void **state)
{
    NEEDS_CLUSTER();
    set_clocks((const char *const[]){"2027-01-20 12:00:00", "2027-01-20 12:00:00"});
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
    catch_up();
    run(b, "BEGIN");
    run(b, "CALL idem.apply_delta('balance', 7, 2, '{\"cents\": 5}', @o, @e)");
    expect_text(b, "APPLIED", "SELECT @o");
    run(a, "CALL idem.set_projection('balance', NULL, FALSE, NULL)");
    catch_up();
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
    set_clocks((const char *const[]){"2027-01-24 12:00:00", "2027-01-24 12:00:00"});
    EACH_DOOR(door)
    {
        const char *key = fresh_key("ddl"), *kept = fresh_key("kept");

        assert_string_equal(claim(b, door, "'pay'", kept, "NULL").state, "CLAIMED");
        open_claim(1, door, key);
        run(a, "SET GLOBAL idem_partitions_ahead = %d", 30 + door);
        run(a, "CALL idem.ensure_partitions()");
        catch_up();
        assert_int_equal(commit(b, door, "'pay'", key, "NULL", "'1'"), 1213);
        assert_string_equal(claim(a, door, "'pay'", key, "NULL").state, "CLAIMED");
        assert_int_equal(finish(a, door, "'pay'", key, "NULL", "'1'"), 0);
        assert_int_equal(finish(b, door, "'pay'", kept, "NULL", "'1'"), 0);
    }
    /* A day with an unfinished lease of the other node stays, an empty one before it goes. */
    set_clocks((const char *const[]){"2027-01-24 12:00:00", "2027-01-05 12:00:00"});
    assert_string_equal(claim(b, UDF_DOOR, "'pay'", "'pinned'", "NULL").state, "CLAIMED");
    catch_up();
    set_clock(a, "2027-02-08 12:00:00");
    run(a, "CALL idem.drop_expired()");
    expect_text(
        a, "2027-01-05 pinned",
        "SELECT GROUP_CONCAT(j.day, ' ', j.outcome) FROM idem.task t, JSON_TABLE(t.outcome, "
        "'$[*]' COLUMNS (day DATE PATH '$.day', outcome VARCHAR(16) PATH '$.outcome')) j "
        "WHERE t.name = 'drop_expired' AND j.day > '2027-01-01' AND j.outcome <> 'dropped'");
    expect_nodes_equal();
    set_clock(b, "2027-02-08 12:00:00");
    expect_text(b, "1", "SELECT COUNT(*) FROM idem.record WHERE idem_key = 'pinned'");
}

#define KEYS 240
#define SESSIONS 12 /* half of them on each node */

struct client {
    pthread_t thread;
    int number;
    long long calls, aborted;
    unsigned int unexpected; /* the first error that should not have been */
    char message[256];
};

static atomic_int open_keys = KEYS;
static atomic_bool key_done[KEYS];
static atomic_bool over;

/* 1213: the other node was first; 1317 when that hit a call in the middle. 52004: the lease ran
   out. 1412: the partitions changed under an old snapshot. 1205: the row is being read by
   duplicates all the time. 2014: 1213 came among the rows of a CALL, and the client library wants
   no more of the connection. */
static bool is_expected(unsigned int error)
{
    return has_lost(error) || error == 1317 || error == 52004 || error == 1412 || error == 1205 ||
           error == CR_COMMANDS_OUT_OF_SYNC;
}

/* The ways to carry out an action; each returns the error that ended it, or 0. */
static unsigned int try_begin(MYSQL *sql, enum door door, const char *key, bool give_up,
                              bool *ret_done)
{
    struct answer answer = begin(sql, door, "'storm'", key, "NULL");
    unsigned int error = answer.error;

    *ret_done = strcmp(answer.state, "DONE") == 0;
    if (error != 0 ||
        (strcmp(answer.state, "CLAIMED") != 0 && strcmp(answer.state, "RECLAIMED") != 0))
        return error;
    if ((error = run_errno(sql, "INSERT INTO test.work (k) VALUES (%s)", key)) != 0)
        return error;
    return give_up ? run_errno(sql, "ROLLBACK") : commit(sql, door, "'storm'", key, "NULL", "'1'");
}

static unsigned int try_lease(MYSQL *sql, enum door door, const char *key, bool give_up,
                              bool *ret_done)
{
    struct answer answer = claim(sql, door, "'storm'", key, "NULL");
    unsigned int error = answer.error;
    char token[32];

    *ret_done = strcmp(answer.state, "DONE") == 0;
    if (error != 0 || answer.token == 0)
        return error;
    snprintf(token, sizeof(token), "%llu", answer.token);
    if (give_up)
        return release(sql, door, "'storm'", key, token);
    if ((error = run_errno(sql, "BEGIN")) != 0 ||
        (error = run_errno(sql, "INSERT INTO test.work (k) VALUES (%s)", key)) != 0 ||
        (error = finish(sql, door, "'storm'", key, token, "'1'")) != 0)
        return error;
    return run_errno(sql, "COMMIT");
}

static unsigned int try_events(MYSQL *sql, enum door door, const char *key, bool give_up)
{
    struct answer answer;
    unsigned int error = run_errno(sql, "BEGIN");

    if (error != 0)
        return error;
    answer = consume(sql, door, "'storm-events'", key, "NULL");
    if (answer.error != 0)
        return answer.error;
    if (strcmp(answer.state, "NEW") == 0 &&
        (error = run_errno(sql, "INSERT INTO test.work (k) VALUES (CONCAT('event ', %s))", key)) !=
            0)
        return error;
    return run_errno(sql, give_up ? "ROLLBACK" : "COMMIT");
}

static void *work(void *data)
{
    struct client *client = data;
    unsigned int seed = (unsigned int)client->number + 1;
    MYSQL *sql = server_connect(nodes[client->number % 2]);

    while (atomic_load(&open_keys) > 0 && client->unexpected == 0) {
        int key =
            (KEYS - atomic_load(&open_keys) + rand_r(&seed) % 8) % KEYS; /* all at the same few */
        enum door door = rand_r(&seed) % 2 ? UDF_DOOR : PROCEDURE_DOOR;
        bool give_up = rand_r(&seed) % 4 == 0, done = false;
        unsigned int error;
        char name[32];

        for (int i = 0; i < KEYS && atomic_load(&key_done[key]); i++)
            key = (key + 1) % KEYS;
        snprintf(name, sizeof(name), "'storm-%d'", key);
        switch (rand_r(&seed) % 3) {
        case 0:
            error = try_begin(sql, door, name, give_up, &done);
            break;
        case 1:
            error = try_lease(sql, door, name, give_up, &done);
            break;
        default:
            error = try_events(sql, door, name, give_up);
        }
        client->calls++;
        if (done && !atomic_exchange(&key_done[key], true))
            atomic_fetch_sub(&open_keys, 1);
        if (error != 0 && !is_expected(error)) {
            client->unexpected = error;
            snprintf(client->message, sizeof(client->message), "%s", mysql_error(sql));
        }
        if (error != 0) {
            client->aborted++;
            if ((error = run_errno(sql, "ROLLBACK")) == 2014) {
                mysql_close(sql);
                sql = server_connect(nodes[client->number % 2]);
            } else if (error != 0 && !has_lost(error)) {
                client->unexpected = error;
            }
        }
    }
    mysql_close(sql);
    mysql_thread_end();
    return NULL;
}

static atomic_uint disturbed; /* the first error of the disturber that should not have been */

/* One that the other node's work has aborted may hear of it in its next statement. */
static void disturb_with(MYSQL *sql, const char *text)
{
    unsigned int error, none = 0;

    while (has_lost(error = run_errno(sql, "%s", text)) && strncmp(text, "SET", 3) == 0)
        continue;
    if (error != 0 && !has_lost(error))
        atomic_compare_exchange_strong(&disturbed, &none, error);
}

/* Midnights all the time, the second node up to an hour behind, and maintenance on both. */
static void *disturb(void *data)
{
    static const char *const tasks[] = {"CALL idem.ensure_partitions()", "CALL idem.reap()",
                                        "CALL idem.drop_expired()", "CALL idem.seal_days()"};
    const int64_t day = INT64_C(86400) * 1000000;
    const struct timespec pause = {.tv_nsec = 10000000};
    MYSQL *sql[2] = {server_connect(nodes[0]), server_connect(nodes[1])};
    int64_t now = INT64_C(1801439999000000); /* 2027-01-31 23:59:59 */
    unsigned int seed = 99;
    char text[80];

    (void)data;
    for (int i = 0; !atomic_load(&over); i++) {
        now = i % 20 == 0 ? now - now % day + day - 100000 : now + 20000;
        for (int n = 0; n < 2; n++) {
            snprintf(text, sizeof(text), "SET GLOBAL idem_test_now_us = %lld",
                     (long long)(now - INT64_C(1800) * 1000000 * n * (i / 20 % 3)));
            disturb_with(sql[n], text);
        }
        if (i % 25 == 0)
            disturb_with(sql[rand_r(&seed) % 2], tasks[i / 25 % 4]);
        nanosleep(&pause, NULL);
    }
    mysql_close(sql[0]);
    mysql_close(sql[1]);
    mysql_thread_end();
    return NULL;
}

static void every_action_is_carried_out_exactly_once_on_either_node(void **state)
{
    static struct client clients[SESSIONS];
    long long calls = 0, aborted = 0;
    pthread_t disturber;

    NEEDS_CLUSTER();
    for (int i = 0; i < 2; i++)
        run(i ? b : a, "SET GLOBAL idem_partitions_ahead = 60");
    set_clocks((const char *const[]){"2027-01-31 12:00:00", "2027-01-31 12:00:00"});
    run(a, "CALL idem.ensure_partitions()");
    catch_up();
    run(b, "SET @reloaded = idem_reload()");
    for (int i = 0; i < SESSIONS; i++) {
        clients[i].number = i;
        pthread_create(&clients[i].thread, NULL, work, &clients[i]);
    }
    pthread_create(&disturber, NULL, disturb, NULL);
    for (int i = 0; i < SESSIONS; i++) {
        pthread_join(clients[i].thread, NULL);
        calls += clients[i].calls;
        aborted += clients[i].aborted;
    }
    atomic_store(&over, true);
    pthread_join(disturber, NULL);
    assert_int_equal(atomic_load(&disturbed), 0);
    for (int i = 0; i < SESSIONS; i++)
        if (clients[i].unexpected != 0)
            fail_msg("error %u: %s", clients[i].unexpected, clients[i].message);

    catch_up();
    print_message(
        "%lld calls for %d keys over %s days, %lld aborted, %s replayed\n", calls, KEYS,
        value(a, "SELECT COUNT(DISTINCT created_on) FROM idem.record WHERE biz_type = 'storm'"),
        aborted, value(b, "SELECT " GLOBAL_STATUS("WSREP_LOCAL_REPLAYS")));
    expect_text(a, "0", DUPLICATES);
    expect_text(a, "240", "SELECT COUNT(*) FROM test.work WHERE k LIKE 'storm-%%'");
    expect_text(a, "240",
                "SELECT COUNT(*) FROM idem.record WHERE biz_type = 'storm' AND status = 1");
    expect_text(a, "0",
                "SELECT COUNT(*) FROM test.work w LEFT JOIN idem.record r ON r.scope = "
                "'storm-events' AND r.idem_key = SUBSTR(w.k, 7) WHERE w.k LIKE 'event %%' "
                "AND r.idem_key IS NULL");
    expect_text(
        a, "0",
        "SELECT COUNT(*) FROM idem.record r LEFT JOIN test.work w ON w.k = CONCAT('event ', "
        "r.idem_key) WHERE r.scope = 'storm-events' AND w.k IS NULL");
    expect_text(a, "1",
                "SELECT COUNT(DISTINCT created_on) > 1 FROM idem.record "
                "WHERE biz_type = 'storm'");
    expect_nodes_equal();
}

/* Last: the node that is left goes on, and the other one comes back with everything. */
static void case_41_a_node_that_was_killed_comes_back_with_every_claim(void **state)
{
    NEEDS_CLUSTER();
    if (!cluster_can_rejoin())
        skip();
    set_clocks((const char *const[]){NULL, NULL});
    mysql_close(b);
    mysql_close(early);
    mysql_close(watch[1]);
    b = early = watch[1] = NULL;
    server_kill(nodes[1], SIGKILL);
    cluster_wait(nodes[0], 1);
    run(a, "CALL idem.ensure_partitions()");
    assert_string_equal(claim(a, UDF_DOOR, "'pay'", "'alone'", "NULL").state, "CLAIMED");
    cluster_rejoin(nodes, 1);
    b = server_connect(nodes[1]);
    watch[1] = server_connect(nodes[1]);
    EACH_DOOR(door)
    assert_string_equal(claim(b, door, "'pay'", "'alone'", "NULL").state, "IN_PROGRESS");
    expect_nodes_equal();
    for (int i = 0; i < 2; i++) {
        assert_false(server_log_contains(nodes[i], "[ERROR] WSREP: Inconsistency"));
        assert_false(server_log_contains(nodes[i], "got signal"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_teardown(name, settle)
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
        TEST(every_action_is_carried_out_exactly_once_on_either_node),
        TEST(case_41_a_node_that_was_killed_comes_back_with_every_claim),
    };

    return cmocka_run_group_tests_name("galera", tests, start, stop);
}
