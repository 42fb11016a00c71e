/* SPDX-License-Identifier: GPL-2.0-only */
/* Loadable functions with every kind of argument: an error is an SQL error, an answer is right, and
   the server stays up. */
#include "fixture.h"

static int start(void **state)
{
    fixture_start(state);
    run(s1, "CREATE DATABASE t");
    run(s1, "USE t");
    run(s1, "CREATE TABLE a (k VARCHAR(50), n INT)");
    run(s1, "INSERT INTO a VALUES (NULL, NULL), ('', 0), ('x', 1)");
    return 0;
}

static int empty(void **state)
{
    (void)state;
    run(s1, "DELETE FROM idem.record");
    return 0;
}

static void expect_records(const char *expected)
{
    expect_text(s1, expected, "SELECT COUNT(*) FROM idem.record");
}

static void case_33_null_and_wrong_types_are_sql_errors_and_store_nothing(void **state)
{
    static const struct {
        unsigned int error;
        const char *text;
    } calls[] = {
        {52006, "SELECT idem_claim('p',k) FROM a"},
        {52006, "SELECT idem_claim(k,k) FROM a"},
        {52006, "INSERT INTO a SELECT idem_claim('p','i'), 1"},
        {52006, "SELECT * FROM a WHERE idem_claim('p','w') IS NOT NULL"},
        {52001, "SELECT idem_claim('p',(SELECT NULL))"},
        {52001, "SELECT idem_claim('p',POINT(1,1))"},
        {52001, "SELECT idem_claim(POINT(1,1),'k')"},
        {52001, "SELECT IF(idem_claim('p',NULL)='CLAIMED','go','skip')"},
        {52001, "SELECT COALESCE(idem_claim('p',NULL),'go')"},
        {52001, "SET @x = idem_claim('p','')"},
        {52001, "SELECT idem_claim('p',NULLIF('a','a'))"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(calls); i++)
        expect_errno(s1, calls[i].error, "%s", calls[i].text);
    expect_records("0");
    expect_text(s1, "3", "SELECT COUNT(*) FROM a");
    expect_errno(s1, 52006, "CREATE TABLE b AS SELECT idem_claim('p','c') AS c");
}

static void case_33_parameters_of_prepared_statements_are_read_at_execution(void **state)
{
    (void)state;
    run(s1, "PREPARE s FROM 'SELECT JSON_VALUE(idem_claim(?,?), ''$.state'')'");
    expect_records("0"); /* case 34: PREPARE claims nothing */
    run(s1, "SET @n=NULL, @p='p', @k='k1', @i=42");
    expect_errno(s1, 52001, "EXECUTE s USING @n,@n");
    expect_errno(s1, 52001, "EXECUTE s USING @p,@n");
    expect_text(s1, "CLAIMED", "EXECUTE s USING @p,@k");
    expect_text(s1, "CLAIMED", "EXECUTE s USING @p,@i");
    run(s1, "SET @k='k2'");
    expect_text(s1, "CLAIMED", "EXECUTE s USING @p,@k");
    run(s1, "DEALLOCATE PREPARE s");
    expect_text(s1, "k1,k2",
                "SELECT GROUP_CONCAT(idem_key ORDER BY idem_key) FROM idem.record WHERE idem_key "
                "LIKE 'k%%'");
    expect_text(s1, "1", "SELECT COUNT(*) FROM idem.record WHERE idem_key = '42'");
}

/* Binds key and token by type, as drivers do. */
static void case_33_binary_protocol_passes_every_type(void **state)
{
    static const char text[] = "SELECT idem_claim('p', ?), ?";
    MYSQL_STMT *statement = mysql_stmt_init(s1);
    MYSQL_BIND bind[2];
    char key[] = "bound";
    long long number = 77;
    double real = 2.5;
    my_bool is_null = 1;

    (void)state;
    assert_int_equal(mysql_stmt_prepare(statement, text, sizeof(text) - 1), 0);
    for (int i = 0; i < 4; i++) {
        memset(bind, 0, sizeof(bind));
        bind[0].buffer_type = (const enum enum_field_types[]){
            MYSQL_TYPE_STRING, MYSQL_TYPE_LONGLONG, MYSQL_TYPE_DOUBLE, MYSQL_TYPE_NULL}[i];
        bind[0].buffer = (void *const[]){key, &number, &real, NULL}[i];
        bind[0].buffer_length = 5;
        bind[1].buffer_type = MYSQL_TYPE_NULL;
        bind[1].is_null = &is_null;
        assert_int_equal(mysql_stmt_bind_param(statement, bind), 0);
        if (mysql_stmt_execute(statement) == 0)
            mysql_stmt_store_result(statement);
        assert_int_equal(mysql_stmt_errno(statement), i < 3 ? 0 : 52001);
        mysql_stmt_free_result(statement);
    }
    mysql_stmt_close(statement);
    expect_text(s1, "2.5,77,bound",
                "SELECT GROUP_CONCAT(idem_key ORDER BY idem_key) FROM idem.record");
}

/* DO throws every error away, so it must at least leave nothing behind that looks like success. */
static void case_33_do_that_hides_the_error_claims_and_finishes_nothing(void **state)
{
    (void)state;
    run(s1, "DO idem_claim('p',NULL)");
    claim(s2, UDF_DOOR, "'p'", "'k'", "NULL");
    run(s1, "DO idem_finish('p','k','{}')");
    run(s1, "DO idem_finish('p','k','{')");
    expect_text(s1, "1", "SELECT COUNT(*) FROM idem.record WHERE status = 0 AND result IS NULL");
    expect_records("1");
}

static void case_34_call_evaluated_twice_is_the_owners_own_claim(void **state)
{
    (void)state;
    run(s1, "SELECT @a := idem_claim('p','C34'), @b := idem_claim('p','C34')");
    expect_text(s1, "1",
                "SELECT JSON_VALUE(@a, '$.token') = JSON_VALUE(@b, '$.token') AND "
                "JSON_VALUE(@b, '$.state') = 'CLAIMED'");
    expect_text(s1, "CLAIMED",
                "SELECT JSON_VALUE(CASE WHEN JSON_VALUE(idem_claim('p','C34c'),'$.state') = "
                "'CLAIMED' THEN idem_claim('p','C34c') END, '$.state')");
    expect_text(s1, "CLAIMED",
                "SELECT JSON_VALUE(idem_claim('p','C34d'), '$.state') c HAVING c IS NOT NULL");
    expect_records("3");
    expect_text(s1, "3", "SELECT SUM(attempt) FROM idem.record");
    /* For many rows, or none: an error, never one claim for three. */
    expect_errno(s1, 52006, "SELECT idem_claim('p','C34e') c FROM a HAVING c IS NOT NULL");
    expect_errno(s1, 52006, "SELECT k FROM a WHERE idem_claim('p','C34f') IS NOT NULL");
    expect_records("3");
}

static void case_34_looking_at_a_statement_claims_nothing(void **state)
{
    (void)state;
    run(s1, "EXPLAIN SELECT idem_claim('p','C34x')");
    run(s1, "EXPLAIN EXTENDED SELECT idem_claim('p','C34x')");
    run(s1, "EXPLAIN FORMAT=JSON SELECT idem_claim('p','C34x')");
    run(s1, "EXPLAIN SELECT 1 FROM a WHERE n = 1 AND idem_claim('p','C34x') IS NOT NULL");
    run(s1, "PREPARE s FROM 'SELECT idem_claim(''p'',''C34x'')'");
    run(s1, "DEALLOCATE PREPARE s");
    run(s1, "CREATE OR REPLACE VIEW v AS SELECT idem_claim('p','C34x') AS c");
    run(s1, "DESCRIBE v");
    run(s1, "SHOW CREATE VIEW v");
    run(s1, "CREATE OR REPLACE PROCEDURE c34() SELECT idem_claim('p','C34x')");
    expect_text(s1, "x", "SELECT IF(0, idem_claim('p','C34x'), 'x')");
    expect_text(s1, "0", "SELECT 0 AND idem_claim('p','C34x') IS NULL");
    expect_records("0");
    run(s1, "DROP VIEW v");
}

static void pure_helpers_work_over_tables_and_in_functions(void **state)
{
    (void)state;
    expect_text(s1, "1:x,1:1", "SELECT idem_key(k, n) FROM a WHERE n = 1");
    expect_errno(s1, 52001, "SELECT idem_key(k, n) FROM a");
    expect_text(s1, "2", "SELECT COUNT(DISTINCT idem_payload_hash(k)) FROM a");
    expect_text(s1, "3", "SELECT COUNT(*) FROM a WHERE idem_version() = idem_version()");
    expect_text(s1, "3", "SELECT COUNT(DISTINCT idem_token()) FROM a");
    expect_text(s1, "1", "SELECT idem_retryable(1213)");
    expect_text(s1, "0", "SELECT idem_retryable(1062)");
    expect_text(s1, "1", "SELECT MAX(idem_backoff_ms(3)) BETWEEN 0 AND 400 FROM a");
    expect_text(s1, "1", "SELECT idem_backoff_ms(1000000, 86400000, 1) BETWEEN 0 AND 1");
    run(s1, "CREATE OR REPLACE FUNCTION f(x INT) RETURNS VARCHAR(255) NO SQL "
            "RETURN idem_key('order', x)");
    expect_text(s1, "5:order,1:7", "SELECT f(7)");
    run(s1, "CREATE OR REPLACE TRIGGER at BEFORE INSERT ON a FOR EACH ROW "
            "SET NEW.k = idem_key('row', NEW.n)");
    run(s1, "INSERT INTO a VALUES ('', 9)");
    expect_text(s1, "3:row,1:9", "SELECT k FROM a WHERE n = 9");
    run(s1, "DROP TRIGGER at");
    run(s1, "DELETE FROM a WHERE n = 9");
    run(s1, "SET @@timestamp = 1");
    expect_text(s1, "1", "SELECT idem_now_us() > 1700000000000000 AND idem_today() > '2023'");
    run(s1, "SET @@timestamp = DEFAULT");
}

static const char *const functions[] = {
    "idem_now_us",       "idem_today",   "idem_token",        "idem_epoch",
    "idem_payload_hash", "idem_key",     "idem_backoff_ms",   "idem_retryable",
    "idem_version",      "idem_stats",   "idem_setting",      "idem_count",
    "idem_ack",          "idem_check",   "idem_claim",        "idem_finish",
    "idem_fail",         "idem_release", "idem_renew",        "idem_checkpoint",
    "idem_peek",         "idem_consume", "idem_consume_many", "idem_begin",
    "idem_commit",       "idem_admit",   "idem_claim_day",    "idem_look_days",
    "idem_policy",       "idem_reload",  "idem_filter_build", "idem_filter_has"};

/* Literals, variables, subqueries and columns of every type, NULL among them. */
static const char *const values[] = {"NULL",
                                     "0",
                                     "-1",
                                     "1",
                                     "18446744073709551615",
                                     "-9223372036854775808",
                                     "1.5",
                                     "99999999999999999999999999999999999",
                                     "1e300",
                                     "-0e0",
                                     "TRUE",
                                     "''",
                                     "' '",
                                     "'p'",
                                     "'k'",
                                     "'{\"a\":1}'",
                                     "'[\"e1\",2]'",
                                     "'[{\"id\":\"e3\",\"payload\":{\"n\":1}}]'",
                                     "'CLAIMED'",
                                     "'wait_ms'",
                                     "x'00FF'",
                                     "x''",
                                     "b'1'",
                                     "CONVERT('k' USING utf16)",
                                     "_latin1 x'E9'",
                                     "REPEAT('x',255)",
                                     "REPEAT('x',70000)",
                                     "REPEAT('[',70000)",
                                     "REPEAT('x',20000000)", /* over max_allowed_packet: NULL */
                                     "CONCAT('\"',REPEAT('x',1048576),'\"')",
                                     "CURRENT_DATE()",
                                     "TIMESTAMP '2026-03-01 00:00:00.123456'",
                                     "TIME '-838:59:59'",
                                     "JSON_OBJECT('a', NULL)",
                                     "POINT(1,1)",
                                     "@never_set",
                                     "(SELECT NULL)",
                                     "(SELECT 'k')",
                                     "INET6_ATON('::1')",
                                     "UUID()",
                                     "RAND()",
                                     "(1=0)",
                                     "INTERVAL(1,2)"};

static unsigned int seed = 20261129;

static unsigned int pick(size_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (unsigned int)((seed >> 8) % below);
}

/* Errors that such a call may end in: ours, and those of the argument itself. */
static bool is_expected(unsigned int error)
{
    return error == 0 || (error >= 52001 && error <= 52008) ||
           error == 1264 /* a number out of the parameter's range */;
}

static void case_33_every_function_survives_every_argument(void **state)
{
    (void)state;
    for (size_t f = 0; f < COUNT(functions); f++)
        for (int count = 0; count <= 6; count++)
            for (int turn = 0; turn < (count == 0   ? 1
                                       : count == 1 ? (int)COUNT(values)
                                                    : 40);
                 turn++) {
                char text[1024];
                size_t at = (size_t)snprintf(text, sizeof(text), "SELECT %s(", functions[f]);
                unsigned int error;

                for (int i = 0; i < count; i++)
                    at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", i ? "," : "",
                                           values[count == 1 ? (size_t)turn : pick(COUNT(values))]);
                snprintf(text + at, sizeof(text) - at, ")");
                error = run_errno(s2, "%s", text);
                if (!is_expected(error))
                    fail_msg("%s: %u %s", text, error, mysql_error(s2));
                run(s2, "ROLLBACK");
            }
    assert_int_equal(mysql_ping(s2), 0);
    assert_false(server_log_contains(fixture_server, "got signal"));
    /* What was stored is a name within its limits, under an owner. */
    expect_text(s1, "0",
                "SELECT COUNT(*) FROM idem.record WHERE LENGTH(biz_type) NOT BETWEEN 1 AND 64 OR "
                "LENGTH(idem_key) NOT BETWEEN 1 AND 255 OR TRIM(idem_key) = ''");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(case_33_null_and_wrong_types_are_sql_errors_and_store_nothing,
                               empty),
        cmocka_unit_test_setup(case_33_parameters_of_prepared_statements_are_read_at_execution,
                               empty),
        cmocka_unit_test_setup(case_33_binary_protocol_passes_every_type, empty),
        cmocka_unit_test_setup(case_33_do_that_hides_the_error_claims_and_finishes_nothing, empty),
        cmocka_unit_test_setup(case_34_call_evaluated_twice_is_the_owners_own_claim, empty),
        cmocka_unit_test_setup(case_34_looking_at_a_statement_claims_nothing, empty),
        cmocka_unit_test_setup(pure_helpers_work_over_tables_and_in_functions, empty),
        cmocka_unit_test_setup(case_33_every_function_survives_every_argument, empty),
    };

    return cmocka_run_group_tests_name("udf", tests, start, fixture_stop);
}
