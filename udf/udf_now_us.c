/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_now_us(): the server's wall clock in microseconds since 1970 UTC; SET timestamp does not
 * move it. */
#include "clock.h"
#include "udf.h"

IDEM_UDF_INTEGER(idem_now_us, "idem_now_us()", 0, 0)

long long idem_now_us(UDF_INIT *initid, UDF_ARGS *args, char *is_null, char *error)
{
    (void)initid, (void)args, (void)error;
    *is_null = 0;
    return idem_clock_us();
}
