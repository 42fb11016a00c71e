/* SPDX-License-Identifier: GPL-2.0-only */
/* innodb_rollback_on_timeout=ON: what else would be an answer, "somebody holds it", has taken the
   whole transaction with it. The caller must hear 1205, and nothing may go on as if it were still
   there. */
#include "async.h"
#include "bank.h"
#include "fixture.h"

/* s2 has written something in a transaction. */
static void begin_work(const char *note)
{
    run(s2, "START TRANSACTION");
    run(s2, "INSERT INTO test.orders (note) VALUES (%s)", note);
}

/* Nothing of it is left, and nothing came after it. */
static void expect_work_is_gone(const char *note)
{
    expect_text(s2, "0", "SELECT @@in_transaction");
    expect_text(s1, "0", "SELECT COUNT(*) FROM test.orders WHERE note = %s", note);
}

static void a_held_key_costs_the_transaction_and_says_so(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        const char *key = fresh_key("held");

        assert_string_equal(begin(s1, door, "'pay'", key, "NULL").state, "CLAIMED");
        begin_work(key);
        assert_int_equal(claim(s2, door, "'pay'", key, "NULL").error, 1205);
        expect_work_is_gone(key);
        assert_int_equal(claim(s2, door, "'pay'", key, "NULL").error, 1205); /* in autocommit */
        assert_int_equal(begin(s2, door, "'pay'", key, "NULL").error, 1205);
        expect_text(s2, "0", "SELECT @@in_transaction");
        begin_work(key);
        assert_int_equal(fail_claim(s2, door, "'pay'", key, "NULL", "'{}'", 0), 1205);
        expect_work_is_gone(key);
        assert_int_equal(commit(s1, door, "'pay'", key, "NULL", "'1'"), 0);
        assert_string_equal(claim(s2, door, "'pay'", key, "NULL").state, "DONE");
    }
}

static void a_held_event_costs_the_transaction_and_says_so(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        const char *key = fresh_key("event");

        run(s1, "START TRANSACTION");
        assert_string_equal(consume(s1, door, "'c'", key, "NULL").state, "NEW");
        begin_work(key);
        assert_int_equal(consume(s2, door, "'c'", key, "NULL").error, 1205);
        expect_work_is_gone(key);
        begin_work(key);
        expect_errno(s2, 1205, "CALL idem.consume_many('c', JSON_ARRAY('other', %s))", key);
        expect_work_is_gone(key);
        run(s1, "COMMIT");
        assert_string_equal(consume(s2, door, "'c'", key, "NULL").state, "DUPLICATE");
        assert_string_equal(consume(s2, door, "'c'", "'other'", "NULL").state,
                            door == PROCEDURE_DOOR ? "NEW" : "DUPLICATE");
    }
}

/* A lease that is being finished by one session is none of another's, token or not. */
static void a_record_in_other_hands_costs_the_transaction_and_says_so(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        const char *key = fresh_key("lease");
        char token[32];

        snprintf(token, sizeof(token), "%llu", claim(s1, door, "'pay'", key, "NULL").token);
        run(s1, "START TRANSACTION");
        assert_int_equal(finish(s1, door, "'pay'", key, token, "'1'"), 0);
        begin_work(key);
        assert_int_equal(finish(s2, door, "'pay'", key, token, "'2'"), 1205);
        expect_work_is_gone(key);
        begin_work(key);
        assert_int_equal(claim(s2, door, "'pay'", key, "NULL").error, 1205);
        expect_work_is_gone(key);
        run(s1, "COMMIT");
        assert_string_equal(claim(s2, door, "'pay'", key, "NULL").result, "1");
    }
}

static void a_definition_that_is_being_changed_costs_the_transaction_and_says_so(void **state)
{
    (void)state;
    run(s1, "START TRANSACTION");
    run(s1, "CALL idem.set_projection('plain', 0, FALSE, NULL)");
    begin_work("'definition'");
    expect_errno(s2, 1205, "CALL idem.apply_delta('plain', 1, 1, NULL, @o, @e)");
    expect_work_is_gone("'definition'");
    run(s1, "ROLLBACK");
    run(s2, "CALL idem.apply_delta('plain', 1, 1, NULL, @o, @e)");
    expect_text(s2, "APPLIED", "SELECT @o");
}

/* A released record that somebody is taking over keeps its day, whatever was deleted with it. */
static void maintenance_goes_on(void **state)
{
    (void)state;
    clock_with_days("2031-03-01 12:00:00");
    for (int i = 0; i < 3; i++) {
        run(s1, "CALL idem.claim('pay', 'day-%d', NULL)", i);
        run(s1, "CALL idem.release('pay', 'day-%d', NULL)", i);
    }
    clock_with_days("2031-04-01 12:00:00");
    run(s2, "START TRANSACTION");
    assert_string_equal(claim(s2, PROCEDURE_DOOR, "'pay'", "'day-1'", "NULL").state, "RECLAIMED");
    run(s1, "CALL idem.drop_expired()");
    expect_text(s1, "1", "SELECT COUNT(*) FROM idem.record WHERE idem_key = 'day-1'");
    assert_int_equal(commit(s2, PROCEDURE_DOOR, "'pay'", "'day-1'", "NULL", "'1'"), 0);
    run(s1, "CALL idem.reap()");
    run(s1, "CALL idem.drop_expired()");
    expect_text(s1, "0", "SELECT COUNT(*) FROM idem.record WHERE created_on = '2031-03-01'");
}

static int start(void **state)
{
    static const char *const options[] = {"--innodb-rollback-on-timeout=ON", NULL};

    fixture_options = options;
    fixture_start(state);
    define_bank(s1);
    return 0;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, fixture_settle)
    const struct CMUnitTest tests[] = {
        TEST(a_held_key_costs_the_transaction_and_says_so),
        TEST(a_held_event_costs_the_transaction_and_says_so),
        TEST(a_record_in_other_hands_costs_the_transaction_and_says_so),
        TEST(a_definition_that_is_being_changed_costs_the_transaction_and_says_so),
        TEST(maintenance_goes_on),
    };

    return cmocka_run_group_tests_name("lost_to_timeout", tests, start, fixture_stop);
}
