/* SPDX-License-Identifier: GPL-2.0-only */
/* A day's keys as a filter: "certainly not here" or "maybe". Never a wrong "certainly not".

   A binary fuse filter (Graf & Lemire, "Binary Fuse Filters", 2022) with three places a key and
   fingerprints of eight bits: about 9 bits a key from 100 000 keys on (a little more below), a
   false "maybe" in 1 of 256. It is built once from all keys and never changed.

   Bytes, integers little-endian: "idemflt" 1 | checksum 8 | day 4 | segment length 4 | segments 4 |
   zero 4 | keys 8 | seed 8 | fingerprints. The checksum covers everything after it; the day makes a
   filter that got into another day's row useless instead of wrong. */
#ifndef IDEM_FILTER_H
#define IDEM_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IDEM_FILTER_HEADER 48
#define IDEM_FILTER_KEYS_MAX (UINT64_C(12) << 20) /* so that a filter fits a packet of 16 MiB */

struct idem_filter {
    const uint8_t *fingerprints; /* borrowed from the bytes it was opened on */
    uint64_t seed;
    uint64_t keys; /* different hashes */
    uint32_t segment_length;
    uint32_t segment_span; /* segments * segment_length */
};

/* Of a record's key, without its day. Two keys with one hash only cost a false "maybe". */
uint64_t idem_filter_hash(const void *scope, size_t scope_length, const void *key,
                          size_t key_length);

/* Builds a filter of these hashes (sorted and made unique in place) for a day, as days since 1970.
   The caller frees *ret_bytes. False: out of memory, or more than IDEM_FILTER_KEYS_MAX. */
bool idem_filter_make(uint64_t *hashes, size_t count, int32_t day, uint8_t **ret_bytes,
                      size_t *ret_length);

/* Reads a filter of this day. False: damaged, of another version or of another day. */
bool idem_filter_open(const void *bytes, size_t length, int32_t day,
                      struct idem_filter *ret_filter);

/* False: no key with this hash was built in. */
bool idem_filter_maybe(const struct idem_filter *filter, uint64_t hash);

#endif
