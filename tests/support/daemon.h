/* SPDX-License-Identifier: GPL-2.0-only */
/* The real idemd: started by a test, stopped by signals, its log at hand. */
#ifndef IDEM_TESTS_DAEMON_H
#define IDEM_TESTS_DAEMON_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <mysql.h>

#include "server.h"

#define WAIT_SECONDS 60 /* for what must come; a test fails after that */

struct daemon {
    pid_t pid;
    char log[300];
    unsigned int port; /* of its HTTP endpoints */
};

/* idemd; another build of it when IDEM_TEST_DAEMON in the environment names one. */
const char *daemon_path(void);

/* Starts `idemd --no-defaults -S <socket> -u root <options> run`. options: shell words, printf
 * format. */
struct daemon daemon_start(const struct server *server, const char *options, ...)
    __attribute__((format(printf, 2, 3)));

/* Kills what a test that failed has left. */
void daemon_kill_all(void);

/* Sends the signal and returns when idemd has met it, so that the same one again is a second one.
 */
void daemon_signal(const struct daemon *daemon, int signal);

/* Sends the signal and waits for the end: the exit code, or -signal when it was killed by one. */
int daemon_end(struct daemon *daemon, int signal);
int daemon_wait(struct daemon *daemon);

/* How often this text is in the daemon's log. */
int daemon_log_count(const struct daemon *daemon, const char *text);
void daemon_expect_log(const struct daemon *daemon, const char *text); /* waits for it */

/* Sends SIGUSR1 to each and waits until every task of idem.task has run to its end since. */
void daemon_kick(const struct daemon *daemon, MYSQL *sql);
void daemon_kick_all(const struct daemon *daemons, size_t count, MYSQL *sql);

/* Runs `idemd <arguments>` to its end: exit code, and what it printed. */
int idemd(char *ret_output, size_t room, const char *arguments, ...)
    __attribute__((format(printf, 3, 4)));

/* HTTP: the status code; the body goes to ret_body. 0 when nobody answers. */
int http_request(unsigned int port, const char *request_line, char *ret_body, size_t room);

/* Repeats the query until it answers `expected`; fails the test after WAIT_SECONDS. */
void wait_for_text(MYSQL *sql, const char *expected, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
