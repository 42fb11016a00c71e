/* SPDX-License-Identifier: GPL-2.0-only */
/* The maintenance procedures: days made, repaired and dropped, leases reaped, and what idem.task
 * says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "claims.h"
#include "server.h"

#define RACERS 4

static struct server *server;
static MYSQL *s1, *s2, *s3;

static int start(void **state)
{
    (void)state;
    server = server_start((const char *const[]){"--event-scheduler=ON", NULL});
    s1 = server_connect(server);
    s2 = server_connect(server);
    s3 = server_connect(server);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    mysql_close(s1);
    mysql_close(s2);
    mysql_close(s3);
    server_stop(server);
    return 0;
}

/* Every test begins with an empty table on 2026-03-01, seven days ahead, 30 days of retention. */
static int fresh(void **state)
{
    (void)state;
    run_errno(s2, "XA ROLLBACK 'x'"); /* of a test that failed */
    run(s1, "ROLLBACK");
    run(s2, "ROLLBACK");
    run(s3, "ROLLBACK");
    set_clock(s1, NULL);
    set_clock(s1, "2026-03-01 12:00:00");
    run(s1, "SET GLOBAL idem_retention_days = 30, GLOBAL idem_partitions_ahead = 7,"
            " GLOBAL idem_reap_batch = 500, GLOBAL idem_ddl_lock_wait_ms = 100");
    run(s1, "DELETE FROM idem.live_day");
    run(s1, "DELETE FROM idem.policy");
    run(s1, "DELETE FROM idem.task");
    run(s1, "ALTER TABLE idem.record REMOVE PARTITIONING");
    run(s1, "TRUNCATE TABLE idem.record");
    run(s1, "ALTER TABLE idem.record PARTITION BY RANGE COLUMNS (created_on)"
            " (PARTITION p19700101 VALUES LESS THAN ('1970-01-02'))");
    run(s1, "CALL idem.ensure_partitions()");
    return 0;
}

static const char *days(void)
{
    return value(s3, "SELECT CONCAT(COUNT(*), ' ', MIN(partition_name), ' ', MAX(partition_name))"
                     "  FROM information_schema.partitions"
                     " WHERE table_schema = 'idem' AND table_name = 'record'");
}

/* What the last run of a task said of a day. */
static const char *outcome_of(const char *task, const char *day)
{
    return value(s3,
                 "SELECT MAX(j.outcome) FROM idem.task t, JSON_TABLE(t.outcome, '$[*]' COLUMNS ("
                 " day VARCHAR(10) PATH '$.day', outcome VARCHAR(16) PATH '$.outcome')) j"
                 " WHERE t.name = '%s' AND j.day = '%s'",
                 task, day);
}

static void expect_outcome(const char *task, const char *day, const char *expected)
{
    assert_string_equal(outcome_of(task, day), expected);
}

static void keys_of_day(const char *day, const char *key, int status, const char *lease_until)
{
    run(s1,
        "INSERT INTO idem.record (scope, idem_key, created_on, biz_type, status, attempt, token,"
        " owner_conn, owner_epoch, owner_account, lease_until, created_at, updated_at)"
        " VALUES ('', '%s', '%s', 'pay', %d, 1, 1, 1, 1, 'a@b', %s, '%s', '%s')",
        key, day, status, lease_until, day, day);
}

static void days_ahead_exist_and_the_placeholder_is_gone(void **state)
{
    (void)state;
    assert_string_equal(days(), "8 p20260301 p20260308");
    expect_text(s1, "8", "SELECT COUNT(*) FROM idem.live_day");
    expect_text(s1, "NULL", "CALL idem.ensure_partitions()"); /* a second run changes nothing */
    set_clock(s1, "2026-03-02 00:00:00");
    expect_text(s1, "2026-03-09", "CALL idem.ensure_partitions()");
    expect_outcome("ensure_partitions", "2026-03-09", "created");
    assert_string_equal(days(), "9 p20260301 p20260309");
}

static void case_28_days_are_utc_whatever_the_session_says(void **state)
{
    (void)state;
    /* The hour that New York skips, and the one that Berlin has twice. */
    run(s1, "SET time_zone = '-05:00', timestamp = 86400");
    set_clock(s1, "2026-03-08 06:59:59");
    run(s1, "CALL idem.ensure_partitions()");
    set_clock(s1, "2026-03-08 07:00:01");
    run(s1, "SET time_zone = '-04:00'");
    expect_text(s1, "NULL", "CALL idem.ensure_partitions()");
    assert_string_equal(days(), "15 p20260301 p20260315");
    run(s1, "SET time_zone = '+02:00', timestamp = DEFAULT");
    set_clock(s1, "2026-10-25 00:30:00");
    run(s1, "CALL idem.ensure_partitions()");
    run(s1, "SET time_zone = '+01:00'");
    set_clock(s1, "2026-10-25 01:30:00");
    expect_text(s1, "NULL", "CALL idem.ensure_partitions()");
    run(s1, "SET time_zone = DEFAULT");
    expect_text(s1, "0",
                "SELECT COUNT(*) FROM idem.day d WHERE d.day BETWEEN '2026-10-25' AND '2026-11-01'"
                " AND d.partition_name <> DATE_FORMAT(d.day, 'p%%Y%%m%%d')");
    expect_text(s1, "8", "SELECT COUNT(*) FROM idem.day d WHERE d.day >= '2026-10-25'");
}

static void case_27_a_missing_day_refuses_claims_until_it_is_made(void **state)
{
    (void)state;
    set_clock(s1, "2026-03-09 00:00:00"); /* the days ahead are used up */
    assert_int_equal(claim(s1, PROCEDURE_DOOR, "'pay'", "'C27'", "NULL").error, 52005);
    assert_int_equal(claim(s1, UDF_DOOR, "'pay'", "'C27'", "NULL").error, 52005);
    assert_non_null(strstr(mysql_error(s1), "2026-03-09"));
    run(s2, "CALL idem.ensure_partitions()");
    assert_string_equal(claim(s1, PROCEDURE_DOOR, "'pay'", "'C27'", "NULL").state, "CLAIMED");
}

static void stuck_lists_expired_and_unknown_only(void **state)
{
    MYSQL_RES *rows;

    (void)state;
    keys_of_day("2026-03-01", "expired", 0, "'2026-03-01 01:00:00'");
    keys_of_day("2026-03-01", "unknown", 3, "NULL");
    keys_of_day("2026-03-01", "alive", 0, "'2026-03-02'");
    keys_of_day("2026-03-01", "released", 4, "NULL");
    assert_int_equal(mysql_query(s1, "CALL idem.stuck(NULL)"), 0);
    rows = mysql_store_result(s1);
    assert_int_equal(mysql_num_rows(rows), 2);
    mysql_free_result(rows);
    while (mysql_next_result(s1) == 0)
        mysql_free_result(mysql_store_result(s1));
}

static void case_30_a_hole_is_repaired_and_its_rows_come_home(void **state)
{
    (void)state;
    run(s1, "ALTER TABLE idem.record DROP PARTITION p20260303, p20260305, p20260306");
    keys_of_day("2026-03-03", "stray", 1, "NULL"); /* lands in p20260304 */
    expect_text(s1, "1", "SELECT COUNT(*) FROM idem.record PARTITION (p20260304)");
    run(s1, "CALL idem.ensure_partitions()");
    expect_outcome("ensure_partitions", "2026-03-03", "repaired");
    expect_outcome("ensure_partitions", "2026-03-05", "repaired");
    expect_outcome("ensure_partitions", "2026-03-06", "repaired");
    assert_string_equal(days(), "8 p20260301 p20260308");
    expect_text(s1, "1", "SELECT COUNT(*) FROM idem.record PARTITION (p20260303)");
}

static void case_30_after_a_long_stop_all_needed_days_exist_and_one_is_never_dropped(void **state)
{
    (void)state;
    set_clock(s1, "2026-04-10 12:00:00"); /* retention + lead + 3 days later */
    run(s1, "CALL idem.drop_expired()");  /* even when dropping comes first */
    assert_string_equal(days(), "1 p20260308 p20260308");
    expect_outcome("drop_expired", "2026-03-08", "pinned");
    run(s1, "CALL idem.ensure_partitions()");
    run(s1, "CALL idem.drop_expired()");
    assert_string_equal(days(), "8 p20260410 p20260417");
    expect_text(s1, "8", "SELECT COUNT(*) FROM idem.live_day");
}

static void a_catch_all_partition_is_cut_into_days(void **state)
{
    (void)state;
    run(s1, "ALTER TABLE idem.record ADD PARTITION (PARTITION pmax VALUES LESS THAN (MAXVALUE))");
    set_clock(s1, "2026-03-03 12:00:00");
    run(s1, "CALL idem.ensure_partitions()");
    expect_outcome("ensure_partitions", "2026-03-09", "repaired");
    expect_outcome("ensure_partitions", "2026-03-10", "repaired");
    expect_text(s1, "p20260310", "SELECT partition_name FROM idem.day WHERE day = '2026-03-10'");
    expect_text(s1, "0", "SELECT COUNT(*) FROM idem.live_day WHERE day > '2026-03-10'");
}

static void days_made_by_hand_become_live(void **state)
{
    (void)state;
    run(s1,
        "ALTER TABLE idem.record ADD PARTITION (PARTITION mine VALUES LESS THAN ('2026-03-10'))");
    run(s1, "CALL idem.ensure_partitions()");
    expect_text(s1, "1", "SELECT COUNT(*) FROM idem.live_day WHERE day = '2026-03-09'");
    set_clock(s1, "2026-03-02 12:00:00"); /* its day is needed now: it counts, whatever its name */
    expect_text(s1, "NULL", "CALL idem.ensure_partitions()");
    set_clock(s1, "2026-03-09 12:00:00");
    assert_string_equal(claim(s1, PROCEDURE_DOOR, "'pay'", "'by hand'", "NULL").state, "CLAIMED");
}

static void killed_between_two_steps_the_next_call_goes_on(void **state)
{
    (void)state;
    /* after the row of live_day, before the partition */
    run(s1, "ALTER TABLE idem.record DROP PARTITION p20260308");
    run(s1, "CALL idem.ensure_partitions()");
    expect_outcome("ensure_partitions", "2026-03-08", "created");
    /* after the partition, before the row of live_day */
    set_clock(s1, "2026-04-05 12:00:00");
    run(s1, "CALL idem.ensure_partitions()");
    run(s1, "ALTER TABLE idem.record DROP PARTITION p20260301");
    run(s1, "CALL idem.drop_expired()");
    expect_outcome("drop_expired", "2026-03-01", "missing");
    expect_outcome("drop_expired", "2026-03-02", "dropped");
    expect_text(s1, "0", "SELECT COUNT(*) FROM idem.live_day WHERE day < '2026-03-06'");
    expect_text(s1, "NULL", "CALL idem.drop_expired()");
}

static void *call_both(void *argument)
{
    MYSQL *sql = server_connect(server);
    long failed = 0;

    mysql_thread_init();
    for (int i = 0; i < 5; i++)
        failed += run_errno(sql, "CALL idem.ensure_partitions()") != 0 ||
                  run_errno(sql, "CALL idem.drop_expired()") != 0 ||
                  run_errno(sql, "CALL idem.reap()") != 0;
    mysql_close(sql);
    mysql_thread_end();
    *(long *)argument = failed;
    return NULL;
}

static atomic_bool changing;

/* Changes the table all the time; the partition is far from all days. */
static void *change_partitions(void *unused)
{
    MYSQL *sql = server_connect(server);

    while (atomic_load(&changing)) {
        run_errno(sql, "ALTER TABLE idem.record ADD PARTITION (PARTITION far VALUES LESS THAN "
                       "('2090-01-01'))");
        run_errno(sql, "ALTER TABLE idem.record DROP PARTITION far");
    }
    mysql_close(sql);
    return unused;
}

/* The server leaves a table out of information_schema while another session changes it: that there
   is nothing to be seen then says nothing about the days. */
static void a_table_that_is_being_changed_has_all_its_days(void **state)
{
    pthread_t thread;
    MYSQL_RES *days;
    MYSQL_ROW row;

    (void)state;
    run(s1, "CALL idem.ensure_partitions()");
    set_clock(s1, "2026-05-01 12:00:00");
    run(s1, "CALL idem.ensure_partitions()");
    atomic_store(&changing, true);
    assert_int_equal(pthread_create(&thread, NULL, change_partitions, NULL), 0);
    for (int i = 0; i < 20; i++)
        run(s1, "CALL idem.ensure_partitions()");
    for (int i = 0; i < 20; i++) {
        assert_int_equal(mysql_query(s1, "CALL idem.drop_expired()"), 0);
        days = mysql_store_result(s1);
        while ((row = mysql_fetch_row(days)) != NULL)
            if (strcmp(row[1], "missing") == 0)
                fail_msg("%s is said to be missing", row[0]);
        mysql_free_result(days);
        while (mysql_next_result(s1) == 0)
            mysql_free_result(mysql_store_result(s1));
    }
    atomic_store(&changing, false);
    pthread_join(thread, NULL);
}

static void many_at_once_disturb_nobody(void **state)
{
    pthread_t threads[RACERS];
    long failed[RACERS];

    (void)state;
    run(s1, "SET GLOBAL idem_ddl_lock_wait_ms = 5000");
    set_clock(s1, "2026-04-06 12:00:00");
    for (int i = 0; i < RACERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_both, &failed[i]), 0);
    for (int i = 0; i < RACERS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(failed[i], 0);
    }
    run(s1, "CALL idem.ensure_partitions()");
    run(s1, "CALL idem.drop_expired()");
    assert_string_equal(days(), "10 p20260307 p20260413"); /* two old days are within retention */
    expect_text(s1, "10", "SELECT COUNT(*) FROM idem.live_day");
}

static void case_29_an_idle_transaction_holds_nobody_up(void **state)
{
    (void)state;
    set_clock(s1, "2026-04-02 12:00:00");
    run(s1, "CALL idem.ensure_partitions()");
    run(s2, "BEGIN");
    run(s2, "SELECT COUNT(*) FROM idem.record");
    run(s1, "CALL idem.drop_expired()");
    expect_outcome("drop_expired", "2026-03-01", "contended");
    assert_string_equal(claim(s1, PROCEDURE_DOOR, "'pay'", "'C29'", "NULL").state, "CLAIMED");
    set_clock(s1, "2026-04-03 12:00:00");
    run(s1, "CALL idem.ensure_partitions()"); /* creating is held up as well, and says so */
    expect_outcome("ensure_partitions", "2026-04-10", "contended");
    run(s2, "COMMIT");
    run(s1, "CALL idem.ensure_partitions()");
    run(s1, "CALL idem.drop_expired()");
    expect_outcome("ensure_partitions", "2026-04-10", "created");
    expect_outcome("drop_expired", "2026-03-01", "dropped");
}

static void *claim_meanwhile(void *argument)
{
    MYSQL *sql = server_connect(server);

    mysql_thread_init();
    /* Once the ALTER waits, this queues behind it. */
    while (value_int(sql, "SELECT COUNT(*) FROM information_schema.processlist"
                          " WHERE state = 'Waiting for table metadata lock'") == 0)
        usleep(1000);
    *(struct answer *)argument = claim(sql, PROCEDURE_DOOR, "'pay'", "'behind the ALTER'", "NULL");
    mysql_close(sql);
    mysql_thread_end();
    return NULL;
}

static void case_29_a_claim_behind_a_waiting_drop_is_let_go(void **state)
{
    pthread_t thread;
    struct answer answer;

    (void)state;
    run(s1, "SET GLOBAL idem_ddl_lock_wait_ms = 2000");
    set_clock(s1, "2026-04-02 12:00:00");
    run(s1, "CALL idem.ensure_partitions()");
    run(s2, "BEGIN");
    run(s2, "SELECT COUNT(*) FROM idem.record");
    assert_int_equal(pthread_create(&thread, NULL, claim_meanwhile, &answer), 0);
    run(s1, "CALL idem.drop_expired()");
    pthread_join(thread, NULL); /* s2 is still open: without a bound this would never end */
    assert_int_equal(answer.error, 0);
    assert_string_equal(answer.state, "CLAIMED");
    expect_outcome("drop_expired", "2026-03-01", "contended");
    expect_text(s1, "86400", "SELECT @@SESSION.lock_wait_timeout");
}

static void today_that_cannot_be_made_is_an_error_that_task_shows(void **state)
{
    (void)state;
    set_clock(s1, "2026-06-01 12:00:00");
    run(s2, "BEGIN");
    run(s2, "SELECT COUNT(*) FROM idem.record");
    expect_errno(s1, 52005, "CALL idem.ensure_partitions()");
    expect_text(s1, "52005 1",
                "SELECT CONCAT(error_number, ' ', failures) FROM idem.task"
                " WHERE name = 'ensure_partitions'");
    run(s2, "COMMIT");
    run(s1, "CALL idem.ensure_partitions()");
    expect_text(s1, "NULL 0",
                "SELECT CONCAT(COALESCE(error_number, 'NULL'), ' ', failures)"
                " FROM idem.task WHERE name = 'ensure_partitions'");
}

static void case_31_unfinished_records_keep_their_day(void **state)
{
    (void)state;
    keys_of_day("2026-03-01", "working", 0, "'2026-09-01'");
    keys_of_day("2026-03-02", "unknown", 3, "NULL");
    keys_of_day("2026-03-02", "free", 4, "NULL");
    keys_of_day("2026-03-03", "done", 1, "NULL");
    keys_of_day("2026-03-03", "failed", 2, "NULL");
    keys_of_day("2026-03-03", "released", 4, "NULL");
    set_clock(s1, "2026-04-05 12:00:00");
    run(s1, "CALL idem.ensure_partitions()");
    run(s1, "CALL idem.drop_expired()");
    expect_outcome("drop_expired", "2026-03-01", "pinned");
    expect_outcome("drop_expired", "2026-03-02", "pinned");
    expect_outcome("drop_expired", "2026-03-03", "dropped");
    expect_text(s1, "1 in progress, 0 unknown, 0 released; 0 in progress, 1 unknown, 1 released",
                "SELECT GROUP_CONCAT(j.detail ORDER BY j.day SEPARATOR '; ') FROM idem.task t,"
                " JSON_TABLE(t.outcome, '$[*]' COLUMNS (day DATE PATH '$.day',"
                " detail TEXT PATH '$.detail')) j WHERE t.name = 'drop_expired'");
    expect_text(s1, "3", "SELECT COUNT(*) FROM idem.record");
    expect_text(s1, "UNKNOWN", "CALL idem.claim('pay', 'unknown', NULL)");
    run(s1, "CALL idem.resolve('pay', 'unknown', 'done', '{}')");
    run(s1, "CALL idem.resolve('pay', 'working', 'failed', '{}')");
    run(s1, "CALL idem.drop_expired()");
    assert_string_equal(days(), "11 p20260306 p20260412");
}

static void case_31_after_retention_the_first_claim_wins_and_the_second_does_not(void **state)
{
    (void)state;
    assert_string_equal(claim(s1, PROCEDURE_DOOR, "'pay'", "'C31'", "NULL").state, "CLAIMED");
    assert_int_equal(finish(s1, PROCEDURE_DOOR, "'pay'", "'C31'", "NULL", "'1'"), 0);
    set_clock(s1, "2026-03-31 23:59:59"); /* 30 days later it is still known */
    run(s1, "CALL idem.ensure_partitions()");
    run(s1, "CALL idem.drop_expired()");
    assert_string_equal(claim(s2, PROCEDURE_DOOR, "'pay'", "'C31'", "NULL").state, "DONE");
    set_clock(s1, "2026-04-01 00:00:00");
    run(s1, "CALL idem.ensure_partitions()");
    run(s1, "CALL idem.drop_expired()");
    assert_string_equal(claim(s1, PROCEDURE_DOOR, "'pay'", "'C31'", "NULL").state, "CLAIMED");
    assert_string_equal(claim(s2, PROCEDURE_DOOR, "'pay'", "'C31'", "NULL").state, "IN_PROGRESS");
}

static void a_seal_leaves_with_its_day_and_spares_no_look_after(void **state)
{
    (void)state;
    keys_of_day("2026-03-01", "sealed", 1, "NULL");
    set_clock(s1, "2026-03-02 12:00:00");
    run(s1, "CALL idem.seal_days()");
    expect_outcome("seal_days", "2026-03-01", "sealed");
    expect_text(s1, "2026-03-01", "SELECT GROUP_CONCAT(day) FROM idem.sealed_day");
    set_clock(s1, "2026-04-01 12:00:00");
    run(s1, "CALL idem.ensure_partitions()");
    run(s1, "CALL idem.drop_expired()");
    expect_outcome("drop_expired", "2026-03-01", "dropped");
    expect_text(s1, "0", "SELECT COUNT(*) FROM idem.sealed_day WHERE day = '2026-03-01'");
    expect_text(s1, "0",
                "SELECT COUNT(*) FROM idem.sealed_day s LEFT JOIN idem.live_day l ON l.day = s.day"
                " WHERE l.day IS NULL");
    assert_string_equal(claim(s1, PROCEDURE_DOOR, "'pay'", "'sealed'", "NULL").state, "CLAIMED");
}

static void sealing_tells_what_came_of_it(void **state)
{
    (void)state;
    run(s1, "BEGIN");
    keys_of_day("2026-03-01", "open", 1, "NULL");
    set_clock(s2, "2026-03-02 12:00:00");
    run(s2, "CALL idem.seal_days()");
    expect_outcome("seal_days", "2026-03-01", "busy");
    run(s1, "COMMIT");
    run(s2, "CALL idem.seal_days()");
    expect_text(s1, "[{\"day\": \"2026-03-01\", \"outcome\": \"sealed\", \"keys\": 1}]",
                "SELECT outcome FROM idem.task WHERE name = 'seal_days' AND runs = 2"
                " AND failures = 0 AND ended_at IS NOT NULL AND error IS NULL");
    run(s1, "RENAME TABLE idem.sealed_day TO idem.sealed_day_gone");
    expect_errno(s2, 1146, "CALL idem.seal_days()");
    run(s1, "RENAME TABLE idem.sealed_day_gone TO idem.sealed_day");
    expect_text(s1, "1146 1",
                "SELECT CONCAT(error_number, ' ', failures) FROM idem.task"
                " WHERE name = 'seal_days'");
}

static void retention_can_shrink_and_grow(void **state)
{
    (void)state;
    set_clock(s1, "2026-03-08 12:00:00");
    run(s1, "CALL idem.ensure_partitions()");
    run(s1, "SET GLOBAL idem_retention_days = 2");
    run(s1, "CALL idem.drop_expired()");
    assert_string_equal(days(), "10 p20260306 p20260315");
    run(s1, "SET GLOBAL idem_retention_days = 30");
    set_clock(s1, "2026-03-20 12:00:00");
    run(s1, "CALL idem.ensure_partitions()");
    run(s1, "CALL idem.drop_expired()");
    expect_text(s1, "p20260306", "SELECT MIN(partition_name) FROM idem.day");
}

/* Between the look at a day and its DROP another session takes a released record over. */
static void a_released_record_taken_over_meanwhile_is_not_lost(void **state)
{
    struct answer answer;

    (void)state;
    keys_of_day("2026-03-01", "late", 4, "NULL");
    set_clock(s1, "2026-04-02 12:00:00");
    run(s1, "CALL idem.ensure_partitions()");
    run(s2, "BEGIN");
    answer = claim(s2, PROCEDURE_DOOR, "'pay'", "'late'", "NULL");
    assert_string_equal(answer.state, "RECLAIMED");
    run(s1, "CALL idem.drop_expired()");
    expect_outcome("drop_expired", "2026-03-01", "pinned");
    run(s2, "COMMIT");
    run(s1, "CALL idem.drop_expired()");
    expect_outcome("drop_expired", "2026-03-01", "pinned");
    assert_int_equal(finish(s2, PROCEDURE_DOOR, "'pay'", "'late'", "NULL", "'1'"), 0);
    run(s1, "CALL idem.drop_expired()");
    expect_outcome("drop_expired", "2026-03-01", "dropped");
}

static void a_partition_of_several_days_leaves_with_its_last_day(void **state)
{
    (void)state;
    keys_of_day("2026-03-01", "a", 1, "NULL");
    keys_of_day("2026-03-02", "b", 0, "'2026-09-01'");
    run(s1, "ALTER TABLE idem.record REORGANIZE PARTITION p20260301, p20260302, p20260303 INTO"
            " (PARTITION old VALUES LESS THAN ('2026-03-04'))");
    set_clock(s1, "2026-04-03 12:00:00");
    run(s1, "CALL idem.ensure_partitions()");
    run(s1, "CALL idem.drop_expired()"); /* days 1 to 3 are expired */
    expect_outcome("drop_expired", "2026-03-01", "pinned");
    expect_outcome("drop_expired", "2026-03-03", "pinned");
    expect_text(s1, "2", "SELECT COUNT(*) FROM idem.record");
    run(s1, "UPDATE idem.record SET status = 1, lease_until = NULL WHERE idem_key = 'b'");
    run(s1, "CALL idem.drop_expired()");
    expect_outcome("drop_expired", "2026-03-03", "dropped");
    expect_text(s1, "0", "SELECT COUNT(*) FROM idem.record");
}

static void expired_leases_are_settled_by_policy(void **state)
{
    struct answer old;

    (void)state;
    run(s1, "CALL idem.set_policy('ask', NULL, 'unknown', NULL, NULL, NULL)");
    run(s1, "CALL idem.set_policy('end', NULL, 'fail', NULL, NULL, NULL)");
    old = claim(s1, PROCEDURE_DOOR, "'pay'", "'r1'", "NULL");
    claim(s1, PROCEDURE_DOOR, "'ask'", "'r2'", "NULL");
    claim(s1, PROCEDURE_DOOR, "'end'", "'r3'", "NULL");
    set_clock(s1, "2026-03-01 12:05:00"); /* the lease ends at this very moment */
    claim(s2, PROCEDURE_DOOR, "'pay'", "'alive'", "NULL");
    run(s3, "CALL idem.reap()");
    expect_text(s1, "4 3 2 0",
                "SELECT GROUP_CONCAT(status ORDER BY idem_key = 'alive', idem_key SEPARATOR ' ')"
                " FROM idem.record");
    expect_text(s1, "3",
                "SELECT COUNT(*) FROM idem.record WHERE lease_until IS NULL"
                " AND token > %llu",
                old.token);
    expect_text(s1, "{\"released\": 1, \"unknown\": 1, \"failed\": 1, \"skipped\": 0, \"more\": 0}",
                "SELECT outcome FROM idem.task WHERE name = 'reap'");
    /* The old owner is out, and its key free. */
    assert_int_equal(finish(s1, PROCEDURE_DOOR, "'pay'", "'r1'", "NULL", "'1'"), 52004);
    assert_string_equal(claim(s2, PROCEDURE_DOOR, "'pay'", "'r1'", "NULL").state, "RECLAIMED");
    assert_string_equal(claim(s2, PROCEDURE_DOOR, "'end'", "'r3'", "NULL").failure,
                        "{\"reason\":\"lease expired\"}");
}

static void case_63_reaping_goes_in_small_transactions_oldest_first(void **state)
{
    int64_t before, after;

    (void)state;
    run(s1, "SET GLOBAL idem_reap_batch = 10");
    run(s1,
        "INSERT INTO idem.record (scope, idem_key, created_on, biz_type, status, attempt, token,"
        " owner_conn, owner_epoch, owner_account, lease_until, created_at, updated_at)"
        " SELECT '', CONCAT('k', seq), '2026-03-01' + INTERVAL seq MOD 2 DAY, 'pay', 0, 1, 1, 1, 1,"
        " 'a', '2026-03-01' + INTERVAL 1000 - seq SECOND, '2026-03-01', '2026-03-01'"
        " FROM idem.seq_1_to_225");
    before = value_int(s1, "SELECT SUBSTRING_INDEX(@@gtid_binlog_pos, '-', -1)");
    expect_text(s1, "200", "CALL idem.reap()");
    after = value_int(s1, "SELECT SUBSTRING_INDEX(@@gtid_binlog_pos, '-', -1)");
    assert_int_equal(after - before, 20 + 2); /* 20 batches and two notes in idem.task */
    expect_text(s1, "1", "SELECT JSON_VALUE(outcome, '$.more') FROM idem.task WHERE name = 'reap'");
    expect_text(s1, "25", "SELECT COUNT(*) FROM idem.record WHERE status = 0");
    expect_text(s1, "k1",
                "SELECT idem_key FROM idem.record WHERE status = 0"
                " ORDER BY lease_until DESC LIMIT 1"); /* the youngest is left */
    expect_text(s1, "25", "CALL idem.reap()");
    expect_text(s1, "0", "SELECT JSON_VALUE(outcome, '$.more') FROM idem.task WHERE name = 'reap'");
}

static void case_43_rows_in_other_hands_are_skipped_and_hold_nothing_up(void **state)
{
    (void)state;
    run(s1, "SET GLOBAL idem_reap_batch = 1");
    keys_of_day("2026-03-01", "first", 0, "'2026-03-01 01:00:00'");
    keys_of_day("2026-03-01", "second", 0, "'2026-03-01 02:00:00'");
    run(s2, "XA START 'x'");
    run(s2, "UPDATE idem.record SET updated_at = updated_at + INTERVAL 1 SECOND"
            " WHERE scope = '' AND idem_key = 'first' AND created_on = '2026-03-01'");
    run(s2, "XA END 'x'");
    run(s2, "XA PREPARE 'x'");
    run(s1, "SET innodb_lock_wait_timeout = 1");
    run(s1, "CALL idem.reap()");
    expect_text(s1, "1 1",
                "SELECT CONCAT(JSON_VALUE(outcome, '$.released'), ' ',"
                " JSON_VALUE(outcome, '$.skipped')) FROM idem.task WHERE name = 'reap'");
    run(s2, "XA ROLLBACK 'x'");
    expect_text(s1, "1", "CALL idem.reap()");
}

static void case_32_a_clock_that_steps_back_shortens_no_lease(void **state)
{
    (void)state;
    claim(s1, PROCEDURE_DOOR, "'pay'", "'C32'", "NULL");
    set_clock(s1, "2026-03-01 10:00:00");
    expect_text(s1, "0", "CALL idem.reap()");
    assert_string_equal(claim(s2, PROCEDURE_DOOR, "'pay'", "'C32'", "NULL").state, "IN_PROGRESS");
    run(s2, "SET timestamp = 4102444800");
    expect_text(s2, "0", "CALL idem.reap()");
    run(s2, "SET timestamp = DEFAULT");
}

static void inside_a_transaction_each_is_refused_and_commits_nothing(void **state)
{
    static const char *const tasks[] = {"ensure_partitions", "reap", "seal_days", "drop_expired"};

    (void)state;
    for (size_t i = 0; i < sizeof(tasks) / sizeof(tasks[0]); i++) {
        int64_t runs = value_int(s1, "SELECT COALESCE(SUM(runs), 0) FROM idem.task");

        run(s1, "BEGIN");
        keys_of_day("2026-03-01", "mine", 1, "NULL");
        expect_errno(s1, 52006, "CALL idem.%s()", tasks[i]);
        run(s1, "ROLLBACK");
        expect_text(s1, "0", "SELECT COUNT(*) FROM idem.record");
        assert_int_equal(value_int(s1, "SELECT COALESCE(SUM(runs), 0) FROM idem.task"), runs);
    }
}

static void a_session_without_autocommit_can_call_them(void **state)
{
    MYSQL *manual = server_connect(server);

    (void)state;
    keys_of_day("2026-03-01", "released", 4, "NULL");
    keys_of_day("2026-03-05", "expired", 0, "'2026-03-05'");
    set_clock(s1, "2026-04-02 12:00:00");
    run(manual, "SET autocommit = 0");
    run(manual, "CALL idem.ensure_partitions()");
    run(manual, "CALL idem.reap()");
    run(manual, "CALL idem.drop_expired()");
    expect_text(manual, "0", "SELECT @@in_transaction");
    expect_outcome("drop_expired", "2026-03-01", "dropped");
    expect_text(s1, "4", "SELECT status FROM idem.record WHERE idem_key = 'expired'");
    mysql_close(manual);
}

static void on_a_read_only_server_the_error_is_the_servers_own(void **state)
{
    (void)state;
    run(s1, "SET GLOBAL read_only = 1");
    expect_errno(s1, 1290, "CALL idem.ensure_partitions()");
    expect_errno(s1, 1290, "CALL idem.drop_expired()");
    expect_errno(s1, 1290, "CALL idem.reap()");
    expect_errno(s1, 1290, "CALL idem.seal_days()");
    run(s1, "SET GLOBAL read_only = 0");
}

static void an_operator_may_run_them_and_an_application_may_not(void **state)
{
    MYSQL *sql;

    (void)state;
    create_account(s1, "op", "idem_operator");
    create_account(s1, "app", "idem_app");
    sql = server_connect_as(server, "op", 0);
    run(sql, "CALL idem.ensure_partitions()");
    run(sql, "CALL idem.drop_expired()");
    run(sql, "CALL idem.reap()");
    run(sql, "CALL idem.seal_days()");
    expect_text(sql, "8", "SELECT COUNT(*) FROM idem.day");
    expect_text(sql, "op@localhost", "SELECT account FROM idem.task WHERE name = 'reap'");
    mysql_close(sql);
    sql = server_connect_as(server, "app", 0);
    expect_errno(sql, 1370, "CALL idem.drop_expired()");
    mysql_close(sql);
}

static void the_example_of_events_runs_them_all(void **state)
{
    char output[1024];

    (void)state;
    if (server_run_sql_file(server, "../../sql/examples/events.sql", "", output, sizeof(output)) !=
        0)
        fail_msg("events.sql: %s", output);
    for (int i = 0; i < 3000 && value_int(s1, "SELECT COUNT(succeeded_at) FROM idem.task") < 4; i++)
        usleep(10000);
    expect_text(s1, "4", "SELECT COUNT(succeeded_at) FROM idem.task");
    run(s1, "DROP EVENT idem.ensure_partitions");
    run(s1, "DROP EVENT idem.seal_days");
    run(s1, "DROP EVENT idem.drop_expired");
    run(s1, "DROP EVENT idem.reap");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup(name, fresh)
    const struct CMUnitTest tests[] = {
        T(days_ahead_exist_and_the_placeholder_is_gone),
        T(case_28_days_are_utc_whatever_the_session_says),
        T(case_27_a_missing_day_refuses_claims_until_it_is_made),
        T(stuck_lists_expired_and_unknown_only),
        T(case_30_a_hole_is_repaired_and_its_rows_come_home),
        T(case_30_after_a_long_stop_all_needed_days_exist_and_one_is_never_dropped),
        T(a_catch_all_partition_is_cut_into_days),
        T(days_made_by_hand_become_live),
        T(killed_between_two_steps_the_next_call_goes_on),
        T(many_at_once_disturb_nobody),
        T(a_table_that_is_being_changed_has_all_its_days),
        T(case_29_an_idle_transaction_holds_nobody_up),
        T(case_29_a_claim_behind_a_waiting_drop_is_let_go),
        T(today_that_cannot_be_made_is_an_error_that_task_shows),
        T(case_31_unfinished_records_keep_their_day),
        T(case_31_after_retention_the_first_claim_wins_and_the_second_does_not),
        T(a_seal_leaves_with_its_day_and_spares_no_look_after),
        T(sealing_tells_what_came_of_it),
        T(retention_can_shrink_and_grow),
        T(a_released_record_taken_over_meanwhile_is_not_lost),
        T(a_partition_of_several_days_leaves_with_its_last_day),
        T(expired_leases_are_settled_by_policy),
        T(case_63_reaping_goes_in_small_transactions_oldest_first),
        T(case_43_rows_in_other_hands_are_skipped_and_hold_nothing_up),
        T(case_32_a_clock_that_steps_back_shortens_no_lease),
        T(inside_a_transaction_each_is_refused_and_commits_nothing),
        T(a_session_without_autocommit_can_call_them),
        T(on_a_read_only_server_the_error_is_the_servers_own),
        T(an_operator_may_run_them_and_an_application_may_not),
        T(the_example_of_events_runs_them_all),
    };

    return cmocka_run_group_tests_name("maintenance", tests, start, stop);
}
