/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_claim_day(): the day that a new record goes to, 'YYYY-MM-DD'; 52005 when there is none. */
#include "clock.h"
#include "days.h"
#include "udf.h"

IDEM_UDF_STRING(idem_claim_day, "idem_claim_day()", 0, 0, IDEM_DATE_LENGTH)

char *idem_claim_day(UDF_INIT *initid, UDF_ARGS *args, char *result, unsigned long *length,
                     char *is_null, char *error)
{
    int64_t day;

    (void)initid, (void)args;
    *error = !idem_days_open(&day);
    *is_null = *error;
    if (*error)
        return NULL;
    idem_clock_date(day, result);
    *length = IDEM_DATE_LENGTH;
    return result;
}
