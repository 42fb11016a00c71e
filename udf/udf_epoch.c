/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_epoch(): a number of this run of this server (when the plugin was loaded, and noise), so
   that a connection id of an earlier run, or of another node, is told apart. */
#include "counters.h"
#include "udf.h"

IDEM_UDF_INTEGER(idem_epoch, "idem_epoch()", 0, 0)

long long idem_epoch(UDF_INIT *initid, UDF_ARGS *args, char *is_null, char *error)
{
    (void)initid, (void)args, (void)error;
    *is_null = 0;
    return (long long)idem_counters_epoch();
}
