/* SPDX-License-Identifier: GPL-2.0-only */
/* Installing, upgrading, removing and half of each: what is missing is named, what is there is
   kept, and the server stays up in every order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <pthread.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "claims.h"
#include "server.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct server *server;
static MYSQL *s1;

static int start_bare(void **state)
{
    (void)state;
    server = server_start_bare(NULL);
    s1 = server_connect(server);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    mysql_close(s1);
    server_stop(server);
    server = NULL;
    return 0;
}

static void sleep_ms(long ms)
{
    struct timespec pause = {.tv_nsec = ms * 1000000};

    nanosleep(&pause, NULL);
}

/* Sessions that connected while the plugin was loaded keep it from going. s1 never does, and a
   client that has left may still be on its way out. */
static void wait_alone(int sessions)
{
    while (value_int(s1, "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'root' "
                         "OR command = 'Killed'") > sessions)
        sleep_ms(2);
}

static void install(const char *client_options)
{
    char output[32768];

    if (server_run_sql_file(server, "install.sql", client_options, output, sizeof(output)) != 0)
        fail_msg("install.sql: %s", output);
    assert_non_null(strstr(output, " is installed"));
}

static void uninstall(const char *client_options)
{
    char output[32768];

    wait_alone(1);
    if (server_run_sql_file(server, "uninstall.sql", client_options, output, sizeof(output)) != 0)
        fail_msg("uninstall.sql: %s", output);
    if (strstr(output, "stays loaded") != NULL)
        fail_msg("somebody keeps the plugin: %s", output);
    wait_alone(1);
}

/* install.sql fails, says why, and leaves nothing that could be taken for an installation. */
static void expect_install_refused(const char *client_options, const char *why)
{
    char output[32768];

    assert_int_not_equal(
        server_run_sql_file(server, "install.sql", client_options, output, sizeof(output)), 0);
    if (strstr(output, why) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", output, why);
    expect_text(s1, "0",
                "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'idem' AND "
                "table_name = 'record'");
    expect_text(s1, "0", "SELECT COUNT(*) FROM mysql.func");
}

static void expect_works(MYSQL *sql, const char *key)
{
    char quoted[64];

    snprintf(quoted, sizeof(quoted), "'%s'", key);
    EACH_DOOR(door)
    {
        struct answer answer = claim(sql, door, "'p'", quoted, "NULL");

        if (strcmp(answer.state, "CLAIMED") != 0)
            fail_msg("%s door: %u %s %s", door_names[door], answer.error, answer.state,
                     mysql_error(sql));
    }
}

static void case_44_installing_twice_changes_nothing(void **state)
{
    static const char dump[] =
        "SELECT MD5(CONCAT((SELECT GROUP_CONCAT(user, host, biz_type, allowed) FROM idem.access), "
        "(SELECT GROUP_CONCAT(partition_name) FROM information_schema.partitions WHERE "
        "table_schema = 'idem'), (SELECT GROUP_CONCAT(routine_name, routine_definition, sql_mode "
        "ORDER BY routine_name) FROM information_schema.routines WHERE routine_schema = 'idem'), "
        "(SELECT GROUP_CONCAT(name, dl, ret ORDER BY name) FROM mysql.func), (SELECT GROUP_CONCAT("
        "user, routine_name, proc_priv ORDER BY 1) FROM mysql.procs_priv), (SELECT COUNT(*) FROM "
        "idem.record)))";
    char before[64];

    (void)state;
    install("");
    run(s1, "CREATE USER app@localhost");
    run(s1, "GRANT idem_app TO app@localhost");
    run(s1, "GRANT EXECUTE ON PROCEDURE idem.claim TO app@localhost");
    run(s1, "SET SESSION group_concat_max_len = 10000000");
    claim(s1, UDF_DOOR, "'p'", "'k'", "NULL");
    finish(s1, UDF_DOOR, "'p'", "'k'", "NULL", "'{}'");
    snprintf(before, sizeof(before), "%s", value(s1, dump));
    install("");
    expect_text(s1, before, dump);
    assert_string_equal(claim(s1, UDF_DOOR, "'p'", "'k'", "NULL").state, "DONE");
    expect_text(s1, "1", "SELECT COUNT(*) FROM mysql.procs_priv WHERE user = 'app'");
}

static void routines_are_the_same_whatever_the_installing_client_had_set(void **state)
{
    static const char *const modes[] = {"''",       "'ANSI'",  "'NO_BACKSLASH_ESCAPES'",
                                        "'ORACLE'", "'MAXDB'", "'STRICT_ALL_TABLES,NO_ZERO_DATE'"};
    char options[256];

    (void)state;
    for (size_t i = 0; i < COUNT(modes); i++) {
        snprintf(options, sizeof(options),
                 "--default-character-set=latin1 --init-command=\"SET SESSION sql_mode=%s\"",
                 modes[i]);
        uninstall(options);
        install(options);
        expect_text(s1,
                    "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_AUTO_CREATE_USER,"
                    "NO_ENGINE_SUBSTITUTION utf8mb4",
                    "SELECT GROUP_CONCAT(DISTINCT sql_mode, ' ', character_set_client) FROM "
                    "information_schema.routines WHERE routine_schema = 'idem'");
        snprintf(options, sizeof(options), "mode-%zu", i);
        expect_works(s1, options);
    }
}

static void older_version_row_is_refused_by_calls_and_brought_up_by_install(void **state)
{
    (void)state;
    install("");
    run(s1, "UPDATE idem.meta SET value = '0.0.1' WHERE name = 'version'");
    run(s1, "SELECT idem_reload()");
    EACH_DOOR(door)
    {
        assert_int_equal(claim(s1, door, "'p'", "'v'", "NULL").error, 52005);
        assert_non_null(strstr(mysql_error(s1), "not of version"));
        assert_int_equal(finish(s1, door, "'p'", "'v'", "NULL", "'{}'"), 52005);
        assert_int_equal(peek(s1, door, "'p'", "'v'").error, 52005);
    }
    run(s1, "DELETE FROM idem.meta WHERE name = 'version'"); /* stopped half-way */
    run(s1, "SELECT idem_reload()");
    EACH_DOOR(door)
    {
        assert_int_equal(claim(s1, door, "'p'", "'v'", "NULL").error, 52005);
        assert_non_null(strstr(mysql_error(s1), "run its install.sql"));
    }
    install("");
    expect_works(s1, "v");
}

static void uninstall_keeps_the_records_and_reinstall_finds_them(void **state)
{
    struct answer answer;

    (void)state;
    install("");
    run(s1, "CREATE USER IF NOT EXISTS app@localhost");
    run(s1, "GRANT idem_app TO app@localhost");
    run(s1, "CALL idem.allow('app', '%%', 'p')");
    run(s1, "CALL idem.set_policy('p', 77, NULL, NULL, NULL, NULL)");
    claim(s1, UDF_DOOR, "'p'", "'kept'", "NULL");
    finish(s1, UDF_DOOR, "'p'", "'kept'", "NULL", "'{\"n\":1}'");
    uninstall("");
    expect_errno(s1, 1305, "SELECT idem_claim('p','kept')");
    expect_errno(s1, 1305, "CALL idem.claim('p','kept',NULL)");
    expect_text(s1, "0", "SELECT COUNT(*) FROM mysql.func");
    expect_text(s1, "0",
                "SELECT COUNT(*) FROM information_schema.plugins WHERE plugin_name = 'idem'");
    expect_text(s1, "{\"n\":1}", "SELECT result FROM idem.record WHERE idem_key = 'kept'");
    uninstall(""); /* twice is harmless */
    install("");
    answer = claim(s1, UDF_DOOR, "'p'", "'kept'", "NULL");
    assert_string_equal(answer.state, "DONE");
    assert_string_equal(answer.result, "{\"n\":1}");
    expect_text(s1, "77", "SELECT lease_seconds FROM idem.policy WHERE biz_type = 'p'");
    {
        MYSQL *app = server_connect_as(server, "app", 0);

        run(app, "SET ROLE idem_app");
        assert_string_equal(claim(app, PROCEDURE_DOOR, "'p'", "'kept'", "NULL").state, "DONE");
        mysql_close(app);
    }
    wait_alone(1);
}

static void uninstall_removes_the_records_only_when_asked(void **state)
{
    (void)state;
    install("");
    uninstall("--init-command=\"SET @idem_drop_data=0\"");
    expect_text(s1, "1", "SELECT COUNT(*) > 0 FROM idem.record");
    uninstall("--init-command=\"SET @idem_drop_data=1\"");
    expect_text(s1, "0",
                "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'idem'");
    expect_text(s1, "0", "SELECT COUNT(*) FROM mysql.global_priv WHERE user LIKE 'idem%%'");
    expect_text(s1, "0", "SELECT COUNT(*) FROM mysql.procs_priv WHERE db = 'idem'");
    expect_text(s1, "0", "SELECT COUNT(*) FROM mysql.db WHERE db = 'idem'");
    install("");
    expect_works(s1, "again");
}

static void binlog_gets_the_schema_and_never_the_library(void **state)
{
    (void)state;
    run(s1, "RESET MASTER");
    uninstall("--init-command=\"SET @idem_drop_data=1\"");
    install("");
    {
        MYSQL_RES *result;
        MYSQL_ROW row;
        bool schema = false;

        assert_int_equal(mysql_query(s1, "SHOW BINLOG EVENTS"), 0);
        result = mysql_store_result(s1);
        while ((row = mysql_fetch_row(result)) != NULL) {
            if (strcasestr(row[5], "SONAME") != NULL ||
                strcasestr(row[5], "DROP FUNCTION IF EXISTS idem_") != NULL)
                fail_msg("in the binlog: %s", row[5]);
            schema = schema || strstr(row[5], "PROCEDURE") != NULL;
        }
        mysql_free_result(result);
        assert_true(schema);
    }
}

/* Runs once with every function that library.sql creates: all must say 52005. */
static const char *const calls[] = {"idem_now_us()",
                                    "idem_today()",
                                    "idem_token()",
                                    "idem_epoch()",
                                    "idem_payload_hash('x')",
                                    "idem_key('a')",
                                    "idem_backoff_ms(1)",
                                    "idem_retryable(1213)",
                                    "idem_version()",
                                    "idem_stats()",
                                    "idem_setting('wait_ms')",
                                    "idem_count('CLAIMED')",
                                    "idem_ack('x')",
                                    "idem_check('claim','utf8','p','k')",
                                    "idem_claim('p','k')",
                                    "idem_finish('p','k','1')",
                                    "idem_fail('p','k','1')",
                                    "idem_release('p','k')",
                                    "idem_renew('p','k')",
                                    "idem_checkpoint('p','k','1')",
                                    "idem_peek('p','k')",
                                    "idem_consume('p','k')",
                                    "idem_consume_many('p','[]')",
                                    "idem_begin('p','k')",
                                    "idem_commit('p','k','1')",
                                    "idem_admit('claim','utf8','a@b','p','k',1)",
                                    "idem_claim_plan('claim','utf8','a@b','','p','k','{}',0)",
                                    "idem_taken('','2026-03-01',1)",
                                    "idem_refused('DONE','','2026-03-01','k')",
                                    "idem_settle_plan('finish','utf8','a@b','p','k',1,'1',0,1)",
                                    "idem_settled('finish','1','2026-03-01','k')",
                                    "idem_claim_day()",
                                    "idem_look_days('','k','2026-03-01')",
                                    "idem_filter_build('','k','2026-03-01')",
                                    "idem_filter_has('f','2026-03-01','','k')",
                                    "idem_policy('p','observe')",
                                    "idem_reload()"};

static void expect_not_ready(MYSQL *sql)
{
    for (size_t i = 0; i < COUNT(calls); i++)
        expect_errno(sql, 52005, "SELECT %s", calls[i]);
    assert_non_null(strstr(mysql_error(sql), "INSTALL SONAME"));
}

static void case_45_functions_whose_plugin_was_never_installed_are_not_ready(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(calls); i++)
        run(s1, "CREATE OR REPLACE FUNCTION %.*s RETURNS STRING SONAME 'idem.so'",
            (int)strcspn(calls[i], "("), calls[i]);
    expect_not_ready(s1);
    assert_int_equal(mysql_ping(s1), 0);
    install(""); /* over what is there */
    expect_works(s1, "c45");
}

static void case_45_functions_left_behind_by_uninstall_plugin_are_not_ready(void **state)
{
    MYSQL *older;

    (void)state;
    uninstall("");
    older = server_connect(server);
    install("");
    wait_alone(2);
    expect_works(older, "left");
    run(s1, "UNINSTALL PLUGIN idem");
    expect_not_ready(s1);
    expect_not_ready(older); /* had a handle of the plugin */
    expect_errno(s1, 52005, "CALL idem.claim('p','left2',NULL)");
    expect_errno(s1, 52005, "CALL idem.ensure_partitions()");
    run(s1, "DROP FUNCTION idem_claim");
    expect_errno(s1, 1305, "SELECT idem_claim('p','k')");
    run(s1, "INSTALL SONAME 'idem'");
    run(s1, "CREATE FUNCTION idem_claim RETURNS STRING SONAME 'idem.so'");
    expect_works(s1, "left3");
    expect_works(older, "left4");
    mysql_close(older);
}

static void case_45_server_started_without_the_plugin_stays_up(void **state)
{
    static const char *const off[] = {"--idem=OFF", NULL};
    static const char *const strict[] = {"--plugin-maturity=stable", NULL};

    (void)state;
    install("");
    mysql_close(s1);
    server_restart(server, off);
    s1 = server_connect(server);
    expect_not_ready(s1);
    expect_errno(s1, 52005, "CALL idem.claim('p','off',NULL)");
    mysql_close(s1);
    server_restart(server, strict);
    s1 = server_connect(server);
    expect_not_ready(s1);
    run(s1, "DELETE FROM mysql.plugin WHERE name = 'idem'");
    mysql_close(s1);
    server_restart(server, NULL);
    s1 = server_connect(server);
    expect_not_ready(s1);
    install("");
    expect_works(s1, "back");
    mysql_close(s1);
    server_restart(server, NULL); /* and it comes back by itself */
    s1 = server_connect(server);
    expect_works(s1, "by-itself");
}

static void case_44_library_lost_after_install_is_an_error_and_the_server_starts(void **state)
{
    char command[600];

    (void)state;
    install("");
    mysql_close(s1);
    snprintf(command, sizeof(command), "mv '%s/plugins/idem.so' '%s/plugins/away'",
             server_folder(server), server_folder(server));
    server_kill(server, 15);
    assert_int_equal(system(command), 0);
    server_restart(server, NULL);
    s1 = server_connect(server);
    assert_int_not_equal(run_errno(s1, "SELECT idem_claim('p','k')"), 0);
    assert_int_not_equal(run_errno(s1, "CALL idem.claim('p','k',NULL)"), 0);
    mysql_close(s1);
    server_kill(server, 15);
    snprintf(command, sizeof(command), "mv '%s/plugins/away' '%s/plugins/idem.so'",
             server_folder(server), server_folder(server));
    assert_int_equal(system(command), 0);
    server_restart(server, NULL);
    s1 = server_connect(server);
    expect_works(s1, "found");
}

static void case_44_missing_library_is_named(void **state)
{
    char command[600];

    (void)state;
    snprintf(command, sizeof(command), "rm '%s/plugins/idem.so'", server_folder(server));
    assert_int_equal(system(command), 0);
    expect_install_refused("", "idem.so is not in plugin_dir");
    snprintf(command, sizeof(command), "echo garbage > '%s/plugins/idem.so'",
             server_folder(server));
    assert_int_equal(system(command), 0);
    expect_install_refused("", "does not load");
}

static void case_44_account_without_rights_is_told_which(void **state)
{
    (void)state;
    run(s1, "CREATE USER weak@localhost, half@localhost");
    run(s1, "GRANT CREATE USER, CREATE ON *.* TO half@localhost");
    expect_install_refused("-uweak", "installing idem needs CREATE USER");
    expect_install_refused("-uhalf", "half@localhost lacks some");
}

static void case_40_44_unfit_settings_are_named(void **state)
{
    static const char *const stable[] = {"--plugin-maturity=stable", NULL};
    static const char *const statement[] = {"--binlog-format=STATEMENT", NULL};

    (void)state;
    mysql_close(s1);
    server_restart(server, stable);
    s1 = server_connect(server);
    expect_install_refused("", "plugin_maturity is stable");
    mysql_close(s1);
    server_restart(server, statement);
    s1 = server_connect(server);
    expect_install_refused("", "binlog_format is STATEMENT");
}

static void small_pages_are_named(void **state)
{
    static const char *const pages[] = {"--innodb-page-size=8k", NULL};

    stop(state);
    server =
        server_start_with(pages, "TMPDIR=$PWD mariadb-install-db --no-defaults --datadir=$PWD/data "
                                 "--user=root --skip-test-db --innodb-page-size=8k "
                                 "--auth-root-authentication-method=normal");
    s1 = server_connect(server);
    expect_install_refused("", "innodb_page_size");
}

static void session_that_lived_through_a_reinstall_goes_on(void **state)
{
    (void)state;
    install("");
    expect_works(s1, "before");
    uninstall("");
    install("");
    expect_works(s1, "after");
    /* Its transaction began before the plugin knew the session: the procedure door still works. */
    run(s1, "BEGIN");
    assert_int_equal(claim(s1, UDF_DOOR, "'p'", "'open'", "NULL").error, 52006);
    assert_string_equal(claim(s1, PROCEDURE_DOOR, "'p'", "'open'", "NULL").state, "CLAIMED");
    run(s1, "ROLLBACK");
}

static void reinstall_while_a_session_keeps_the_old_plugin_says_so(void **state)
{
    char output[32768];
    MYSQL *keeper;

    (void)state;
    install("");
    keeper = server_connect(server);
    expect_works(keeper, "keeper");
    wait_alone(2);
    assert_int_equal(server_run_sql_file(server, "uninstall.sql", "", output, sizeof(output)), 0);
    assert_non_null(strstr(output, "stays loaded until the sessions connected now have ended"));
    assert_int_not_equal(server_run_sql_file(server, "install.sql", "", output, sizeof(output)), 0);
    assert_non_null(strstr(output, "an earlier UNINSTALL of idem waits"));
    mysql_close(keeper);
    wait_alone(1);
    install("");
    expect_works(s1, "kept-no-more");
    expect_text(s1, "1", "SELECT COUNT(*) FROM mysql.plugin WHERE name = 'idem'");
}

#define CALLERS 4
#define RACE_SECONDS 3 /* at least */
#define RACE_LIMIT 60  /* on a busy machine: until enough has met */

static atomic_bool racing;
static atomic_int answered, refused;

struct caller {
    pthread_t thread;
    MYSQL *sql;
    bool reconnects;
    char surprise[256]; /* the first error that nobody should see */
};

/* Calls through both doors, inside and outside transactions. */
static void *call_on(void *argument)
{
    struct caller *caller = argument;

    for (int i = 0; atomic_load(&racing) && caller->surprise[0] == '\0'; i++) {
        unsigned int error = i % 5 == 0   ? run_errno(caller->sql, "BEGIN")
                             : i % 5 == 4 ? run_errno(caller->sql, "COMMIT")
                             : i % 2      ? run_errno(caller->sql, "SELECT idem_claim('p', UUID())")
                                     : run_errno(caller->sql, "CALL idem.claim('p', UUID(), NULL)");

        if (i % 5 != 0 && i % 5 != 4)
            atomic_fetch_add(error == 0 ? &answered : &refused, 1);
        /* 1122, 1126, 1305: the function is just being dropped or made. 52006: the plugin came
           while this session's transaction was open. */
        if (error != 0 && error != 52005 && error != 1305 && error != 1122 && error != 1126 &&
            error != 52006)
            snprintf(caller->surprise, sizeof(caller->surprise), "%u %s", error,
                     mysql_error(caller->sql));
        if (caller->reconnects && i % 50 == 49) {
            mysql_close(caller->sql);
            caller->sql = server_connect(server);
        }
    }
    return NULL;
}

/* Calls were answered, and, when no session holds the plugin, also met it gone. */
static bool enough(bool reconnects, int rounds, int gone)
{
    return rounds > 10 && atomic_load(&answered) > 0 &&
           (reconnects || (gone > 10 && atomic_load(&refused) > 0));
}

/* Sessions that connect while the plugin is there hold it, older ones do not: both kinds race. */
static void race(bool reconnects)
{
    struct caller callers[CALLERS];
    time_t end, limit;
    int rounds = 0, gone = 0;

    atomic_store(&answered, 0);
    atomic_store(&refused, 0);
    uninstall("");
    for (size_t i = 0; i < CALLERS; i++)
        callers[i] = (struct caller){.sql = server_connect(server), .reconnects = reconnects};
    install("");
    atomic_store(&racing, true);
    for (size_t i = 0; i < CALLERS; i++)
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call_on, &callers[i]), 0);
    end = time(NULL) + RACE_SECONDS;
    limit = time(NULL) + RACE_LIMIT;
    for (; time(NULL) < end || (time(NULL) < limit && !enough(reconnects, rounds, gone));
         rounds++) {
        run_errno(s1, rounds % 3 ? "UNINSTALL PLUGIN idem" : "UNINSTALL SONAME 'idem'");
        gone += value_int(s1, "SELECT COUNT(*) FROM information_schema.plugins WHERE plugin_name = "
                              "'idem'") == 0;
        if (rounds % 4 == 0)
            run(s1, "DROP FUNCTION IF EXISTS idem_claim");
        sleep_ms(5);
        run_errno(s1, "INSTALL PLUGIN idem SONAME 'idem'");
        run(s1, "CREATE OR REPLACE FUNCTION idem_claim RETURNS STRING SONAME 'idem.so'");
        sleep_ms(20);
    }
    atomic_store(&racing, false);
    for (size_t i = 0; i < CALLERS; i++) {
        pthread_join(callers[i].thread, NULL);
        mysql_close(callers[i].sql);
    }
    for (size_t i = 0; i < CALLERS; i++)
        assert_string_equal(callers[i].surprise, "");
    assert_false(server_log_contains(server, "got signal"));
    assert_true(enough(reconnects, rounds, gone));
    wait_alone(1);
    install("");
    expect_works(s1, reconnects ? "after-race-2" : "after-race-1");
}

static void case_45_uninstall_and_install_race_with_calls_of_older_sessions(void **state)
{
    (void)state;
    race(false);
}

static void case_45_uninstall_and_install_race_with_calls_and_connects(void **state)
{
    (void)state;
    race(true);
}

static void case_41_wsrep_without_a_provider_is_no_cluster(void **state)
{
    static const char *const options[] = {"--wsrep-on=ON", "--wsrep-provider=none", NULL};
    struct server *alone = server_start(options);
    MYSQL *sql = server_connect(alone);

    (void)state;
    expect_text(sql, "0", "SELECT idem_galera()");
    EACH_DOOR(door)
    assert_string_equal(
        claim(sql, door, "'pay'", door == UDF_DOOR ? "'wsrep-1'" : "'wsrep-2'", "NULL").state,
        "CLAIMED");
    mysql_close(sql);
    server_stop(alone);
}

static ino_t inode_of(const char *path)
{
    struct stat status;

    assert_int_equal(stat(path, &status), 0);
    return status.st_ino;
}

/* Writing into the library that a server has mapped crashes it; cmake --install puts a new file in
   its place, and the server goes on with the old one until it is restarted. */
static void case_46_a_new_library_takes_the_place_of_the_loaded_one(void **state)
{
    struct server *loaded = server_start(NULL);
    const char *folder = server_folder(loaded);
    MYSQL *sql = server_connect(loaded);
    char command[1200], path[600];
    ino_t first;

    (void)state;
    snprintf(command, sizeof(command), "DESTDIR='%s/root' cmake --install '%s/..' >/dev/null",
             folder, IDEM_TEST_SQL_DIR);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof(path), "%s/root%s/idem.so", folder, IDEM_TEST_PLUGIN_DIR);
    first = inode_of(path);
    assert_int_equal(system(command), 0);
    assert_int_not_equal(inode_of(path), first);

    snprintf(command, sizeof(command),
             "cp '%s' '%s/plugins/new' && mv '%s/plugins/new' '%s/plugins/idem.so'",
             IDEM_TEST_PLUGIN, folder, folder, folder);
    assert_int_equal(system(command), 0);
    run(sql, "SELECT idem_claim('p', 'before restart')");
    mysql_close(sql);
    server_restart(loaded, NULL);
    sql = server_connect(loaded);
    expect_text(sql, "IN_PROGRESS",
                "SELECT JSON_VALUE(idem_claim('p', 'before restart'), '$.state')");
    mysql_close(sql);
    server_stop(loaded);
}

int main(void)
{
    const struct CMUnitTest one_server[] = {
        cmocka_unit_test(case_45_functions_whose_plugin_was_never_installed_are_not_ready),
        cmocka_unit_test(case_44_installing_twice_changes_nothing),
        cmocka_unit_test(older_version_row_is_refused_by_calls_and_brought_up_by_install),
        cmocka_unit_test(uninstall_keeps_the_records_and_reinstall_finds_them),
        cmocka_unit_test(session_that_lived_through_a_reinstall_goes_on),
        cmocka_unit_test(reinstall_while_a_session_keeps_the_old_plugin_says_so),
        cmocka_unit_test(case_45_functions_left_behind_by_uninstall_plugin_are_not_ready),
        cmocka_unit_test(routines_are_the_same_whatever_the_installing_client_had_set),
        cmocka_unit_test(uninstall_removes_the_records_only_when_asked),
        cmocka_unit_test(binlog_gets_the_schema_and_never_the_library),
        cmocka_unit_test(case_45_uninstall_and_install_race_with_calls_of_older_sessions),
        cmocka_unit_test(case_45_uninstall_and_install_race_with_calls_and_connects),
        cmocka_unit_test(case_44_library_lost_after_install_is_an_error_and_the_server_starts),
        cmocka_unit_test(case_45_server_started_without_the_plugin_stays_up),
    };
    const struct CMUnitTest refusals[] = {
        cmocka_unit_test(case_44_account_without_rights_is_told_which),
        cmocka_unit_test(case_44_missing_library_is_named),
        cmocka_unit_test(case_40_44_unfit_settings_are_named),
        cmocka_unit_test(small_pages_are_named),
        cmocka_unit_test(case_41_wsrep_without_a_provider_is_no_cluster),
        cmocka_unit_test(case_46_a_new_library_takes_the_place_of_the_loaded_one),
    };

    return cmocka_run_group_tests_name("install", one_server, start_bare, stop) +
           cmocka_run_group_tests_name("install refused", refusals, start_bare, stop);
}
