/* SPDX-License-Identifier: GPL-2.0-only */
/* One connection to one server. Every call waits in idem_loop_poll(), so signals and the watchdog
   are served during a long statement. */
#ifndef IDEMD_DB_H
#define IDEMD_DB_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>
#include <mysql.h>

#include "options.h"

/* The server rolled the transaction back for somebody else's: on a Galera cluster another node's.
 */
#define ER_LOCK_DEADLOCK 1213
#define ER_CHECKREAD 1020

struct idem_db {
    MYSQL *sql; /* NULL: not connected */
    char name[300];
    unsigned int error; /* of the last call that failed */
    char message[512];
};

/* How many servers option host names; at least 1. */
size_t idem_db_hosts(const struct idem_options *options);

/* Connects to server number `host`, or leaves error and message. */
bool idem_db_connect(struct idem_db *db, const struct idem_options *options, size_t host);
void idem_db_close(struct idem_db *db);

/* Runs one statement and reads all results. The rows of the first result set become an array of
   objects, every value a string or null; the caller decrefs it. NULL on an error, see db->error. */
json_t *idem_db_query(struct idem_db *db, const char *text);

/* The last error means that this connection is of no more use. */
bool idem_db_lost(const struct idem_db *db);

#endif
