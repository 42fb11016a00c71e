/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_taken(scope, day, token): a claim's record is in place. Counts it as CLAIMED or NEW and
   answers the token; NULL, not counted, when records go to another day than `day` (NULL: whatever
   the day) by now. */
#include "clock.h"
#include "counters.h"
#include "days.h"
#include "udf.h"

IDEM_UDF_INTEGER(idem_taken, "idem_taken(scope, day, token)", 3, 3)

static bool count(struct idem_text scope)
{
    return scope.length == 0 ? idem_counters_add("CLAIMED", sizeof("CLAIMED") - 1)
                             : idem_counters_add("NEW", sizeof("NEW") - 1);
}

long long idem_taken(UDF_INIT *initid, UDF_ARGS *args, char *is_null, char *error)
{
    unsigned long long token = 0;
    int64_t day = 0, open = 0;

    (void)initid;
    *is_null = 1;
    *error = 1;
    if (args->args[1] != NULL && !idem_clock_parse_date(args->args[1], args->lengths[1], &day)) {
        idem_raise(IDEM_E_INVALID_ARGUMENT, "idem_taken: needs scope, day and token");
        return 0;
    }
    if (!idem_udf_integer("idem_taken", "token", args, 2, 0, INT64_MAX, &token) ||
        (args->args[1] != NULL && !idem_days_open(&open)))
        return 0;
    *error = 0;
    *is_null = day != open || !count(idem_udf_text(args, 0));
    return (long long)token;
}
