/* SPDX-License-Identifier: GPL-2.0-only */
/* The hint that a key was finished lately: it knows what it was told, and never mistakes a key for
   another one that shares its place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "recent.h"

#define DAY INT64_C(20513) /* 2026-03-01 */

static void a_noted_key_is_known_with_its_newest_day(void **state)
{
    int64_t day = 0;
    bool committed = true;

    (void)state;
    assert_false(idem_recent_day(0x123456789abcdef0, &day, &committed));
    idem_recent_note(0x123456789abcdef0, DAY, true);
    assert_true(idem_recent_day(0x123456789abcdef0, &day, &committed));
    assert_int_equal(day, DAY);
    idem_recent_note(0x123456789abcdef0, DAY + 1, true);
    assert_true(idem_recent_day(0x123456789abcdef0, &day, &committed));
    assert_int_equal(day, DAY + 1);
}

static void a_key_is_committed_as_it_was_last_noted(void **state)
{
    const uint64_t key = 0x3333000000000001;
    int64_t day;
    bool committed;

    (void)state;
    for (int bit = 0; bit < 2; bit++) {
        idem_recent_note(key, DAY, bit);
        assert_true(idem_recent_day(key, &day, &committed));
        assert_int_equal(committed, bit);
        assert_int_equal(day, DAY);
    }
}

static void another_key_in_the_same_place_is_not_taken_for_it(void **state)
{
    const uint64_t key = 0x1111000000042042, other = 0x2222000000042042;
    int64_t day;
    bool committed;

    (void)state;
    idem_recent_note(key, DAY, true);
    assert_false(idem_recent_day(other, &day, &committed));
    idem_recent_note(other, DAY, true);
    assert_true(idem_recent_day(other, &day, &committed));
    assert_false(idem_recent_day(key, &day, &committed)); /* the newer one has taken the place */
}

static void every_bit_of_the_hash_tells_keys_apart(void **state)
{
    const uint64_t key = 0xfedcba9876543210;
    int64_t day;
    bool committed;

    (void)state;
    idem_recent_note(key, DAY, true);
    for (int bit = 0; bit < 64; bit++)
        assert_false(idem_recent_day(key ^ UINT64_C(1) << bit, &day, &committed));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_noted_key_is_known_with_its_newest_day),
        cmocka_unit_test(a_key_is_committed_as_it_was_last_noted),
        cmocka_unit_test(another_key_in_the_same_place_is_not_taken_for_it),
        cmocka_unit_test(every_bit_of_the_hash_tells_keys_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
