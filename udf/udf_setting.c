/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_setting(name): the value of system variable idem_<name>. The routines ask this function
   because a routine that names a plugin's variable does not even load while the plugin is away. */
#include "settings.h"
#include "udf.h"

IDEM_UDF_INTEGER(idem_setting, "idem_setting(name)", 1, 1)

long long idem_setting(UDF_INIT *initid, UDF_ARGS *args, char *is_null, char *error)
{
    int64_t value = 0;

    (void)initid;
    *is_null = args->args[0] == NULL || !idem_settings_get(args->args[0], args->lengths[0], &value);
    if (*is_null) {
        *error = 1;
        idem_raise(IDEM_E_INVALID_ARGUMENT, "idem_setting: there is no such setting");
    }
    return value;
}
