/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_check(routine, client_charset, biz_type, key): 1, or 52001 that names argument and limit. */
#include "arguments.h"
#include "udf.h"

IDEM_UDF_INTEGER(idem_check, "idem_check(routine, client_charset, biz_type, key)", 4, 4)

long long idem_check(UDF_INIT *initid, UDF_ARGS *args, char *is_null, char *error)
{
    (void)initid;
    *is_null = 0;
    *error = !idem_arguments_check(idem_udf_text(args, 0), idem_udf_text(args, 1),
                                   idem_udf_text(args, 2), idem_udf_text(args, 3));
    return !*error;
}
