/* SPDX-License-Identifier: GPL-2.0-only */
/* Crash points of install.sql and uninstall.sql: the server is killed in the middle, restarted, and
   the file is run again. What is then there must be what a fresh installation makes, object by
   object. */
#include "points.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUTPUT_BYTES 32768

/* Every object of idem, with all that defines it. */
static const struct section {
    const char *name, *query;
} sections[] = {
    {"routines",
     "SELECT MD5(GROUP_CONCAT(CONCAT_WS('|', routine_type, routine_name, dtd_identifier, "
     "routine_definition, is_deterministic, sql_data_access, security_type, sql_mode, "
     "routine_comment, definer, character_set_client, collation_connection, database_collation) "
     "ORDER BY routine_type, routine_name)) FROM information_schema.routines WHERE "
     "routine_schema = 'idem'"},
    {"parameters",
     "SELECT MD5(GROUP_CONCAT(CONCAT_WS('|', specific_name, ordinal_position, parameter_mode, "
     "parameter_name, dtd_identifier, collation_name) ORDER BY specific_name, routine_type, "
     "ordinal_position)) FROM information_schema.parameters WHERE specific_schema = 'idem'"},
    {"tables", "SELECT MD5(GROUP_CONCAT(CONCAT_WS('|', table_name, table_type, engine, row_format, "
               "table_collation, create_options, table_comment) ORDER BY table_name)) FROM "
               "information_schema.tables WHERE table_schema = 'idem'"},
    {"columns",
     "SELECT MD5(GROUP_CONCAT(CONCAT_WS('|', table_name, ordinal_position, column_name, "
     "column_default, is_nullable, column_type, collation_name, column_key, extra, column_comment) "
     "ORDER BY table_name, ordinal_position)) FROM information_schema.columns WHERE table_schema = "
     "'idem'"},
    {"indexes",
     "SELECT MD5(GROUP_CONCAT(CONCAT_WS('|', table_name, index_name, seq_in_index, column_name, "
     "non_unique) ORDER BY table_name, index_name, seq_in_index)) FROM "
     "information_schema.statistics WHERE table_schema = 'idem'"},
    {"foreign keys",
     "SELECT MD5(GROUP_CONCAT(CONCAT_WS('|', table_name, constraint_name, referenced_table_name, "
     "delete_rule) ORDER BY constraint_name)) FROM information_schema.referential_constraints "
     "WHERE "
     "constraint_schema = 'idem'"},
    {"views",
     "SELECT MD5(GROUP_CONCAT(CONCAT_WS('|', table_name, view_definition, definer, security_type, "
     "character_set_client) ORDER BY table_name)) FROM information_schema.views WHERE table_schema "
     "= "
     "'idem'"},
    {"partitions",
     "SELECT MD5(GROUP_CONCAT(CONCAT_WS('|', partition_name, partition_description) ORDER BY "
     "partition_ordinal_position)) FROM information_schema.partitions WHERE table_schema = 'idem' "
     "AND "
     "table_name = 'record'"},
    {"schema", "SELECT GROUP_CONCAT(schema_name, default_collation_name) FROM "
               "information_schema.schemata WHERE "
               "schema_name = 'idem'"},
    {"functions",
     "SELECT MD5(GROUP_CONCAT(CONCAT_WS('|', name, ret, dl, type) ORDER BY name)) FROM mysql.func"},
    {"plugin", "SELECT GROUP_CONCAT(name, dl) FROM mysql.plugin"},
    {"accounts",
     "SELECT MD5(GROUP_CONCAT(CONCAT_WS('|', user, host, JSON_REMOVE(priv, "
     "'$.password_last_changed')) ORDER BY user)) FROM mysql.global_priv WHERE user LIKE 'idem%'"},
    {"role admins",
     "SELECT MD5(GROUP_CONCAT(CONCAT_WS('|', host, user, role, admin_option) ORDER BY role)) FROM "
     "mysql.roles_mapping WHERE role LIKE 'idem%'"},
    {"schema rights",
     "SELECT MD5(GROUP_CONCAT(CONCAT_WS('|', grantee, privilege_type) ORDER BY grantee, "
     "privilege_type)) FROM information_schema.schema_privileges WHERE table_schema = 'idem'"},
    {"routine rights",
     "SELECT MD5(GROUP_CONCAT(CONCAT_WS('|', host, user, routine_name, routine_type, grantor, "
     "proc_priv) ORDER BY user, routine_name)) FROM mysql.procs_priv WHERE db = 'idem'"},
};

/* Rows that install.sql itself writes. */
static const struct section rows[] = {
    {"version", "SELECT GROUP_CONCAT(name, value) FROM idem.meta"},
    {"access", "SELECT GROUP_CONCAT(user, host, biz_type, allowed) FROM idem.access"},
    {"days", "SELECT GROUP_CONCAT(day, sealed ORDER BY day) FROM idem.live_day"},
};

#define SECTIONS (sizeof(sections) / sizeof(sections[0]))
#define ROWS (sizeof(rows) / sizeof(rows[0]))

struct picture {
    char *values[SECTIONS + ROWS];
};

static MYSQL *sql;
static size_t calls;

static void take_picture(struct picture *picture, bool installed)
{
    run(sql, "SET SESSION group_concat_max_len = 100000000");
    for (size_t i = 0; i < SECTIONS; i++)
        picture->values[i] = strdup(value(sql, "%s", sections[i].query));
    for (size_t i = 0; i < ROWS; i++)
        picture->values[SECTIONS + i] = strdup(installed ? value(sql, "%s", rows[i].query) : "");
}

static void compare(const struct picture *expected, bool installed, const char *when, int point)
{
    struct picture found;

    take_picture(&found, installed);
    for (size_t i = 0; i < SECTIONS + ROWS; i++) {
        if (strcmp(found.values[i], expected->values[i]) != 0)
            report(FAULT, "%s, killed at %d: %s: %.200s instead of %.200s", when, point,
                   i < SECTIONS ? sections[i].name : rows[i - SECTIONS].name, found.values[i],
                   expected->values[i]);
        free(found.values[i]);
    }
}

/* Runs a file to its end; with a variable, the server may be killed in it: false. */
static bool run_file(const char *name, const char *commands, const char *variable, int point)
{
    char options[256], output[OUTPUT_BYTES];
    int code;

    calls++;
    snprintf(options, sizeof(options), "--init-command=\"SET @x=0%s%s%s%s%.0d\"", commands,
             variable != NULL ? ", SESSION " : "", variable != NULL ? variable : "",
             variable != NULL ? "=" : "", variable != NULL ? point : 0);
    code = server_run_sql_file(world.server, name, options, output, sizeof(output));
    if (code != 0 && (variable == NULL || strstr(output, "Lost connection") == NULL))
        report(FAULT, "%s (%s %d): %s", name, variable != NULL ? variable : "", point, output);
    return code == 0;
}

static void install(void)
{
    run_file("install.sql", "", NULL, 0);
    mysql_close(sql); /* older than the plugin */
    sql = server_connect(world.server);
}

/* A session that has seen the plugin keeps it until it ends. */
static bool uninstall(const char *commands, const char *variable, int point)
{
    bool through;

    mysql_close(sql);
    through = run_file("uninstall.sql", commands, variable, point);
    sql = NULL;
    if (through) {
        sql = server_connect(world.server);
        wait_until(sql, "SELECT COUNT(*) = 0 FROM information_schema.plugins WHERE plugin_name = "
                        "'idem'");
    }
    return through;
}

static void restart(void)
{
    if (sql != NULL)
        mysql_close(sql);
    server_kill(world.server, SIGKILL);
    server_restart(world.server, points_options(START_US));
    sql = server_connect(world.server);
}

static void expect_done(const char *when)
{
    struct answer answer = begin(sql, UDF_DOOR, "'p'", "'kept'", "NULL");

    if (strcmp(answer.state, "DONE") != 0)
        report(LOST, "%s: the kept key answers %u %s", when, answer.error, answer.state);
}

static void walk_install(const struct picture *fresh, const struct picture *nothing,
                         const char *variable, int stride)
{
    bool hit = true;
    int point;

    for (point = points_first(); hit; point += stride, points_hit += hit) {
        hit = !run_file("install.sql", "", variable, point);
        if (hit)
            restart();
        install();
        compare(fresh, true, "install.sql again", point);
        if (strcmp(claim(sql, UDF_DOOR, "'p'", "'new'", "NULL").state, "CLAIMED") != 0)
            report(FAULT, "installed after a crash at %d: %s", point, mysql_error(sql));
        points_verify(sql, "installed after a crash");
        uninstall(", @idem_drop_data=1", NULL, 0);
        compare(nothing, false, "uninstall.sql", point);
    }
    points_say("install.sql", point - stride);
}

/* Uninstalled or only half of it: install.sql finds the records. */
static void walk_uninstall(const struct picture *fresh, const char *variable, int stride)
{
    bool hit = true;
    int point, turn = 0;

    for (point = points_first(); hit; point += stride, turn++, points_hit += hit) {
        hit = !uninstall("", variable, point);
        if (hit) {
            restart();
            if (turn % 2)
                uninstall("", NULL, 0);
        }
        install();
        compare(fresh, true, "install.sql after uninstall.sql", point);
        expect_done("after uninstall.sql");
        points_verify(sql, "after uninstall.sql");
    }
    points_say("uninstall.sql", point - stride);
}

/* Records and all: killed in the middle, the next run takes away the rest. */
static void walk_removal(const struct picture *nothing, const char *variable, int stride)
{
    bool hit = true;
    int point;

    for (point = points_first(); hit; point += stride, points_hit += hit) {
        hit = !uninstall(", @idem_drop_data=1", variable, point);
        if (hit) {
            restart();
            uninstall(", @idem_drop_data=1", NULL, 0);
        }
        compare(nothing, false, "uninstall.sql again", point);
        install();
    }
    points_say("uninstall.sql, with the records", point - stride);
}

size_t points_install(void)
{
    int stride = world.plan.stride;
    struct picture nothing, fresh;

    world.server = server_start_bare(points_options(START_US));
    sql = server_connect(world.server);
    take_picture(&nothing, false);
    install();
    take_picture(&fresh, true);
    uninstall(", @idem_drop_data=1", NULL, 0);
    compare(&nothing, false, "uninstall.sql", 0);

    walk_install(&fresh, &nothing, "crashpoint_kill_at", stride);
    walk_install(&fresh, &nothing, "crashpoint_kill_at_write", stride * 3);
    install();
    if (strcmp(begin(sql, UDF_DOOR, "'p'", "'kept'", "NULL").state, "CLAIMED") != 0 ||
        commit(sql, UDF_DOOR, "'p'", "'kept'", "NULL", "'[1]'") != 0)
        report(FAULT, "the key to keep: %s", mysql_error(sql));
    points_flush(sql);
    walk_uninstall(&fresh, "crashpoint_kill_at", stride);
    walk_uninstall(&fresh, "crashpoint_kill_at_write", stride * 3);
    walk_removal(&nothing, "crashpoint_kill_at", stride);
    walk_removal(&nothing, "crashpoint_kill_at_write", stride * 3);
    mysql_close(sql);
    return calls;
}
