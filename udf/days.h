/* SPDX-License-Identifier: GPL-2.0-only */
/* Which day a new record goes to, and in which other days its key may be. */
#ifndef IDEM_DAYS_H
#define IDEM_DAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "catalog.h"

/* The day that a new record goes to: today, or the next live day that is not sealed (a clock that
   was set back over a restart or a fail-over may call a sealed day today). False with 52005 raised,
   which names the day, when the catalog lists none. */
bool idem_days_open(int64_t *ret_day);

/* The next of the live days up to today (or up to `own`, if that is later), other than `own`, whose
   filter does not rule out the key with this hash, newest first. *at starts as 0 and remembers the
   place; NULL when there is no more. */
const struct idem_day *idem_days_next(const struct idem_catalog *catalog, int64_t own,
                                      uint64_t hash, size_t *at);

/* True while tomorrow may already hold records: from a server whose clock is ahead. */
bool idem_days_near_midnight(int64_t now_us);

#endif
