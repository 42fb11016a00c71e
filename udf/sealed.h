/* SPDX-License-Identifier: GPL-2.0-only */
/* The filter of a sealed day in memory. Many snapshots of the catalog share one; it never changes.
   Made, shared and freed by the catalog's thread alone. */
#ifndef IDEM_SEALED_H
#define IDEM_SEALED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct idem_sealed;

/* Copies a stored filter. One that is damaged, of another day or of other keys than the row says
   becomes one that answers "maybe" to everything. NULL when out of memory. */
struct idem_sealed *idem_sealed_new(int64_t day, const char *sealed_at, uint64_t keys,
                                    const void *bytes, size_t length);
struct idem_sealed *idem_sealed_dup(struct idem_sealed *sealed);
void idem_sealed_free(struct idem_sealed *sealed);

/* True when it was made from the seal of that time: a day sealed again has a new filter. */
bool idem_sealed_is(const struct idem_sealed *sealed, const char *sealed_at);

/* Memory in use. */
size_t idem_sealed_size(const struct idem_sealed *sealed);

/* False: the day certainly has no key with this hash. NULL has no filter, hence true. */
bool idem_sealed_maybe(const struct idem_sealed *sealed, uint64_t hash);

/* Counts days that a filter spared a look, and days that are looked into. */
void idem_sealed_count(uint64_t spared, uint64_t looked);

/* For status variables: the two counts, and memory in use. */
uint64_t idem_sealed_skips(void);
uint64_t idem_sealed_probes(void);
uint64_t idem_sealed_bytes(void);

#endif
