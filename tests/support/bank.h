/* SPDX-License-Identifier: GPL-2.0-only */
/* Tables that follow streams of versions. */
#ifndef IDEM_TESTS_BANK_H
#define IDEM_TESTS_BANK_H

#include <mysql.h>

/* Schema bank with tables account, parking and customer (id, version, cents, memo), and their
   projections: plain (delta), park (delta, keeps early events) and snap (snapshot). */
void define_bank(MYSQL *sql);

#endif
