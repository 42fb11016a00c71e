/* SPDX-License-Identifier: GPL-2.0-only */
/* Two nodes of a Galera cluster with idem. */
#include "nodes.h"

#include "fixture.h"

#define WORK_DIGEST "SELECT CONCAT(COUNT(*), ' ', SUM(CRC32(CONCAT(id, k)))) FROM test.work"

struct server *nodes[2];
MYSQL *a, *b;
MYSQL *watch[2];

void nodes_catch_up(void)
{
    cluster_catch_up(watch);
}

void nodes_set_clocks(const char *const utc[2])
{
    nodes_catch_up();
    for (int i = 0; i < 2; i++) {
        set_clock(watch[i], NULL);
        if (utc[i] != NULL)
            set_clock(watch[i], utc[i]);
    }
}

bool nodes_lost(unsigned int error)
{
    return error == 1213 || error == 1020;
}

void nodes_roll_back(MYSQL *sql)
{
    unsigned int error = run_errno(sql, "ROLLBACK");

    if (error != 0 && !nodes_lost(error))
        fail_msg("ROLLBACK: error %u: %s", error, mysql_error(sql));
}

bool nodes_start(void)
{
    if (!cluster_start(nodes))
        return false;
    for (int i = 0; i < 2; i++)
        watch[i] = server_connect(nodes[i]);
    return true;
}

void nodes_make_days(int ahead)
{
    for (int i = 0; i < 2; i++)
        run(i ? b : a, "SET GLOBAL idem_partitions_ahead = %d", ahead);
    run(a, "CALL idem.ensure_partitions()");
    nodes_catch_up();
    run(b, "SET @reloaded = idem_reload()");
}

void nodes_open(void)
{
    server_run_sql(nodes[1], "install-library.sql", "");
    a = server_connect(nodes[0]);
    b = server_connect(nodes[1]);
    run(a, "CREATE DATABASE test");
    run(a, "CREATE TABLE test.work (id INT AUTO_INCREMENT PRIMARY KEY, k VARCHAR(64), KEY (k)) "
           "ENGINE=InnoDB");
    set_clock(a, "2027-01-01 12:00:00");
    nodes_make_days(30);
    set_clock(a, NULL);
}

int nodes_stop(void **state)
{
    (void)state;
    if (nodes[0] == NULL)
        return 0;
    mysql_close(a);
    mysql_close(b);
    for (int i = 0; i < 2; i++)
        mysql_close(watch[i]);
    cluster_stop(nodes);
    return 0;
}

int nodes_settle(void **state)
{
    (void)state;
    if (nodes[0] == NULL)
        return 0;
    nodes_roll_back(a);
    nodes_roll_back(b);
    nodes_set_clocks((const char *const[]){NULL, NULL});
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

void nodes_expect_equal(void)
{
    char first[64];

    nodes_catch_up();
    snprintf(first, sizeof(first), "%s", digest(a));
    assert_string_equal(first, digest(b));
    snprintf(first, sizeof(first), "%s", value(a, WORK_DIGEST));
    expect_text(b, first, WORK_DIGEST);
    expect_text(a, "0", "SELECT COUNT(*) FROM idem.galera_guard");
    expect_text(b, "0", "SELECT COUNT(*) FROM idem.galera_guard");
    expect_text(a, "NULL", "CALL idem.verify()");
    expect_text(b, "2", "SELECT " GLOBAL_STATUS("WSREP_CLUSTER_SIZE"));
}
