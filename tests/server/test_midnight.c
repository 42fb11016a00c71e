/* SPDX-License-Identifier: GPL-2.0-only */
/* One key space over all days: claims before, at and after midnight, clocks that are ahead or go
   back, and the locks and snapshots that looking at other days may leave. */
#include "async.h"
#include "fixture.h"

static void case_26_same_key_both_sides_of_midnight_in_sequence(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        const char *key = fresh_key("midnight");
        char token[32];

        clock_with_days("2031-03-01 23:59:59.9");
        snprintf(token, sizeof(token), "%llu", claim(s1, door, "'pay'", key, "NULL").token);
        expect_text(s1, "2031-03-01", "SELECT created_on FROM idem.record WHERE idem_key = %s",
                    key);
        clock_with_days("2031-03-02 00:00:00.1");
        assert_string_equal(claim(s2, door, "'pay'", key, "NULL").state, "IN_PROGRESS");
        assert_int_equal(finish(s2, door, "'pay'", key, token, "'[1]'"), 0);
        assert_string_equal(claim(s2, door, "'pay'", key, "NULL").state, "DONE");
        clock_with_days("2031-03-20 12:00:00");
        assert_string_equal(claim(s2, door, "'pay'", key, "NULL").state, "DONE");
        expect_text(s1, "1", "SELECT COUNT(*) FROM idem.record WHERE idem_key = %s", key);
        set_clock(s1, NULL);
        clock_with_days("2031-03-01 23:00:00");
    }
}

static void case_26_finish_without_token_after_midnight(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        const char *key = fresh_key("midnight");

        set_clock(s1, NULL);
        clock_with_days("2031-03-01 23:59:59.9");
        assert_string_equal(begin(s1, door, "'pay'", key, "NULL").state, "CLAIMED");
        set_clock(s2, "2031-03-02 00:00:00.1");
        assert_int_equal(commit(s1, door, "'pay'", key, "NULL", "'[1]'"), 0);
        assert_string_equal(claim(s2, door, "'pay'", key, "NULL").state, "DONE");
    }
}

/* What a claim has in place for a moment, before it has looked at the other days. */
static void put_row(MYSQL *sql, const char *key, const char *day)
{
    run(sql,
        "INSERT INTO idem.record (scope, idem_key, created_on, biz_type, status, attempt, token, "
        "owner_conn, owner_epoch, owner_account, created_at, updated_at) VALUES ('', %s, '%s', "
        "'pay', 0, 1, 1, 1, 1, '', '%s', '%s')",
        key, day, day, day);
}

/* The day of a claim is guessed first. Another session that asks for the key in the new day holds a
   lock there for a moment; the owner must not take that for the loss of its claim. */
static void case_26_finish_after_midnight_while_another_session_asks(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        const char *key = fresh_key("asks");

        set_clock(s3, NULL);
        set_clock(s3,
                  "2031-03-01 21:59:59"); /* later, the row that looks at tomorrow is in the way */
        run(s3, "CALL idem.ensure_partitions()");
        assert_string_equal(begin(s1, door, "'pay'", key, "NULL").state, "CLAIMED");
        set_clock(s3, "2031-03-02 00:00:00.1");
        run(s2, "BEGIN");
        put_row(s2, key, "2031-03-02");
        assert_int_equal(commit(s1, door, "'pay'", key, "NULL", "'[1]'"), 0);
        run(s2, "ROLLBACK");
        assert_string_equal(claim(s2, door, "'pay'", key, "NULL").state, "DONE");
    }
}

/* The same for a caller whose snapshot does not show its claim: the token is of a take-over on a
   later day than the record's, so that the current rows have to be looked at, newest day first. */
static void case_26_finish_by_token_waits_for_a_claim_that_goes_back(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        const char *key = fresh_key("goes-back");
        unsigned long long token;

        set_clock(s1, NULL);
        clock_with_days("2031-03-01 12:00:00");
        claim(s1, door, "'pay'", key, "NULL");
        release(s1, door, "'pay'", key, "NULL");
        clock_with_days("2031-03-02 12:00:00");
        run(s3, "SET SESSION innodb_snapshot_isolation = OFF");
        run(s3, "START TRANSACTION WITH CONSISTENT SNAPSHOT");
        token = claim(s1, door, "'pay'", key, "NULL").token;
        set_clock(s1, "2031-03-03 00:00:00.1"); /* no new partition: s3 could not read it */
        run(s2, "BEGIN");
        put_row(s2, key, "2031-03-03");
        send_query(s3,
                   door == UDF_DOOR ? "SET @a = idem_finish('pay', %s, '[1]', %llu)"
                                    : "CALL idem.finish('pay', %s, %llu, '[1]')",
                   key, token);
        wait_for_sleep(s1, mysql_thread_id(s3));
        run(s2, "ROLLBACK");
        assert_int_equal(receive(s3), 0);
        run(s3, "COMMIT");
        run(s3, "SET SESSION innodb_snapshot_isolation = DEFAULT");
        assert_string_equal(claim(s2, door, "'pay'", key, "NULL").result, "[1]");
    }
}

static void case_26_own_claim_of_yesterday_is_known_while_another_session_asks(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        const char *key = fresh_key("own");
        struct answer first, again;

        set_clock(s3, NULL);
        set_clock(s3,
                  "2031-03-01 21:59:59"); /* later, the row that looks at tomorrow is in the way */
        run(s3, "CALL idem.ensure_partitions()");
        run(s1, "BEGIN");
        first = claim(s1, door, "'pay'", key, "NULL");
        set_clock(s3, "2031-03-02 00:00:00.1");
        run(s2, "BEGIN");
        put_row(s2, key, "2031-03-02");
        again = claim(s1, door, "'pay'", key, "NULL");
        assert_string_equal(again.state, "CLAIMED");
        assert_true(again.token == first.token);
        assert_int_equal(claim(s1, door, "'other'", key, "NULL").error, 52002);
        assert_string_equal(claim(s3, door, "'pay'", key, "NULL").state, "IN_PROGRESS");
        run(s2, "ROLLBACK");
        run(s1, "ROLLBACK");
    }
}

static void case_26_open_claim_of_yesterday_is_met_today(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        for (int commits = 0; commits <= 1; commits++) {
            const char *key = fresh_key("midnight");

            set_clock(s3, NULL);
            set_clock(s3, "2031-03-01 23:59:59.9");
            run(s3, "CALL idem.ensure_partitions()");
            run(s1, "BEGIN");
            assert_string_equal(claim(s1, door, "'pay'", key, "NULL").state, "CLAIMED");
            set_clock(s3, "2031-03-02 00:00:00.1");
            assert_string_equal(claim(s2, door, "'pay'", key, "NULL").state, "IN_PROGRESS");
            expect_text(s2, "0", "SELECT COUNT(*) FROM idem.record WHERE idem_key = %s", key);
            run(s1, commits ? "COMMIT" : "ROLLBACK");
            assert_string_equal(claim(s2, door, "'pay'", key, "NULL").state,
                                commits ? "IN_PROGRESS" : "CLAIMED");
            release(s2, door, "'pay'", key, "NULL");
        }
    }
}

/* The other half: a session that read the day before midnight inserts after somebody claimed in the
   new day. Its day is given by hand here; the function is the one that claims use. */
static void case_26_late_insert_into_yesterday_meets_todays_claim(void **state)
{
    (void)state;
    for (int commits = 0; commits <= 1; commits++) {
        const char *key = fresh_key("late");
        const char *late =
            "SET STATEMENT innodb_lock_wait_timeout = 0 FOR SELECT idem._acquire('', "
            "%s, '2031-03-01', 'pay', 0, NULL, 1, NULL, NULL, NULL, '2031-03-01')";

        set_clock(s3, NULL);
        set_clock(s3, "2031-03-01 23:59:59.9");
        run(s3, "CALL idem.ensure_partitions()");
        set_clock(s3, "2031-03-02 00:00:00.1");
        run(s1, "BEGIN");
        assert_string_equal(claim(s1, PROCEDURE_DOOR, "'pay'", key, "NULL").state, "CLAIMED");
        run(s2, "BEGIN");
        expect_errno(s2, 1205, late, key);
        run(s1, commits ? "COMMIT" : "ROLLBACK");
        expect_errno(s2, 1526, late, key); /* taken back: claims go to the new day */
        expect_text(s2, commits ? "1" : "0", "SELECT COUNT(*) FROM idem.record WHERE idem_key = %s",
                    key);
        run(s2, "ROLLBACK");
    }
}

static void a_clock_that_steps_back_over_midnight_does_not_reopen_yesterday(void **state)
{
    const char *key = fresh_key("back");

    (void)state;
    clock_with_days("2031-03-25 00:00:01");
    assert_string_equal(claim(s1, PROCEDURE_DOOR, "'pay'", key, "NULL").state, "CLAIMED");
    set_clock(s1, "2031-03-24 22:00:00");
    assert_string_equal(claim(s2, PROCEDURE_DOOR, "'pay'", key, "NULL").state, "IN_PROGRESS");
    assert_string_equal(claim(s2, PROCEDURE_DOOR, "'pay'", fresh_key("back"), "NULL").state,
                        "CLAIMED");
    expect_text(s2, "2031-03-25",
                "SELECT MAX(created_on) FROM idem.record WHERE idem_key LIKE "
                "'back-%%'");
}

/* As after a fail-over to a server whose clock is behind: the key is in tomorrow's partition. */
static void a_record_of_tomorrow_is_met_before_midnight(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        const char *key = fresh_key("ahead");

        set_clock(s1, NULL);
        clock_with_days("2031-03-28 00:00:01");
        claim(s1, door, "'pay'", key, "NULL");
        finish(s1, door, "'pay'", key, "NULL", "'[1]'");
        set_clock(s1, NULL); /* forgets the newest day, as a restart does */
        set_clock(s1, "2031-03-27 22:30:00");
        assert_string_equal(claim(s2, door, "'pay'", key, "NULL").state, "DONE");
    }
}

/* The record came in by replication, after the transaction had begun; then this server was
 * promoted. */
static void a_record_of_tomorrow_is_met_by_an_old_snapshot(void **state)
{
    (void)state;
    clock_with_days("2031-03-29 22:30:00");
    run(s2, "SET SESSION innodb_snapshot_isolation = OFF"); /* 1020 otherwise */
    EACH_DOOR(door)
    {
        const char *key = fresh_key("promoted");

        run(s2, "START TRANSACTION WITH CONSISTENT SNAPSHOT");
        put_row(s1, key, "2031-03-30");
        run(s1, "UPDATE idem.record SET status = 1 WHERE idem_key = %s", key);
        assert_string_equal(claim(s2, door, "'pay'", key, "NULL").state, "DONE");
        run(s2, "ROLLBACK");
    }
    run(s2, "SET SESSION innodb_snapshot_isolation = DEFAULT");
}

/* What is committed after the claim is seen in its transaction; where a snapshot was opened, 11.8
   would answer an UPDATE of it with 1020. */
static void claim_without_snapshot(enum door door, const char *key, const char *state)
{
    int64_t seen;

    run(s1, "INSERT IGNORE INTO test.orders (id, note) VALUES (1000, '0')");
    run(s2, "BEGIN");
    assert_string_equal(claim(s2, door, "'pay'", key, "NULL").state, state);
    seen = value_int(s1, "SELECT note + 1 FROM test.orders WHERE id = 1000");
    run(s1, "UPDATE test.orders SET note = note + 1 WHERE id = 1000");
    assert_int_equal(value_int(s2, "SELECT note FROM test.orders WHERE id = 1000"), seen);
    run(s2, "COMMIT");
}

static void a_claim_before_midnight_opens_no_snapshot(void **state)
{
    (void)state;
    clock_with_days("2031-03-29 22:30:00");
    EACH_DOOR(door)
    claim_without_snapshot(door, fresh_key("evening"), "CLAIMED");
}

static void a_take_over_of_an_older_day_opens_no_snapshot(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        const char *key = fresh_key("morning");

        set_clock(s1, NULL);
        clock_with_days("2031-03-30 23:00:00");
        run(s1, "CALL idem.ensure_partitions()");
        assert_string_equal(claim(s1, door, "'pay'", key, "NULL").state, "CLAIMED");
        assert_int_equal(release(s1, door, "'pay'", key, "NULL"), 0);
        clock_with_days("2031-03-31 12:00:00");
        claim_without_snapshot(door, key, "RECLAIMED");
        expect_text(s1, "2031-03-30",
                    "SELECT GROUP_CONCAT(created_on) FROM idem.record WHERE idem_key = %s", key);
    }
}

/* Midnight between the look at the other days and the answer: a row that others may have met, in
   autocommit, is not taken back. The trigger turns the clock when tomorrow is looked at. */
static void case_26_a_row_that_was_looked_for_stays(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        const char *key = fresh_key("stays");

        set_clock(s1, NULL);
        clock_with_days("2031-04-05 23:59:59");
        run(s1, "CREATE TRIGGER idem.midnight AFTER INSERT ON idem.record FOR EACH ROW IF "
                "NEW.created_on = '2031-04-06' THEN SET GLOBAL idem_test_now_us = "
                "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', '2031-04-06 00:00:01'); END IF");
        assert_string_equal(consume(s2, door, "'c'", key, "NULL").state, "NEW");
        run(s1, "DROP TRIGGER idem.midnight");
        expect_text(s1, "2031-04-05", "SELECT created_on FROM idem.record WHERE idem_key = %s",
                    key);
        assert_string_equal(consume(s3, door, "'c'", key, "NULL").state, "DUPLICATE");
    }
}

static void case_27_missing_partition_is_named(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        const char *key = fresh_key("missing");

        set_clock(s1, "2033-01-01 12:00:00");
        assert_int_equal(claim(s1, door, "'pay'", key, "NULL").error, 52005);
        assert_non_null(strstr(mysql_error(s1), "2033-01-01"));
        assert_int_equal(fail_claim(s1, door, "'pay'", key, "NULL", "'{}'", 0), 52005);
        expect_text(s1, "0", "SELECT COUNT(*) FROM idem.record WHERE idem_key = %s", key);
        /* listed, but the partition is not there */
        run(s1, "INSERT INTO idem.live_day (day, created_at) VALUES ('2033-01-01', '2033-01-01')");
        run(s1, "DO idem_reload()");
        assert_int_equal(claim(s1, door, "'pay'", key, "NULL").error, 52005);
        run(s1, "DELETE FROM idem.live_day WHERE day = '2033-01-01'");
        run(s1, "DO idem_reload()");
    }
}

/* A row of the same key in another day can only be a leftover of something that never happens;
   still nobody is granted a lapsed lease while there is one. */
static void a_take_over_looks_at_the_other_days_too(void **state)
{
    const char *key = fresh_key("leftover");

    (void)state;
    clock_with_days("2031-04-10 12:00:00");
    claim(s1, PROCEDURE_DOOR, "'pay'", key, "NULL");
    finish(s1, PROCEDURE_DOOR, "'pay'", key, "NULL", "'[1]'");
    clock_with_days("2031-04-11 12:00:00");
    run(s1,
        "INSERT INTO idem.record (scope, idem_key, created_on, biz_type, status, attempt, token, "
        "owner_conn, owner_epoch, owner_account, lease_until, created_at, updated_at) VALUES ('', "
        "%s, "
        "'2031-04-11', 'pay', 0, 1, 1, 1, 1, '', '2031-04-11', '2031-04-11', '2031-04-11')",
        key);
    assert_string_equal(claim(s2, PROCEDURE_DOOR, "'pay'", key, "NULL").state, "DONE");
}

static void an_open_transaction_from_before_midnight_blocks_nobody(void **state)
{
    (void)state;
    set_clock(s3, NULL);
    set_clock(s3, "2031-05-01 23:59:00");
    run(s3, "CALL idem.ensure_partitions()");
    run(s1, "BEGIN");
    claim(s1, PROCEDURE_DOOR, "'pay'", fresh_key("open"), "NULL");
    set_clock(s3, "2031-05-02 00:00:01");
    run(s2, "BEGIN");
    for (int i = 0; i < 10; i++)
        assert_string_equal(claim(s2, PROCEDURE_DOOR, "'pay'", fresh_key("open"), "NULL").state,
                            "CLAIMED");
    /* and the older transaction goes on in the new day, next to s2's keys */
    assert_string_equal(claim(s1, PROCEDURE_DOOR, "'pay'", fresh_key("open"), "NULL").state,
                        "CLAIMED");
}

/* The first minutes of a day: its partition is empty, so one gap lock in it would hold every key.
 */
static void an_open_take_over_of_an_older_day_blocks_nobody(void **state)
{
    char old[64];

    (void)state;
    snprintf(old, sizeof(old), "%s", fresh_key("old"));
    set_clock(s3, NULL);
    set_clock(s3, "2031-07-01 23:00:00");
    run(s3, "CALL idem.ensure_partitions()");
    claim(s3, PROCEDURE_DOOR, "'pay'", old, "NULL");
    set_clock(s3, "2031-07-02 00:00:01");
    run(s1, "BEGIN");
    assert_string_equal(claim(s1, PROCEDURE_DOOR, "'pay'", old, "NULL").state, "RECLAIMED");
    assert_string_equal(claim(s2, UDF_DOOR, "'pay'", "'a key below'", "NULL").state, "CLAIMED");
    assert_string_equal(claim(s2, UDF_DOOR, "'pay'", "'z key above'", "NULL").state, "CLAIMED");
    assert_string_equal(claim(s2, UDF_DOOR, "'pay'", old, "NULL").state, "IN_PROGRESS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_teardown(name, fixture_settle)
        T(case_26_same_key_both_sides_of_midnight_in_sequence),
        T(case_26_finish_without_token_after_midnight),
        T(case_26_finish_after_midnight_while_another_session_asks),
        T(case_26_finish_by_token_waits_for_a_claim_that_goes_back),
        T(case_26_own_claim_of_yesterday_is_known_while_another_session_asks),
        T(case_26_open_claim_of_yesterday_is_met_today),
        T(case_26_late_insert_into_yesterday_meets_todays_claim),
        T(a_clock_that_steps_back_over_midnight_does_not_reopen_yesterday),
        T(a_record_of_tomorrow_is_met_before_midnight),
        T(a_record_of_tomorrow_is_met_by_an_old_snapshot),
        T(a_claim_before_midnight_opens_no_snapshot),
        T(a_take_over_of_an_older_day_opens_no_snapshot),
        T(case_26_a_row_that_was_looked_for_stays),
        T(case_27_missing_partition_is_named),
        T(a_take_over_looks_at_the_other_days_too),
        T(an_open_transaction_from_before_midnight_blocks_nobody),
        T(an_open_take_over_of_an_older_day_blocks_nobody),
    };

    return cmocka_run_group_tests_name("midnight", tests, fixture_start, fixture_stop);
}
