/* SPDX-License-Identifier: GPL-2.0-only */
/* Back-off with full jitter, and the list of errors worth another try. */
#include "backoff.h"

#include <stddef.h>
#include <stdlib.h>

uint64_t idem_backoff_delay(uint64_t attempt, uint64_t base_ms, uint64_t cap_ms)
{
    uint64_t limit = base_ms < cap_ms ? base_ms : cap_ms;
    uint64_t random_bits;

    for (uint64_t i = 1; i < attempt && limit < cap_ms; i++) {
        if (limit == 0)
            break;
        limit = limit > cap_ms / 2 ? cap_ms : limit * 2;
    }
    if (limit == UINT64_MAX)
        limit--;
    arc4random_buf(&random_bits, sizeof(random_bits));
    return random_bits % (limit + 1);
}

bool idem_backoff_retryable(int64_t error_number)
{
    static const int64_t worth_it[] = {
        1020,        /* record has changed since the snapshot: the transaction was rolled back */
        1040,        /* too many connections */
        1047,        /* Galera node not ready */
        1053,        /* server shutdown in progress */
        1077,  1079, /* shutdown */
        1152,  1158, 1159, 1160, 1161, /* network */
        1203,  1226,                   /* per-account connection limits */
        1205,                          /* lock wait timeout */
        1213,                          /* deadlock: the transaction was rolled back */
        1412,                          /* the snapshot is older than a change of partitions */
        1927,                          /* connection was killed */
        2002,  2003, 2006, 2013, 2055, /* client: cannot connect, gone away, lost */
        52005,                         /* NOT_READY */
    };

    for (size_t i = 0; i < sizeof(worth_it) / sizeof(worth_it[0]); i++)
        if (worth_it[i] == error_number)
            return true;
    return false;
}
