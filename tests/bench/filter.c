/* SPDX-License-Identifier: GPL-2.0-only */
/* B8: what the filter of a day costs, and how often it says "maybe" for nothing. The functions that
   the server uses, without the server. */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "filter.h"

#define DAY 20000
#define PROBES 4000000

static uint64_t hash_of(const char *kind, uint64_t i)
{
    char key[48];
    int length = snprintf(key, sizeof(key), "%s-%llu", kind, (unsigned long long)i);

    return idem_filter_hash("", 0, key, (size_t)length);
}

void bench_filter(void)
{
    const size_t keys = options.full ? 5000000 : 1000000;
    uint64_t *hashes = malloc(keys * sizeof(*hashes));
    struct idem_filter filter;
    uint8_t *bytes;
    size_t length, wrong = 0;
    uint64_t began;
    char setting[32];

    for (size_t i = 0; i < keys; i++)
        hashes[i] = hash_of("in", i);
    began = now_ns();
    if (!idem_filter_make(hashes, keys, DAY, &bytes, &length) ||
        !idem_filter_open(bytes, length, DAY, &filter)) {
        report_skipped("B8", "the filter could not be built");
        return;
    }
    snprintf(setting, sizeof(setting), "%zu M keys", keys / 1000000);
    report_number("B8", setting, "build", "s", (double)(now_ns() - began) / 1e9, FOR_INFORMATION,
                  0);
    for (size_t i = 0; i < PROBES; i++)
        wrong += idem_filter_maybe(&filter, hash_of("out", i));
    report_number("B8", setting, "memory", "bits/key", (double)length * 8 / (double)keys, AT_MOST,
                  10);
    report_number("B8", setting, "false maybe", "%", 100.0 * (double)wrong / PROBES, AT_MOST, 0.5);
    free(hashes);
    free(bytes);
}
