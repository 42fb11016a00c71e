/* SPDX-License-Identifier: GPL-2.0-only */
/* Filters: never a wrong "certainly not", few wrong "maybe", small, and useless once damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "filter.h"

#define DAY 20786

/* Key i of a set; different sets share none. */
static uint64_t hash_of(const char *set, uint64_t i)
{
    char key[64];
    int length = snprintf(key, sizeof(key), "order-%s-%llu", set, (unsigned long long)i);

    return idem_filter_hash("", 0, key, (size_t)length);
}

static uint64_t *hashes_of(const char *set, size_t count)
{
    uint64_t *hashes = malloc((count + 1) * sizeof(*hashes));

    assert_non_null(hashes);
    for (size_t i = 0; i < count; i++)
        hashes[i] = hash_of(set, i);
    return hashes;
}

static void open_new(const char *set, size_t count, uint8_t **ret_bytes, size_t *ret_length,
                     struct idem_filter *ret_filter)
{
    uint64_t *hashes = hashes_of(set, count);

    assert_true(idem_filter_make(hashes, count, DAY, ret_bytes, ret_length));
    assert_true(idem_filter_open(*ret_bytes, *ret_length, DAY, ret_filter));
    free(hashes);
}

/* Sizes around every change of the segment length, where a rounding fault would show. */
static void no_key_is_ever_missed_at_any_size(void **state)
{
    (void)state;
    for (size_t count = 0; count < 1200000; count = count < 300 ? count + 1 : count * 5 / 4 + 1) {
        struct idem_filter filter;
        uint8_t *bytes;
        size_t length;

        open_new("in", count, &bytes, &length, &filter);
        for (size_t i = 0; i < count; i++)
            if (!idem_filter_maybe(&filter, hash_of("in", i)))
                fail_msg("key %zu of %zu is missed", i, count);
        free(bytes);
    }
}

static void wrong_maybes_and_size_keep_their_bounds(void **state)
{
    static const size_t sizes[] = {20000, 100000, 1000000, 3000000};

    (void)state;
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        const size_t probes = 1000000;
        struct idem_filter filter;
        uint8_t *bytes;
        size_t length, wrong = 0;

        open_new("in", sizes[s], &bytes, &length, &filter);
        for (size_t i = 0; i < probes; i++)
            wrong += idem_filter_maybe(&filter, hash_of("out", i));
        assert_true((double)wrong / (double)probes <= 0.005);
        assert_true((double)wrong > 0); /* a filter that never errs is not this filter */
        assert_true((double)length * 8 / (double)sizes[s] <= 10);
        free(bytes);
    }
}

/* Key i of set `set`, fast. */
static uint64_t quick_hash(uint64_t set, uint64_t i)
{
    uint64_t key[2] = {set, i};

    return idem_filter_hash("", 0, key, sizeof(key));
}

/* One filter of `count` hashes, of which every third is there twice. The number of probes made. */
static size_t prove_set(uint64_t set, size_t count, size_t *ret_wrong, size_t *ret_length)
{
    uint64_t *hashes = malloc((count * 4 / 3 + 1) * sizeof(*hashes));
    const size_t strangers = count < 50000 ? 2000 : count / 25;
    struct idem_filter filter;
    size_t all = count;
    uint8_t *bytes;

    assert_non_null(hashes);
    for (size_t i = 0; i < count; i++)
        hashes[i] = quick_hash(set, i);
    for (size_t i = 0; i + 3 < count; i += 3)
        hashes[all++] = hashes[i];
    assert_true(idem_filter_make(hashes, all, DAY, &bytes, ret_length));
    assert_true(idem_filter_open(bytes, *ret_length, DAY, &filter));
    assert_int_equal(filter.keys, count);
    for (size_t i = 0; i < count; i++)
        if (!idem_filter_maybe(&filter, quick_hash(set, i)))
            fail_msg("key %zu of %zu in set %llu is missed", i, count, (unsigned long long)set);
    for (size_t i = 0; i < strangers; i++)
        *ret_wrong += idem_filter_maybe(&filter, quick_hash(~set, i));
    free(bytes);
    free(hashes);
    return count + strangers;
}

/* 100 million probes with IDEM_TEST_LONG set, else 3 million. Sizes: 0 to 3, and around every power
   of two. */
static void no_key_is_missed_in_many_probes_of_many_sizes(void **state)
{
    const size_t goal = getenv("IDEM_TEST_LONG") != NULL ? 100000000 : 3000000;
    size_t probes = 0, wrong = 0, strangers = 0;
    const int most = goal > 10000000 ? 21 : 16;

    (void)state;
    for (uint64_t set = 0; probes < goal; set++) {
        for (int power = 0; power <= most; power++) {
            for (size_t count = (1U << power) - 1; count <= (1U << power) + 1; count++) {
                size_t made, missed = 0, length;

                made = prove_set(set * 1000 + (uint64_t)power * 3 + count % 3, count, &missed,
                                 &length);
                probes += made;
                if (count >= 20000)
                    assert_true(length * 8 <= count * 10);
                if (count > 0) {
                    wrong += missed;
                    strangers += made - count;
                } else {
                    assert_int_equal(missed, 0);
                }
            }
        }
    }
    print_message("%zu probes, %.3f %% wrong maybes\n", probes,
                  100 * (double)wrong / (double)strangers);
    assert_true((double)wrong / (double)strangers <= 0.005);
}

static void an_empty_day_has_no_maybe(void **state)
{
    struct idem_filter filter;
    uint8_t *bytes;
    size_t length;

    (void)state;
    open_new("in", 0, &bytes, &length, &filter);
    for (size_t i = 0; i < 100000; i++)
        assert_false(idem_filter_maybe(&filter, hash_of("in", i)));
    free(bytes);
}

static void one_hash_many_times_is_one_key(void **state)
{
    const size_t count = 100000;
    uint64_t *hashes = malloc(count * sizeof(*hashes));
    struct idem_filter filter;
    uint8_t *bytes;
    size_t length;

    (void)state;
    for (size_t i = 0; i < count; i++)
        hashes[i] = hash_of("in", i % 7);
    assert_true(idem_filter_make(hashes, count, DAY, &bytes, &length));
    assert_true(idem_filter_open(bytes, length, DAY, &filter));
    assert_int_equal(filter.keys, 7);
    for (size_t i = 0; i < 7; i++)
        assert_true(idem_filter_maybe(&filter, hash_of("in", i)));
    free(bytes);
    free(hashes);
}

/* Hashes that differ in few bits, and not in the high ones that pick the place. */
static void hashes_without_any_randomness_still_make_a_filter(void **state)
{
    const size_t count = 200000;
    uint64_t *hashes = malloc(count * sizeof(*hashes));
    struct idem_filter filter;
    uint8_t *bytes;
    size_t length;

    (void)state;
    for (size_t i = 0; i < count; i++)
        hashes[i] = i;
    assert_true(idem_filter_make(hashes, count, DAY, &bytes, &length));
    assert_true(idem_filter_open(bytes, length, DAY, &filter));
    for (size_t i = 0; i < count; i++)
        assert_true(idem_filter_maybe(&filter, i));
    free(bytes);
    free(hashes);
}

static void too_many_keys_are_refused(void **state)
{
    const size_t count = IDEM_FILTER_KEYS_MAX + 1;
    uint64_t *hashes = malloc(count * sizeof(*hashes));
    uint8_t *bytes;
    size_t length;

    (void)state;
    for (size_t i = 0; i < count; i++)
        hashes[i] = i;
    assert_false(idem_filter_make(hashes, count, DAY, &bytes, &length));
    free(hashes);
}

static void scope_and_key_do_not_run_into_each_other(void **state)
{
    (void)state;
    assert_true(idem_filter_hash("ab", 2, "c", 1) != idem_filter_hash("a", 1, "bc", 2));
    assert_true(idem_filter_hash("", 0, "abc", 3) != idem_filter_hash("abc", 3, "", 0));
    assert_true(idem_filter_hash("", 0, "a", 1) != idem_filter_hash("", 0, "a\0", 2));
}

/* Written down so that filters stored by one build are read by the next, on any machine. */
static void the_stored_form_does_not_change(void **state)
{
    static const uint8_t stored[60] = {
        'i', 'd', 'e', 'm', 'f', 'l', 't', 1, 159, 88,  6,  210, 175, 145, 66, 56, /* checksum */
        50,  81,  0,   0,   4,   0,   0,   0, 1,   0,   0,  0,   0,   0,   0,  0,
        1,   0,   0,   0,   0,   0,   0,   0, 175, 205, 29, 123, 57,  168, 32, 226, /* keys, seed */
        0,   0,   0,   0,   0,   0,   0,   0, 0,   0,   0,  222};
    uint64_t hashes[] = {idem_filter_hash("billing", 7, "evt-1", 5)};
    uint8_t *bytes;
    size_t length;

    (void)state;
    assert_true(hashes[0] == 0x52afb47d7a415f65U);
    assert_true(idem_filter_make(hashes, 1, DAY, &bytes, &length));
    assert_int_equal(length, sizeof(stored));
    assert_memory_equal(bytes, stored, sizeof(stored));
    free(bytes);
}

static void a_damaged_or_foreign_filter_is_not_opened(void **state)
{
    struct idem_filter filter;
    uint8_t *bytes;
    size_t length;

    (void)state;
    open_new("in", 1000, &bytes, &length, &filter);
    assert_false(idem_filter_open(bytes, length, DAY + 1, &filter));
    for (size_t cut = 0; cut < length; cut++)
        assert_false(idem_filter_open(bytes, cut, DAY, &filter));
    for (size_t bit = 0; bit < length * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_false(idem_filter_open(bytes, length, DAY, &filter));
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_true(idem_filter_open(bytes, length, DAY, &filter));
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_key_is_ever_missed_at_any_size),
        cmocka_unit_test(wrong_maybes_and_size_keep_their_bounds),
        cmocka_unit_test(no_key_is_missed_in_many_probes_of_many_sizes),
        cmocka_unit_test(an_empty_day_has_no_maybe),
        cmocka_unit_test(one_hash_many_times_is_one_key),
        cmocka_unit_test(hashes_without_any_randomness_still_make_a_filter),
        cmocka_unit_test(too_many_keys_are_refused),
        cmocka_unit_test(scope_and_key_do_not_run_into_each_other),
        cmocka_unit_test(the_stored_form_does_not_change),
        cmocka_unit_test(a_damaged_or_foreign_filter_is_not_opened),
    };

    return cmocka_run_group_tests_name("filter", tests, NULL, NULL);
}
