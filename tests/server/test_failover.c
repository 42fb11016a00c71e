/* SPDX-License-Identifier: GPL-2.0-only */
/* kill -9 of the server under load, and a replica that takes over: work and record never part, what
   was acknowledged durably is never done again. */
#include "fixture.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#define CLIENTS 8
#define KEYS 400

struct client {
    pthread_t thread;
    MYSQL *sql;
    int number;
    unsigned int unexpected;
};

static atomic_int acknowledged[KEYS]; /* COMMIT answered: DONE was promised to somebody */
static atomic_bool stop_work;

static bool is_lost(unsigned int error)
{
    return error == 2002 || error == 2003 || error == 2006 || error == 2013 || error == 2026 ||
           error == 1053 || error == 1927;
}

/* Carries out keys at random until told to stop or until the server is gone. */
static void *carry_out(void *data)
{
    struct client *client = data;
    unsigned int seed = (unsigned int)client->number + 7;
    enum door door = client->number % 2 ? UDF_DOOR : PROCEDURE_DOOR;
    MYSQL *sql = client->sql;

    while (!atomic_load(&stop_work)) {
        int key = rand_r(&seed) % KEYS;
        char name[32];
        unsigned int error;
        struct answer answer;

        snprintf(name, sizeof(name), "'fo-%d'", key);
        answer = begin(sql, door, "'failover'", name, "NULL");
        error = answer.error;
        if (error == 0 && strcmp(answer.state, "CLAIMED") == 0) {
            error = run_errno(sql, "INSERT INTO test.work VALUES (%d, %d)", key, client->number);
            if (error == 0)
                error = commit(sql, door, "'failover'", name, "NULL", "'{\"ok\":1}'");
            if (error == 0)
                atomic_store(&acknowledged[key], 1);
        }
        if (is_lost(error))
            break;
        if (error != 0) {
            client->unexpected = error;
            break;
        }
    }
    mysql_close(sql);
    mysql_thread_end();
    return NULL;
}

static void start_clients(struct client *clients, struct server *server)
{
    atomic_store(&stop_work, false);
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = (struct client){.sql = server_connect(server), .number = i};
        pthread_create(&clients[i].thread, NULL, carry_out, &clients[i]);
    }
}

static void join_clients(struct client *clients)
{
    for (int i = 0; i < CLIENTS; i++) {
        pthread_join(clients[i].thread, NULL);
        assert_int_equal(clients[i].unexpected, 0);
    }
}

static void wait_for_work(MYSQL *sql, int64_t rows)
{
    wait_until(sql, "SELECT COUNT(*) >= %lld FROM test.work", (long long)rows);
}

/* No key's work twice, and work and DONE record are there together or not at all. */
static void check_together(MYSQL *sql)
{
    expect_text(sql, "0",
                "SELECT COUNT(*) FROM (SELECT k FROM test.work GROUP BY k HAVING COUNT(*) > 1) t");
    expect_text(
        sql, "0",
        "SELECT COUNT(*) FROM test.work w LEFT JOIN idem.record r ON r.scope = '' AND r.idem_key "
        "= CONCAT('fo-', w.k) AND r.status = 1 WHERE r.idem_key IS NULL");
    expect_text(
        sql, "0",
        "SELECT COUNT(*) FROM idem.record r LEFT JOIN test.work w ON r.idem_key = CONCAT('fo-', "
        "w.k) WHERE r.biz_type = 'failover' AND w.k IS NULL");
}

static void finish_all(MYSQL *sql)
{
    for (int key = 0; key < KEYS; key++) {
        char name[32];

        snprintf(name, sizeof(name), "'fo-%d'", key);
        if (strcmp(begin(sql, UDF_DOOR, "'failover'", name, "NULL").state, "CLAIMED") == 0) {
            run(sql, "INSERT INTO test.work VALUES (%d, -1)", key);
            assert_int_equal(commit(sql, UDF_DOOR, "'failover'", name, "NULL", "'{}'"), 0);
        }
    }
    check_together(sql);
    assert_int_equal(value_int(sql, "SELECT COUNT(*) FROM test.work"), KEYS);
}

static void make_work_table(MYSQL *sql)
{
    run(sql, "CREATE DATABASE test");
    run(sql, "CREATE TABLE test.work (k INT, client INT, KEY (k)) ENGINE=InnoDB");
    for (int key = 0; key < KEYS; key++)
        atomic_store(&acknowledged[key], 0);
}

static void killed_servers_lose_nothing_that_was_acknowledged(void **state)
{
    static const char *const durable[] = {"--innodb-flush-log-at-trx-commit=1", "--sync-binlog=1",
                                          NULL};
    struct server *server = server_start(durable);
    struct client clients[CLIENTS];
    MYSQL *sql = server_connect(server);

    (void)state;
    make_work_table(sql);
    for (int64_t round = 1; round <= 4; round++) {
        start_clients(clients, server);
        wait_for_work(sql, round * 60);
        server_kill(server, SIGKILL);
        atomic_store(&stop_work, true);
        join_clients(clients);
        mysql_close(sql);
        server_restart(server, durable);
        sql = server_connect(server);
        check_together(sql);
        for (int key = 0; key < KEYS; key++)
            if (atomic_load(&acknowledged[key]))
                assert_int_equal(value_int(sql, "SELECT COUNT(*) FROM test.work WHERE k = %d", key),
                                 1);
    }
    finish_all(sql);
    mysql_close(sql);
    server_stop(server);
}

/* A lease is committed before its answer, so it is there after a crash; its owner's epoch is not.
 */
static void case_10_a_lease_survives_a_crash_and_its_session_does_not(void **state)
{
    struct server *server = server_start(NULL);
    MYSQL *sql = server_connect(server);
    unsigned long owner = mysql_thread_id(sql);
    char token[32];

    (void)state;
    snprintf(token, sizeof(token), "%llu", claim(sql, UDF_DOOR, "'p'", "'crash'", "NULL").token);
    server_kill(server, SIGKILL);
    mysql_close(sql);
    server_restart(server, NULL);
    do /* until the connection id is the old owner's again */
        sql = server_connect(server);
    while (mysql_thread_id(sql) < owner);
    run(sql, "UPDATE idem.record SET owner_conn = CONNECTION_ID() WHERE idem_key = 'crash'");
    assert_string_equal(claim(sql, UDF_DOOR, "'p'", "'crash'", "NULL").state, "IN_PROGRESS");
    assert_int_equal(finish(sql, UDF_DOOR, "'p'", "'crash'", "NULL", "'{}'"), 52004);
    assert_int_equal(finish(sql, UDF_DOOR, "'p'", "'crash'", token, "'{}'"), 0);
    mysql_close(sql);
    server_stop(server);
}

/* Commits that were answered without a replica having them. */
static int64_t unacknowledged(MYSQL *sql)
{
    return value_int(sql, "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE "
                          "VARIABLE_NAME = 'RPL_SEMI_SYNC_MASTER_NO_TX'");
}

/* semi_sync: a COMMIT is answered only when the replica has it. */
static void take_over(bool semi_sync)
{
    static const char *const first[] = {"--rpl-semi-sync-master-enabled=ON",
                                        "--rpl-semi-sync-master-wait-point=AFTER_SYNC", NULL};
    static const char *const second[] = {"--server-id=2", "--gtid-strict-mode=ON",
                                         "--rpl-semi-sync-slave-enabled=ON", NULL};
    struct server *primary = server_start_bare(semi_sync ? first : NULL);
    struct server *replica = server_start_bare(second);
    struct client clients[CLIENTS];
    MYSQL *p = server_connect(primary), *r = server_connect(replica);
    char output[2048];
    char *position;
    int64_t before;

    run(p, "CREATE USER repl@'127.0.0.1'");
    run(p, "GRANT REPLICATION SLAVE ON *.* TO repl@'127.0.0.1'");
    /* The library is installed on the replica first, the schema comes by replication. */
    assert_int_equal(
        server_run_sql_file(replica, "install-library.sql", "", output, sizeof(output)), 0);
    mysql_close(r); /* older than the plugin */
    r = server_connect(replica);
    run(r,
        "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = %u, MASTER_USER = 'repl', "
        "MASTER_USE_GTID = slave_pos, MASTER_SSL_VERIFY_SERVER_CERT = 0",
        server_port(primary));
    run(r, "SET GLOBAL read_only = 1");
    run(r, "START SLAVE");
    assert_int_equal(server_run_sql_file(primary, "install.sql", "", output, sizeof(output)), 0);
    mysql_close(p); /* older than the plugin */
    p = server_connect(primary);
    make_work_table(p);
    begin(p, UDF_DOOR, "'p'", "'first'", "NULL");
    commit(p, UDF_DOOR, "'p'", "'first'", "NULL", "'[1]'");
    position = strdup(value(p, "SELECT @@gtid_binlog_pos"));
    expect_text(r, "0", "SELECT MASTER_GTID_WAIT('%s', 30)", position);
    free(position);
    EACH_DOOR(door)
    {
        assert_string_equal(peek(r, door, "'p'", "'first'").state, "DONE");
        assert_int_equal(claim(r, door, "'p'", "'first'", "NULL").error, 1290);
        assert_int_equal(claim(r, door, "'p'", "'second'", "NULL").error, 1290);
    }

    if (semi_sync)
        wait_until(p, "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE "
                      "VARIABLE_NAME = 'RPL_SEMI_SYNC_MASTER_CLIENTS'");
    before = unacknowledged(p);
    start_clients(clients, primary);
    wait_for_work(p, 120);
    if (semi_sync) /* it never fell back to asynchronous */
        assert_int_equal(unacknowledged(p), before);
    server_kill(primary, SIGKILL);
    atomic_store(&stop_work, true);
    join_clients(clients);
    /* Promote: what had come over is there, whole transactions only. */
    wait_until(
        r, "SELECT COUNT(*) FROM information_schema.processlist WHERE command = 'Slave_SQL' AND "
           "state LIKE 'Slave has read all relay log%%'");
    run(r, "STOP SLAVE");
    run(r, "SET GLOBAL read_only = 0");
    check_together(r);
    for (int key = 0; semi_sync && key < KEYS; key++)
        if (atomic_load(&acknowledged[key]))
            assert_int_equal(value_int(r, "SELECT COUNT(*) FROM test.work WHERE k = %d", key), 1);
    assert_string_equal(claim(r, UDF_DOOR, "'p'", "'first'", "NULL").state, "DONE");
    finish_all(r);
    mysql_close(p);
    mysql_close(r);
    server_stop(primary);
    server_stop(replica);
}

static void replica_takes_over_with_whole_transactions(void **state)
{
    (void)state;
    take_over(false);
}

static void replica_takes_over_all_that_was_acknowledged(void **state)
{
    (void)state;
    take_over(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_servers_lose_nothing_that_was_acknowledged),
        cmocka_unit_test(case_10_a_lease_survives_a_crash_and_its_session_does_not),
        cmocka_unit_test(replica_takes_over_with_whole_transactions),
        cmocka_unit_test(replica_takes_over_all_that_was_acknowledged),
    };

    return cmocka_run_group_tests_name("failover", tests, NULL, NULL);
}
