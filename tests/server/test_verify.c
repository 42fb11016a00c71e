/* SPDX-License-Identifier: GPL-2.0-only */
/* idem.verify() names every fault that hands, disks and restored files can bring into the schema,
   and nothing else. */
#include "fixture.h"

/* What verify() answered: a line "kind|day|biz_type|idem_key|detail" for each row. */
static char found[8192];

static int findings(MYSQL *sql)
{
    size_t length = 0;
    int count = 0;
    MYSQL_RES *result;
    MYSQL_ROW row;

    found[0] = '\0';
    if (mysql_query(sql, "CALL idem.verify()") != 0)
        fail_msg("verify: %s", mysql_error(sql));
    result = mysql_store_result(sql);
    assert_int_equal(mysql_num_fields(result), 5);
    for (; (row = mysql_fetch_row(result)) != NULL; count++) {
        for (int i = 0; i < 5 && length < sizeof(found); i++)
            length += (size_t)snprintf(found + length, sizeof(found) - length, "%s%s",
                                       row[i] != NULL ? row[i] : "-", i < 4 ? "|" : "\n");
    }
    mysql_free_result(result);
    while (mysql_next_result(sql) == 0)
        mysql_free_result(mysql_store_result(sql));
    return count;
}

static void expect_found(const char *line)
{
    if (strstr(found, line) == NULL)
        fail_msg("verify did not answer '%s' but:\n%s", line, found);
}

static void expect_only(const char *line)
{
    if (findings(s2) != 1)
        fail_msg("verify answered not one row but:\n%s", found);
    expect_found(line);
}

static void expect_nothing(void)
{
    if (findings(s2) != 0)
        fail_msg("verify answered:\n%s", found);
}

static void row_by_hand(const char *scope, const char *key, const char *day)
{
    run(s1,
        "INSERT INTO idem.record (scope, idem_key, created_on, biz_type, status, attempt, token,"
        " owner_conn, owner_epoch, owner_account, created_at, updated_at)"
        " VALUES ('%s', '%s', '%s', 'pay', 1, 1, 1, 1, 1, 'a@b', '%s', '%s')",
        scope, key, day, day, day);
}

/* Two sealed days with a claim and an event each, and today, the third. */
static int begin_days(void **state)
{
    (void)state;
    run(s1, "ROLLBACK");
    run(s1, "SET foreign_key_checks = 1");
    run(s1, "DELETE FROM idem.sealed_day");
    run(s1, "DELETE FROM idem.live_day");
    run(s1, "TRUNCATE idem.record");
    run(s1, "ALTER TABLE idem.record PARTITION BY RANGE COLUMNS (created_on)"
            " (PARTITION p19700101 VALUES LESS THAN ('1970-01-02'))");
    set_clock(s1, NULL);
    for (int day = 1; day <= 3; day++) {
        char clock[32], key[16];

        snprintf(clock, sizeof(clock), "2040-03-0%d 12:00:00", day);
        snprintf(key, sizeof(key), "'claim-%d'", day);
        set_clock(s1, clock);
        run(s1, "CALL idem.ensure_partitions()");
        assert_string_equal(claim(s1, PROCEDURE_DOOR, "'pay'", key, "NULL").state, "CLAIMED");
        assert_int_equal(finish(s1, PROCEDURE_DOOR, "'pay'", key, "NULL", "'1'"), 0);
        run(s1, "CALL idem.consume('billing', %s, NULL)", key); /* one key, two scopes: no fault */
    }
    run(s1, "CALL idem.seal_days()");
    expect_text(s1, "2040-03-01,2040-03-02", "SELECT GROUP_CONCAT(day) FROM idem.sealed_day");
    return 0;
}

static void a_healthy_schema_answers_nothing(void **state)
{
    (void)state;
    expect_nothing();
    run(s1, "CALL idem.forget('pay', 'claim-1')"); /* a filter may know more than there is */
    run(s1, "START TRANSACTION");
    claim(s1, PROCEDURE_DOOR, "'pay'", "'open'", "NULL");
    expect_nothing();
    run(s1, "ROLLBACK");
    run(s1, "UPDATE idem.sealed_day SET filter = NULL, bytes = NULL"); /* too many keys for one */
    expect_nothing();
}

static void what_is_not_committed_is_no_fault(void **state)
{
    static const char *const levels[] = {"READ-UNCOMMITTED", "SERIALIZABLE", "REPEATABLE-READ"};

    (void)state;
    run(s1, "START TRANSACTION");
    row_by_hand("", "claim-1", "2040-03-03");
    row_by_hand("", "late", "2040-03-01");
    for (int autocommit = 0; autocommit <= 1; autocommit++)
        for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
            run(s2, "SET autocommit = %d, SESSION tx_isolation = '%s'", autocommit, levels[i]);
            expect_nothing();
        }
    run(s1, "ROLLBACK");
}

static void a_key_in_two_days_is_found(void **state)
{
    (void)state;
    row_by_hand("", "claim-1", "2040-03-03");
    expect_only("key in two days|2040-03-01|pay|claim-1|claim, 2 rows, the last of 2040-03-03\n");
    run(s1, "DELETE FROM idem.record WHERE idem_key = 'claim-1' AND created_on = '2040-03-03'");
    row_by_hand("billing", "claim-2", "2040-03-03");
    expect_only("key in two days|2040-03-02|billing|claim-2|event of consumer billing, 2 rows");
}

static void a_day_that_is_not_listed_is_found_with_its_rows(void **state)
{
    (void)state;
    run(s1, "DELETE FROM idem.live_day WHERE day = '2040-03-09'");
    expect_only("partition not listed|2040-03-09|-|-|partition p20400309");
    run(s1, "CALL idem.ensure_partitions()");
    expect_nothing();
    run(s1, "DELETE FROM idem.live_day WHERE day = '2040-03-02'");
    assert_int_equal(findings(s2), 3);
    expect_found("partition not listed|2040-03-02|-|-|");
    expect_found("row of a day not listed|2040-03-02|pay|claim-2|claim\n");
    expect_found("row of a day not listed|2040-03-02|billing|claim-2|event of consumer billing\n");
}

static void a_day_without_its_partition_is_found(void **state)
{
    (void)state;
    run(s1, "ALTER TABLE idem.record DROP PARTITION p20400305");
    expect_only("day without partition|2040-03-05|-|-|CALL idem.ensure_partitions()\n");
    run(s1, "CALL idem.ensure_partitions()");
    expect_nothing();
    run(s1, "ALTER TABLE idem.record DROP PARTITION p20400301");
    expect_only("day without partition|2040-03-01|-|-|CALL idem.drop_expired() when");
}

static void a_catch_all_partition_is_found(void **state)
{
    (void)state;
    run(s1, "ALTER TABLE idem.record ADD PARTITION (PARTITION rest VALUES LESS THAN (MAXVALUE))");
    expect_only("partition without a day|-|-|-|partition rest has no upper bound");
}

static void keys_that_a_filter_misses_are_found(void **state)
{
    (void)state;
    row_by_hand("", "late-2", "2040-03-01");
    row_by_hand("", "late-1", "2040-03-01");
    expect_only("filter misses keys|2040-03-01|pay|late-1|2 keys");
    run(s1, "DELETE FROM idem.sealed_day WHERE day = '2040-03-01'");
    run(s1, "CALL idem.seal_days()");
    expect_nothing();
    run(s1, "UPDATE idem.sealed_day SET filter = (SELECT idem_filter_build('', 'other', day))"
            " WHERE day = '2040-03-02'");
    expect_only("filter misses keys|2040-03-02|pay|claim-2|2 keys");
}

static void a_filter_that_is_none_is_found(void **state)
{
    static const char *const harms[] = {
        "''",
        "LEFT(filter, LENGTH(filter) - 1)",
        "INSERT(filter, 30, 1, 'x')",
        "(SELECT idem_filter_build('', 'claim-1', day + INTERVAL 1 DAY))",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(harms) / sizeof(harms[0]); i++) {
        run(s1, "UPDATE idem.sealed_day SET filter = %s WHERE day = '2040-03-01'", harms[i]);
        expect_only("filter is damaged|2040-03-01|-|-|");
    }
}

static void a_filter_of_a_day_that_takes_records_is_found(void **state)
{
    (void)state;
    run(s1, "UPDATE idem.live_day SET sealed = FALSE WHERE day = '2040-03-02'");
    expect_only("filter of an open day|2040-03-02|-|-|");
}

static void a_filter_without_its_day_is_found(void **state)
{
    (void)state;
    run(s1, "SET foreign_key_checks = 0"); /* as some restores leave it */
    run(s1, "ALTER TABLE idem.record DROP PARTITION p20400301");
    run(s1, "DELETE FROM idem.live_day WHERE day = '2040-03-01'");
    expect_only("filter of no day|2040-03-01|-|-|");
}

/* The definition of a table that was partitioned otherwise is put in the place of record's. */
static void a_row_in_a_partition_where_no_claim_looks_is_found(void **state)
{
    char command[1024], folder[400];

    (void)state;
    run(s1, "CREATE TABLE idem.shifted LIKE idem.record");
    run(s1, "SET @change = (SELECT CONCAT('ALTER TABLE idem.shifted PARTITION BY RANGE COLUMNS"
            " (created_on) (', GROUP_CONCAT('PARTITION ', partition_name, ' VALUES LESS THAN (''',"
            " day + INTERVAL 2 DAY, ''')' ORDER BY position), ')') FROM idem.day)");
    run(s1, "EXECUTE IMMEDIATE @change");
    run(s1, "FLUSH TABLES");
    snprintf(folder, sizeof(folder), "%s/idem", value(s1, "SELECT @@datadir"));
    snprintf(command, sizeof(command), "cp '%s/shifted.frm' '%s/record.frm'", folder, folder);
    assert_int_equal(system(command), 0);
    run(s1, "FLUSH TABLES");
    run(s1, "DROP TABLE idem.shifted");
    findings(s2);
    expect_found("row in a wrong partition|2040-03-02|pay|claim-2|claim\n");
    expect_found("row in a wrong partition|2040-03-02|billing|claim-2|event of consumer billing\n");
    assert_null(strstr(found, "2040-03-01|pay")); /* below the first bound, so in its place */
}

static void a_transaction_is_refused_and_none_is_left_open(void **state)
{
    (void)state;
    run(s1, "START TRANSACTION");
    expect_errno(s1, 52006, "CALL idem.verify()");
    run(s1, "ROLLBACK");
    run(s1, "SET autocommit = 0");
    run(s1, "CALL idem.verify()");
    expect_text(s1, "0", "SELECT @@in_transaction");
    run(s1, "ROLLBACK");
    run(s1, "SET autocommit = 1");
}

static void an_operator_may_verify_a_read_only_server_and_an_application_may_not(void **state)
{
    MYSQL *sql;

    (void)state;
    create_account(s1, "op", "idem_operator");
    create_account(s1, "app", "idem_app");
    run(s1, "SET GLOBAL read_only = 1");
    sql = server_connect_as(fixture_server, "op", 0);
    assert_int_equal(findings(sql), 0);
    mysql_close(sql);
    run(s1, "SET GLOBAL read_only = 0");
    sql = server_connect_as(fixture_server, "app", 0);
    expect_errno(sql, 1370, "CALL idem.verify()");
    mysql_close(sql);
}

/* As the README says: dump, load, install.sql, ensure_partitions, verify. */
static void a_dump_that_was_restored_is_whole_and_replays(void **state)
{
    struct server *other = server_start_bare(NULL);
    char command[1024], output[1024];
    MYSQL *sql;

    (void)state;
    snprintf(command, sizeof(command),
             "mariadb-dump -S '%s' -u root --single-transaction --databases test idem |"
             " mariadb -S '%s' -u root",
             server_socket(fixture_server), server_socket(other));
    assert_int_equal(system(command), 0);
    assert_int_equal(server_run_sql_file(other, "install.sql", "", output, sizeof(output)), 0);
    sql = server_connect(other);
    set_clock(sql, "2040-03-20 12:00:00"); /* the backup knew days up to the 10th */
    expect_errno(sql, 52005, "SELECT idem_claim('pay', 'new')");
    run(sql, "CALL idem.ensure_partitions()");
    if (findings(sql) != 0)
        fail_msg("verify answered:\n%s", found);
    EACH_DOOR(door)
    assert_string_equal(claim(sql, door, "'pay'", "'claim-1'", "NULL").state, "DONE");
    assert_string_equal(claim(sql, PROCEDURE_DOOR, "'pay'", "'new'", "NULL").state, "CLAIMED");
    expect_text(sql, "1",
                "SELECT COUNT(*) FROM mysql.procs_priv WHERE db = 'idem'"
                " AND user = 'idem_app' AND routine_name = 'claim'");
    mysql_close(sql);
    server_stop(other);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup(name, begin_days)
    const struct CMUnitTest tests[] = {
        T(a_healthy_schema_answers_nothing),
        T(what_is_not_committed_is_no_fault),
        T(a_key_in_two_days_is_found),
        T(a_day_that_is_not_listed_is_found_with_its_rows),
        T(a_day_without_its_partition_is_found),
        T(a_catch_all_partition_is_found),
        T(keys_that_a_filter_misses_are_found),
        T(a_filter_that_is_none_is_found),
        T(a_filter_of_a_day_that_takes_records_is_found),
        T(a_filter_without_its_day_is_found),
        T(a_row_in_a_partition_where_no_claim_looks_is_found),
        T(a_transaction_is_refused_and_none_is_left_open),
        T(a_dump_that_was_restored_is_whole_and_replays),
        T(an_operator_may_verify_a_read_only_server_and_an_application_may_not),
    };

    return cmocka_run_group_tests_name("verify", tests, fixture_start, fixture_stop);
}
