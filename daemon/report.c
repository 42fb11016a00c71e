/* SPDX-License-Identifier: GPL-2.0-only */
/* Reading the picture of an installation. Every query is bounded: by the number of days, of tasks,
   or by a LIMIT on index lease. */
#include "report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tasks.h"

#define GRACE_SECONDS 10 /* a task that is this late is not yet overdue */
#define NOW "(TIMESTAMP '1970-01-01 00:00:00' + INTERVAL idem_now_us() MICROSECOND)"
#define STRING(x) #x
#define NUMBER(x) STRING(x)

static const char server_query[] =
    "SELECT idem_version() AS version, VERSION() AS server_version,"
    " IS_USED_LOCK('idem.leader') AS leader, UPPER(@@global.read_only) NOT IN ('0', 'OFF') AS "
    "read_only,"
    " idem_setting('retention_days') AS retention_days, idem_today() AS today,"
    " idem_setting('maintenance_interval_seconds') AS maintenance_interval_seconds,"
    " idem_setting('reap_interval_seconds') AS reap_interval_seconds";

static const char task_query[] =
    "SELECT t.name, t.runs, t.failures, t.succeeded_at,"
    " TIMESTAMPDIFF(MICROSECOND, '1970-01-01', t.succeeded_at) / 1000000 AS succeeded,"
    " TIMESTAMPDIFF(SECOND, t.succeeded_at, " NOW ") AS age, t.duration_us / 1000000 AS duration,"
    " t.outcome, t.error_number, t.error, t.account FROM idem.task t";

static const char day_query[] =
    "SELECT d.day, d.table_rows AS `rows`, d.bytes,"
    " CASE WHEN d.day < idem_today() - INTERVAL idem_setting('retention_days') DAY THEN 'expired'"
    " WHEN d.day < idem_today() THEN 'kept' WHEN d.day = idem_today() THEN 'today' ELSE 'ahead' "
    "END AS"
    " state, DATEDIFF(d.day, idem_today()) AS ahead FROM idem.day d ORDER BY d.position";

#define COUNT_OF(condition)                                                                        \
    "(SELECT COUNT(*) FROM (SELECT 1 FROM idem.record r FORCE INDEX (lease) WHERE " condition      \
    " LIMIT " NUMBER(IDEM_REPORT_COUNT_MAX) ") a)"

static const char record_query[] =
    "SELECT " COUNT_OF("r.lease_until > " NOW) " AS in_progress, " COUNT_OF(
        "r.lease_until <= " NOW
        " AND r.status = 0") " AS expired, " COUNT_OF("r.lease_until IS NULL AND r.status "
                                                      "= 3") " AS unknown";

#define STUCK_COLUMNS                                                                              \
    "SELECT CONVERT(r.biz_type USING utf8mb4) AS biz_type, CONVERT(r.idem_key USING utf8mb4) AS"   \
    " idem_key, IF(r.status = 3, 'unknown', 'lease ran out') AS status, r.attempt,"                \
    " r.owner_account, r.created_at, TIMESTAMPDIFF(SECOND, r.updated_at, " NOW ") AS age"          \
    " FROM idem.record r FORCE INDEX (lease) WHERE "

static const char stuck_query[] =
    "(" STUCK_COLUMNS "r.lease_until <= " NOW " AND r.status = 0 ORDER BY r.lease_until LIMIT 10)"
    " UNION ALL (" STUCK_COLUMNS "r.lease_until IS NULL AND r.status = 3 LIMIT 10)"
    " ORDER BY age DESC LIMIT 10";

const char *idem_report_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text != NULL ? text : "";
}

double idem_report_number(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);

    return json_is_string(value) ? strtod(json_string_value(value), NULL)
                                 : json_number_value(value);
}

/* The server sends text; what reads as a whole number or a fraction becomes one. */
static void make_numbers(json_t *rows, const char *const *columns)
{
    size_t i;
    json_t *row;

    json_array_foreach(rows, i, row) for (const char *const *column = columns; *column != NULL;
                                          column++)
    {
        const char *text = json_string_value(json_object_get(row, *column));

        if (text != NULL)
            json_object_set_new(row, *column,
                                strchr(text, '.') != NULL ? json_real(strtod(text, NULL))
                                                          : json_integer(strtoll(text, NULL, 10)));
    }
}

static json_t *read_rows(struct idem_db *db, const char *query, const char *const *numbers)
{
    json_t *rows = idem_db_query(db, query);

    make_numbers(rows, numbers);
    return rows;
}

static void add_problem(json_t *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add_problem(json_t *report, const char *format, ...)
{
    char text[600];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    json_array_append_new(json_object_get(report, "problems"), json_string(text));
    json_object_set_new(report, "healthy", json_false());
}

static json_t *find_task(json_t *rows, const char *name)
{
    size_t i;
    json_t *row;

    json_array_foreach(rows, i,
                       row) if (strcmp(idem_report_text(row, "name"), name) == 0) return row;
    return NULL;
}

/* One entry per task, also for those that never ran; the outcome as JSON. */
static void add_tasks(json_t *report, json_t *rows)
{
    json_t *tasks = json_array();

    for (int i = 0; i < IDEM_TASK_COUNT; i++) {
        const struct idem_task_kind *kind = &idem_task_kinds[i];
        double interval = idem_report_number(report, kind->setting);
        json_t *task = json_incref(find_task(rows, kind->name));
        bool never, overdue;

        if (task == NULL)
            task = json_pack("{s:s,s:i,s:i}", "name", kind->name, "runs", 0, "failures", 0);
        never = !json_is_number(json_object_get(task, "age"));
        overdue =
            never || idem_report_number(task, "age") > kind->patience * interval + GRACE_SECONDS;
        json_object_set_new(task, "interval", json_real(interval));
        json_object_set_new(task, "overdue", json_boolean(overdue));
        if (json_is_string(json_object_get(task, "outcome")))
            json_object_set_new(
                task, "outcome",
                json_loads(idem_report_text(task, "outcome"), JSON_DECODE_ANY, NULL));
        if (overdue && never)
            add_problem(report, "%s has never succeeded%s%s", kind->name,
                        *idem_report_text(task, "error") != '\0' ? ": " : "",
                        idem_report_text(task, "error"));
        else if (overdue)
            add_problem(report, "%s succeeded last %.0f seconds ago%s%s", kind->name,
                        idem_report_number(task, "age"),
                        *idem_report_text(task, "error") != '\0' ? ": " : "",
                        idem_report_text(task, "error"));
        json_array_append_new(tasks, task);
    }
    json_object_set_new(report, "tasks", tasks);
}

static void add_days(json_t *report, json_t *days)
{
    int runway = -1; /* today missing */
    size_t i;
    json_t *day;

    json_array_foreach(days, i, day)
    {
        runway += json_integer_value(json_object_get(day, "ahead")) == runway + 1;
    }
    json_object_set_new(report, "runway_days", json_integer(runway));
    if (runway < 0)
        add_problem(report, "today has no partition: claims are refused");
    else if (runway < 1)
        add_problem(report, "tomorrow has no partition");
    json_object_set(report, "days", days);
}

static bool read_server(json_t *report, struct idem_db *db)
{
    static const char *const server_numbers[] = {"read_only",
                                                 "leader",
                                                 "retention_days",
                                                 "maintenance_interval_seconds",
                                                 "reap_interval_seconds",
                                                 NULL};
    static const char *const task_numbers[] = {"runs",     "failures",     "succeeded", "age",
                                               "duration", "error_number", NULL};
    static const char *const day_numbers[] = {"rows", "bytes", "ahead", NULL};
    static const char *const record_numbers[] = {"in_progress", "expired", "unknown", NULL};
    static const char *const stuck_numbers[] = {"attempt", "age", NULL};
    json_t *server = NULL, *tasks = NULL, *days = NULL, *records = NULL, *stuck = NULL;
    bool ok = (server = read_rows(db, server_query, server_numbers)) != NULL &&
              (tasks = read_rows(db, task_query, task_numbers)) != NULL &&
              (days = read_rows(db, day_query, day_numbers)) != NULL &&
              (records = read_rows(db, record_query, record_numbers)) != NULL &&
              (stuck = read_rows(db, stuck_query, stuck_numbers)) != NULL;

    if (ok) {
        json_object_update(report, json_array_get(server, 0));
        add_tasks(report, tasks);
        add_days(report, days);
        json_object_set(report, "records", json_array_get(records, 0));
        json_object_set(report, "stuck", stuck);
    }
    json_decref(server);
    json_decref(tasks);
    json_decref(days);
    json_decref(records);
    json_decref(stuck);
    return ok;
}

/* On a Galera cluster a change of partitions, once or twice a day, aborts whoever just reads. */
static bool read_patiently(json_t *report, struct idem_db *db)
{
    return read_server(report, db) || (db->error == ER_LOCK_DEADLOCK && read_server(report, db));
}

json_t *idem_report_read(struct idem_db *db, enum idem_standing standing)
{
    char time_text[40];
    time_t now = time(NULL);
    struct tm utc;
    json_t *report;

    strftime(time_text, sizeof(time_text), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    report = json_pack("{s:s,s:s,s:s,s:n,s:b,s:[]}", "time", time_text, "standing",
                       idem_standing_names[standing], "server", db->name, "reason", "healthy", 1,
                       "problems");
    if (standing <= IDEM_NOT_READY || db->sql == NULL || !read_patiently(report, db)) {
        json_object_set_new(report, "reason", json_string(db->message));
        add_problem(report, "%s: %s", idem_standing_names[standing], db->message);
    } else if (standing == IDEM_READ_ONLY) {
        add_problem(report, "the server is read-only");
    }
    return report;
}
