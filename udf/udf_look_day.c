/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_look_day(day, i): the i-th (from 0) day that may hold a key which is about to go into `day`,
   newest first; NULL after the last. All live days but `day` up to today, and in the last two hours
   before midnight tomorrow too (see idem._claim). */
#include <stdlib.h>
#include <string.h>

#include "catalog.h"
#include "clock.h"
#include "settings.h"
#include "udf.h"

#define TWO_HOURS_US INT64_C(7200000000)

IDEM_UDF_STRING(idem_look_day, "idem_look_day(day, i)", 2, 2, IDEM_DATE_LENGTH)

static bool find(const struct idem_catalog *catalog, const char *day, unsigned long long wanted,
                 char *ret_day)
{
    int64_t newest = idem_clock_today(idem_settings_partitions_ahead());
    const int64_t *days;
    size_t count;

    if ((idem_clock_us() + TWO_HOURS_US) / INT64_C(86400000000) > newest)
        newest++;
    days = idem_catalog_days(catalog, &count);
    for (size_t i = count; i > 0; i--) {
        if (days[i - 1] > newest)
            continue;
        idem_clock_date(days[i - 1], ret_day);
        if (memcmp(ret_day, day, IDEM_DATE_LENGTH) != 0 && wanted-- == 0)
            return true;
    }
    return false;
}

char *idem_look_day(UDF_INIT *initid, UDF_ARGS *args, char *result, unsigned long *length,
                    char *is_null, char *error)
{
    const struct idem_catalog *catalog;
    unsigned long long wanted;
    int ticket;

    (void)initid;
    *is_null = 1;
    *error = 1;
    if (args->args[0] == NULL || args->lengths[0] != IDEM_DATE_LENGTH ||
        !idem_udf_integer("idem_look_day", "i", args, 1, 0, 100000, &wanted)) {
        idem_raise(IDEM_E_INVALID_ARGUMENT, "idem_look_day: day must be a date, i a whole number");
        return NULL;
    }
    catalog = idem_catalog_enter(&ticket);
    if (catalog == NULL)
        return NULL;
    *error = 0;
    *is_null = !find(catalog, args->args[0], wanted, result);
    idem_catalog_leave(ticket);
    *length = IDEM_DATE_LENGTH;
    return *is_null ? NULL : result;
}
