/* SPDX-License-Identifier: GPL-2.0-only */
/* Time as idem sees it: the server's wall clock in UTC, never the session's NOW(). */
#ifndef IDEM_CLOCK_H
#define IDEM_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IDEM_DAY_US (INT64_C(86400) * 1000000)
#define IDEM_DATE_LENGTH 10     /* YYYY-MM-DD */
#define IDEM_DATETIME_LENGTH 26 /* YYYY-MM-DD HH:MM:SS.ffffff */

/* Microseconds since 1970-01-01 00:00 UTC. A build with the test clock answers that one while set.
 */
int64_t idem_clock_us(void);

/* Test clock: what idem_clock_us() answers from now on; 0 is the real clock again, and forgets the
   newest day seen. */
void idem_clock_set(int64_t us);

/* The UTC day that new records go to, as days since 1970-01-01. It never goes back while the server
   runs, so a clock that steps back over midnight cannot reopen yesterday; but a jump of more than
   `ahead` days (no partition can exist there) is forgotten when the clock is right again. */
int64_t idem_clock_today(int64_t ahead);

/* Writes day as YYYY-MM-DD and a NUL. Years 1970-9999. */
void idem_clock_date(int64_t day, char ret_text[IDEM_DATE_LENGTH + 1]);

/* Writes microseconds since 1970 as YYYY-MM-DD HH:MM:SS.ffffff and a NUL. Years 1970-9999. */
void idem_clock_datetime(int64_t us, char ret_text[IDEM_DATETIME_LENGTH + 1]);

/* The day that YYYY-MM-DD names; false if it names none. */
bool idem_clock_parse_date(const char *text, size_t length, int64_t *ret_day);

/* A fencing token: the clock in microseconds, or one more than the last token if that is larger. */
uint64_t idem_clock_token(void);

#endif
