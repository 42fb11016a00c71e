/* SPDX-License-Identifier: GPL-2.0-only */
/* One unambiguous key out of several parts. */
#ifndef IDEM_NATURAL_KEY_H
#define IDEM_NATURAL_KEY_H

#include "idem/limits.h"

#include <stddef.h>

struct idem_part {
    const char *text;
    size_t length;
};

/* Joins parts as netstrings, "5:order,4:1234", so ("a","bc") and ("ab","c") differ; over
   IDEM_KEY_MAX bytes it becomes "sha256:" and 64 hex digits of that text. A joined key begins with
   a digit, so the two forms never meet. Returns the length written to ret_key, 0 when out of
   memory. */
size_t idem_natural_key(const struct idem_part *parts, size_t count, char ret_key[IDEM_KEY_MAX]);

#endif
