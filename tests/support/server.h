/* SPDX-License-Identifier: GPL-2.0-only */
/* A private MariaDB in a scratch folder: started by a test, gone when the test ends or dies. */
#ifndef IDEM_TESTS_SERVER_H
#define IDEM_TESTS_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include <mysql.h>

struct server;

/* Starts a mariadbd with these options (NULL-terminated list, or NULL) and installs idem in it.
   Aborts the test with a message when that fails. */
struct server *server_start(const char *const *options);

/* The same without installing idem; idem.so is in its plugin_dir. */
struct server *server_start_bare(const char *const *options);

/* The same with a datadir that a shell command puts into folder data of its working folder. */
struct server *server_start_with(const char *const *options, const char *make_datadir);

/* Among the options: the server can be stopped or killed at any step; see crashpoint.c. */
#define CRASHPOINT "--plugin-load-add=crashpoint"

/* Stops the server and removes its folder. Accepts NULL. */
void server_stop(struct server *server);

/* Kills (SIGKILL) or stops (SIGTERM) mariadbd but keeps the folder, and starts it again there. */
void server_kill(struct server *server, int signal);
void server_restart(struct server *server, const char *const *options);

const char *server_socket(const struct server *server);
const char *server_folder(const struct server *server);
unsigned int server_port(const struct server *server);
long server_pid(const struct server *server);

/* A TCP port of 127.0.0.1 that nobody listens on, and that no other test will take. */
unsigned int server_free_port(void);

/* Runs build/sql/<name> through the mariadb client as root, with extra client options (or ""). The
   exit code; what it printed goes to ret_output (at most room bytes with the NUL), if not NULL. */
int server_run_sql_file(const struct server *server, const char *name, const char *client_options,
                        char *ret_output, size_t room);

/* The same, and expects it to succeed. */
void server_run_sql(const struct server *server, const char *name, const char *client_options);

/* True when the server's error log holds this text. */
bool server_log_contains(const struct server *server, const char *text);

/* A connection as root, or as user without a password; flags as in mysql_real_connect. */
MYSQL *server_connect(const struct server *server);
MYSQL *server_connect_as(const struct server *server, const char *user, unsigned long flags);

/* A new account name@localhost without a password and with nothing but this role. */
void create_account(MYSQL *root, const char *name, const char *role);

/* The same as root, or NULL and the error number while the server is down or sheds connections. */
MYSQL *server_try_connect(const struct server *server, unsigned long flags,
                          unsigned int *ret_error);

/* Runs a statement (printf format) and expects it to succeed; all results are thrown away. */
void run(MYSQL *sql, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Runs a statement; returns its error number, 0 for success. */
unsigned int run_errno(MYSQL *sql, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Runs a statement and returns the first column of its first row ("NULL" for NULL or no row). The
   text lives until the next call with the same connection; at most 8 such connections. */
const char *value(MYSQL *sql, const char *format, ...) __attribute__((format(printf, 2, 3)));
int64_t value_int(MYSQL *sql, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Asks until the first value is not 0; fails after 30 seconds. */
void wait_until(MYSQL *sql, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Asserts on the above, with statement and answer in the message. */
void expect_text(MYSQL *sql, const char *expected, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void expect_errno(MYSQL *sql, unsigned int expected, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Test clock: sets what everybody on the server takes for now. "2026-03-01 23:59:59.5", or NULL for
   the real clock. */
void set_clock(MYSQL *sql, const char *utc);
#define DAY_US (INT64_C(86400) * 1000000) /* of the clock, idem_test_now_us */

#endif
