/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_admit(routine, client_charset, account, biz_type, key, writes): admits a call
   that neither claims nor settles; 1, or the error of idem_admission_check(). */
#include "admission.h"
#include "udf.h"

IDEM_UDF_INTEGER(idem_admit, "idem_admit(routine, client_charset, account, biz_type, key, writes)",
                 6, 6)

long long idem_admit(UDF_INIT *initid, UDF_ARGS *args, char *is_null, char *error)
{
    const struct idem_call call = {.routine = idem_udf_text(args, 0),
                                   .client_charset = idem_udf_text(args, 1),
                                   .account = idem_udf_text(args, 2),
                                   .biz_type = idem_udf_text(args, 3),
                                   .key = idem_udf_text(args, 4),
                                   .payload_given = true,
                                   .writes = idem_udf_is_true(args, 5)};
    struct idem_terms terms;

    (void)initid;
    *is_null = 0;
    *error = !idem_admission_check(&call, &terms);
    return !*error;
}
