/* SPDX-License-Identifier: GPL-2.0-only */
/* Results, errors and checkpoints through both doors: refused whole or kept byte for byte. */
#include "fixture.h"

static int empty(void **state)
{
    (void)state;
    run(s1, "ROLLBACK");
    run(s1, "SET NAMES utf8mb4, SESSION sql_mode=DEFAULT, GLOBAL idem_max_result_bytes=DEFAULT");
    run(s1, "DELETE FROM idem.record");
    run(s1, "DELETE FROM idem.policy");
    run(s1, "SELECT idem_reload()");
    return 0;
}

static void expect_in_progress_and_untouched(void)
{
    expect_text(
        s1, "1",
        "SELECT COUNT(*) FROM idem.record WHERE idem_key = 'k' AND status = 0 AND result IS "
        "NULL AND error IS NULL AND checkpoint IS NULL AND finished_at IS NULL");
}

static void case_23_text_that_is_not_json_is_refused_and_the_claim_stays_open(void **state)
{
    static const char *const bad[] = {"'{\"a\":1'",
                                      "''",
                                      "' '",
                                      "'{\"a\":NaN}'",
                                      "'{\"a\":1}}'",
                                      "'abc'",
                                      "'{a:1}'",
                                      "'[1,]'",
                                      "x'22E922'",
                                      "x'22C322'",
                                      "CONCAT('\"a', CHAR(0), '\"')",
                                      "CONCAT('{}', CHAR(0))",
                                      "LEFT(CONCAT('\"', REPEAT('x', 100), '\"'), 50)",
                                      "CONCAT(REPEAT('[',32),REPEAT(']',32))"};
    static const char *const modes[] = {"''", "DEFAULT", "'TRADITIONAL'"};

    (void)state;
    EACH_DOOR(door)
    for (size_t mode = 0; mode < COUNT(modes); mode++) {
        empty(state);
        run(s1, "SET SESSION sql_mode=%s", modes[mode]);
        assert_string_equal(claim(s1, door, "'p'", "'k'", "NULL").state, "CLAIMED");
        for (size_t i = 0; i < COUNT(bad); i++) {
            if (finish(s1, door, "'p'", "'k'", "NULL", bad[i]) != 52001 ||
                fail_claim(s1, door, "'p'", "'k'", "NULL", bad[i], 0) != 52001 ||
                fail_claim(s1, door, "'p'", "'k'", "NULL", bad[i], 1) != 52001 ||
                checkpoint(s1, door, "'p'", "'k'", "NULL", bad[i]) != 52001 ||
                commit(s1, door, "'p'", "'k'", "NULL", bad[i]) != 52001)
                fail_msg("%s: %u %s", bad[i], mysql_errno(s1), mysql_error(s1));
            expect_in_progress_and_untouched();
        }
        assert_int_equal(finish(s1, door, "'p'", "'k'", "NULL", "'{\"a\":1}'"), 0);
        assert_string_equal(claim(s2, door, "'p'", "'k'", "NULL").result, "{\"a\":1}");
    }
}

/* Claims as s1, finishes with `result`, and asks as s2 through both doors for the replay. */
static void expect_replay(enum door door, const char *result, const char *expected)
{
    empty(NULL);
    assert_string_equal(claim(s1, door, "'p'", "'k'", "NULL").state, "CLAIMED");
    if (finish(s1, door, "'p'", "'k'", "NULL", result) != 0)
        fail_msg("%s: %s", result, mysql_error(s1));
    for (int i = 0; i < 2; i++) {
        enum door other = (enum door)i;
        struct answer answer = claim(s2, other, "'p'", "'k'", "NULL");

        assert_string_equal(answer.state, "DONE");
        assert_string_equal(answer.result, expected);
        answer = peek(s2, other, "'p'", "'k'");
        assert_string_equal(answer.state, "DONE");
        assert_string_equal(answer.result, expected);
        answer = begin(s2, other, "'p'", "'k'", "NULL");
        assert_string_equal(answer.state, "DONE");
        assert_string_equal(answer.result, expected);
    }
}

static void case_23_null_and_scalars_are_results_and_sql_null_is_json_null(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        expect_replay(door, "NULL", "null");
        expect_replay(door, "'null'", "null");
        expect_replay(door, "@never_set", "null");
        expect_replay(door, "'\"x\"'", "\"x\"");
        expect_replay(door, "'true'", "true");
        expect_replay(door, "1", "1");
        expect_replay(door, "1.50", "1.50");
        expect_replay(door, "'[]'", "[]");
        expect_replay(door, "'\"\"'", "\"\"");
        expect_replay(door, "JSON_OBJECT('a', 1)", "{\"a\": 1}");
    }
}

static void result_is_replayed_byte_for_byte(void **state)
{
    static const char text[] =
        " { \"b\" : 1.0,\\n\\t\"b\":1e0 ,\"a\":\"\\\\u00e9é😀\\\\/\\\\\"}],\","
        "\"big\":12345678901234567890123 }";
    static const char sent[] = " { \"b\" : 1.0,\n\t\"b\":1e0 ,\"a\":\"\\u00e9é😀\\/\\\"}],\","
                               "\"big\":12345678901234567890123 }";
    char quoted[256];

    (void)state;
    snprintf(quoted, sizeof(quoted), "'%s'", text);
    EACH_DOOR(door)
    {
        expect_replay(door, quoted, sent);
        expect_replay(door, "CONCAT(REPEAT('[',31),REPEAT(']',31))",
                      "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]");
    }
}

static void case_24_answer_is_utf8_json_that_json_functions_read(void **state)
{
    (void)state;
    empty(state);
    claim(s1, UDF_DOOR, "'p'", "'C24'", "NULL");
    assert_int_equal(finish(s1, UDF_DOOR, "'p'", "'C24'", "NULL", "'{\"name\":\"é😀\"}'"), 0);
    expect_text(s2, "1", "SELECT JSON_VALID(idem_claim('p','C24'))");
    expect_text(s2, "DONE", "SELECT JSON_VALUE(idem_claim('p','C24'),'$.state')");
    expect_text(s2, "é😀", "SELECT JSON_VALUE(idem_claim('p','C24'),'$.result.name')");
    expect_text(s2, "{\"name\": \"é😀\"}", "SELECT JSON_EXTRACT(idem_claim('p','C24'),'$.result')");
    expect_text(s2, "é😀",
                "SELECT JSON_VALUE(CONVERT(idem_claim('p','C24') USING utf8mb4),'$.result.name')");
    expect_text(s2, "1",
                "SELECT CONVERT(CONVERT(idem_claim('p','C24') USING utf8mb4) USING binary) = "
                "idem_claim('p','C24')");
    /* Where it would have run in another session. */
    run(s1, "CREATE DATABASE IF NOT EXISTS t");
    expect_errno(s2, 52006, "CREATE TABLE t.c AS SELECT idem_claim('p','C24-new') c");
    expect_text(s1, "0", "SELECT COUNT(*) FROM idem.record WHERE idem_key = 'C24-new'");
}

static void case_25_rollback_frees_the_key(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        struct answer first, second;

        empty(state);
        run(s1, "BEGIN");
        first = claim(s1, door, "'p'", "'C25'", "NULL");
        run(s1, "ROLLBACK");
        second = claim(s2, door, "'p'", "'C25'", "NULL");
        assert_string_equal(second.state, "CLAIMED");
        assert_int_equal(second.attempt, 1);
        assert_true(second.token > first.token);
        assert_int_equal(finish(s1, door, "'p'", "'C25'", "NULL", "'{}'"), 52004);
    }
}

static void case_25_business_refusal_that_was_finished_is_replayed_as_done(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        struct answer answer;

        empty(state);
        run(s1, "BEGIN");
        claim(s1, door, "'p'", "'C25'", "NULL");
        assert_int_equal(finish(s1, door, "'p'", "'C25'", "NULL", "'{\"error\":\"declined\"}'"), 0);
        run(s1, "COMMIT");
        answer = claim(s2, door, "'p'", "'C25'", "NULL");
        assert_string_equal(answer.state, "DONE");
        assert_string_equal(answer.result, "{\"error\":\"declined\"}");
        assert_string_equal(answer.failure, "");
    }
}

static void case_25_final_failure_is_replayed_and_a_retryable_one_frees_the_key(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        struct answer answer;

        empty(state);
        claim(s1, door, "'p'", "'C25'", "NULL");
        assert_int_equal(checkpoint(s1, door, "'p'", "'C25'", "NULL", "'{\"step\":1}'"), 0);
        assert_int_equal(fail_claim(s1, door, "'p'", "'C25'", "NULL", "'{\"why\":\"busy\"}'", 1),
                         0);
        answer = claim(s2, door, "'p'", "'C25'", "NULL");
        assert_string_equal(answer.state, "RECLAIMED");
        assert_int_equal(answer.attempt, 2);
        assert_string_equal(answer.last_error, "{\"why\":\"busy\"}");
        assert_string_equal(answer.checkpoint, "{\"step\":1}");
        assert_string_equal(answer.failure, "");
        assert_int_equal(fail_claim(s2, door, "'p'", "'C25'", "NULL", "'{\"why\":\"lost\"}'", 0),
                         0);
        answer = claim(s1, door, "'p'", "'C25'", "NULL");
        assert_string_equal(answer.state, "FAILED");
        assert_string_equal(answer.failure, "{\"why\":\"lost\"}");
        assert_string_equal(answer.result, "");
        /* Ended is ended. */
        assert_int_equal(finish(s2, door, "'p'", "'C25'", "NULL", "'{}'"), 52004);
        assert_int_equal(fail_claim(s2, door, "'p'", "'C25'", "NULL", "'{}'", 1), 52004);
        assert_int_equal(release(s2, door, "'p'", "'C25'", "NULL"), 52004);
    }
}

static void case_25_final_failure_outlives_the_rollback_when_failed_afterwards(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        empty(state);
        run(s1, "BEGIN");
        claim(s1, door, "'p'", "'C25'", "NULL");
        run(s1, "ROLLBACK");
        assert_int_equal(
            fail_claim(s1, door, "'p'", "'C25'", "NULL", "'{\"why\":\"declined\"}'", 0), 0);
        assert_string_equal(claim(s2, door, "'p'", "'C25'", "NULL").failure,
                            "{\"why\":\"declined\"}");
    }
}

static void case_25_release_and_finish_are_guarded_by_the_token(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        char token[32];
        struct answer first, second;

        empty(state);
        first = claim(s1, door, "'p'", "'C25'", "NULL");
        snprintf(token, sizeof(token), "%llu", first.token + 1);
        assert_int_equal(release(s2, door, "'p'", "'C25'", "NULL"), 52004);
        assert_int_equal(release(s2, door, "'p'", "'C25'", token), 52004);
        assert_int_equal(renew(s2, door, "'p'", "'C25'", token, "10"), 52004);
        assert_int_equal(checkpoint(s2, door, "'p'", "'C25'", token, "'1'"), 52004);
        assert_int_equal(finish(s2, door, "'p'", "'C25'", token, "'1'"), 52004);
        snprintf(token, sizeof(token), "%llu", first.token);
        assert_int_equal(release(s2, door, "'q'", "'C25'", token), 52002);
        /* Whoever has the token is the owner, on any connection. */
        assert_int_equal(release(s2, door, "'p'", "'C25'", token), 0);
        second = claim(s2, door, "'p'", "'C25'", "NULL");
        assert_string_equal(second.state, "RECLAIMED");
        assert_true(second.token > first.token);
        assert_int_equal(finish(s1, door, "'p'", "'C25'", token, "'1'"), 52004);
    }
}

static void result_over_the_limit_is_52008_and_the_record_stays_unfinished(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        empty(state);
        run(s1, "SET GLOBAL idem_max_result_bytes = 1000");
        claim(s1, door, "'p'", "'k'", "NULL");
        assert_int_equal(
            finish(s1, door, "'p'", "'k'", "NULL", "CONCAT('\"',REPEAT('x',999),'\"')"), 52008);
        assert_non_null(strstr(mysql_error(s1), "1001 bytes, the limit is 1000"));
        assert_int_equal(
            commit(s1, door, "'p'", "'k'", "NULL", "CONCAT('\"',REPEAT('x',999),'\"')"), 52008);
        assert_int_equal(
            fail_claim(s1, door, "'p'", "'k'", "NULL", "CONCAT('\"',REPEAT('x',999),'\"')", 0),
            52008);
        assert_int_equal(
            checkpoint(s1, door, "'p'", "'k'", "NULL", "CONCAT('\"',REPEAT('x',999),'\"')"), 52008);
        /* Bytes, not characters. */
        assert_int_equal(
            finish(s1, door, "'p'", "'k'", "NULL", "CONCAT('\"',REPEAT('é',500),'\"')"), 52008);
        expect_in_progress_and_untouched();
        assert_int_equal(
            finish(s1, door, "'p'", "'k'", "NULL", "CONCAT('\"',REPEAT('é',499),'\"')"), 0);
        expect_text(s1, "1000", "SELECT LENGTH(result) FROM idem.record WHERE idem_key = 'k'");
    }
}

static void largest_result_of_the_default_limit_is_replayed_whole(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        empty(state);
        claim(s1, door, "'p'", "'k'", "NULL");
        assert_int_equal(
            finish(s1, door, "'p'", "'k'", "NULL", "CONCAT('\"',REPEAT('x',1048575),'\"')"), 52008);
        assert_int_equal(
            finish(s1, door, "'p'", "'k'", "NULL", "CONCAT('\"',REPEAT('x',1048574),'\"')"), 0);
        run(s2, "CALL idem.claim_into('p', 'k', NULL, 0, @state, @token, @detail)");
        expect_text(s2, "1",
                    "SELECT @state = 'DONE' AND JSON_VALUE(@detail, '$.result') = "
                    "REPEAT('x',1048574)");
        expect_text(s2, "1",
                    "SELECT JSON_VALUE(idem_claim('p','k'), '$.result') = REPEAT('x',1048574)");
    }
}

static void policy_limit_wins_over_the_global_one_both_ways(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        empty(state);
        run(s1, "SET GLOBAL idem_max_result_bytes = 10");
        run(s1, "CALL idem.set_policy('p', NULL, NULL, 20, NULL, NULL)");
        run(s1, "CALL idem.set_policy('q', NULL, NULL, 5, NULL, NULL)");
        claim(s1, door, "'p'", "'k'", "NULL");
        claim(s1, door, "'q'", "'k2'", "NULL");
        claim(s1, door, "'r'", "'k3'", "NULL");
        assert_int_equal(finish(s1, door, "'p'", "'k'", "NULL", "REPEAT('1',21)"), 52008);
        assert_int_equal(finish(s1, door, "'p'", "'k'", "NULL", "REPEAT('1',20)"), 0);
        assert_int_equal(finish(s1, door, "'q'", "'k2'", "NULL", "REPEAT('1',6)"), 52008);
        assert_int_equal(finish(s1, door, "'q'", "'k2'", "NULL", "REPEAT('1',5)"), 0);
        assert_int_equal(finish(s1, door, "'r'", "'k3'", "NULL", "REPEAT('1',11)"), 52008);
        assert_int_equal(finish(s1, door, "'r'", "'k3'", "NULL", "REPEAT('1',10)"), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(case_23_text_that_is_not_json_is_refused_and_the_claim_stays_open),
        cmocka_unit_test(case_23_null_and_scalars_are_results_and_sql_null_is_json_null),
        cmocka_unit_test(result_is_replayed_byte_for_byte),
        cmocka_unit_test(case_24_answer_is_utf8_json_that_json_functions_read),
        cmocka_unit_test(case_25_rollback_frees_the_key),
        cmocka_unit_test(case_25_business_refusal_that_was_finished_is_replayed_as_done),
        cmocka_unit_test(case_25_final_failure_is_replayed_and_a_retryable_one_frees_the_key),
        cmocka_unit_test(case_25_final_failure_outlives_the_rollback_when_failed_afterwards),
        cmocka_unit_test(case_25_release_and_finish_are_guarded_by_the_token),
        cmocka_unit_test(result_over_the_limit_is_52008_and_the_record_stays_unfinished),
        cmocka_unit_test(largest_result_of_the_default_limit_is_replayed_whole),
        cmocka_unit_test(policy_limit_wins_over_the_global_one_both_ways),
    };

    return cmocka_run_group_tests_name("result", tests, fixture_start, fixture_stop);
}
