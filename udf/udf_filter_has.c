/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_filter_has(filter, day, scope, key): what a stored filter says of a key: 0 certainly not
   here, 1 maybe, NULL when it is not a filter of that day. For proving filters; no claim asks it.
 */
#include <string.h>

#include "clock.h"
#include "filter.h"
#include "udf.h"

IDEM_UDF_INTEGER(idem_filter_has, "idem_filter_has(filter, day, scope, key)", 4, 4)

long long idem_filter_has(UDF_INIT *initid, UDF_ARGS *args, char *is_null, char *error)
{
    struct idem_filter filter;
    int64_t day;

    (void)initid, (void)error;
    *is_null = 1;
    for (int i = 0; i < 4; i++)
        if (args->args[i] == NULL)
            return 0;
    if (!idem_clock_parse_date(args->args[1], args->lengths[1], &day) ||
        !idem_filter_open(args->args[0], args->lengths[0], (int32_t)day, &filter))
        return 0;
    *is_null = 0;
    return idem_filter_maybe(&filter, idem_filter_hash(args->args[2], args->lengths[2],
                                                       args->args[3], args->lengths[3]));
}
