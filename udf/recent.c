/* SPDX-License-Identifier: GPL-2.0-only */
/* One word a slot, the newest key wins it: 47 bits of the hash (the slot tells the others), whether
   it is committed, and 16 of the day (to the year 2149). Words are independent of each other and of
   everything else, hence relaxed. */
#include "recent.h"

#include <stdatomic.h>

#define SLOTS (UINT64_C(1) << 18) /* 2 MiB */
#define DAY_MASK UINT64_C(0xffff)
#define COMMITTED UINT64_C(0x10000)
#define HASH_MASK (~(DAY_MASK | COMMITTED))

static atomic_uint_least64_t slots[SLOTS];

void idem_recent_note(uint64_t hash, int64_t day, bool committed)
{
    atomic_store_explicit(&slots[hash % SLOTS],
                          (hash & HASH_MASK) | (committed ? COMMITTED : 0) |
                              ((uint64_t)day & DAY_MASK),
                          memory_order_relaxed);
}

bool idem_recent_day(uint64_t hash, int64_t *ret_day, bool *ret_committed)
{
    uint64_t word = atomic_load_explicit(&slots[hash % SLOTS], memory_order_relaxed);

    *ret_day = (int64_t)(word & DAY_MASK);
    *ret_committed = (word & COMMITTED) != 0;
    return word != 0 && (word & HASH_MASK) == (hash & HASH_MASK);
}
