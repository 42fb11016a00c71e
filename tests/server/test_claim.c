/* SPDX-License-Identifier: GPL-2.0-only */
/* What a claim answers in each state of its record, through both doors, one session after the
 * other. */
#include "fixture.h"

static void first_claim_is_claimed_and_replayed_when_done(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        const char *key = fresh_key("first");
        struct answer answer = claim(s1, door, "'pay'", key, "'{\"a\":1}'");

        assert_string_equal(answer.state, "CLAIMED");
        assert_int_equal(answer.attempt, 1);
        assert_true(answer.token > 0);
        assert_int_equal(finish(s1, door, "'pay'", key, "NULL", "'{\"receipt\": 7 }'"), 0);
        answer = claim(s2, door, "'pay'", key, "'{ \"a\" : 1.0 }'");
        assert_string_equal(answer.state, "DONE");
        assert_string_equal(answer.result, "{\"receipt\": 7 }");
    }
}

static void own_unfinished_key_is_claimed_again_with_the_same_token(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        const char *key = fresh_key("own");
        struct answer first = claim(s1, door, "'pay'", key, "NULL");
        struct answer again = claim(s1, door, "'pay'", key, "NULL");

        assert_string_equal(again.state, "CLAIMED");
        assert_true(again.token == first.token);
        assert_int_equal(release(s1, door, "'pay'", key, "NULL"), 0);
        first = claim(s1, door, "'pay'", key, "NULL");
        again = claim(s1, door, "'pay'", key, "NULL");
        assert_string_equal(again.state, "RECLAIMED");
        assert_true(again.token == first.token);
    }
}

static void mismatch_wins_over_in_progress(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        const char *key = fresh_key("mismatch");

        assert_string_equal(claim(s1, door, "'pay'", key, "'{\"a\":1}'").state, "CLAIMED");
        assert_int_equal(claim(s2, door, "'refund'", key, "'{\"a\":2}'").error, 52002);
        assert_int_equal(claim(s2, door, "'pay'", key, "'{\"a\":2}'").error, 52003);
        assert_string_equal(claim(s2, door, "'pay'", key, "NULL").state, "IN_PROGRESS");
        assert_int_equal(claim(s1, door, "'pay'", key, "'{\"a\":2}'").error, 52003);
    }
}

static void final_failure_is_kept_and_retryable_failure_frees_the_key(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        const char *key = fresh_key("fail");
        struct answer first = claim(s1, door, "'pay'", key, "NULL");
        struct answer answer;

        assert_int_equal(fail_claim(s1, door, "'pay'", key, "NULL", "'{\"why\":\"net\"}'", 1), 0);
        answer = claim(s2, door, "'pay'", key, "NULL");
        assert_string_equal(answer.state, "RECLAIMED");
        assert_int_equal(answer.attempt, 2);
        assert_string_equal(answer.last_error, "{\"why\":\"net\"}");
        assert_true(answer.token > first.token);
        assert_int_equal(fail_claim(s2, door, "'pay'", key, "NULL", "'{\"why\":\"no money\"}'", 0),
                         0);
        answer = claim(s1, door, "'pay'", key, "NULL");
        assert_string_equal(answer.state, "FAILED");
        assert_string_equal(answer.failure, "{\"why\":\"no money\"}");
    }
}

static void failure_after_a_rolled_back_transaction_is_kept(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        const char *key = fresh_key("after");
        struct answer answer;

        assert_string_equal(begin(s1, door, "'pay'", key, "NULL").state, "CLAIMED");
        run(s1, "ROLLBACK");
        assert_int_equal(fail_claim(s1, door, "'pay'", key, "NULL", "'{\"why\":\"declined\"}'", 0),
                         0);
        answer = claim(s2, door, "'pay'", key, "NULL");
        assert_string_equal(answer.state, "FAILED");
        assert_string_equal(answer.failure, "{\"why\":\"declined\"}");

        key = fresh_key("after");
        assert_int_equal(fail_claim(s1, door, "'pay'", key, "NULL", "'{\"why\":\"net\"}'", 1), 0);
        answer = claim(s2, door, "'pay'", key, "NULL");
        assert_string_equal(answer.state, "RECLAIMED");
        assert_string_equal(answer.last_error, "{\"why\":\"net\"}");
        /* held by somebody else by now: not the caller's to fail */
        assert_int_equal(fail_claim(s1, door, "'pay'", key, "NULL", "'{}'", 0), 52004);

        key = fresh_key("after");
        assert_string_equal(begin(s2, door, "'pay'", key, "NULL").state, "CLAIMED");
        assert_int_equal(fail_claim(s1, door, "'pay'", key, "NULL", "'{}'", 0), 52004);
        run(s2, "ROLLBACK");
    }
}

static void checkpoint_is_handed_on(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        const char *key = fresh_key("checkpoint");
        struct answer answer;

        claim(s1, door, "'pay'", key, "NULL");
        assert_int_equal(checkpoint(s1, door, "'pay'", key, "NULL", "'{\"step\":2}'"), 0);
        assert_int_equal(checkpoint(s1, door, "'pay'", key, "NULL", "'{\"step\":'"), 52001);
        assert_int_equal(release(s1, door, "'pay'", key, "NULL"), 0);
        answer = claim(s2, door, "'pay'", key, "NULL");
        assert_string_equal(answer.state, "RECLAIMED");
        assert_string_equal(answer.checkpoint, "{\"step\":2}");
    }
}

static void peek_claims_nothing(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        const char *key = fresh_key("peek");

        assert_string_equal(peek(s1, door, "'pay'", key).state, "FREE");
        assert_string_equal(claim(s2, door, "'pay'", key, "NULL").state, "CLAIMED");
        assert_string_equal(peek(s1, door, "'pay'", key).state, "IN_PROGRESS");
        assert_int_equal(peek(s1, door, "'other'", key).error, 52002);
        finish(s2, door, "'pay'", key, "NULL", "'[1]'");
        assert_string_equal(peek(s1, door, "'pay'", key).state, "DONE");
        assert_string_equal(peek(s1, door, "'pay'", key).result, "[1]");
    }
}

static void an_event_is_new_once_for_each_consumer(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        const char *event = fresh_key("event");

        assert_string_equal(consume(s1, door, "'billing'", event, "'{\"n\":1}'").state, "NEW");
        assert_string_equal(consume(s2, door, "'billing'", event, "'{\"n\":1}'").state,
                            "DUPLICATE");
        assert_string_equal(consume(s2, door, "'mailing'", event, "NULL").state, "NEW");
        assert_int_equal(consume(s2, door, "'billing'", event, "'{\"n\":2}'").error, 52003);
        /* another key space than claims */
        assert_string_equal(claim(s1, door, "'billing'", event, "NULL").state, "CLAIMED");

        event = fresh_key("event");
        run(s1, "BEGIN");
        assert_string_equal(consume(s1, door, "'billing'", event, "NULL").state, "NEW");
        assert_string_equal(consume(s2, door, "'billing'", event, "NULL").state, "IN_PROGRESS");
        run(s1, "ROLLBACK");
        assert_string_equal(consume(s2, door, "'billing'", event, "NULL").state, "NEW");
    }
}

static void a_batch_of_events_is_answered_in_order(void **state)
{
    (void)state;
    expect_errno(s1, 52006, "CALL idem.consume_many('batch', '[\"a\"]')");
    run(s1, "BEGIN");
    expect_errno(s1, 52001, "CALL idem.consume_many('batch', '{\"a\":1}')");
    expect_errno(s1, 52001, "CALL idem.consume_many('batch', '[\"a\",')");
    expect_errno(s1, 52001, "CALL idem.consume_many('batch', '[null]')");
    expect_errno(s1, 52001, "CALL idem.consume_many('batch', '[{\"payload\":1}]')");
    expect_errno(s1, 52001, "CALL idem.consume_many('batch', NULL)");
    run(s1, "ROLLBACK");
    EACH_DOOR(door)
    {
        const char *call = door == UDF_DOOR ? "SELECT idem_consume_many" : "CALL idem.consume_many";

        run(s1, "BEGIN");
        run(s1, "%s('batch%d', '[\"é\",{\"id\":\"b\",\"payload\":[1]},12345678901234567890]')",
            call, door);
        run(s1, "COMMIT");
        expect_text(s1, "12345678901234567890,b,é",
                    "SELECT GROUP_CONCAT(idem_key ORDER BY idem_key) FROM idem.record "
                    "WHERE scope = 'batch%d'",
                    door);
        run(s1, "BEGIN");
        expect_errno(s1, 52003, "%s('batch%d', '[{\"id\":\"b\",\"payload\":[2]}]')", call, door);
        run(s1, "ROLLBACK");
    }
    run(s1, "BEGIN");
    expect_text(s1, "[\"DUPLICATE\", \"NEW\", \"DUPLICATE\", \"NEW\", \"DUPLICATE\"]",
                "SELECT JSON_EXTRACT(idem_consume_many('batch0', "
                "'[\"b\",\"n1\",\"é\",\"n2\",\"n1\"]'), '$[*].state')");
    expect_text(s1, "[]", "SELECT idem_consume_many('batch0', '[]')");
    run(s1, "ROLLBACK");
}

/* A key that was finished lately is looked for before it is inserted. */
static void a_replay_takes_no_lock(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        const char *key = fresh_key("unlocked");

        claim(s1, door, "'pay'", key, "NULL");
        assert_int_equal(finish(s1, door, "'pay'", key, "NULL", "'{\"ok\":1}'"), 0);
        run(s2, "BEGIN");
        assert_string_equal(claim(s2, door, "'pay'", key, "NULL").result, "{\"ok\":1}");
        run(s1,
            "SET STATEMENT innodb_lock_wait_timeout = 0 FOR UPDATE idem.record "
            "SET updated_at = updated_at + INTERVAL 1 SECOND WHERE scope = '' AND idem_key = %s",
            key);
        run(s2, "ROLLBACK");
    }
}

static void a_finish_that_is_not_committed_is_no_replay(void **state)
{
    static const char *const isolations[] = {"READ UNCOMMITTED", "READ COMMITTED",
                                             "REPEATABLE READ", "SERIALIZABLE"};

    (void)state;
    for (size_t i = 0; i < COUNT(isolations); i++) {
        EACH_DOOR(door)
        {
            const char *key = fresh_key("uncommitted");

            run(s2, "SET SESSION TRANSACTION ISOLATION LEVEL %s", isolations[i]);
            run(s1, "BEGIN");
            claim(s1, door, "'pay'", key, "NULL");
            assert_int_equal(finish(s1, door, "'pay'", key, "NULL", "'{\"ok\":1}'"), 0);
            assert_string_equal(claim(s2, door, "'pay'", key, "NULL").state, "IN_PROGRESS");
            assert_string_equal(begin(s2, door, "'pay'", key, "NULL").state, "IN_PROGRESS");
            run(s1, "ROLLBACK");
            assert_string_equal(begin(s2, door, "'pay'", key, "NULL").state, "CLAIMED");
            expect_text(s2, "1", "SELECT @@in_transaction");
            assert_int_equal(commit(s2, door, "'pay'", key, "NULL", "'{\"ok\":2}'"), 0);
            assert_string_equal(claim(s1, door, "'pay'", key, "NULL").result, "{\"ok\":2}");
        }
    }
    run(s2, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
}

static void begin_and_commit_are_one_call_each(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        const char *key = fresh_key("begin");

        assert_string_equal(begin(s1, door, "'pay'", key, "NULL").state, "CLAIMED");
        expect_text(s1, "1", "SELECT @@in_transaction");
        run(s1, "INSERT INTO test.orders (note) VALUES (%s)", key);
        assert_string_equal(begin(s2, door, "'pay'", key, "NULL").state, "IN_PROGRESS");
        expect_text(s2, "0", "SELECT @@in_transaction");
        assert_int_equal(begin(s1, door, "'pay'", key, "NULL").error, 52006);
        assert_int_equal(commit(s1, door, "'pay'", key, "NULL", "'{\"ok\":'"), 52001);
        assert_int_equal(commit(s1, door, "'pay'", key, "NULL", "'{\"ok\":1}'"), 0);
        expect_text(s1, "0", "SELECT @@in_transaction");
        expect_text(s2, "1", "SELECT COUNT(*) FROM test.orders WHERE note = %s", key);
        assert_string_equal(begin(s2, door, "'pay'", key, "NULL").result, "{\"ok\":1}");
        assert_int_equal(begin(s2, door, "'other'", key, "NULL").error, 52002);
        expect_text(s2, "0", "SELECT @@in_transaction");
    }
}

static void commit_of_a_stale_worker_is_refused_and_rolled_back(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        const char *key = fresh_key("stale");
        char token[32];

        set_clock(s1, "2030-05-05 10:00:00");
        run(s1, "CALL idem.ensure_partitions()");
        snprintf(token, sizeof(token), "%llu", claim(s1, door, "'pay'", key, "NULL").token);
        set_clock(s1, "2030-05-05 10:10:00");
        assert_string_equal(claim(s2, door, "'pay'", key, "NULL").state, "RECLAIMED");
        run(s1, "BEGIN");
        run(s1, "INSERT INTO test.orders (note) VALUES (%s)", key);
        assert_int_equal(commit(s1, door, "'pay'", key, token, "'{}'"), 52004);
        expect_text(s1, "0", "SELECT @@in_transaction");
        expect_text(s1, "0", "SELECT COUNT(*) FROM test.orders WHERE note = %s", key);
        assert_int_equal(commit(s2, door, "'pay'", key, "NULL", "'{}'"), 0);
    }
}

static void completion_type_does_not_chain_or_disconnect(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        const char *key = fresh_key("completion");

        for (int type = 1; type <= 2; type++) {
            run(s1, "SET completion_type = %d", type);
            begin(s1, door, "'pay'", key, "NULL");
            assert_int_equal(commit(s1, door, "'pay'", key, "NULL", "'{}'"), 0);
            expect_text(s1, "0", "SELECT @@in_transaction");
            begin(s1, door, "'pay'", key, "NULL"); /* DONE: rolled back inside */
            expect_text(s1, "0", "SELECT @@in_transaction");
            key = fresh_key("completion");
        }
        run(s1, "SET completion_type = DEFAULT");
    }
}

static void claim_into_gives_the_same_in_variables(void **state)
{
    const char *key = fresh_key("into");

    (void)state;
    run(s1, "CALL idem.claim_into('pay', %s, NULL, 0, @state, @token, @detail)", key);
    expect_text(s1, "CLAIMED", "SELECT @state");
    run(s1, "CALL idem.finish('pay', %s, @token, '{\"n\": [1]}')", key);
    run(s1, "CALL idem.claim_into('pay', %s, NULL, 0, @state, @token, @detail)", key);
    expect_text(s1, "DONE", "SELECT @state");
    expect_text(s1, "NULL", "SELECT @token");
    expect_text(s1, "{\"n\": [1]}", "SELECT JSON_EXTRACT(@detail, '$.result')");
    expect_text(s1, "1", "SELECT JSON_VALID(@detail)");
    expect_errno(s1, 52001, "CALL idem.claim_into('pay', %s, NULL, 60001, @state, @token, @detail)",
                 key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(first_claim_is_claimed_and_replayed_when_done, fixture_settle),
        cmocka_unit_test_teardown(own_unfinished_key_is_claimed_again_with_the_same_token,
                                  fixture_settle),
        cmocka_unit_test_teardown(mismatch_wins_over_in_progress, fixture_settle),
        cmocka_unit_test_teardown(final_failure_is_kept_and_retryable_failure_frees_the_key,
                                  fixture_settle),
        cmocka_unit_test_teardown(failure_after_a_rolled_back_transaction_is_kept, fixture_settle),
        cmocka_unit_test_teardown(checkpoint_is_handed_on, fixture_settle),
        cmocka_unit_test_teardown(peek_claims_nothing, fixture_settle),
        cmocka_unit_test_teardown(an_event_is_new_once_for_each_consumer, fixture_settle),
        cmocka_unit_test_teardown(a_batch_of_events_is_answered_in_order, fixture_settle),
        cmocka_unit_test_teardown(a_replay_takes_no_lock, fixture_settle),
        cmocka_unit_test_teardown(a_finish_that_is_not_committed_is_no_replay, fixture_settle),
        cmocka_unit_test_teardown(begin_and_commit_are_one_call_each, fixture_settle),
        cmocka_unit_test_teardown(commit_of_a_stale_worker_is_refused_and_rolled_back,
                                  fixture_settle),
        cmocka_unit_test_teardown(completion_type_does_not_chain_or_disconnect, fixture_settle),
        cmocka_unit_test_teardown(claim_into_gives_the_same_in_variables, fixture_settle),
    };

    return cmocka_run_group_tests_name("claim", tests, fixture_start, fixture_stop);
}
