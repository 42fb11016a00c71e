/* SPDX-License-Identifier: GPL-2.0-only */
/* B6: an old day leaves. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "bench.h"

#define OLD 31 /* the one day past its retention */

struct claimer {
    struct server *server;
    atomic_bool over;
    atomic_uint_least64_t longest_ns, count;
};

/* Claims new keys, one after the other, and remembers the longest wait. */
static void *claim_on(void *argument)
{
    struct claimer *claimer = argument;
    MYSQL *sql = server_connect(claimer->server);

    for (unsigned long long i = 0; !atomic_load(&claimer->over); i++) {
        uint64_t began = now_ns(), took;

        run(sql, "CALL idem.claim('bench', 'meanwhile-%llu', NULL)", i + began);
        took = now_ns() - began;
        if (took > atomic_load(&claimer->longest_ns))
            atomic_store(&claimer->longest_ns, took);
        atomic_fetch_add(&claimer->count, 1);
    }
    mysql_close(sql);
    return NULL;
}

static double seconds_of(MYSQL *sql, const char *text)
{
    uint64_t began = now_ns();

    run(sql, "%s", text);
    return (double)(now_ns() - began) / 1e9;
}

static double delete_by_hand(MYSQL *sql)
{
    MYSQL_STMT *statement = mysql_stmt_init(sql);
    char limit[32];
    unsigned long length;
    MYSQL_BIND bind = {.buffer_type = MYSQL_TYPE_STRING, .buffer = limit, .length = &length};
    uint64_t began;

    length = (unsigned long)snprintf(limit, sizeof(limit), "%s",
                                     value(sql, "SELECT idem_today() - INTERVAL %d DAY", OLD - 1));
    if (mysql_stmt_prepare(statement, hand("delete batch"), (unsigned long)-1) != 0)
        return 0;
    mysql_stmt_bind_param(statement, &bind);
    began = now_ns();
    do
        if (mysql_stmt_execute(statement) != 0)
            fprintf(stderr, "bench: %s\n", mysql_stmt_error(statement));
    while (mysql_stmt_affected_rows(statement) > 0 &&
           mysql_stmt_affected_rows(statement) != (my_ulonglong)-1);
    mysql_stmt_close(statement);
    return (double)(now_ns() - began) / 1e9;
}

static double binlog_mb(MYSQL *sql)
{
    return (double)value_int(sql, "SELECT variable_value FROM information_schema.global_status"
                                  " WHERE variable_name = 'binlog_bytes_written'") /
           1e6;
}

void bench_retention(void)
{
    struct server *server;
    struct claimer claimer = {.server = NULL};
    struct spread dropped, deleted, ratio;
    pthread_t thread;
    MYSQL *sql;
    double seconds, stall_ms, logged_mb[2];
    bool gone;

    server = server_with_days(OLD);
    sql = server_connect(server);
    if (value_int(sql, "SELECT COUNT(*) FROM information_schema.routines"
                       " WHERE routine_schema = 'idem' AND routine_name = 'drop_expired'") == 0) {
        report_skipped("B6", "this build has no procedure idem.drop_expired");
        mysql_close(sql);
        server_stop(server);
        return;
    }
    fill_days(server, OLD, OLD, options.full ? 5000000 : 400000, true);
    claimer.server = server;
    pthread_create(&thread, NULL, claim_on, &claimer);
    while (atomic_load(&claimer.count) < 100)
        continue;
    atomic_store(&claimer.longest_ns, 0);
    logged_mb[0] = binlog_mb(sql);
    seconds = seconds_of(sql, "CALL idem.drop_expired()");
    stall_ms = (double)atomic_load(&claimer.longest_ns) / 1e6;
    logged_mb[0] = binlog_mb(sql) - logged_mb[0];
    dropped = (struct spread){seconds, seconds, seconds};
    gone = value_int(sql,
                     "SELECT COUNT(*) FROM idem.record"
                     " WHERE created_on = idem_today() - INTERVAL %d DAY",
                     OLD) == 0;
    if (gone) {
        logged_mb[1] = binlog_mb(sql);
        seconds = delete_by_hand(sql);
        logged_mb[1] = binlog_mb(sql) - logged_mb[1];
        deleted = (struct spread){seconds, seconds, seconds};
        ratio.median = ratio.low = ratio.high = deleted.median / dropped.median;
        report("B6", options.full ? "5 M rows" : "400 k rows", "seconds: DELETE by 4000",
               "drop_expired", "s", deleted, dropped, ratio,
               options.full ? AT_LEAST : FOR_INFORMATION, 50); /* stated for 5 M */
        report_number("B6", "meanwhile", "DELETE by 4000, binary log", "MB", logged_mb[1],
                      FOR_INFORMATION, 0);
        report_number("B6", "meanwhile", "drop_expired and claims, binary log", "MB", logged_mb[0],
                      FOR_INFORMATION, 0);
        report_number("B6", "meanwhile", "longest stall of a claim", "ms", stall_ms, AT_MOST,
                      (double)value_int(sql, "SELECT @@idem_ddl_lock_wait_ms") + 50);
    } else {
        report_skipped("B6", "drop_expired() left the day in place");
    }
    atomic_store(&claimer.over, true);
    pthread_join(thread, NULL);
    mysql_close(sql);
    server_stop(server);
}
