/* SPDX-License-Identifier: GPL-2.0-only */
/* A biz_type under observation: what would be refused is counted and named, and nothing is refused.
 */
#include "fixture.h"

static int observe(void **state)
{
    (void)state;
    run(s1, "ROLLBACK");
    run(s2, "ROLLBACK");
    run(s1, "DELETE FROM idem.record");
    run(s1, "DELETE FROM idem.policy");
    run(s1, "SELECT idem_reload()");
    run(s1, "CALL idem.set_policy('o', NULL, NULL, NULL, NULL, TRUE)");
    return 0;
}

static long long counted(const char *counter)
{
    return value_int(s1, "SELECT JSON_VALUE(idem_stats(), '$.%s')", counter);
}

/* s2 claims 'k' and goes on as if idem were not there; the counter tells what it would have been.
 */
static void expect_goes_on(enum door door, const char *biz_type, const char *payload,
                           const char *counter, const char *observed)
{
    long long before = counted(counter);
    struct answer answer = claim(s2, door, biz_type, "'k'", payload);

    assert_string_equal(answer.state, "CLAIMED");
    assert_int_equal(answer.token, 0);
    assert_string_equal(answer.result, "");
    assert_string_equal(answer.failure, "");
    assert_int_equal(answer.retry_after_ms, -1);
    assert_int_equal(counted(counter), before + 1);
    if (door == UDF_DOOR) {
        expect_text(s2, observed, "SELECT JSON_VALUE(idem_claim(%s, 'k', %s), '$.observed')",
                    biz_type, payload);
    } else {
        run(s2, "CALL idem.claim_into(%s, 'k', %s, 0, @s, @t, @d)", biz_type, payload);
        expect_text(s2, observed, "SELECT JSON_VALUE(@d, '$.observed')");
    }
    /* And what it does next is let through as well. */
    assert_int_equal(finish(s2, door, biz_type, "'k'", "NULL", "'{\"late\":1}'"), 0);
}

static void every_refusal_of_a_claim_is_counted_and_let_through(void **state)
{
    EACH_DOOR(door)
    {
        observe(state);
        assert_string_equal(claim(s1, door, "'o'", "'k'", "'1'").state, "CLAIMED");
        assert_true(claim(s1, door, "'o'", "'k'", "'1'").token > 0);
        expect_goes_on(door, "'o'", "'1'", "in_progress", "IN_PROGRESS");
        expect_goes_on(door, "'o'", "'2'", "payload_mismatch", "PAYLOAD_MISMATCH");
        assert_int_equal(finish(s1, door, "'o'", "'k'", "NULL", "'{\"first\":1}'"), 0);
        expect_goes_on(door, "'o'", "'1'", "replayed_done", "DONE");
        run(s1, "UPDATE idem.record SET status = 2");
        expect_goes_on(door, "'o'", "'1'", "replayed_failed", "FAILED");
        run(s1, "UPDATE idem.record SET status = 3");
        expect_goes_on(door, "'o'", "'1'", "unknown", "UNKNOWN");
        /* The record itself is as its owner left it. */
        expect_text(s1, "{\"first\":1}", "SELECT result FROM idem.record");
        expect_text(s1, "1", "SELECT attempt FROM idem.record");
    }
}

static void key_of_another_biz_type_is_counted_and_let_through(void **state)
{
    EACH_DOOR(door)
    {
        long long before;

        observe(state);
        claim(s1, door, "'p'", "'k'", "NULL");
        before = counted("key_reused");
        assert_string_equal(claim(s2, door, "'o'", "'k'", "NULL").state, "CLAIMED");
        assert_int_equal(counted("key_reused"), before + 1);
        /* Who is not observed is refused as ever. */
        assert_int_equal(claim(s2, door, "'q'", "'k'", "NULL").error, 52002);
        expect_text(s1, "p", "SELECT biz_type FROM idem.record");
    }
}

static void first_claims_work_as_ever(void **state)
{
    EACH_DOOR(door)
    {
        struct answer answer;

        observe(state);
        run(s1, "BEGIN");
        answer = claim(s1, door, "'o'", "'k'", "NULL");
        assert_string_equal(answer.state, "CLAIMED");
        assert_true(answer.token > 0);
        run(s1, "ROLLBACK");
        expect_text(s1, "0", "SELECT COUNT(*) FROM idem.record");
        claim(s1, door, "'o'", "'k'", "NULL");
        assert_int_equal(finish(s1, door, "'o'", "'k'", "NULL", "'{}'"), 0);
        expect_text(s1, "1", "SELECT status FROM idem.record");
    }
}

static void begin_keeps_the_transaction_open_and_commit_commits(void **state)
{
    run(s1, "CREATE DATABASE IF NOT EXISTS t");
    run(s1, "CREATE OR REPLACE TABLE t.orders (n INT)");
    EACH_DOOR(door)
    {
        observe(state);
        run(s1, "DELETE FROM t.orders");
        claim(s1, door, "'o'", "'k'", "NULL");
        assert_string_equal(begin(s2, door, "'o'", "'k'", "NULL").state, "CLAIMED");
        expect_text(s2, "1", "SELECT @@in_transaction");
        run(s2, "INSERT INTO t.orders VALUES (1)");
        assert_int_equal(commit(s2, door, "'o'", "'k'", "NULL", "'{}'"), 0);
        expect_text(s2, "0", "SELECT @@in_transaction");
        expect_text(s1, "1", "SELECT COUNT(*) FROM t.orders");
        expect_text(s1, "0", "SELECT status FROM idem.record");
    }
}

static void duplicate_event_is_new_again(void **state)
{
    EACH_DOOR(door)
    {
        long long before;

        observe(state);
        assert_string_equal(consume(s1, door, "'o'", "'e'", "'1'").state, "NEW");
        before = counted("consume_duplicate");
        assert_string_equal(consume(s2, door, "'o'", "'e'", "'1'").state, "NEW");
        assert_int_equal(counted("consume_duplicate"), before + 1);
        before = counted("payload_mismatch");
        assert_string_equal(consume(s2, door, "'o'", "'e'", "'2'").state, "NEW");
        assert_int_equal(counted("payload_mismatch"), before + 1);
    }
}

/* What no caller could go on with is an error under observation too. */
static void bad_arguments_and_missing_rights_stay_errors(void **state)
{
    EACH_DOOR(door)
    {
        observe(state);
        assert_int_equal(claim(s1, door, "'o'", "''", "NULL").error, 52001);
        assert_int_equal(claim(s1, door, "'o'", "'k'", "'{\"a\":1,\"a\":1}'").error, 52001);
        claim(s1, door, "'o'", "'k'", "NULL");
        assert_int_equal(finish(s1, door, "'o'", "'k'", "NULL", "'{'"), 52001);
        run(s1, "CALL idem.deny('root', '%%', 'o')");
        assert_int_equal(claim(s2, door, "'o'", "'k'", "NULL").error, 52007);
        run(s1, "DELETE FROM idem.access WHERE biz_type = 'o'");
        run(s1, "SELECT idem_reload()");
    }
}

static void switching_it_off_refuses_again(void **state)
{
    EACH_DOOR(door)
    {
        observe(state);
        claim(s1, door, "'o'", "'k'", "'1'");
        assert_string_equal(claim(s2, door, "'o'", "'k'", "'2'").state, "CLAIMED");
        run(s1, "CALL idem.set_policy('o', NULL, NULL, NULL, NULL, FALSE)");
        assert_int_equal(claim(s2, door, "'o'", "'k'", "'2'").error, 52003);
        assert_string_equal(claim(s2, door, "'o'", "'k'", "'1'").state, "IN_PROGRESS");
        assert_int_equal(finish(s2, door, "'o'", "'k'", "NULL", "'1'"), 52004);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_refusal_of_a_claim_is_counted_and_let_through, observe),
        cmocka_unit_test_setup(key_of_another_biz_type_is_counted_and_let_through, observe),
        cmocka_unit_test_setup(first_claims_work_as_ever, observe),
        cmocka_unit_test_setup(begin_keeps_the_transaction_open_and_commit_commits, observe),
        cmocka_unit_test_setup(duplicate_event_is_new_again, observe),
        cmocka_unit_test_setup(bad_arguments_and_missing_rights_stay_errors, observe),
        cmocka_unit_test_setup(switching_it_off_refuses_again, observe),
    };

    return cmocka_run_group_tests_name("observe", tests, fixture_start, fixture_stop);
}
