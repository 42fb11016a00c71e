/* SPDX-License-Identifier: GPL-2.0-only */
/* Counters of verdicts and refusals. */
#include "counters.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "clock.h"
#include "sealed.h"
#include "session.h"

/* verdict as the core says it, status variable idem_<name> */
#define COUNTERS(X)                                                                                \
    X(CLAIMED, claimed)                                                                            \
    X(RECLAIMED, reclaimed)                                                                        \
    X(DONE, replayed_done)                                                                         \
    X(FAILED, replayed_failed)                                                                     \
    X(IN_PROGRESS, in_progress)                                                                    \
    X(UNKNOWN, unknown)                                                                            \
    X(KEY_REUSED, key_reused)                                                                      \
    X(PAYLOAD_MISMATCH, payload_mismatch)                                                          \
    X(NOT_OWNER, not_owner)                                                                        \
    X(NOT_READY, not_ready)                                                                        \
    X(ACCESS_DENIED, access_denied)                                                                \
    X(NEW, consume_new)                                                                            \
    X(DUPLICATE, consume_duplicate)                                                                \
    X(TRANSITION_APPLIED, transition_applied)                                                      \
    X(TRANSITION_ALREADY, transition_already)                                                      \
    X(TRANSITION_ILLEGAL, transition_illegal)                                                      \
    X(TRANSITION_MISSING, transition_missing)                                                      \
    X(VERSION_INSERTED, version_inserted)                                                          \
    X(VERSION_UPDATED, version_updated)                                                            \
    X(VERSION_APPLIED, version_applied)                                                            \
    X(VERSION_STALE, version_stale)                                                                \
    X(VERSION_DUPLICATE, version_duplicate)                                                        \
    X(VERSION_CONFLICT, version_conflict)                                                          \
    X(VERSION_GAP, version_gap)                                                                    \
    X(VERSION_PARKED, version_parked)                                                              \
    X(VERSION_MISSING, version_missing)

/* Relaxed: each counter stands alone. Padded: 64 sessions counting must not share a cache line. */
#define X(verdict, name) static _Alignas(64) atomic_ullong count_##name;
COUNTERS(X)
#undef X

static int64_t started_us;
static uint64_t epoch;

static unsigned long long uptime_seconds(void)
{
    int64_t passed = idem_clock_us() - started_us;

    return passed > 0 ? (unsigned long long)passed / 1000000 : 0;
}

#define COUNT_OF(name) atomic_load_explicit(&count_##name, memory_order_relaxed)

/* Not counters of verdicts: kept by other modules, and the time. */
#define ELSEWHERE(X)                                                                               \
    X(filter_skips, idem_sealed_skips())                                                           \
    X(filter_probes, idem_sealed_probes())                                                         \
    X(filter_bytes, idem_sealed_bytes())                                                           \
    X(sessions, idem_session_count())                                                              \
    X(plugin_uptime, uptime_seconds())

#define SHOW(name, number)                                                                         \
    static int show_##name(MYSQL_THD thd, struct st_mysql_show_var *variable, void *room,          \
                           struct system_status_var *status, enum enum_var_type type)              \
    {                                                                                              \
        (void)thd, (void)status, (void)type;                                                       \
        *(unsigned long long *)room = number;                                                      \
        variable->type = SHOW_ULONGLONG;                                                           \
        variable->value = room;                                                                    \
        return 0;                                                                                  \
    }
#define X(verdict, name) SHOW(name, COUNT_OF(name))
COUNTERS(X)
#undef X
ELSEWHERE(SHOW)

struct st_mysql_show_var idem_counters_status[] = {
#define ROW(name, number) {"idem_" #name, (void *)show_##name, SHOW_FUNC},
#define X(verdict, name) ROW(name, )
    COUNTERS(X) ELSEWHERE(ROW)
#undef X
        {NULL, NULL, SHOW_UNDEF}};

void idem_counters_start(void)
{
    unsigned int noise = 0;

    started_us = idem_clock_us();
    /* Nodes of a cluster may start in the same microsecond, and give the same connection ids. */
    if (getrandom(&noise, sizeof(noise), GRND_NONBLOCK) < 0)
        noise = (unsigned int)getpid();
    epoch = (uint64_t)started_us << 10 | (noise & 1023);
}

uint64_t idem_counters_epoch(void)
{
    return epoch;
}

bool idem_counters_add(const char *verdict, size_t length)
{
#define X(text, name)                                                                              \
    if (length == sizeof(#text) - 1 && memcmp(verdict, #text, length) == 0) {                      \
        atomic_fetch_add_explicit(&count_##name, 1, memory_order_relaxed);                         \
        return true;                                                                               \
    }
    COUNTERS(X)
#undef X
    return false;
}

size_t idem_counters_json(char *ret_json, size_t room)
{
#define X(verdict, name) ",\"" #name "\":%llu"
#define NAME(name, number) X(, name)
    static const char format[] = COUNTERS(X) ELSEWHERE(NAME) "}";
#undef X
#define X(verdict, name) , (unsigned long long)COUNT_OF(name)
#define NUMBER(name, number) , (unsigned long long)(number)
    int length = snprintf(ret_json, room, format COUNTERS(X) ELSEWHERE(NUMBER));
#undef X

    if (length < 0 || (size_t)length >= room)
        return 0;
    ret_json[0] = '{'; /* in place of the first comma */
    return (size_t)length;
}
