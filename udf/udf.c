/* SPDX-License-Identifier: GPL-2.0-only */
/* The beginning of every UDF's init, and whole-number arguments. */
#include "udf.h"

#include <stdlib.h>
#include <string.h>

my_bool idem_udf_init(const char *usage, unsigned int least, unsigned int most, UDF_INIT *initid,
                      UDF_ARGS *args, char *message)
{
    initid->ptr = NULL;
    initid->maybe_null = 1;
    initid->const_item = 0;
    message[0] = '\0';
    if (!idem_gate_enter(usage))
        return 1;
    idem_gate_leave();
    if (args->arg_count < least || args->arg_count > most) {
        idem_raise(IDEM_E_INVALID_ARGUMENT, "%s: %u arguments given", usage, args->arg_count);
        return 1;
    }
    for (unsigned int i = 0; i < args->arg_count; i++)
        args->arg_type[i] = STRING_RESULT;
    return 0;
}

bool idem_udf_integer(const char *function, const char *name, const UDF_ARGS *args, unsigned int i,
                      long long least, unsigned long long most, unsigned long long *ret_value)
{
    const char *text = args->args[i];
    size_t length = args->lengths[i];
    bool negative = false;
    unsigned long long value = 0;
    bool good = text != NULL && length > 0;

    if (good && text[0] == '-') {
        negative = true;
        text++;
        good = --length > 0;
    }
    for (size_t at = 0; good && at < length; at++)
        good = text[at] >= '0' && text[at] <= '9' && !__builtin_mul_overflow(value, 10, &value) &&
               !__builtin_add_overflow(value, (unsigned long long)(text[at] - '0'), &value);
    if (good && negative)
        good = value == 0 || (least < 0 && value <= 0ULL - (unsigned long long)least);
    else if (good)
        good = value <= most && (least <= 0 || value >= (unsigned long long)least);
    if (!good) {
        idem_raise(IDEM_E_INVALID_ARGUMENT, "%s: %s must be a whole number from %lld to %llu",
                   function, name, least, most);
        return false;
    }
    *ret_value = negative ? 0ULL - value : value;
    return true;
}
