/* SPDX-License-Identifier: GPL-2.0-only */
/* Statements that wait for another session's lock: sent without waiting for the answer. */
#ifndef IDEM_TESTS_ASYNC_H
#define IDEM_TESTS_ASYNC_H

#include <mysql.h>

/* Sends a statement (printf format) and returns at once. It must not answer rows. */
void send_query(MYSQL *sql, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Waits for the answer of what was sent; returns its error number, 0 for success. */
unsigned int receive(MYSQL *sql);

/* Lets `holder` end its transaction with this statement once what was sent to `waiting` waits for
   its lock; returns what receive() does. */
unsigned int receive_after(MYSQL *waiting, MYSQL *holder, const char *end);

/* Returns when this connection sleeps in a statement: it tries again. */
void wait_for_sleep(MYSQL *observer, unsigned long id);

/* Returns when a statement on the server waits for a row lock; fails the test after ten seconds.
   `observer` is a connection that does not wait. */
void wait_for_lock(MYSQL *observer);

#endif
