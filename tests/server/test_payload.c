/* SPDX-License-Identifier: GPL-2.0-only */
/* Payloads through both doors: what counts as the same request, and what has no meaning at all. The
   full table of pairs is in unit/test_payload.c. */
#include "fixture.h"

static int empty(void **state)
{
    (void)state;
    run(s1, "DELETE FROM idem.record");
    run(s1, "DELETE FROM idem.policy");
    run(s1, "SELECT idem_reload()");
    return 0;
}

struct verdict {
    char text[32]; /* the state, or the error number */
};

static struct verdict verdict_of(struct answer answer)
{
    struct verdict verdict;

    if (answer.error != 0)
        snprintf(verdict.text, sizeof(verdict.text), "%u", answer.error);
    else
        snprintf(verdict.text, sizeof(verdict.text), "%s", answer.state);
    return verdict;
}

/* What `second` is told on a key that was claimed and finished with `first`. Every pair of doors is
   asked and all must agree; and a mismatch wins over "in progress". */
static struct verdict answer_to(const char *first, const char *second)
{
    struct verdict verdict = {""};

    for (int pair = 0; pair < 4; pair++) {
        enum door d1 = (enum door)(pair / 2), d2 = (enum door)(pair % 2);
        struct verdict early, late;

        empty(NULL);
        assert_string_equal(verdict_of(claim(s1, d1, "'p'", "'k'", first)).text, "CLAIMED");
        early = verdict_of(claim(s2, d2, "'p'", "'k'", second));
        assert_int_equal(finish(s1, d1, "'p'", "'k'", "NULL", "'{}'"), 0);
        late = verdict_of(claim(s2, d2, "'p'", "'k'", second));
        assert_string_equal(early.text, strcmp(late.text, "DONE") == 0 ? "IN_PROGRESS" : late.text);
        assert_true(pair == 0 || strcmp(late.text, verdict.text) == 0);
        verdict = late;
    }
    return verdict;
}

static void case_21_22_same_meaning_is_a_replay_and_another_meaning_a_mismatch(void **state)
{
    static const char *const pairs[][3] = {
        {"'{\"a\":1,\"b\":[1,2]}'", "'{ \"b\":[1,2], \"a\":1 }'", "DONE"},
        {"'{\"a\":1,\"b\":[1,2]}'", "'{\"b\":[2,1],\"a\":1}'", "52003"},
        {"'{\"a\":1}'", "'{\"a\":1.0}'", "DONE"},
        {"'{\"a\":1}'", "'{\"a\":1e0}'", "DONE"},
        {"'{\"a\":\"A\"}'", "'{\"a\":\"\\\\u0041\"}'", "DONE"},
        {"'{\"a\":12345678901234567890}'", "'{\"a\":12345678901234567891}'", "52003"},
        {"'{\"a\":-0}'", "'{\"a\":0}'", "DONE"},
        {"CONCAT(REPEAT('[',40),REPEAT(']',40))", "CONCAT(REPEAT('[ ',40),REPEAT(']',40))", "DONE"},
        {"CONCAT(REPEAT('[',40),REPEAT(']',40))", "CONCAT(REPEAT('[',41),REPEAT(']',41))", "52003"},
        {"'{\"😀\":1,\"דּ\":2}'", "'{\"דּ\":2,\"😀\":1}'", "DONE"},
        {"JSON_OBJECT('a',1,'b',2)", "'{\"b\":2,\"a\":1}'", "DONE"},
        {"'amount=10'", "'amount=10'", "DONE"},
        {"'amount=10'", "'amount=10 '", "52003"},
        {"x'00E9FF'", "x'00E9FF'", "DONE"}, /* any bytes, also not UTF-8 */
        {"x'00E9FF'", "x'00E9FE'", "52003"},
        {"''", "''", "DONE"},
        {"''", "' '", "52003"},
        {"''", "'null'", "52003"},
        {"'10'", "10", "DONE"},
        {"'10'", "10.0", "DONE"},
        {"REPEAT('x',1000000)", "REPEAT('x',1000000)", "DONE"},
        {"REPEAT('x',1000000)", "REPEAT('x',1000001)", "52003"},
        /* Compared only when both sides have one. */
        {"NULL", "'{\"a\":1}'", "DONE"},
        {"'{\"a\":1}'", "NULL", "DONE"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(pairs); i++) {
        struct verdict found = answer_to(pairs[i][0], pairs[i][1]);

        if (strcmp(found.text, pairs[i][2]) != 0)
            fail_msg("%s and %s: %s, expected %s", pairs[i][0], pairs[i][1], found.text,
                     pairs[i][2]);
    }
}

static void case_22_payload_without_one_meaning_is_refused_and_nothing_stored(void **state)
{
    static const char *const bad[][2] = {
        {"'{\"a\":1,\"a\":2}'", "names a member twice"},
        {"'{\"a\":1,\"\\\\u0061\":1}'", "names a member twice"},
        {"CONCAT(REPEAT('[',513),REPEAT(']',513))", "deeper than 512"},
        {"'1e1234567890123456'", "exponent"},
    };

    (void)state;
    EACH_DOOR(door)
    for (size_t i = 0; i < COUNT(bad); i++) {
        assert_int_equal(claim(s1, door, "'p'", "'k'", bad[i][0]).error, 52001);
        assert_non_null(strstr(mysql_error(s1), bad[i][1]));
        assert_int_equal(begin(s1, door, "'p'", "'k'", bad[i][0]).error, 52001);
        assert_int_equal(consume(s1, door, "'c'", "'e'", bad[i][0]).error, 52001);
        expect_text(s1, "0", "SELECT COUNT(*) + @@in_transaction FROM idem.record");
    }
}

static void json_never_equals_bytes_and_a_ready_hash_is_compared_as_given(void **state)
{
    (void)state;
    expect_text(s1, "1", "SELECT idem_payload_hash('1') = idem_payload_hash('1.0')");
    expect_text(s1, "0", "SELECT idem_payload_hash('1') = idem_payload_hash('D1e0;')");
    expect_text(s1, "32", "SELECT LENGTH(idem_payload_hash(''))");
    expect_text(s1, "NULL", "SELECT idem_payload_hash(NULL)");
    assert_string_equal(answer_to("SHA2('x',256)", "SHA2('x',256)").text, "DONE");
    assert_string_equal(answer_to("SHA2('x',256)", "UPPER(SHA2('x',256))").text, "52003");
    assert_string_equal(
        answer_to("idem_payload_hash('{\"a\":1}')", "idem_payload_hash('{\"a\":1.0}')").text,
        "DONE");
}

static void payload_in_another_client_set_is_hashed_as_its_bytes(void **state)
{
    struct answer answer;

    (void)state;
    EACH_DOOR(door)
    {
        empty(state);
        run(s2, "SET NAMES latin1");
        claim(s1, door, "'p'", "'k'", "'{\"a\":\"x\"}'");
        answer = claim(s2, door, "'p'", "'k'", "'{ \"a\":\"x\" }'");
        run(s2, "SET NAMES utf8mb4");
        assert_string_equal(answer.state, "IN_PROGRESS");
    }
}

static void require_payload_refuses_a_claim_without_one(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        empty(state);
        run(s1, "CALL idem.set_policy('p', NULL, NULL, NULL, TRUE, NULL)");
        assert_int_equal(claim(s1, door, "'p'", "'k'", "NULL").error, 52001);
        assert_non_null(strstr(mysql_error(s1), "payload is NULL"));
        assert_int_equal(begin(s1, door, "'p'", "'k'", "NULL").error, 52001);
        assert_int_equal(consume(s1, door, "'p'", "'k'", "NULL").error, 52001);
        expect_text(s1, "0", "SELECT COUNT(*) + @@in_transaction FROM idem.record");
        assert_string_equal(claim(s1, door, "'p'", "'k'", "''").state, "CLAIMED");
        assert_string_equal(claim(s1, door, "'q'", "'k2'", "NULL").state, "CLAIMED");
    }
}

static void consume_compares_payloads_too(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        empty(state);
        assert_string_equal(consume(s1, door, "'c'", "'e'", "'{\"a\":1}'").state, "NEW");
        assert_string_equal(consume(s2, door, "'c'", "'e'", "'{\"a\":1.0}'").state, "DUPLICATE");
        assert_int_equal(consume(s2, door, "'c'", "'e'", "'{\"a\":2}'").error, 52003);
        assert_string_equal(consume(s2, door, "'c'", "'e'", "NULL").state, "DUPLICATE");
    }
}

/* The one who takes over a claim that had no payload gives it one. */
static void payload_of_a_reclaim_fills_a_gap_and_never_replaces(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        empty(state);
        claim(s1, door, "'p'", "'k'", "NULL");
        assert_int_equal(release(s1, door, "'p'", "'k'", "NULL"), 0);
        assert_string_equal(claim(s1, door, "'p'", "'k'", "'1'").state, "RECLAIMED");
        assert_int_equal(release(s1, door, "'p'", "'k'", "NULL"), 0);
        assert_int_equal(claim(s2, door, "'p'", "'k'", "'2'").error, 52003);
        assert_string_equal(claim(s2, door, "'p'", "'k'", "NULL").state, "RECLAIMED");
        assert_int_equal(release(s2, door, "'p'", "'k'", "NULL"), 0);
        assert_int_equal(claim(s1, door, "'p'", "'k'", "'2'").error, 52003);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(case_21_22_same_meaning_is_a_replay_and_another_meaning_a_mismatch,
                               empty),
        cmocka_unit_test_setup(case_22_payload_without_one_meaning_is_refused_and_nothing_stored,
                               empty),
        cmocka_unit_test_setup(json_never_equals_bytes_and_a_ready_hash_is_compared_as_given,
                               empty),
        cmocka_unit_test_setup(payload_in_another_client_set_is_hashed_as_its_bytes, empty),
        cmocka_unit_test_setup(require_payload_refuses_a_claim_without_one, empty),
        cmocka_unit_test_setup(consume_compares_payloads_too, empty),
        cmocka_unit_test_setup(payload_of_a_reclaim_fills_a_gap_and_never_replaces, empty),
    };

    return cmocka_run_group_tests_name("payload", tests, fixture_start, fixture_stop);
}
