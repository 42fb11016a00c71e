/* SPDX-License-Identifier: GPL-2.0-only */
/* A report as Prometheus text (exposition format 0.0.4). Gauges of a server that does not answer
   are left out, so that an alert on them sees absence and not an old value. */
#include <string.h>

#include "http.h"
#include "idem/version.h"
#include "lead.h"
#include "report.h"

static void head(struct idem_text *text, const char *name, const char *type, const char *help)
{
    idem_text_add(text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void gauge(struct idem_text *text, const char *name, const char *help, double value)
{
    head(text, name, "gauge", help);
    idem_text_add(text, "%s %.15g\n", name, value);
}

static void of_tasks(struct idem_text *text, const json_t *tasks, const char *member,
                     const char *name, const char *type, const char *help)
{
    json_t *task;
    size_t i;

    head(text, name, type, help);
    json_array_foreach(tasks, i, task)
    {
        const json_t *value = json_object_get(task, member);

        if (json_is_number(value) || json_is_boolean(value))
            idem_text_add(text, "%s{task=\"%s\"} %.15g\n", name, idem_report_text(task, "name"),
                          json_is_boolean(value) ? (double)json_is_true(value)
                                                 : json_number_value(value));
    }
}

/* The last outcome as numbers: days per outcome, or the members of a reaper's answer. */
static void outcomes(struct idem_text *text, const json_t *tasks)
{
    static const char *const names[] = {"created", "repaired", "dropped", "pinned", "contended",
                                        "missing", "sealed",   "busy",    "gone"};
    json_t *task, *entry;
    const char *member;
    size_t i, j;

    head(text, "idem_task_last_outcome", "gauge", "What the last successful run did, by outcome.");
    json_array_foreach(tasks, i, task)
    {
        const json_t *outcome = json_object_get(task, "outcome");
        const char *name = idem_report_text(task, "name");

        json_object_foreach((json_t *)outcome, member, entry) if (json_is_number(entry))
            idem_text_add(text, "idem_task_last_outcome{task=\"%s\",outcome=\"%s\"} %.15g\n", name,
                          member, json_number_value(entry));
        for (size_t k = 0; json_is_array(outcome) && k < sizeof(names) / sizeof(names[0]); k++) {
            unsigned int count = 0;

            json_array_foreach(outcome, j, entry) count +=
                strcmp(idem_report_text(entry, "outcome"), names[k]) == 0;
            if (count > 0)
                idem_text_add(text, "idem_task_last_outcome{task=\"%s\",outcome=\"%s\"} %u\n", name,
                              names[k], count);
        }
    }
}

static void of_days(struct idem_text *text, const json_t *report)
{
    double rows = 0, bytes = 0, expired = 0;
    json_t *day;
    size_t i;

    json_array_foreach(json_object_get(report, "days"), i, day)
    {
        rows += idem_report_number(day, "rows");
        bytes += idem_report_number(day, "bytes");
        expired += strcmp(idem_report_text(day, "state"), "expired") == 0;
    }
    gauge(text, "idem_partition_runway_days",
          "Days after today that have a partition, without a gap; -1: today has none.",
          idem_report_number(report, "runway_days"));
    gauge(text, "idem_partitions", "Days that have a partition.",
          (double)json_array_size(json_object_get(report, "days")));
    gauge(text, "idem_partitions_expired", "Days past their retention that are still there.",
          expired);
    gauge(text, "idem_records_estimate", "Records, by the server's own estimate.", rows);
    gauge(text, "idem_records_bytes", "Size of the records with their index.", bytes);
}

void idem_metrics_render(const json_t *report, struct idem_text *text)
{
    const json_t *tasks = json_object_get(report, "tasks");
    const json_t *records = json_object_get(report, "records");
    const char *standing = idem_report_text(report, "standing");

    head(text, "idemd_info", "gauge", "Version of the daemon.");
    idem_text_add(text, "idemd_info{version=\"" IDEM_VERSION "\"} 1\n");
    head(text, "idemd_state", "gauge", "1 for the state this daemon is in.");
    for (int i = IDEM_DOWN; i <= IDEM_LEADER; i++)
        idem_text_add(text, "idemd_state{state=\"%s\"} %d\n", idem_standing_names[i],
                      strcmp(standing, idem_standing_names[i]) == 0);
    gauge(text, "idemd_leader", "1 if this daemon runs the tasks.",
          strcmp(standing, idem_standing_names[IDEM_LEADER]) == 0);
    gauge(text, "idemd_healthy", "1 if /healthz says so.",
          json_is_true(json_object_get(report, "healthy")));
    gauge(text, "idem_up", "1 if the server answers and idem is installed there.", tasks != NULL);
    if (tasks == NULL)
        return;
    gauge(text, "idem_server_read_only", "1 on a read-only server.",
          idem_report_number(report, "read_only"));
    of_tasks(text, tasks, "succeeded", "idem_task_last_success_timestamp_seconds", "gauge",
             "Unix time of the last run without an error.");
    of_tasks(text, tasks, "duration", "idem_task_last_duration_seconds", "gauge",
             "How long the last run took.");
    of_tasks(text, tasks, "runs", "idem_task_runs_total", "counter", "Runs started.");
    of_tasks(text, tasks, "failures", "idem_task_failures", "gauge",
             "Errors since the last success.");
    of_tasks(text, tasks, "overdue", "idem_task_overdue", "gauge", "1 if the task is overdue.");
    outcomes(text, tasks);
    of_days(text, report);
    gauge(text, "idem_claims_in_progress",
          "Unfinished committed claims within their lease (up to 100000).",
          idem_report_number(records, "in_progress"));
    gauge(text, "idem_claims_expired", "Unfinished claims past their lease (up to 100000).",
          idem_report_number(records, "expired"));
    gauge(text, "idem_claims_unknown",
          "Claims that wait for an operator's idem.resolve (up to 100000).",
          idem_report_number(records, "unknown"));
}
