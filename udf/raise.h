/* SPDX-License-Identifier: GPL-2.0-only */
/* Raising a real SQL error: a UDF that only sets its error flag gives NULL and the statement
 * succeeds. */
#ifndef IDEM_RAISE_H
#define IDEM_RAISE_H

#include "idem/errors.h"

/* The statement fails with error `number` (SQLSTATE follows from it) and this text. */
void idem_raise(unsigned int number, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
