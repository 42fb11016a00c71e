/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_key(part, ...): one unambiguous key out of several parts. */
#include "natural_key.h"
#include "udf.h"
#include "utf8.h"

#define PARTS_MAX 32

IDEM_UDF_STRING(idem_key, "idem_key(part, ...) takes 1 to 32 parts", 1, PARTS_MAX, IDEM_KEY_MAX)

char *idem_key(UDF_INIT *initid, UDF_ARGS *args, char *result, unsigned long *length, char *is_null,
               char *error)
{
    struct idem_part parts[PARTS_MAX];

    (void)initid;
    *is_null = 1;
    for (unsigned int i = 0; i < args->arg_count; i++) {
        parts[i] = (struct idem_part){.text = args->args[i], .length = args->lengths[i]};
        if (args->args[i] == NULL || !idem_utf8_valid(args->args[i], args->lengths[i]) ||
            idem_utf8_is_wide(args->args[i], args->lengths[i])) {
            *error = 1;
            idem_raise(IDEM_E_INVALID_ARGUMENT, "idem_key: part %u is %s", i + 1,
                       args->args[i] == NULL ? "NULL" : "not UTF-8; CONVERT(... USING utf8mb4)");
            return NULL;
        }
    }
    *length = idem_natural_key(parts, args->arg_count, result);
    if (*length == 0) {
        *error = 1;
        idem_raise(IDEM_E_NOT_READY, "idem_key: out of memory");
        return NULL;
    }
    *is_null = 0;
    return result;
}
