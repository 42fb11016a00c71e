/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_token(): a fencing token, larger than every one before it on this server. */
#include "clock.h"
#include "udf.h"

IDEM_UDF_INTEGER(idem_token, "idem_token()", 0, 0)

long long idem_token(UDF_INIT *initid, UDF_ARGS *args, char *is_null, char *error)
{
    (void)initid, (void)args, (void)error;
    *is_null = 0;
    return (long long)idem_clock_token();
}
