/* SPDX-License-Identifier: GPL-2.0-only */
/* A Galera cluster in operation: idemd beside and in front of its nodes, install.sql and
   uninstall.sql on it while the other node works. */
#include "fixture.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "cluster.h"
#include "daemon.h"

static struct server *nodes[2];
static MYSQL *sql[2]; /* a session on each node */

static void connect_to_both(void)
{
    for (int i = 0; i < 2; i++)
        sql[i] = server_connect(nodes[i]);
}

static void disconnect(void)
{
    for (int i = 0; i < 2; i++)
        mysql_close(sql[i]);
}

static void install(void)
{
    server_run_sql(nodes[0], "install.sql", "");
    server_run_sql(nodes[1], "install-library.sql", "");
    connect_to_both();
    cluster_catch_up(sql);
}

static int start(void **state)
{
    (void)state;
    if (!cluster_start(nodes))
        return 0;
    install();
    run(sql[0], "CREATE DATABASE test");
    run(sql[0], "CREATE TABLE test.work (k VARCHAR(64) PRIMARY KEY) ENGINE=InnoDB");
    run(sql[0], "CREATE USER list@127.0.0.1");
    run(sql[0], "GRANT ALL ON *.* TO list@127.0.0.1");
    return 0;
}

static int stop(void **state)
{
    (void)state;
    if (nodes[0] == NULL)
        return 0;
    disconnect();
    cluster_stop(nodes);
    return 0;
}

static void set_intervals(int seconds)
{
    for (int i = 0; i < 2; i++)
        run(sql[i],
            "SET GLOBAL idem_reap_interval_seconds = %d,"
            " GLOBAL idem_maintenance_interval_seconds = %d",
            seconds, seconds);
}

static int fresh(void **state)
{
    (void)state;
    if (nodes[0] == NULL)
        return 0;
    daemon_kill_all();
    for (int i = 0; i < 2; i++)
        set_clock(sql[i], NULL);
    set_intervals(86400);
    run(sql[0], "DELETE FROM idem.record");
    run(sql[0], "DELETE FROM test.work");
    run(sql[0], "CALL idem.ensure_partitions()");
    cluster_catch_up(sql);
    return 0;
}

static void wait_for_log(const struct daemon *daemon, const char *text, int times)
{
    for (int i = 0; i < WAIT_SECONDS * 200 && daemon_log_count(daemon, text) < times; i++)
        usleep(5000);
    assert_in_range(daemon_log_count(daemon, text), times, 1000000);
}

static void expect_no_failure(const struct daemon *daemon)
{
    char command[400];

    snprintf(command, sizeof(command), "! grep -F ' failed; ' '%s' >&2", daemon->log);
    assert_int_equal(system(command), 0);
}

/* Like wait_until(), also while partitions change, which aborts who reads the table (1213). */
static void eventually(MYSQL *observer, const char *condition)
{
    unsigned int error = 1;

    for (int i = 0; i < WAIT_SECONDS * 200 && error != 0; i++) {
        error = run_errno(observer,
                          "BEGIN NOT ATOMIC IF NOT COALESCE((%s), FALSE) THEN"
                          " SIGNAL SQLSTATE '45000'; END IF; END",
                          condition);
        assert_true(error == 0 || error == 1213 || error == 1020 || error == 1644);
        usleep(5000);
    }
    if (error != 0)
        fail_msg("%s: not within %d seconds", condition, WAIT_SECONDS);
}

static void wait_for_runs(MYSQL *observer)
{
    static const char *const tasks[] = {"ensure_partitions", "reap", "seal_days", "drop_expired"};
    long long before[COUNT(tasks)];

    for (size_t i = 0; i < COUNT(tasks); i++)
        before[i] = value_int(observer, "SELECT runs FROM idem.task WHERE name = '%s'", tasks[i]);
    for (size_t i = 0; i < COUNT(tasks); i++)
        wait_until(observer,
                   "SELECT runs > %lld AND failures = 0 AND ended_at IS NOT NULL FROM idem.task"
                   " WHERE name = '%s'",
                   before[i], tasks[i]);
}

/* Each node has its own user lock, so both lead; what one has done the other one need not do. */
static void daemons_of_both_nodes_share_the_tasks(void **state)
{
    struct daemon daemons[2];

    NEEDS_CLUSTER();
    set_intervals(1);
    for (int i = 0; i < 2; i++) {
        daemons[i] = daemon_start(nodes[i], "--log-level=debug");
        daemon_expect_log(&daemons[i], "state=leader");
        daemon_expect_log(&daemons[i], "CALL idem.drop_expired()");
    }
    for (int i = 0; daemon_log_count(&daemons[0], "reap was run by somebody else") +
                        daemon_log_count(&daemons[1], "reap was run by somebody else") <
                    3;
         i++) {
        if (i == WAIT_SECONDS * 200)
            fail_msg("both run every task, see %s and %s", daemons[0].log, daemons[1].log);
        usleep(5000);
    }
    assert_int_equal(daemon_end(&daemons[0], SIGKILL), -SIGKILL);
    wait_for_runs(sql[1]);
    wait_for_runs(sql[1]);
    expect_no_failure(&daemons[0]);
    expect_no_failure(&daemons[1]);
    assert_int_equal(daemon_end(&daemons[1], SIGTERM), 0);
}

/* Its owner finishes on the other node just while reap() has the record in hand. The gate is a
   trigger: reap() stops in it, with the row written and not committed. */
static void a_task_that_the_other_node_aborts_is_tried_again(void **state)
{
    MYSQL *gate;
    struct daemon daemon;

    NEEDS_CLUSTER();
    run(sql[0],
        "CREATE TRIGGER idem.gate AFTER UPDATE ON idem.record FOR EACH ROW "
        "SET @gate = IF(@@server_id = 1 AND NEW.idem_key = 'held', GET_LOCK('gate', 60), 0)");
    cluster_catch_up(sql);
    gate = server_connect(nodes[0]);
    run(gate, "SELECT GET_LOCK('gate', 0)");
    assert_string_equal(claim(sql[1], UDF_DOOR, "'pay'", "'held'", "NULL").state, "CLAIMED");
    assert_string_equal(claim(sql[1], UDF_DOOR, "'pay'", "'left'", "NULL").state, "CLAIMED");
    cluster_catch_up(sql);
    set_clock(sql[0], value(sql[0], "SELECT UTC_TIMESTAMP() + INTERVAL 1 HOUR"));
    daemon = daemon_start(nodes[0], " ");
    wait_until(sql[0], "SELECT COUNT(*) FROM information_schema.processlist"
                       " WHERE state = 'User lock' AND info LIKE '%%GET_LOCK%%'");
    assert_int_equal(finish(sql[1], UDF_DOOR, "'pay'", "'held'", "NULL", "'1'"), 0);
    daemon_expect_log(&daemon, "reap: another transaction was first; it is tried again");
    wait_until(sql[0], "SELECT status = 4 FROM idem.record WHERE idem_key = 'left'");
    expect_text(sql[0], "1", "SELECT status FROM idem.record WHERE idem_key = 'held'");
    wait_until(sql[0], "SELECT failures = 0 AND error_number IS NULL AND ended_at IS NOT NULL"
                       " FROM idem.task WHERE name = 'reap'");
    expect_no_failure(&daemon);
    assert_int_equal(daemon_end(&daemon, SIGTERM), 0);
    mysql_close(gate);
    run(sql[0], "DROP TRIGGER idem.gate");
    cluster_catch_up(sql);
}

/* Transactions on one node, each tried until it is done, while something happens on the other. */
struct worker {
    pthread_t thread;
    enum door door;
    atomic_bool over;
    atomic_int acknowledged;
    unsigned int unexpected;
    char message[256];
};

/* 1305: procedures are missing; 52005: the functions say it so. The rest: aborted by the DDL. */
static bool is_expected(unsigned int error)
{
    return error == 1213 || error == 1020 || error == 52005 || error == 1305;
}

static unsigned int work_once(MYSQL *own, enum door door, const char *key)
{
    struct answer answer = begin(own, door, "'pay'", key, "NULL");
    unsigned int error = answer.error;

    if (error != 0 || strcmp(answer.state, "CLAIMED") != 0)
        return error;
    if ((error = run_errno(own, "INSERT INTO test.work VALUES (%s)", key)) != 0)
        return error;
    return commit(own, door, "'pay'", key, "NULL", "'1'");
}

static void *work(void *data)
{
    struct worker *worker = data;
    MYSQL *own = server_connect(nodes[1]);
    char key[64];

    while (!atomic_load(&worker->over) && worker->unexpected == 0) {
        unsigned int error;

        snprintf(key, sizeof(key), "'%s-%d'", door_names[worker->door],
                 atomic_load(&worker->acknowledged));
        error = work_once(own, worker->door, key);
        if (error == 0) {
            atomic_fetch_add(&worker->acknowledged, 1);
            continue;
        }
        if (!is_expected(error)) {
            worker->unexpected = error;
            snprintf(worker->message, sizeof(worker->message), "%s", mysql_error(own));
        }
        if (run_errno(own, "ROLLBACK") == 2014) { /* 1213 came behind a row */
            mysql_close(own);
            own = server_connect(nodes[1]);
        }
    }
    mysql_close(own);
    mysql_thread_end();
    return NULL;
}

static void start_workers(struct worker workers[2])
{
    for (int i = 0; i < 2; i++) {
        workers[i].door = i ? UDF_DOOR : PROCEDURE_DOOR;
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
}

static void wait_for_work(struct worker workers[2])
{
    for (int i = 0; i < 2; i++) {
        int before = atomic_load(&workers[i].acknowledged);

        for (int tries = 0; atomic_load(&workers[i].acknowledged) < before + 3; tries++) {
            if (tries == WAIT_SECONDS * 200 || workers[i].unexpected != 0)
                fail_msg("%s: %d done; error %u %s", door_names[i],
                         atomic_load(&workers[i].acknowledged), workers[i].unexpected,
                         workers[i].message);
            usleep(5000);
        }
    }
}

/* Work and record of each key are both there, on both nodes; nothing is lost, nothing half done. */
static void end_workers(struct worker workers[2])
{
    int acknowledged = 0;

    for (int i = 0; i < 2; i++) {
        atomic_store(&workers[i].over, true);
        pthread_join(workers[i].thread, NULL);
        if (workers[i].unexpected != 0)
            fail_msg("error %u: %s", workers[i].unexpected, workers[i].message);
        acknowledged += atomic_load(&workers[i].acknowledged);
    }
    cluster_catch_up(sql);
    for (int i = 0; i < 2; i++) {
        expect_text(sql[i], "1", "SELECT COUNT(*) = %d FROM test.work", acknowledged);
        expect_text(sql[i], "1", "SELECT COUNT(*) = %d FROM idem.record WHERE status = 1",
                    acknowledged);
        expect_text(sql[i], "0",
                    "SELECT COUNT(*) FROM idem.record r LEFT JOIN test.work w ON w.k = r.idem_key"
                    " WHERE w.k IS NULL");
    }
}

static void expect_healthy_cluster(void)
{
    for (int i = 0; i < 2; i++) {
        expect_text(sql[i], "2", "SELECT " GLOBAL_STATUS("WSREP_CLUSTER_SIZE"));
        assert_false(server_log_contains(nodes[i], "[ERROR] WSREP: Inconsistency"));
        assert_false(server_log_contains(nodes[i], "got signal"));
    }
}

static void case_41_install_over_an_older_one_while_the_other_node_works(void **state)
{
    struct worker workers[2] = {0};
    struct daemon daemon;

    NEEDS_CLUSTER();
    daemon = daemon_start(nodes[1], " ");
    daemon_expect_log(&daemon, "state=leader");
    start_workers(workers);
    wait_for_work(workers);
    run(sql[0], "UPDATE idem.meta SET value = '0.0.9' WHERE name = 'version'");
    wait_until(sql[1], "SELECT value = '0.0.9' FROM idem.meta WHERE name = 'version'");
    daemon_expect_log(&daemon, "state=\"not ready\"");
    server_run_sql(nodes[0], "install.sql", "");
    wait_for_log(&daemon, "state=leader", 2);
    wait_for_work(workers);
    end_workers(workers);
    assert_int_equal(daemon_end(&daemon, SIGTERM), 0);
    expect_text(sql[1], "NULL", "CALL idem.verify()");
    expect_healthy_cluster();
}

#define LEFT_OF_IDEM                                                                               \
    "SELECT CONCAT((SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'idem')," \
    " ' ', (SELECT COUNT(*) FROM information_schema.routines WHERE routine_schema = 'idem'),"      \
    " ' ', (SELECT COUNT(*) FROM mysql.global_priv WHERE user LIKE 'idem%%'), ' ',"                \
    " (SELECT COUNT(*) > 0 FROM mysql.func WHERE name LIKE 'idem\\_%%'),"                          \
    " (SELECT COUNT(*) FROM mysql.plugin WHERE name = 'idem'))"

static void case_41_uninstall_while_the_other_node_works(void **state)
{
    struct worker workers[2] = {0};
    MYSQL *open[2];

    NEEDS_CLUSTER();
    start_workers(workers);
    wait_for_work(workers);
    for (int i = 0; i < 2; i++) {
        open[i] = server_connect(nodes[1]);
        assert_string_equal(begin(open[i], i ? UDF_DOOR : PROCEDURE_DOOR, "'pay'",
                                  i ? "'open'" : "'unfinished'", "NULL")
                                .state,
                            "CLAIMED");
        run(open[i], "INSERT INTO test.work VALUES ('of open transaction %d')", i);
    }
    /* Schema objects leave both nodes, functions and plugin this one. */
    server_run_sql(nodes[0], "uninstall.sql", "");
    cluster_catch_up(sql);
    expect_text(sql[0], "1 0 3 00", LEFT_OF_IDEM);
    expect_text(sql[1], "1 0 3 11", LEFT_OF_IDEM);
    expect_errno(sql[0], 1305, "SELECT idem_claim('pay', 'x')");
    expect_errno(sql[1], 52005, "SELECT idem_claim('pay', 'x')");
    expect_errno(sql[1], 1305, "CALL idem.claim('pay', 'x', NULL)");
    for (int i = 0; i < 2; i++) {
        expect_errno(open[i], 1213, "COMMIT");
        mysql_close(open[i]);
    }
    end_workers(workers);
    /* The other node's part, and the records. */
    for (int i = 1; i >= 0; i--)
        server_run_sql(nodes[i], "uninstall.sql", "--init-command='SET @idem_drop_data = 1'");
    cluster_catch_up(sql);
    for (int i = 0; i < 2; i++)
        expect_text(sql[i], "0 0 0 00", LEFT_OF_IDEM);
    expect_healthy_cluster();
    /* The library goes with the last session that was there before. */
    disconnect();
    connect_to_both();
    for (int i = 0; i < 2; i++)
        wait_until(sql[i], "SELECT COUNT(*) = 0 FROM information_schema.plugins"
                           " WHERE plugin_name = 'idem'");
    disconnect();
    install();
}

/* Last: a node that is cut off, and then a node that is stopped. */
static void case_50_a_daemon_goes_on_with_the_other_node(void **state)
{
    struct daemon daemon;
    MYSQL *alone;

    NEEDS_CLUSTER();
    set_intervals(1);
    for (int i = 0; i < 2; i++)
        run(sql[i], "SET GLOBAL idem_retention_days = 1");
    daemon = daemon_start(nodes[0], "-S '' -u list --host=127.0.0.1:%u,127.0.0.1:%u",
                          server_port(nodes[1]), server_port(nodes[0]));
    daemon_expect_log(&daemon, "state=leader");
    wait_for_runs(sql[0]);
    assert_string_equal(claim(sql[1], UDF_DOOR, "'pay'", "'lapsing'", "NULL").state, "CLAIMED");
    cluster_catch_up(sql);

    run(sql[1], "SET GLOBAL wsrep_provider_options = 'gmcast.isolate=1'");
    wait_for_log(&daemon, "error=1047", 1);
    cluster_wait(nodes[0], 1);
    wait_for_log(&daemon, "state=leader", 2);
    wait_for_runs(sql[0]);
    /* Tomorrow: the lease has run out, and one more day is wanted. In three days: it is dropped. */
    set_clock(sql[0], value(sql[0], "SELECT UTC_TIMESTAMP() + INTERVAL 1 DAY"));
    eventually(sql[0], "SELECT status = 4 FROM idem.record WHERE idem_key = 'lapsing'");
    eventually(sql[0], "SELECT COUNT(*) FROM idem.day"
                       " WHERE day = idem_today() + INTERVAL idem_setting('partitions_ahead') DAY");
    set_clock(sql[0], value(sql[0], "SELECT UTC_TIMESTAMP() + INTERVAL 3 DAY"));
    eventually(sql[0], "SELECT COUNT(*) = 0 FROM idem.record");
    eventually(sql[0], "SELECT MIN(day) = idem_today() - INTERVAL 1 DAY FROM idem.live_day");

    run(sql[1], "SET GLOBAL wsrep_provider_options = 'gmcast.isolate=0'");
    cluster_wait(nodes[1], 2);
    set_clock(sql[1], value(sql[1], "SELECT UTC_TIMESTAMP() + INTERVAL 3 DAY"));
    mysql_close(sql[0]);
    sql[0] = NULL;
    server_kill(nodes[0], SIGTERM);
    cluster_wait(nodes[1], 1);
    wait_for_log(&daemon, "state=leader", 3);
    alone = server_connect(nodes[1]);
    wait_for_runs(alone);
    assert_string_equal(claim(alone, UDF_DOOR, "'pay'", "'alone'", "NULL").state, "CLAIMED");
    set_clock(alone, value(alone, "SELECT UTC_TIMESTAMP() + INTERVAL 4 DAY"));
    eventually(alone, "SELECT status = 4 FROM idem.record WHERE idem_key = 'alone'");
    assert_int_equal(daemon_end(&daemon, SIGTERM), 0);
    mysql_close(alone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup(name, fresh)
        TEST(daemons_of_both_nodes_share_the_tasks),
        TEST(a_task_that_the_other_node_aborts_is_tried_again),
        TEST(case_41_install_over_an_older_one_while_the_other_node_works),
        TEST(case_41_uninstall_while_the_other_node_works),
        TEST(case_50_a_daemon_goes_on_with_the_other_node),
    };
    int failed = cmocka_run_group_tests_name("cluster", tests, start, stop);

    daemon_kill_all();
    return failed;
}
