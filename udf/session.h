/* SPDX-License-Identifier: GPL-2.0-only */
/* The session a door is called from, and how to run SQL on it.

   Own session: the one whose statement called us; SQL sent through a local connection runs on it
   and in its transaction, but only while the statement has locked no table. Handle: a local
   connection kept with a session since CONNECT, on which the binlog was switched on (it starts off,
   and cannot be switched inside a transaction). */
#ifndef IDEM_SESSION_H
#define IDEM_SESSION_H

#include <my_config.h>

#include <stdbool.h>
#include <stdint.h>

#include <mysql.h>
#include <mysql/plugin.h>
#include <mysql/plugin_audit.h>

struct idem_session {
    MYSQL *sql;  /* what to send SQL through: the kept handle, or `fresh` */
    MYSQL fresh; /* the caller must not copy or move it while open */
};

/* Frees every kept handle. Nobody else may be inside the gate. */
void idem_session_deinit(void);

/* CONNECT opens a session's handle, DISCONNECT frees it. */
void idem_session_notify(const struct mysql_event_connection *event);

/* How many sessions have a handle: as many as are connected and not older than the plugin. */
uint64_t idem_session_count(void);

/* Finds the caller's own session. False with 52006 raised where SQL would run in another session,
   or where a transaction that is already open would not get it into the binlog; 1317 when killed.
 */
bool idem_session_open(const char *function, bool opens_transaction,
                       struct idem_session *ret_session);

/* answered: nothing has been raised since the opening. */
void idem_session_close(struct idem_session *session, bool answered);

/* True when the caller's statement has been killed or has run out of time. A nested command would
   clear that flag, so it is asked before each one. */
bool idem_session_killed(void);

/* True when a plain SELECT of this statement's transaction takes no lock and sees nothing that is
   not committed: READ COMMITTED and REPEATABLE READ. False also when that cannot be known. */
bool idem_session_reads_plainly(void);

/* True when what this statement writes, and a snapshot that it opens, stays open after it. */
bool idem_session_in_transaction(void);

/* True when what this statement writes would go into the binlog as statements. */
bool idem_session_logs_statements(void);

/* True when the engine may take the same key twice (unique_checks=0): into an empty table or
   partition, with foreign_key_checks=0 too, until the end of the transaction; into a secondary
   unique key at any time. */
bool idem_session_skips_unique_checks(void);

/* Check function of the session variable idem_probe. */
int idem_session_check_probe(MYSQL_THD thd, struct st_mysql_sys_var *variable, void *save,
                             struct st_mysql_value *value);

#endif
