/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_refused(verdict, scope, day, key): counts a verdict that is not "yours" and answers it, and
   notes a key that is at its end, so that its next replay is looked for first. */
#include <string.h>

#include "clock.h"
#include "counters.h"
#include "filter.h"
#include "recent.h"
#include "udf.h"

#define VERDICT_MAX 32

IDEM_UDF_STRING(idem_refused, "idem_refused(verdict, scope, day, key)", 4, 4, VERDICT_MAX)

char *idem_refused(UDF_INIT *initid, UDF_ARGS *args, char *result, unsigned long *length,
                   char *is_null, char *error)
{
    struct idem_text verdict = idem_udf_text(args, 0), scope = idem_udf_text(args, 1);
    struct idem_text day_name = idem_udf_text(args, 2), key = idem_udf_text(args, 3);
    int64_t day;

    (void)initid;
    *error = verdict.bytes == NULL || verdict.length > VERDICT_MAX ||
             !idem_counters_add(verdict.bytes, verdict.length);
    *is_null = *error;
    if (*error) {
        idem_raise(IDEM_E_INVALID_ARGUMENT, "idem_refused: there is no such verdict");
        return NULL;
    }
    if ((idem_text_is(verdict, "DONE") || idem_text_is(verdict, "FAILED") ||
         idem_text_is(verdict, "DUPLICATE")) &&
        scope.bytes != NULL && key.bytes != NULL && day_name.bytes != NULL &&
        idem_clock_parse_date(day_name.bytes, day_name.length, &day))
        /* Read with a lock: committed, unless it is the caller's own. */
        idem_recent_note(idem_filter_hash(scope.bytes, scope.length, key.bytes, key.length), day,
                         true);
    *length = verdict.length;
    return memcpy(result, verdict.bytes, *length);
}
