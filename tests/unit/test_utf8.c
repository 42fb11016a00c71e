/* SPDX-License-Identifier: GPL-2.0-only */
/* What counts as UTF-8 (RFC 3629), as ASCII and as blank. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "utf8.h"

static void every_scalar_value_survives_encoding(void **state)
{
    (void)state;
    for (uint32_t point = 0; point <= 0x10FFFF; point++) {
        unsigned char bytes[4];
        size_t length = idem_utf8_encode(point, bytes);
        bool surrogate = point >= 0xD800 && point <= 0xDFFF;

        assert_int_equal(length, point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4);
        assert_int_equal(idem_utf8_char(bytes, length), surrogate ? 0 : length);
        for (size_t cut = 1; cut < length; cut++)
            assert_int_equal(idem_utf8_char(bytes, cut), 0);
    }
}

/* Exactly as many byte sequences are accepted as there are characters of that length, so nothing
   overlong and nothing out of range is. */
static void no_other_byte_sequence_is_a_character(void **state)
{
    static const unsigned char tails[] = {0x00, 0x7F, 0x80, 0xBF, 0xC0, 0xFF};
    unsigned char b[4];
    size_t found[5] = {0};

    (void)state;
    for (unsigned int first = 0; first < 256; first++)
        for (unsigned int second = 0; second < 256; second++) {
            b[0] = (unsigned char)first;
            b[1] = (unsigned char)second;
            found[2] += idem_utf8_char(b, 2) == 2;
            for (unsigned int third = 0; third < 256; third++) {
                b[2] = (unsigned char)third;
                found[3] += idem_utf8_char(b, 3) == 3;
            }
            for (size_t third = 0; third < sizeof(tails); third++)
                for (size_t fourth = 0; fourth < sizeof(tails); fourth++) {
                    b[2] = tails[third];
                    b[3] = tails[fourth];
                    found[4] += idem_utf8_char(b, 4) == 4;
                }
        }
    assert_int_equal(found[2], 0x800 - 0x80);
    assert_int_equal(found[3], 0x10000 - 0x800 - 0x800);
    assert_int_equal(found[4], 0x100000 / 64 / 64 * 2 * 2);
}

static void text_is_valid_only_as_a_whole(void **state)
{
    static const struct {
        const char *text;
        size_t length;
        bool valid;
    } texts[] = {
        {"", 0, true},
        {"a\0b", 3, true},
        {"caf\xC3\xA9", 5, true},
        {"caf\xE9", 4, false},
        {"caf\xC3", 4, false},
        {"\xA9", 1, false},
        {"\xF0\x9F\x98\x80", 4, true},
        {"\xF0\x9F\x98", 3, false},
        {"\xED\xA0\xBD\xED\xB8\x80", 6, false}, /* CESU-8 */
        {"\xC0\x80", 2, false},                 /* "modified UTF-8" NUL */
        {"\xFF\xFE", 2, false},
        {"\xEF\xBB\xBFk", 4, true}, /* a byte order mark is a character */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_int_equal(idem_utf8_valid(texts[i].text, texts[i].length), texts[i].valid);
    assert_int_equal(idem_utf8_char((const unsigned char *)"a", 0), 0);
}

static void wide_text_is_told_from_text_with_a_nul(void **state)
{
    (void)state;
    assert_true(idem_utf8_is_wide("\0k\0001", 4)); /* UTF-16BE */
    assert_true(idem_utf8_is_wide("k\0001\0", 4)); /* UTF-16LE */
    assert_true(idem_utf8_is_wide("\0\0\0k\0\0\0001", 8));
    assert_true(idem_utf8_is_wide("k\0\0\0001\0\0\0", 8));
    assert_false(idem_utf8_is_wide("k1", 2));
    assert_false(idem_utf8_is_wide("k\0", 2));
    assert_false(idem_utf8_is_wide("\0k", 2));
    assert_false(idem_utf8_is_wide("k\0001", 3));
    assert_false(idem_utf8_is_wide("k\00012", 4));
    assert_false(idem_utf8_is_wide("k\0001\0002", 5));
    assert_false(idem_utf8_is_wide("k\0001\00023", 6));
    assert_false(idem_utf8_is_wide("", 0));
}

static void ascii_and_blank_are_judged_by_every_byte(void **state)
{
    (void)state;
    assert_true(idem_utf8_is_ascii("a\0\x7F", 3));
    assert_false(idem_utf8_is_ascii("aa\x80", 3));
    assert_true(idem_utf8_is_ascii("aa\x80", 2));

    assert_true(idem_utf8_is_blank("", 0));
    assert_true(idem_utf8_is_blank(" \t\n\v\f\r", 6));
    assert_false(idem_utf8_is_blank("  x", 3));
    assert_true(idem_utf8_is_blank("  x", 2));
    assert_false(idem_utf8_is_blank("\0", 1));
    assert_false(idem_utf8_is_blank("\xC2\xA0", 2)); /* no-break space: ASCII white space only */
    assert_false(idem_utf8_is_blank("\x08", 1));
    assert_false(idem_utf8_is_blank("\x0E", 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_scalar_value_survives_encoding),
        cmocka_unit_test(no_other_byte_sequence_is_a_character),
        cmocka_unit_test(text_is_valid_only_as_a_whole),
        cmocka_unit_test(wide_text_is_told_from_text_with_a_nul),
        cmocka_unit_test(ascii_and_blank_are_judged_by_every_byte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
