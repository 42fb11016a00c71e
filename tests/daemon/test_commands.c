/* SPDX-License-Identifier: GPL-2.0-only */
/* idemd once, status and check: exit codes, option files, and what they name. */
#include <sys/stat.h>
#include <unistd.h>

#include "daemon.h"
#include "fixture.h"

static char output[65536];

#define AS_ROOT "--no-defaults -u root -S '%s' "

static void expect_output(const char *part)
{
    if (strstr(output, part) == NULL)
        fail_msg("'%s' is not in: %s", part, output);
}

static const char *option_file(const char *name, mode_t mode, const char *format, ...)
{
    static char path[400];
    va_list arguments;
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", server_folder(fixture_server), name);
    file = fopen(path, "w");
    va_start(arguments, format);
    vfprintf(file, format, arguments);
    va_end(arguments);
    fclose(file);
    chmod(path, mode);
    return path;
}

static void once_runs_every_task_and_ends(void **state)
{
    (void)state;
    run(s1, "DELETE FROM idem.task");
    assert_int_equal(idemd(output, sizeof(output), AS_ROOT "once", server_socket(fixture_server)),
                     0);
    expect_text(
        s1, "drop_expired,ensure_partitions,reap,seal_days",
        "SELECT GROUP_CONCAT(name ORDER BY name) FROM idem.task WHERE succeeded_at IS NOT NULL");
    assert_int_equal(idemd(output, sizeof(output), AS_ROOT "status", server_socket(fixture_server)),
                     0);
    expect_output("7 ahead of today");
}

static void defaults_of_the_server_do_not_matter(void **state)
{
    (void)state;
    run(s1, "SET GLOBAL autocommit = 0");
    assert_int_equal(idemd(output, sizeof(output), AS_ROOT "once", server_socket(fixture_server)),
                     0);
    assert_int_equal(idemd(output, sizeof(output), AS_ROOT "status", server_socket(fixture_server)),
                     0);
    run(s1, "SET GLOBAL autocommit = 1");
}

static void a_failed_task_is_exit_1_and_the_others_still_run(void **state)
{
    MYSQL *idle = server_connect(fixture_server);

    (void)state;
    run(s1, "SET GLOBAL idem_ddl_lock_wait_ms = 20");
    set_clock(s1, "2040-01-01 12:00:00");
    run(s1, "DELETE FROM idem.task");
    run(idle, "BEGIN");
    run(idle, "SELECT COUNT(*) FROM idem.record");
    assert_int_equal(idemd(output, sizeof(output), AS_ROOT "once", server_socket(fixture_server)),
                     1);
    expect_output("52005");
    expect_text(s1, "3", "SELECT COUNT(*) FROM idem.task WHERE succeeded_at IS NOT NULL");
    assert_int_equal(idemd(output, sizeof(output), AS_ROOT "status", server_socket(fixture_server)),
                     1);
    expect_output("today has no partition");
    expect_output("ensure_partitions has never succeeded: idem.ensure_partitions: today has no");
    run(idle, "COMMIT");
    mysql_close(idle);
    set_clock(s1, NULL);
    run(s1, "SET GLOBAL idem_ddl_lock_wait_ms = 1000");
    assert_int_equal(idemd(output, sizeof(output), AS_ROOT "once", server_socket(fixture_server)),
                     0);
}

static void exit_codes_tell_usage_no_server_and_read_only_apart(void **state)
{
    (void)state;
    assert_int_equal(idemd(output, sizeof(output), "--no-defaults"), 2);
    assert_int_equal(idemd(output, sizeof(output), "--no-defaults dance"), 2);
    assert_int_equal(idemd(output, sizeof(output), "--no-defaults --port=70000 once"), 2);
    assert_int_equal(idemd(output, sizeof(output), "--no-defaults --log-format=xml once"), 2);
    assert_int_equal(idemd(output, sizeof(output), "--no-defaults -S /nowhere once"), 3);
    assert_int_equal(idemd(output, sizeof(output), "--no-defaults -S /nowhere status"), 3);
    assert_int_equal(idemd(output, sizeof(output), "--no-defaults -S /nowhere check"), 3);
    assert_int_equal(idemd(output, sizeof(output), "--help"), 0);
    assert_int_equal(idemd(output, sizeof(output), "--version"), 0);
    run(s1, "SET GLOBAL read_only = 1");
    assert_int_equal(idemd(output, sizeof(output), AS_ROOT "once", server_socket(fixture_server)),
                     4);
    run(s1, "SET GLOBAL read_only = 0");
}

static void dry_run_says_and_does_nothing(void **state)
{
    char before[64];

    (void)state;
    run(s1, "INSERT INTO idem.live_day (day, created_at)"
            " VALUES (idem_today() - INTERVAL 3 DAY, '2026-01-01')");
    snprintf(before, sizeof(before), "%s", value(s1, "CHECKSUM TABLE idem.task, idem.live_day"));
    run(s1, "ALTER TABLE idem.record DROP PARTITION %s",
        value(s1, "SELECT MAX(partition_name) FROM idem.day"));
    assert_int_equal(
        idemd(output, sizeof(output), AS_ROOT "--dry-run once", server_socket(fixture_server)), 0);
    expect_output(": create\n");
    expect_output(": seal, unless it is busy\n");
    expect_output("0 expired leases");
    expect_text(s1, "7", "SELECT COUNT(*) FROM idem.day WHERE day >= idem_today()");
    assert_string_equal(before, value(s1, "CHECKSUM TABLE idem.task, idem.live_day"));
    run(s1, "DELETE FROM idem.live_day WHERE day < idem_today()");
    run(s1, "CALL idem.ensure_partitions()");
}

static void case_44_check_names_every_missing_piece(void **state)
{
    (void)state;
    assert_int_equal(idemd(output, sizeof(output), AS_ROOT "check", server_socket(fixture_server)),
                     0);
    run(s1, "DROP FUNCTION idem_payload_hash");
    run(s1, "RENAME TABLE idem.policy TO idem.policy_gone");
    run(s1, "DROP PROCEDURE idem.reap");
    run(s1, "UPDATE idem.meta SET value = '0.0.9' WHERE name = 'version'");
    assert_int_equal(idemd(output, sizeof(output), AS_ROOT "check", server_socket(fixture_server)),
                     1);
    expect_output("FAIL  function idem_payload_hash is missing");
    expect_output("FAIL  table idem.policy: ");
    expect_output("FAIL  procedure idem.reap is missing");
    expect_output("FAIL  versions: ");
    assert_int_equal(idemd(output, sizeof(output), AS_ROOT "once", server_socket(fixture_server)),
                     3);
    run(s1, "RENAME TABLE idem.policy_gone TO idem.policy");
    server_run_sql_file(fixture_server, "install.sql", "", NULL, 0);
    assert_int_equal(idemd(output, sizeof(output), AS_ROOT "check", server_socket(fixture_server)),
                     0);
}

static void case_44_check_works_without_plugin_and_schema(void **state)
{
    (void)state;
    server_run_sql_file(fixture_server, "uninstall.sql", "--init-command='SET @idem_drop_data = 1'",
                        NULL, 0);
    assert_int_equal(idemd(output, sizeof(output), AS_ROOT "check", server_socket(fixture_server)),
                     1);
    expect_output("function idem_claim is missing");
    expect_output("idem.so (not loaded), schema (incomplete)");
    assert_int_equal(idemd(output, sizeof(output), AS_ROOT "status", server_socket(fixture_server)),
                     3);
    expect_output("Unknown database 'idem'");
}

static void an_operator_account_is_enough(void **state)
{
    (void)state;
    run(s1, "CREATE OR REPLACE USER idemd@localhost IDENTIFIED BY 's3cret'");
    assert_int_equal(idemd(output, sizeof(output), "--defaults-file='%s' -S '%s' check",
                           option_file("op.cnf", 0600, "[idemd]\nuser=idemd\npassword=s3cret\n"),
                           server_socket(fixture_server)),
                     1);
    expect_output("idem_operator");
    run(s1, "GRANT idem_operator TO idemd@localhost");
    run(s1, "SET DEFAULT ROLE idem_operator FOR idemd@localhost");
    assert_int_equal(idemd(output, sizeof(output), "--defaults-file='%s' -S '%s' check",
                           option_file("op.cnf", 0600, "[idemd]\nuser=idemd\npassword=s3cret\n"),
                           server_socket(fixture_server)),
                     0);
    assert_int_equal(idemd(output, sizeof(output), "--defaults-file='%s' -S '%s' once",
                           option_file("op.cnf", 0600, "[idemd]\nuser=idemd\npassword=s3cret\n"),
                           server_socket(fixture_server)),
                     0);
    expect_text(s1, "idemd@localhost", "SELECT account FROM idem.task WHERE name = 'reap'");
}

static void option_files_are_read_as_every_client_reads_them(void **state)
{
    char included[400];

    (void)state;
    run(s1, "CREATE OR REPLACE USER tester@localhost IDENTIFIED BY 'a # b\"c'");
    run(s1, "GRANT idem_operator TO tester@localhost");
    run(s1, "SET DEFAULT ROLE idem_operator FOR tester@localhost");
    snprintf(included, sizeof(included), "%s",
             option_file("more.cnf", 0600,
                         "[mysqld]\nuser=nobody\n[client]\npassword = 'a # b\\\"c' # quoted\n"
                         "loose-nonsense=1\nnot_for_idemd=1\n"));
    assert_int_equal(idemd(output, sizeof(output), "--defaults-file='%s' check",
                           option_file("main.cnf", 0600,
                                       "# a comment\n; another\n[client]\nuser = wrong\nsocket=%s\n"
                                       "!include %s\n[idemd]\nuser=tester # the last one wins\n"
                                       "connect_timeout=5\nloose-unknown=1\n",
                                       server_socket(fixture_server), included)),
                     0);
    assert_int_equal(idemd(output, sizeof(output), "--defaults-file='%s' check",
                           option_file("bad.cnf", 0600, "[idemd]\nretention=1\n")),
                     2);
    expect_output("there is no option retention");
    assert_int_equal(idemd(output, sizeof(output), "--defaults-file=/nowhere/at.cnf check"), 2);
    assert_int_equal(idemd(output, sizeof(output), "--defaults-file='%s' check",
                           option_file("self.cnf", 0600, "!include %s/self.cnf\n",
                                       server_folder(fixture_server))),
                     2);
}

static void case_50_secrets_come_from_protected_files_only(void **state)
{
    (void)state;
    assert_int_equal(idemd(output, sizeof(output), "--defaults-extra-file='%s' check",
                           option_file("open.cnf", 0644, "[client]\npassword=s3cret\n")),
                     2);
    expect_output("everybody can read it");
    assert_null(strstr(output, "s3cret"));
    assert_int_equal(idemd(output, sizeof(output), "--defaults-file='%s' check",
                           option_file("writable.cnf", 0602, "[client]\nuser=root\n")),
                     2);
    expect_output("everybody can write it");
    assert_int_equal(idemd(output, sizeof(output), "--no-defaults --password=s3cret check"), 2);
    assert_null(strstr(output, "s3cret"));
    /* No secret in it: everybody may read it. */
    assert_int_equal(idemd(output, sizeof(output), "--defaults-file='%s' check",
                           option_file("open.cnf", 0644, "[client]\nuser=root\nsocket=%s\n",
                                       server_socket(fixture_server))),
                     0);
}

static void case_28_daylight_saving_of_the_daemons_host_does_not_matter(void **state)
{
    static const char *const nights[] = {
        "2026-03-08 06:59:00", "2026-03-08 07:01:00", "2026-11-01 05:30:00", "2026-11-01 06:30:00",
        "2026-03-29 00:59:00", "2026-03-29 01:01:00", "2026-10-25 00:30:00", "2026-10-25 01:30:00"};

    (void)state;
    for (size_t i = 0; i < 8; i++) {
        set_clock(s1, nights[i]);
        setenv("TZ", i < 4 ? "America/New_York" : "Europe/Berlin", 1);
        assert_int_equal(
            idemd(output, sizeof(output), AS_ROOT "once", server_socket(fixture_server)), 0);
        expect_text(s1, "8 8 1",
                    "SELECT CONCAT(COUNT(*), ' ', COUNT(DISTINCT day), ' ', MIN(day) = '%.10s')"
                    " FROM idem.day WHERE day BETWEEN '%.10s' AND '%.10s' + INTERVAL 7 DAY",
                    nights[i], nights[i], nights[i]);
        expect_text(s1, "0",
                    "SELECT COUNT(*) FROM idem.day"
                    " WHERE partition_name <> DATE_FORMAT(day, 'p%%Y%%m%%d')");
    }
    unsetenv("TZ");
    set_clock(s1, NULL);
}

static void tls_is_verified_and_never_silently_left_out(void **state)
{
    static char cert[300], key[300], command[2048];
    static const char *const clear[] = {"--skip-ssl", NULL}; /* else 11.4 makes a certificate */
    const char *const options[] = {cert, key, NULL};
    const char *folder = server_folder(fixture_server);
    unsigned int port;

    (void)state;
    snprintf(
        command, sizeof(command),
        "cd '%s' && for n in good other; do openssl req -x509 -newkey rsa:2048 -nodes -days 2 "
        "-subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 -keyout $n.key -out $n.pem; done "
        ">openssl.log 2>&1",
        folder);
    assert_int_equal(system(command), 0);
    run(s1, "CREATE OR REPLACE USER tls@127.0.0.1");
    run(s1, "GRANT ALL ON *.* TO tls@127.0.0.1");
    port = server_port(fixture_server);
    mysql_close(s1);
    server_restart(fixture_server, clear);
    s1 = server_connect(fixture_server);
#define BY_TCP "--no-defaults -u tls -h 127.0.0.1 -P %u "
    /* A server without TLS: --ssl must not go on in the clear. */
    assert_int_equal(idemd(output, sizeof(output), BY_TCP "check", port), 0);
    assert_int_equal(idemd(output, sizeof(output), BY_TCP "--ssl check", port), 3);
    snprintf(cert, sizeof(cert), "--ssl-cert=%s/good.pem", folder);
    snprintf(key, sizeof(key), "--ssl-key=%s/good.key", folder);
    mysql_close(s1);
    server_restart(fixture_server, options);
    s1 = server_connect(fixture_server);
    run(s1, "ALTER USER tls@127.0.0.1 REQUIRE SSL");
    assert_int_equal(idemd(output, sizeof(output), BY_TCP "check", port), 3);
    assert_int_equal(idemd(output, sizeof(output), BY_TCP "--ssl check", port), 0);
    assert_int_equal(
        idemd(output, sizeof(output), BY_TCP "--ssl-ca='%s/good.pem' check", port, folder), 0);
    assert_int_equal(
        idemd(output, sizeof(output), BY_TCP "--ssl-ca='%s/other.pem' check", port, folder), 3);
    mysql_close(s1);
    server_restart(fixture_server, NULL);
    s1 = server_connect(fixture_server);
}

static void status_can_be_read_by_programs(void **state)
{
    (void)state;
    run(s1, "CALL idem.ensure_partitions()");
    assert_int_equal(idemd(output, sizeof(output), AS_ROOT "once", server_socket(fixture_server)),
                     0);
    assert_int_equal(
        idemd(output, sizeof(output), AS_ROOT "--json status", server_socket(fixture_server)), 0);
    expect_output("\"healthy\": true");
    expect_output("\"runway_days\": 7");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(once_runs_every_task_and_ends),
        cmocka_unit_test(defaults_of_the_server_do_not_matter),
        cmocka_unit_test(a_failed_task_is_exit_1_and_the_others_still_run),
        cmocka_unit_test(exit_codes_tell_usage_no_server_and_read_only_apart),
        cmocka_unit_test(dry_run_says_and_does_nothing),
        cmocka_unit_test(case_44_check_names_every_missing_piece),
        cmocka_unit_test(an_operator_account_is_enough),
        cmocka_unit_test(option_files_are_read_as_every_client_reads_them),
        cmocka_unit_test(case_50_secrets_come_from_protected_files_only),
        cmocka_unit_test(case_28_daylight_saving_of_the_daemons_host_does_not_matter),
        cmocka_unit_test(tls_is_verified_and_never_silently_left_out),
        cmocka_unit_test(status_can_be_read_by_programs),
        cmocka_unit_test(case_44_check_works_without_plugin_and_schema), /* last: nothing is left */
    };

    return cmocka_run_group_tests_name("commands", tests, fixture_start, fixture_stop);
}
