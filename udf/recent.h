/* SPDX-License-Identifier: GPL-2.0-only */
/* Keys that were finished lately, and on which day their record stands: a hint that a claim is a
   replay, for which looking is cheaper than inserting. Nothing rests on it: a key that is missing
   is inserted first as always, and one that is there wrongly is only looked for in vain. */
#ifndef IDEM_RECENT_H
#define IDEM_RECENT_H

#include <stdbool.h>
#include <stdint.h>

/* hash: idem_filter_hash() of the key. committed: not only in a transaction that is still open. */
void idem_recent_note(uint64_t hash, int64_t day, bool committed);
bool idem_recent_day(uint64_t hash, int64_t *ret_day, bool *ret_committed);

#endif
