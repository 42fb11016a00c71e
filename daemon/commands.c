/* SPDX-License-Identifier: GPL-2.0-only */
/* The commands that end by themselves: once and status. */
#include "commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "connect.h"
#include "exit.h"
#include "log.h"
#include "loop.h"
#include "report.h"
#include "tasks.h"

enum idem_standing idem_connect_any(struct idem_db *db, const struct idem_options *options,
                                    bool take)
{
    size_t hosts = idem_db_hosts(options);
    enum idem_standing best = IDEM_DOWN;
    size_t best_host = 0;

    /* Twice: the best of the first round is taken in the second. */
    for (size_t i = 0; i <= hosts; i++) {
        size_t host = i < hosts ? i : best_host;
        enum idem_standing standing = IDEM_DOWN;

        idem_db_close(db);
        if (idem_db_connect(db, options, host))
            standing = idem_lead_prove(db, take);
        if (standing >= IDEM_STANDBY || i == hosts)
            return standing;
        if (standing > best) {
            best = standing;
            best_host = host;
        }
        if (hosts == 1)
            return standing;
    }
    return best;
}

int idem_command_once(struct idem_options *options, int argc, char **argv)
{
    struct idem_task tasks[IDEM_TASK_COUNT] = {0};
    struct idem_db db = {0};
    enum idem_standing standing;
    int code = IDEM_EXIT_OK;

    (void)argc, (void)argv;
    idem_loop_start();
    standing = idem_connect_any(&db, options, !options->dry_run);
    if (standing <= IDEM_NOT_READY) {
        idem_log(IDEM_LOG_ERROR, NULL, "%s: %s: %s", db.name, idem_standing_names[standing],
                 db.message);
        code = IDEM_EXIT_NO_SERVER;
    } else if (standing == IDEM_READ_ONLY) {
        idem_log(IDEM_LOG_ERROR, NULL, "%s: the server is read-only", db.name);
        code = IDEM_EXIT_READ_ONLY;
    } else if (options->dry_run) {
        code = idem_tasks_plan(&db) ? IDEM_EXIT_OK : IDEM_EXIT_FAILED;
    } else {
        for (int i = 0; i < IDEM_TASK_COUNT && !idem_loop_stopping(); i++) {
            enum idem_task_end end;

            while ((end = idem_task_run(&tasks[i], i, &db)) == IDEM_TASK_MORE &&
                   !idem_loop_stopping())
                idem_loop_sleep(tasks[i].due - idem_loop_now());
            if (end == IDEM_TASK_FAILED)
                code = IDEM_EXIT_FAILED;
            json_decref(tasks[i].last_rows);
            if (end == IDEM_TASK_FAILED && idem_db_lost(&db))
                break;
        }
    }
    idem_db_close(&db);
    return code;
}

static void print_age(const json_t *object)
{
    if (json_is_number(json_object_get(object, "age")))
        printf("%10.0f s ago", idem_report_number(object, "age"));
    else
        printf("%16s", "never");
}

static void print_report(const json_t *report)
{
    const json_t *records = json_object_get(report, "records");
    const char *first = "", *last = "";
    double rows = 0, bytes = 0;
    json_t *entry;
    size_t i;

    printf("server     %s, idem %s, ", idem_report_text(report, "server"),
           idem_report_text(report, "version"));
    if (idem_report_number(report, "leader") != 0)
        printf("an idemd leads on connection %.0f\n", idem_report_number(report, "leader"));
    else
        puts("no idemd leads");
    json_array_foreach(json_object_get(report, "tasks"), i, entry)
    {
        printf("task       %-18s last success", idem_report_text(entry, "name"));
        print_age(entry);
        printf("%s%s%s\n", json_is_true(json_object_get(entry, "overdue")) ? "  OVERDUE" : "",
               *idem_report_text(entry, "error") != '\0' ? "  error: " : "",
               idem_report_text(entry, "error"));
    }
    json_array_foreach(json_object_get(report, "days"), i, entry)
    {
        if (i == 0)
            first = idem_report_text(entry, "day");
        last = idem_report_text(entry, "day");
        rows += idem_report_number(entry, "rows");
        bytes += idem_report_number(entry, "bytes");
    }
    printf("days       %zu, %s to %s, about %.0f records, %.1f MiB; %.0f ahead of today\n",
           json_array_size(json_object_get(report, "days")), first, last, rows, bytes / 1048576,
           idem_report_number(report, "runway_days"));
    printf("claims     %.0f in progress, %.0f past their lease, %.0f unknown%s\n",
           idem_report_number(records, "in_progress"), idem_report_number(records, "expired"),
           idem_report_number(records, "unknown"), " (counted up to 100000)");
    json_array_foreach(json_object_get(report, "stuck"), i, entry)
    {
        printf("stuck      %s %s: %s,", idem_report_text(entry, "biz_type"),
               idem_report_text(entry, "idem_key"), idem_report_text(entry, "status"));
        print_age(entry);
        printf("\n");
    }
}

int idem_command_status(struct idem_options *options, int argc, char **argv)
{
    struct idem_db db = {0};
    enum idem_standing standing;
    json_t *report, *problem;
    int code;
    size_t i;

    (void)argc, (void)argv;
    standing = idem_connect_any(&db, options, false);
    report = idem_report_read(&db, standing);
    if (options->json) {
        json_dumpf(report, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
        putchar('\n');
    } else {
        if (json_object_get(report, "tasks") != NULL)
            print_report(report);
        json_array_foreach(json_object_get(report, "problems"), i, problem)
            printf("PROBLEM    %s\n", json_string_value(problem));
    }
    code = standing <= IDEM_NOT_READY                         ? IDEM_EXIT_NO_SERVER
           : json_is_true(json_object_get(report, "healthy")) ? IDEM_EXIT_OK
                                                              : IDEM_EXIT_FAILED;
    json_decref(report);
    idem_db_close(&db);
    return code;
}
