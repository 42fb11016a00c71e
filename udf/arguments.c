/* SPDX-License-Identifier: GPL-2.0-only */
/* Checking names and keys. */
#include "arguments.h"

#include <string.h>

#include "idem/limits.h"
#include "raise.h"
#include "utf8.h"

static bool is_utf8_client(struct idem_text charset)
{
    return charset.bytes == NULL ||
           (charset.length >= 4 && memcmp(charset.bytes, "utf8", 4) == 0) ||
           (charset.length == 6 && memcmp(charset.bytes, "binary", 6) == 0);
}

static bool check(struct idem_text routine, const char *name, struct idem_text value, size_t limit,
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
    else if (idem_utf8_is_wide(value.bytes, value.length))
        idem_raise(IDEM_E_INVALID_ARGUMENT,
                   "idem.%.*s: %s is text in UTF-16 or UTF-32; CONVERT(... USING utf8mb4)", width,
                   routine.bytes, name);
    else if (!utf8_client && !idem_utf8_is_ascii(value.bytes, value.length))
        idem_raise(IDEM_E_INVALID_ARGUMENT,
                   "idem.%.*s: %s is not ASCII and this connection's character set is not utf8; "
                   "SET NAMES utf8mb4",
                   width, routine.bytes, name);
    else
        return true;
    return false;
}

bool idem_arguments_check(struct idem_text routine, struct idem_text client_charset,
                          struct idem_text biz_type, struct idem_text key)
{
    bool utf8_client = is_utf8_client(client_charset);
    bool consumer = routine.length >= 7 && memcmp(routine.bytes, "consume", 7) == 0;

    return check(routine, consumer ? "consumer" : "biz_type", biz_type, IDEM_BIZ_TYPE_MAX,
                 utf8_client) &&
           check(routine, "key", key, IDEM_KEY_MAX, utf8_client);
}
