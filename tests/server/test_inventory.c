/* SPDX-License-Identifier: GPL-2.0-only */
/* All objects of an installation, and nothing else: whoever adds, renames or loses one meets it
 * here.
 */
#include <stdbool.h>

#include "fixture.h"

/* The first column of `query` is this list, in this order. */
static void expect_list(const char *query, const char *const *expected, size_t count)
{
    MYSQL_RES *result = mysql_query(s1, query) == 0 ? mysql_store_result(s1) : NULL;
    size_t i = 0;

    if (result == NULL) {
        fail_msg("%s: %s", query, mysql_error(s1));
        return;
    }
    for (MYSQL_ROW row; (row = mysql_fetch_row(result)) != NULL; i++)
        if (i >= count || strcmp(row[0], expected[i]) != 0)
            fail_msg("there is %s where %s is expected", row[0],
                     i < count ? expected[i] : "nothing more");
    if (i < count)
        fail_msg("%s is missing", expected[i]);
    mysql_free_result(result);
}

#define EXPECT_LIST(query, ...)                                                                    \
    expect_list(query, (const char *const[]){__VA_ARGS__},                                         \
                sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* clang-format off */
static void routines(void **state)
{
    (void)state;
    EXPECT_LIST("SELECT routine_name FROM information_schema.routines "
                "WHERE routine_schema = 'idem' ORDER BY CAST(routine_name AS BINARY)",
                "_acquire",
                "_apply",
                "_audit",
                "_claim_row",
                "_ddl",
                "_event",
                "_fail_new",
                "_fence",
                "_inspect",
                "_judge",
                "_judge_row",
                "_key",
                "_literal",
                "_live_day",
                "_machine",
                "_may",
                "_next_parked",
                "_park",
                "_projection",
                "_put_machine",
                "_put_projection",
                "_quote",
                "_registry",
                "_same",
                "_set_access",
                "_set_list",
                "_settle",
                "_settle_again",
                "_take",
                "_task_begin",
                "_task_end",
                "_transition",
                "allow",
                "apply_delta",
                "apply_delta_fenced",
                "apply_delta_strict",
                "apply_snapshot",
                "apply_snapshot_fenced",
                "begin",
                "checkpoint",
                "claim",
                "claim_into",
                "commit",
                "compare_and_set",
                "consume",
                "consume_and_apply",
                "consume_many",
                "define_machine",
                "define_projection",
                "deny",
                "drop_expired",
                "drop_machine",
                "drop_projection",
                "ensure_partitions",
                "fail",
                "finish",
                "forget",
                "forget_parked",
                "peek",
                "reap",
                "release",
                "renew",
                "resolve",
                "seal_days",
                "set_policy",
                "set_projection",
                "show",
                "show_machines",
                "show_parked",
                "show_projections",
                "stuck",
                "transition",
                "transition_fenced",
                "transition_strict",
                "verify",
                "verify_guards");
}

static void functions(void **state)
{
    (void)state;
    EXPECT_LIST("SELECT CONCAT(name, ' ', ELT(ret + 1, 'string', 'real', 'integer')) "
                "FROM mysql.func WHERE dl = 'idem.so' ORDER BY CAST(name AS BINARY)",
                "idem_ack integer",
                "idem_admit integer",
                "idem_backoff_ms integer",
                "idem_begin string",
                "idem_check integer",
                "idem_checkpoint string",
                "idem_claim string",
                "idem_claim_day string",
                "idem_claim_plan string",
                "idem_commit string",
                "idem_consume string",
                "idem_consume_many string",
                "idem_count string",
                "idem_epoch integer",
                "idem_fail string",
                "idem_filter_build string",
                "idem_filter_has integer",
                "idem_finish string",
                "idem_galera integer",
                "idem_key string",
                "idem_look_days string",
                "idem_now_us integer",
                "idem_payload_hash string",
                "idem_peek string",
                "idem_policy integer",
                "idem_refused string",
                "idem_release string",
                "idem_reload integer",
                "idem_renew string",
                "idem_retryable integer",
                "idem_setting integer",
                "idem_settle_plan string",
                "idem_settled string",
                "idem_stats string",
                "idem_taken integer",
                "idem_today string",
                "idem_token integer",
                "idem_version string");
}

static void tables_views_and_triggers(void **state)
{
    (void)state;
    EXPECT_LIST("SELECT CONCAT(table_name, ' ', COALESCE(engine, table_type)) "
                "FROM information_schema.tables WHERE table_schema = 'idem' ORDER BY table_name",
                "access InnoDB",
                "audit InnoDB",
                "day VIEW",
                "galera_guard InnoDB",
                "live_day InnoDB",
                "machine InnoDB",
                "meta InnoDB",
                "parked_event InnoDB",
                "policy InnoDB",
                "projection InnoDB",
                "record InnoDB",
                "sealed_day InnoDB",
                "task InnoDB");
    expect_text(s1, "0", "SELECT COUNT(*) FROM information_schema.triggers "
                          "WHERE trigger_schema = 'idem'");
    expect_text(s1, "0", "SELECT COUNT(*) FROM information_schema.events "
                          "WHERE event_schema = 'idem'");
}

static void columns_of_record(void **state)
{
    (void)state;
    EXPECT_LIST("SELECT CONCAT(column_name, ' ', column_type, IF(is_nullable = 'YES', '', "
                "' not null'), IF(extra = '', '', CONCAT(' ', extra))) "
                "FROM information_schema.columns "
                "WHERE table_schema = 'idem' AND table_name = 'record' ORDER BY ordinal_position",
                "scope varbinary(64) not null",
                "idem_key varbinary(255) not null",
                "created_on date not null",
                "biz_type varbinary(64) not null",
                "status tinyint(3) unsigned not null",
                "attempt int(10) unsigned not null",
                "token bigint(20) unsigned not null",
                "owner_conn bigint(20) unsigned not null",
                "owner_epoch bigint(20) unsigned not null",
                "owner_account varchar(384) not null",
                "payload_hash binary(32)",
                "result longtext",
                "error longtext",
                "checkpoint longtext",
                "lease_until datetime(6)",
                "created_at datetime(6) not null",
                "updated_at datetime(6) not null",
                "finished_at datetime(6)");
    EXPECT_LIST("SELECT CONCAT(index_name, ' ', GROUP_CONCAT(column_name ORDER BY seq_in_index)) "
                "FROM information_schema.statistics "
                "WHERE table_schema = 'idem' AND table_name = 'record' GROUP BY index_name",
                "lease lease_until,status",
                "PRIMARY scope,idem_key,created_on");
}

static void system_variables(void **state)
{
    (void)state;
    EXPECT_LIST("SELECT CONCAT_WS(' ', LOWER(variable_name), variable_scope, global_value, "
                "numeric_min_value, numeric_max_value) FROM information_schema.system_variables "
                "WHERE variable_name LIKE 'idem\\_%' ORDER BY variable_name",
                "idem_access_control GLOBAL ON",
                "idem_ddl_lock_wait_ms GLOBAL 1000 1 60000",
                "idem_filter_memory_bytes GLOBAL 268435456 0 4294967295",
                "idem_lease_seconds GLOBAL 300 1 604800",
                "idem_maintenance_interval_seconds GLOBAL 60 1 86400",
                "idem_max_result_bytes GLOBAL 1048576 1 16777216",
                "idem_partitions_ahead GLOBAL 7 1 365",
                "idem_probe SESSION 0 0 1",
                "idem_reap_batch GLOBAL 500 1 10000",
                "idem_reap_interval_seconds GLOBAL 10 1 86400",
                "idem_retention_days GLOBAL 30 1 3650",
                "idem_test_now_us GLOBAL 0 0 253402300799999999",
                "idem_wait_ms GLOBAL 0 0 60000");
}

static void roles(void **state)
{
    static const char grants[] =
        "SELECT CONCAT(routine_name, ' ', proc_priv) FROM mysql.procs_priv "
        "WHERE user = '%s' AND db = 'idem' ORDER BY CAST(routine_name AS BINARY)";
    char query[256];

    (void)state;
    snprintf(query, sizeof(query), grants, "idem_app");
    EXPECT_LIST(query,
                "_apply Execute",
                "_event Execute",
                "_fence Execute",
                "_literal Execute",
                "_machine Execute",
                "_next_parked Execute",
                "_park Execute",
                "_projection Execute",
                "_quote Execute",
                "_same Execute",
                "_transition Execute",
                "apply_delta Execute",
                "apply_delta_fenced Execute",
                "apply_delta_strict Execute",
                "apply_snapshot Execute",
                "apply_snapshot_fenced Execute",
                "begin Execute",
                "checkpoint Execute",
                "claim Execute",
                "claim_into Execute",
                "commit Execute",
                "compare_and_set Execute",
                "consume Execute",
                "consume_and_apply Execute",
                "consume_many Execute",
                "fail Execute",
                "finish Execute",
                "peek Execute",
                "release Execute",
                "renew Execute",
                "transition Execute",
                "transition_fenced Execute",
                "transition_strict Execute");
    snprintf(query, sizeof(query), grants, "idem_operator");
    EXPECT_LIST(query,
                "_inspect Execute",
                "_put_machine Execute",
                "_put_projection Execute",
                "_registry Execute",
                "allow Execute",
                "define_machine Execute",
                "define_projection Execute",
                "deny Execute",
                "drop_expired Execute",
                "drop_machine Execute",
                "drop_projection Execute",
                "ensure_partitions Execute",
                "forget Execute",
                "forget_parked Execute",
                "reap Execute",
                "resolve Execute",
                "seal_days Execute",
                "set_policy Execute",
                "set_projection Execute",
                "show Execute",
                "show_machines Execute",
                "show_parked Execute",
                "show_projections Execute",
                "stuck Execute",
                "verify Execute",
                "verify_guards Execute");
    EXPECT_LIST("SELECT CONCAT(user, '@', host) FROM mysql.global_priv "
                "WHERE user LIKE 'idem%' ORDER BY user",
                "idem@localhost", "idem_app@", "idem_operator@");
    EXPECT_LIST("SELECT CONCAT(grantee, ' ', table_schema, ' ', GROUP_CONCAT(privilege_type ORDER BY "
                "privilege_type)) FROM information_schema.schema_privileges "
                "WHERE grantee LIKE '''idem%' GROUP BY grantee, table_schema ORDER BY grantee",
                "'idem'@'localhost' idem ALTER,CREATE,DELETE,DROP,EXECUTE,INSERT,SELECT,SHOW VIEW,"
                "TRIGGER,UPDATE",
                "'idem_operator'@'' idem SELECT");
}
/* clang-format on */

static void definer_owns_schema_idem_alone_and_nobody_can_log_in_as_it(void **state)
{
    (void)state;
    EXPECT_LIST("SELECT privilege_type FROM information_schema.user_privileges "
                "WHERE grantee = '''idem''@''localhost'''",
                "USAGE");
    expect_text(s1, "1",
                "SELECT JSON_VALUE(Priv, '$.account_locked') FROM mysql.global_priv "
                "WHERE user = 'idem'");
}

/* clang-format off */
/* The guards touch the application's own tables, so they run with the invoker's rights. */
static void routines_with_the_rights_of_the_invoker(void **state)
{
    (void)state;
    EXPECT_LIST("SELECT routine_name FROM information_schema.routines WHERE routine_schema = 'idem' "
                "AND security_type = 'INVOKER' ORDER BY CAST(routine_name AS BINARY)",
                "_apply",
                "_inspect",
                "_literal",
                "_quote",
                "_same",
                "_transition",
                "apply_delta",
                "apply_delta_fenced",
                "apply_delta_strict",
                "apply_snapshot",
                "apply_snapshot_fenced",
                "compare_and_set",
                "consume_and_apply",
                "define_machine",
                "define_projection",
                "transition",
                "transition_fenced",
                "transition_strict",
                "verify_guards");
}
/* clang-format on */

static void every_routine_is_documented_and_belongs_to_idem(void **state)
{
    (void)state;
    expect_text(s1, "NULL",
                "SELECT GROUP_CONCAT(routine_name) FROM information_schema.routines "
                "WHERE routine_schema = 'idem' AND definer <> 'idem@localhost'");
    expect_text(s1, "NULL",
                "SELECT GROUP_CONCAT(routine_name) FROM information_schema.routines "
                "WHERE routine_schema = 'idem' AND IF(LEFT(routine_name, 1) = '_', "
                "routine_comment NOT LIKE '%%Private:%%', routine_comment NOT LIKE "
                "'%%Example: CALL idem.%%')");
    expect_text(s1, "NULL",
                "SELECT GROUP_CONCAT(table_name) FROM information_schema.tables "
                "WHERE table_schema = 'idem' AND table_type = 'BASE TABLE' AND table_comment = ''");
    expect_text(s1, "NULL",
                "SELECT GROUP_CONCAT(variable_name) FROM information_schema.system_variables "
                "WHERE variable_name LIKE 'idem\\_%%' AND variable_comment = ''");
}

static void every_callable_routine_is_granted_to_a_role(void **state)
{
    (void)state;
    expect_text(s1, "NULL",
                "SELECT GROUP_CONCAT(r.routine_name) FROM information_schema.routines r "
                "WHERE r.routine_schema = 'idem' AND LEFT(r.routine_name, 1) <> '_' AND NOT "
                "EXISTS (SELECT 1 FROM mysql.procs_priv p WHERE p.db = 'idem' AND "
                "p.routine_name = r.routine_name)");
}

static void case_13_record_has_no_auto_increment_and_no_foreign_key(void **state)
{
    (void)state;
    expect_text(s1, "0",
                "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = 'idem' AND "
                "table_name = 'record' AND extra LIKE '%%auto_increment%%'");
    expect_text(s1, "0",
                "SELECT COUNT(*) FROM information_schema.referential_constraints "
                "WHERE constraint_schema = 'idem' AND table_name = 'record'");
}

static void plugin_is_loaded_once_and_says_what_it_is(void **state)
{
    (void)state;
    EXPECT_LIST("SELECT CONCAT_WS(' ', plugin_name, plugin_status, plugin_type, plugin_license, "
                "plugin_maturity) FROM information_schema.plugins WHERE plugin_library = 'idem.so'",
                "idem ACTIVE AUDIT GPL Gamma");
    expect_text(s1, "1",
                "SELECT plugin_auth_version = idem_version() AND idem_version() = (SELECT value "
                "FROM idem.meta WHERE name = 'version') FROM information_schema.plugins "
                "WHERE plugin_name = 'idem'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(routines),
        cmocka_unit_test(functions),
        cmocka_unit_test(tables_views_and_triggers),
        cmocka_unit_test(columns_of_record),
        cmocka_unit_test(system_variables),
        cmocka_unit_test(roles),
        cmocka_unit_test(definer_owns_schema_idem_alone_and_nobody_can_log_in_as_it),
        cmocka_unit_test(routines_with_the_rights_of_the_invoker),
        cmocka_unit_test(every_routine_is_documented_and_belongs_to_idem),
        cmocka_unit_test(every_callable_routine_is_granted_to_a_role),
        cmocka_unit_test(case_13_record_has_no_auto_increment_and_no_foreign_key),
        cmocka_unit_test(plugin_is_loaded_once_and_says_what_it_is),
    };

    return cmocka_run_group_tests_name("inventory", tests, fixture_start, fixture_stop);
}
