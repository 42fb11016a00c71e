/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a call stands: every place of a statement, read-only servers and transactions, what reaches
   the binlog, and sessions that are not like others. */
#include "fixture.h"

/* Where the binlog ends now, for logged(). The caller frees it. */
static char *binlog_position(MYSQL *sql)
{
    MYSQL_RES *result;
    char *position;

    assert_int_equal(mysql_query(sql, "SHOW MASTER STATUS"), 0);
    result = mysql_store_result(sql);
    position = strdup(mysql_fetch_row(result)[1]);
    mysql_free_result(result);
    return position;
}

/* ---- case 35: places ---------------------------------------------------------------------------
 */

static void case_35_places_that_share_the_callers_transaction(void **state)
{
    const char *const places[] = {
        "SELECT idem_claim('place', '%s')",
        "SELECT idem_claim('place', '%s') FROM DUAL",
        "SET @a = idem_claim('place', '%s')",
        "DO idem_claim('place', '%s')",
        "SELECT 1 UNION SELECT idem_claim('place', '%s')",
        "SELECT (SELECT idem_claim('place', '%s'))",
        "SELECT IF(1, idem_claim('place', '%s'), 0)",
        "EXECUTE IMMEDIATE \"SELECT idem_claim('place', '%s')\"",
        "BEGIN NOT ATOMIC DECLARE v TEXT; SET v = idem_claim('place', '%s'); END",
        "BEGIN NOT ATOMIC IF idem_claim('place', '%s') IS NOT NULL THEN SELECT 1; END IF; END",
        "CALL test.claim_in_procedure('%s')",
        "CALL idem.claim('place', '%s', NULL)",
        "CALL test.call_in_procedure('%s')",
    };

    (void)state;
    run(s1, "CREATE PROCEDURE test.claim_in_procedure(k TEXT) SELECT idem_claim('place', k)");
    run(s1, "CREATE PROCEDURE test.call_in_procedure(k TEXT) CALL idem.claim('place', k, NULL)");
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        char statement[256], key[32];

        snprintf(key, sizeof(key), "place-%zu", i);
        snprintf(statement, sizeof(statement), places[i], key);
        run(s1, "BEGIN");
        run(s1, "%s", statement);
        expect_text(s1, "1", "SELECT COUNT(*) FROM idem.record WHERE idem_key = '%s'", key);
        run(s1, "ROLLBACK");
        expect_text(s1, "0", "SELECT COUNT(*) FROM idem.record WHERE idem_key = '%s'", key);
    }
}

static void case_35_places_that_would_not_are_refused(void **state)
{
    const char *const places[] = {
        "SELECT idem_claim('place', 'n') FROM test.one",
        "SELECT * FROM test.one WHERE idem_claim('place', 'n') IS NOT NULL",
        "SELECT a, (SELECT idem_claim('place', 'n')) FROM test.one",
        "INSERT INTO test.orders (note) VALUES (idem_claim('place', 'n'))",
        "INSERT INTO test.orders (note) SELECT idem_claim('place', 'n')",
        "UPDATE test.one SET a = LENGTH(idem_claim('place', 'n'))",
        "DELETE FROM test.one WHERE idem_claim('place', 'n') IS NULL",
        "SELECT idem_claim('place', 'n'), EXISTS (SELECT 1 FROM test.one)",
        "SELECT * FROM (SELECT a, idem_claim('place', 'n') FROM test.one) t",
        "WITH t AS (SELECT a FROM test.one) SELECT idem_claim('place', 'n') FROM t",
        "SELECT idem_claim('place', 'n') FROM test.one HAVING 1",
        "CREATE TABLE test.made AS SELECT idem_claim('place', 'n')",
        "SELECT * FROM test.claim_in_view",
        "SELECT test.claim_in_function('n')",
        "INSERT INTO test.triggered VALUES (1)",
    };

    (void)state;
    run(s1, "SET GLOBAL log_bin_trust_function_creators = ON");
    run(s1, "CREATE VIEW test.claim_in_view AS SELECT a, idem_claim('place', 'n') c FROM test.one");
    run(s1, "CREATE FUNCTION test.claim_in_function(k TEXT) RETURNS TEXT RETURN "
            "idem_claim('place', k)");
    run(s1, "CREATE TABLE test.triggered (a INT) ENGINE=InnoDB");
    run(s1, "CREATE TRIGGER test.t BEFORE INSERT ON test.triggered FOR EACH ROW "
            "SET @a = idem_claim('place', 'n')");
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        run(s1, "BEGIN");
        expect_errno(s1, 52006, "%s", places[i]);
        run(s1, "ROLLBACK");
    }
    run(s1, "LOCK TABLES test.one WRITE");
    expect_errno(s1, 52006, "SELECT idem_claim('place', 'n')");
    run(s1, "UNLOCK TABLES");
    expect_text(s1, "0", "SELECT COUNT(*) FROM idem.record WHERE idem_key = 'n'");
    expect_text(s1, "0", "SELECT COUNT(*) FROM test.orders");
}

static void case_35_triggers_and_functions_use_the_procedure_door(void **state)
{
    (void)state;
    run(s1, "CREATE TABLE test.inbox (k VARCHAR(64)) ENGINE=InnoDB");
    run(s1,
        "CREATE TRIGGER test.i BEFORE INSERT ON test.inbox FOR EACH ROW BEGIN "
        "CALL idem.claim_into('trigger', NEW.k, NULL, 0, @state, @token, @detail); "
        "IF @state = 'CLAIMED' THEN CALL idem.finish('trigger', NEW.k, @token, '1'); END IF; END");
    run(s1, "BEGIN");
    run(s1, "INSERT INTO test.inbox VALUES ('t1')");
    expect_text(s1, "CLAIMED", "SELECT @state");
    expect_errno(s2, 1205, "INSERT INTO test.inbox VALUES ('t1')");
    expect_text(s2, "0", "SELECT COUNT(*) FROM test.inbox");
    run(s1, "ROLLBACK");
    run(s2, "INSERT INTO test.inbox VALUES ('t1')");
    expect_text(s2, "CLAIMED", "SELECT @state");
    run(s1, "INSERT INTO test.inbox VALUES ('t1')");
    expect_text(s1, "DONE", "SELECT @state");
    run(s1, "CREATE FUNCTION test.claim_by_call(k TEXT) RETURNS TEXT BEGIN CALL idem.claim_into("
            "'function', k, NULL, 0, @state, @token, @detail); RETURN @state; END");
    run(s1, "BEGIN");
    expect_text(s1, "CLAIMED", "SELECT test.claim_by_call('f1')");
    run(s1, "ROLLBACK");
    expect_text(s2, "CLAIMED", "SELECT test.claim_by_call('f1')");
}

/* Where a trigger or function catches an error, the server takes nothing back: the row that was put
   into the new day before the old one was found would stay, free for the next who asks. */
static void case_26_case_35_a_trigger_after_midnight_leaves_no_second_row(void **state)
{
    (void)state;
    run(s1, "CREATE TABLE test.midnight (k VARCHAR(64)) ENGINE=InnoDB");
    run(s1, "CREATE TRIGGER test.midnight BEFORE INSERT ON test.midnight FOR EACH ROW "
            "CALL idem.claim_into('pay', NEW.k, NULL, 0, @state, @token, @detail)");
    run(s1, "CREATE FUNCTION test.midnight(k TEXT) RETURNS TEXT BEGIN CALL idem.claim_into("
            "'pay', k, NULL, 0, @state, @token, @detail); RETURN @state; END");
    for (int sealed = 0; sealed <= 1; sealed++) {
        for (int function = 0; function <= 1; function++) {
            const char *done = fresh_key("done"), *lapsed = fresh_key("lapsed");

            set_clock(s1, NULL);
            set_clock(s1, sealed ? "2031-05-03 12:00:00" : "2031-05-01 12:00:00");
            run(s1, "CALL idem.ensure_partitions()");
            claim(s1, PROCEDURE_DOOR, "'pay'", done, "NULL");
            finish(s1, PROCEDURE_DOOR, "'pay'", done, "NULL", "'1'");
            claim(s1, PROCEDURE_DOOR, "'pay'", lapsed, "NULL");
            set_clock(s1, sealed ? "2031-05-04 12:00:00" : "2031-05-02 12:00:00");
            if (sealed)
                run(s1, "CALL idem.seal_days()");
            for (int again = 0; again < 2; again++) {
                run(s2,
                    !function ? "INSERT INTO test.midnight VALUES (%s)"
                              : "SELECT test.midnight(%s)",
                    done);
                expect_text(s2, "DONE", "SELECT @state");
            }
            run(s2,
                !function ? "INSERT INTO test.midnight VALUES (%s)" : "SELECT test.midnight(%s)",
                lapsed);
            expect_text(s2, "RECLAIMED", "SELECT @state");
            expect_text(s1, "1", "SELECT COUNT(*) FROM idem.record WHERE idem_key = %s", done);
            expect_text(s1, "1", "SELECT COUNT(*) FROM idem.record WHERE idem_key = %s", lapsed);
        }
    }
}

static void case_34_explain_and_prepare_claim_nothing_and_twice_is_once(void **state)
{
    (void)state;
    run(s1, "EXPLAIN SELECT idem_claim('p', 'c34d')");
    run(s1, "PREPARE st FROM \"SELECT idem_claim('p', 'c34d')\"");
    expect_text(s1, "0", "SELECT COUNT(*) FROM idem.record WHERE idem_key = 'c34d'");
    expect_text(s1, "1",
                "SELECT CASE WHEN JSON_VALUE(idem_claim('p', 'c34'), '$.state') = 'CLAIMED' THEN "
                "JSON_VALUE(idem_claim('p', 'c34'), '$.attempt') END");
    expect_text(s1, "1", "SELECT COUNT(*) FROM idem.record WHERE idem_key = 'c34'");
}

/* ---- read-only ---------------------------------------------------------------------------------
 */

static void case_38_case_39_read_only_server_and_transaction(void **state)
{
    (void)state;
    create_account(s1, "reader", "idem_app");
    run(s1, "CALL idem.allow('reader', '%%', '%%')");
    EACH_DOOR(door)
    {
        MYSQL *reader = server_connect_as(fixture_server, "reader", 0);
        const char *key = fresh_key("readonly");

        assert_string_equal(claim(reader, door, "'p'", key, "NULL").state, "CLAIMED");
        run(s1, "SET GLOBAL read_only = 1");
        assert_int_equal(claim(reader, door, "'p'", fresh_key("readonly"), "NULL").error, 1290);
        assert_int_equal(claim(s1, door, "'p'", fresh_key("readonly"), "NULL").error, 1290);
        assert_int_equal(begin(reader, door, "'p'", fresh_key("readonly"), "NULL").error, 1290);
        assert_int_equal(consume(reader, door, "'p'", fresh_key("readonly"), "NULL").error, 1290);
        assert_int_equal(finish(reader, door, "'p'", key, "NULL", "'{}'"), 1290);
        run(s1, "SET GLOBAL read_only = 0");
        run(reader, "START TRANSACTION READ ONLY");
        assert_int_equal(claim(reader, door, "'p'", fresh_key("readonly"), "NULL").error, 1792);
        assert_int_equal(finish(reader, door, "'p'", key, "NULL", "'{}'"), 1792);
        run(reader, "ROLLBACK");
        expect_text(s1, "1",
                    "SELECT COUNT(*) FROM idem.record WHERE idem_key LIKE 'readonly%%' AND "
                    "status = 0");
        assert_int_equal(finish(reader, door, "'p'", key, "NULL", "'{}'"), 0);
        mysql_close(reader);
    }
}

static void an_account_without_rights_is_refused_by_both_doors(void **state)
{
    MYSQL *nobody;

    (void)state;
    run(s1, "CREATE USER nobody@localhost");
    nobody = server_connect_as(fixture_server, "nobody", 0);
    assert_int_equal(claim(nobody, UDF_DOOR, "'p'", "'rights'", "NULL").error, 52007);
    assert_int_equal(finish(nobody, UDF_DOOR, "'p'", "'rights'", "1", "'{}'"), 52007);
    assert_int_equal(peek(nobody, UDF_DOOR, "'p'", "'rights'").error, 52007);
    assert_int_equal(consume(nobody, UDF_DOOR, "'p'", "'rights'", "NULL").error, 52007);
    assert_int_equal(claim(nobody, PROCEDURE_DOOR, "'p'", "'rights'", "NULL").error, 1370);
    run(s1, "GRANT idem_app TO nobody@localhost");
    run(s1, "SET DEFAULT ROLE idem_app FOR nobody@localhost");
    mysql_close(nobody);
    nobody = server_connect_as(fixture_server, "nobody", 0);
    assert_int_equal(claim(nobody, PROCEDURE_DOOR, "'p'", "'rights'", "NULL").error, 52007);
    run(s1, "CALL idem.allow('nobody', 'localhost', 'p%%')");
    assert_string_equal(claim(nobody, PROCEDURE_DOOR, "'p'", "'rights'", "NULL").state, "CLAIMED");
    assert_int_equal(claim(nobody, UDF_DOOR, "'q'", "'rights2'", "NULL").error, 52007);
    run(s1, "CALL idem.deny('nobody', '%%', 'p')");
    assert_int_equal(claim(nobody, UDF_DOOR, "'p'", "'rights3'", "NULL").error, 52007);
    expect_errno(nobody, 1142,
                 "INSERT INTO idem.access VALUES ('nobody', '%%', '%%', 1, NOW(), '')");
    expect_errno(nobody, 1370, "CALL idem.allow('nobody', '%%', '%%')");
    run(s1, "SET GLOBAL idem_access_control = OFF");
    assert_string_equal(claim(nobody, UDF_DOOR, "'p'", "'rights3'", "NULL").state, "CLAIMED");
    run(s1, "SET GLOBAL idem_access_control = ON");
    mysql_close(nobody);
}

/* ---- the binlog --------------------------------------------------------------------------------
 */

/* How many row events of table `table` the transactions after position hold, as the binlog shows
 * them. */
static int logged(const char *table, const char *from)
{
    char command[1024];
    FILE *pipe;
    int count = -1;

    snprintf(command, sizeof(command),
             "mariadb-binlog --no-defaults -R -S '%s' -uroot --start-position=%s -v "
             "--base64-output=decode-rows binlog.000001 2>/dev/null | grep -c '^### .*`%s`'",
             server_socket(fixture_server), from, table);
    pipe = popen(command, "r");
    if (pipe != NULL && fscanf(pipe, "%d", &count) != 1)
        count = -1;
    pclose(pipe);
    return count;
}

static void case_37_claim_and_business_row_are_one_binlog_transaction(void **state)
{
    (void)state;
    for (int mixed = 0; mixed <= 1; mixed++) {
        EACH_DOOR(door)
        {
            MYSQL *sql = server_connect(fixture_server);
            const char *key = fresh_key("binlog");
            char *from = binlog_position(sql);
            unsigned long before;

            run(sql, "SET SESSION binlog_format = %s", mixed ? "MIXED" : "ROW");
            before = (unsigned long)value_int(sql, "SELECT VARIABLE_VALUE FROM "
                                                   "information_schema.GLOBAL_STATUS WHERE "
                                                   "VARIABLE_NAME = 'BINLOG_COMMITS'");
            begin(sql, door, "'pay'", key, "NULL");
            run(sql, "INSERT INTO test.orders (note) SELECT %s FROM DUAL WHERE UUID() IS NOT NULL",
                key);
            assert_int_equal(commit(sql, door, "'pay'", key, "NULL", "'{}'"), 0);
            assert_int_equal(value_int(sql, "SELECT VARIABLE_VALUE FROM "
                                            "information_schema.GLOBAL_STATUS WHERE "
                                            "VARIABLE_NAME = 'BINLOG_COMMITS'"),
                             before + 1);
            assert_int_equal(logged("orders", from), 1);
            assert_int_equal(logged("record", from), 2); /* the insert, and the update of finish */
            free(from);
            mysql_close(sql);
        }
    }
}

static void case_40_statement_format_is_refused(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        MYSQL *sql = server_connect(fixture_server);

        run(sql, "SET SESSION binlog_format = STATEMENT");
        assert_int_equal(claim(sql, door, "'pay'", fresh_key("statement"), "NULL").error, 52006);
        assert_int_equal(finish(sql, door, "'pay'", fresh_key("statement"), "NULL", "'{}'"), 52006);
        mysql_close(sql);
    }
}

/* In a session without unique_checks and foreign_key_checks InnoDB takes the same key twice into an
   empty partition, and says so, if at all, at the end of the transaction. Every day begins empty.
 */
static void without_unique_checks_nothing_is_claimed(void **state)
{
    MYSQL *sql = server_connect(fixture_server);

    (void)state;
    set_clock(s1, "2033-01-01 12:00:00");
    run(s1, "CALL idem.ensure_partitions()");
    run(s1, "CREATE TABLE test.version (id INT PRIMARY KEY, v INT NOT NULL) ENGINE=InnoDB");
    run(s1, "CALL idem.define_projection('version', 'test', 'version', 'id', 'v', 'delta')");
    run(sql, "SET unique_checks = 0, foreign_key_checks = 0");
    run(sql, "START TRANSACTION");
    EACH_DOOR(door)
    {
        assert_int_equal(claim(sql, door, "'pay'", "'bulk'", "NULL").error, 52006);
        assert_non_null(strstr(mysql_error(sql), "unique_checks"));
        assert_int_equal(consume(sql, door, "'mail'", "'bulk'", "NULL").error, 52006);
        assert_int_equal(fail_claim(sql, door, "'pay'", "'bulk'", "NULL", "'1'", 0), 52006);
    }
    expect_errno(sql, 52006, "CALL idem.claim_into('pay', 'bulk', NULL, 0, @s, @t, @d)");
    expect_errno(sql, 52006, "CALL idem.consume_many('mail', '[\"a\", \"b\"]')");
    expect_errno(sql, 52006, "CALL idem.apply_delta('version', 1, 1, NULL, @o, @e)");
    run(sql, "COMMIT");
    run(s1, "CREATE TABLE test.payment (id INT PRIMARY KEY) ENGINE=InnoDB");
    run(s1, "CREATE TRIGGER test.claims BEFORE INSERT ON test.payment FOR EACH ROW"
            " CALL idem.claim_into('pay', NEW.id, NULL, 0, @s, @t, @d)");
    run(sql, "SET unique_checks = 1, foreign_key_checks = 1");
    expect_errno(sql, 52006,
                 "SET STATEMENT unique_checks = 0, foreign_key_checks = 0 FOR"
                 " INSERT INTO test.payment VALUES (1)");
    expect_text(s1, "0", "SELECT COUNT(*) FROM test.payment");
    expect_text(s1, "0", "SELECT COUNT(*) FROM idem.record WHERE created_on = '2033-01-01'");
    run(sql, "SET unique_checks = 0, foreign_key_checks = 0");
    run(sql, "START TRANSACTION");
    expect_errno(sql, 52006, "INSERT INTO test.payment VALUES (1)");
    run(sql, "SET unique_checks = 1");
    run(sql, "INSERT INTO test.payment VALUES (1)");
    assert_string_equal(consume(sql, UDF_DOOR, "'mail'", "'bulk'", "NULL").state, "NEW");
    assert_string_equal(consume(sql, UDF_DOOR, "'mail'", "'bulk'", "NULL").state, "DUPLICATE");
    run(sql, "COMMIT");
    mysql_close(sql);
}

static void a_session_with_its_binlog_off_stays_off(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        MYSQL *sql = server_connect(fixture_server);
        char *from = binlog_position(sql);

        run(sql, "SET SESSION sql_log_bin = 0");
        assert_string_equal(claim(sql, door, "'pay'", fresh_key("off"), "NULL").state, "CLAIMED");
        run(sql, "SET SESSION sql_log_bin = 1");
        assert_int_equal(logged("record", from), 0);
        assert_string_equal(claim(sql, door, "'pay'", fresh_key("off"), "NULL").state, "CLAIMED");
        assert_int_equal(logged("record", from), 1);
        free(from);
        mysql_close(sql);
    }
}

static void change_user_and_reset_connection_keep_the_binlog(void **state)
{
    MYSQL *sql = server_connect(fixture_server);

    (void)state;
    for (int reset = 0; reset <= 1; reset++) {
        char *from = binlog_position(sql);

        if (reset)
            assert_int_equal(mysql_reset_connection(sql), 0);
        else
            assert_int_equal(mysql_change_user(sql, "root", "", NULL), 0);
        run(sql, "BEGIN");
        assert_string_equal(claim(sql, UDF_DOOR, "'pay'", fresh_key("reset"), "NULL").state,
                            "CLAIMED");
        run(sql, "COMMIT");
        assert_int_equal(logged("record", from), 1);
        free(from);
    }
    mysql_close(sql);
}

static void an_event_can_claim_and_it_is_logged(void **state)
{
    char *from = binlog_position(s1);

    (void)state;
    run(s1, "CALL idem.allow('event_scheduler', 'localhost', 'pay')"); /* what USER() says there */
    run(s1, "SET GLOBAL event_scheduler = ON");
    run(s1, "CREATE EVENT test.e ON SCHEDULE AT CURRENT_TIMESTAMP DO "
            "SET @a = idem_claim('pay', 'from-event')");
    wait_until(s1, "SELECT COUNT(*) FROM idem.record WHERE idem_key = 'from-event'");
    assert_int_equal(logged("record", from), 1);
    run(s1, "SET GLOBAL event_scheduler = OFF");
    free(from);
}

static void a_session_older_than_the_plugin(void **state)
{
    struct server *bare = server_start_bare(NULL);
    MYSQL *old = server_connect(bare);
    MYSQL *young;
    char output[1024];

    (void)state;
    run(old, "SELECT 1");
    assert_int_equal(server_run_sql_file(bare, "install.sql", "", output, sizeof(output)), 0);
    run(old, "BEGIN");
    assert_int_equal(claim(old, UDF_DOOR, "'pay'", "'old'", "NULL").error, 52006);
    assert_string_equal(claim(old, PROCEDURE_DOOR, "'pay'", "'old'", "NULL").state, "CLAIMED");
    run(old, "ROLLBACK");
    assert_int_equal(begin(old, UDF_DOOR, "'pay'", "'old'", "NULL").error, 52006);
    expect_text(old, "0", "SELECT @@in_transaction");
    assert_string_equal(claim(old, UDF_DOOR, "'pay'", "'old'", "NULL").state, "CLAIMED");
    young = server_connect(bare);
    run(young, "BEGIN");
    assert_string_equal(claim(young, UDF_DOOR, "'pay'", "'young'", "NULL").state, "CLAIMED");
    run(young, "COMMIT");
    mysql_close(old);
    mysql_close(young);
    server_stop(bare);
}

static void without_a_binlog_and_with_the_thread_pool(void **state)
{
    const char *const options[] = {"--skip-log-bin", "--thread-handling=pool-of-threads", NULL};
    struct server *other = server_start(options);
    MYSQL *sql[4];

    (void)state;
    for (int i = 0; i < 4; i++)
        sql[i] = server_connect(other);
    EACH_DOOR(door)
    {
        const char *key = fresh_key("pool");

        for (int i = 0; i < 4; i++)
            run(sql[i], "BEGIN");
        assert_string_equal(claim(sql[0], door, "'pay'", key, "NULL").state, "CLAIMED");
        for (int i = 1; i < 4; i++)
            assert_string_equal(claim(sql[i], door, "'pay'", key, "NULL").state, "IN_PROGRESS");
        assert_int_equal(finish(sql[0], door, "'pay'", key, "NULL", "'{}'"), 0);
        run(sql[0], "COMMIT");
        for (int i = 1; i < 4; i++) {
            assert_string_equal(claim(sql[i], door, "'pay'", key, "NULL").state, "DONE");
            run(sql[i], "COMMIT");
        }
    }
    for (int i = 0; i < 4; i++)
        mysql_close(sql[i]);
    server_stop(other);
}

/* ---- client flags, XA ---------------------------------------------------------------------------
 */

static void case_12_found_rows_changes_no_answer(void **state)
{
    MYSQL *found_rows = server_connect_as(fixture_server, "root", CLIENT_FOUND_ROWS);
    MYSQL *plain = server_connect(fixture_server);

    (void)state;
    EACH_DOOR(door)
    {
        MYSQL *clients[2] = {plain, found_rows};

        for (int i = 0; i < 2; i++) {
            const char *key = fresh_key("found");

            assert_string_equal(claim(clients[i], door, "'p'", key, "NULL").state, "CLAIMED");
            assert_string_equal(claim(clients[i], door, "'p'", key, "NULL").state, "CLAIMED");
            /* the same again in the same microsecond: nothing but updated_at changes */
            set_clock(s1, "2035-01-01 00:00:00");
            assert_int_equal(checkpoint(clients[i], door, "'p'", key, "NULL", "'1'"), 0);
            assert_int_equal(checkpoint(clients[i], door, "'p'", key, "NULL", "'1'"), 0);
            assert_int_equal(renew(clients[i], door, "'p'", key, "NULL", "60"), 0);
            assert_int_equal(renew(clients[i], door, "'p'", key, "NULL", "60"), 0);
            set_clock(s1, NULL);
            assert_int_equal(finish(clients[i], door, "'p'", key, "NULL", "'{}'"), 0);
            assert_int_equal(finish(clients[i], door, "'p'", key, "NULL", "'{}'"), 52004);
            assert_string_equal(claim(clients[i], door, "'p'", key, "NULL").state, "DONE");
        }
    }
    mysql_close(found_rows);
    mysql_close(plain);
}

static void case_43_a_prepared_xa_branch_keeps_its_key(void **state)
{
    MYSQL *lost = server_connect(fixture_server);

    (void)state;
    run(lost, "XA START 'x'");
    assert_string_equal(claim(lost, UDF_DOOR, "'pay'", "'xa'", "NULL").state, "CLAIMED");
    run(lost, "XA END 'x'");
    run(lost, "XA PREPARE 'x'");
    {
        unsigned long id = mysql_thread_id(lost);

        mysql_close(lost);
        wait_until(
            s1, "SELECT NOT EXISTS (SELECT 1 FROM information_schema.processlist WHERE id = %lu)",
            id);
    }
    assert_string_equal(claim(s1, PROCEDURE_DOOR, "'pay'", "'xa'", "NULL").state, "IN_PROGRESS");
    run(s1, "CALL idem.stuck(10)");
    run(s1, "XA ROLLBACK 'x'");
    assert_string_equal(claim(s1, UDF_DOOR, "'pay'", "'xa'", "NULL").state, "CLAIMED");
}

static void case_13_no_auto_increment_to_run_out(void **state)
{
    (void)state;
    expect_text(s1, "NULL",
                "SELECT AUTO_INCREMENT FROM information_schema.tables WHERE table_schema "
                "= 'idem' AND table_name = 'record'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_teardown(name, fixture_settle)
        T(case_35_places_that_share_the_callers_transaction),
        T(case_35_places_that_would_not_are_refused),
        T(case_35_triggers_and_functions_use_the_procedure_door),
        T(case_26_case_35_a_trigger_after_midnight_leaves_no_second_row),
        T(case_34_explain_and_prepare_claim_nothing_and_twice_is_once),
        T(case_38_case_39_read_only_server_and_transaction),
        T(an_account_without_rights_is_refused_by_both_doors),
        T(case_37_claim_and_business_row_are_one_binlog_transaction),
        T(case_40_statement_format_is_refused),
        T(without_unique_checks_nothing_is_claimed),
        T(a_session_with_its_binlog_off_stays_off),
        T(change_user_and_reset_connection_keep_the_binlog),
        T(an_event_can_claim_and_it_is_logged),
        T(a_session_older_than_the_plugin),
        T(without_a_binlog_and_with_the_thread_pool),
        T(case_12_found_rows_changes_no_answer),
        T(case_43_a_prepared_xa_branch_keeps_its_key),
        T(case_13_no_auto_increment_to_run_out),
    };

    return cmocka_run_group_tests_name("contexts", tests, fixture_start, fixture_stop);
}
