/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_retryable(errno): 1 if the whole transaction may be run again after this error, else 0. */
#include "backoff.h"
#include "udf.h"

IDEM_UDF_INTEGER(idem_retryable, "idem_retryable(errno)", 1, 1)

long long idem_retryable(UDF_INIT *initid, UDF_ARGS *args, char *is_null, char *error)
{
    unsigned long long number;

    (void)initid;
    *is_null = 0;
    if (idem_udf_integer("idem_retryable", "errno", args, 0, 0, 1000000, &number))
        return idem_backoff_retryable((long long)number);
    *is_null = 1;
    *error = 1;
    return 0;
}
