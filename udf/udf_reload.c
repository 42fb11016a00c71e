/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_reload(): waits until the plugin has read policies, access rules and days anew. */
#include "catalog.h"
#include "udf.h"

IDEM_UDF_INTEGER(idem_reload, "idem_reload()", 0, 0)

long long idem_reload(UDF_INIT *initid, UDF_ARGS *args, char *is_null, char *error)
{
    (void)initid, (void)args;
    *is_null = 0;
    *error = !idem_catalog_reload();
    return 1;
}
