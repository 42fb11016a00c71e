/* SPDX-License-Identifier: GPL-2.0-only */
/* idemd run: find the writable server, lead or stand by, run what is due, show how things stand. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <systemd/sd-daemon.h>
#include <sys/random.h>

#include "commands.h"
#include "db.h"
#include "exit.h"
#include "http.h"
#include "lead.h"
#include "log.h"
#include "loop.h"
#include "report.h"
#include "tasks.h"

#define PROVE_MS 1000        /* longest time without a look at the server */
#define REPORT_MS 5000       /* age of what /metrics says */
#define BACKOFF_FIRST_MS 200 /* doubles with every round through the hosts */
#define BACKOFF_MOST_MS 10000
#define HOSTS_MAX 64

struct runner {
    struct idem_options *options;
    struct idem_db db;
    struct idem_task tasks[IDEM_TASK_COUNT];
    struct idem_http *http; /* NULL: off */
    size_t host;
    unsigned int failures; /* since a server could last be used */
    int64_t report_due;
    /* What was last said about each host, so that only changes are told. */
    struct {
        bool said;
        enum idem_standing standing;
        unsigned int error;
    } last[HOSTS_MAX];
};

/* Full jitter, but never less than half: many daemons must not come back in step. */
static int64_t backoff_ms(const struct runner *runner)
{
    size_t rounds = runner->failures / idem_db_hosts(runner->options);
    int64_t most = BACKOFF_FIRST_MS << (rounds < 10 ? rounds : 10);
    uint32_t random = 0;

    if (most > BACKOFF_MOST_MS)
        most = BACKOFF_MOST_MS;
    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
        random = (uint32_t)idem_loop_now();
    return most / 2 + random % (most / 2 + 1);
}

static void publish(struct runner *runner, enum idem_standing standing)
{
    json_t *report;

    if (runner->http == NULL)
        return;
    report = idem_report_read(&runner->db, standing);
    idem_http_publish(runner->http, report);
    json_decref(report);
}

static void tell_standing(struct runner *runner, enum idem_standing standing)
{
    bool has_reason = standing <= IDEM_NOT_READY;
    unsigned int error = has_reason ? runner->db.error : 0;
    size_t slot = runner->host % HOSTS_MAX;
    json_t *fields;

    if (runner->last[slot].said && runner->last[slot].standing == standing &&
        runner->last[slot].error == error)
        return;
    runner->last[slot].said = true;
    runner->last[slot].standing = standing;
    runner->last[slot].error = error;
    fields =
        json_pack("{s:s,s:s}", "server", runner->db.name, "state", idem_standing_names[standing]);
    if (error != 0)
        json_object_set_new(fields, "error", json_integer(error));
    if (has_reason)
        idem_log(IDEM_LOG_ERROR, fields, "%s: %s", idem_standing_names[standing],
                 runner->db.message);
    else
        idem_log(IDEM_LOG_INFO, fields, "%s", idem_standing_names[standing]);
    sd_notifyf(0, "STATUS=%s: %s", runner->db.name, idem_standing_names[standing]);
    runner->report_due = 0;
}

/* This server is of no use now: the next one of the list, after a pause. */
static void next_host(struct runner *runner, enum idem_standing standing)
{
    publish(runner, standing);
    idem_db_close(&runner->db);
    runner->failures++;
    runner->host = (runner->host + 1) % idem_db_hosts(runner->options);
    idem_loop_sleep(backoff_ms(runner));
}

/* The task that is due for the longest time, or -1; the time until then, at most PROVE_MS. */
static int pick_task(struct runner *runner, int64_t *ret_pause)
{
    int64_t now = idem_loop_now(), first = now + PROVE_MS;
    int found = -1;

    for (int i = 0; i < IDEM_TASK_COUNT; i++) {
        struct idem_task *task = &runner->tasks[i];

        if (task->due < first) {
            first = task->due;
            if (task->due <= now)
                found = i;
        }
    }
    *ret_pause = first > now ? first - now : 0;
    return found;
}

/* One proof and one action. */
static void step(struct runner *runner)
{
    enum idem_standing standing = IDEM_DOWN;
    int64_t pause = PROVE_MS;
    int task;

    if (runner->db.sql == NULL)
        idem_db_connect(&runner->db, runner->options, runner->host);
    if (runner->db.sql != NULL)
        standing = idem_lead_prove(&runner->db, true);
    tell_standing(runner, standing);
    if (standing <= IDEM_READ_ONLY) {
        next_host(runner, standing);
        return;
    }
    runner->failures = 0;
    if (standing == IDEM_LEADER && (task = pick_task(runner, &pause)) >= 0) {
        if (!idem_task_ran_elsewhere(&runner->tasks[task], task, &runner->db) &&
            idem_task_run(&runner->tasks[task], task, &runner->db) != IDEM_TASK_MORE)
            runner->report_due = 0;
        if (pick_task(runner, &pause) >= 0)
            return;
    }
    if (idem_loop_now() >= runner->report_due) {
        publish(runner, standing);
        runner->report_due = idem_loop_now() + REPORT_MS;
    }
    idem_loop_sleep(pause);
}

static void reload(struct runner *runner, int argc, char **argv)
{
    struct idem_options options;

    sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%lld", (long long)idem_loop_now() * 1000);
    if (idem_options_read(&options, argc, argv) == IDEM_EXIT_OK) {
        idem_options_free(runner->options);
        *runner->options = options;
        memset(runner->last, 0, sizeof(runner->last));
        runner->host = 0;
        idem_db_close(&runner->db);
        idem_log(IDEM_LOG_INFO, NULL, "option files are read again (listen stays as it was)");
    } else {
        idem_options_free(&options);
        idem_log(IDEM_LOG_ERROR, NULL, "option files have an error; the old options stay");
    }
    sd_notify(0, "READY=1");
}

int idem_command_run(struct idem_options *options, int argc, char **argv)
{
    struct runner runner = {.options = options};
    const char *listen = options->values[IDEM_OPTION_LISTEN];

    idem_loop_start();
    if (listen == NULL)
        listen = "127.0.0.1:9909";
    if (strcmp(listen, "off") != 0 && (runner.http = idem_http_start(listen)) == NULL)
        return IDEM_EXIT_USAGE;
    sd_notify(0, "READY=1");
    idem_log(IDEM_LOG_INFO, json_pack("{s:s}", "listen", listen), "idemd started");
    while (!idem_loop_stopping()) {
        if (idem_loop_take_reload())
            reload(&runner, argc, argv);
        if (idem_loop_take_kick())
            for (int i = 0; i < IDEM_TASK_COUNT; i++)
                runner.tasks[i].due = 0;
        step(&runner);
    }
    sd_notify(0, "STOPPING=1");
    idem_log(IDEM_LOG_INFO, NULL, "idemd stopped");
    for (int i = 0; i < IDEM_TASK_COUNT; i++)
        json_decref(runner.tasks[i].last_rows);
    idem_http_stop(runner.http);
    idem_db_close(&runner.db);
    return IDEM_EXIT_OK;
}
