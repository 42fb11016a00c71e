/* SPDX-License-Identifier: GPL-2.0-only */
/* Where this daemon stands towards its server. The leader holds user lock idem.leader on the very
   connection that runs the tasks: losing one is losing the other, so proof and action cannot come
   apart. It matters for tidiness only; two leaders would do no harm. On a Galera cluster each node
   has its own lock, and idem_task_ran_elsewhere() keeps the leaders out of each other's way. */
#ifndef IDEMD_LEAD_H
#define IDEMD_LEAD_H

#include <stddef.h>

#include "db.h"

enum idem_standing {
    IDEM_DOWN,      /* no server answers */
    IDEM_NOT_READY, /* it does, but idem is not (wholly) installed */
    IDEM_READ_ONLY, /* a replica, or fenced off */
    IDEM_STANDBY,   /* another daemon leads */
    IDEM_LEADER,
};

extern const char *const idem_standing_names[];

/* Asks the server and, if `take`, tries for the lock when nobody has it. On IDEM_DOWN and
   IDEM_NOT_READY db has the error; a lost connection is IDEM_DOWN. */
enum idem_standing idem_lead_prove(struct idem_db *db, bool take);

#endif
