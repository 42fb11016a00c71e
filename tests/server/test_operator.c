/* SPDX-License-Identifier: GPL-2.0-only */
/* What operators do by hand: access, policies, looking, resolving, forgetting, and its audit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "claims.h"
#include "server.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct server *server;
static MYSQL *root, *s2, *shop, *stranger, *desk;

static int start(void **state)
{
    (void)state;
    server = server_start(NULL);
    root = server_connect(server);
    s2 = server_connect(server);
    create_account(root, "shop", "idem_app");
    create_account(root, "sh@op", "idem_app");
    create_account(root, "Shop", "idem_app");
    create_account(root, "operator", "idem_operator");
    run(root, "CREATE USER stranger@localhost");
    shop = server_connect_as(server, "shop", 0);
    stranger = server_connect_as(server, "stranger", 0);
    desk = server_connect_as(server, "operator", 0);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    mysql_close(root);
    mysql_close(s2);
    mysql_close(shop);
    mysql_close(stranger);
    mysql_close(desk);
    server_stop(server);
    return 0;
}

static int empty(void **state)
{
    (void)state;
    set_clock(root, NULL);
    run(root, "DELETE FROM idem.record");
    run(root, "DELETE FROM idem.policy");
    run(root, "DELETE FROM idem.access WHERE user <> 'root'");
    run(root, "SELECT idem_reload()");
    run(root, "DELETE FROM idem.audit");
    run(root, "SET GLOBAL idem_access_control = DEFAULT");
    return 0;
}

/* 0 when the account may claim under this biz_type, else the error; both doors agree. */
static unsigned int may(MYSQL *sql, const char *biz_type)
{
    unsigned int error[2];

    EACH_DOOR(door)
    {
        error[door] = claim(sql, door, biz_type, "UUID()", "NULL").error;
        if (error[door] != consume(sql, door, biz_type, "UUID()", "NULL").error)
            fail_msg("%s door: claim and consume differ on %s", door_names[door], biz_type);
    }
    assert_int_equal(error[0], error[1]);
    return error[0];
}

static void case_38_account_without_rights_gets_1370_and_52007_and_stores_nothing(void **state)
{
    static const char *const calls[][2] = {
        {"CALL idem.claim('p','k',NULL)", "SELECT idem_claim('p','k')"},
        {"CALL idem.begin('p','k',NULL)", "SELECT idem_begin('p','k')"},
        {"CALL idem.consume('p','k',NULL)", "SELECT idem_consume('p','k')"},
        {"CALL idem.peek('p','k')", "SELECT idem_peek('p','k')"},
        {"CALL idem.finish('p','k',NULL,'1')", "SELECT idem_finish('p','k','1')"},
        {"CALL idem.fail('p','k',NULL,'1',0)", "SELECT idem_fail('p','k','1')"},
        {"CALL idem.release('p','k',NULL)", "SELECT idem_release('p','k')"},
        {"CALL idem.renew('p','k',NULL,1)", "SELECT idem_renew('p','k')"},
        {"CALL idem.checkpoint('p','k',NULL,'1')", "SELECT idem_checkpoint('p','k','1')"},
        {"CALL idem.commit('p','k',NULL,'1')", "SELECT idem_commit('p','k','1')"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(calls); i++) {
        expect_errno(stranger, 1370, "%s", calls[i][PROCEDURE_DOOR]);
        expect_errno(stranger, 52007, "%s", calls[i][UDF_DOOR]);
        /* EXECUTE alone is not enough. */
        expect_errno(shop, 52007, "%s", calls[i][PROCEDURE_DOOR]);
        expect_errno(shop, 52007, "%s", calls[i][UDF_DOOR]);
    }
    assert_non_null(strstr(mysql_error(shop), "shop@localhost"));
    expect_errno(shop, 1370, "CALL idem._claim_row('p','k',NULL,0)");
    expect_errno(shop, 1370, "CALL idem._admit('claim','p','k',@a,@b,@c,@d,@e)");
    expect_errno(shop, 1142, "INSERT INTO idem.access VALUES ('shop','%%','%%',1,NOW(),'')");
    expect_errno(shop, 1142, "SELECT * FROM idem.record");
    expect_errno(shop, 1370, "CALL idem.allow('shop','%%','%%')");
    expect_text(root, "0", "SELECT COUNT(*) FROM idem.record");
}

static void roles_reach_their_own_calls_only(void **state)
{
    static const char *const calls[] = {
        "allow('u','%%','p')", "deny('u','%%','p')", "set_policy('p',1,NULL,NULL,NULL,NULL)",
        "show('p','k')",       "stuck(1)",           "ensure_partitions()"};

    (void)state;
    for (size_t i = 0; i < COUNT(calls); i++) {
        run(desk, "CALL idem.%s", calls[i]);
        expect_errno(shop, 1370, "CALL idem.%s", calls[i]);
        expect_errno(stranger, 1370, "CALL idem.%s", calls[i]);
    }
    run(desk, "SELECT * FROM idem.record, idem.audit, idem.access, idem.policy LIMIT 1");
    expect_errno(desk, 1142, "DELETE FROM idem.record");
    expect_errno(desk, 1142, "DELETE FROM idem.audit");
    expect_errno(desk, 1370, "CALL idem.claim('p','k',NULL)");
    expect_errno(desk, 52007, "SELECT idem_claim('p','k')");
}

static void allow_matches_biz_type_by_pattern(void **state)
{
    (void)state;
    run(desk, "CALL idem.allow('shop', 'localhost', 'pay%%')");
    assert_int_equal(may(shop, "'pay'"), 0);
    assert_int_equal(may(shop, "'payment'"), 0);
    assert_int_equal(may(shop, "'Pay'"), 52007); /* bytes: case counts */
    assert_int_equal(may(shop, "'xpay'"), 52007);
    run(desk, "CALL idem.allow('shop', '%%', 'a_b')");
    assert_int_equal(may(shop, "'axb'"), 0);
    assert_int_equal(may(shop, "'a_b'"), 0);
    run(desk, "CALL idem.allow('shop', '%%', 'c\\\\_d')");
    assert_int_equal(may(shop, "'c_d'"), 0);
    assert_int_equal(may(shop, "'cxd'"), 52007);
    run(desk, "CALL idem.allow('shop', '%%', 'bücher')");
    assert_int_equal(may(shop, "'bücher'"), 0);
    assert_int_equal(may(shop, "'bucher'"), 52007);
    /* The caller's modes do not change what a pattern means. */
    run(shop, "SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES'");
    assert_int_equal(may(shop, "'c_d'"), 0);
    assert_int_equal(may(shop, "'cxd'"), 52007);
    run(shop, "SET SESSION sql_mode = DEFAULT");
}

static void allow_matches_user_exactly_and_host_by_pattern(void **state)
{
    MYSQL *other = server_connect_as(server, "Shop", 0);
    MYSQL *at = server_connect_as(server, "sh@op", 0);

    (void)state;
    run(desk, "CALL idem.allow('shop', '10.0.%%', '%%')");
    assert_int_equal(may(shop, "'p'"), 52007);
    run(desk, "CALL idem.allow('sh%%', '%%', '%%')");
    assert_int_equal(may(shop, "'p'"), 52007);
    run(desk, "CALL idem.allow('shop', 'LOCAL%%', 'p')");
    assert_int_equal(may(shop, "'p'"), 0);
    assert_int_equal(may(other, "'p'"), 52007);
    run(desk, "CALL idem.allow('sh@op', 'localhost', 'p')");
    assert_int_equal(may(at, "'p'"), 0);
    assert_int_equal(may(at, "'q'"), 52007);
    mysql_close(other);
    mysql_close(at);
}

static void deny_wins_over_every_allow_and_the_last_word_on_the_same_three_counts(void **state)
{
    (void)state;
    run(desk, "CALL idem.allow('shop', '%%', '%%')");
    assert_int_equal(may(shop, "'refund'"), 0);
    run(desk, "CALL idem.deny('shop', 'local%%', 'ref%%')");
    run(desk, "CALL idem.allow('shop', 'localhost', 'refund')");
    assert_int_equal(may(shop, "'refund'"), 52007);
    assert_int_equal(may(shop, "'pay'"), 0);
    run(desk, "CALL idem.allow('shop', 'local%%', 'ref%%')");
    assert_int_equal(may(shop, "'refund'"), 0);
    run(desk, "CALL idem.deny('shop', '%%', '%%')");
    assert_int_equal(may(shop, "'pay'"), 52007);
    /* Root is an account like any other. */
    run(desk, "CALL idem.deny('root', '%%', 'secret')");
    assert_int_equal(may(root, "'secret'"), 52007);
    assert_int_equal(may(root, "'p'"), 0);
    run(root, "DELETE FROM idem.access WHERE biz_type = 'secret'");
    run(root, "SELECT idem_reload()");
}

static void access_control_off_lets_everybody_in_and_execute_still_applies(void **state)
{
    (void)state;
    run(root, "SET GLOBAL idem_access_control = OFF");
    assert_int_equal(may(shop, "'p'"), 0);
    expect_text(stranger, "CLAIMED", "SELECT JSON_VALUE(idem_claim('p','k'),'$.state')");
    expect_errno(stranger, 1370, "CALL idem.claim('p','k',NULL)");
    run(root, "SET GLOBAL idem_access_control = ON");
    assert_int_equal(may(shop, "'p'"), 52007);
}

static void bad_values_are_52001_and_leave_neither_rule_nor_audit(void **state)
{
    static const char *const calls[] = {
        "allow(NULL,'%','p')",
        "allow(REPEAT('u',129),'%','p')",
        "allow('u',NULL,'p')",
        "allow('u','','p')",
        "allow('u',REPEAT('h',256),'p')",
        "allow('u','%',NULL)",
        "allow('u','%','')",
        "allow('u','%',' ')",
        "allow('u','%',REPEAT('b',65))",
        "allow('u','%',x'E9')",
        "deny(NULL,'%','p')",
        "deny('u','%',NULL)",
        "deny('u','%',x'FF')",
        "set_policy(NULL,1,NULL,NULL,NULL,NULL)",
        "set_policy('',1,NULL,NULL,NULL,NULL)",
        "set_policy(REPEAT('b',65),1,NULL,NULL,NULL,NULL)",
        "set_policy(x'E9',1,NULL,NULL,NULL,NULL)",
        "set_policy('p',0,NULL,NULL,NULL,NULL)",
        "set_policy('p',-1,NULL,NULL,NULL,NULL)",
        "set_policy('p',604801,NULL,NULL,NULL,NULL)",
        "set_policy('p',NULL,'',NULL,NULL,NULL)",
        "set_policy('p',NULL,'never',NULL,NULL,NULL)",
        "set_policy('p',NULL,NULL,0,NULL,NULL)",
        "set_policy('p',NULL,NULL,-1,NULL,NULL)",
        "set_policy('p',NULL,NULL,16777217,NULL,NULL)",
        "show(NULL,'k')",
        "show('p','')",
        "show('p',REPEAT('k',256))",
        "forget(NULL,'k')",
        "forget('p',NULL)",
        "forget('p','none')",
        "resolve(NULL,'k','done','1')",
        "resolve('p',' ','done','1')",
        "resolve('p','none','done','1')",
        "resolve('p','none',NULL,'1')",
        "resolve('p','none','','1')",
        "resolve('p','none','finished','1')",
    };
    static const char *const modes[] = {"DEFAULT", "''", "'TRADITIONAL'"};

    (void)state;
    for (size_t mode = 0; mode < COUNT(modes); mode++) {
        run(desk, "SET SESSION sql_mode = %s", modes[mode]);
        for (size_t i = 0; i < COUNT(calls); i++)
            expect_errno(desk, 52001, "CALL idem.%s", calls[i]);
    }
    run(desk, "SET SESSION sql_mode = DEFAULT");
    expect_text(root, "1", "SELECT COUNT(*) FROM idem.access");
    expect_text(root, "0", "SELECT COUNT(*) FROM idem.policy");
    expect_text(root, "0", "SELECT COUNT(*) FROM idem.audit");
}

static void policy_is_replaced_whole_and_null_is_the_default(void **state)
{
    (void)state;
    run(desk, "CALL idem.set_policy('p', 7, 'unknown', 99, TRUE, TRUE)");
    expect_text(root, "7,unknown,99,1,1,operator@localhost",
                "SELECT CONCAT_WS(',', lease_seconds, on_expiry, max_result_bytes, "
                "require_payload, observe, updated_by) FROM idem.policy");
    run(desk, "CALL idem.set_policy('p', 604800, 'fail', 16777216, FALSE, NULL)");
    run(desk, "CALL idem.set_policy('p', NULL, NULL, NULL, NULL, NULL)");
    expect_text(root, "NULL,retry,NULL,0,0",
                "SELECT CONCAT_WS(',', COALESCE(lease_seconds,'NULL'), on_expiry, "
                "COALESCE(max_result_bytes,'NULL'), require_payload, observe) FROM idem.policy");
    EACH_DOOR(door)
    {
        run(root, "DELETE FROM idem.record");
        run(desk, "CALL idem.set_policy('p', 7, NULL, NULL, NULL, NULL)");
        claim(root, door, "'p'", "'k'", "NULL");
        claim(root, door, "'q'", "'k2'", "NULL");
        expect_text(root, "7000000,300000000",
                    "SELECT GROUP_CONCAT(TIMESTAMPDIFF(MICROSECOND, created_at, lease_until) "
                    "ORDER BY idem_key) FROM idem.record");
    }
}

static void show_gives_the_whole_record_of_a_claim_and_of_an_event(void **state)
{
    MYSQL_RES *result;
    MYSQL_ROW row;

    (void)state;
    expect_text(desk, "NULL", "CALL idem.show('p','k')"); /* no row */
    claim(root, UDF_DOOR, "'p'", "'k'", "'1'");
    finish(root, UDF_DOOR, "'p'", "'k'", "NULL", "'{\"a\":\"é\"}'");
    consume(root, UDF_DOOR, "'p'", "'k'", "NULL");
    expect_text(desk, "NULL", "CALL idem.show('q','k')");
    assert_int_equal(mysql_query(desk, "CALL idem.show('p','k')"), 0);
    result = mysql_store_result(desk);
    assert_int_equal(mysql_num_rows(result), 2);
    row = mysql_fetch_row(result);
    assert_string_equal(row[0], "");
    assert_string_equal(row[1], "k");
    assert_string_equal(row[4], "done");
    assert_string_equal(row[10], "{\"a\":\"é\"}");
    row = mysql_fetch_row(result);
    assert_string_equal(row[0], "p");
    mysql_free_result(result);
    while (mysql_next_result(desk) == 0)
        continue;
}

static void stuck_lists_lapsed_and_unknown_claims_oldest_first(void **state)
{
    (void)state;
    set_clock(root, "2026-11-30 12:00:00");
    run(root, "CALL idem.ensure_partitions()");
    run(root, "CALL idem.set_policy('u', 10, 'unknown', NULL, NULL, NULL)");
    claim(root, UDF_DOOR, "'p'", "'older'", "NULL");
    set_clock(root, "2026-11-30 12:01:00");
    claim(root, UDF_DOOR, "'p'", "'newer'", "NULL");
    claim(root, UDF_DOOR, "'u'", "'unknown'", "NULL");
    claim(root, UDF_DOOR, "'p'", "'done'", "NULL");
    finish(root, UDF_DOOR, "'p'", "'done'", "NULL", "1");
    claim(root, UDF_DOOR, "'p'", "'released'", "NULL");
    release(root, UDF_DOOR, "'p'", "'released'", "NULL");
    expect_text(desk, "NULL", "CALL idem.stuck(NULL)");
    set_clock(root, "2026-11-30 12:02:00");
    claim(s2, UDF_DOOR, "'u'", "'unknown'", "NULL");
    assert_int_equal(mysql_query(desk, "CALL idem.stuck(NULL)"), 0);
    {
        MYSQL_RES *result = mysql_store_result(desk);

        assert_int_equal(mysql_num_rows(result), 1);
        assert_string_equal(mysql_fetch_row(result)[1], "unknown");
        mysql_free_result(result);
        while (mysql_next_result(desk) == 0)
            continue;
    }
    set_clock(root, "2026-11-30 13:00:00");
    assert_int_equal(mysql_query(desk, "CALL idem.stuck(2)"), 0);
    {
        MYSQL_RES *result = mysql_store_result(desk);

        assert_int_equal(mysql_num_rows(result), 2);
        assert_string_equal(mysql_fetch_row(result)[1], "older");
        assert_string_equal(mysql_fetch_row(result)[1], "newer");
        mysql_free_result(result);
        while (mysql_next_result(desk) == 0)
            continue;
    }
}

/* A committed claim of root's, left unfinished or made UNKNOWN. */
static unsigned long long leave(enum door door, const char *status)
{
    struct answer answer;

    run(root, "DELETE FROM idem.record");
    answer = claim(root, door, "'p'", "'k'", "NULL");
    run(root, "UPDATE idem.record SET status = %s, lease_until = IF(%s = 0, lease_until, NULL)",
        status, status);
    return answer.token;
}

static void resolve_ends_a_claim_and_the_late_owner_is_refused(void **state)
{
    static const struct {
        const char *verdict, *state, *result, *failure;
    } verdicts[] = {{"done", "DONE", "{\"by\":\"hand\"}", ""},
                    {"failed", "FAILED", "", "{\"by\":\"hand\"}"},
                    {"retry", "RECLAIMED", "", ""}};
    static const char *const from[] = {"0", "3", "4"}; /* in progress, unknown, released */

    (void)state;
    EACH_DOOR(door)
    for (size_t i = 0; i < COUNT(verdicts); i++)
        for (size_t k = 0; k < COUNT(from); k++) {
            char token[32];
            struct answer answer;
            unsigned long long old = leave(door, from[k]);

            snprintf(token, sizeof(token), "%llu", old);
            if (strcmp(verdicts[i].verdict, "retry") == 0)
                run(root, "UPDATE idem.record SET lease_until = created_at WHERE status = 0");
            run(desk, "CALL idem.resolve('p','k','%s','{\"by\":\"hand\"}')", verdicts[i].verdict);
            assert_int_equal(finish(root, door, "'p'", "'k'", "NULL", "'1'"), 52004);
            assert_int_equal(finish(root, door, "'p'", "'k'", token, "'1'"), 52004);
            assert_int_equal(checkpoint(root, door, "'p'", "'k'", token, "'1'"), 52004);
            assert_int_equal(renew(root, door, "'p'", "'k'", token, "10"), 52004);
            answer = claim(s2, door, "'p'", "'k'", "NULL");
            assert_string_equal(answer.state, verdicts[i].state);
            assert_string_equal(answer.result, verdicts[i].result);
            assert_string_equal(answer.failure, verdicts[i].failure);
            if (strcmp(answer.state, "RECLAIMED") == 0) {
                assert_int_equal(answer.attempt, 2);
                assert_true(answer.token > old);
                assert_int_equal(finish(root, door, "'p'", "'k'", token, "'1'"), 52004);
            }
        }
}

/* A second click on retry, when somebody is at work again. */
static void resolve_lets_nobody_work_beside_an_owner(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        char token[32];

        leave(door, "3");
        run(desk, "CALL idem.resolve('p','k','retry',NULL)");
        snprintf(token, sizeof(token), "%llu", claim(s2, door, "'p'", "'k'", "NULL").token);
        expect_errno(desk, 52001, "CALL idem.resolve('p','k','retry',NULL)");
        assert_string_equal(claim(root, door, "'p'", "'k'", "NULL").state, "IN_PROGRESS");
        assert_int_equal(finish(root, door, "'p'", "'k'", token, "'1'"), 0);
    }
}

static void resolve_refuses_what_is_finished_and_what_is_not_json(void **state)
{
    static const char *const bad[] = {"'{'", "''", "x'22E922'", "'abc'"};

    (void)state;
    leave(UDF_DOOR, "0");
    for (size_t i = 0; i < COUNT(bad); i++)
        expect_errno(desk, 52001, "CALL idem.resolve('p','k','done',%s)", bad[i]);
    expect_errno(desk, 52001, "CALL idem.resolve('q','k','done','1')");
    expect_text(root, "1", "SELECT COUNT(*) FROM idem.record WHERE status = 0 AND result IS NULL");
    run(desk, "CALL idem.resolve('p','k','done',NULL)");
    assert_string_equal(claim(s2, UDF_DOOR, "'p'", "'k'", "NULL").result, "null");
    expect_errno(desk, 52001, "CALL idem.resolve('p','k','failed','1')");
    expect_errno(desk, 52001, "CALL idem.resolve('p','k','retry',NULL)");
    assert_string_equal(claim(s2, UDF_DOOR, "'p'", "'k'", "NULL").state, "DONE");
}

static void forget_makes_the_next_claim_a_first_one(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        struct answer first, again;

        empty(state);
        first = claim(root, door, "'p'", "'k'", "NULL");
        finish(root, door, "'p'", "'k'", "NULL", "'{}'");
        consume(root, door, "'c'", "'k'", "NULL");
        expect_errno(desk, 52001, "CALL idem.forget('q','k')");
        run(desk, "CALL idem.forget('p','k')");
        again = claim(s2, door, "'p'", "'k'", "NULL");
        assert_string_equal(again.state, "CLAIMED");
        assert_int_equal(again.attempt, 1);
        assert_true(again.token > first.token);
        assert_string_equal(consume(root, door, "'c'", "'k'", "NULL").state, "DUPLICATE");
        run(desk, "CALL idem.forget('c','k')");
        assert_string_equal(consume(root, door, "'c'", "'k'", "NULL").state, "NEW");
        expect_text(root, "2", "SELECT COUNT(*) FROM idem.audit WHERE action = 'forget'");
    }
}

static void each_change_leaves_one_audit_row_in_its_own_transaction(void **state)
{
    static const char *const calls[][3] = {
        {"allow('u','%%','p')", "allow", "{\"user\": \"u\", \"host\": \"%\"}"},
        {"deny('u','%%','p')", "deny", "{\"user\": \"u\", \"host\": \"%\"}"},
        {"set_policy('p',5,NULL,NULL,NULL,NULL)", "set_policy", NULL},
        {"resolve('p','k','done','{\"a\":1}')", "resolve",
         "{\"verdict\": \"done\", \"json\": {\"a\":1}}"},
        {"forget('p','k')", "forget", NULL},
    };

    (void)state;
    leave(UDF_DOOR, "3");
    for (size_t i = 0; i < COUNT(calls); i++) {
        char call[128];

        snprintf(call, sizeof(call), "CALL idem.%s", calls[i][0]);
        run(root, "DELETE FROM idem.audit");
        run(desk, "BEGIN");
        run(desk, call);
        run(desk, "ROLLBACK");
        expect_text(root, "0", "SELECT COUNT(*) FROM idem.audit");
        run(desk, call);
        expect_text(root, calls[i][1],
                    "SELECT MAX(action) FROM idem.audit HAVING COUNT(*) = 1 AND "
                    "MAX(account) = 'operator@localhost' AND MAX(biz_type) = 'p' AND "
                    "MIN(JSON_VALID(detail)) = 1");
        expect_text(root, i < 3 ? "NULL" : "k", "SELECT idem_key FROM idem.audit");
        if (calls[i][2] != NULL)
            expect_text(root, calls[i][2], "SELECT detail FROM idem.audit");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(
            case_38_account_without_rights_gets_1370_and_52007_and_stores_nothing, empty),
        cmocka_unit_test_setup(roles_reach_their_own_calls_only, empty),
        cmocka_unit_test_setup(allow_matches_biz_type_by_pattern, empty),
        cmocka_unit_test_setup(allow_matches_user_exactly_and_host_by_pattern, empty),
        cmocka_unit_test_setup(
            deny_wins_over_every_allow_and_the_last_word_on_the_same_three_counts, empty),
        cmocka_unit_test_setup(access_control_off_lets_everybody_in_and_execute_still_applies,
                               empty),
        cmocka_unit_test_setup(bad_values_are_52001_and_leave_neither_rule_nor_audit, empty),
        cmocka_unit_test_setup(policy_is_replaced_whole_and_null_is_the_default, empty),
        cmocka_unit_test_setup(show_gives_the_whole_record_of_a_claim_and_of_an_event, empty),
        cmocka_unit_test_setup(stuck_lists_lapsed_and_unknown_claims_oldest_first, empty),
        cmocka_unit_test_setup(resolve_ends_a_claim_and_the_late_owner_is_refused, empty),
        cmocka_unit_test_setup(resolve_lets_nobody_work_beside_an_owner, empty),
        cmocka_unit_test_setup(resolve_refuses_what_is_finished_and_what_is_not_json, empty),
        cmocka_unit_test_setup(forget_makes_the_next_claim_a_first_one, empty),
        cmocka_unit_test_setup(each_change_leaves_one_audit_row_in_its_own_transaction, empty),
    };

    return cmocka_run_group_tests_name("operator", tests, start, stop);
}
