/* SPDX-License-Identifier: GPL-2.0-only */
/* Two private servers as one Galera cluster. */
#ifndef IDEM_TESTS_CLUSTER_H
#define IDEM_TESTS_CLUSTER_H

#include "server.h"

/* NULL when this machine can run one, else what is missing. */
const char *cluster_missing(void);

/* Starts both nodes, without idem; idem.so is in their plugin_dir. The second one is a copy of the
   first (rsync). The first one weighs more: it goes on alone when the second one dies, and not the
   other way. */
void cluster_start(struct server *ret_nodes[2]);
void cluster_stop(struct server *nodes[2]);

/* Starts a node again that was killed; it gets its data from the other one. */
void cluster_rejoin(struct server *nodes[2], int which);

/* Returns when the node takes statements and the cluster has so many nodes. */
void cluster_wait(struct server *node, int size);

#endif
