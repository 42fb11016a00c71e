/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_today(): the UTC day for new records, 'YYYY-MM-DD'; never goes back while the server runs.
 */
#include "clock.h"
#include "settings.h"
#include "udf.h"

IDEM_UDF_STRING(idem_today, "idem_today()", 0, 0, IDEM_DATE_LENGTH)

char *idem_today(UDF_INIT *initid, UDF_ARGS *args, char *result, unsigned long *length,
                 char *is_null, char *error)
{
    (void)initid, (void)args, (void)error;
    *is_null = 0;
    idem_clock_date(idem_clock_today(idem_settings_partitions_ahead()), result);
    *length = IDEM_DATE_LENGTH;
    return result;
}
