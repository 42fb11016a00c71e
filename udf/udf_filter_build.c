/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_filter_build(scope, key, day): aggregate; the filter of all these keys, for sealed_day. A
   row whose key is NULL tells only the day. NULL when there are too many keys for one filter. */
#include <stdlib.h>

#include "clock.h"
#include "filter.h"
#include "udf.h"

#define ANSWER_MAX (16UL << 20) /* a filter of IDEM_FILTER_KEYS_MAX keys is smaller */

struct keys {
    uint64_t *hashes;
    size_t count;
    size_t room;
    int64_t day;
    bool failed;
    uint8_t *filter; /* the answer; lives until the next one */
};

my_bool idem_filter_build_init(UDF_INIT *initid, UDF_ARGS *args, char *message);
void idem_filter_build_deinit(UDF_INIT *initid);
void idem_filter_build_clear(UDF_INIT *initid, char *is_null, char *error);
void idem_filter_build_add(UDF_INIT *initid, UDF_ARGS *args, char *is_null, char *error);
char *idem_filter_build(UDF_INIT *initid, UDF_ARGS *args, char *result, unsigned long *length,
                        char *is_null, char *error);

my_bool idem_filter_build_init(UDF_INIT *initid, UDF_ARGS *args, char *message)
{
    initid->max_length = ANSWER_MAX;
    if (idem_udf_init("idem_filter_build(scope, key, day)", 3, 3, initid, args, message))
        return 1;
    initid->ptr = calloc(1, sizeof(struct keys));
    if (initid->ptr == NULL)
        idem_raise(IDEM_E_NOT_READY, "idem_filter_build: out of memory");
    return initid->ptr == NULL;
}

void idem_filter_build_deinit(UDF_INIT *initid)
{
    struct keys *keys = (struct keys *)initid->ptr;

    if (keys != NULL) {
        free(keys->hashes);
        free(keys->filter);
    }
    free(keys);
    initid->ptr = NULL;
}

void idem_filter_build_clear(UDF_INIT *initid, char *is_null, char *error)
{
    struct keys *keys = (struct keys *)initid->ptr;

    (void)is_null, (void)error;
    keys->count = 0;
    keys->day = 0;
    keys->failed = false;
}

static bool make_room(struct keys *keys)
{
    size_t room = keys->room * 2 + 1024;
    uint64_t *bigger;

    if (keys->count < keys->room)
        return true;
    bigger =
        keys->count > IDEM_FILTER_KEYS_MAX ? NULL : realloc(keys->hashes, room * sizeof(*bigger));
    if (bigger == NULL)
        return false;
    keys->hashes = bigger;
    keys->room = room;
    return true;
}

void idem_filter_build_add(UDF_INIT *initid, UDF_ARGS *args, char *is_null, char *error)
{
    struct keys *keys = (struct keys *)initid->ptr;
    int64_t day = 0;

    (void)is_null, (void)error;
    if (args->args[2] == NULL || !idem_clock_parse_date(args->args[2], args->lengths[2], &day) ||
        (keys->day != 0 && keys->day != day))
        keys->failed = true;
    keys->day = day;
    if (args->args[0] == NULL || args->args[1] == NULL || keys->failed)
        return;
    if (!make_room(keys)) {
        keys->failed = true;
        return;
    }
    keys->hashes[keys->count++] =
        idem_filter_hash(args->args[0], args->lengths[0], args->args[1], args->lengths[1]);
}

char *idem_filter_build(UDF_INIT *initid, UDF_ARGS *args, char *result, unsigned long *length,
                        char *is_null, char *error)
{
    struct keys *keys = (struct keys *)initid->ptr;
    size_t size = 0;

    (void)args, (void)result, (void)error;
    free(keys->filter);
    keys->filter = NULL;
    *is_null =
        keys->failed || keys->day == 0 ||
        !idem_filter_make(keys->hashes, keys->count, (int32_t)keys->day, &keys->filter, &size);
    *length = size;
    return (char *)keys->filter;
}
