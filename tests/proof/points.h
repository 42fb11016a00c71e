/* SPDX-License-Identifier: GPL-2.0-only */
/* The attack on crash points: kill -9 of the server before each step and each write of a call (see
   crashpoint.c for these words), restart, check, retry. */
#ifndef IDEM_PROOF_POINTS_H
#define IDEM_PROOF_POINTS_H

#include "history.h"

/* How the server of this attack is configured: as durable as the plan says, its clock at now_us. */
const char *const *points_options(int64_t now_us);

/* How many points have been hit; and the last one of each walk, to stderr. */
extern int points_hit;
void points_say(const char *walk, int last);

/* kill -9, restart at now_us, a new connection. */
MYSQL *points_crash(MYSQL *sql, int64_t now_us);

/* The faults that idem.verify() sees; reported with `when`. */
void points_verify(MYSQL *sql, const char *when);

/* Makes the core wrong if the plan says so. */
void points_break(MYSQL *sql);

/* Makes all that is committed durable: the attack is on what comes after. */
void points_flush(MYSQL *sql);

/* What is acknowledged is there after a kill -9. */
bool points_durable(void);

/* The first of the points that the plan's stride picks; another one for each walk. */
int points_first(void);

/* Each returns how many calls it made. */
size_t points_claims(void);  /* every step of a claim's life */
size_t points_commits(void); /* every write of it */
size_t points_days(void);    /* every step and write of maintenance */
size_t points_install(void); /* every step and write of install.sql and uninstall.sql */

#endif
