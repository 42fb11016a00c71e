/* SPDX-License-Identifier: GPL-2.0-only */
/* Statements that wait for another session's lock. */
#include "async.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server.h"

void send_query(MYSQL *sql, const char *format, ...)
{
    va_list arguments;
    char *text;

    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        abort();
    va_end(arguments);
    if (mysql_send_query(sql, text, strlen(text)) != 0)
        fail_msg("%.300s: %s", text, mysql_error(sql));
    free(text);
}

unsigned int receive(MYSQL *sql)
{
    if (mysql_read_query_result(sql) != 0)
        return mysql_errno(sql);
    while (mysql_next_result(sql) == 0)
        continue;
    return mysql_errno(sql);
}

/* Not information_schema.innodb_trx: its content stays the same while it is read more often than
   ten times a second. */
void wait_for_lock(MYSQL *observer)
{
    for (int tries = 0; tries < 2000; tries++) {
        if (value_int(observer, "SELECT variable_value FROM information_schema.global_status"
                                " WHERE variable_name = 'innodb_row_lock_current_waits'") == 1)
            return;
        run(observer, "SELECT SLEEP(0.005)");
    }
    fail_msg("nobody waits for a lock");
}

unsigned int receive_after(MYSQL *waiting, MYSQL *holder, const char *end)
{
    wait_for_lock(holder);
    run(holder, "%s", end);
    return receive(waiting);
}

void wait_for_sleep(MYSQL *observer, unsigned long id)
{
    wait_until(observer,
               "SELECT COUNT(*) FROM information_schema.processlist WHERE id = %lu AND state = "
               "'User sleep'",
               id);
}
