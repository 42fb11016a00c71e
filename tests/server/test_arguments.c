/* SPDX-License-Identifier: GPL-2.0-only */
/* Keys and arguments through both doors: what is another key, what is refused, and that nothing is
   stored when an error is raised. */
#include "fixture.h"

/* Every test begins without records and with the server's default modes. */
static int empty(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++)
        run(i ? s2 : s1, "SET NAMES utf8mb4, SESSION sql_mode=DEFAULT");
    run(s1, "DELETE FROM idem.record");
    return 0;
}

/* Every call that names a biz_type (or consumer) and a key, for each door. */
static const char *const calls[][2] = {
    {"CALL idem.claim(%1$s, %2$s, NULL)", "SELECT idem_claim(%1$s, %2$s)"},
    {"CALL idem.claim_into(%1$s, %2$s, NULL, 0, @s, @t, @d)",
     "SELECT idem_claim(%1$s, %2$s, NULL, 0)"},
    {"CALL idem.begin(%1$s, %2$s, NULL)", "SELECT idem_begin(%1$s, %2$s)"},
    {"CALL idem.consume(%1$s, %2$s, NULL)", "SELECT idem_consume(%1$s, %2$s)"},
    {"CALL idem.finish(%1$s, %2$s, NULL, '{}')", "SELECT idem_finish(%1$s, %2$s, '{}')"},
    {"CALL idem.fail(%1$s, %2$s, NULL, '{}', 0)", "SELECT idem_fail(%1$s, %2$s, '{}')"},
    {"CALL idem.release(%1$s, %2$s, NULL)", "SELECT idem_release(%1$s, %2$s)"},
    {"CALL idem.renew(%1$s, %2$s, NULL, NULL)", "SELECT idem_renew(%1$s, %2$s)"},
    {"CALL idem.checkpoint(%1$s, %2$s, NULL, '{}')", "SELECT idem_checkpoint(%1$s, %2$s, '{}')"},
    {"CALL idem.peek(%1$s, %2$s)", "SELECT idem_peek(%1$s, %2$s)"},
    {"CALL idem.commit(%1$s, %2$s, NULL, '{}')", "SELECT idem_commit(%1$s, %2$s, '{}')"},
};

static void expect_refused(MYSQL *sql, const char *biz_type, const char *key, const char *word)
{
    for (size_t i = 0; i < COUNT(calls); i++)
        EACH_DOOR(door)
        {
            expect_errno(sql, 52001, calls[i][door], biz_type, key);
            if (strstr(mysql_error(sql), word) == NULL)
                fail_msg("%s: \"%s\" does not say \"%s\"", calls[i][door], mysql_error(sql), word);
        }
    expect_text(sql, "0", "SELECT @@in_transaction");
    expect_text(sql, "0", "SELECT COUNT(*) FROM idem.record");
}

static void expect_state(MYSQL *sql, enum door door, const char *biz_type, const char *key,
                         const char *expected)
{
    struct answer answer = claim(sql, door, biz_type, key, "NULL");

    if (answer.error != 0 || strcmp(answer.state, expected) != 0)
        fail_msg("%s door, %s, %s: %u %s, expected %s", door_names[door], biz_type, key,
                 answer.error, answer.state, expected);
}

static const char *const modes[] = {"''",
                                    "DEFAULT",
                                    "'TRADITIONAL'",
                                    "'ANSI'",
                                    "'ORACLE'",
                                    "'NO_BACKSLASH_ESCAPES'",
                                    "'PAD_CHAR_TO_FULL_LENGTH,PIPES_AS_CONCAT'",
                                    "'EMPTY_STRING_IS_NULL'"};

static void case_14_18_bad_names_are_refused_by_every_call_in_every_sql_mode(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(modes); i++) {
        bool empty_is_null = strcmp(modes[i], "'EMPTY_STRING_IS_NULL'") == 0;

        run(s1, "SET SESSION sql_mode=%s", modes[i]);
        expect_refused(s1, "'p'", "CONCAT(REPEAT('a',255),'-1')", "key is 257 bytes");
        expect_refused(s1, "'p'", "CONCAT(REPEAT('a',255),'-2')", "the limit is 255");
        expect_refused(s1, "REPEAT('b',65)", "'k'", "is 65 bytes long, the limit is 64");
        expect_refused(s1, "'p'", "REPEAT('😀',255)", "key is 1020 bytes");
        expect_refused(s1, "'p'", "REPEAT('😀',64)", "key is 256 bytes");
        expect_refused(s1, "'p'", "NULL", "key is NULL");
        expect_refused(s1, "'p'", "@never_set", "key is NULL");
        expect_refused(s1, "'p'", "(SELECT NULL)", "key is NULL");
        expect_refused(s1, "NULL", "'k'", "is NULL");
        expect_refused(s1, "NULL", "NULL", "is NULL");
        expect_refused(s1, "'p'", "''", empty_is_null ? "key is NULL" : "key is empty");
        expect_refused(s1, "''", "'k'", empty_is_null ? "is NULL" : "is empty");
        expect_refused(s1, "'p'", "'  '", "key is blank");
        expect_refused(s1, "x'20090a0b0c0d'", "'k'", "is blank");
        expect_refused(s1, "'p'", "x'6BE9'", "key is not valid UTF-8");
        expect_refused(s1, "x'C3'", "'k'", "is not valid UTF-8");
        expect_refused(s1, "'p'", "x'EDA080'", "key is not valid UTF-8");
    }
}

static void case_18_too_few_arguments_are_an_error_and_claim_nothing(void **state)
{
    (void)state;
    expect_errno(s1, 52001, "SELECT idem_claim('p')");
    expect_errno(s1, 52001, "SELECT idem_claim()");
    expect_errno(s1, 52001, "SELECT idem_claim('p','k',NULL,0,0)");
    expect_errno(s1, 1318, "CALL idem.claim('p')");
    expect_errno(s1, 1318, "CALL idem.claim()");
    expect_text(s1, "0", "SELECT COUNT(*) FROM idem.record");
}

static void case_14_names_up_to_the_limit_are_whole(void **state)
{
    (void)state;
    EACH_DOOR(door)
    {
        empty(state);
        expect_state(s1, door, "REPEAT('b',64)", "REPEAT('a',255)", "CLAIMED");
        expect_state(s1, door, "REPEAT('b',64)", "REPEAT('a',254)", "CLAIMED");
        expect_state(s1, door, "REPEAT('é',32)", "CONCAT(REPEAT('😀',63),'abc')", "CLAIMED");
        expect_text(s1, "3",
                    "SELECT COUNT(*) FROM idem.record WHERE LENGTH(biz_type) = 64 AND "
                    "idem_key IN (REPEAT('a',255), REPEAT('a',254), CONCAT(REPEAT('😀',63),'abc'))");
    }
}

/* Claims keys that others have taken for one; each must be its own, to its own result. */
static void expect_distinct(enum door door, const char *const *keys, size_t count)
{
    char result[32];

    for (size_t i = 0; i < count; i++)
        expect_state(s1, door, "'p'", keys[i], "CLAIMED");
    for (size_t i = 0; i < count; i++) {
        snprintf(result, sizeof(result), "'{\"n\":%zu}'", i);
        assert_int_equal(finish(s1, door, "'p'", keys[i], "NULL", result), 0);
    }
    for (size_t i = 0; i < count; i++) {
        struct answer answer = claim(s2, (enum door)(1 - door), "'p'", keys[i], "NULL");

        snprintf(result, sizeof(result), "{\"n\":%zu}", i);
        assert_string_equal(answer.state, "DONE");
        assert_string_equal(answer.result, result);
    }
}

static void case_15_case_accents_and_emoji_make_different_keys(void **state)
{
    static const char *const keys[] = {"'aBc'", "'abC'", "'cafe'", "'café'", "'x🎩'",
                                       "'x💥'",  "'ß'",   "'ss'",   "'ı'",    "'i'"};

    EACH_DOOR(door)
    {
        empty(state);
        expect_distinct(door, keys, COUNT(keys));
        expect_state(s1, door, "'Pay'", "'t'", "CLAIMED");
        assert_int_equal(claim(s2, door, "'pay'", "'t'", "NULL").error, 52002);
        assert_int_equal(claim(s2, door, "'Pay '", "'t'", "NULL").error, 52002);
    }
}

static void case_16_trailing_and_leading_spaces_make_different_keys(void **state)
{
    static const char *const keys[] = {"'k1'",   "'k1 '",   "'k1\\t'", "' k1'",
                                       "'k1  '", "'k1\\n'", "'k1\\0'"};

    EACH_DOOR(door)
    {
        empty(state);
        expect_distinct(door, keys, COUNT(keys));
    }
}

static void case_17_bytes_after_nul_count_and_binary_that_is_no_text_is_refused(void **state)
{
    static const char *const keys[] = {
        "CONCAT('a',CHAR(0),'1')", "CONCAT('a',CHAR(0),'2')", "'a'",
        "UNHEX('6100')",           "UNHEX('0061')",           "CHAR(0)",
        "CONCAT('a',CHAR(1))"};

    EACH_DOOR(door)
    {
        empty(state);
        expect_distinct(door, keys, COUNT(keys));
        expect_state(s2, door, "'p'", "UNHEX('61')", "DONE");
        assert_int_equal(
            claim(s1, door, "'p'", "x'00112233445566778899AABBCCDDEEFF'", "NULL").error, 52001);
        assert_int_equal(claim(s1, door, "'p'", "UNHEX(SHA2('k',256))", "NULL").error, 52001);
    }
}

static void case_19_same_text_in_another_character_set_is_never_another_key(void **state)
{
    empty(state);
    expect_refused(s1, "'p'", "CONVERT('plain' USING utf16)", "USING utf8mb4");
    expect_refused(s1, "'p'", "CONVERT('plain' USING ucs2)", "USING utf8mb4");
    expect_refused(s1, "'p'", "CONVERT('plain' USING utf16le)", "USING utf8mb4");
    expect_refused(s1, "CONVERT('p1' USING utf32)", "'plain'", "USING utf8mb4");
    expect_errno(s1, 52001, "SELECT idem_key('p', CONVERT('plain' USING utf16))");
    EACH_DOOR(door)
    {
        empty(state);
        expect_state(s1, door, "'p'", "'é-1'", "CLAIMED");
        expect_state(s1, door, "'p'", "'plain'", "CLAIMED");
        expect_state(s1, door, "'p'", "_utf8mb4 x'65CC812D31'", "CLAIMED");
        assert_int_equal(claim(s1, door, "'p'", "CONVERT('é-1' USING utf16)", "NULL").error, 52001);
        assert_int_equal(claim(s1, door, "'p'", "CONVERT('é-1' USING latin1)", "NULL").error,
                         52001);

        run(s2, "SET NAMES latin1");
        assert_int_equal(claim(s2, door, "'p'", "'\xE9-1'", "NULL").error, 52001);
        assert_non_null(strstr(mysql_error(s2), "SET NAMES utf8mb4"));
        /* Two latin1 letters whose bytes are those of one UTF-8 letter. */
        assert_int_equal(claim(s2, door, "'p'", "'\xC3\xA9-1'", "NULL").error, 52001);
        assert_non_null(strstr(mysql_error(s2), "SET NAMES utf8mb4"));
        assert_int_equal(claim(s2, door, "'\xC3\xA9'", "'k'", "NULL").error, 52001);
        expect_state(s2, door, "'p'", "'plain'", "IN_PROGRESS");
        run(s2, "SET NAMES utf8mb3");
        expect_state(s2, door, "'p'", "'é-1'", "IN_PROGRESS");
        run(s2, "SET NAMES binary");
        expect_state(s2, door, "'p'", "'é-1'", "IN_PROGRESS");
        expect_text(s1, "3", "SELECT COUNT(*) FROM idem.record");
    }
}

/* In these sets a character may end in a byte that ASCII takes for a backslash or begin with one
   that swallows a quote. Values travel as hex, so there is nothing to break out of. */
static void case_19_multibyte_client_sets_pass_ascii_whole_and_nothing_else(void **state)
{
    static const char *const sets[] = {"gbk", "sjis", "big5", "cp932", "euckr", "gb2312", "latin1"};
    static const char *const injections[] = {
        "'a\\'b\\\\c\"d`e'", "'x\\'); DROP TABLE idem.record; -- '", "'\\\\'", "'%_\\%'"};
    static const char *const foreign[] = {"x'BF5C'", "x'BF27'", "x'815C'",
                                          "x'A45C'", "x'C3A9'", "'\x81\x5C'"};

    EACH_DOOR(door)
    for (size_t i = 0; i < COUNT(sets); i++) {
        empty(state);
        run(s1, "SET NAMES %s", sets[i]);
        for (size_t k = 0; k < COUNT(injections); k++)
            expect_state(s1, door, "'p'", injections[k], "CLAIMED");
        for (size_t k = 0; k < COUNT(foreign); k++) {
            unsigned int error = claim(s1, door, "'p'", foreign[k], "NULL").error;

            /* 1064: the literal itself does not end in this set */
            if (error != 52001 && error != 1064 && error != 1300)
                fail_msg("%s, %s: %u", sets[i], foreign[k], error);
        }
        expect_text(s2, "4",
                    "SELECT COUNT(*) FROM idem.record WHERE idem_key IN (x'6127625c632264606"
                    "5', x'5c', x'255f5c25', 'x''); DROP TABLE idem.record; -- ')");
        expect_text(s2, "4", "SELECT COUNT(*) FROM idem.record");
    }
}

static void case_20_biz_type_and_key_are_never_joined(void **state)
{
    static const char *const pairs[][2] = {{"'a:b'", "'c'"},
                                           {"'a'", "'b:c'"},
                                           {"'a'", "CONCAT('b',CHAR(0),'c')"},
                                           {"CONCAT('a',CHAR(0),'b')", "'c2'"}};

    EACH_DOOR(door)
    {
        empty(state);
        for (size_t i = 0; i < COUNT(pairs); i++) {
            expect_state(s1, door, pairs[i][0], pairs[i][1], "CLAIMED");
            assert_string_equal(consume(s1, door, pairs[i][0], pairs[i][1], "NULL").state, "NEW");
        }
        /* One key space for claims: a key that another biz_type holds is refused. */
        assert_int_equal(claim(s2, door, "CONCAT('a',CHAR(0),'b')", "'c'", "NULL").error, 52002);
        /* One per consumer for events. */
        assert_string_equal(consume(s2, door, "'a'", "'c'", "NULL").state, "NEW");
        assert_string_equal(consume(s2, door, "'a'", "'b:c'", "NULL").state, "DUPLICATE");
    }
}

static void case_18_numbers_are_keys_by_their_exact_decimal_text(void **state)
{
    static const char *const numbers[][2] = {
        {"42", "'42'"},
        {"-7", "'-7'"},
        {"18446744073709551615", "'18446744073709551615'"},
        {"1.50", "'1.50'"},
        {"1.5", "'1.5'"},
        {"12345678901234567890123456789.5", "'12345678901234567890123456789.5'"},
        {"1e0", "'1'"},
        {"CAST(9007199254740993 AS UNSIGNED)", "'9007199254740993'"},
        {"DATE '2026-03-01'", "'2026-03-01'"},
        {"TRUE + 1", "'2'"}};

    EACH_DOOR(door)
    {
        empty(state);
        for (size_t i = 0; i < COUNT(numbers); i++) {
            expect_state(s1, door, "'p'", numbers[i][0], "CLAIMED");
            expect_state(s2, (enum door)(1 - door), "'p'", numbers[i][1], "IN_PROGRESS");
        }
    }
}

static void bad_tokens_leases_and_waits_are_refused_and_change_nothing(void **state)
{
    static const char *const bad[][2] = {
        {"CALL idem.claim_into('p','w',NULL,60001,@s,@t,@d)",
         "SELECT idem_claim('p','w',NULL,60001)"},
        {"CALL idem.renew('p','k',NULL,0)", "SELECT idem_renew('p','k',0)"},
        {"CALL idem.renew('p','k',NULL,604801)", "SELECT idem_renew('p','k',604801)"},
        {"CALL idem.renew('p','k',NULL,18446744073709551615)",
         "SELECT idem_renew('p','k',18446744073709551615)"},
    };
    static const char *const not_numbers[] = {
        "''", "'x'", "'1x'", "' 1'", "1.5", "'-'", "-1", "18446744073709551616", "x'C3A9'"};

    EACH_DOOR(door)
    {
        empty(state);
        expect_state(s1, door, "'p'", "'k'", "CLAIMED");
        for (size_t i = 0; i < COUNT(bad); i++)
            expect_errno(s1, 52001, "%s", bad[i][door]);
        for (size_t i = 0; door == UDF_DOOR && i < COUNT(not_numbers); i++) {
            expect_errno(s1, 52001, "SELECT idem_finish('p','k','{}',%s)", not_numbers[i]);
            expect_errno(s1, 52001, "SELECT idem_renew('p','k',%s)", not_numbers[i]);
            expect_errno(s1, 52001, "SELECT idem_claim('p','w',NULL,%s)", not_numbers[i]);
        }
        /* Somebody else's number, one more and one less, 0 and the largest. */
        expect_errno(s2, 52004,
                     door == UDF_DOOR ? "SELECT idem_finish('p','k','{}',0)"
                                      : "CALL idem.finish('p','k',0,'{}')");
        expect_errno(s2, 52004,
                     door == UDF_DOOR ? "SELECT idem_finish('p','k','{}',18446744073709551615)"
                                      : "CALL idem.finish('p','k',18446744073709551615,'{}')");
        expect_text(s1, "1", "SELECT COUNT(*) FROM idem.record WHERE status = 0 AND attempt = 1");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(case_14_18_bad_names_are_refused_by_every_call_in_every_sql_mode,
                               empty),
        cmocka_unit_test_setup(case_18_too_few_arguments_are_an_error_and_claim_nothing, empty),
        cmocka_unit_test_setup(case_14_names_up_to_the_limit_are_whole, empty),
        cmocka_unit_test_setup(case_15_case_accents_and_emoji_make_different_keys, empty),
        cmocka_unit_test_setup(case_16_trailing_and_leading_spaces_make_different_keys, empty),
        cmocka_unit_test_setup(case_17_bytes_after_nul_count_and_binary_that_is_no_text_is_refused,
                               empty),
        cmocka_unit_test_setup(case_19_same_text_in_another_character_set_is_never_another_key,
                               empty),
        cmocka_unit_test_setup(case_19_multibyte_client_sets_pass_ascii_whole_and_nothing_else,
                               empty),
        cmocka_unit_test_setup(case_20_biz_type_and_key_are_never_joined, empty),
        cmocka_unit_test_setup(case_18_numbers_are_keys_by_their_exact_decimal_text, empty),
        cmocka_unit_test_setup(bad_tokens_leases_and_waits_are_refused_and_change_nothing, empty),
    };

    return cmocka_run_group_tests_name("arguments", tests, fixture_start, fixture_stop);
}
