/* SPDX-License-Identifier: GPL-2.0-only */
/* One word a slot, the newest key wins it: 48 bits of the hash and 16 of the day (to the year
   2149). Words are independent of each other and of everything else, hence relaxed. */
#include "recent.h"

#include <stdatomic.h>

#define SLOTS (UINT64_C(1) << 18) /* 2 MiB */
#define DAY_MASK UINT64_C(0xffff)

static atomic_uint_least64_t slots[SLOTS];

void idem_recent_note(uint64_t hash, int64_t day)
{
    atomic_store_explicit(&slots[hash % SLOTS], (hash & ~DAY_MASK) | ((uint64_t)day & DAY_MASK),
                          memory_order_relaxed);
}

bool idem_recent_day(uint64_t hash, int64_t *ret_day)
{
    uint64_t word = atomic_load_explicit(&slots[hash % SLOTS], memory_order_relaxed);

    *ret_day = (int64_t)(word & DAY_MASK);
    return word != 0 && (word & ~DAY_MASK) == (hash & ~DAY_MASK);
}
