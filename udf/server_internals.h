/* SPDX-License-Identifier: GPL-2.0-only */
/* What the server exports and no public header names. Functions are weak: look before you call. */
#ifndef IDEM_SERVER_INTERNALS_H
#define IDEM_SERVER_INTERNALS_H

#include <my_config.h>

#include <mysql.h>
#include <mysql/plugin.h>

/* The session of this thread; used by the server's own plugins. */
extern MYSQL_THD _current_thd(void) __attribute__((weak));

/* The binlog format in force, as InnoDB asks for it before it writes a row; sql/handler.h. */
extern int thd_binlog_format(const MYSQL_THD thd) __attribute__((weak));
#define BINLOG_FORMAT_STMT 1
#define BINLOG_FORMAT_ROW 2

/* For thd_test_options(); sql/sql_class.h. Tests with SET sql_log_bin=0, unique_checks=0
   and open transactions guard them. */
#define OPTION_BIN_LOG (1LL << 18)
#define OPTION_NOT_AUTOCOMMIT (1LL << 19)
#define OPTION_BEGIN (1LL << 20)
#define OPTION_RELAXED_UNIQUE_CHECKS (1LL << 27)

/* From thd_tx_isolation(): enum_tx_isolation, sql/handler.h. */
#define ISO_READ_COMMITTED 1
#define ISO_REPEATABLE_READ 2

#endif
