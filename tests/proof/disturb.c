/* SPDX-License-Identifier: GPL-2.0-only */
/* What goes on around the sessions: midnights, lapsing leases, kills, the daily maintenance by hand
   and by idemd, and too little memory for filters. */
#include "history.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STEP_MS 4
#define DAYS 40 /* that pass in a run, but at most one a second */
#define HOUR_US (INT64_C(3600) * 1000000)

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static MYSQL *connect_again(MYSQL *sql)
{
    unsigned int error;

    if (sql != NULL)
        mysql_close(sql);
    while ((sql = server_try_connect(world.server, 0, &error)) == NULL)
        pause_ms(20);
    return sql;
}

static void end_thread(MYSQL *sql)
{
    mysql_close(sql);
    mysql_thread_end();
}

/* A day: some milliseconds of its beginning, a jump to 03:00 (yesterday can be sealed), the day
   with leases lapsing now and then, a jump into the last two hours, and midnight in small steps. */
static int64_t next_time(int64_t now, int step, int steps, unsigned int *seed)
{
    int64_t midnight = now - now % DAY_US;

    int64_t jump = step == steps / 3       ? midnight + 3 * HOUR_US
                   : step == steps * 2 / 3 ? midnight + 23 * HOUR_US
                   : step == steps - 12    ? midnight + DAY_US - 25000
                                           : 0;

    if (jump > now) /* a round may begin late in a day */
        return jump;
    if (step < steps - 12 && rand_r(seed) % 40 == 0)
        return now + LEASE_US + 1000000;
    return now + 1 + rand_r(seed) % 5000;
}

/* The days to come are made in real time, which a busy machine may not give: the clock stands still
   until some are ahead. */
static bool has_days_ahead(MYSQL *sql)
{
    MYSQL_RES *rows;
    MYSQL_ROW row;
    bool enough;

    if (mysql_query(sql, "SELECT MAX(day) > idem_today() + INTERVAL 4 DAY FROM idem.day") != 0 ||
        (rows = mysql_store_result(sql)) == NULL)
        return false;
    row = mysql_fetch_row(rows);
    enough = row != NULL && row[0] != NULL && row[0][0] == '1';
    mysql_free_result(rows);
    return enough;
}

void *disturb_clock(void *unused)
{
    double days = world.plan.seconds < DAYS ? world.plan.seconds : DAYS;
    int steps = (int)(world.plan.seconds * 1000 / days / STEP_MS), step = 0;
    unsigned int seed = world.plan.seed + 1;
    int64_t now = atomic_load(&world.clock_high);
    MYSQL *sql = connect_again(NULL);

    while (!atomic_load(&world.over)) {
        int64_t next = next_time(now, step, steps, &seed);

        if (next / DAY_US > now / DAY_US && !has_days_ahead(sql)) {
            if (mysql_ping(sql) != 0)
                sql = connect_again(sql);
            pause_ms(20);
            continue;
        }
        step = next / DAY_US > now / DAY_US ? 0 : step + 1;
        now = next;
        atomic_store(&world.clock_high, now);
        while (run_errno(sql, "SET GLOBAL idem_test_now_us = %lld", (long long)now) != 0)
            sql = connect_again(sql);
        atomic_store(&world.clock_low, now);
        pause_ms(STEP_MS);
    }
    end_thread(sql);
    return unused;
}

void *disturb_sessions(void *unused)
{
    unsigned int seed = world.plan.seed + 2;
    MYSQL *sql = connect_again(NULL);

    while (!atomic_load(&world.over)) {
        struct session *victim =
            &world.sessions[1 + rand_r(&seed) % (unsigned int)world.plan.sessions];
        unsigned long id = atomic_load(&victim->connection);

        if (id != 0) {
            atomic_store(&victim->killed_until, UINT64_MAX);
            if (is_gone(run_errno(sql, "KILL %s %lu",
                                  rand_r(&seed) % 5 == 0 ? "CONNECTION" : "QUERY", id)))
                sql = connect_again(sql);
            atomic_store(&victim->killed_until, atomic_fetch_add(&world.stamp, 1));
        }
        pause_ms(3 + rand_r(&seed) % 6);
    }
    end_thread(sql);
    return unused;
}

/* Filters come and go: the days that have none in memory are looked into. */
static void squeeze_filters(MYSQL *sql, unsigned int *seed)
{
    static const char *const sizes[] = {"0", "2000", "10000", "DEFAULT"};

    run_errno(sql, "SET GLOBAL idem_filter_memory_bytes = %s", sizes[rand_r(seed) % 4]);
}

/* The real daemon. It is killed and started again, unless its memory is watched. */
void *disturb_by_daemon(void *unused)
{
    unsigned int seed = world.plan.seed + 9;

    while (!atomic_load(&world.over)) {
        if (world.daemon.pid == 0)
            world.daemon = daemon_start(world.server, "%s", "");
        for (int i = 5 + rand_r(&seed) % 20; i > 0 && !atomic_load(&world.over); i--) {
            pause_ms(100);
            if (daemon_log_count(&world.daemon, "idemd started") >
                0) /* before, it would be killed */
                kill(world.daemon.pid, SIGUSR1);
        }
        if (world.plan.rounds == 1)
            daemon_end(&world.daemon, rand_r(&seed) % 2 ? SIGKILL : SIGTERM);
    }
    mysql_thread_end();
    return unused;
}

/* Operators look into what is unknown, also several into the same: the oldest, which pins its day,
   and more while they are days behind. Pinned days would make every call slower, and the operators
   fall back further. */
static void resolve_some(MYSQL *sql)
{
    run_errno(sql, "BEGIN NOT ATOMIC DECLARE k VARBINARY(255); DECLARE behind BOOLEAN; "
                   "FOR i IN 1..20 DO SET k = NULL, behind = FALSE; "
                   "SELECT idem_key, created_on < idem_today() - INTERVAL 3 DAY INTO k, behind "
                   "FROM idem.record FORCE INDEX (lease) WHERE lease_until IS NULL AND status = 3 "
                   "ORDER BY created_on LIMIT 1; "
                   "IF k IS NULL OR (i > 1 AND NOT behind) THEN SIGNAL SQLSTATE '45000'; END IF; "
                   "CALL idem.resolve('unknown', k, 'retry', NULL); END FOR; END");
}

/* Several threads do this, so that every task also meets itself. */
void *disturb_days(void *unused)
{
    static const char *const calls[] = {
        "CALL idem.ensure_partitions()",
        "CALL idem.seal_days()",
        "CALL idem.reap()",
        "CALL idem.drop_expired()",
    };
    static atomic_int threads;
    unsigned int seed = world.plan.seed + 3 + (unsigned int)atomic_fetch_add(&threads, 1);
    MYSQL *sql = connect_again(NULL);

    while (!atomic_load(&world.over)) {
        const char *call = calls[rand_r(&seed) % 4];
        unsigned int error = run_errno(sql, "%s", call);

        if (is_gone(error))
            sql = connect_again(sql);
        else if (error != 0 && error != 1213)
            report(FAULT, "%s: error %u: %s", call, error, mysql_error(sql));
        if (rand_r(&seed) % 8 == 0)
            squeeze_filters(sql, &seed);
        if (rand_r(&seed) % 16 == 0)
            run_errno(sql, "FLUSH TABLES test.gate");
        resolve_some(sql);
        pause_ms(20 + rand_r(&seed) % 60);
    }
    end_thread(sql);
    return unused;
}
