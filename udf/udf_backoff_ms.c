/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_backoff_ms(attempt [, base [, cap]]): how many milliseconds to wait before the next try. */
#include "backoff.h"
#include "udf.h"

#define MS_MAX 86400000ULL /* a day */

IDEM_UDF_INTEGER(idem_backoff_ms, "idem_backoff_ms(attempt [, base [, cap]])", 1, 3)

long long idem_backoff_ms(UDF_INIT *initid, UDF_ARGS *args, char *is_null, char *error)
{
    unsigned long long attempt;
    unsigned long long base = IDEM_BACKOFF_BASE_MS;
    unsigned long long cap = IDEM_BACKOFF_CAP_MS;

    (void)initid;
    *is_null = 1;
    *error = 1;
    if (!idem_udf_integer("idem_backoff_ms", "attempt", args, 0, 1, 1000000, &attempt) ||
        (args->arg_count > 1 &&
         !idem_udf_integer("idem_backoff_ms", "base", args, 1, 1, MS_MAX, &base)) ||
        (args->arg_count > 2 &&
         !idem_udf_integer("idem_backoff_ms", "cap", args, 2, 1, MS_MAX, &cap)))
        return 0;
    *is_null = 0;
    *error = 0;
    return (long long)idem_backoff_delay(attempt, base, cap);
}
