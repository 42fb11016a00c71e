/* SPDX-License-Identifier: GPL-2.0-only */
/* The tasks: which procedures run, in which order, and when again. What they do is theirs. */
#ifndef IDEMD_TASKS_H
#define IDEMD_TASKS_H

#include <stdbool.h>
#include <stdint.h>

#include "db.h"

/* procedure, setting that holds its interval, intervals without success until overdue. Creating
   comes before sealing and dropping; leases are reaped before the days that they pin are looked at.
 */
#define IDEM_TASK_MAP(X)                                                                           \
    X(ensure_partitions, "maintenance_interval_seconds", 3)                                        \
    X(reap, "reap_interval_seconds", 6)                                                            \
    X(seal_days, "maintenance_interval_seconds", 24)                                               \
    X(drop_expired, "maintenance_interval_seconds", 24)

enum {
#define X(name, ...) IDEM_TASK_##name,
    IDEM_TASK_MAP(X)
#undef X
        IDEM_TASK_COUNT
};

struct idem_task_kind {
    const char *name, *setting;
    int patience;
};
extern const struct idem_task_kind idem_task_kinds[IDEM_TASK_COUNT];

/* What this process remembers between runs, to log changes and not repetitions, and to back off. */
struct idem_task {
    int64_t due; /* of idem_loop_now(); 0: at once */
    unsigned int error;
    int contended, conflicts; /* times in a row */
    int64_t runs;             /* of idem.task, after the last run of this process */
    json_t *last_rows;
};

/* MORE: there is a backlog, or another transaction was in the way; soon due again. */
enum idem_task_end { IDEM_TASK_DONE, IDEM_TASK_MORE, IDEM_TASK_FAILED };

/* Runs task number `index` now, logs what is new, and sets when it is due again. */
enum idem_task_end idem_task_run(struct idem_task *task, int index, struct idem_db *db);

/* True when somebody else has run it since: another node's daemon, an EVENT, a DBA. Then it is due
   one interval from now. A task that is due at once (start, SIGUSR1) is not asked about. */
bool idem_task_ran_elsewhere(struct idem_task *task, int index, struct idem_db *db);

/* Says what a run would do now, on stdout; false on an error. */
bool idem_tasks_plan(struct idem_db *db);

#endif
