/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_count(verdict): adds one to the verdict's status variable and answers the verdict. */
#include <string.h>

#include "counters.h"
#include "udf.h"

#define VERDICT_MAX 32

IDEM_UDF_STRING(idem_count, "idem_count(verdict)", 1, 1, VERDICT_MAX)

char *idem_count(UDF_INIT *initid, UDF_ARGS *args, char *result, unsigned long *length,
                 char *is_null, char *error)
{
    (void)initid;
    *is_null = args->args[0] == NULL || args->lengths[0] > VERDICT_MAX ||
               !idem_counters_add(args->args[0], args->lengths[0]);
    if (*is_null) {
        *error = 1;
        idem_raise(IDEM_E_INVALID_ARGUMENT, "idem_count: there is no such verdict");
        return NULL;
    }
    *length = args->lengths[0];
    return memcpy(result, args->args[0], *length);
}
