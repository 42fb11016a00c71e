/* SPDX-License-Identifier: GPL-2.0-only */
/* Finding the caller's own session, and the handles kept with sessions. */
#include "session.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <mysql/service_kill_statement.h>
#include <mysql/service_sql.h>

#include "gate.h"
#include "raise.h"
#include "server_internals.h"

#define ER_UNKNOWN_SYSTEM_VARIABLE 1193
#define ER_LOCK_DEADLOCK 1213
#define ER_QUERY_INTERRUPTED 1317
#define ER_INSIDE_TRANSACTION 1694

#define BUCKETS 1024

/* Kept by connection id, not in a THD variable: COM_CHANGE_USER resets those and would lose it. */
struct handle {
    MYSQL sql;
    unsigned long id;
    struct handle *next;
};

/* Guards the table of handles. Innermost lock: nothing is called while it is held. A handle itself
   is used by its own session alone. */
static pthread_mutex_t handles_lock = PTHREAD_MUTEX_INITIALIZER;
static struct handle *handles[BUCKETS];
static atomic_uint_least64_t handle_count;

/* Set while this thread runs the probe; the check function answers into it. */
static _Thread_local MYSQL_THD *probe_answer;

static bool query(MYSQL *sql, const char *text)
{
    return mysql_real_query(sql, text, strlen(text)) == 0;
}

static bool connect_local(MYSQL *ret_sql)
{
    if (mysql_init(ret_sql) == NULL)
        return false;
    if (mysql_real_connect_local(ret_sql) != NULL)
        return true;
    mysql_close(ret_sql);
    return false;
}

void idem_session_deinit(void)
{
    for (size_t i = 0; i < BUCKETS; i++) {
        struct handle *next;

        for (struct handle *handle = handles[i]; handle != NULL; handle = next) {
            next = handle->next;
            mysql_close(&handle->sql);
            free(handle);
        }
        handles[i] = NULL;
    }
    atomic_store(&handle_count, 0);
}

uint64_t idem_session_count(void)
{
    return atomic_load_explicit(&handle_count, memory_order_relaxed);
}

static struct handle *find_handle(unsigned long id, bool take_out)
{
    struct handle **at = &handles[id % BUCKETS];
    struct handle *handle;

    pthread_mutex_lock(&handles_lock);
    while ((handle = *at) != NULL && handle->id != id)
        at = &handle->next;
    if (handle != NULL && take_out)
        *at = handle->next;
    pthread_mutex_unlock(&handles_lock);
    return handle;
}

static void keep_handle(unsigned long id)
{
    struct handle *handle = calloc(1, sizeof(*handle));

    if (handle == NULL)
        return; /* the session is then treated as one older than the plugin */
    if (!connect_local(&handle->sql)) {
        free(handle);
        return;
    }
    if (!query(&handle->sql, "SET SESSION sql_log_bin=1")) {
        mysql_close(&handle->sql);
        free(handle);
        return;
    }
    handle->id = id;
    pthread_mutex_lock(&handles_lock);
    handle->next = handles[id % BUCKETS];
    handles[id % BUCKETS] = handle;
    pthread_mutex_unlock(&handles_lock);
    atomic_fetch_add(&handle_count, 1);
}

static void free_handle(unsigned long id)
{
    struct handle *handle = find_handle(id, true);

    if (handle == NULL)
        return;
    mysql_close(&handle->sql);
    free(handle);
    atomic_fetch_sub(&handle_count, 1);
}

void idem_session_notify(const struct mysql_event_connection *event)
{
    if (event->event_subclass == MYSQL_AUDIT_CONNECTION_CONNECT && event->status == 0)
        keep_handle(event->thread_id);
    else if (event->event_subclass == MYSQL_AUDIT_CONNECTION_DISCONNECT)
        free_handle(event->thread_id);
}

int idem_session_check_probe(MYSQL_THD thd, struct st_mysql_sys_var *variable, void *save,
                             struct st_mysql_value *value)
{
    (void)variable, (void)value;
    if (probe_answer == NULL)
        return 1; /* somebody else's SET: refused with 1231 */
    *probe_answer = thd;
    *(int *)save = 0;
    return 0;
}

/* False when the probe did not run: killed, or the plugin is leaving. */
static bool probe(MYSQL *sql, MYSQL_THD *ret_thd)
{
    bool ran;

    *ret_thd = NULL;
    probe_answer = ret_thd;
    ran = query(sql, "SET SESSION idem_probe=0") && *ret_thd != NULL;
    probe_answer = NULL;
    return ran;
}

static bool has_binlog(MYSQL *sql)
{
    MYSQL_RES *result;
    MYSQL_ROW row;
    bool yes = true;

    if (!query(sql, "SELECT @@global.log_bin") || (result = mysql_store_result(sql)) == NULL)
        return true;
    row = mysql_fetch_row(result);
    if (row != NULL && row[0] != NULL)
        yes = strcmp(row[0], "0") != 0;
    mysql_free_result(result);
    return yes;
}

/* For a session that is older than the plugin, or of the event scheduler: no CONNECT was seen.
   Outside a transaction the binlog can be switched on for this one call; a call that opens a
   transaction would only be stuck at the next one. */
static bool log_from_here(const char *function, MYSQL *sql, bool opens_transaction)
{
    if (!has_binlog(sql))
        return true;
    if (!opens_transaction) {
        if (query(sql, "SET SESSION sql_log_bin=1"))
            return true;
        if (mysql_errno(sql) != ER_INSIDE_TRANSACTION) {
            idem_raise(mysql_errno(sql), "%s", mysql_error(sql));
            return false;
        }
    }
    idem_raise(IDEM_E_BAD_CONTEXT,
               "%s: this session began before plugin idem was loaded, so its transactions cannot "
               "take this call into the binlog; reconnect, or use CALL idem.claim and its kind",
               function);
    return false;
}

bool idem_session_killed(void)
{
    MYSQL_THD thd = _current_thd != NULL ? _current_thd() : NULL;

    return thd != NULL && thd_kill_level(thd) != THD_IS_NOT_KILLED;
}

bool idem_session_open(const char *function, bool opens_transaction,
                       struct idem_session *ret_session)
{
    MYSQL *fresh = &ret_session->fresh;
    /* The probe may be the last to hold the plugin: the server then takes it away on this very
       thread, and with it the service pointers. What they point to is the server's own. */
    struct sql_service_st *service = sql_service;
    struct handle *handle;
    MYSQL_THD thd;
    bool logged;
    bool ran;

    if (idem_session_killed()) {
        idem_raise(ER_QUERY_INTERRUPTED, "Query execution was interrupted");
        return false;
    }
    memset(fresh, 0, sizeof(*fresh));
    if (!connect_local(fresh)) {
        idem_raise(IDEM_E_NOT_READY, "%s: no local connection", function);
        return false;
    }
    ret_session->sql = fresh;
    ran = probe(fresh, &thd);
    if (!idem_gate_is_open()) {
        service->mysql_close_func(fresh);
        idem_raise(IDEM_E_NOT_READY, "%s: plugin idem is being uninstalled", function);
        return false;
    }
    if (!ran) {
        bool leaving = mysql_errno(fresh) == ER_UNKNOWN_SYSTEM_VARIABLE;
        bool aborted = mysql_errno(fresh) == ER_LOCK_DEADLOCK; /* for another Galera node */

        mysql_close(fresh);
        if (aborted)
            idem_raise(ER_LOCK_DEADLOCK, "Deadlock found; try restarting transaction");
        else if (leaving)
            idem_raise(IDEM_E_NOT_READY, "%s: plugin idem is being uninstalled", function);
        else
            idem_raise(ER_QUERY_INTERRUPTED, "Query execution was interrupted");
        return false;
    }
    /* With a table locked the server silently made a new session; that one has no id. */
    if (thd_get_thread_id(thd) == 0) {
        mysql_close(fresh);
        idem_raise(
            IDEM_E_BAD_CONTEXT,
            "%s: the statement uses tables (or a trigger, function or LOCK TABLES), so the "
            "call could not share its transaction; use it without tables, as in SELECT %s(...)"
            ", or CALL the procedure of schema idem",
            function, function);
        return false;
    }
    logged = (thd_test_options(thd, OPTION_BIN_LOG) & OPTION_BIN_LOG) != 0;
    handle = logged ? find_handle(thd_get_thread_id(thd), false) : NULL;
    if (handle != NULL) {
        mysql_close(fresh);
        ret_session->sql = &handle->sql;
        return true;
    }
    if (!logged || log_from_here(function, fresh, opens_transaction))
        return true;
    mysql_close(fresh);
    return false;
}

/* A CALL ends in a status of its own behind its rows. There is no way to fetch it, and
   mysql_close() forgets it (704 bytes); the next command frees it, and at DISCONNECT a session
   takes none any more. Not after a kill or an error, which a command would clear. */
void idem_session_close(struct idem_session *session, bool answered)
{
    if (answered && !idem_session_killed())
        query(session->sql, "DO 0");
    if (session->sql == &session->fresh)
        mysql_close(&session->fresh);
    session->sql = NULL;
}

bool idem_session_reads_plainly(void)
{
    int isolation;

    if (_current_thd == NULL)
        return false;
    isolation = thd_tx_isolation(_current_thd());
    return isolation == ISO_READ_COMMITTED || isolation == ISO_REPEATABLE_READ;
}

bool idem_session_logs_statements(void)
{
    /* Not to be known: treated as the worse of the two. */
    return _current_thd == NULL || thd_binlog_format == NULL ||
           thd_binlog_format(_current_thd()) == BINLOG_FORMAT_STMT;
}

bool idem_session_skips_unique_checks(void)
{
    return _current_thd == NULL ||
           thd_test_options(_current_thd(), OPTION_RELAXED_UNIQUE_CHECKS) != 0;
}

bool idem_session_in_transaction(void)
{
    return _current_thd == NULL ||
           thd_test_options(_current_thd(), OPTION_BEGIN | OPTION_NOT_AUTOCOMMIT) != 0;
}
