/* SPDX-License-Identifier: GPL-2.0-only */
/* What an hour of work must not change: counters that tell what sessions were told, and memory,
   files and threads that stay as they are. */
#include "history.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SAMPLES_MAX 10000
#define WARM 10 /* samples */
#define PLAIN_SECONDS 60
#define COUNTERS (sizeof(counters) / sizeof(counters[0]))

/* Verdicts and their counters. */
static const struct {
    const char *state, *name;
} counters[] = {{"CLAIMED", "claimed"},         {"RECLAIMED", "reclaimed"},
                {"DONE", "replayed_done"},      {"FAILED", "replayed_failed"},
                {"UNKNOWN", "unknown"},         {"NEW", "consume_new"},
                {"IN_PROGRESS", "in_progress"}, {"DUPLICATE", "consume_duplicate"}};

static int64_t before[COUNTERS];

static int64_t counter(MYSQL *sql, size_t i)
{
    return value_int(sql, "SELECT JSON_VALUE(idem_stats(), '$.%s')", counters[i].name);
}

void count_from_here(MYSQL *sql)
{
    for (size_t i = 0; i < COUNTERS; i++)
        before[i] = counter(sql, i);
}

/* A call that ended in an error may have been counted before it did. */
void check_counters(MYSQL *sql)
{
    int64_t told[COUNTERS] = {0}, unsure = 0, made = 0, failed = 0, attempts, events;

    for (int n = 0; n <= world.plan.sessions; n++)
        for (size_t e = 0; e < world.sessions[n].event_count; e++) {
            const struct event *event = world.sessions[n].events[e];

            unsure += event->error != 0;
            failed += event->op == FAIL;
            for (size_t i = 0; i < COUNTERS && event->op != PEEK && event->error == 0; i++)
                told[i] += strcmp(event->state, counters[i].state) == 0;
        }
    for (size_t i = 0; i < COUNTERS; i++) {
        int64_t counted = counter(sql, i) - before[i];

        if (counted < told[i] || counted > told[i] + unsure)
            report(FAULT, "idem_%s counted %lld, sessions were told %lld and had %lld errors",
                   counters[i].name, (long long)counted, (long long)told[i], (long long)unsure);
        made += i < 2 ? counted : 0;
    }
    attempts = value_int(sql,
                         "SELECT COALESCE(SUM(attempt), 0) FROM idem.record WHERE scope = '' "
                         "AND idem_key LIKE 'p%d-%%'",
                         world.round);
    events = value_int(sql,
                       "SELECT COUNT(*) FROM idem.record WHERE scope <> '' "
                       "AND idem_key LIKE 'p%d-%%'",
                       world.round);
    made += failed; /* fail() on its own makes a record */
    if (attempts > made)
        report(FAULT, "%lld attempts in the table, %lld counted", (long long)attempts,
               (long long)made);
    if (events > counter(sql, 5) - before[5])
        report(FAULT, "%lld events in the table, fewer counted", (long long)events);
}

/* Of a process. */
struct use {
    long kilobytes, files, threads;
};

struct sample {
    double minutes;
    struct use server, daemon;
    int64_t connections, allocated; /* of the server: sessions, and KB as it counts them itself */
};

static struct sample samples[SAMPLES_MAX];
static size_t sample_count;

static struct use use_of(long pid)
{
    struct use use = {0, 0, 0};
    char path[64], line[256];
    FILE *file;
    DIR *folder;

    snprintf(path, sizeof(path), "/proc/%ld/status", pid);
    file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        if (sscanf(line, "VmRSS: %ld", &use.kilobytes) != 1)
            sscanf(line, "Threads: %ld", &use.threads);
    if (file != NULL)
        fclose(file);
    snprintf(path, sizeof(path), "/proc/%ld/fd", pid);
    folder = opendir(path);
    while (folder != NULL && readdir(folder) != NULL)
        use.files++;
    if (folder != NULL)
        closedir(folder);
    return use;
}

static int64_t status(MYSQL *sql, const char *name)
{
    return value_int(sql,
                     "SELECT variable_value FROM information_schema.global_status "
                     "WHERE variable_name = '%s'",
                     name);
}

/* KB that the server counts: the lowest of some, a second long. Neither what is cached for the next
   use nor what a task of idemd holds meanwhile is a leak. */
static int64_t allocated_now(MYSQL *sql)
{
    int64_t least = INT64_MAX;

    for (int i = 0; i < 20; i++) {
        int64_t now;

        run(sql, "FLUSH TABLES");
        now = status(sql, "memory_used") / 1024;
        least = now < least ? now : least;
        usleep(50000);
    }
    return least;
}

/* KB a minute by which the server grows without idem: InnoDB's purge loses metadata lock objects
   (744 bytes each). A heap profile of the long run's load finds hardly anything else. */
static double plain_growth;

void watch_plain_load(MYSQL *sql)
{
    time_t end;
    int64_t from;

    run(sql, "CREATE TABLE test.plain (id INT PRIMARY KEY, v INT NOT NULL) ENGINE=InnoDB");
    run(sql, "INSERT INTO test.plain VALUES (1, 0)");
    from = allocated_now(sql);
    for (end = time(NULL) + PLAIN_SECONDS; time(NULL) < end;)
        run(sql, "UPDATE test.plain SET v = v + 1 WHERE id = 1");
    plain_growth = (double)(allocated_now(sql) - from) * 60 / PLAIN_SECONDS;
    run(sql, "DROP TABLE test.plain");
    fprintf(stderr, "  a plain table and one client: %+.0f KB allocated a minute\n", plain_growth);
}

/* Through a session of its own: others have routines compiled, some more, some less. */
void watch_sample(void)
{
    struct sample *sample = &samples[sample_count < SAMPLES_MAX ? sample_count++ : SAMPLES_MAX - 1];
    MYSQL *sql = server_connect(world.server);
    int64_t allocated;

    for (int tries = 0; tries < 100 && status(sql, "threads_connected") > 2; tries++)
        run(sql, "SELECT SLEEP(0.1)");
    allocated = allocated_now(sql);
    *sample = (struct sample){
        .minutes = (world.round + 1) * world.plan.seconds / 60,
        .server = use_of(server_pid(world.server)),
        .daemon = use_of(world.daemon.pid),
        .connections = status(sql, "threads_connected"),
        .allocated = allocated,
    };
    fprintf(stderr,
            "  %.1f minutes: server %ld KB, %lld allocated, %ld files, %ld threads, %lld "
            "connections; idemd %ld KB, "
            "%ld files, %ld threads\n",
            sample->minutes, sample->server.kilobytes, (long long)sample->allocated,
            sample->server.files, sample->server.threads, (long long)sample->connections,
            sample->daemon.kilobytes, sample->daemon.files, sample->daemon.threads);
    mysql_close(sql);
}

/* Least squares, in units a minute. */
static double slope(size_t from, long (*read)(const struct sample *))
{
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;

    for (size_t i = from; i < sample_count; i++) {
        double minutes = samples[i].minutes, amount = (double)read(&samples[i]);

        n++;
        x += minutes;
        y += amount;
        xx += minutes * minutes;
        xy += minutes * amount;
    }
    return (n * xy - x * y) / (n * xx - x * x);
}

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return a < b ? -1 : a > b;
}

/* The median of what it grows by from sample to sample, in units a minute. A leak grows all the
   time; a heap grows in steps, when more sessions than ever are there at once, and keeps what it
   has. */
static double steady(size_t from, long (*read)(const struct sample *))
{
    static double growth[SAMPLES_MAX];
    size_t count = 0;

    for (size_t i = from + 1; i < sample_count; i++)
        growth[count++] = (double)(read(&samples[i]) - read(&samples[i - 1])) /
                          (samples[i].minutes - samples[i - 1].minutes);
    qsort(growth, count, sizeof(*growth), by_size);
    return growth[count / 2];
}

#define READ(name, member)                                                                         \
    static long name(const struct sample *sample)                                                  \
    {                                                                                              \
        return (long)sample->member;                                                               \
    }
READ(server_kilobytes, server.kilobytes)
READ(server_files, server.files)
READ(server_threads, server.threads)
READ(connections, connections)
READ(allocated, allocated)
READ(daemon_kilobytes, daemon.kilobytes)
READ(daemon_files, daemon.files)
READ(daemon_threads, daemon.threads)

/* The first five minutes, and the first third, are for warming up. */
void watch_check(void)
{
    const struct {
        const char *name;
        long (*read)(const struct sample *);
        double (*grows)(size_t, long (*)(const struct sample *));
        double most; /* a minute */
    } rules[] = {{"server, KB", server_kilobytes, steady, 300},
                 {"server, KB allocated", allocated, slope, 400 + plain_growth},
                 {"server, files", server_files, slope, 2},
                 {"server, threads", server_threads, slope, 1},
                 {"server, connections", connections, slope, 0.2},
                 {"idemd, KB", daemon_kilobytes, steady, 30},
                 {"idemd, files", daemon_files, slope, 0.2},
                 {"idemd, threads", daemon_threads, slope, 0.2}};
    size_t from = sample_count / 3 > WARM ? sample_count / 3 : WARM;

    if (sample_count < from + 5) {
        fprintf(stderr, "  too short to tell what grows: 8 minutes at least\n");
        return;
    }
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        double grows = rules[i].grows(from, rules[i].read);

        fprintf(stderr, "  %-20s %9ld to %9ld, %+9.2f a minute (at most %.1f)\n", rules[i].name,
                rules[i].read(&samples[from]), rules[i].read(&samples[sample_count - 1]), grows,
                rules[i].most);
        if (grows > rules[i].most)
            report(FAULT, "%s: grows by %.2f a minute", rules[i].name, grows);
    }
}
