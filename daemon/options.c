/* SPDX-License-Identifier: GPL-2.0-only */
/* Command line, option files, and their checks. */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exit.h"
#include "idem/version.h"
#include "log.h"
#include "optionfile.h"

enum kind { TEXT, NUMBER, FLAG, SECRET };

static const struct {
    const char *name;
    int letter;
    enum kind kind;
    bool shared;
    const char *argument, *help;
} table[] = {
#define X(id, name, letter, kind, shared, argument, help)                                          \
    {name, letter, kind, shared, argument, help},
    IDEM_OPTION_MAP(X)
#undef X
};

/* Values getopt_long() answers; above every letter. Options of the table answer TABLE + index. */
enum { DEFAULTS_FILE = 256, DEFAULTS_EXTRA_FILE, NO_DEFAULTS, DRY_RUN, JSON, VERSION, HELP, TABLE };

static const char usage[] =
    "Usage: idemd [OPTION...] run|once|status|check\n"
    "\n"
    "Maintenance of idem: keeps days of records ahead, drops expired days, settles expired "
    "leases.\n"
    "\n"
    "  run      until SIGTERM; as many daemons as you like, one of them leads\n"
    "  once     every task once, then exit\n"
    "  status   last success of every task, days ahead, stuck claims\n"
    "  check    can idemd do its job here? names what is missing\n"
    "\n";

static void print_help(void)
{
    fputs(usage, stdout);
    for (size_t i = 0; i < IDEM_OPTION_COUNT; i++) {
        char left[64];

        if (table[i].kind == SECRET)
            continue;
        snprintf(left, sizeof(left), "%s%c%s --%s%s%s", table[i].letter != 0 ? "-" : " ",
                 table[i].letter != 0 ? table[i].letter : ' ', table[i].letter != 0 ? "," : " ",
                 table[i].name, table[i].argument != NULL ? "=" : "",
                 table[i].argument != NULL ? table[i].argument : "");
        printf("  %-36s %s\n", left, table[i].help);
    }
    puts("      --defaults-file=FILE             read this option file only\n"
         "      --defaults-extra-file=FILE       read this one after the global ones\n"
         "      --no-defaults                    read none\n"
         "      --dry-run                        with once: say what would be done\n"
         "      --json                           status: as JSON\n"
         "      --version, --help\n"
         "\n"
         "A password goes into an option file that others cannot read, never on the command line.\n"
         "See idemd(8).");
}

static void set(struct idem_options *options, enum idem_option option, const char *value)
{
    free(options->values[option]);
    options->values[option] = strdup(value != NULL ? value : "1");
}

/* For idem_optionfile_read(). */
static bool set_from_file(void *options, const char *name, const char *value, bool shared,
                          bool *ret_secret)
{
    char plain[64];
    size_t length = strlen(name);
    bool off = false;

    if (length >= sizeof(plain))
        return false;
    for (size_t i = 0; i <= length; i++)
        plain[i] = (char)(name[i] == '_' ? '-' : name[i]);
    for (size_t i = 0; i < IDEM_OPTION_COUNT; i++) {
        if (shared && !table[i].shared)
            continue;
        off = table[i].kind == FLAG &&
              ((strncmp(plain, "skip-", 5) == 0 && strcmp(plain + 5, table[i].name) == 0) ||
               (strncmp(plain, "disable-", 8) == 0 && strcmp(plain + 8, table[i].name) == 0));
        if (off || strcmp(plain, table[i].name) == 0) {
            *ret_secret = table[i].kind == SECRET;
            set(options, (enum idem_option)i,
                off                                      ? "0"
                : value != NULL || table[i].kind == FLAG ? value
                                                         : "");
            return true;
        }
    }
    return false;
}

unsigned int idem_options_number(const struct idem_options *options, enum idem_option option,
                                 unsigned int otherwise)
{
    return options->values[option] != NULL
               ? (unsigned int)strtoul(options->values[option], NULL, 10)
               : otherwise;
}

bool idem_options_flag(const struct idem_options *options, enum idem_option option)
{
    const char *value = options->values[option];

    return value != NULL && strcmp(value, "0") != 0 && strcasecmp(value, "off") != 0 &&
           strcasecmp(value, "false") != 0;
}

static bool check(const struct idem_options *options)
{
    const char *format = options->values[IDEM_OPTION_LOG_FORMAT];
    const char *level = options->values[IDEM_OPTION_LOG_LEVEL];
    enum idem_log_level most = IDEM_LOG_INFO;

    for (size_t i = 0; i < IDEM_OPTION_COUNT; i++) {
        char *end = "";

        if (table[i].kind != NUMBER || options->values[i] == NULL)
            continue;
        if (strtoul(options->values[i], &end, 10) > 65535 || end == options->values[i] ||
            *end != '\0') {
            fprintf(stderr, "idemd: %s takes a number up to 65535, not '%s'\n", table[i].name,
                    options->values[i]);
            return false;
        }
    }
    if (format != NULL && strcmp(format, "text") != 0 && strcmp(format, "json") != 0) {
        fprintf(stderr, "idemd: log-format is text or json, not '%s'\n", format);
        return false;
    }
    if (level != NULL && !idem_log_level_parse(level, &most)) {
        fprintf(stderr, "idemd: log-level is error, warning, info or debug, not '%s'\n", level);
        return false;
    }
    idem_log_setup(format != NULL && strcmp(format, "json") == 0, most);
    return true;
}

static bool read_files(struct idem_options *options, const char *only, const char *extra, bool none)
{
    const struct idem_optionfile_reader reader = {set_from_file, options};
    const char *home = getenv("HOME");
    char own[4096];

    if (only != NULL)
        return idem_optionfile_read(&reader, only, true);
    if (none)
        return extra == NULL || idem_optionfile_read(&reader, extra, true);
    if (!idem_optionfile_read(&reader, "/etc/my.cnf", false) ||
        !idem_optionfile_read(&reader, "/etc/mysql/my.cnf", false) ||
        (extra != NULL && !idem_optionfile_read(&reader, extra, true)))
        return false;
    if (home == NULL || snprintf(own, sizeof(own), "%s/.my.cnf", home) >= (int)sizeof(own))
        return true;
    return idem_optionfile_read(&reader, own, false);
}

static size_t list_options(struct option *ret_options, char *ret_letters)
{
    static const struct option others[] = {
        {"defaults-file", required_argument, NULL, DEFAULTS_FILE},
        {"defaults-extra-file", required_argument, NULL, DEFAULTS_EXTRA_FILE},
        {"no-defaults", no_argument, NULL, NO_DEFAULTS},
        {"dry-run", no_argument, NULL, DRY_RUN},
        {"json", no_argument, NULL, JSON},
        {"version", no_argument, NULL, VERSION},
        {"help", no_argument, NULL, HELP},
    };
    size_t count = 0;

    for (size_t i = 0; i < IDEM_OPTION_COUNT; i++) {
        int has = table[i].kind == FLAG     ? no_argument
                  : table[i].kind == SECRET ? optional_argument
                                            : required_argument;

        ret_options[count++] = (struct option){table[i].name, has, NULL, (int)(TABLE + i)};
        if (table[i].letter != 0) {
            *ret_letters++ = (char)table[i].letter;
            *ret_letters++ = ':';
        }
    }
    *ret_letters = '\0';
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        ret_options[count++] = others[i];
    ret_options[count] = (struct option){0};
    return count;
}

/* Goes over the command line: files_only looks for what says which files to read. */
static int read_arguments(struct idem_options *options, int argc, char **argv, bool files_only,
                          const char **only, const char **extra, bool *none)
{
    struct option list[IDEM_OPTION_COUNT + 16];
    char letters[2 * IDEM_OPTION_COUNT + 1];
    int found;

    list_options(list, letters);
    optind = 0;
    while ((found = getopt_long(argc, argv, letters, list, NULL)) != -1) {
        size_t index = 0;

        if (found == '?')
            return IDEM_EXIT_USAGE;
        while (index < IDEM_OPTION_COUNT &&
               (table[index].letter == 0 || found != table[index].letter))
            index++;
        if (found >= TABLE)
            index = (size_t)found - TABLE;
        if (index == IDEM_OPTION_PASSWORD) {
            if (optarg != NULL)
                explicit_bzero(optarg, strlen(optarg));
            fputs(
                "idemd: a password on the command line is seen by everybody: put it into an option "
                "file and use --defaults-extra-file\n",
                stderr);
            return IDEM_EXIT_USAGE;
        }
        if (found == HELP || found == VERSION) {
            if (found == HELP)
                print_help();
            else
                puts("idemd " IDEM_VERSION);
            return -1;
        }
        if (found == DEFAULTS_FILE)
            *only = optarg;
        else if (found == DEFAULTS_EXTRA_FILE)
            *extra = optarg;
        else if (found == NO_DEFAULTS)
            *none = true;
        else if (found == DRY_RUN)
            options->dry_run = true;
        else if (found == JSON)
            options->json = true;
        else if (!files_only)
            set(options, (enum idem_option)index, optarg);
    }
    if (optind != argc - 1) {
        fputs(optind == argc ? "idemd: run, once, status or check? See idemd --help\n"
                             : "idemd: one command at a time. See idemd --help\n",
              stderr);
        return IDEM_EXIT_USAGE;
    }
    options->command = argv[optind];
    return IDEM_EXIT_OK;
}

int idem_options_read(struct idem_options *options, int argc, char **argv)
{
    const char *only = NULL, *extra = NULL;
    bool none = false;
    int code;

    memset(options, 0, sizeof(*options));
    code = read_arguments(options, argc, argv, true, &only, &extra, &none);
    if (code != IDEM_EXIT_OK)
        return code;
    if (!read_files(options, only, extra, none))
        return IDEM_EXIT_USAGE;
    code = read_arguments(options, argc, argv, false, &only, &extra, &none);
    return code == IDEM_EXIT_OK && !check(options) ? IDEM_EXIT_USAGE : code;
}

void idem_options_free(struct idem_options *options)
{
    for (size_t i = 0; i < IDEM_OPTION_COUNT; i++) {
        if (table[i].kind == SECRET && options->values[i] != NULL)
            explicit_bzero(options->values[i], strlen(options->values[i]));
        free(options->values[i]);
    }
    memset(options, 0, sizeof(*options));
}
