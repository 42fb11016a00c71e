/* SPDX-License-Identifier: GPL-2.0-only */
/* idemd: runs the maintenance procedures of idem. It decides when, never what. */
#include <stdio.h>
#include <string.h>

#include <mysql.h>

#include "commands.h"
#include "exit.h"
#include "options.h"

static const struct {
    const char *name;
    int (*run)(struct idem_options *options, int argc, char **argv);
} commands[] = {
    {"run", idem_command_run},
    {"once", idem_command_once},
    {"status", idem_command_status},
    {"check", idem_command_check},
};

int main(int argc, char **argv)
{
    struct idem_options options;
    int code = idem_options_read(&options, argc, argv);

    for (size_t i = 0; code == IDEM_EXIT_OK; i++) {
        if (i == sizeof(commands) / sizeof(commands[0])) {
            fprintf(stderr, "idemd: there is no command %s. See idemd --help\n", options.command);
            code = IDEM_EXIT_USAGE;
        } else if (strcmp(options.command, commands[i].name) == 0) {
            code = commands[i].run(&options, argc, argv);
            break;
        }
    }
    idem_options_free(&options);
    mysql_library_end();
    return code < 0 ? IDEM_EXIT_OK : code;
}
