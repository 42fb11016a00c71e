/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_claim_day(): the day that a new record goes to, 'YYYY-MM-DD': idem_today(), if the catalog
   lists it; else 52005 that names the day. */
#include "catalog.h"
#include "clock.h"
#include "counters.h"
#include "settings.h"
#include "udf.h"

IDEM_UDF_STRING(idem_claim_day, "idem_claim_day()", 0, 0, IDEM_DATE_LENGTH)

static bool is_live(int64_t day)
{
    bool found = false;
    const int64_t *days;
    size_t count;
    int ticket;
    const struct idem_catalog *catalog = idem_catalog_enter(&ticket);

    if (catalog == NULL)
        return false;
    days = idem_catalog_days(catalog, &count);
    for (size_t i = count; i > 0 && !found; i--)
        found = days[i - 1] == day;
    idem_catalog_leave(ticket);
    return found;
}

char *idem_claim_day(UDF_INIT *initid, UDF_ARGS *args, char *result, unsigned long *length,
                     char *is_null, char *error)
{
    int64_t day = idem_clock_today(idem_settings_partitions_ahead());

    (void)initid, (void)args;
    idem_clock_date(day, result);
    *length = IDEM_DATE_LENGTH;
    /* The day may have been made a moment ago: one look at the table before it is refused. */
    *is_null = !is_live(day) && (!idem_catalog_reload() || !is_live(day));
    if (!*is_null)
        return result;
    *error = 1;
    idem_counters_add("NOT_READY", sizeof("NOT_READY") - 1);
    idem_raise(IDEM_E_NOT_READY, "idem: no partition for %s (UTC); CALL idem.ensure_partitions()",
               result);
    return NULL;
}
