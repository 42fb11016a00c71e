/* SPDX-License-Identifier: GPL-2.0-only */
/* Crash points of maintenance. Each turn is a new day that has all there is to do: a day to make,
   one to seal, one to drop, and leases to settle by each policy. The server is killed at one step
   or write of that work; after the restart claims must go on as before, and the same work must end
   as if nothing had happened. */
#include "points.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define KEPT_DAYS 3 /* as in points_options() */
#define AHEAD_DAYS 2
#define FIRST_DAY 5 /* of the walk: by then there is a day to drop */

static const char *const work[] = {"CALL idem.ensure_partitions()", "CALL idem.reap()",
                                   "CALL idem.seal_days()", "CALL idem.drop_expired()"};

static size_t calls;

/* 03:00 of a day: the one before can be sealed. */
static int64_t clock_of(int day)
{
    return START_US + day * DAY_US + DAY_US / 8;
}

static void set_day(MYSQL *sql, int day)
{
    run(sql, "SET GLOBAL idem_test_now_us = %lld", (long long)clock_of(day));
}

static void finish_one(MYSQL *sql, const char *key)
{
    if (strcmp(begin(sql, UDF_DOOR, "'p'", key, "NULL").state, "CLAIMED") != 0 ||
        commit(sql, UDF_DOOR, "'p'", key, "NULL", "'[1]'") != 0)
        report(FAULT, "%s cannot be carried out: %s", key, mysql_error(sql));
    calls += 2;
}

/* What a day leaves for the next ones. */
static void live_through(MYSQL *sql, int day)
{
    static const char *const policies[] = {"p", "unknown", "fail"};
    char key[64];

    set_day(sql, day);
    snprintf(key, sizeof(key), "'done-%d'", day);
    finish_one(sql, key);
    run(sql, "CALL idem.claim('p', 'free-%d', NULL)", day);
    run(sql, "CALL idem.release('p', 'free-%d', NULL)", day);
    for (int i = 0; i < 3; i++) {
        run(sql, "CALL idem.claim('%s', 'left-%s-%d', NULL)", policies[i], policies[i], day);
        run(sql,
            "UPDATE idem.record SET lease_until = '2031-12-01' WHERE scope = '' AND idem_key = "
            "'left-%s-%d'",
            policies[i], day);
    }
    points_flush(sql);
}

static void maintain(MYSQL *sql)
{
    for (size_t i = 0; i < sizeof(work) / sizeof(work[0]); i++, calls++)
        if (run_errno(sql, "%s", work[i]) != 0)
            report(FAULT, "%s: %s", work[i], mysql_error(sql));
}

static void expect(MYSQL *sql, int day, const char *expected, const char *query)
{
    const char *found = value(sql, "%s", query);

    if (strcmp(found, expected) != 0)
        report(FAULT, "day %d: %s: %s instead of %s", day, query, found, expected);
}

static void expect_done(MYSQL *sql, int day)
{
    char key[64];
    struct answer answer;

    snprintf(key, sizeof(key), "'done-%d'", day);
    answer = claim(sql, PROCEDURE_DOOR, "'p'", key, "NULL");
    if (strcmp(answer.state, "DONE") != 0 || strcmp(answer.result, "[1]") != 0)
        report(LOST, "%s answers %u %s", key, answer.error, answer.state);
    calls++;
}

/* Whatever was under way: claims are served, and what is to be kept is known. */
static void check_service(MYSQL *sql, int day)
{
    static int number;
    char key[64];

    for (int kept = day - KEPT_DAYS; kept <= day; kept++)
        expect_done(sql, kept);
    snprintf(key, sizeof(key), "'crashed-%d'", number++);
    finish_one(sql, key);
}

/* The end is the same whether there was a crash or not. */
static void check_end(MYSQL *sql, int day)
{
    char expected[128];

    for (int kept = day - KEPT_DAYS; kept <= day; kept++)
        expect_done(sql, kept);
    points_verify(sql, "after maintenance");
    snprintf(expected, sizeof(expected), "%d %d %d %d %d", KEPT_DAYS + 1 + AHEAD_DAYS,
             KEPT_DAYS + 1 + AHEAD_DAYS, KEPT_DAYS, -KEPT_DAYS, AHEAD_DAYS);
    expect(sql, day, expected,
           "SELECT CONCAT_WS(' ', (SELECT COUNT(*) FROM idem.day), (SELECT COUNT(*) FROM "
           "idem.live_day), (SELECT COUNT(*) FROM idem.sealed_day), (SELECT DATEDIFF(MIN(day), "
           "idem_today()) FROM idem.live_day), (SELECT DATEDIFF(MAX(day), idem_today()) FROM "
           "idem.live_day))");
    snprintf(expected, sizeof(expected), "left-fail-%d 2,left-p-%d 4,left-unknown-%d 3", day, day,
             day);
    expect(sql, day, expected,
           "SELECT GROUP_CONCAT(idem_key, ' ', status ORDER BY idem_key) FROM idem.record WHERE "
           "scope = '' AND created_on = idem_today() AND idem_key LIKE 'left%'");
    expect(sql, day, "4",
           "SELECT COUNT(*) FROM idem.task WHERE error IS NULL AND ended_at IS NOT NULL");
    run(sql, "CALL idem.resolve('unknown', 'left-unknown-%d', 'failed', NULL)", day);
}

/* True when a point was hit; false: the work was over before it. */
static bool crash_in(MYSQL **sql, int day, const char *variable, int point)
{
    MYSQL *victim = server_connect(world.server);
    unsigned int error = 0;

    run(victim, "SET %s = %d", variable, point);
    for (size_t i = 0; i < sizeof(work) / sizeof(work[0]) && error == 0; i++, calls++) {
        error = run_errno(victim, "%s", work[i]);
        if (error != 0 && !is_gone(error))
            report(FAULT, "%s: %s", work[i], mysql_error(victim));
    }
    if (error == 0)
        error = run_errno(victim, "SET %s = 0", variable);
    mysql_close(victim);
    if (error == 0)
        return false;
    *sql = points_crash(*sql, clock_of(day));
    return true;
}

static MYSQL *walk(MYSQL *sql, int *day, const char *variable, int stride)
{
    bool hit = true;
    int point;

    for (point = points_first(); hit; point += stride, points_hit += hit) {
        ++*day;
        live_through(sql, *day);
        hit = crash_in(&sql, *day, variable, point);
        check_service(sql, *day);
        maintain(sql);
        check_end(sql, *day);
    }
    points_say(variable, point - stride);
    return sql;
}

size_t points_days(void)
{
    MYSQL *sql;
    int day = 0;

    world.server = server_start(points_options(clock_of(0)));
    sql = server_connect(world.server);
    run(sql, "CALL idem.set_policy('fail', NULL, 'fail', NULL, NULL, NULL)");
    run(sql, "CALL idem.set_policy('unknown', NULL, 'unknown', NULL, NULL, NULL)");
    while (day < FIRST_DAY) {
        live_through(sql, ++day);
        maintain(sql);
        run(sql, "CALL idem.resolve('unknown', 'left-unknown-%d', 'failed', NULL)", day);
    }
    points_break(sql);
    sql = walk(sql, &day, "crashpoint_kill_at", world.plan.stride);
    /* There are several times as many. */
    sql = walk(sql, &day, "crashpoint_kill_at_write", world.plan.stride * 3);
    mysql_close(sql);
    return calls;
}
