/* SPDX-License-Identifier: GPL-2.0-only */
/* LIKE patterns as SQL knows them: % any run, _ one character (here: one byte), \ takes the next
 * literally. */
#ifndef IDEM_PATTERN_H
#define IDEM_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

/* Compares bytes; fold_case: ASCII letters of either case are equal. Linear in the product of
 * lengths. */
bool idem_pattern_matches(const char *pattern, size_t pattern_length, const char *text,
                          size_t length, bool fold_case);

#endif
