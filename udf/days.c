/* SPDX-License-Identifier: GPL-2.0-only */
/* The live days of the catalog, as a claim needs them. */
#include "days.h"

#include "idem/limits.h"

#include "clock.h"
#include "counters.h"
#include "raise.h"
#include "settings.h"

/* False when today is not live, or sealed with no later day to go to. */
static bool find_open(int64_t today, int64_t *ret_day)
{
    bool live = false, found = false;
    const struct idem_day *days;
    size_t count;
    int ticket;
    const struct idem_catalog *catalog = idem_catalog_enter(&ticket);

    if (catalog == NULL)
        return false;
    days = idem_catalog_days(catalog, &count);
    for (size_t i = 0; i < count && !found; i++) {
        live = live || days[i].number == today;
        found = live && !days[i].sealed;
        if (found)
            *ret_day = days[i].number;
    }
    idem_catalog_leave(ticket);
    return found;
}

bool idem_days_open(int64_t *ret_day)
{
    int64_t today = idem_clock_today(idem_settings_partitions_ahead());
    char name[IDEM_DATE_LENGTH + 1];

    /* The day may have been made a moment ago: one look at the table before it is refused. */
    if (find_open(today, ret_day) || (idem_catalog_reload() && find_open(today, ret_day)))
        return true;
    idem_clock_date(today, name);
    idem_counters_add("NOT_READY", sizeof("NOT_READY") - 1);
    idem_raise(IDEM_E_NOT_READY, "idem: no partition for %s (UTC); CALL idem.ensure_partitions()",
               name);
    return false;
}

const struct idem_day *idem_days_next(const struct idem_catalog *catalog, int64_t own,
                                      uint64_t hash, size_t *at)
{
    int64_t last = idem_clock_today(idem_settings_partitions_ahead());
    const struct idem_day *found = NULL;
    uint64_t spared = 0;
    size_t count;
    const struct idem_day *days = idem_catalog_days(catalog, &count);

    if (last < own)
        last = own;
    while (found == NULL && *at < count) {
        const struct idem_day *day = &days[count - ++*at];

        if (day->number > last || day->number == own)
            continue;
        if (idem_sealed_maybe(day->filter, hash))
            found = day;
        else
            spared++;
    }
    idem_sealed_count(spared, found != NULL);
    return found;
}

bool idem_days_near_midnight(int64_t now_us)
{
    return now_us % IDEM_DAY_US >= IDEM_DAY_US - IDEM_CLOCK_SKEW_US;
}
