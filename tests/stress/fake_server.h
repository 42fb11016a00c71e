/* SPDX-License-Identifier: GPL-2.0-only */
/* What the plugin's shared modules ask of a server: local connections, tables of schema idem, and
   the session of the calling thread. Everything in the tables follows from one number, so a reader
   can tell whether what it sees belongs together. */
#ifndef IDEM_STRESS_FAKE_SERVER_H
#define IDEM_STRESS_FAKE_SERVER_H

#include <stdint.h>

#define FAKE_DAYS 12
#define FAKE_FIRST 20000 /* day of generation 0 */
#define FAKE_KEYS 300    /* of each sealed day */
#define FAKE_POLICIES 20

/* From now on the tables are those of the next generation: its policies have it as their lease, a
   new day is live and the oldest gone, and one day in three is sealed anew. */
void fake_next_generation(void);

/* Key i of a day, as a hash. */
uint64_t fake_hash(int64_t day, int i);

/* This thread is now the session of that id. */
void fake_become(unsigned long id);

/* As idem_filter_memory_bytes: each filter counts as 1000. */
void fake_limit_filters(int64_t bytes);

#endif
