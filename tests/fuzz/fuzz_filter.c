/* SPDX-License-Identifier: GPL-2.0-only */
/* Any bytes as a stored filter: refused, or asked without reading beyond them. And any keys: a
   filter made of them never misses one. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "filter.h"

#define DAY 20513
#define KEYS_MAX 512

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(const uint8_t *bytes, size_t length, const uint8_t *hashes, size_t hashes_length)
{
    struct idem_filter filter;

    if (!idem_filter_open(bytes, length, DAY, &filter))
        return;
    for (size_t at = 0; at + sizeof(uint64_t) <= hashes_length; at += sizeof(uint64_t)) {
        uint64_t hash;

        memcpy(&hash, hashes + at, sizeof(hash));
        (void)idem_filter_maybe(&filter, hash);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t hashes[KEYS_MAX], given[KEYS_MAX];
    size_t count = size / sizeof(uint64_t) < KEYS_MAX ? size / sizeof(uint64_t) : KEYS_MAX;
    struct idem_filter filter;
    uint8_t *bytes;
    size_t length;

    ask(data, size, data, size);

    memcpy(hashes, data, count * sizeof(*hashes));
    memcpy(given, data, count * sizeof(*hashes));
    if (!idem_filter_make(hashes, count, DAY, &bytes, &length))
        return 0;
    if (!idem_filter_open(bytes, length, DAY, &filter))
        abort();
    for (size_t i = 0; i < count; i++)
        if (!idem_filter_maybe(&filter, given[i]))
            abort();
    /* Damaged at one place and cut at another, it is refused. */
    if (size > 2) {
        bytes[data[0] % length] ^= (uint8_t)(1 + data[1] % 255);
        if (idem_filter_open(bytes, length, DAY, &filter))
            abort();
        ask(bytes, length - data[2] % length, data, size);
    }
    free(bytes);
    return 0;
}
