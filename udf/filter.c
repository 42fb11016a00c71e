/* SPDX-License-Identifier: GPL-2.0-only */
/* Building, reading and asking binary fuse filters. */
#include "filter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PLACES 3
#define SEGMENT_MAX 262144U
#define SEEDS_MAX 100 /* each fails with a chance well below 1 % */

static const uint8_t magic[8] = {'i', 'd', 'e', 'm', 'f', 'l', 't', 1};

/* splitmix64's finalizer: every bit of the input moves every bit of the output. */
static inline uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
    z = (z ^ z >> 27) * 0x94d049bb133111ebU;
    return z ^ z >> 31;
}

static uint64_t fnv1a(uint64_t hash, const void *bytes, size_t length)
{
    const uint8_t *at = bytes;

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ at[i]) * 0x100000001b3U;
    return hash;
}

uint64_t idem_filter_hash(const void *scope, size_t scope_length, const void *key,
                          size_t key_length)
{
    const uint8_t length = (uint8_t)scope_length; /* at most 64: keeps scope and key apart */
    uint64_t hash = fnv1a(0xcbf29ce484222325U, &length, 1);

    return mix(fnv1a(fnv1a(hash, scope, scope_length), key, key_length));
}

static void put(uint8_t *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t get(const uint8_t *at, int bytes)
{
    uint64_t value = 0;

    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

static uint64_t checksum(const uint8_t *bytes, size_t length)
{
    uint64_t sum = length;
    size_t at = 0;

    for (; at + 8 <= length; at += 8) {
        uint64_t word;

        memcpy(&word, bytes + at, 8); /* in little-endian order, like the rest */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        word = __builtin_bswap64(word);
#endif
        sum = mix(sum ^ word) + 0x9e3779b97f4a7c15U;
    }
    return mix(sum ^ get(bytes + at, (int)(length - at)));
}

static inline uint8_t fingerprint(uint64_t hash)
{
    return (uint8_t)(hash ^ hash >> 32);
}

static inline void places(const struct idem_filter *filter, uint64_t hash, uint32_t at[PLACES])
{
    const uint32_t mask = filter->segment_length - 1;

    at[0] = (uint32_t)((unsigned __int128)hash * filter->segment_span >> 64);
    at[1] = (at[0] + filter->segment_length) ^ ((uint32_t)(hash >> 18) & mask);
    at[2] = (at[0] + 2 * filter->segment_length) ^ ((uint32_t)hash & mask);
}

static size_t room(const struct idem_filter *filter)
{
    return (size_t)filter->segment_span + (PLACES - 1) * (size_t)filter->segment_length;
}

bool idem_filter_maybe(const struct idem_filter *filter, uint64_t hash)
{
    uint32_t at[PLACES];

    if (filter->keys == 0)
        return false;
    hash = mix(hash + filter->seed);
    places(filter, hash, at);
    return (filter->fingerprints[at[0]] ^ filter->fingerprints[at[1]] ^
            filter->fingerprints[at[2]]) == fingerprint(hash);
}

/* Sizes from the paper: segments grow with the number of keys, and small sets need more slack. */
static void measure(uint64_t keys, struct idem_filter *ret_filter)
{
    const double n = keys < 2 ? 2 : (double)keys;
    const double slack = fmax(1.125, 0.875 + 0.25 * log(1000000.0) / log(n));
    const double exponent = floor(log(n) / log(3.33) + 2.25);
    const uint32_t length = exponent < 18 ? 1U << (int)exponent : SEGMENT_MAX;
    const uint64_t wanted = ((uint64_t)(n * slack) + length - 1) / length;

    ret_filter->keys = keys;
    ret_filter->segment_length = length;
    ret_filter->segment_span = (uint32_t)(wanted > PLACES - 1 ? wanted - (PLACES - 1) : 1) * length;
}

/* Working space of a build: what is known of each place, and the keys in the order of peeling. */
struct peel {
    uint64_t *hashes; /* per place: XOR of the hashes of the keys that use it */
    uint8_t
        *counts; /* per place: how many those are, times 4; low bits: XOR of which place it is */
    uint32_t *alone; /* queue of places used by one key */
    uint64_t *order;
    uint8_t *which; /* which of its places each key in order is peeled from */
};

/* Takes away, again and again, a key that has a place for itself. True when all could be taken. */
static bool peel_all(const struct idem_filter *filter, const uint64_t *hashes, struct peel *peel)
{
    const size_t size = room(filter);
    size_t waiting = 0, taken = 0;
    uint32_t at[PLACES];

    memset(peel->hashes, 0, size * sizeof(*peel->hashes));
    memset(peel->counts, 0, size);
    for (size_t i = 0; i < filter->keys; i++) {
        uint64_t hash = mix(hashes[i] + filter->seed);

        places(filter, hash, at);
        for (uint8_t p = 0; p < PLACES; p++) {
            peel->hashes[at[p]] ^= hash;
            peel->counts[at[p]] = (uint8_t)(peel->counts[at[p]] + 4) ^ p;
            if (peel->counts[at[p]] < 4)
                return false; /* 64 keys in one place: the count ran over; another seed */
        }
    }
    for (uint32_t i = 0; i < size; i++)
        if (peel->counts[i] >> 2 == 1)
            peel->alone[waiting++] = i;
    while (waiting > 0) {
        uint32_t place = peel->alone[--waiting];
        uint64_t hash = peel->hashes[place];

        if (peel->counts[place] >> 2 != 1)
            continue;
        peel->order[taken] = hash;
        peel->which[taken++] = peel->counts[place] & 3;
        places(filter, hash, at);
        for (uint8_t p = 0; p < PLACES; p++) {
            peel->hashes[at[p]] ^= hash;
            peel->counts[at[p]] = (uint8_t)(peel->counts[at[p]] - 4) ^ p;
            if (peel->counts[at[p]] >> 2 == 1)
                peel->alone[waiting++] = at[p];
        }
    }
    return taken == filter->keys;
}

/* In reverse order each key's own place is still free to make its three places XOR to its mark. */
static void fill(const struct idem_filter *filter, const struct peel *peel, uint8_t *fingerprints)
{
    for (size_t i = filter->keys; i-- > 0;) {
        uint32_t at[PLACES];
        uint8_t mark = fingerprint(peel->order[i]);

        places(filter, peel->order[i], at);
        for (uint8_t p = 0; p < PLACES; p++)
            if (p != peel->which[i])
                mark ^= fingerprints[at[p]];
        fingerprints[at[peel->which[i]]] = mark;
    }
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static size_t make_unique(uint64_t *hashes, size_t count)
{
    size_t kept = 0;

    qsort(hashes, count, sizeof(*hashes), by_value);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || hashes[i] != hashes[i - 1])
            hashes[kept++] = hashes[i];
    return kept;
}

static bool find_seed(struct idem_filter *filter, const uint64_t *hashes, uint8_t *fingerprints)
{
    const size_t size = room(filter);
    /* A place is queued when its count becomes one: at most once as it fills, and once more for
       each key taken from it later, of which there are three per key in all. */
    struct peel peel = {
        .hashes = malloc(size * sizeof(uint64_t)),
        .counts = malloc(size),
        .alone = malloc((size + PLACES * filter->keys) * sizeof(uint32_t)),
        .order = malloc(filter->keys * sizeof(uint64_t)),
        .which = malloc(filter->keys),
    };
    bool found = false;

    if (peel.hashes != NULL && peel.counts != NULL && peel.alone != NULL && peel.order != NULL &&
        peel.which != NULL)
        for (uint64_t seed = 1; !found && seed <= SEEDS_MAX; seed++) {
            filter->seed = mix(seed * 0x9e3779b97f4a7c15U);
            found = peel_all(filter, hashes, &peel);
        }
    if (found)
        fill(filter, &peel, fingerprints);
    free(peel.hashes);
    free(peel.counts);
    free(peel.alone);
    free(peel.order);
    free(peel.which);
    return found;
}

bool idem_filter_make(uint64_t *hashes, size_t count, int32_t day, uint8_t **ret_bytes,
                      size_t *ret_length)
{
    struct idem_filter filter = {.seed = 0};
    size_t length;
    uint8_t *bytes;

    count = make_unique(hashes, count);
    if (count > IDEM_FILTER_KEYS_MAX)
        return false;
    measure(count, &filter);
    if (count == 0)
        filter.segment_length = filter.segment_span = 0;
    length = IDEM_FILTER_HEADER + room(&filter);
    bytes = calloc(1, length);
    if (bytes == NULL)
        return false;
    if (count > 0 && !find_seed(&filter, hashes, bytes + IDEM_FILTER_HEADER)) {
        free(bytes);
        return false;
    }
    memcpy(bytes, magic, sizeof(magic));
    put(bytes + 16, (uint32_t)day, 4);
    put(bytes + 20, filter.segment_length, 4);
    put(bytes + 24, filter.segment_length == 0 ? 0 : filter.segment_span / filter.segment_length,
        4);
    put(bytes + 32, filter.keys, 8);
    put(bytes + 40, filter.seed, 8);
    put(bytes + 8, checksum(bytes + 16, length - 16), 8);
    *ret_bytes = bytes;
    *ret_length = length;
    return true;
}

bool idem_filter_open(const void *bytes, size_t length, int32_t day, struct idem_filter *ret_filter)
{
    const uint8_t *at = bytes;
    struct idem_filter filter;
    uint64_t span;

    if (length < IDEM_FILTER_HEADER || memcmp(at, magic, sizeof(magic)) != 0 ||
        get(at + 16, 4) != (uint32_t)day || get(at + 8, 8) != checksum(at + 16, length - 16))
        return false;
    filter.segment_length = (uint32_t)get(at + 20, 4);
    span = get(at + 24, 4) * filter.segment_length;
    filter.keys = get(at + 32, 8);
    filter.seed = get(at + 40, 8);
    filter.fingerprints = at + IDEM_FILTER_HEADER;
    filter.segment_span = (uint32_t)span;
    /* places() stays inside only with a power of two, and with the room that goes with it. */
    if (span > UINT32_MAX || (filter.segment_length & (filter.segment_length - 1)) != 0 ||
        room(&filter) != length - IDEM_FILTER_HEADER || (filter.keys > 0 && span == 0))
        return false;
    *ret_filter = filter;
    return true;
}
