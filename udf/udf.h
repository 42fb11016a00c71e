/* SPDX-License-Identifier: GPL-2.0-only */
/* What every loadable function shares: the interface, and the first lines of its init. */
#ifndef IDEM_UDF_H
#define IDEM_UDF_H

#include <my_config.h>

#include <stdbool.h>
#include <stddef.h>

#include <mysql.h>

#include "arguments.h"
#include "gate.h"
#include "raise.h"

#define IDEM_UDF_ANY 255 /* no upper limit on arguments */

/* Checks ready flag and argument count and asks for every argument as a string (which gives numbers
   as their exact decimal text). Non-zero: an error has been raised and init must return it. */
my_bool idem_udf_init(const char *usage, unsigned int least, unsigned int most, UDF_INIT *initid,
                      UDF_ARGS *args, char *message);

/* Argument i as a whole number. False with 52001 raised if it is not one in [least, most]. */
bool idem_udf_integer(const char *function, const char *name, const UDF_ARGS *args, unsigned int i,
                      long long least, unsigned long long most, unsigned long long *ret_value);

/* Argument i as borrowed text. */
static inline struct idem_text idem_udf_text(const UDF_ARGS *args, unsigned int i)
{
    return (struct idem_text){.bytes = args->args[i], .length = args->lengths[i]};
}

/* True for 1, as comparisons answer it. */
static inline bool idem_udf_is_true(const UDF_ARGS *args, unsigned int i)
{
    return args->args[i] != NULL && args->lengths[i] == 1 && args->args[i][0] == '1';
}

static inline bool idem_udf_is_zero(const UDF_ARGS *args, unsigned int i)
{
    return args->args[i] != NULL && args->lengths[i] == 1 && args->args[i][0] == '0';
}

/* For functions that answer an integer. */
#define IDEM_UDF_INTEGER(name, usage, least, most)                                                 \
    my_bool name##_init(UDF_INIT *initid, UDF_ARGS *args, char *message);                          \
    long long name(UDF_INIT *initid, UDF_ARGS *args, char *is_null, char *error);                  \
    my_bool name##_init(UDF_INIT *initid, UDF_ARGS *args, char *message)                           \
    {                                                                                              \
        return idem_udf_init(usage, least, most, initid, args, message);                           \
    }

/* For functions that answer a string of at most `bytes` bytes. */
#define IDEM_UDF_STRING(name, usage, least, most, bytes)                                           \
    my_bool name##_init(UDF_INIT *initid, UDF_ARGS *args, char *message);                          \
    char *name(UDF_INIT *initid, UDF_ARGS *args, char *result, unsigned long *length,              \
               char *is_null, char *error);                                                        \
    my_bool name##_init(UDF_INIT *initid, UDF_ARGS *args, char *message)                           \
    {                                                                                              \
        initid->max_length = bytes;                                                                \
        return idem_udf_init(usage, least, most, initid, args, message);                           \
    }

#endif
