/* SPDX-License-Identifier: GPL-2.0-only */
/* Statements that no argument can break out of, and answers that are JSON whatever they carry. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "answer.h"

static struct idem_answer answer;

static int empty(void **state)
{
    (void)state;
    answer = (struct idem_answer){.length = 0};
    return 0;
}

static int release(void **state)
{
    (void)state;
    free(answer.text);
    return 0;
}

static void assert_answer(const char *expected)
{
    assert_false(answer.failed);
    assert_int_equal(answer.length, strlen(expected));
    assert_memory_equal(answer.text, expected, answer.length);
}

static void hex_says_every_byte_and_tells_null_from_empty(void **state)
{
    (void)state;
    idem_answer_add_hex(&answer, "'\\\0\xFF", 4);
    idem_answer_add_text(&answer, ",");
    idem_answer_add_hex(&answer, "", 0);
    idem_answer_add_text(&answer, ",");
    idem_answer_add_hex(&answer, NULL, 0);
    assert_answer("x'275c00ff',x'',NULL");
}

static void string_member_escapes_what_json_must(void **state)
{
    (void)state;
    idem_answer_add_text(&answer, "{");
    idem_answer_add_member(&answer, "owner", false, "a\"b\\c\n\0\x1F\x7F\xC3\xA9", 11);
    idem_answer_add_member(&answer, "state", false, "", 0);
    idem_answer_add_text(&answer, "}");
    assert_answer("{\"owner\":\"a\\\"b\\\\c\\u000a\\u0000\\u001f\x7F\xC3\xA9\",\"state\":\"\"}");
}

static void result_goes_in_byte_for_byte_and_null_is_left_out(void **state)
{
    (void)state;
    idem_answer_add_text(&answer, "{");
    idem_answer_add_member(&answer, "error", false, NULL, 0);
    idem_answer_add_member(&answer, "result", false, "{ \"a\" : 1.0 }", 13);
    idem_answer_add_member(&answer, "last_error", false, "null", 4);
    idem_answer_add_member(&answer, "checkpoint", false, "\"x\"", 3);
    idem_answer_add_member(&answer, "token", true, "18446744073709551615", 20);
    idem_answer_add_text(&answer, "}");
    assert_answer("{\"result\":{ \"a\" : 1.0 },\"last_error\":null,\"checkpoint\":\"x\","
                  "\"token\":18446744073709551615}");
}

static void answer_grows_to_any_size(void **state)
{
    (void)state;
    for (int i = 0; i < 100000; i++)
        idem_answer_add(&answer, "0123456789", 10);
    assert_int_equal(answer.length, 1000000);
    assert_memory_equal(answer.text + 999990, "0123456789", 10);
}

static void answer_without_memory_says_so_for_good(void **state)
{
    (void)state;
    idem_answer_add_text(&answer, "CALL");
    idem_answer_add(&answer, "", (size_t)-1 - 8); /* the size would wrap */
    assert_true(answer.failed);
    idem_answer_add_text(&answer, ";");
    assert_true(answer.failed);
    assert_int_equal(answer.length, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(hex_says_every_byte_and_tells_null_from_empty, empty,
                                        release),
        cmocka_unit_test_setup_teardown(string_member_escapes_what_json_must, empty, release),
        cmocka_unit_test_setup_teardown(result_goes_in_byte_for_byte_and_null_is_left_out, empty,
                                        release),
        cmocka_unit_test_setup_teardown(answer_grows_to_any_size, empty, release),
        cmocka_unit_test_setup_teardown(answer_without_memory_says_so_for_good, empty, release),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
