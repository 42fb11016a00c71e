/* SPDX-License-Identifier: GPL-2.0-only */
/* Versions: every outcome and refusal of apply_snapshot, apply_delta, compare_and_set and
   consume_and_apply, and races. */
#include "async.h"
#include "bank.h"
#include "fixture.h"

static MYSQL *found_rows;

static int start(void **state)
{
    fixture_start(state);
    found_rows = server_connect_as(fixture_server, "root", CLIENT_FOUND_ROWS);
    define_bank(s1);
    return 0;
}

static int stop(void **state)
{
    mysql_close(found_rows);
    return fixture_stop(state);
}

static int fresh_id(void)
{
    static int made;

    return ++made;
}

#define SNAPSHOT "CALL idem.apply_snapshot('snap', %d, %s, '%s', @o)"
#define DELTA(projection) "CALL idem.apply_delta('" projection "', %d, %d, '%s', @o, @e)"
#define PLUS "{\"cents\":{\"$add\":1}}"

#define expect_outcome(sql, expected, ...)                                                         \
    do {                                                                                           \
        run(sql, __VA_ARGS__);                                                                     \
        expect_text(sql, expected, "SELECT @o");                                                   \
    } while (0)

/* Outcome, a space, the version that is expected next. */
#define expect_delta(sql, expected, ...)                                                           \
    do {                                                                                           \
        run(sql, __VA_ARGS__);                                                                     \
        expect_text(sql, expected, "SELECT CONCAT(@o, ' ', @e)");                                  \
    } while (0)

static void case_49_older_snapshot_never_wins_and_case_12_under_both_client_flags(void **state)
{
    MYSQL *clients[] = {s1, found_rows};

    (void)state;
    for (int i = 0; i < 2; i++) {
        MYSQL *sql = clients[i];
        int id = fresh_id();

        expect_outcome(sql, "INSERTED", SNAPSHOT, id, "7", "{\"cents\":70,\"memo\":\"a\"}");
        expect_outcome(sql, "STALE", SNAPSHOT, id, "5", "{\"cents\":50,\"memo\":\"b\"}");
        expect_outcome(sql, "DUPLICATE", SNAPSHOT, id, "7", "{\"memo\":\"a\",\"cents\":70.0}");
        expect_outcome(sql, "CONFLICT", SNAPSHOT, id, "7", "{\"cents\":71,\"memo\":\"a\"}");
        expect_outcome(sql, "CONFLICT", SNAPSHOT, id, "7", "{\"cents\":70,\"memo\":null}");
        expect_outcome(sql, "UPDATED", SNAPSHOT, id, "8", "{\"cents\":80,\"memo\":null}");
        expect_outcome(sql, "DUPLICATE", SNAPSHOT, id, "8", "{\"cents\":80,\"memo\":null}");
        expect_outcome(sql, "STALE", SNAPSHOT, id, "0", "{}");
        expect_errno(sql, 52001, SNAPSHOT, id, "NULL", "{}");
        expect_errno(sql, 52001, SNAPSHOT, id, "18446744073709551615", "{}");
        expect_errno(sql, 52001, SNAPSHOT, id, "9223372036854775808", "{}");
        expect_errno(sql, 52001, SNAPSHOT, id, "-1", "{}");
        expect_errno(sql, 52001, SNAPSHOT, id, "9.0", "{}");
        expect_errno(sql, 52001, SNAPSHOT, id, "'9x'", "{}");
        expect_errno(sql, 52001, SNAPSHOT, id, "''", "{}");
        expect_text(sql, "8 80",
                    "SELECT CONCAT(version, ' ', cents) FROM bank.customer WHERE id = %d", id);
        expect_outcome(sql, "UPDATED", SNAPSHOT, id, "9223372036854775807", "{\"cents\":1}");
        expect_outcome(sql, "DUPLICATE", SNAPSHOT, id, "9223372036854775807", "{\"cents\":1}");
        expect_outcome(sql, "STALE", SNAPSHOT, id, "9", "{\"cents\":1}");
    }
}

static void delta_is_applied_only_in_order(void **state)
{
    MYSQL *clients[] = {s1, found_rows};

    (void)state;
    for (int i = 0; i < 2; i++) {
        MYSQL *sql = clients[i];
        int id = fresh_id();

        expect_delta(sql, "GAP 1", DELTA("plain"), id, 2, PLUS);
        expect_delta(sql, "DUPLICATE 1", DELTA("plain"), id, 0, PLUS);
        expect_delta(sql, "APPLIED 2", DELTA("plain"), id, 1, PLUS);
        expect_delta(sql, "DUPLICATE 2", DELTA("plain"), id, 1, PLUS);
        expect_delta(sql, "GAP 2", DELTA("plain"), id, 3, PLUS);
        expect_delta(sql, "APPLIED 3", DELTA("plain"), id, 2, PLUS);
        expect_delta(sql, "APPLIED 4", DELTA("plain"), id, 3, PLUS);
        expect_delta(sql, "DUPLICATE 4", DELTA("plain"), id, 2, PLUS);
        expect_text(sql, "3 3",
                    "SELECT CONCAT(version, ' ', cents) FROM bank.account WHERE id = %d", id);
    }
}

static void first_version_is_what_the_projection_says(void **state)
{
    int id = fresh_id();

    (void)state;
    run(s1, "CALL idem.set_projection('plain', 10, FALSE, NULL)");
    expect_delta(s1, "GAP 10", DELTA("plain"), id, 11, PLUS);
    expect_delta(s1, "DUPLICATE 10", DELTA("plain"), id, 9, PLUS);
    expect_delta(s1, "APPLIED 11", DELTA("plain"), id, 10, PLUS);
    run(s1, "CALL idem.set_projection('plain', 0, FALSE, NULL)");
    expect_delta(s1, "APPLIED 1", DELTA("plain"), fresh_id(), 0, PLUS);
    run(s1, "CALL idem.set_projection('plain', NULL, NULL, NULL)");
    expect_delta(s1, "GAP 1", DELTA("plain"), fresh_id(), 10, PLUS);
    expect_errno(s1, 52001, "CALL idem.set_projection('plain', -1, NULL, NULL)");
    expect_errno(s1, 52001, "CALL idem.set_projection('plain', NULL, NULL, 0)");
    expect_errno(s1, 52001, "CALL idem.set_projection('snap', NULL, TRUE, NULL)");
    expect_errno(s1, 52001, "CALL idem.set_projection('nope', NULL, TRUE, NULL)");
}

static void parked_events_are_applied_in_order_by_the_call_that_closes_the_gap(void **state)
{
    MYSQL *clients[] = {s1, found_rows};

    (void)state;
    for (int i = 0; i < 2; i++) {
        MYSQL *sql = clients[i];
        int id = fresh_id();

        expect_delta(sql, "PARKED 1", DELTA("park"), id, 3, "{\"memo\":\"3\"}");
        expect_delta(sql, "PARKED 1", DELTA("park"), id, 2, PLUS);
        expect_delta(sql, "PARKED 1", DELTA("park"), id, 3, "{ \"memo\" : \"3\" }");
        expect_delta(sql, "CONFLICT 1", DELTA("park"), id, 3, "{\"memo\":\"x\"}");
        expect_delta(sql, "PARKED 1", DELTA("park"), id, 5, "{\"memo\":\"5\"}");
        expect_delta(sql, "APPLIED 4", DELTA("park"), id, 1, PLUS);
        expect_text(sql, "3 2 3",
                    "SELECT CONCAT_WS(' ', version, cents, memo) FROM bank.parking"
                    " WHERE id = %d",
                    id);
        expect_delta(sql, "DUPLICATE 4", DELTA("park"), id, 3, "{\"memo\":\"3\"}");
        expect_text(sql, "5", "SELECT GROUP_CONCAT(version) FROM idem.parked_event");
        expect_delta(sql, "APPLIED 6", DELTA("park"), id, 4, PLUS);
        expect_text(sql, "5 3 5",
                    "SELECT CONCAT_WS(' ', version, cents, memo) FROM bank.parking"
                    " WHERE id = %d",
                    id);
        expect_text(sql, "0", "SELECT COUNT(*) FROM idem.parked_event");
    }
}

static void parking_is_bounded_for_each_row(void **state)
{
    int id = fresh_id();

    (void)state;
    run(s1, "CALL idem.set_projection('park', NULL, TRUE, 2)");
    expect_delta(s1, "PARKED 1", DELTA("park"), id, 5, PLUS);
    expect_delta(s1, "PARKED 1", DELTA("park"), id, 4, PLUS);
    expect_delta(s1, "GAP 1", DELTA("park"), id, 3, PLUS);
    expect_delta(s1, "PARKED 1", DELTA("park"), id, 4, PLUS);
    expect_delta(s1, "PARKED 1", DELTA("park"), fresh_id(), 3, PLUS);
    expect_errno(s1, 52001, "CALL idem.set_projection('park', NULL, FALSE, NULL)");
    expect_errno(s1, 52001, "CALL idem.drop_projection('park')");
    expect_errno(s1, 52001,
                 "CALL idem.define_projection('park', 'bank', 'account', 'id', 'version',"
                 " 'delta')");
    run(s1, "CALL idem.define_projection('park', 'bank', 'parking', 'id', 'version', 'delta')");
    run(s1, "CALL idem.forget_parked('park', %d, 5)", id);
    expect_text(s1, "2", "SELECT COUNT(*) FROM idem.parked_event");
    expect_errno(s1, 52001, "CALL idem.forget_parked('park', %d, 5)", id);
    run(s1, "CALL idem.forget_parked('park', NULL, NULL)");
    expect_text(s1, "0", "SELECT COUNT(*) FROM idem.parked_event");
    expect_text(s1, "3", "SELECT COUNT(*) FROM idem.audit WHERE action = 'forget_parked'");
    run(s1, "CALL idem.set_projection('park', NULL, TRUE, NULL)");
}

static void stale_parked_events_are_shown(void **state)
{
    int id = fresh_id();

    (void)state;
    set_clock(s1, "2031-03-01 10:00:00");
    expect_delta(s1, "PARKED 1", DELTA("park"), id, 4, PLUS);
    expect_delta(s1, "PARKED 1", DELTA("park"), id, 7, PLUS);
    set_clock(s1, "2031-03-01 11:00:00");
    expect_text(s1, "park", "CALL idem.show_parked(3600, NULL)");
    expect_text(s1, "NULL", "CALL idem.show_parked(3601, NULL)");
    expect_text(s1, "2",
                "SELECT COUNT(*) FROM idem.parked_event WHERE parked_at = '2031-03-01 10:00'");
    run(s1, "CALL idem.show_projections()");
    run(s1, "CALL idem.forget_parked('park', %d, NULL)", id);
}

/* The killed session had changed the row and not yet looked at what is parked; its caller, who got
   an error, delivers again. */
static void redelivery_applies_what_a_killed_call_left_parked(void **state)
{
    int id = fresh_id();

    (void)state;
    expect_delta(s1, "PARKED 1", DELTA("park"), id, 2, PLUS);
    run(s1, "INSERT INTO bank.parking (id, version, cents) VALUES (%d, 1, 1)", id);
    expect_delta(s1, "DUPLICATE 3", DELTA("park"), id, 1, PLUS);
    expect_text(s1, "2 2", "SELECT CONCAT(version, ' ', cents) FROM bank.parking WHERE id = %d",
                id);
    /* Killed between applying a parked event and forgetting it. */
    expect_delta(s1, "PARKED 3", DELTA("park"), id, 4, PLUS);
    run(s1, "UPDATE bank.parking SET version = 4, cents = 4 WHERE id = %d", id);
    expect_delta(s1, "APPLIED 6", DELTA("park"), id, 5, PLUS);
    expect_text(s1, "5 5", "SELECT CONCAT(version, ' ', cents) FROM bank.parking WHERE id = %d",
                id);
    expect_text(s1, "0", "SELECT COUNT(*) FROM idem.parked_event");
}

static void parked_event_that_the_table_refuses_stays_and_blocks_nothing_silently(void **state)
{
    (void)state;
    run(s1, "CREATE TABLE bank.strict (id INT PRIMARY KEY, version INT NOT NULL,"
            " n INT NOT NULL CHECK (n < 10))");
    run(s1, "CALL idem.define_projection('strict', 'bank', 'strict', 'id', 'version', 'delta')");
    run(s1, "CALL idem.set_projection('strict', NULL, TRUE, NULL)");
    expect_delta(s1, "PARKED 1", DELTA("strict"), 1, 2, "{\"n\":10}");
    run(s1, "BEGIN");
    expect_errno(s1, 4025, DELTA("strict"), 1, 1, "{\"n\":1}");
    run(s1, "ROLLBACK");
    expect_text(s1, "1 0",
                "SELECT CONCAT((SELECT COUNT(*) FROM idem.parked_event), ' ',"
                " (SELECT COUNT(*) FROM bank.strict))");
    run(s1, "CALL idem.forget_parked('strict', 1, 2)");
    expect_delta(s1, "APPLIED 2", DELTA("strict"), 1, 1, "{\"n\":1}");
    /* What cannot be read is refused before it is parked. */
    expect_errno(s1, 52001, DELTA("strict"), 1, 5, "[1]");
    expect_errno(s1, 52001, DELTA("strict"), 1, 5, "{\"nope\":1}");
    expect_errno(s1, 52001, DELTA("strict"), 1, 2, "{\"nope\":1,\"n\":{\"$add\":1}}");
    assert_non_null(strstr(mysql_error(s1), "no column nope"));
    expect_text(s1, "0", "SELECT COUNT(*) FROM idem.parked_event");
}

static void ids_that_the_key_takes_for_equal_are_one_stream(void **state)
{
    (void)state;
    run(s1, "CREATE TABLE bank.named (a VARCHAR(20) COLLATE utf8mb4_general_ci, b INT,"
            " version INT NOT NULL, cents INT NOT NULL DEFAULT 0, PRIMARY KEY (a, b))");
    run(s1, "CALL idem.define_projection('named', 'bank', 'named', '[\"a\",\"b\"]', 'version',"
            " 'delta')");
    run(s1, "CALL idem.set_projection('named', NULL, TRUE, NULL)");
    expect_delta(s1, "PARKED 1",
                 "CALL idem.apply_delta('named', '[\"Ab\",1]', 2, '" PLUS "', @o, @e)");
    expect_delta(s1, "PARKED 1",
                 "CALL idem.apply_delta('named', '[\"aB \",\"01\"]', 3, '" PLUS "', @o, @e)");
    expect_delta(s1, "PARKED 1",
                 "CALL idem.apply_delta('named', '[\"ab\",2]', 2, '" PLUS "', @o, @e)");
    expect_delta(s1, "APPLIED 4",
                 "CALL idem.apply_delta('named', '[\"ab\",1]', 1, '" PLUS "', @o, @e)");
    expect_text(s1, "3 1",
                "SELECT CONCAT((SELECT cents FROM bank.named), ' ',"
                " (SELECT COUNT(*) FROM idem.parked_event))");
    run(s1, "CALL idem.forget_parked('named', NULL, NULL)");
}

static void snapshot_and_delta_are_not_mixed(void **state)
{
    (void)state;
    expect_errno(s1, 52001, "CALL idem.apply_snapshot('plain', 1, 1, '{}', @o)");
    expect_errno(s1, 52001, "CALL idem.apply_delta('snap', 1, 1, '{}', @o, @e)");
    expect_errno(s1, 52001, "CALL idem.apply_delta('nope', 1, 1, '{}', @o, @e)");
    expect_errno(s1, 52001, "CALL idem.apply_delta(NULL, 1, 1, '{}', @o, @e)");
    expect_errno(s1, 52001,
                 "CALL idem.apply_snapshot('snap', 1, 1, '{\"cents\":{\"$add\":1}}', @o)");
    expect_errno(s1, 52001, "CALL idem.apply_snapshot('snap', 1, 1, '{\"version\":1}', @o)");
    expect_errno(s1, 52001, "CALL idem.apply_snapshot('snap', 1, 1, '{\"nope\":1}', @o)");
}

static void strict_raises_52010_and_says_what_is_missing(void **state)
{
    int id = fresh_id();

    (void)state;
    expect_errno(s1, 52010, "CALL idem.apply_delta_strict('plain', %d, 3, '{}', @o, @e)", id);
    expect_delta(s1, "APPLIED 2", "CALL idem.apply_delta_strict('plain', %d, 1, '{}', @o, @e)", id);
    expect_errno(s1, 52010, "CALL idem.apply_delta_strict('plain', %d, 3, '{}', @o, @e)", id);
    assert_non_null(strstr(mysql_error(s1), "version 3 came while 2 is next"));
    expect_delta(s1, "DUPLICATE 2", "CALL idem.apply_delta_strict('plain', %d, 1, '{}', @o, @e)",
                 id);
    expect_delta(s1, "PARKED 1", "CALL idem.apply_delta_strict('park', %d, 2, '{}', @o, @e)", id);
    expect_errno(s1, 52010,
                 "CALL idem.apply_delta_strict('park', %d, 2, '{\"memo\":\"x\"}', @o, @e)", id);
    run(s1, "CALL idem.forget_parked('park', %d, NULL)", id);
}

static void compare_and_set_loses_to_whoever_was_quicker(void **state)
{
    MYSQL *clients[] = {s1, found_rows};

    (void)state;
    for (int i = 0; i < 2; i++) {
        MYSQL *sql = clients[i];
        int id = fresh_id();

        expect_outcome(sql, "MISSING", "CALL idem.compare_and_set('snap', %d, 1, '{}', @o)", id);
        expect_outcome(sql, "INSERTED", SNAPSHOT, id, "1", "{\"memo\":\"a\"}");
        expect_outcome(sql, "APPLIED",
                       "CALL idem.compare_and_set('snap', %d, 1, '{\"memo\":\"b\"}', @o)", id);
        expect_outcome(sql, "CONFLICT",
                       "CALL idem.compare_and_set('snap', %d, 1, '{\"memo\":\"b\"}',"
                       " @o)",
                       id);
        expect_outcome(sql, "CONFLICT", "CALL idem.compare_and_set('snap', %d, 3, '{}', @o)", id);
        expect_outcome(sql, "APPLIED", "CALL idem.compare_and_set('snap', %d, 2, NULL, @o)", id);
        expect_text(sql, "3 b",
                    "SELECT CONCAT(version, ' ', memo) FROM bank.customer WHERE id = %d", id);
        expect_errno(sql, 52001, "CALL idem.compare_and_set('snap', %d, NULL, '{}', @o)", id);
        expect_errno(sql, 52001,
                     "CALL idem.compare_and_set('snap', %d, 9223372036854775807, '{}', @o)", id);
    }
}

/* Two sessions with snapshots older than the other's commit. */
static void concurrent_snapshots_end_with_the_newest(void **state)
{
    const char *levels[] = {"REPEATABLE READ", "READ COMMITTED"};

    (void)state;
    run(s2, "SET SESSION innodb_snapshot_isolation = OFF");
    for (int i = 0; i < 2; i++) {
        int id = fresh_id();
        int other = fresh_id();

        run(s2, "SET SESSION TRANSACTION ISOLATION LEVEL %s", levels[i]);
        /* Both create: the unique key lets one; the other is judged by what the first stored. */
        run(s2, "BEGIN");
        expect_text(s2, "NULL", "SELECT version FROM bank.customer WHERE id = %d", id);
        run(s1, "BEGIN");
        expect_outcome(s1, "INSERTED", SNAPSHOT, id, "7", "{\"cents\":7}");
        send_query(s2, SNAPSHOT, id, "5", "{\"cents\":5}");
        assert_int_equal(receive_after(s2, s1, "COMMIT"), 0);
        expect_text(s2, "STALE", "SELECT @o");
        expect_outcome(s2, "UPDATED", SNAPSHOT, id, "8", "{\"cents\":8}");
        run(s2, "COMMIT");
        expect_text(s1, "8", "SELECT cents FROM bank.customer WHERE id = %d", id);
        /* The creator rolls back: the other creates. */
        run(s1, "BEGIN");
        expect_outcome(s1, "INSERTED", SNAPSHOT, other, "7", "{\"cents\":7}");
        send_query(s2, SNAPSHOT, other, "5", "{\"cents\":5}");
        assert_int_equal(receive_after(s2, s1, "ROLLBACK"), 0);
        expect_text(s2, "INSERTED", "SELECT @o");
    }
    run(s2, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
}

static void concurrent_deltas_of_one_version_are_applied_once(void **state)
{
    int id = fresh_id();

    (void)state;
    run(s2, "SET SESSION innodb_snapshot_isolation = OFF");
    expect_delta(s1, "APPLIED 2", DELTA("plain"), id, 1, PLUS);
    run(s1, "BEGIN");
    run(s2, "BEGIN");
    expect_text(s2, "1", "SELECT version FROM bank.account WHERE id = %d", id);
    expect_delta(s1, "APPLIED 3", DELTA("plain"), id, 2, PLUS);
    send_query(s2, DELTA("plain"), id, 2, PLUS);
    assert_int_equal(receive_after(s2, s1, "COMMIT"), 0);
    expect_text(s2, "DUPLICATE 3", "SELECT CONCAT(@o, ' ', @e)");
    expect_delta(s2, "APPLIED 4", DELTA("plain"), id, 3, PLUS);
    run(s2, "COMMIT");
    expect_text(s1, "3 3", "SELECT CONCAT(version, ' ', cents) FROM bank.account WHERE id = %d",
                id);
}

/* A call that makes no row opens no snapshot, so that waiting for the row costs nobody the
 * transaction. */
static void snapshot_isolation_waits_and_answers(void **state)
{
    int id = fresh_id();

    (void)state;
    run(s2, "SET SESSION innodb_snapshot_isolation = ON");
    expect_delta(s1, "APPLIED 2", DELTA("plain"), id, 1, PLUS);
    run(s1, "BEGIN");
    expect_delta(s1, "APPLIED 3", DELTA("plain"), id, 2, PLUS);
    run(s2, "BEGIN");
    send_query(s2, DELTA("plain"), id, 2, PLUS);
    assert_int_equal(receive_after(s2, s1, "COMMIT"), 0);
    expect_text(s2, "DUPLICATE 3", "SELECT CONCAT(@o, ' ', @e)");
    run(s2, "COMMIT");

    run(s1, "BEGIN");
    expect_outcome(s1, "APPLIED", "CALL idem.compare_and_set('plain', %d, 2, NULL, @o)", id);
    run(s2, "BEGIN");
    send_query(s2, "CALL idem.compare_and_set('plain', %d, 2, NULL, @o)", id);
    assert_int_equal(receive_after(s2, s1, "COMMIT"), 0);
    expect_text(s2, "CONFLICT", "SELECT @o");
    run(s2, "COMMIT");
    run(s2, "SET SESSION innodb_snapshot_isolation = OFF");
}

/* Who changes a definition waits with nothing in hand, and then sees what was parked meanwhile. */
static void a_new_definition_and_a_transaction_that_parks_do_not_deadlock(void **state)
{
    const char *const changes[] = {
        "CALL idem.define_projection('park', 'bank', 'parking', 'id', 'version', 'snapshot')",
        "CALL idem.set_projection('park', NULL, FALSE, NULL)", "CALL idem.drop_projection('park')"};

    (void)state;
    for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
        int id = fresh_id();

        run(s1, "BEGIN");
        expect_delta(s1, "APPLIED 2", DELTA("park"), id, 1, PLUS);
        send_query(s2, "%s", changes[i]);
        wait_for_lock(s3);
        expect_delta(s1, "PARKED 2", DELTA("park"), id, 3, PLUS);
        run(s1, "COMMIT");
        assert_int_equal(receive(s2), 52001);
        run(s1, "CALL idem.forget_parked('park', NULL, NULL)");
    }
}

/* The call had the definition as it was; the event must not be left behind for nobody. */
static void an_event_is_not_parked_for_a_projection_that_is_being_dropped(void **state)
{
    int id = fresh_id();

    (void)state;
    run(s1, "CREATE TABLE bank.leaving LIKE bank.account");
    run(s1, "CALL idem.define_projection('leaving', 'bank', 'leaving', 'id', 'version', 'delta')");
    run(s1, "CALL idem.set_projection('leaving', NULL, TRUE, NULL)");
    run(s1, "BEGIN");
    run(s1, "CALL idem.drop_projection('leaving')");
    send_query(s2, DELTA("leaving"), id, 3, PLUS);
    assert_int_equal(receive_after(s2, s1, "COMMIT"), 52001);
    expect_text(s1, "0", "SELECT COUNT(*) FROM idem.parked_event");
}

/* An event is parked while the one before it is being applied: whichever is first, none is
 * stranded. */
static void parking_and_closing_the_gap_do_not_miss_each_other(void **state)
{
    const char *levels[] = {"REPEATABLE READ", "READ COMMITTED"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        for (int first = 0; first < 2; first++) {
            int id = fresh_id();

            run(s1, "SET SESSION TRANSACTION ISOLATION LEVEL %s", levels[i]);
            run(s2, "SET SESSION TRANSACTION ISOLATION LEVEL %s", levels[i]);
            run(s2, "SET SESSION innodb_snapshot_isolation = OFF");
            if (first == 0)
                expect_delta(s1, "APPLIED 2", DELTA("park"), id, 1, PLUS);
            run(s1, "BEGIN");
            run(s2, "BEGIN");
            run(s2, "SELECT COUNT(*) FROM bank.parking");
            /* s1 applies and stays open; s2 has the next but one's successor... */
            expect_delta(s1, first ? "APPLIED 2" : "APPLIED 3", DELTA("park"), id, first ? 1 : 2,
                         PLUS);
            send_query(s2, DELTA("park"), id, first ? 2 : 3, PLUS);
            assert_int_equal(receive_after(s2, s1, "COMMIT"), 0);
            expect_text(s2, first ? "APPLIED 3" : "APPLIED 4", "SELECT CONCAT(@o, ' ', @e)");
            run(s2, "COMMIT");
            expect_text(s1, "0", "SELECT COUNT(*) FROM idem.parked_event");

            /* The other way round: parked first and not committed, then the gap is closed. */
            id = fresh_id();
            if (first == 0)
                expect_delta(s1, "APPLIED 2", DELTA("park"), id, 1, PLUS);
            run(s2, "BEGIN");
            expect_delta(s2, first ? "PARKED 1" : "PARKED 2", DELTA("park"), id, first ? 2 : 3,
                         PLUS);
            send_query(s1, DELTA("park"), id, first ? 1 : 2, PLUS);
            assert_int_equal(receive_after(s1, s2, "COMMIT"), 0);
            expect_text(s1, first ? "APPLIED 3" : "APPLIED 4", "SELECT CONCAT(@o, ' ', @e)");
            expect_text(s1, "0", "SELECT COUNT(*) FROM idem.parked_event");
        }
    }
    run(s1, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    run(s2, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
}

/* The gap is closed after the early event's call has looked at the row, and before it has parked: a
   gap lock of s3 holds it there. It must look again. */
static void a_gap_closed_while_an_event_is_being_parked_does_not_strand_it(void **state)
{
    int id = fresh_id();

    (void)state;
    run(s3, "BEGIN");
    expect_text(s3, "0", "SELECT COUNT(*) FROM idem.parked_event FOR UPDATE");
    send_query(s2, DELTA("park"), id, 2, PLUS);
    wait_for_lock(s3);
    expect_delta(s1, "APPLIED 2", DELTA("park"), id, 1, PLUS);
    run(s3, "COMMIT");
    assert_int_equal(receive(s2), 0);
    expect_text(s2, "APPLIED 3", "SELECT CONCAT(@o, ' ', @e)");
    expect_text(s1, "2 0",
                "SELECT CONCAT((SELECT cents FROM bank.parking WHERE id = %d), ' ',"
                " (SELECT COUNT(*) FROM idem.parked_event))",
                id);
}

/* What was parked after the snapshot of the transaction that closes the gap. */
static void an_old_snapshot_does_not_hide_what_is_parked(void **state)
{
    int id = fresh_id();

    (void)state;
    run(s1, "SET SESSION innodb_snapshot_isolation = OFF");
    expect_delta(s1, "APPLIED 2", DELTA("park"), id, 1, PLUS);
    run(s1, "BEGIN");
    expect_text(s1, "0", "SELECT COUNT(*) FROM idem.parked_event");
    expect_delta(s2, "PARKED 2", DELTA("park"), id, 3, PLUS);
    expect_delta(s1, "APPLIED 4", DELTA("park"), id, 2, PLUS);
    run(s1, "COMMIT");
    expect_text(s1, "3", "SELECT cents FROM bank.parking WHERE id = %d", id);
    expect_delta(s1, "APPLIED 5", DELTA("park"), id, 4, PLUS);
    expect_text(s1, "0", "SELECT COUNT(*) FROM idem.parked_event");
}

static void two_new_rows_do_not_deadlock(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        int a = 1000000 + fresh_id();
        int b = 1000000 + fresh_id();

        run(s1, "BEGIN");
        run(s2, "BEGIN");
        expect_outcome(s1, "INSERTED", SNAPSHOT, a, "1", "{}");
        expect_outcome(s2, "INSERTED", SNAPSHOT, b, "1", "{}");
        expect_delta(s1, "APPLIED 2", DELTA("plain"), a, 1, "{}");
        expect_delta(s2, "APPLIED 2", DELTA("plain"), b, 1, "{}");
        run(s1, "COMMIT");
        run(s2, "COMMIT");
    }
}

static void snapshot_isolation_1020_reaches_the_caller(void **state)
{
    int id = fresh_id();

    (void)state;
    expect_outcome(s1, "INSERTED", SNAPSHOT, id, "1", "{}");
    run(s2, "SET SESSION innodb_snapshot_isolation = ON");
    run(s2, "BEGIN");
    expect_text(s2, "1", "SELECT version FROM bank.customer WHERE id = %d", id);
    expect_outcome(s1, "UPDATED", SNAPSHOT, id, "2", "{}");
    expect_errno(s2, 1020, SNAPSHOT, id, "3", "{}");
    expect_text(s2, "0", "SELECT @@in_transaction");
    run(s2, "SET SESSION innodb_snapshot_isolation = OFF");
}

static void another_unique_key_of_the_table_is_its_own_error(void **state)
{
    (void)state;
    run(s1, "CREATE TABLE bank.mail (id INT PRIMARY KEY, version INT NOT NULL, email VARCHAR(40) "
            "UNIQUE)");
    run(s1, "CALL idem.define_projection('mail', 'bank', 'mail', 'id', 'version', 'snapshot')");
    expect_outcome(s1, "INSERTED",
                   "CALL idem.apply_snapshot('mail', 1, 1, '{\"email\":\"a\"}', @o)");
    expect_errno(s1, 1062, "CALL idem.apply_snapshot('mail', 2, 1, '{\"email\":\"a\"}', @o)");
    expect_outcome(s1, "INSERTED",
                   "CALL idem.apply_snapshot('mail', 2, 1, '{\"email\":\"b\"}', @o)");
    expect_errno(s1, 1062, "CALL idem.apply_snapshot('mail', 2, 2, '{\"email\":\"a\"}', @o)");
    expect_text(s1, "1", "SELECT version FROM bank.mail WHERE id = 2");
}

/* A redelivery must be DUPLICATE also where the column rounded, padded or folded the value. */
static void conflict_is_judged_as_the_columns_store(void **state)
{
    const char *content =
        "{\"f\":0.1,\"d\":1.005,\"i\":1.5,\"c\":\"ab \",\"v\":\"ab \",\"y\":{\"$hex\":"
        "\"01\"},\"z\":{\"$hex\":\"00ff\"},\"e\":\"ON\",\"b\":true,\"dt\":\"2026-01-02"
        " 03:04:05.9\",\"ti\":\"1:02:03\",\"u\":\"123E4567E89B12D3A456426614174000\","
        "\"j\":{\"a\":[1,2]},\"g\":1e-7,\"n\":null,\"l\":\"caf\xc3\xa9\"}";

    (void)state;
    run(s1, "CREATE TABLE bank.typed (id INT PRIMARY KEY, version INT NOT NULL, f FLOAT,"
            " d DECIMAL(5,2), i INT, c CHAR(4), v VARCHAR(4), y BINARY(3), z BLOB,"
            " e ENUM('on','off'), b BOOLEAN, dt DATETIME, ti TIME, u UUID, j JSON, g DOUBLE, n INT,"
            " l VARCHAR(9) CHARACTER SET latin1)");
    run(s1, "CALL idem.define_projection('typed', 'bank', 'typed', 'id', 'version', 'snapshot')");
    expect_outcome(s1, "INSERTED", "CALL idem.apply_snapshot('typed', 1, 1, '%s', @o)", content);
    expect_outcome(s1, "DUPLICATE", "CALL idem.apply_snapshot('typed', 1, 1, '%s', @o)", content);
    expect_outcome(s1, "CONFLICT", "CALL idem.apply_snapshot('typed', 1, 1, '{\"v\":\"ab\"}', @o)");
    expect_outcome(s1, "CONFLICT",
                   "CALL idem.apply_snapshot('typed', 1, 1, '{\"v\":\"AB \"}', @o)");
    expect_outcome(s1, "CONFLICT", "CALL idem.apply_snapshot('typed', 1, 1, '{\"d\":1.02}', @o)");
    expect_outcome(s1, "CONFLICT", "CALL idem.apply_snapshot('typed', 1, 1, '{\"n\":0}', @o)");
    expect_outcome(s1, "CONFLICT", "CALL idem.apply_snapshot('typed', 1, 1, '{\"j\":null}', @o)");
    expect_errno(s1, 52001, "CALL idem.apply_snapshot('typed', 1, 1, '{\"nope\":1}', @o)");
}

static void a_projection_that_does_not_fit_is_refused(void **state)
{
    static const char *const bad[][4] = {
        {"loose", "id", "version", "delta"},      {"account", "id", "memo", "delta"},
        {"account", "id", "nope", "delta"},       {"account", "nope", "version", "delta"},
        {"account", "cents", "version", "delta"}, {"nope", "id", "version", "delta"},
        {"account", "id", "version", "both"},     {"account", "id", "id", "snapshot"},
        {"halfnull", "id", "version", "delta"},
    };

    (void)state;
    run(s1, "CREATE TABLE bank.loose (id INT NOT NULL, version INT NOT NULL, KEY (id))");
    run(s1, "CREATE TABLE bank.halfnull (id INT PRIMARY KEY, version INT)");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        expect_errno(s1, 52001,
                     "CALL idem.define_projection('bad', 'bank', '%s', '%s', '%s', '%s')",
                     bad[i][0], bad[i][1], bad[i][2], bad[i][3]);
    expect_errno(s1, 52001,
                 "CALL idem.define_projection('bad', 'bank', 'account', 'id', 'version', NULL)");
    run(s1, "CREATE TABLE bank.tiny (id INT PRIMARY KEY, version TINYINT UNSIGNED NOT NULL)");
    run(s1, "CALL idem.define_projection('tiny', 'bank', 'tiny', 'id', 'version', 'snapshot')");
    expect_errno(s1, 52001, "CALL idem.apply_snapshot('tiny', 1, 256, '{}', @o)");
    assert_non_null(strstr(mysql_error(s1), "0 to 255"));
    expect_outcome(s1, "INSERTED", "CALL idem.apply_snapshot('tiny', 1, 255, '{}', @o)");
    run(s1, "CALL idem.drop_projection('tiny')");
    expect_errno(s1, 52001, "CALL idem.drop_projection('tiny')");
    expect_errno(s1, 52001, "CALL idem.apply_snapshot('tiny', 1, 255, '{}', @o)");
    expect_text(s1, "NULL", "CALL idem.verify_guards()");
}

static void consume_and_apply_takes_an_event_once_and_only_when_it_was_handled(void **state)
{
#define CONSUME "CALL idem.consume_and_apply('billing', %s, '%s', %d, %d, '%s', @o)"
    const char *first = strdup(fresh_key("evt"));
    const char *second = strdup(fresh_key("evt"));
    const char *third = strdup(fresh_key("evt"));
    int id = fresh_id();
    int other = fresh_id();

    (void)state;
    expect_outcome(s1, "GAP", CONSUME, second, "plain", id, 2, PLUS);
    expect_outcome(s1, "APPLIED", CONSUME, first, "plain", id, 1, PLUS);
    expect_outcome(s1, "DUPLICATE", CONSUME, first, "plain", id, 1, PLUS);
    expect_outcome(s1, "APPLIED", CONSUME, second, "plain", id, 2, PLUS);
    expect_outcome(s1, "DUPLICATE", CONSUME, second, "plain", id, 2, PLUS);
    /* The same event under a later version: the inbox knows it. */
    expect_errno(s1, 52003, CONSUME, second, "plain", id, 3, PLUS);
    expect_errno(s1, 52003, CONSUME, second, "plain", other, 1, PLUS);
    /* Another event with a version that was applied: the version guard knows it. */
    expect_outcome(s1, "DUPLICATE", CONSUME, third, "plain", id, 2, PLUS);
    expect_text(s1, "2 2", "SELECT CONCAT(version, ' ', cents) FROM bank.account WHERE id = %d",
                id);
    expect_outcome(s1, "INSERTED",
                   "CALL idem.consume_and_apply('crm', %s, 'snap', %d, 4, '{}', @o)", second, id);
    expect_outcome(s1, "CONFLICT",
                   "CALL idem.consume_and_apply('crm', %s, 'snap', %d, 4,"
                   " '{\"cents\":5}', @o)",
                   third, id);
    expect_text(s1, "0", "SELECT COUNT(*) FROM idem.record WHERE scope = 'crm' AND idem_key = %s",
                third);
    expect_errno(s1, 52001, CONSUME, "NULL", "plain", id, 3, PLUS);
    expect_errno(s1, 52001, CONSUME, "'e'", "nope", id, 3, PLUS);
    /* In a transaction both come and go together. */
    run(s1, "BEGIN");
    expect_outcome(s1, "APPLIED", CONSUME, "'rolled back'", "plain", id, 3, PLUS);
    run(s1, "ROLLBACK");
    expect_outcome(s1, "APPLIED", CONSUME, "'rolled back'", "plain", id, 3, PLUS);
    expect_outcome(s1, "PARKED", CONSUME, "'parked'", "park", id, 2, PLUS);
    expect_outcome(s1, "DUPLICATE", CONSUME, "'parked'", "park", id, 2, PLUS);
    run(s1, "CALL idem.forget_parked('park', %d, NULL)", id);
    free((void *)first);
    free((void *)second);
    free((void *)third);
}

static void same_event_in_two_sessions_is_handled_once(void **state)
{
    int id = fresh_id();

    (void)state;
    run(s2, "SET SESSION innodb_snapshot_isolation = OFF");
    run(s1, "BEGIN");
    expect_outcome(s1, "APPLIED", CONSUME, "'twin'", "plain", id, 1, PLUS);
    send_query(s2, CONSUME, "'twin'", "plain", id, 1, PLUS);
    assert_int_equal(receive_after(s2, s1, "COMMIT"), 0);
    expect_text(s2, "DUPLICATE", "SELECT @o");
    expect_text(s1, "1", "SELECT cents FROM bank.account WHERE id = %d", id);
}

static void stale_worker_is_fenced_off(void **state)
{
    const char *key = fresh_key("fence");
    int id = fresh_id();
    unsigned long long old_token, token;

    (void)state;
    set_clock(s1, "2031-03-01 10:00:00");
    run(s1, "CALL idem.ensure_partitions()");
    old_token = claim(s1, PROCEDURE_DOOR, "'sync'", key, "NULL").token;
    set_clock(s1, "2031-03-01 11:00:00");
    token = claim(s2, PROCEDURE_DOOR, "'sync'", key, "NULL").token;
    run(s1, "BEGIN");
    expect_errno(s1, 52004,
                 "CALL idem.apply_snapshot_fenced('snap', %d, 1, '{}', 'sync', %s, %llu, @o)", id,
                 key, old_token);
    expect_errno(s1, 52004,
                 "CALL idem.apply_delta_fenced('plain', %d, 1, '{}', 'sync', %s, %llu, @o, @e)", id,
                 key, old_token);
    run(s1, "COMMIT");
    run(s2, "BEGIN");
    expect_outcome(s2, "INSERTED",
                   "CALL idem.apply_snapshot_fenced('snap', %d, 1, '{}', 'sync', %s, %llu, @o)", id,
                   key, token);
    expect_delta(s2, "APPLIED 2",
                 "CALL idem.apply_delta_fenced('plain', %d, 1, '{}', 'sync', %s, NULL, @o, @e)", id,
                 key);
    run(s2, "COMMIT");
    expect_errno(s2, 52006,
                 "CALL idem.apply_delta_fenced('plain', %d, 2, '{}', 'sync', %s, NULL, @o, @e)", id,
                 key);
}

static void callers_have_their_own_rights_and_no_more(void **state)
{
    int id = fresh_id();
    MYSQL *app;

    (void)state;
    create_account(s1, "app", "idem_app");
    run(s1, "CALL idem.allow('app', '%%', 'park')");
    run(s1, "CALL idem.allow('app', '%%', 'mail.consumer')");
    app = server_connect_as(fixture_server, "app", 0);
    expect_errno(app, 52007, DELTA("plain"), id, 1, PLUS);
    expect_errno(app, 1142, DELTA("park"), id, 1, PLUS);
    run(s1, "GRANT SELECT ON bank.parking TO app@localhost");
    expect_errno(app, 1142, DELTA("park"), id, 1, PLUS);
    run(s1, "GRANT INSERT, UPDATE ON bank.parking TO app@localhost");
    expect_delta(app, "PARKED 1", DELTA("park"), id, 2, PLUS);
    expect_delta(app, "APPLIED 3", DELTA("park"), id, 1, PLUS);
    expect_outcome(app, "APPLIED",
                   "CALL idem.consume_and_apply('mail.consumer', 'x', 'park', %d, 3, '{}', @o)",
                   id);
    expect_errno(app, 52007, "CALL idem.consume_and_apply('other', 'x', 'park', %d, 4, '{}', @o)",
                 id);
    expect_errno(app, 52007, "CALL idem._park('apply_delta', 'plain', x'00', 1, 2, '{}', @o)");
    expect_errno(app, 52007, "CALL idem._next_parked('apply_delta', 'plain', x'00', 1, '', @o)");
    expect_errno(app, 1370, "CALL idem.set_projection('park', NULL, FALSE, NULL)");
    expect_errno(app, 1370, "CALL idem.forget_parked('park', NULL, NULL)");
    expect_errno(app, 1142, "DELETE FROM idem.parked_event");
    mysql_close(app);
}

static int64_t status(const char *name)
{
    return value_int(s3,
                     "SELECT variable_value FROM information_schema.global_status"
                     " WHERE variable_name = 'idem_version_%s'",
                     name);
}

static void outcomes_are_counted(void **state)
{
    static const char *const names[] = {"inserted", "updated", "stale",  "duplicate", "conflict",
                                        "applied",  "gap",     "parked", "missing"};
    static const int grown[] = {1, 1, 1, 1, 1, 2, 1, 1, 1};
    int64_t before[9];
    int id = fresh_id();

    (void)state;
    for (int i = 0; i < 9; i++)
        before[i] = status(names[i]);
    run(s1, SNAPSHOT, id, "1", "{}");
    run(s1, SNAPSHOT, id, "2", "{}");
    run(s1, SNAPSHOT, id, "1", "{}");
    run(s1, SNAPSHOT, id, "2", "{}");
    run(s1, SNAPSHOT, id, "2", "{\"memo\":\"x\"}");
    run(s1, "CALL idem.compare_and_set('snap', %d, 1, '{}', @o)", fresh_id());
    run(s1, DELTA("park"), id, 2, "{}");
    run(s1, DELTA("park"), id, 1, "{}");
    run(s1, DELTA("plain"), id, 3, "{}");
    for (int i = 0; i < 9; i++)
        if (status(names[i]) != before[i] + grown[i])
            fail_msg("idem_version_%s did not grow by %d", names[i], grown[i]);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, fixture_settle)
    const struct CMUnitTest tests[] = {
        TEST(case_49_older_snapshot_never_wins_and_case_12_under_both_client_flags),
        TEST(delta_is_applied_only_in_order),
        TEST(first_version_is_what_the_projection_says),
        TEST(parked_events_are_applied_in_order_by_the_call_that_closes_the_gap),
        TEST(parking_is_bounded_for_each_row),
        TEST(stale_parked_events_are_shown),
        TEST(redelivery_applies_what_a_killed_call_left_parked),
        TEST(parked_event_that_the_table_refuses_stays_and_blocks_nothing_silently),
        TEST(ids_that_the_key_takes_for_equal_are_one_stream),
        TEST(snapshot_and_delta_are_not_mixed),
        TEST(strict_raises_52010_and_says_what_is_missing),
        TEST(compare_and_set_loses_to_whoever_was_quicker),
        TEST(concurrent_snapshots_end_with_the_newest),
        TEST(concurrent_deltas_of_one_version_are_applied_once),
        TEST(snapshot_isolation_waits_and_answers),
        TEST(a_new_definition_and_a_transaction_that_parks_do_not_deadlock),
        TEST(an_event_is_not_parked_for_a_projection_that_is_being_dropped),
        TEST(parking_and_closing_the_gap_do_not_miss_each_other),
        TEST(a_gap_closed_while_an_event_is_being_parked_does_not_strand_it),
        TEST(an_old_snapshot_does_not_hide_what_is_parked),
        TEST(two_new_rows_do_not_deadlock),
        TEST(snapshot_isolation_1020_reaches_the_caller),
        TEST(another_unique_key_of_the_table_is_its_own_error),
        TEST(conflict_is_judged_as_the_columns_store),
        TEST(a_projection_that_does_not_fit_is_refused),
        TEST(consume_and_apply_takes_an_event_once_and_only_when_it_was_handled),
        TEST(same_event_in_two_sessions_is_handled_once),
        TEST(stale_worker_is_fenced_off),
        TEST(callers_have_their_own_rights_and_no_more),
        TEST(outcomes_are_counted),
    };

    return cmocka_run_group_tests_name("projection", tests, start, stop);
}
