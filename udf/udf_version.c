/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_version(): the version of the loaded library. */
#include <string.h>

#include "idem/version.h"
#include "udf.h"

IDEM_UDF_STRING(idem_version, "idem_version()", 0, 0, 32)

char *idem_version(UDF_INIT *initid, UDF_ARGS *args, char *result, unsigned long *length,
                   char *is_null, char *error)
{
    (void)initid, (void)args, (void)error;
    *is_null = 0;
    *length = sizeof(IDEM_VERSION) - 1;
    return memcpy(result, IDEM_VERSION, sizeof(IDEM_VERSION));
}
