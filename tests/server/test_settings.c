/* SPDX-License-Identifier: GPL-2.0-only */
/* System variables refuse what is out of bounds; status variables move exactly as verdicts do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "claims.h"
#include "server.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct server *server;
static MYSQL *s1, *s2, *nobody;

static int start(void **state)
{
    (void)state;
    server = server_start(NULL);
    s1 = server_connect(server);
    s2 = server_connect(server);
    run(s1, "CREATE USER nobody@localhost");
    run(s1, "GRANT idem_app TO nobody@localhost");
    nobody = server_connect_as(server, "nobody", 0);
    run(nobody, "SET ROLE idem_app");
    return 0;
}

static int stop(void **state)
{
    (void)state;
    mysql_close(s1);
    mysql_close(s2);
    mysql_close(nobody);
    server_stop(server);
    return 0;
}

static int real_clock(void **state)
{
    (void)state;
    set_clock(s1, NULL);
    return 0;
}

static const struct {
    const char *name;
    long long initial, least, most;
} settings[] = {
    {"retention_days", 30, 1, 3650},
    {"partitions_ahead", 7, 1, 365},
    {"lease_seconds", 300, 1, 604800},
    {"wait_ms", 0, 0, 60000},
    {"max_result_bytes", 1048576, 1, 16777216},
    {"reap_batch", 500, 1, 10000},
    {"ddl_lock_wait_ms", 1000, 1, 60000},
    {"filter_memory_bytes", 268435456, 0, 4294967295},
    {"maintenance_interval_seconds", 60, 1, 86400},
    {"reap_interval_seconds", 10, 1, 86400},
};

static void expect_setting(const char *name, long long expected)
{
    if (value_int(s1, "SELECT @@GLOBAL.idem_%s", name) != expected ||
        value_int(s1, "SELECT idem_setting('%s')", name) != expected)
        fail_msg("idem_%s is not %lld", name, expected);
}

static void both_bounds_are_taken_and_beyond_is_refused_not_clamped(void **state)
{
    static const char *const modes[] = {"''", "DEFAULT", "'TRADITIONAL'"};
    static const char *const never[] = {"-1",
                                        "18446744073709551615",
                                        "-9223372036854775808",
                                        "4294967296",
                                        "4294967297",
                                        "1.5",
                                        "1e1",
                                        "'5'",
                                        "'x'",
                                        "''",
                                        "NULL"};

    (void)state;
    for (size_t mode = 0; mode < COUNT(modes); mode++) {
        run(s1, "SET SESSION sql_mode=%s", modes[mode]);
        for (size_t i = 0; i < COUNT(settings); i++) {
            const char *name = settings[i].name;

            expect_setting(name, settings[i].initial);
            run(s1, "SET GLOBAL idem_%s = %lld", name, settings[i].most);
            expect_setting(name, settings[i].most);
            expect_errno(s1, 1231, "SET GLOBAL idem_%s = %lld", name, settings[i].most + 1);
            expect_setting(name, settings[i].most);
            run(s1, "SET GLOBAL idem_%s = %lld", name, settings[i].least);
            expect_setting(name, settings[i].least);
            expect_errno(s1, 1231, "SET GLOBAL idem_%s = %lld", name, settings[i].least - 1);
            for (size_t k = 0; k < COUNT(never); k++) {
                unsigned int error = run_errno(s1, "SET GLOBAL idem_%s = %s", name, never[k]);

                if (error != 1231 && error != 1232)
                    fail_msg("idem_%s = %s: %u %s", name, never[k], error, mysql_error(s1));
            }
            expect_setting(name, settings[i].least);
            run(s1, "SET GLOBAL idem_%s = DEFAULT", name);
            expect_errno(s1, 1229, "SET SESSION idem_%s = %lld", name, settings[i].most);
        }
    }
    run(s1, "SET SESSION sql_mode=DEFAULT");
}

static void refusal_names_the_variable_and_its_bounds(void **state)
{
    (void)state;
    expect_errno(s1, 1231, "SET GLOBAL idem_lease_seconds = 0");
    assert_string_equal(mysql_error(s1),
                        "idem_lease_seconds takes a whole number from 1 to 604800");
}

static void access_control_is_on_or_off(void **state)
{
    (void)state;
    expect_text(s1, "1", "SELECT @@GLOBAL.idem_access_control");
    run(s1, "SET GLOBAL idem_access_control = OFF");
    expect_text(s1, "0", "SELECT idem_setting('access_control')");
    expect_errno(s1, 1231, "SET GLOBAL idem_access_control = 2");
    expect_errno(s1, 1231, "SET GLOBAL idem_access_control = 'x'");
    expect_text(s1, "0", "SELECT @@GLOBAL.idem_access_control");
    run(s1, "SET GLOBAL idem_access_control = DEFAULT");
    expect_text(s1, "1", "SELECT idem_setting('access_control')");
}

static void settings_need_the_right_to_set_them_and_probe_is_for_nobody(void **state)
{
    (void)state;
    expect_errno(nobody, 1227, "SET GLOBAL idem_lease_seconds = 5");
    expect_errno(nobody, 1227, "SET GLOBAL idem_access_control = OFF");
    expect_errno(nobody, 1227, "SET GLOBAL idem_test_now_us = 5");
    expect_errno(s1, 1231, "SET SESSION idem_probe = 0");
    expect_errno(s1, 1231, "SET GLOBAL idem_probe = 0");
    expect_errno(s1, 52001, "SELECT idem_setting('no_such')");
    expect_errno(s1, 52001, "SELECT idem_setting('lease_second')");
}

static const char *const counters[] = {"access_denied",      "claimed",
                                       "consume_duplicate",  "consume_new",
                                       "filter_bytes",       "filter_probes",
                                       "filter_skips",       "in_progress",
                                       "key_reused",         "not_owner",
                                       "not_ready",          "payload_mismatch",
                                       "plugin_uptime",      "reclaimed",
                                       "replayed_done",      "replayed_failed",
                                       "sessions",           "transition_already",
                                       "transition_applied", "transition_illegal",
                                       "transition_missing", "unknown",
                                       "version_applied",    "version_conflict",
                                       "version_duplicate",  "version_gap",
                                       "version_inserted",   "version_missing",
                                       "version_parked",     "version_stale",
                                       "version_updated"};

#define UPTIME 12 /* its place in counters */

static long long status(const char *name)
{
    return value_int(s1,
                     "SELECT variable_value FROM information_schema.global_status WHERE "
                     "variable_name = 'idem_%s'",
                     name);
}

static void status_variables_are_these_and_stats_says_the_same(void **state)
{
    char names[2048] = "";

    (void)state;
    for (size_t i = 0; i < COUNT(counters); i++)
        snprintf(names + strlen(names), sizeof(names) - strlen(names), "%sidem_%s", i ? "," : "",
                 counters[i]);
    expect_text(s1, names,
                "SELECT GROUP_CONCAT(LOWER(variable_name) ORDER BY variable_name) FROM "
                "information_schema.global_status WHERE variable_name LIKE 'idem\\_%%'");
    expect_text(s1, "31", "SELECT JSON_LENGTH(idem_stats())");
    for (size_t i = 0; i < COUNT(counters); i++)
        if (i != UPTIME)
            assert_int_equal(status(counters[i]),
                             value_int(s1, "SELECT JSON_VALUE(idem_stats(), '$.%s')", counters[i]));
    assert_true(value_int(s1, "SELECT JSON_VALUE(idem_stats(), '$.plugin_uptime')") >= 0);
    expect_text(s1, "Idem_claimed", "SHOW STATUS LIKE 'idem_claimed'");
}

static long long before[COUNT(counters)];

static void look(void)
{
    for (size_t i = 0; i < COUNT(counters); i++)
        before[i] = status(counters[i]);
}

/* Since look(), this counter moved by one and no other verdict's did. NULL: none moved. */
static void expect_one(const char *what, const char *counter)
{
    for (size_t i = 0; i < COUNT(counters); i++) {
        long long now = status(counters[i]);
        long long moved = counter != NULL && strcmp(counter, counters[i]) == 0;

        /* How often a filter was asked is no verdict, nor is who is connected. */
        if (i != UPTIME && strncmp(counters[i], "filter_", 7) != 0 &&
            strcmp(counters[i], "sessions") != 0 && now - before[i] != moved)
            fail_msg("%s: idem_%s moved by %lld, expected %lld", what, counters[i], now - before[i],
                     moved);
    }
    look();
}

static void each_verdict_moves_its_own_counter_by_one(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        const char *name = door_names[door];

        run(s1, "DELETE FROM idem.record");
        look();
        claim(s1, door, "'p'", "'k'", "'1'");
        expect_one(name, "claimed");
        claim(s1, door, "'p'", "'k'", "'1'"); /* its own again */
        expect_one(name, "claimed");
        claim(s2, door, "'p'", "'k'", "'1'");
        expect_one(name, "in_progress");
        claim(s2, door, "'p'", "'k'", "'2'");
        expect_one(name, "payload_mismatch");
        claim(s2, door, "'q'", "'k'", "'1'");
        expect_one(name, "key_reused");
        finish(s2, door, "'p'", "'k'", "NULL", "'1'");
        expect_one(name, "not_owner");
        finish(s2, door, "'q'", "'k'", "NULL", "'1'");
        expect_one(name, "key_reused");
        claim(nobody, door, "'p'", "'k'", "'1'");
        expect_one(name, "access_denied");
        peek(s2, door, "'p'", "'k'");
        expect_one(name, NULL);
        claim(s2, door, "'p'", "''", "'1'");
        expect_one(name, NULL);
        renew(s1, door, "'p'", "'k'", "NULL", "NULL");
        checkpoint(s1, door, "'p'", "'k'", "NULL", "'1'");
        release(s1, door, "'p'", "'k'", "NULL");
        expect_one(name, NULL);
        claim(s2, door, "'p'", "'k'", "'1'");
        expect_one(name, "reclaimed");
        finish(s2, door, "'p'", "'k'", "NULL", "'1'");
        expect_one(name, NULL);
        claim(s1, door, "'p'", "'k'", "'1'");
        expect_one(name, "replayed_done");
        begin(s1, door, "'p'", "'k'", "'1'");
        expect_one(name, "replayed_done");
        begin(s1, door, "'p'", "'k2'", "'1'");
        expect_one(name, "claimed");
        commit(s1, door, "'p'", "'k2'", "NULL", "'1'");
        expect_one(name, NULL);
        fail_claim(s1, door, "'p'", "'k3'", "NULL", "'1'", 0);
        expect_one(name, NULL);
        claim(s1, door, "'p'", "'k3'", "NULL");
        expect_one(name, "replayed_failed");
        consume(s1, door, "'c'", "'e'", "NULL");
        expect_one(name, "consume_new");
        consume(s2, door, "'c'", "'e'", "NULL");
        expect_one(name, "consume_duplicate");
    }
}

static void claim_that_waits_is_counted_once(void **state)
{
    (void)state;
    run(s1, "DELETE FROM idem.record");
    claim(s1, UDF_DOOR, "'p'", "'k'", "NULL");
    look();
    run(s2, "SELECT idem_claim('p','k',NULL,60)");
    expect_one("wait_ms", "in_progress");
}

static void unknown_and_not_ready_are_counted(void **state)
{
    (void)state;
    run(s1, "CALL idem.set_policy('u', 10, 'unknown', NULL, NULL, NULL)");
    run(s1, "CALL idem.set_policy('f', 10, 'fail', NULL, NULL, NULL)");
    EACH_DOOR(door)
    {
        const char *name = door_names[door];

        run(s1, "DELETE FROM idem.record");
        claim(s1, door, "'u'", "'k'", "NULL");
        claim(s1, door, "'f'", "'k2'", "NULL");
        run(s1, "UPDATE idem.record SET lease_until = '2020-01-01'");
        look();
        assert_string_equal(claim(s2, door, "'u'", "'k'", "NULL").state, "UNKNOWN");
        expect_one(name, "unknown");
        assert_string_equal(claim(s2, door, "'f'", "'k2'", "NULL").state, "FAILED");
        expect_one(name, "replayed_failed");

        set_clock(s1, "2080-01-01 12:00:00");
        assert_int_equal(claim(s1, door, "'p'", "'far'", "NULL").error, 52005);
        expect_one(name, "not_ready");
        assert_int_equal(fail_claim(s1, door, "'p'", "'far'", "NULL", "'1'", 0), 52005);
        expect_one(name, "not_ready");
        set_clock(s1, NULL);
        expect_text(s1, "0", "SELECT COUNT(*) FROM idem.record WHERE idem_key = 'far'");
    }
}

static void observed_refusals_are_counted_as_what_they_would_have_been(void **state)
{
    (void)state;
    run(s1, "DELETE FROM idem.record");
    run(s1, "CALL idem.set_policy('o', NULL, NULL, NULL, NULL, TRUE)");
    claim(s1, UDF_DOOR, "'o'", "'k'", "'1'");
    look();
    claim(s2, UDF_DOOR, "'o'", "'k'", "'1'");
    expect_one("observe", "in_progress");
    claim(s2, UDF_DOOR, "'o'", "'k'", "'2'");
    expect_one("observe", "payload_mismatch");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_bounds_are_taken_and_beyond_is_refused_not_clamped),
        cmocka_unit_test(refusal_names_the_variable_and_its_bounds),
        cmocka_unit_test(access_control_is_on_or_off),
        cmocka_unit_test(settings_need_the_right_to_set_them_and_probe_is_for_nobody),
        cmocka_unit_test(status_variables_are_these_and_stats_says_the_same),
        cmocka_unit_test(each_verdict_moves_its_own_counter_by_one),
        cmocka_unit_test(claim_that_waits_is_counted_once),
        cmocka_unit_test_teardown(unknown_and_not_ready_are_counted, real_clock),
        cmocka_unit_test(observed_refusals_are_counted_as_what_they_would_have_been),
    };

    return cmocka_run_group_tests_name("settings", tests, start, stop);
}
