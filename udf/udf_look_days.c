/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_look_days(scope, key, day): where else than in `day` a key may be: a JSON array of the live
   days that idem_days_next() gives; NULL when there is none, but [] on a Galera node, where a claim
   has more to do than a bare insert (see sql/core/_acquire.sql). */
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "days.h"
#include "filter.h"
#include "galera.h"
#include "udf.h"

#define LIST_MAX (16U << 20)
#define ENTRY (IDEM_DATE_LENGTH + 3) /* "YYYY-MM-DD", */

/* The answer of a statement's calls, one after the other. */
struct list {
    char *text;
    size_t room;
};

my_bool idem_look_days_init(UDF_INIT *initid, UDF_ARGS *args, char *message);
void idem_look_days_deinit(UDF_INIT *initid);
char *idem_look_days(UDF_INIT *initid, UDF_ARGS *args, char *result, unsigned long *length,
                     char *is_null, char *error);

my_bool idem_look_days_init(UDF_INIT *initid, UDF_ARGS *args, char *message)
{
    initid->max_length = LIST_MAX;
    if (idem_udf_init("idem_look_days(scope, key, day)", 3, 3, initid, args, message))
        return 1;
    initid->ptr = calloc(1, sizeof(struct list));
    if (initid->ptr == NULL)
        idem_raise(IDEM_E_NOT_READY, "idem_look_days: out of memory");
    return initid->ptr == NULL;
}

void idem_look_days_deinit(UDF_INIT *initid)
{
    struct list *list = (struct list *)initid->ptr;

    if (list != NULL)
        free(list->text);
    free(list);
    initid->ptr = NULL;
}

static bool make_room(struct list *list, size_t room)
{
    char *bigger;

    if (room <= list->room)
        return true;
    bigger = realloc(list->text, 2 * room);
    if (bigger == NULL)
        return false;
    list->room = 2 * room;
    list->text = bigger;
    return true;
}

/* False when out of memory. Length 0: no day. */
static bool fill(const struct idem_catalog *catalog, int64_t own, uint64_t hash, struct list *list,
                 size_t *ret_length)
{
    size_t length = 0, at = 0;
    const struct idem_day *day;

    while ((day = idem_days_next(catalog, own, hash, &at)) != NULL) {
        if (!make_room(list, length + ENTRY + 2))
            return false;
        list->text[length] = length == 0 ? '[' : ',';
        length++;
        list->text[length++] = '"';
        idem_clock_date(day->number, list->text + length);
        length += IDEM_DATE_LENGTH;
        list->text[length++] = '"';
    }
    if (length == 0 && idem_galera_is_on()) {
        if (!make_room(list, 2))
            return false;
        list->text[length++] = '[';
    }
    if (length > 0)
        list->text[length++] = ']';
    *ret_length = length;
    return true;
}

char *idem_look_days(UDF_INIT *initid, UDF_ARGS *args, char *result, unsigned long *length,
                     char *is_null, char *error)
{
    struct list *list = (struct list *)initid->ptr;
    const struct idem_catalog *catalog;
    size_t size = 0;
    int64_t own;
    int ticket;

    (void)result;
    *is_null = 1;
    *error = 1;
    if (args->args[0] == NULL || args->args[1] == NULL || args->args[2] == NULL ||
        !idem_clock_parse_date(args->args[2], args->lengths[2], &own)) {
        idem_raise(IDEM_E_INVALID_ARGUMENT, "idem_look_days: needs scope, key and a date");
        return NULL;
    }
    catalog = idem_catalog_enter(&ticket);
    if (catalog == NULL)
        return NULL;
    *error =
        !fill(catalog, own,
              idem_filter_hash(args->args[0], args->lengths[0], args->args[1], args->lengths[1]),
              list, &size);
    idem_catalog_leave(ticket);
    if (*error)
        idem_raise(IDEM_E_NOT_READY, "idem_look_days: out of memory");
    *is_null = size == 0;
    *length = size;
    return *is_null ? NULL : list->text;
}
