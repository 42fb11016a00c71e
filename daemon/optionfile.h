/* SPDX-License-Identifier: GPL-2.0-only */
/* Reading my.cnf files. */
#ifndef IDEMD_OPTIONFILE_H
#define IDEMD_OPTIONFILE_H

#include <stdbool.h>

/* Who takes the options of a file. */
struct idem_optionfile_reader {
    /* Names are as in the file, value is NULL without one, shared: from a group of all clients.
       False: there is no such option; *ret_secret: the file must not be readable by others. */
    bool (*set)(void *context, const char *name, const char *value, bool shared, bool *ret_secret);
    void *context;
};

/* Reads one file with what it includes. A file that is not there is fine unless `required`.
   Refused, with a line on stderr: a file anybody can write, a file with a secret that others can
   read, an unknown option in [idemd]. */
bool idem_optionfile_read(const struct idem_optionfile_reader *reader, const char *path,
                          bool required);

#endif
