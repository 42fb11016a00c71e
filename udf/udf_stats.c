/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_stats(): all counters as one JSON object. */
#include <stdlib.h>

#include "counters.h"
#include "udf.h"

#define ROOM 4096

my_bool idem_stats_init(UDF_INIT *initid, UDF_ARGS *args, char *message);
void idem_stats_deinit(UDF_INIT *initid);
char *idem_stats(UDF_INIT *initid, UDF_ARGS *args, char *result, unsigned long *length,
                 char *is_null, char *error);

my_bool idem_stats_init(UDF_INIT *initid, UDF_ARGS *args, char *message)
{
    initid->max_length = ROOM;
    if (idem_udf_init("idem_stats()", 0, 0, initid, args, message))
        return 1;
    initid->ptr = malloc(ROOM);
    if (initid->ptr == NULL)
        idem_raise(IDEM_E_NOT_READY, "idem_stats: out of memory");
    return initid->ptr == NULL;
}

void idem_stats_deinit(UDF_INIT *initid)
{
    free(initid->ptr);
}

char *idem_stats(UDF_INIT *initid, UDF_ARGS *args, char *result, unsigned long *length,
                 char *is_null, char *error)
{
    (void)args, (void)result, (void)error;
    *length = idem_counters_json(initid->ptr, ROOM);
    *is_null = *length == 0;
    return initid->ptr;
}
