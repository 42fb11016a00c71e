/* SPDX-License-Identifier: GPL-2.0-only */
/* UDF doors: a door runs one procedure of schema idem on the caller's own session and answers its
   row as a JSON object (idem_consume_many: an array of them). No rule of claiming lives here. */
#ifndef IDEM_DOOR_H
#define IDEM_DOOR_H

#include "udf.h"

#define IDEM_DOOR_ARGUMENTS 5

struct idem_door {
    const char *function;
    const char *procedure;
    const char *usage; /* for the error about the number of arguments */
    unsigned int least;
    unsigned int most;
    /* The procedure's parameters in order: 'a'..'e' is the caller's 1st..5th argument as bytes,
       'A'..'E' the same as a whole number; one not given is NULL. */
    const char *parameters;
    bool many;              /* answers one object per row */
    bool opens_transaction; /* and leaves it open for the caller */
    bool ends_transaction;  /* of the caller */
};

my_bool idem_door_init(const struct idem_door *door, UDF_INIT *initid, UDF_ARGS *args,
                       char *message);
char *idem_door_row(const struct idem_door *door, UDF_INIT *initid, UDF_ARGS *args,
                    unsigned long *length, char *is_null, char *error);
void idem_door_deinit(UDF_INIT *initid);

/* The core tells the door of this thread, as its last act, how a call without a result row ended.
   Without it a killed call could not be told from one that came through. */
void idem_door_acknowledge(const char *state, size_t length);

/* The three functions of a door. */
#define IDEM_DOOR(name, ...)                                                                       \
    static const struct idem_door door_##name = {.function = #name, __VA_ARGS__};                  \
    my_bool name##_init(UDF_INIT *initid, UDF_ARGS *args, char *message);                          \
    char *name(UDF_INIT *initid, UDF_ARGS *args, char *result, unsigned long *length,              \
               char *is_null, char *error);                                                        \
    void name##_deinit(UDF_INIT *initid);                                                          \
    my_bool name##_init(UDF_INIT *initid, UDF_ARGS *args, char *message)                           \
    {                                                                                              \
        return idem_door_init(&door_##name, initid, args, message);                                \
    }                                                                                              \
    char *name(UDF_INIT *initid, UDF_ARGS *args, char *result, unsigned long *length,              \
               char *is_null, char *error)                                                         \
    {                                                                                              \
        (void)result;                                                                              \
        return idem_door_row(&door_##name, initid, args, length, is_null, error);                  \
    }                                                                                              \
    void name##_deinit(UDF_INIT *initid)                                                           \
    {                                                                                              \
        idem_door_deinit(initid);                                                                  \
    }

#endif
