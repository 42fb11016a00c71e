/* SPDX-License-Identifier: GPL-2.0-only */
/* How a client should wait before it tries again, and whether it should. */
#ifndef IDEM_BACKOFF_H
#define IDEM_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

#define IDEM_BACKOFF_BASE_MS 100
#define IDEM_BACKOFF_CAP_MS 5000

/* Exponential back-off with full jitter: a random number of milliseconds in
   [0, min(cap_ms, base_ms * 2^(attempt-1))]. attempt counts from 1; 0 is taken as 1. */
uint64_t idem_backoff_delay(uint64_t attempt, uint64_t base_ms, uint64_t cap_ms);

/* True for errors after which the whole transaction may be run again as it was: deadlock, changed
   snapshot, lock wait timeout, lost connection, server not ready. Never for a kill or a time limit:
   somebody wanted the work to stop. */
bool idem_backoff_retryable(int64_t error_number);

#endif
