/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether the caller's session writes to a Galera cluster. There a row lock keeps out the sessions
   of its own node only; the other nodes' transactions are met when one of the two commits
   (certification), and by nothing but the primary and unique keys of the rows they wrote. */
#ifndef IDEM_GALERA_H
#define IDEM_GALERA_H

#include <stdbool.h>

/* True: this server is a node, and what this session writes goes to the others. */
bool idem_galera_is_on(void);

/* False with 52006 raised: this server is a node, but what this session writes stays here, or goes
   to the others as statements. */
bool idem_galera_check(void);

/* The caller's transaction. Another node's commit may abort it at any time; the server tells
   whoever runs the next statement, and a door runs several. So a door compares before and after. */
struct idem_galera_transaction {
    bool on;       /* idem_galera_is_on(); the rest is false and -1 without */
    bool begun;    /* by START TRANSACTION */
    bool implicit; /* autocommit is off and it is not begun: there may be one, it cannot be told */
    long long id;  /* of one that is begun; -1: none */
};

struct idem_galera_transaction idem_galera_transaction(void);

#endif
