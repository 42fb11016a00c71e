/* SPDX-License-Identifier: GPL-2.0-only */
/* Patterns of access rules match as LIKE does, and never more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "pattern.h"

static bool matches(const char *pattern, const char *text)
{
    return idem_pattern_matches(pattern, strlen(pattern), text, strlen(text), false);
}

static void wildcards_match_as_in_like(void **state)
{
    static const struct {
        const char *pattern, *text;
        bool matches;
    } rows[] = {
        {"", "", true},
        {"", "a", false},
        {"a", "", false},
        {"%", "", true},
        {"%", "anything", true},
        {"%%", "", true},
        {"_", "", false},
        {"_", "a", true},
        {"_", "ab", false},
        {"pay", "pay", true},
        {"pay", "payment", false},
        {"pay%", "pay", true},
        {"pay%", "payment", true},
        {"pay%", "repay", false},
        {"%pay", "repay", true},
        {"%pay", "payment", false},
        {"%a%b%", "xaxbx", true},
        {"%a%b%", "xbxa", false},
        {"a%b", "aXbXb", true}, /* the first b is not the last */
        {"a%bc", "abbbc", true},
        {"a_c", "abc", true},
        {"a_c", "ac", false},
        {"%_", "", false},
        {"%_", "a", true},
        {"_%_", "a", false},
        {"a\\_c", "a_c", true},
        {"a\\_c", "abc", false},
        {"a\\%", "a%", true},
        {"a\\%", "ab", false},
        {"a\\\\", "a\\", true},
        {"a\\", "a\\", true}, /* a last backslash stands for itself */
        {"a\\", "a", false},
        {"%\\_", "x_", true},
        {"%\\_", "xy", false},
        {"%\\%%", "50% off", true},
        {"%\\%%", "50 off", false},
        {"a", "A", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (matches(rows[i].pattern, rows[i].text) != rows[i].matches)
            fail_msg("%s LIKE %s", rows[i].text, rows[i].pattern);
}

static void case_folds_only_when_asked(void **state)
{
    (void)state;
    assert_true(idem_pattern_matches("Local%", 6, "LOCALHOST", 9, true));
    assert_false(idem_pattern_matches("Local%", 6, "LOCALHOST", 9, false));
}

static void bytes_after_a_nul_count(void **state)
{
    (void)state;
    assert_false(idem_pattern_matches("a\0b", 3, "a\0c", 3, false));
    assert_true(idem_pattern_matches("a\0b", 3, "a\0b", 3, false));
    assert_false(idem_pattern_matches("a", 1, "a\0", 2, false));
}

/* Every pattern against every text of up to four characters, and a plain recursive definition. */
static bool defined(const char *pattern, const char *text)
{
    if (*pattern == '\0')
        return *text == '\0';
    if (*pattern == '%')
        return defined(pattern + 1, text) || (*text != '\0' && defined(pattern, text + 1));
    if (*text == '\0')
        return false;
    if (*pattern == '\\' && pattern[1] != '\0')
        return pattern[1] == *text && defined(pattern + 2, text + 1);
    return (*pattern == '_' || *pattern == *text) && defined(pattern + 1, text + 1);
}

static void word(char ret_word[6], const char *letters, unsigned int base, unsigned int number)
{
    size_t length = 0;

    for (; number > 0; number /= base + 1)
        if (number % (base + 1) > 0)
            ret_word[length++] = letters[number % (base + 1) - 1];
    ret_word[length] = '\0';
}

static void short_patterns_agree_with_the_definition(void **state)
{
    char pattern[6], text[6];

    (void)state;
    for (unsigned int i = 0; i < 6 * 6 * 6 * 6 * 6; i++) {
        word(pattern, "ab%_\\", 5, i);
        for (unsigned int k = 0; k < 5 * 5 * 5 * 5; k++) {
            word(text, "ab_\\", 4, k);
            if (matches(pattern, text) != defined(pattern, text))
                fail_msg("%s LIKE %s", text, pattern);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wildcards_match_as_in_like),
        cmocka_unit_test(case_folds_only_when_asked),
        cmocka_unit_test(bytes_after_a_nul_count),
        cmocka_unit_test(short_patterns_agree_with_the_definition),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
