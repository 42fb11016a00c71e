/* SPDX-License-Identifier: GPL-2.0-only */
/* What nearly every test file of the server needs: cmocka with its headers, one server for the file
   and three connections to it. */
#ifndef IDEM_TESTS_FIXTURE_H
#define IDEM_TESTS_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "claims.h"
#include "server.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Of the server; set before fixture_start(), or NULL. */
extern const char *const *fixture_options;
extern struct server *fixture_server;
extern MYSQL *s1, *s2, *s3;

/* Group set-up and tear-down: table test.orders(id, note) exists, s1-s3 are connected as root. */
int fixture_start(void **state);
int fixture_stop(void **state);

/* Test tear-down: ends every open transaction, sets the real clock. */
int fixture_settle(void **state);

/* Sets the test clock (UTC), and makes the days that are due. */
void clock_with_days(const char *utc);

/* A key nobody has used yet, quoted: "'name-7'". Lives until 16 more were made. */
const char *fresh_key(const char *name);

#endif
