/* SPDX-License-Identifier: GPL-2.0-only */
/* The commands; each answers an exit code (exit.h). argc and argv are for reading the options
 * again. */
#ifndef IDEMD_COMMANDS_H
#define IDEMD_COMMANDS_H

#include "options.h"

int idem_command_run(struct idem_options *options, int argc, char **argv);
int idem_command_once(struct idem_options *options, int argc, char **argv);
int idem_command_status(struct idem_options *options, int argc, char **argv);
int idem_command_check(struct idem_options *options, int argc, char **argv);

#endif
