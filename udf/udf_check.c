/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_check(routine, schema_version, client_charset, biz_type, key): the first step of every
   routine. Answers 1, or raises 52005 (the schema is of another version) or 52001 (names argument
   and limit). */
#include <string.h>

#include "idem/limits.h"
#include "idem/version.h"
#include "udf.h"
#include "utf8.h"

IDEM_UDF_INTEGER(idem_check, "idem_check(routine, schema_version, client_charset, biz_type, key)",
                 5, 5)

struct text {
    const char *bytes;
    size_t length;
};

static bool is_utf8_client(struct text charset)
{
    return charset.bytes == NULL ||
           (charset.length >= 4 && memcmp(charset.bytes, "utf8", 4) == 0) ||
           (charset.length == 6 && memcmp(charset.bytes, "binary", 6) == 0);
}

static bool check_name(struct text routine, const char *name, struct text value, size_t limit,
                       bool utf8_client)
{
    const int width = (int)routine.length;

    if (value.bytes == NULL)
        idem_raise(IDEM_E_INVALID_ARGUMENT, "idem.%.*s: %s is NULL", width, routine.bytes, name);
    else if (value.length > limit)
        idem_raise(IDEM_E_INVALID_ARGUMENT, "idem.%.*s: %s is %zu bytes long, the limit is %zu",
                   width, routine.bytes, name, value.length, limit);
    else if (idem_utf8_is_blank(value.bytes, value.length))
        idem_raise(IDEM_E_INVALID_ARGUMENT, "idem.%.*s: %s is %s", width, routine.bytes, name,
                   value.length == 0 ? "empty" : "blank");
    else if (!idem_utf8_valid(value.bytes, value.length))
        idem_raise(IDEM_E_INVALID_ARGUMENT, "idem.%.*s: %s is not valid UTF-8; SET NAMES utf8mb4",
                   width, routine.bytes, name);
    else if (!utf8_client && !idem_utf8_is_ascii(value.bytes, value.length))
        idem_raise(IDEM_E_INVALID_ARGUMENT,
                   "idem.%.*s: %s is not ASCII and this connection's character set is not utf8; "
                   "SET NAMES utf8mb4",
                   width, routine.bytes, name);
    else
        return true;
    return false;
}

long long idem_check(UDF_INIT *initid, UDF_ARGS *args, char *is_null, char *error)
{
    struct text given[5];
    bool utf8_client;

    (void)initid;
    for (int i = 0; i < 5; i++)
        given[i] = (struct text){.bytes = args->args[i], .length = args->lengths[i]};
    *is_null = 1;
    *error = 1;
    if (given[0].bytes == NULL || given[1].bytes == NULL ||
        given[1].length != sizeof(IDEM_VERSION) - 1 ||
        memcmp(given[1].bytes, IDEM_VERSION, given[1].length) != 0) {
        idem_raise(IDEM_E_NOT_READY,
                   "idem: plugin is version " IDEM_VERSION
                   ", schema idem is %.*s; run install.sql of "
                   "the plugin's version",
                   given[1].bytes == NULL ? 1 : (int)given[1].length,
                   given[1].bytes == NULL ? "?" : given[1].bytes);
        return 0;
    }
    utf8_client = is_utf8_client(given[2]);
    if (!check_name(given[0],
                    given[0].length == 7 && memcmp(given[0].bytes, "consume", 7) == 0 ? "consumer"
                                                                                      : "biz_type",
                    given[3], IDEM_BIZ_TYPE_MAX, utf8_client) ||
        !check_name(given[0], "key", given[4], IDEM_KEY_MAX, utf8_client))
        return 0;
    *is_null = 0;
    *error = 0;
    return 1;
}
