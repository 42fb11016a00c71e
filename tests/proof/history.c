/* SPDX-License-Identifier: GPL-2.0-only */
/* Runs one attack and prints its row: attack|calls|faults|lost|doubled.

     proof [--seed N] [--seconds S] [--sessions N] [--crash] [--break NAME]
     proof --long MINUTES [--seed N] [--sessions N]   watches memory as well
     proof --hostile [--seed N] [--seconds S]
     proof --points claims|commits|days|install [--flush 0|1|2] [--stride N] [--seed N]
     proof --list    the names of the breaks

   0: nothing found; with --break, which makes the core wrong first: something found. 1: not so. */
#include "points.h"

#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SESSIONS_MAX 1000
#define DISTURBERS 6

struct world world;

void report(enum fault fault, const char *format, ...)
{
    int before = atomic_fetch_add(&world.faults, 1);
    va_list arguments;

    if (fault != FAULT)
        atomic_fetch_add(fault == LOST ? &world.lost : &world.doubled, 1);
    if (before >= 20)
        return;
    va_start(arguments, format);
    fprintf(stderr, "  %s: ", fault == LOST ? "lost" : fault == DOUBLED ? "doubled" : "fault");
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

static struct plan read_options(int argc, char **argv)
{
    static const struct option options[] = {
        {"seed", required_argument, NULL, 's'},     {"seconds", required_argument, NULL, 't'},
        {"sessions", required_argument, NULL, 'n'}, {"crash", no_argument, NULL, 'c'},
        {"break", required_argument, NULL, 'b'},    {"list", no_argument, NULL, 'l'},
        {"hostile", no_argument, NULL, 'h'},        {"long", required_argument, NULL, 'm'},
        {"points", required_argument, NULL, 'p'},   {"flush", required_argument, NULL, 'f'},
        {"stride", required_argument, NULL, 'e'},   {NULL, 0, NULL, 0}};
    struct plan plan = {
        .seed = 1, .seconds = 20, .sessions = 24, .rounds = 1, .flush = 1, .stride = 1};
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 's')
            plan.seed = (unsigned int)strtoul(optarg, NULL, 10);
        else if (option == 't')
            plan.seconds = strtod(optarg, NULL);
        else if (option == 'n')
            plan.sessions = atoi(optarg);
        else if (option == 'h')
            plan.hostile = true;
        else if (option == 'm') {
            plan.seconds = ROUND_SECONDS;
            plan.rounds = (int)(strtod(optarg, NULL) * 60 / ROUND_SECONDS);
        } else if (option == 'c')
            plan.crashes = true;
        else if (option == 'b')
            plan.broken = optarg;
        else if (option == 'p')
            plan.points = optarg;
        else if (option == 'f')
            plan.flush = atoi(optarg);
        else if (option == 'e')
            plan.stride = atoi(optarg);
        else if (option == 'l') {
            list_breaks();
            exit(0);
        } else
            exit(2);
    }
    if (plan.flush < 0 || plan.flush > 2 || plan.stride < 1) {
        fprintf(stderr, "proof: --flush from 0 to 2, --stride above 0\n");
        exit(2);
    }
    if (plan.seconds <= 0 || plan.sessions < 1 || plan.sessions > SESSIONS_MAX || plan.rounds < 1) {
        fprintf(stderr, "proof: --seconds above 0, --sessions from 1 to %d\n", SESSIONS_MAX);
        exit(2);
    }
    return plan;
}

#define CLAIM_INTO(what, fails)                                                                    \
    "CALL idem.claim_into(" what ", 0, @state, @token, @detail); "                                 \
    "IF " fails " THEN SIGNAL SQLSTATE '45000'; END IF; "

static void set_up(MYSQL *sql)
{
    run(sql, "CREATE DATABASE test");
    run(sql, "CREATE TABLE test.work (k INT, id BIGINT, KEY (k)) ENGINE=InnoDB");
    run(sql, "CREATE TABLE test.seen (k INT, id BIGINT, KEY (k)) ENGINE=InnoDB");
    run(sql, "CREATE TABLE test.witness (id BIGINT PRIMARY KEY) ENGINE=InnoDB");
    run(sql, "SET GLOBAL log_bin_trust_function_creators = ON");
    run(sql, "CREATE TABLE test.gate (biz_type BLOB, k BLOB, payload BLOB, fails BOOLEAN) "
             "ENGINE=InnoDB");
    run(sql, "CREATE TRIGGER test.gate BEFORE INSERT ON test.gate FOR EACH ROW BEGIN " CLAIM_INTO(
                 "NEW.biz_type, NEW.k, NEW.payload", "NEW.fails") "END");
    run(sql, "CREATE FUNCTION test.gate(t BLOB, k BLOB, p BLOB, fails BOOLEAN) RETURNS INT "
             "MODIFIES SQL DATA BEGIN " CLAIM_INTO("t, k, p", "fails") "RETURN 1; END");
    run(sql, "SET GLOBAL idem_maintenance_interval_seconds = 1, idem_reap_interval_seconds = 1");
    run(sql, "SET GLOBAL idem_test_now_us = %lld", (long long)START_US);
    run(sql, "SET GLOBAL idem_retention_days = %d, idem_partitions_ahead = 20", RETENTION_DAYS);
    run(sql, "CALL idem.ensure_partitions()");
    run(sql, "CALL idem.drop_expired()"); /* the days of the real clock */
    run(sql, "CALL idem.set_policy('unknown', NULL, 'unknown', NULL, NULL, NULL)");
    run(sql, "CALL idem.set_policy('fail', NULL, 'fail', NULL, NULL, NULL)");
    if (world.plan.broken != NULL && !break_core(sql, world.plan.broken)) {
        fprintf(stderr, "proof: no break %s\n", world.plan.broken);
        exit(2);
    }
}

static void set_pause(double seconds)
{
    struct timespec pause = {.tv_sec = (time_t)seconds,
                             .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};

    nanosleep(&pause, NULL);
}

/* The server comes up with the clock it went down with, so nobody can see the real one. */
static void crash_and_restart(void)
{
    static char now[64], retention[64];
    static const char *const options[] = {"--innodb-flush-log-at-trx-commit=1",
                                          "--sync-binlog=1",
                                          now,
                                          retention,
                                          "--idem-partitions-ahead=20",
                                          "--idem-maintenance-interval-seconds=1",
                                          "--idem-reap-interval-seconds=1",
                                          "--log-bin-trust-function-creators=ON",
                                          NULL};

    server_kill(world.server, SIGKILL);
    snprintf(now, sizeof(now), "--idem-test-now-us=%lld",
             (long long)atomic_load(&world.clock_high));
    snprintf(retention, sizeof(retention), "--idem-retention-days=%d", RETENTION_DAYS);
    server_restart(world.server, options);
}

static void let_run(void)
{
    static void *(*const disturbers[DISTURBERS])(void *) = {disturb_clock,     disturb_sessions,
                                                            disturb_by_daemon, disturb_days,
                                                            disturb_days,      disturb_days};
    pthread_t threads[DISTURBERS];
    int crashes = world.plan.crashes ? 1 + (int)world.plan.seconds / 6 : 0;

    for (int i = 1; i <= world.plan.sessions; i++)
        pthread_create(&world.sessions[i].thread, NULL, session_run, &world.sessions[i]);
    for (int i = 0; i < DISTURBERS; i++)
        pthread_create(&threads[i], NULL, disturbers[i], NULL);
    for (int i = 0; i < crashes; i++) {
        set_pause(world.plan.seconds / (crashes + 1));
        crash_and_restart();
    }
    set_pause(world.plan.seconds / (crashes + 1));
    atomic_store(&world.over, true);
    for (int i = 1; i <= world.plan.sessions; i++)
        pthread_join(world.sessions[i].thread, NULL);
    for (int i = 0; i < DISTURBERS; i++)
        pthread_join(threads[i], NULL);
}

/* Takes keys, deeds and events back to nothing; what is committed stays, under names of its round.
 */
static void forget_round(void)
{
    static const char *const tables[] = {"work", "seen", "witness"};
    MYSQL *sql = server_connect(world.server);

    for (int i = 0; i <= world.plan.sessions; i++) {
        struct session *s = &world.sessions[i];

        for (size_t n = 0; n < s->event_count; n++)
            free(s->events[n]);
        for (size_t n = 0; n < s->deed_count; n++)
            free(s->deeds[n]);
        s->event_count = s->deed_count = 0;
        for (int hand = 0; hand < HANDS; hand++)
            s->hands[hand].key = -1;
    }
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        run(sql, "TRUNCATE test.%s", tables[i]);
    run(sql, "DELETE FROM test.gate");
    mysql_close(sql);
    memset((void *)world.first_day, 0, (size_t)world.keys * sizeof(*world.first_day));
    for (int i = 0; i < LEASED; i++)
        atomic_store(&world.leased[i], -1);
    atomic_store(&world.head, 0);
    atomic_store(&world.over, false);
    world.round++;
}

static void make_world(struct plan plan)
{
    static const char *const durable[] = {"--innodb-flush-log-at-trx-commit=1", "--sync-binlog=1",
                                          NULL};
    /* A buffer pool that is full soon and no cached threads: filling these is no leak, but looks
       like one. */
    static const char *const small[] = {"--innodb-buffer-pool-size=12M", "--thread-cache-size=0",
                                        NULL};

    world.plan = plan;
    world.keys = 20000 + (int)(plan.seconds * 5000);
    world.first_day = calloc((size_t)world.keys, sizeof(*world.first_day));
    world.sessions = calloc((size_t)plan.sessions + 1, sizeof(*world.sessions));
    if (world.first_day == NULL || world.sessions == NULL)
        abort();
    for (int i = 0; i < LEASED; i++)
        atomic_store(&world.leased[i], -1);
    atomic_store(&world.stamp, 2);
    atomic_store(&world.clock_low, START_US);
    atomic_store(&world.clock_high, START_US);
    for (int i = 0; i <= plan.sessions; i++) {
        world.sessions[i].number = i;
        world.sessions[i].seed = plan.seed * 1009 + (unsigned int)i;
        for (int hand = 0; hand < HANDS; hand++)
            world.sessions[i].hands[hand].key = -1;
    }
    if (plan.rounds > 1) { /* one heap without holes: what is freed goes back to the system */
        setenv("MALLOC_ARENA_MAX", "1", 1);
        setenv("MALLOC_MMAP_THRESHOLD_", "32768", 1);
        setenv("MALLOC_TRIM_THRESHOLD_", "131072", 1);
    }
    world.server = server_start(plan.crashes ? durable : plan.rounds > 1 ? small : NULL);
}

/* Lets the sessions run and checks what came of it; the number of calls. */
static size_t run_round(void)
{
    MYSQL *sql = server_connect(world.server);
    size_t calls = 0;

    if (!world.plan.crashes)
        count_from_here(sql);
    mysql_close(sql);
    let_run();
    sql = server_connect(world.server);
    /* Every lease has run out; what is unfinished can be ended. */
    atomic_fetch_add(&world.clock_high, 2 * LEASE_US);
    run(sql, "SET GLOBAL idem_test_now_us = %lld", (long long)atomic_load(&world.clock_high));
    atomic_store(&world.clock_low, atomic_load(&world.clock_high));
    run(sql, "CALL idem.ensure_partitions()");
    session_drain(&world.sessions[0]);
    check_history(sql);
    if (!world.plan.crashes)
        check_counters(sql);
    for (int i = 0; i <= world.plan.sessions; i++)
        calls += world.sessions[i].event_count;
    fprintf(stderr, "  seed %u: %zu calls, %d keys, %s\n", world.plan.seed, calls,
            atomic_load(&world.head),
            value(sql, "SELECT CONCAT(DATEDIFF(idem_today(), '2031-12-31') + 1, ' days, ', "
                       "GROUP_CONCAT(name, ' ', runs SEPARATOR ', '), ', sealed ', "
                       "(SELECT COUNT(*) FROM idem.sealed_day), ', looks spared ', "
                       "JSON_VALUE(idem_stats(), '$.filter_skips'), ', made ', "
                       "JSON_VALUE(idem_stats(), '$.filter_probes')) FROM idem.task"));
    mysql_close(sql);
    if (world.plan.rounds > 1)
        watch_sample();
    return calls;
}

static size_t history_run(void)
{
    MYSQL *sql = server_connect(world.server);
    size_t calls = 0;

    set_up(sql);
    if (world.plan.rounds > 1) {
        watch_plain_load(sql);
        /* By this thread: it ends with who has started it. */
        world.daemon = daemon_start(world.server, "%s", "");
    }
    mysql_close(sql);
    for (int round = 0; round < world.plan.rounds; round++) {
        calls += run_round();
        if (round + 1 < world.plan.rounds)
            forget_round();
    }
    if (world.plan.rounds > 1) {
        daemon_end(&world.daemon, SIGTERM);
        watch_check();
    }
    return calls;
}

static const struct points_attack {
    const char *name, *title;
    size_t (*run)(void);
} points_attacks[] = {
    {"claims", "kill at each step of a claim", points_claims},
    {"commits", "kill at each write of a claim", points_commits},
    {"days", "kill in maintenance", points_days},
    {"install", "kill in install, uninstall", points_install},
};

static size_t points_run(const char **ret_title)
{
    for (size_t i = 0; i < sizeof(points_attacks) / sizeof(points_attacks[0]); i++)
        if (strcmp(points_attacks[i].name, world.plan.points) == 0) {
            if (world.plan.broken == NULL)
                *ret_title = points_attacks[i].title;
            return points_attacks[i].run();
        }
    fprintf(stderr, "proof: no points %s\n", world.plan.points);
    exit(2);
}

int main(int argc, char **argv)
{
    struct plan plan = read_options(argc, argv);
    const char *title = plan.broken != NULL ? "the checker sees it: "
                        : plan.hostile      ? "hostile callers"
                        : plan.rounds > 1   ? "long run"
                                            : "history";
    size_t calls;
    int faults;

    world.plan = plan;
    if (plan.points == NULL)
        make_world(plan);
    calls = plan.points != NULL ? points_run(&title) : plan.hostile ? hostile_run() : history_run();
    if (server_log_contains(world.server, "got signal") ||
        server_log_contains(world.server, "[ERROR] InnoDB"))
        report(FAULT, "the server's log has errors");
    server_stop(world.server);

    if (plan.points != NULL)
        fprintf(stderr, "  %d crash points\n", points_hit);
    faults = atomic_load(&world.faults);
    printf("%s%s|%zu|%d|%d|%d\n", title,
           plan.broken != NULL ? plan.broken
           : plan.crashes      ? ", server killed"
           : plan.flush == 2   ? ", flush 2"
           : plan.flush == 0   ? ", flush 0"
                               : "",
           calls, faults, atomic_load(&world.lost), atomic_load(&world.doubled));
    return (faults > 0) != (plan.broken != NULL);
}
