/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_filter_has(filter, day, scope, key): what a stored filter says of a key: 0 certainly not
   here, 1 maybe, NULL when it is not a filter of that day. For proving filters; no claim asks it.
   Opening a filter reads all of it, so one that is constant is opened once a statement. */
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "filter.h"
#include "udf.h"

struct opened {
    struct idem_filter filter; /* of bytes */
    bool good;
    char bytes[];
};

my_bool idem_filter_has_init(UDF_INIT *initid, UDF_ARGS *args, char *message);
void idem_filter_has_deinit(UDF_INIT *initid);
long long idem_filter_has(UDF_INIT *initid, UDF_ARGS *args, char *is_null, char *error);

static bool open_filter(const char *bytes, size_t length, const UDF_ARGS *args,
                        struct idem_filter *ret_filter)
{
    int64_t day;

    return idem_clock_parse_date(args->args[1], args->lengths[1], &day) &&
           idem_filter_open(bytes, length, (int32_t)day, ret_filter);
}

my_bool idem_filter_has_init(UDF_INIT *initid, UDF_ARGS *args, char *message)
{
    struct opened *opened;

    if (idem_udf_init("idem_filter_has(filter, day, scope, key)", 4, 4, initid, args, message))
        return 1;
    if (args->args[0] == NULL || args->args[1] == NULL) /* not constant, or NULL */
        return 0;
    opened = malloc(sizeof(*opened) + args->lengths[0]);
    if (opened == NULL)
        return 0; /* row by row, then */
    memcpy(opened->bytes, args->args[0], args->lengths[0]);
    opened->good = open_filter(opened->bytes, args->lengths[0], args, &opened->filter);
    initid->ptr = (char *)opened;
    return 0;
}

void idem_filter_has_deinit(UDF_INIT *initid)
{
    free(initid->ptr);
    initid->ptr = NULL;
}

long long idem_filter_has(UDF_INIT *initid, UDF_ARGS *args, char *is_null, char *error)
{
    const struct opened *opened = (const struct opened *)initid->ptr;
    struct idem_filter filter;

    (void)error;
    *is_null = 1;
    for (int i = 0; i < 4; i++)
        if (args->args[i] == NULL)
            return 0;
    if (opened != NULL ? !opened->good
                       : !open_filter(args->args[0], args->lengths[0], args, &filter))
        return 0;
    *is_null = 0;
    return idem_filter_maybe(
        opened != NULL ? &opened->filter : &filter,
        idem_filter_hash(args->args[2], args->lengths[2], args->args[3], args->lengths[3]));
}
