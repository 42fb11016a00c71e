/* SPDX-License-Identifier: GPL-2.0-only */
/* Whatever a session has set, at whatever extreme: idem answers as under the defaults, or with an
   error. Never with another answer. */
#include "fixture.h"

#define SETTINGS_MAX 1000
#define ANSWER_MAX 160
#define NOTHING "no row"

/* Each key, here %1$d, is used by one conversation only. old-N was finished the day before,
   lapsed-N claimed then. The answer is the first column of the first row. */
static const struct {
    const char *statement, *answer;
} conversation[] = {
    /* Replays and take-overs of another day. */
    {"SELECT JSON_EXTRACT(idem_claim('pay', 'old-%1$d', '{\"a\":1}'), '$.result')",
     "{\"r\": \"yes\"}"},
    {"CALL idem.claim('pay', 'old-%1$d', '{\"a\":1}')", "DONE"},
    {"SELECT idem_begin('pay', 'old-%1$d', '{\"a\":2}')", "error 52003"},
    {"CALL idem.claim_into('lapse', 'lapsed-%1$d', NULL, 0, @state, @token, @detail)", NOTHING},
    {"SELECT @state", "RECLAIMED"},
    {"CALL idem.checkpoint('lapse', 'lapsed-%1$d', @token, '{\"at\":1}')", NOTHING},
    {"CALL idem.renew('lapse', 'lapsed-%1$d', @token, 50)", NOTHING},
    {"CALL idem.finish('lapse', 'lapsed-%1$d', @token, '{\"z\":1}')", NOTHING},
    {"SELECT JSON_EXTRACT(idem_claim('lapse', 'lapsed-%1$d'), '$.result')", "{\"z\": 1}"},
    /* A transaction of one's own. */
    {"START TRANSACTION", NOTHING},
    {"CALL idem.claim('pay', 'new-%1$d', NULL)", "CLAIMED"},
    {"SELECT JSON_VALUE(idem_claim('pay', 'new-%1$d'), '$.token') INTO @first", NOTHING},
    {"SELECT JSON_VALUE(idem_claim('pay', 'new-%1$d'), '$.token') = @first", "1"},
    {"CALL idem.finish('pay', 'new-%1$d', NULL, '[1]')", NOTHING},
    {"SELECT idem_finish('pay', 'new-%1$d', '[2]')", "error 52004"},
    {"COMMIT", NOTHING},
    {"CALL idem.peek('pay', 'new-%1$d')", "DONE"},
    {"CALL idem.claim('refund', 'new-%1$d', NULL)", "error 52002"},
    {"START TRANSACTION", NOTHING},
    {"SAVEPOINT a", NOTHING},
    {"SELECT JSON_VALUE(idem_claim('pay', 'back-%1$d'), '$.state')", "CLAIMED"},
    {"ROLLBACK TO a", NOTHING},
    {"SELECT idem_finish('pay', 'back-%1$d', '1')", "error 52004"},
    {"ROLLBACK", NOTHING},
    /* begin and commit. */
    {"SELECT JSON_VALUE(idem_begin('pay', 'one-%1$d'), '$.state')", "CLAIMED"},
    {"INSERT INTO test.work VALUES ('one-%1$d')", NOTHING},
    {"SELECT idem_commit('pay', 'one-%1$d', '{\"r\":1}')", "{\"state\":\"DONE\"}"},
    {"CALL idem.begin('pay', 'one-%1$d', NULL)", "DONE"},
    {"CALL idem.begin('pay', 'bad-%1$d', NULL)", "CLAIMED"},
    {"CALL idem.fail('pay', 'bad-%1$d', NULL, '{\"e\":1}', FALSE)", NOTHING},
    {"COMMIT", NOTHING},
    {"SELECT JSON_EXTRACT(idem_begin('pay', 'bad-%1$d'), '$.error')", "{\"e\": 1}"},
    {"SELECT COUNT(*) FROM test.work WHERE k = 'one-%1$d'", "1"},
    /* The inbox. */
    {"START TRANSACTION", NOTHING},
    {"CALL idem.consume('mail', 'a-%1$d', NULL)", "NEW"},
    {"SELECT JSON_VALUE(idem_consume('mail', 'a-%1$d'), '$.state')", "DUPLICATE"},
    {"SELECT JSON_EXTRACT(idem_consume_many('mail', '[\"a-%1$d\",\"b-%1$d\",\"b-%1$d\"]'), "
     "'$[*].state')",
     "[\"DUPLICATE\", \"NEW\", \"DUPLICATE\"]"},
    {"SELECT JSON_EXTRACT(idem_consume_many('mail', '[\"c-%1$d\",\"d-%1$d\"]'), '$[*].state')",
     "[\"NEW\", \"NEW\"]"},
    {"COMMIT", NOTHING},
    {"CALL idem.consume('mail', 'd-%1$d', NULL)", "DUPLICATE"},
    /* A trigger, operators. */
    {"INSERT INTO test.guarded (k) VALUES ('row-%1$d')", NOTHING},
    {"SELECT state FROM test.guarded WHERE k = 'row-%1$d'", "CLAIMED"},
    {"SELECT JSON_VALUE(idem_claim('pay', 'row-%1$d'), '$.state')", "CLAIMED"},
    {"CALL idem.resolve('pay', 'row-%1$d', 'done', '[3]')", NOTHING},
    {"SELECT JSON_EXTRACT(idem_claim('pay', 'row-%1$d'), '$.result')", "[3]"},
    {"CALL idem.forget('pay', 'row-%1$d')", NOTHING},
    {"SELECT JSON_VALUE(idem_peek('pay', 'row-%1$d'), '$.state')", "FREE"},
    /* Guards. */
    {"CALL idem.define_machine('again', 'test', 'life', 'id', 's', '[[\"IN TRANSIT\", \"PAID\"]]')",
     NOTHING},
    {"CALL idem.define_projection('over', 'test', 'row', 'id', 'v', 'delta')", NOTHING},
    {"INSERT INTO test.life VALUES (%1$d, 'NEW')", NOTHING},
    {"CALL idem.transition('life', %1$d, 'PAID', NULL, @o, @s)", NOTHING},
    {"CALL idem.transition('life', CONCAT(CHAR(10), %1$d), 'PAID', NULL, @o, @s)", "error 52001"},
    {"CALL idem.transition('life', %1$d, 'CANCELLED', NULL, @o, @s)", NOTHING},
    {"SELECT CONCAT(@o, @s)", "ILLEGALPAID"},
    {"START TRANSACTION", NOTHING},
    {"CALL idem.apply_snapshot('row', %1$d, 7, '{\"n\":1.5}', @o1)", NOTHING},
    {"CALL idem.apply_snapshot('row', %1$d, 7, '{\"n\":1.50}', @o2)", NOTHING},
    {"CALL idem.apply_snapshot('row', %1$d, 7, '{\"n\":2}', @o3)", NOTHING},
    {"CALL idem.apply_snapshot('row', %1$d, 5, '{\"n\":2}', @o4)", NOTHING},
    {"COMMIT", NOTHING},
    {"CALL idem.compare_and_set('row', %1$d, 7, '{\"n\":3}', @o5)", NOTHING},
    {"SELECT CONCAT(@o1, @o2, @o3, @o4, @o5)", "INSERTEDDUPLICATECONFLICTSTALEAPPLIED"},
    {"CALL idem.apply_delta('sum', %1$d, 1, '{\"n\":{\"$add\":5}}', @o1, @e)", NOTHING},
    {"CALL idem.apply_delta('sum', %1$d, 3, '{\"n\":{\"$add\":7}}', @o2, @e)", NOTHING},
    {"CALL idem.consume_and_apply('book', 'e-%1$d', 'sum', %1$d, 2, '{\"n\":1}', @o3)", NOTHING},
    {"CALL idem.consume_and_apply('book', 'e-%1$d', 'sum', %1$d, 2, '{\"n\":1}', @o4)", NOTHING},
    {"SELECT CONCAT(@o1, @o2, @o3, @o4)", "APPLIEDPARKEDAPPLIEDDUPLICATE"},
    {"SELECT CONCAT(v, ' ', n) FROM test.sum WHERE id = %1$d", "3 8.00"},
};

/* Settings under which something fails: the first answer that differs. */
static const struct {
    const char *setting, *answer;
} refused[] = {
    {"autocommit = 0", "error 52006"}, /* begin in a transaction */
    {"completion_type = CHAIN", "error 52006"},
    {"completion_type = RELEASE", "error 2006"},
    {"binlog_format = STATEMENT", "error 52006"},
    {"unique_checks = 0", "error 52006"},
    {"max_error_count = 0", "error 52006"},
    /* Literals, and so keys, in UTF-16. */
    {"character_set_connection = utf16", "error 52001"},
    {"collation_connection = utf16_bin", "error 52001"},
    /* What the server refuses. */
    {"default_regex_flags = EXTRA", "error 1105"},
    {"max_join_size = 1", "error 1104"},
    {"max_session_mem_used = 8192", "error 1317"},
    {"sql_select_limit = 0", NOTHING}, /* of any SELECT: it is not carried out */
    {"tmp_disk_table_size = 1024", "error 1114"},
    {"transaction_read_only = 1", "error 1792"}, /* its name from 11.1 on */
    {"tx_read_only = 1", "error 1792"},
};

/* What the server does not say of a variable's values. */
static const struct {
    const char *variable, *values;
} texts[] = {
    {"character_set_client", "latin1,gbk,sjis,utf8mb3"},
    {"character_set_connection", "latin1,gbk,utf16"},
    {"character_set_database", "utf16"},
    {"character_set_filesystem", "utf16"},
    {"character_set_results", "NULL,utf8mb3"},
    {"character_set_server", "utf16"},
    {"collation_connection", "latin1_swedish_ci,utf8mb4_general_ci,utf8mb4_nopad_bin,utf16_bin"},
    {"collation_database", "utf16_general_ci"},
    {"collation_server", "utf16_general_ci"},
    {"default_storage_engine", "MyISAM,MEMORY"},
    {"enforce_storage_engine", "MyISAM"},
    {"sql_select_limit", "0,1"},
    {"lc_messages", "de_DE,ja_JP"},
    {"lc_time_names", "ja_JP"},
    {"time_zone", "'-12:00','+13:00'"},
    {"timestamp", "1,2000000000"},
};

static int next; /* key */

static void prepare(int keys)
{
    set_clock(s1, "2027-03-01 12:00:00");
    run(s1, "CALL idem.ensure_partitions()");
    run(s1, "CREATE TABLE test.work (k VARCHAR(64)) ENGINE=InnoDB");
    run(s1, "CREATE TABLE test.guarded (k VARCHAR(64), state VARCHAR(16)) ENGINE=InnoDB");
    run(s1, "CREATE TRIGGER test.guard BEFORE INSERT ON test.guarded FOR EACH ROW BEGIN DECLARE t "
            "BIGINT UNSIGNED; DECLARE d TEXT; DECLARE s VARCHAR(16); "
            "CALL idem.claim_into('pay', NEW.k, NULL, 0, s, t, d); SET NEW.state = s; END");
    run(s1, "CREATE TABLE test.life (id INT PRIMARY KEY, s VARCHAR(16)) ENGINE=InnoDB");
    run(s1, "CREATE TABLE test.row (id INT PRIMARY KEY, v INT NOT NULL, n DECIMAL(9,2)) "
            "ENGINE=InnoDB");
    run(s1, "CREATE TABLE test.sum LIKE test.row");
    run(s1, "CALL idem.define_machine('life', 'test', 'life', 'id', 's', "
            "'{\"NEW\": [\"PAID\", \"CANCELLED\"]}')");
    run(s1, "CALL idem.define_projection('row', 'test', 'row', 'id', 'v', 'snapshot')");
    run(s1, "CALL idem.define_projection('sum', 'test', 'sum', 'id', 'v', 'delta')");
    run(s1, "CALL idem.set_projection('sum', NULL, TRUE, NULL)");
    run(s1, "BEGIN");
    for (int i = 0; i < keys; i++) {
        run(s1, "CALL idem.claim('pay', 'old-%d', '{\"a\":1}')", i);
        run(s1, "CALL idem.finish('pay', 'old-%d', NULL, '{\"r\":\"yes\"}')", i);
        run(s1, "CALL idem.claim('lapse', 'lapsed-%d', NULL)", i);
    }
    run(s1, "COMMIT");
    set_clock(s1, "2027-03-02 12:00:00");
    next = 0;
}

static void answer_to(MYSQL *sql, const char *statement, char ret_answer[ANSWER_MAX])
{
    MYSQL_RES *result;
    MYSQL_ROW row;
    int more = mysql_query(sql, statement);

    snprintf(ret_answer, ANSWER_MAX, NOTHING);
    while (more == 0) {
        result = mysql_store_result(sql);
        if (mysql_errno(sql) != 0)
            break;
        row = result != NULL ? mysql_fetch_row(result) : NULL;
        if (row != NULL)
            snprintf(ret_answer, ANSWER_MAX, "%s", row[0] != NULL ? row[0] : "NULL");
        mysql_free_result(result);
        more = mysql_next_result(sql);
    }
    if (mysql_errno(sql) != 0)
        snprintf(ret_answer, ANSWER_MAX, "error %u", mysql_errno(sql));
}

/* Up to the first answer that differs, which must be `refusal`; NULL: none differs. */
static void converse(MYSQL *sql, const char *setting, const char *refusal)
{
    char statement[512], answer[ANSWER_MAX];

    for (size_t i = 0; i < COUNT(conversation); i++) {
        snprintf(statement, sizeof(statement), conversation[i].statement, next);
        answer_to(sql, statement, answer);
        if (strcmp(answer, conversation[i].answer) == 0)
            continue;
        if (refusal == NULL || strcmp(answer, refusal) != 0)
            fail_msg("%s: %s answers %s, not %s", setting, statement, answer,
                     conversation[i].answer);
        refusal = NULL;
        break;
    }
    if (refusal != NULL)
        fail_msg("%s: nothing was refused", setting);
    next++;
}

/* True when the server takes the setting. */
static bool try_setting(const char *setting)
{
    MYSQL *sql = server_connect(fixture_server);
    bool taken = run_errno(sql, "SET SESSION %s", setting) == 0;
    const char *refusal = NULL;

    for (size_t i = 0; i < COUNT(refused); i++)
        if (strcmp(refused[i].setting, setting) == 0)
            refusal = refused[i].answer;
    if (taken)
        converse(sql, setting, refusal);
    mysql_close(sql);
    return taken;
}

/* The extremes of a variable, separated by commas; the caller frees them. */
static char *values_of(char *const row[])
{
    for (size_t i = 0; i < COUNT(texts); i++)
        if (strcmp(row[0], texts[i].variable) == 0)
            return strdup(texts[i].values);
    return strdup(row[1] != NULL ? row[1] : "");
}

static void under_every_setting_of_the_session(void **state)
{
    int taken = 0, variables = 0;
    MYSQL_RES *list;
    MYSQL_ROW row;

    (void)state;
    prepare(SETTINGS_MAX);
    /* Larger numbers than 2^24 may ask for more memory than there is. */
    assert_int_equal(
        mysql_query(s2,
                    "SELECT LOWER(variable_name), CASE WHEN variable_type = 'BOOLEAN' THEN '0,1' "
                    "WHEN variable_type = 'SET' THEN CONCAT(enum_value_list, ',\\'\\'') "
                    "WHEN variable_type = 'ENUM' THEN enum_value_list ELSE "
                    "CONCAT(numeric_min_value, ',', LEAST(numeric_max_value + 0, 16777216)) END "
                    "FROM information_schema.system_variables WHERE variable_scope LIKE "
                    "'SESSION%' AND read_only = 'NO' ORDER BY 1"),
        0);
    list = mysql_store_result(s2);
    while ((row = mysql_fetch_row(list)) != NULL) {
        char *values = values_of(row), *rest = values, *one, setting[256];

        while ((one = strsep(&rest, ",")) != NULL) {
            snprintf(setting, sizeof(setting), "%s = %s", row[0], one);
            assert_true(next < SETTINGS_MAX);
            taken += *one != '\0' && try_setting(setting);
        }
        variables++;
        free(values);
    }
    mysql_free_result(list);
    print_message("%d settings of %d variables\n", taken, variables);
    assert_true(taken > 300);
}

static void on_a_server_that_is_not_like_others(void **state)
{
    static const char *const options[] = {"--innodb-default-row-format=compact",
                                          "--innodb-file-per-table=0",
                                          "--lower-case-table-names=1",
                                          "--default-storage-engine=MyISAM",
                                          "--character-set-server=sjis",
                                          "--default-time-zone=+13:00",
                                          "--query-cache-type=1",
                                          "--query-cache-size=1M",
                                          "--binlog-row-image=MINIMAL",
                                          "--log-bin-compress",
                                          "--table-open-cache=10",
                                          "--stored-program-cache=0",
                                          "--thread-handling=pool-of-threads",
                                          "--performance-schema=ON",
                                          NULL};
    struct server *usual = fixture_server;
    MYSQL *usual_s1 = s1;

    (void)state;
    fixture_server = server_start(options);
    s1 = server_connect(fixture_server);
    run(s1, "CREATE DATABASE test");
    prepare(2);
    for (int i = 0; i < 2; i++)
        assert_true(try_setting("autocommit = 1"));
    mysql_close(s1);
    server_stop(fixture_server);
    fixture_server = usual;
    s1 = usual_s1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(under_every_setting_of_the_session),
        cmocka_unit_test(on_a_server_that_is_not_like_others),
    };

    return cmocka_run_group_tests_name("one conversation", tests, fixture_start, fixture_stop);
}
