/* SPDX-License-Identifier: GPL-2.0-only */
/* Reading my.cnf files. */
#ifndef IDEMD_OPTIONFILE_H
#define IDEMD_OPTIONFILE_H

#include "options.h"

/* Reads one file with what it includes. A file that is not there is fine unless `required`.
   Refused, with a line on stderr: a file anybody can write, a file with a password that others can
   read, an unknown option in [idemd]. */
bool idem_optionfile_read(struct idem_options *options, const char *path, bool required);

#endif
