/* SPDX-License-Identifier: GPL-2.0-only */
/* Two private servers as one Galera cluster. */
#ifndef IDEM_TESTS_CLUSTER_H
#define IDEM_TESTS_CLUSTER_H

#include "server.h"

/* Starts both nodes, without idem; idem.so is in their plugin_dir. The first one weighs more: it
   goes on alone when the second one dies, and not the other way. False, with a message, when this
   machine cannot run a cluster. */
bool cluster_start(struct server *ret_nodes[2]);
void cluster_stop(struct server *nodes[2]);

/* For a test of a file whose nodes are called `nodes`. */
#define NEEDS_CLUSTER()                                                                            \
    (void)state;                                                                                   \
    if (nodes[0] == NULL)                                                                          \
    skip()

/* False, with a message, when this machine cannot take back a node that was killed. */
bool cluster_can_rejoin(void);

/* Starts a node again that was killed; it gets its data from the other one (rsync). */
void cluster_rejoin(struct server *nodes[2], int which);

/* Returns when the node takes statements and the cluster has so many nodes. */
void cluster_wait(struct server *node, int size);

/* Returns when both nodes have applied what the other one had committed. A session on each. */
void cluster_catch_up(MYSQL *const sql[2]);

#define GLOBAL_STATUS(name)                                                                        \
    "(SELECT variable_value FROM information_schema.global_status WHERE variable_name = '" name "')"

#endif
