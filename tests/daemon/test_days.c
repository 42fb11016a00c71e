/* SPDX-License-Identifier: GPL-2.0-only */
/* Forty days of life on the test clock, and a disk that is full. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "claims.h"
#include "daemon.h"
#include "server.h"

#define DAYS 40
#define RETENTION 5
#define AHEAD 3
#define DAEMONS 2

static struct server *server;
static MYSQL *sql, *idle;
static struct daemon daemons[DAEMONS];
static unsigned int chance = 20260301; /* the same story every time */

static unsigned int random_below(unsigned int limit)
{
    chance = chance * 1103515245 + 12345;
    return chance / 65536 % limit;
}

static void set_up_server(void)
{
    sql = server_connect(server);
    idle = server_connect(server);
    run(sql,
        "SET GLOBAL idem_retention_days = %d, GLOBAL idem_partitions_ahead = %d,"
        " GLOBAL idem_ddl_lock_wait_ms = 20, GLOBAL idem_reap_interval_seconds = 86400,"
        " GLOBAL idem_maintenance_interval_seconds = 86400",
        RETENTION, AHEAD);
}

/* A server that starts has the real clock until it is set: no daemon may run meanwhile. */
static void restart_server(int signal, const char *now)
{
    for (size_t i = 0; i < DAEMONS; i++)
        if (daemons[i].pid > 0)
            kill(daemons[i].pid, SIGSTOP);
    mysql_close(sql);
    mysql_close(idle);
    server_kill(server, signal);
    server_restart(server, NULL);
    set_up_server();
    set_clock(sql, now);
    for (size_t i = 0; i < DAEMONS; i++)
        if (daemons[i].pid > 0)
            kill(daemons[i].pid, SIGCONT);
}

/* Something happens; true if the table is held by an idle transaction from now on. */
static bool misfortune(const char *now)
{
    size_t which = random_below(DAEMONS), other = 1 - which;

    switch (random_below(8)) {
    case 0:
        restart_server(SIGKILL, now);
        break;
    case 1:
        restart_server(SIGTERM, now);
        break;
    case 2:
    case 3:
        if (daemons[which].pid > 0)
            daemon_end(&daemons[which], random_below(2) ? SIGKILL : SIGTERM);
        if (daemons[other].pid <= 0)
            daemons[other] = daemon_start(server, " ");
        break;
    case 4:
        if (daemons[which].pid <= 0)
            daemons[which] = daemon_start(server, " ");
        break;
    case 5:
        run(idle, "BEGIN");
        run(idle, "SELECT COUNT(*) FROM idem.record");
        return true;
    case 6:
        run_errno(sql, "KILL CONNECTION %s", value(sql, "SELECT IS_USED_LOCK('idem.leader')"));
        break;
    default:
        break;
    }
    return false;
}

static void claim_and_finish(const char *key)
{
    struct answer answer = claim(sql, PROCEDURE_DOOR, "'pay'", key, "NULL");

    if (answer.error != 0)
        fail_msg("%s: error %u %s", key, answer.error, mysql_error(sql));
    assert_string_equal(answer.state, "CLAIMED");
    assert_int_equal(finish(sql, PROCEDURE_DOOR, "'pay'", key, "NULL", "'1'"), 0);
}

static void forty_days_with_restarts_kills_and_a_second_daemon(void **state)
{
    char now[64], key[64];

    (void)state;
    server = server_start(NULL);
    set_up_server();
    set_clock(sql, "2026-03-01 00:00:05");
    daemons[0] = daemon_start(server, " ");
    wait_for_text(sql, "1",
                  "SELECT COUNT(*) FROM idem.task WHERE name = 'drop_expired'"
                  " AND succeeded_at IS NOT NULL");
    /* What install.sql made by the real clock is not of this story. */
    run(sql, "DELETE FROM idem.live_day WHERE day > '2026-05-01'");
    for (int day = 1; day <= DAYS; day++) {
        bool held;

        snprintf(now, sizeof(now), "%s",
                 value(sql, "SELECT TIMESTAMP '2026-03-01 00:00:05' + INTERVAL %d DAY", day));
        set_clock(sql, now);
        /* Before any maintenance of this day: it is there, and takes claims. */
        expect_text(sql, "1", "SELECT COUNT(*) FROM idem.day WHERE day = '%.10s'", now);
        snprintf(key, sizeof(key), "'first of %d'", day);
        claim_and_finish(key);
        held = misfortune(now);
        daemon_kick_all(daemons, DAEMONS, sql);
        snprintf(key, sizeof(key), "'second of %d'", day);
        claim_and_finish(key);
        if (held) {
            run(idle, "COMMIT");
            daemon_kick_all(daemons, DAEMONS, sql);
        }
        expect_text(sql, "0", "SELECT COUNT(*) FROM idem.day WHERE day < '%.10s' - INTERVAL %d DAY",
                    now, RETENTION);
        expect_text(sql, "4",
                    "SELECT COUNT(*) FROM idem.day"
                    " WHERE day BETWEEN '%.10s' AND '%.10s' + INTERVAL %d DAY",
                    now, now, AHEAD);
        expect_text(sql, "0",
                    "SELECT COUNT(*) FROM idem.live_day l LEFT JOIN idem.day d ON d.day = l.day"
                    " WHERE d.day IS NULL");
        if (day > RETENTION) {
            snprintf(key, sizeof(key), "'second of %d'", day - RETENTION);
            assert_string_equal(claim(sql, PROCEDURE_DOOR, "'pay'", key, "NULL").state, "DONE");
        }
    }
    expect_text(sql, "0",
                "SELECT COUNT(*) FROM idem.record WHERE created_on < '%.10s' - INTERVAL %d DAY",
                now, RETENTION);
    assert_false(server_log_contains(server, "[ERROR]"));
    for (size_t i = 0; i < DAEMONS; i++)
        if (daemons[i].pid > 0) {
            assert_int_equal(daemon_log_count(&daemons[i], " failed; "), 0);
            assert_int_equal(daemon_end(&daemons[i], SIGTERM), 0);
        }
    mysql_close(sql);
    mysql_close(idle);
    server_stop(server);
}

static void a_full_disk_is_told_once_and_survived(void **state)
{
    static const char *const small[] = {"--innodb-file-per-table=0",
                                        "--innodb-data-file-path=ibdata1:12M:autoextend:max:96M",
                                        NULL};
    static const char *const large[] = {"--innodb-file-per-table=0",
                                        "--innodb-data-file-path=ibdata1:12M:autoextend", NULL};
    struct daemon daemon;

    (void)state;
    server = server_start(NULL);
    server_restart(server, small);
    set_up_server();
    run(sql, "CREATE DATABASE filler");
    run(sql, "CREATE TABLE filler.t (a LONGBLOB)");
    daemon = daemon_start(server, " ");
    daemon_expect_log(&daemon, "state=leader");
    daemon_kick(&daemon, sql);
    /* Rows that are full pages only while there is room: 11.8 ends itself ("Out of disk space in
       rollback") when the insert of a large value has to be undone on a full disk. */
    for (int i = 0; i < 15; i++)
        run(sql, "INSERT INTO filler.t VALUES (REPEAT('x', 4000000))");
    for (int size = 7000; size > 10; size /= 8)
        while (run_errno(sql, "INSERT INTO filler.t VALUES (REPEAT('x', %d))", size) == 0)
            continue;
    for (int i = 0; run_errno(sql, "CREATE TABLE filler.t%d (a INT)", i) == 0; i++)
        continue;
    set_clock(sql, value(sql, "SELECT idem_today() + INTERVAL 5 DAY")); /* the lead is used up */
    kill(daemon.pid, SIGUSR1);
    daemon_expect_log(&daemon, "ensure_partitions failed");
    for (int i = 0; i < 5; i++) { /* tried again, and not told again */
        kill(daemon.pid, SIGUSR1);
        usleep(50000);
    }
    assert_int_equal(daemon_log_count(&daemon, "ensure_partitions failed"), 1);
    mysql_close(sql);
    mysql_close(idle);
    server_restart(server, large); /* the disk has grown */
    set_up_server();
    for (int i = 0; i < 1000 && daemon_log_count(&daemon, "ensure_partitions works again") == 0;
         i++) {
        kill(daemon.pid, SIGUSR1);
        usleep(20000);
    }
    assert_int_equal(daemon_log_count(&daemon, "ensure_partitions works again"), 1);
    expect_text(sql, "1", "SELECT COUNT(*) >= 4 FROM idem.day WHERE day >= idem_today()");
    expect_text(sql, "0", "SELECT failures FROM idem.task WHERE name = 'ensure_partitions'");
    assert_int_equal(daemon_end(&daemon, SIGTERM), 0);
    mysql_close(sql);
    mysql_close(idle);
    server_stop(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forty_days_with_restarts_kills_and_a_second_daemon),
        cmocka_unit_test(a_full_disk_is_told_once_and_survived),
    };

    return cmocka_run_group_tests_name("days", tests, NULL, NULL);
}
