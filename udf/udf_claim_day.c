/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_claim_day(): the day that a new record goes to, 'YYYY-MM-DD': idem_today(), or the next live
   day that is not sealed (a clock that was set back over a restart or a fail-over may call a sealed
   day today); 52005 that names the day if the catalog lists none. */
#include "catalog.h"
#include "clock.h"
#include "counters.h"
#include "settings.h"
#include "udf.h"

IDEM_UDF_STRING(idem_claim_day, "idem_claim_day()", 0, 0, IDEM_DATE_LENGTH)

/* The open day for `today`; false when today is not live, or sealed with no later day to go to. */
static bool find(int64_t today, int64_t *ret_day)
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

char *idem_claim_day(UDF_INIT *initid, UDF_ARGS *args, char *result, unsigned long *length,
                     char *is_null, char *error)
{
    int64_t today = idem_clock_today(idem_settings_partitions_ahead());
    int64_t day = today;

    (void)initid, (void)args;
    *length = IDEM_DATE_LENGTH;
    /* The day may have been made a moment ago: one look at the table before it is refused. */
    *is_null = !find(today, &day) && (!idem_catalog_reload() || !find(today, &day));
    idem_clock_date(day, result);
    if (!*is_null)
        return result;
    *error = 1;
    idem_counters_add("NOT_READY", sizeof("NOT_READY") - 1);
    idem_raise(IDEM_E_NOT_READY, "idem: no partition for %s (UTC); CALL idem.ensure_partitions()",
               result);
    return NULL;
}
