/* SPDX-License-Identifier: GPL-2.0-only */
/* Asking the server about Galera. */
#include "galera.h"

#include <mysql_version.h>

#include "raise.h"
#include "server_internals.h"

/* Exported like those of server_internals.h; a server built without Galera has none.
   install/library.sql refuses a node on which they do not answer. WSREP_ON_: wsrep_on is ON
   globally and a provider is loaded. session_is_on: and it is ON in that session. */
extern my_bool WSREP_ON_ __attribute__((weak));
extern my_bool session_is_on(const MYSQL_THD thd) __asm__("wsrep_on") __attribute__((weak));
extern long long wsrep_thd_transaction_id(const MYSQL_THD thd) __attribute__((weak));

static bool is_node(void)
{
    return &WSREP_ON_ != NULL && WSREP_ON_;
}

bool idem_galera_is_on(void)
{
    MYSQL_THD thd;

    if (!is_node() || _current_thd == NULL || session_is_on == NULL)
        return false;
    thd = _current_thd();
    return thd != NULL && session_is_on(thd);
}

bool idem_galera_check(void)
{
    if (!is_node())
        return true;
    /* Seen with 11.8.9: signal 11 in trans_rollback() when another node's commit aborts a
       transaction that is in a procedure called by a procedure. */
    if (MYSQL_VERSION_ID >= 110000) {
        idem_raise(
            IDEM_E_BAD_CONTEXT,
            "idem: on a Galera cluster MariaDB 10.11 is needed; nodes of MariaDB 11 can crash "
            "when another node aborts a call");
        return false;
    }
    if (!idem_galera_is_on()) {
        idem_raise(IDEM_E_BAD_CONTEXT,
                   "idem: wsrep_on is OFF in this session, so the other nodes of "
                   "the cluster would not learn of this call");
        return false;
    }
    if (thd_binlog_format == NULL || thd_binlog_format(_current_thd()) != BINLOG_FORMAT_ROW) {
        idem_raise(IDEM_E_BAD_CONTEXT,
                   "idem: binlog_format must be ROW on a node of a Galera cluster");
        return false;
    }
    return true;
}

struct idem_galera_transaction idem_galera_transaction(void)
{
    struct idem_galera_transaction found = {.id = -1};
    MYSQL_THD thd;

    found.on = idem_galera_is_on();
    if (!found.on)
        return found;
    thd = _current_thd();
    found.begun = (thd_test_options(thd, OPTION_BEGIN) & OPTION_BEGIN) != 0;
    found.implicit = !found.begun && thd_test_options(thd, OPTION_NOT_AUTOCOMMIT) != 0;
    if (found.begun && wsrep_thd_transaction_id != NULL)
        found.id = wsrep_thd_transaction_id(thd);
    return found;
}
