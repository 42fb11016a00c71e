/* SPDX-License-Identifier: GPL-2.0-only */
/* State machines: every outcome and refusal, races, and what the user's own table may be like. */
#include "async.h"
#include "fixture.h"

#define NEW_PAID_SHIPPED "{\"NEW\": [\"PAID\", \"CANCELLED\"], \"PAID\": [\"SHIPPED\"]}"

static MYSQL *found_rows;

#define DEFINE_ORDER "CALL idem.define_machine('order', 'shop', 'orders', 'id', 'status', '%s')"

static int start(void **state)
{
    fixture_start(state);
    found_rows = server_connect_as(fixture_server, "root", CLIENT_FOUND_ROWS);
    run(s1, "CREATE DATABASE shop");
    run(s1, "CREATE TABLE shop.orders (id BIGINT PRIMARY KEY, status VARCHAR(20) NOT NULL,"
            " note VARCHAR(40), amount DECIMAL(10,2)) ENGINE=InnoDB");
    run(s1, "CREATE TABLE shop.history (id BIGINT, was VARCHAR(20), now VARCHAR(20))");
    run(s1, "CREATE TRIGGER shop.orders_history AFTER UPDATE ON shop.orders FOR EACH ROW"
            " INSERT INTO shop.history VALUES (NEW.id, OLD.status, NEW.status)");
    run(s1, DEFINE_ORDER, NEW_PAID_SHIPPED);
    return 0;
}

static int stop(void **state)
{
    mysql_close(found_rows);
    return fixture_stop(state);
}

/* A new order in state NEW. */
static int fresh_order(void)
{
    static int made;

    run(s1, "INSERT INTO shop.orders VALUES (%d, 'NEW', NULL, NULL)", ++made);
    return made;
}

/* What a call of this name answered: outcome, a space, state. */
#define expect_answer(sql, expected, ...)                                                          \
    do {                                                                                           \
        run(sql, __VA_ARGS__);                                                                     \
        expect_text(sql, expected, "SELECT CONCAT_WS(' ', @o, @s)");                               \
    } while (0)

#define TRANSITION "CALL idem.transition('order', %d, '%s', NULL, @o, @s)"

static void case_47_five_different_answers_and_case_12_under_both_client_flags(void **state)
{
    MYSQL *clients[] = {s1, found_rows};

    (void)state;
    for (int i = 0; i < 2; i++) {
        int id = fresh_order();

        expect_answer(clients[i], "APPLIED PAID", TRANSITION, id, "PAID");
        expect_answer(clients[i], "ALREADY PAID", TRANSITION, id, "PAID");
        expect_answer(clients[i], "ILLEGAL PAID", TRANSITION, id, "CANCELLED");
        expect_answer(clients[i], "ILLEGAL PAID", TRANSITION, id, "NEW");
        expect_answer(clients[i], "MISSING", TRANSITION, 999999, "PAID");
        expect_answer(clients[i], "APPLIED SHIPPED", TRANSITION, id, "SHIPPED");
        expect_answer(clients[i], "ALREADY NEW", TRANSITION, fresh_order(), "NEW");
        expect_errno(clients[i], 52001, "CALL idem.transition('order', %d, NULL, NULL, @o, @s)",
                     id);
        expect_errno(clients[i], 52001,
                     "CALL idem.transition('order', NULL, 'PAID', NULL, @o, @s)");
        expect_errno(clients[i], 52001, TRANSITION, id, "PIAD");
        expect_errno(clients[i], 52001, TRANSITION, id, "PAID\"");
        expect_errno(clients[i], 52001, TRANSITION, id, "PAID ");
        expect_errno(clients[i], 52001, TRANSITION, id, "");
        expect_errno(clients[i], 52001, TRANSITION, id, "*");
        expect_errno(clients[i], 52001, "CALL idem.transition('order', %d, x'ff', NULL, @o, @s)",
                     id);
        expect_errno(clients[i], 52001, "CALL idem.transition('ordre', 1, 'PAID', NULL, @o, @s)");
        expect_errno(clients[i], 52001, "CALL idem.transition(NULL, 1, 'PAID', NULL, @o, @s)");
        expect_text(s1, "2", "SELECT COUNT(*) FROM shop.history WHERE id = %d", id);
    }
}

static void set_json_is_written_only_with_the_transition(void **state)
{
    int id = fresh_order();

    (void)state;
    expect_answer(s1, "ILLEGAL NEW",
                  "CALL idem.transition('order', %d, 'SHIPPED', '{\"note\":\"a\"}', @o, @s)", id);
    expect_answer(s1, "APPLIED PAID",
                  "CALL idem.transition('order', %d, 'PAID',"
                  " '{\"note\":\"b\",\"amount\":12.345}', @o, @s)",
                  id);
    expect_answer(s1, "ALREADY PAID",
                  "CALL idem.transition('order', %d, 'PAID', '{\"note\":\"c\"}', @o, @s)", id);
    expect_text(s1, "b 12.35", "SELECT CONCAT(note, ' ', amount) FROM shop.orders WHERE id = %d",
                id);
}

static void strict_raises_52009_and_says_the_state(void **state)
{
    int id = fresh_order();

    (void)state;
    expect_answer(s1, "APPLIED PAID",
                  "CALL idem.transition_strict('order', %d, 'PAID', NULL, @o, @s)", id);
    expect_answer(s1, "ALREADY PAID",
                  "CALL idem.transition_strict('order', %d, 'PAID', NULL, @o, @s)", id);
    expect_errno(s1, 52009, "CALL idem.transition_strict('order', %d, 'CANCELLED', NULL, @o, @s)",
                 id);
    assert_non_null(strstr(mysql_error(s1), "PAID"));
    expect_errno(s1, 52009, "CALL idem.transition_strict('order', 999999, 'PAID', NULL, @o, @s)");
}

/* s2's snapshot is older than s1's commit: its answer must come from the row as it is now. */
static void case_48_loser_is_told_the_state_it_lost_to(void **state)
{
    const char *levels[] = {"REPEATABLE READ", "READ COMMITTED"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        int id = fresh_order();

        run(s2, "SET SESSION TRANSACTION ISOLATION LEVEL %s", levels[i]);
        run(s2, "SET SESSION innodb_snapshot_isolation = OFF");
        run(s1, "BEGIN");
        run(s2, "BEGIN");
        expect_text(s2, "NEW", "SELECT status FROM shop.orders WHERE id = %d", id);
        expect_answer(s1, "APPLIED PAID", TRANSITION, id, "PAID");
        send_query(s2, TRANSITION, id, "CANCELLED");
        assert_int_equal(receive_after(s2, s1, "COMMIT"), 0);
        expect_text(s2, "ILLEGAL PAID", "SELECT CONCAT(@o, ' ', @s)");
        run(s2, "COMMIT");
        expect_text(s1, "1", "SELECT COUNT(*) FROM shop.history WHERE id = %d", id);
    }
    run(s2, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
}

/* The call itself opens no snapshot, so that waiting for the row costs nobody the transaction. */
static void case_48_snapshot_isolation_waits_and_answers(void **state)
{
    int id = fresh_order();

    (void)state;
    run(s2, "SET SESSION innodb_snapshot_isolation = ON");
    run(s1, "BEGIN");
    expect_answer(s1, "APPLIED PAID", TRANSITION, id, "PAID");
    run(s2, "BEGIN");
    send_query(s2, TRANSITION, id, "CANCELLED");
    assert_int_equal(receive_after(s2, s1, "COMMIT"), 0);
    expect_text(s2, "ILLEGAL PAID", "SELECT CONCAT(@o, ' ', @s)");
    run(s2, "COMMIT");
    run(s2, "SET SESSION innodb_snapshot_isolation = OFF");
}

/* The definition is locked, shared, while the transaction is open: who changes it waits, and keeps
   nobody from using it as it was. */
static void a_new_definition_waits_for_open_transactions_and_holds_up_no_call(void **state)
{
    int id = fresh_order(), other = fresh_order();

    (void)state;
    run(s1, "BEGIN");
    expect_answer(s1, "APPLIED PAID", TRANSITION, id, "PAID");
    send_query(s2, DEFINE_ORDER, NEW_PAID_SHIPPED);
    wait_for_lock(s3);
    run(s3, "BEGIN");
    expect_answer(s3, "APPLIED PAID", TRANSITION, other, "PAID");
    run(s3, "COMMIT");
    run(s1, "COMMIT");
    assert_int_equal(receive(s2), 0);
}

static void same_transition_twice_at_once_is_applied_once(void **state)
{
    int id = fresh_order();

    (void)state;
    run(s1, "BEGIN");
    expect_answer(s1, "APPLIED PAID", TRANSITION, id, "PAID");
    send_query(s2, TRANSITION, id, "PAID");
    assert_int_equal(receive_after(s2, s1, "COMMIT"), 0);
    expect_text(s2, "ALREADY PAID", "SELECT CONCAT(@o, ' ', @s)");

    id = fresh_order();
    run(s1, "BEGIN");
    expect_answer(s1, "APPLIED PAID", TRANSITION, id, "PAID");
    send_query(s2, TRANSITION, id, "PAID");
    assert_int_equal(receive_after(s2, s1, "ROLLBACK"), 0);
    expect_text(s2, "APPLIED PAID", "SELECT CONCAT(@o, ' ', @s)");
}

static void case_48_snapshot_isolation_1020_reaches_the_caller(void **state)
{
    int id = fresh_order();
    int other = fresh_order();

    (void)state;
    run(s2, "SET SESSION innodb_snapshot_isolation = ON");
    run(s2, "BEGIN");
    run(s2, "UPDATE shop.orders SET note = 'mine' WHERE id = %d", other);
    expect_text(s2, "NEW", "SELECT status FROM shop.orders WHERE id = %d", id);
    expect_answer(s1, "APPLIED PAID", TRANSITION, id, "PAID");
    expect_errno(s2, 1020, TRANSITION, id, "CANCELLED");
    expect_text(s2, "0", "SELECT @@in_transaction");
    expect_text(s2, "NULL", "SELECT note FROM shop.orders WHERE id = %d", other);
    run(s2, "SET SESSION innodb_snapshot_isolation = OFF");
}

static void deadlock_1213_reaches_the_caller(void **state)
{
    int a = fresh_order();
    int b = fresh_order();
    unsigned int first, second;

    (void)state;
    run(s1, "BEGIN");
    run(s2, "BEGIN");
    expect_answer(s1, "APPLIED PAID", TRANSITION, a, "PAID");
    expect_answer(s2, "APPLIED PAID", TRANSITION, b, "PAID");
    send_query(s1, TRANSITION, b, "PAID");
    wait_for_lock(s3);
    second = run_errno(s2, TRANSITION, a, "PAID");
    if (second == 0)
        run(s2, "COMMIT");
    first = receive(s1);
    assert_true((first == 1213) != (second == 1213));
    expect_text(first == 1213 ? s1 : s2, "0", "SELECT @@in_transaction");
}

static void kills_and_read_only_reach_the_caller_and_leave_nothing_open(void **state)
{
    int id = fresh_order();

    (void)state;
    run(s1, "BEGIN");
    expect_answer(s1, "APPLIED PAID", TRANSITION, id, "PAID");
    send_query(s2, TRANSITION, id, "CANCELLED");
    wait_for_lock(s3);
    run(s3, "KILL QUERY %lu", mysql_thread_id(s2));
    assert_int_equal(receive(s2), 1317);
    expect_text(s2, "0", "SELECT @@in_transaction");
    run(s2, "SET SESSION innodb_lock_wait_timeout = 1");
    expect_errno(s2, 1205, TRANSITION, id, "CANCELLED");
    run(s2, "SET SESSION innodb_lock_wait_timeout = DEFAULT");
    run(s1, "COMMIT");
    run(s1, "START TRANSACTION READ ONLY");
    expect_errno(s1, 1792, TRANSITION, id, "SHIPPED");
    run(s1, "ROLLBACK");
    expect_answer(s2, "APPLIED SHIPPED", TRANSITION, id, "SHIPPED");
}

static void rollback_takes_it_back_and_autocommit_keeps_it(void **state)
{
    int id = fresh_order();

    (void)state;
    run(s1, "BEGIN");
    expect_answer(s1, "APPLIED PAID", TRANSITION, id, "PAID");
    run(s1, "ROLLBACK");
    expect_answer(s1, "APPLIED CANCELLED", TRANSITION, id, "CANCELLED");
    expect_text(s1, "0", "SELECT @@in_transaction");
    expect_text(s2, "CANCELLED", "SELECT status FROM shop.orders WHERE id = %d", id);
}

static void values_of_every_type_arrive_whole(void **state)
{
    (void)state;
    run(s1,
        "CREATE TABLE shop.types (id INT PRIMARY KEY, st ENUM('a','b') NOT NULL DEFAULT 'a',"
        " i BIGINT, u BIGINT UNSIGNED, d DECIMAL(40,10), f FLOAT, g DOUBLE, b BOOLEAN,"
        " c CHAR(5), v VARCHAR(40), t TEXT, l VARCHAR(20) CHARACTER SET latin1, n INT DEFAULT 7,"
        " x VARBINARY(8), y BINARY(4), z BLOB, uu UUID, dt DATETIME(3), da DATE, ti TIME,"
        " j JSON, `o``dd \xc3\xa9` VARCHAR(20), twice INT AS (n * 2) STORED)");
    run(s1, "INSERT INTO shop.types (id) VALUES (1), (2)");
    run(s1, "CALL idem.define_machine('types', 'shop', 'types', 'id', 'st', '[[\"a\",\"b\"]]')");
    expect_answer(
        s1, "APPLIED b",
        "CALL idem.transition('types', 1, 'b', '{\"i\":-9223372036854775808,"
        "\"u\":18446744073709551615,\"d\":123456789012345678901234567890.0123456789,\"f\":0.5,"
        "\"g\":1e-300,\"b\":true,\"c\":\"ab\",\"v\":\"it''s \\\\\"x\\\\\" \\\\\\\\ "
        "\\\\ud83d\\\\ude00\","
        "\"t\":\"\",\"l\":\"caf\xc3\xa9\",\"n\":null,\"x\":{\"$hex\":\"00ff27\"},"
        "\"y\":{\"$hex\":\"0102\"},\"z\":{\"$hex\":\"\"},"
        "\"uu\":\"123e4567-e89b-12d3-a456-426614174000\",\"dt\":\"2026-01-02 03:04:05.678\","
        "\"da\":\"2026-01-02\",\"ti\":\"01:02:03\",\"j\":{\"a\":[1,\"x\"]},\"o`dd "
        "\xc3\xa9\":\"q\"}',"
        " @o, @s)");
    expect_text(s1,
                "-9223372036854775808,18446744073709551615,"
                "123456789012345678901234567890.0123456789,0.5,1,ab,00FF27,01020000",
                "SELECT CONCAT_WS(',', i, u, d, f, b, c, HEX(x), HEX(y)) FROM shop.types"
                " WHERE id = 1");
    expect_text(s1, "1",
                "SELECT g = 1e-300 AND t = '' AND z = '' AND n IS NULL AND HEX(l) = '636166E9'"
                " AND v = CONCAT('it''s \"x\" ', CHAR(92), ' ', CONVERT(x'f09f9880' USING"
                " utf8mb4)) FROM shop.types WHERE id = 1");
    expect_text(s1, "1",
                "SELECT uu = '123e4567-e89b-12d3-a456-426614174000' AND dt = '2026-01-02"
                " 03:04:05.678' AND da = '2026-01-02' AND ti = '01:02:03'"
                " AND JSON_VALUE(j, '$.a[1]') = 'x' AND `o``dd \xc3\xa9` = 'q'"
                " FROM shop.types WHERE id = 1");
    /* As for a plain UPDATE: strict, never cut. */
    expect_errno(s1, 1406, "CALL idem.transition('types', 2, 'b', '{\"c\":\"abcdef\"}', @o, @s)");
    run(s1, "SET sql_mode = ''");
    expect_errno(s1, 1264, "CALL idem.transition('types', 2, 'b', '{\"n\":9999999999}', @o, @s)");
    run(s1, "SET sql_mode = DEFAULT");
    expect_errno(s1, 1906, "CALL idem.transition('types', 2, 'b', '{\"twice\":1}', @o, @s)");
    expect_answer(
        s1, "APPLIED b",
        "CALL idem.transition('types', 2, 'b', '{\"n\":{\"$add\":-2},\"i\":{\"$add\":1.0}}',"
        " @o, @s)");
    expect_text(s1, "5 1 10", "SELECT CONCAT_WS(' ', n, i, twice) FROM shop.types WHERE id = 2");
}

static void bad_set_json_is_52001(void **state)
{
    const char *bad[] = {"'x'",
                         "'[]'",
                         "'{\"note\":1'",
                         "'{\"note\":1,\"note\":2}'",
                         "''",
                         "'{\"status\":\"SHIPPED\"}'",
                         "'{\"STATUS\":\"SHIPPED\"}'",
                         "'{\"id\":7}'",
                         "'{\"Id\":7}'",
                         "'{\"nope\":7}'",
                         "'{\"\":7}'",
                         "'{\"no\\\\\"te\":7}'",
                         "'{\"note\":{\"$hex\":\"0\"}}'",
                         "'{\"note\":{\"$hex\":\"zz\"}}'",
                         "'{\"note\":{\"$hxe\":\"00\"}}'",
                         "'{\"note\":{\"$add\":\"1\"}}'",
                         "'{\"note\":\"\\\\ud800\"}'",
                         "'{\"amount\":1.}'",
                         "x'7b226e6f7465223a22ff227d'",
                         "CONCAT('{\"note\":\"', REPEAT('x', 1048570), '\"}')"};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int id = fresh_order();

        expect_errno(s1, 52001, "CALL idem.transition('order', %d, 'PAID', %s, @o, @s)", id,
                     bad[i]);
        expect_text(s1, "NEW", "SELECT status FROM shop.orders WHERE id = %d", id);
    }
}

static void keys_of_every_kind_find_their_row(void **state)
{
    (void)state;
    run(s1, "CREATE TABLE shop.pair (tenant VARCHAR(20), no INT, day DATE, st TINYINT NOT NULL,"
            " PRIMARY KEY (tenant, no, day))");
    run(s1,
        "INSERT INTO shop.pair VALUES ('a', -1, '2026-01-02', 1), ('a,b', -1, '2026-01-02', 1)");
    run(s1, "CALL idem.define_machine('pair', 'shop', 'pair', '[\"day\",\"tenant\",\"no\"]', 'st',"
            " '{\"1\":[2]}')");
    expect_answer(s1, "APPLIED 2",
                  "CALL idem.transition('pair', '[\"2026-01-02\",\"a,b\",-1]', 2, NULL, @o, @s)");
    expect_text(s1, "1,2", "SELECT GROUP_CONCAT(st ORDER BY tenant) FROM shop.pair");
    expect_errno(s1, 52001,
                 "CALL idem.transition('pair', '[\"2026-01-02\",\"a\"]', 2, NULL, @o, @s)");
    expect_errno(s1, 52001,
                 "CALL idem.transition('pair', '[\"2026-02-30\",\"a\",1]', 2, NULL, @o, @s)");
    expect_errno(s1, 52001,
                 "CALL idem.transition('pair', '[\"2026-01-02\",\"a\",null]', 2, NULL, @o, @s)");
    expect_errno(s1, 52001, "CALL idem.transition('pair', 'a', 2, NULL, @o, @s)");

    run(s1, "CREATE TABLE shop.bin (id BINARY(4) PRIMARY KEY, st INT NOT NULL)");
    run(s1, "INSERT INTO shop.bin VALUES (x'00ff2700', 1)");
    run(s1, "CALL idem.define_machine('bin', 'shop', 'bin', 'id', 'st', '{\"1\":[\"2\"]}')");
    expect_answer(s1, "APPLIED 2", "CALL idem.transition('bin', x'00ff2700', 2, NULL, @o, @s)");
    expect_errno(s1, 52001, "CALL idem.transition('bin', x'00ff27', 2, NULL, @o, @s)");

    run(s1, "CREATE TABLE shop.uu (id UUID PRIMARY KEY, st CHAR(3) NOT NULL)");
    run(s1, "INSERT INTO shop.uu VALUES ('123e4567-e89b-12d3-a456-426614174000', 'on')");
    run(s1, "CALL idem.define_machine('uu', 'shop', 'uu', 'id', 'st',"
            " '{\"on\":[\"off\"],\"off\":[\"on\"]}')");
    expect_answer(s1, "APPLIED off",
                  "CALL idem.transition('uu', '123E4567-e89b-12d3-a456-426614174000', 'off', NULL,"
                  " @o, @s)");
    expect_answer(s1, "APPLIED on",
                  "CALL idem.transition('uu', x'123e4567e89b12d3a456426614174000', 'on', NULL, @o,"
                  " @s)");
    expect_errno(s1, 52001, "CALL idem.transition('uu', 'not a uuid', 'on', NULL, @o, @s)");

    run(s1, "CREATE TABLE shop.txt (id VARCHAR(20) CHARACTER SET latin1 PRIMARY KEY,"
            " st VARCHAR(3) CHARACTER SET latin1 NOT NULL)");
    run(s1, "INSERT INTO shop.txt VALUES ('caf\xc3\xa9''', 'on')");
    run(s1, "CALL idem.define_machine('txt', 'shop', 'txt', 'id', 'st', '{\"on\":[\"off\"]}')");
    expect_answer(s1, "APPLIED off",
                  "CALL idem.transition('txt', 'caf\xc3\xa9''', 'off', NULL, @o, @s)");
    expect_errno(s1, 52001, "CALL idem.transition('txt', x'e9', 'off', NULL, @o, @s)");
    run(s1, "SET NAMES gbk");
    expect_errno(s1, 52001, "CALL idem.transition('txt', x'c3a9', 'off', NULL, @o, @s)");
    run(s1, "SET NAMES utf8mb4");
}

/* 7x would be 7 to the server: another row's transition. */
static void an_id_is_never_bent_to_fit(void **state)
{
    const char *bad[] = {"'%dx'", "' %d'", "'%d.0'", "'%d\n'", "'0x%x'", "'%de0'"};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int id = fresh_order();
        char text[32];

        snprintf(text, sizeof(text), bad[i], id);
        expect_errno(s1, 52001, "CALL idem.transition('order', %s, 'PAID', NULL, @o, @s)", text);
        expect_text(s1, "NEW", "SELECT status FROM shop.orders WHERE id = %d", id);
    }
    run(s1, "INSERT INTO shop.orders VALUES (9007199254740992, 'NEW', NULL, NULL),"
            " (9007199254740993, 'NEW', NULL, NULL)");
    expect_answer(s1, "APPLIED PAID",
                  "CALL idem.transition('order', 9007199254740993, 'PAID', NULL, @o, @s)");
    expect_text(s1, "NEW", "SELECT status FROM shop.orders WHERE id = 9007199254740992");
}

static void a_machine_that_does_not_fit_is_refused(void **state)
{
    static const char *const bad[][5] = {
        {"shop", "nope", "id", "status", NEW_PAID_SHIPPED},
        {"nope", "orders", "id", "status", NEW_PAID_SHIPPED},
        {"idem", "record", "idem_key", "status", NEW_PAID_SHIPPED},
        {"mysql", "db", "Host", "User", NEW_PAID_SHIPPED},
        {"shop", "odd", "nokey", "st", "{\"a\":[\"b\"]}"},
        {"shop", "odd", "nope", "st", "{\"a\":[\"b\"]}"},
        {"shop", "odd", "nullable", "st", "{\"a\":[\"b\"]}"},
        {"shop", "odd", "prefixed", "st", "{\"a\":[\"b\"]}"},
        {"shop", "odd", "two", "st", "{\"a\":[\"b\"]}"},
        {"shop", "odd", "[\"id\",\"two\"]", "st", "{\"a\":[\"b\"]}"},
        {"shop", "odd", "[\"id\",\"id\"]", "st", "{\"a\":[\"b\"]}"},
        {"shop", "odd", "[]", "st", "{\"a\":[\"b\"]}"},
        {"shop", "odd", "dbl", "st", "{\"a\":[\"b\"]}"},
        {"shop", "odd", "id", "nope", "{\"a\":[\"b\"]}"},
        {"shop", "odd", "id", "id", "{\"1\":[\"2\"]}"},
        {"shop", "odd", "id", "gen", "{\"1\":[\"2\"]}"},
        {"shop", "odd", "id", "dbl", "{\"1\":[\"2\"]}"},
        {"shop", "odd", "id", "st", "{\"a\":[\"a\"]}"},
        {"shop", "odd", "id", "st", "{\"a\":[\"A\"]}"},
        {"shop", "odd", "id", "st", "{\"a\":[\"b\"],\"B\":[\"a\"]}"},
        {"shop", "odd", "id", "st", "{\"a\":[\"abcdefghijk\"]}"},
        {"shop", "odd", "id", "st", "{\"a\":\"b\"}"},
        {"shop", "odd", "id", "st", "{\"a\":[null]}"},
        {"shop", "odd", "id", "st", "{\"a\":[\"b\"],\"a\":[\"c\"]}"},
        {"shop", "odd", "id", "st", "[[\"a\"]]"},
        {"shop", "odd", "id", "st", "[\"a\",\"b\"]"},
        {"shop", "odd", "id", "st", "{}"},
        {"shop", "odd", "id", "st", "\"a\""},
        {"shop", "odd", "id", "st", "{\"a\":[\"b"},
        {"shop", "odd", "id", "en", "{\"x\":[\"z\"]}"},
        {"shop", "odd", "id", "num", "{\"1\":[\"x\"]}"},
        {"shop", "odd_view", "id", "st", "{\"a\":[\"b\"]}"},
        {"shop", "odd_myisam", "id", "st", "{\"a\":[\"b\"]}"},
    };

    (void)state;
    run(s1, "CREATE TABLE shop.odd (id INT PRIMARY KEY, nokey INT NOT NULL, nullable INT UNIQUE,"
            " prefixed VARCHAR(20) NOT NULL, two INT NOT NULL, three INT NOT NULL,"
            " dbl DOUBLE NOT NULL UNIQUE, st VARCHAR(10) NOT NULL, en ENUM('x','y') NOT NULL,"
            " num INT NOT NULL, gen INT AS (id + 1) STORED, UNIQUE (prefixed(3)),"
            " UNIQUE (two, three))");
    run(s1, "CREATE VIEW shop.odd_view AS SELECT * FROM shop.odd");
    run(s1, "CREATE TABLE shop.odd_myisam (id INT PRIMARY KEY, st VARCHAR(10) NOT NULL)"
            " ENGINE = MyISAM");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        expect_errno(s1, 52001, "CALL idem.define_machine('bad', '%s', '%s', '%s', '%s', '%s')",
                     bad[i][0], bad[i][1], bad[i][2], bad[i][3], bad[i][4]);
    expect_errno(s1, 52001, "CALL idem.define_machine('bad', 'shop', NULL, 'id', 'st', '{}')");
    expect_errno(s1, 52001, "CALL idem.define_machine('bad', 'shop', 'odd', 'id', 'st', NULL)");
    expect_errno(s1, 52001,
                 "CALL idem.define_machine('', 'shop', 'odd', 'id', 'st', '{\"a\":[\"b\"]}')");
    expect_errno(s1, 52001,
                 "CALL idem.define_machine(REPEAT('x', 65), 'shop', 'odd', 'id', 'st',"
                 " '{\"a\":[\"b\"]}')");
    expect_text(s1, "0", "SELECT COUNT(*) FROM idem.machine WHERE table_name LIKE 'odd%%'");
    run(s1, "CALL idem.define_machine('good', 'shop', 'odd', '[\"three\",\"two\"]', 'en',"
            " '{\"x\":[\"y\"]}')");
}

static void names_are_quoted_whatever_they_are(void **state)
{
    (void)state;
    run(s1, "CREATE DATABASE `sh``op; --`");
    run(s1, "CREATE TABLE `sh``op; --`.`or``der \xc3\xa9` (`i``d` INT PRIMARY KEY,"
            " `st``ate` VARCHAR(10) NOT NULL)");
    run(s1, "INSERT INTO `sh``op; --`.`or``der \xc3\xa9` VALUES (1, 'a')");
    run(s1, "CALL idem.define_machine('o''dd', 'sh`op; --', 'or`der \xc3\xa9', 'i`d', 'st`ate',"
            " '{\"a\":[\"b''\"]}')");
    expect_answer(s1, "APPLIED b'", "CALL idem.transition('o''dd', 1, 'b''', NULL, @o, @s)");
}

static void triggers_checks_foreign_keys_and_partitions_work_as_for_an_update(void **state)
{
    MYSQL *clients[] = {s1, found_rows};

    (void)state;
    run(s1, "CREATE TABLE shop.parent (id INT PRIMARY KEY)");
    run(s1, "INSERT INTO shop.parent VALUES (1)");
    run(s1, "CREATE TABLE shop.child (id INT PRIMARY KEY, st VARCHAR(10) NOT NULL, p INT,"
            " n INT CHECK (n < 10), FOREIGN KEY (p) REFERENCES shop.parent (id))");
    run(s1, "INSERT INTO shop.child VALUES (1, 'a', 1, 1)");
    run(s1, "CALL idem.define_machine('child', 'shop', 'child', 'id', 'st', '{\"a\":[\"b\"]}')");
    expect_errno(s1, 4025, "CALL idem.transition('child', 1, 'b', '{\"n\":10}', @o, @s)");
    expect_errno(s1, 1452, "CALL idem.transition('child', 1, 'b', '{\"p\":2}', @o, @s)");
    expect_answer(s1, "APPLIED b", "CALL idem.transition('child', 1, 'b', '{\"n\":9}', @o, @s)");

    run(s1, "CREATE TABLE shop.parts (id INT PRIMARY KEY, st VARCHAR(10) NOT NULL)"
            " PARTITION BY HASH (id) PARTITIONS 4");
    run(s1, "INSERT INTO shop.parts VALUES (1, 'a'), (2, 'a')");
    run(s1, "CALL idem.define_machine('parts', 'shop', 'parts', 'id', 'st', '{\"a\":[\"b\"]}')");
    expect_answer(s1, "APPLIED b", "CALL idem.transition('parts', 2, 'b', NULL, @o, @s)");

    /* A trigger that silently keeps the state must not look like success under any flag. */
    run(s1, "CREATE TRIGGER shop.parts_keep BEFORE UPDATE ON shop.parts FOR EACH ROW"
            " SET NEW.st = OLD.st");
    for (int i = 0; i < 2; i++) {
        run(clients[i], "BEGIN");
        expect_answer(clients[i], "ILLEGAL a",
                      "CALL idem.transition('parts', 1, 'b', NULL, @o, @s)");
        run(clients[i], "ROLLBACK");
    }
    run(s1, "DROP TRIGGER shop.parts_keep");
    run(s1, "CREATE TRIGGER shop.parts_signal BEFORE UPDATE ON shop.parts FOR EACH ROW"
            " SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 1644");
    expect_errno(s1, 1644, "CALL idem.transition('parts', 1, 'b', NULL, @o, @s)");
}

/* The server forbids dynamic SQL there; it must say so, and nothing may be written. */
static void in_a_trigger_the_server_refuses(void **state)
{
    int id = fresh_order();

    (void)state;
    run(s1, "CREATE TABLE shop.inlet (id INT PRIMARY KEY)");
    run(s1, "CREATE TRIGGER shop.inlet_pay AFTER INSERT ON shop.inlet FOR EACH ROW"
            " CALL idem.transition('order', NEW.id, 'PAID', NULL, @o, @s)");
    expect_errno(s1, 1336, "INSERT INTO shop.inlet VALUES (%d)", id);
    expect_text(s1, "NEW", "SELECT status FROM shop.orders WHERE id = %d", id);
    /* A procedure may. */
    run(s1, "CREATE PROCEDURE shop.pay(IN in_id INT) BEGIN"
            " CALL idem.transition('order', in_id, 'PAID', NULL, @o, @s); END");
    expect_answer(s1, "APPLIED PAID", "CALL shop.pay(%d)", id);
}

static void callers_have_their_own_rights_and_no_more(void **state)
{
    int id = fresh_order();
    MYSQL *app;

    (void)state;
    create_account(s1, "app", "idem_app");
    app = server_connect_as(fixture_server, "app", 0);
    expect_errno(app, 52007, TRANSITION, id, "PAID");
    run(s1, "CALL idem.allow('app', '%%', 'order')");
    expect_errno(app, 1142, TRANSITION, id, "PAID");
    run(s1, "GRANT SELECT ON shop.orders TO app@localhost");
    expect_errno(app, 1142, TRANSITION, id, "PAID");
    run(s1, "GRANT UPDATE (status) ON shop.orders TO app@localhost");
    expect_errno(app, 1143, "CALL idem.transition('order', %d, 'PAID', '{\"note\":\"x\"}', @o, @s)",
                 id);
    expect_answer(app, "APPLIED PAID", TRANSITION, id, "PAID");
    expect_errno(app, 52007, "CALL idem.transition('types', 1, 'b', NULL, @o, @s)");
    expect_errno(app, 1370,
                 "CALL idem.define_machine('mine', 'shop', 'orders', 'id', 'status',"
                 " '{\"NEW\":[\"SHIPPED\"]}')");
    expect_errno(app, 1370,
                 "CALL idem._put_machine('order', 'shop', 'orders', '[]', 'status', '[]')");
    expect_errno(app, 1142, "SELECT * FROM idem.machine");
    mysql_close(app);

    /* An operator sees of a table what the account may see. */
    create_account(s1, "op", "idem_operator");
    app = server_connect_as(fixture_server, "op", 0);
    expect_errno(app, 52001,
                 "CALL idem.define_machine('mine', 'shop', 'orders', 'id', 'status',"
                 " '{\"NEW\":[\"PAID\"]}')");
    run(s1, "GRANT SELECT ON shop.orders TO op@localhost");
    run(app, "CALL idem.define_machine('mine', 'shop', 'orders', 'id', 'status',"
             " '{\"NEW\":[\"PAID\"]}')");
    run(app, "CALL idem.show_machines()");
    run(app, "CALL idem.verify_guards()");
    run(app, "CALL idem.drop_machine('mine')");
    mysql_close(app);
}

static void stale_worker_is_fenced_off_the_business_row(void **state)
{
    const char *key = fresh_key("fence");
    int id = fresh_order();
    unsigned long long old_token, token;
    char fenced[256];

    (void)state;
    set_clock(s1, "2031-03-01 10:00:00");
    run(s1, "CALL idem.ensure_partitions()");
    old_token = claim(s1, PROCEDURE_DOOR, "'ship'", key, "NULL").token;
    set_clock(s1, "2031-03-01 11:00:00");
    token = claim(s2, PROCEDURE_DOOR, "'ship'", key, "NULL").token;
    assert_true(token > old_token);

    snprintf(fenced, sizeof(fenced),
             "CALL idem.transition_fenced('order', %d, 'PAID', NULL, 'ship', %s, %%llu, @o, @s)",
             id, key);
    expect_errno(s1, 52006, fenced, old_token);
    run(s1, "BEGIN");
    expect_errno(s1, 52004, fenced, old_token);
    run(s1, "COMMIT");
    expect_text(s1, "NEW", "SELECT status FROM shop.orders WHERE id = %d", id);

    run(s2, "BEGIN");
    expect_answer(s2, "APPLIED PAID", fenced, token);
    /* Its lease is over, and still nobody takes it over before it commits. */
    set_clock(s1, "2031-03-01 12:00:00");
    assert_string_equal(claim(s1, PROCEDURE_DOOR, "'ship'", key, "NULL").state, "IN_PROGRESS");
    assert_int_equal(finish(s2, PROCEDURE_DOOR, "'ship'", key, "NULL", "'{}'"), 0);
    run(s2, "COMMIT");
    run(s2, "BEGIN");
    expect_errno(s2, 52004, fenced, token);
    run(s2, "ROLLBACK");
}

static void sessions_with_odd_settings_get_the_same_answer(void **state)
{
    int id = fresh_order();

    (void)state;
    run(s2, "SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT,IGNORE_SPACE',"
            " group_concat_max_len = 4, collation_connection = utf8mb4_unicode_ci,"
            " lc_time_names = 'de_DE', time_zone = '+05:00'");
    expect_answer(s2, "APPLIED PAID",
                  "CALL idem.transition('order', %d, 'PAID', '{\"note\":\"a''b\"}', @o, @s)", id);
    expect_answer(s2, "ILLEGAL PAID", TRANSITION, id, "CANCELLED");
    expect_text(s2, "a'b", "SELECT note FROM shop.orders WHERE id = %d", id);
    run(s2, "SET sql_mode = DEFAULT, group_concat_max_len = DEFAULT, time_zone = DEFAULT,"
            " collation_connection = DEFAULT, lc_time_names = DEFAULT");
}

static void a_cursor_loop_of_the_caller_goes_on(void **state)
{
    int id = fresh_order();

    (void)state;
    run(s1, "CREATE OR REPLACE PROCEDURE shop.sweep(IN in_id INT) BEGIN"
            " DECLARE v_done BOOLEAN DEFAULT FALSE;"
            " DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_done = TRUE;"
            " CALL idem.transition('order', in_id, 'PAID', NULL, @o, @s);"
            " CALL idem.transition('order', 999999, 'PAID', NULL, @o, @s);"
            " SET @done = v_done; END");
    run(s1, "CALL shop.sweep(%d)", id);
    expect_text(s1, "0", "SELECT @done");
}

static void registry_is_shown_redefined_verified_and_dropped(void **state)
{
    (void)state;
    run(s1, "CREATE TABLE shop.short (id INT PRIMARY KEY, st VARCHAR(10) NOT NULL)");
    run(s1, "INSERT INTO shop.short VALUES (1, 'a')");
    run(s1, "CALL idem.define_machine('short', 'shop', 'short', 'id', 'st', '{\"a\":[\"b\"]}')");
    run(s1, "CALL idem.define_machine('short', 'shop', 'short', 'id', 'st',"
            " '{\"a\":[\"c\"],\"b\":[\"c\"]}')");
    expect_text(s1, "[\"a\", \"b\"] []",
                "SELECT CONCAT(JSON_EXTRACT(reachable_from, '$.c'), ' ',"
                " JSON_EXTRACT(reachable_from, '$.a')) FROM idem.machine WHERE name = 'short'");
    run(s1, "CALL idem.show_machines()");
    expect_text(s1, "NULL", "CALL idem.verify_guards()");
    run(s1, "ALTER TABLE shop.short DROP PRIMARY KEY");
    expect_text(s1, "machine", "CALL idem.verify_guards()");
    run(s1, "DROP TABLE shop.short");
    expect_text(s1, "machine", "CALL idem.verify_guards()");
    expect_errno(s1, 1146, "CALL idem.transition('short', 1, 'c', NULL, @o, @s)");
    run(s1, "CALL idem.drop_machine('short')");
    expect_text(s1, "NULL", "CALL idem.verify_guards()");
    expect_errno(s1, 52001, "CALL idem.drop_machine('short')");
    expect_errno(s1, 52001, "CALL idem.transition('short', 1, 'c', NULL, @o, @s)");
    expect_text(s1, "3", "SELECT COUNT(*) FROM idem.audit WHERE biz_type = 'short'");
}

static int64_t status(const char *name)
{
    return value_int(s3,
                     "SELECT variable_value FROM information_schema.global_status"
                     " WHERE variable_name = '%s'",
                     name);
}

static void outcomes_are_counted(void **state)
{
    static const char *const names[] = {"idem_transition_applied", "idem_transition_already",
                                        "idem_transition_illegal", "idem_transition_missing"};
    int64_t before[4];
    int id = fresh_order();

    (void)state;
    for (int i = 0; i < 4; i++)
        before[i] = status(names[i]);
    run(s1, TRANSITION, id, "PAID");
    run(s1, TRANSITION, id, "PAID");
    run(s1, TRANSITION, id, "NEW");
    run(s1, TRANSITION, 999999, "NEW");
    for (int i = 0; i < 4; i++)
        assert_int_equal(status(names[i]), before[i] + 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, fixture_settle)
    const struct CMUnitTest tests[] = {
        TEST(case_47_five_different_answers_and_case_12_under_both_client_flags),
        TEST(set_json_is_written_only_with_the_transition),
        TEST(strict_raises_52009_and_says_the_state),
        TEST(case_48_loser_is_told_the_state_it_lost_to),
        TEST(case_48_snapshot_isolation_waits_and_answers),
        TEST(a_new_definition_waits_for_open_transactions_and_holds_up_no_call),
        TEST(same_transition_twice_at_once_is_applied_once),
        TEST(case_48_snapshot_isolation_1020_reaches_the_caller),
        TEST(deadlock_1213_reaches_the_caller),
        TEST(kills_and_read_only_reach_the_caller_and_leave_nothing_open),
        TEST(rollback_takes_it_back_and_autocommit_keeps_it),
        TEST(values_of_every_type_arrive_whole),
        TEST(bad_set_json_is_52001),
        TEST(keys_of_every_kind_find_their_row),
        TEST(an_id_is_never_bent_to_fit),
        TEST(a_machine_that_does_not_fit_is_refused),
        TEST(names_are_quoted_whatever_they_are),
        TEST(triggers_checks_foreign_keys_and_partitions_work_as_for_an_update),
        TEST(in_a_trigger_the_server_refuses),
        TEST(callers_have_their_own_rights_and_no_more),
        TEST(stale_worker_is_fenced_off_the_business_row),
        TEST(sessions_with_odd_settings_get_the_same_answer),
        TEST(a_cursor_loop_of_the_caller_goes_on),
        TEST(registry_is_shown_redefined_verified_and_dropped),
        TEST(outcomes_are_counted),
    };

    return cmocka_run_group_tests_name("machine", tests, start, stop);
}
