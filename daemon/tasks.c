/* SPDX-License-Identifier: GPL-2.0-only */
/* Running a task and telling what came of it. */
#include "tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "loop.h"

#define MORE_PAUSE_MS 20      /* between calls while a backlog is worked off */
#define CONTENDED_DOUBLINGS 3 /* a contended task waits up to 8 intervals */
#define CONFLICT_PAUSE_MS 100 /* doubles with every conflict in a row */
#define CONFLICTS_MOST 7      /* 12.7 seconds; the next one is told as a failure */

const struct idem_task_kind idem_task_kinds[IDEM_TASK_COUNT] = {
#define X(name, setting, patience) {#name, setting, patience},
    IDEM_TASK_MAP(X)
#undef X
};

static const char *text_of(const json_t *row, const char *column)
{
    const char *text = json_string_value(json_object_get(row, column));

    return text != NULL ? text : "";
}

static int64_t interval_ms(struct idem_db *db, const struct idem_task_kind *kind)
{
    char query[128];
    int64_t seconds;
    json_t *rows;

    snprintf(query, sizeof(query), "SELECT idem_setting('%s') AS seconds", kind->setting);
    rows = idem_db_query(db, query);
    seconds = rows != NULL ? strtoll(text_of(json_array_get(rows, 0), "seconds"), NULL, 10) : 0;
    json_decref(rows);
    return (seconds > 0 ? seconds : 10) * 1000;
}

/* Days are told once per change; a reaper's numbers whenever it did something. */
static void tell(struct idem_task *task, const struct idem_task_kind *kind, json_t *rows)
{
    bool news = !json_equal(rows, task->last_rows);
    size_t i;
    json_t *row;

    json_array_foreach(rows, i, row)
    {
        const char *outcome = text_of(row, "outcome");
        bool idle = *outcome == '\0';
        const char *column;
        json_t *value;

        json_object_foreach(row, column, value)
        {
            if (*outcome == '\0' && strcmp(column, "more") != 0 && json_is_string(value) &&
                strcmp(json_string_value(value), "0") != 0)
                idle = false;
        }
        if (*outcome != '\0' ? news : !idle)
            idem_log(strcmp(outcome, "contended") == 0 || strcmp(outcome, "pinned") == 0 ||
                             strcmp(outcome, "busy") == 0
                         ? IDEM_LOG_WARNING
                         : IDEM_LOG_INFO,
                     json_deep_copy(row), "%s", kind->name);
    }
    json_decref(task->last_rows);
    task->last_rows = json_incref(rows);
}

/* 0 while it has never run, or the last run failed. */
static int64_t runs_of(struct idem_db *db, const struct idem_task_kind *kind)
{
    char query[128];
    int64_t runs;
    json_t *rows;

    snprintf(query, sizeof(query),
             "SELECT t.runs FROM idem.task t WHERE t.name = '%s' AND t.failures = 0", kind->name);
    rows = idem_db_query(db, query);
    runs = rows != NULL ? strtoll(text_of(json_array_get(rows, 0), "runs"), NULL, 10) : 0;
    json_decref(rows);
    return runs;
}

bool idem_task_ran_elsewhere(struct idem_task *task, int index, struct idem_db *db)
{
    const struct idem_task_kind *kind = &idem_task_kinds[index];
    int64_t runs = task->due != 0 ? runs_of(db, kind) : 0;

    if (runs <= task->runs)
        return false;
    idem_log(IDEM_LOG_DEBUG, NULL, "%s was run by somebody else", kind->name);
    task->runs = runs;
    task->due = idem_loop_now() + interval_ms(db, kind);
    return true;
}

/* The transaction lost to another one and is gone; it will not lose every time. */
static bool is_conflict(struct idem_task *task, const struct idem_task_kind *kind,
                        const struct idem_db *db)
{
    if ((db->error != ER_LOCK_DEADLOCK && db->error != ER_CHECKREAD) ||
        task->conflicts == CONFLICTS_MOST)
        return false;
    if (task->conflicts == 0)
        idem_log(IDEM_LOG_INFO, json_pack("{s:i}", "error", db->error),
                 "%s: another transaction was first; it is tried again", kind->name);
    return true;
}

static enum idem_task_end failed(struct idem_task *task, const struct idem_task_kind *kind,
                                 const struct idem_db *db)
{
    if (task->error != db->error)
        idem_log(IDEM_LOG_ERROR, json_pack("{s:i,s:s}", "error", db->error, "text", db->message),
                 "%s failed; it is tried again", kind->name);
    task->error = db->error;
    return IDEM_TASK_FAILED;
}

static bool has(const json_t *rows, const char *column, const char *value)
{
    size_t i;
    json_t *row;

    json_array_foreach(rows, i, row) if (strcmp(text_of(row, column), value) == 0) return true;
    return false;
}

enum idem_task_end idem_task_run(struct idem_task *task, int index, struct idem_db *db)
{
    const struct idem_task_kind *kind = &idem_task_kinds[index];
    enum idem_task_end end = IDEM_TASK_DONE;
    bool lost = false;
    int64_t pause;
    char query[128];
    json_t *rows;

    snprintf(query, sizeof(query), "CALL idem.%s()", kind->name);
    idem_log(IDEM_LOG_DEBUG, NULL, "%s", query);
    rows = idem_db_query(db, query);
    if (rows == NULL && is_conflict(task, kind, db)) {
        end = IDEM_TASK_MORE;
        pause = (int64_t)CONFLICT_PAUSE_MS << task->conflicts++;
    } else if (rows == NULL) {
        end = failed(task, kind, db);
        task->conflicts = 0;
        lost = idem_db_lost(db);
        pause = interval_ms(db, kind);
    } else {
        if (task->error != 0)
            idem_log(IDEM_LOG_INFO, NULL, "%s works again", kind->name);
        task->error = 0;
        task->conflicts = 0;
        tell(task, kind, rows);
        task->contended = has(rows, "outcome", "contended") ? task->contended + 1 : 0;
        pause = interval_ms(db, kind)
                << (task->contended < CONTENDED_DOUBLINGS ? task->contended : CONTENDED_DOUBLINGS);
        if (has(rows, "more", "1")) {
            end = IDEM_TASK_MORE;
            pause = MORE_PAUSE_MS;
        }
        json_decref(rows);
    }
    task->runs = runs_of(db, kind);
    task->due = lost ? 0 : idem_loop_now() + pause;
    return end;
}

bool idem_tasks_plan(struct idem_db *db)
{
    static const char days[] =
        "SELECT a.day, a.plan FROM"
        " (SELECT d.day, 'drop, unless it is pinned' AS plan FROM idem.day d"
        "   WHERE d.day < idem_today() - INTERVAL idem_setting('retention_days') DAY"
        "  UNION ALL"
        "  SELECT l.day, 'seal, unless it is busy' FROM idem.live_day l"
        "   LEFT JOIN idem.sealed_day s ON s.day = l.day"
        "   WHERE (NOT l.sealed OR s.day IS NULL) AND l.day < DATE(TIMESTAMP '1970-01-01 00:00:00'"
        "    + INTERVAL idem_now_us() - 7200000000 MICROSECOND)"
        "  UNION ALL"
        "  SELECT idem_today() + INTERVAL s.n DAY, 'create' FROM (WITH RECURSIVE s (n) AS"
        "   (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < idem_setting('partitions_ahead'))"
        "   SELECT n FROM s) s"
        "   LEFT JOIN idem.day d ON d.day = idem_today() + INTERVAL s.n DAY WHERE d.day IS NULL) a"
        " ORDER BY a.day, a.plan DESC";
    static const char leases[] =
        "SELECT COUNT(*) AS expired FROM idem.record r FORCE INDEX (lease) WHERE r.lease_until <="
        " TIMESTAMP '1970-01-01 00:00:00' + INTERVAL idem_now_us() MICROSECOND AND r.status = 0";
    json_t *rows = idem_db_query(db, days), *row;
    size_t i;

    if (rows == NULL)
        return false;
    json_array_foreach(rows, i, row) printf("%s: %s\n", text_of(row, "day"), text_of(row, "plan"));
    json_decref(rows);
    rows = idem_db_query(db, leases);
    if (rows == NULL)
        return false;
    printf("%s expired leases: settle by policy\n", text_of(json_array_get(rows, 0), "expired"));
    json_decref(rows);
    return true;
}
