/* SPDX-License-Identifier: GPL-2.0-only */
/* Filters in memory, and what they spared. */
#include "sealed.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "filter.h"

struct idem_sealed {
    unsigned int users;
    char sealed_at[32];
    bool good;
    struct idem_filter filter; /* of bytes */
    size_t length;
    uint8_t bytes[];
};

static _Alignas(64) atomic_uint_least64_t skips;
static _Alignas(64) atomic_uint_least64_t probes;
static _Alignas(64) atomic_uint_least64_t in_use;

struct idem_sealed *idem_sealed_new(int64_t day, const char *sealed_at, uint64_t keys,
                                    const void *bytes, size_t length)
{
    struct idem_sealed *sealed = calloc(1, sizeof(*sealed) + length);

    if (sealed == NULL)
        return NULL;
    sealed->users = 1;
    strncpy(sealed->sealed_at, sealed_at, sizeof(sealed->sealed_at) - 1);
    sealed->length = length;
    if (length > 0)
        memcpy(sealed->bytes, bytes, length);
    /* Two keys may share a hash, so a filter may count fewer keys than the day has rows. */
    sealed->good = idem_filter_open(sealed->bytes, length, (int32_t)day, &sealed->filter) &&
                   sealed->filter.keys <= keys && (sealed->filter.keys == 0) == (keys == 0);
    atomic_fetch_add(&in_use, idem_sealed_size(sealed));
    return sealed;
}

struct idem_sealed *idem_sealed_dup(struct idem_sealed *sealed)
{
    sealed->users++;
    return sealed;
}

void idem_sealed_free(struct idem_sealed *sealed)
{
    if (sealed == NULL || --sealed->users > 0)
        return;
    atomic_fetch_sub(&in_use, idem_sealed_size(sealed));
    free(sealed);
}

bool idem_sealed_is(const struct idem_sealed *sealed, const char *sealed_at)
{
    return strcmp(sealed->sealed_at, sealed_at) == 0;
}

size_t idem_sealed_size(const struct idem_sealed *sealed)
{
    return sizeof(*sealed) + sealed->length;
}

bool idem_sealed_maybe(const struct idem_sealed *sealed, uint64_t hash)
{
    return sealed == NULL || !sealed->good || idem_filter_maybe(&sealed->filter, hash);
}

void idem_sealed_count(uint64_t spared, uint64_t looked)
{
    if (spared > 0)
        atomic_fetch_add_explicit(&skips, spared, memory_order_relaxed);
    if (looked > 0)
        atomic_fetch_add_explicit(&probes, looked, memory_order_relaxed);
}

uint64_t idem_sealed_skips(void)
{
    return atomic_load_explicit(&skips, memory_order_relaxed);
}

uint64_t idem_sealed_probes(void)
{
    return atomic_load_explicit(&probes, memory_order_relaxed);
}

uint64_t idem_sealed_bytes(void)
{
    return atomic_load_explicit(&in_use, memory_order_relaxed);
}
