/* SPDX-License-Identifier: GPL-2.0-only */
/* Two nodes of a Galera cluster with idem, and what tests of claims on both do with them. */
#ifndef IDEM_TESTS_NODES_H
#define IDEM_TESTS_NODES_H

#include "cluster.h"

extern struct server *nodes[2]; /* NULL when this machine cannot run a cluster */
extern MYSQL *a, *b;            /* a session on each node */
extern MYSQL *watch[2];         /* and one that takes no part */

/* Starts the nodes, without idem, and connects `watch`. False: no cluster. */
bool nodes_start(void);

/* After install.sql has run on the first node: the library on the second one, table test.work(id,
   k), the days, and the sessions a and b. */
void nodes_open(void);

/* Group and test tear-down. */
int nodes_stop(void **state);
int nodes_settle(void **state);

void nodes_catch_up(void);

/* Makes the days ahead that the nodes' clocks, set in the test, want. */
void nodes_make_days(int ahead);

/* The test clocks (UTC; NULL: the real one). The real clock in between lets the day go back. What
   comes next begins with nothing under way: rows of what was before, when they are just being
   applied, could abort it (1213). */
void nodes_set_clocks(const char *const utc[2]);

/* The transaction is gone because another one was first. 1020 instead of 1213: a row was changed by
   it since this one's snapshot (innodb_snapshot_isolation, which MariaDB 11.8 has on). */
bool nodes_lost(unsigned int error);

/* One that the other node has just aborted may be told so by its own ROLLBACK; it is over either
 * way. */
void nodes_roll_back(MYSQL *sql);

/* The same records and work on both, nothing left in galera_guard, nothing that verify() finds. */
void nodes_expect_equal(void);

#endif
