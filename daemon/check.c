/* SPDX-License-Identifier: GPL-2.0-only */
/* idemd check: goes through what idemd needs at this server, and names what is missing. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "connect.h"
#include "exit.h"
#include "idem/version.h"
#include "pieces.h"
#include "report.h"
#include "tasks.h"

#define ER_NO_DB_ERROR 1046
#define ER_TABLEACCESS_DENIED_ERROR 1142
#define ER_SP_DOES_NOT_EXIST 1305

static int failures;

static void say(bool ok, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(bool ok, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fputs(ok ? "ok    " : "FAIL  ", stdout);
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
    failures += !ok;
}

static bool succeeds(struct idem_db *db, const char *text)
{
    json_t *rows = idem_db_query(db, text);
    bool ok = rows != NULL;

    json_decref(rows);
    return ok;
}

/* A value of one row and one column; "" on an error. Lives until the next call. */
static const char *value(struct idem_db *db, const char *text)
{
    static char kept[256];
    json_t *rows = idem_db_query(db, text);

    snprintf(kept, sizeof(kept), "%s", idem_report_text(json_array_get(rows, 0), "v"));
    json_decref(rows);
    return kept;
}

/* A function that is not there is told from one that refuses to be called without arguments. */
static void check_functions(struct idem_db *db)
{
    size_t missing = 0, count = sizeof(idem_functions) / sizeof(idem_functions[0]);
    char text[128];

    for (size_t i = 0; i < count; i++) {
        snprintf(text, sizeof(text), "DO %s()", idem_functions[i]);
        if (!succeeds(db, text) &&
            (db->error == ER_SP_DOES_NOT_EXIST || db->error == ER_NO_DB_ERROR)) {
            say(false, "function %s is missing: run install.sql as an administrator on this server",
                idem_functions[i]);
            missing++;
        }
    }
    if (missing == 0)
        say(true, "all %zu functions of idem.so", count);
}

static void check_tables(struct idem_db *db)
{
    size_t wrong = 0, count = sizeof(idem_tables) / sizeof(idem_tables[0]);
    char text[128];

    for (size_t i = 0; i < count; i++) {
        snprintf(text, sizeof(text), "SELECT 1 FROM idem.%s LIMIT 0", idem_tables[i]);
        if (succeeds(db, text))
            continue;
        say(false, "table idem.%s: %s", idem_tables[i],
            db->error == ER_TABLEACCESS_DENIED_ERROR
                ? "not readable; GRANT idem_operator to this account"
                : db->message);
        wrong++;
    }
    if (wrong == 0)
        say(true, "all %zu tables and views of schema idem", count);
}

static void check_procedures(struct idem_db *db)
{
    for (int i = 0; i < IDEM_TASK_COUNT; i++) {
        char text[256];
        bool there;

        snprintf(text, sizeof(text),
                 "SELECT COUNT(*) AS v FROM information_schema.routines WHERE routine_schema = "
                 "'idem' AND "
                 "routine_name = '%s'",
                 idem_task_kinds[i].name);
        there = strcmp(value(db, text), "1") == 0;
        say(there, "procedure idem.%s%s", idem_task_kinds[i].name,
            there ? ""
                  : " is missing, or this account may not run it; run install.sql or GRANT "
                    "idem_operator TO it, as its default role");
    }
}

static void check_server(struct idem_db *db)
{
    char version[128], library[64], tables[64];

    snprintf(version, sizeof(version), "%s", value(db, "SELECT VERSION() AS v"));
    say(strcmp(
            value(db,
                  "SELECT VERSION() LIKE '%MariaDB%' AND SUBSTRING_INDEX(VERSION(), '.', 1) * 1000 "
                  "+ SUBSTRING_INDEX(SUBSTRING_INDEX(VERSION(), '.', 2), '.', -1) >= 10011 AS v"),
            "1") == 0,
        "server %s is MariaDB 10.11 or later", version);
    snprintf(library, sizeof(library), "%s", value(db, "SELECT idem_version() AS v"));
    snprintf(tables, sizeof(tables), "%s",
             value(db, "SELECT value AS v FROM idem.meta WHERE name = 'version'"));
    say(*library != '\0' && strcmp(library, tables) == 0 && strcmp(library, IDEM_VERSION) == 0,
        "versions: idem.so %s, schema %s, idemd %s", *library != '\0' ? library : "(not loaded)",
        *tables != '\0' ? tables : "(incomplete)", IDEM_VERSION);
    say(strcmp(value(db, "SELECT UPPER(@@global.read_only) IN ('0', 'OFF') AS v"), "1") == 0,
        "the server is writable");
    say(strcmp(value(db, "SELECT NOT @@log_bin OR @@binlog_format <> 'STATEMENT' AS v"), "1") == 0,
        "binlog_format is not STATEMENT");
    say(strcmp(value(db, "SELECT COUNT(*) > 0 AS v FROM idem.day WHERE day = idem_today()"), "1") ==
            0,
        "today has a partition");
}

int idem_command_check(struct idem_options *options, int argc, char **argv)
{
    struct idem_db db = {0};
    enum idem_standing standing = idem_connect_any(&db, options, false);

    (void)argc, (void)argv;
    if (db.sql == NULL) {
        say(false, "connection to %s: %s", db.name, db.message);
        return IDEM_EXIT_NO_SERVER;
    }
    say(true, "connection to %s", db.name);
    if (standing == IDEM_NOT_READY && db.error != 0)
        say(false, "idem: %s", db.message);
    check_functions(&db);
    check_tables(&db);
    check_procedures(&db);
    check_server(&db);
    idem_db_close(&db);
    return failures == 0 ? IDEM_EXIT_OK : IDEM_EXIT_FAILED;
}
