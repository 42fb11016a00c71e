/* SPDX-License-Identifier: GPL-2.0-only */
/* Different parts never make the same key, at every length. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "natural_key.h"

#define FOLDED_LENGTH 71 /* sha256: and 64 digits */

struct key {
    char text[IDEM_KEY_MAX + 1];
    size_t length;
};

static struct key join(size_t count, const struct idem_part *parts)
{
    struct key key;

    memset(key.text, '#', sizeof(key.text));
    key.length = idem_natural_key(parts, count, key.text);
    assert_true(key.length > 0 && key.length <= IDEM_KEY_MAX);
    assert_int_equal(key.text[IDEM_KEY_MAX], '#');
    return key;
}

#define PART(literal)                                                                              \
    {                                                                                              \
        .text = literal, .length = sizeof(literal) - 1                                             \
    }
#define JOIN(...)                                                                                  \
    join(sizeof((const struct idem_part[]){__VA_ARGS__}) / sizeof(struct idem_part),               \
         (const struct idem_part[]){__VA_ARGS__})

static void assert_key(struct key key, const char *expected)
{
    assert_int_equal(key.length, strlen(expected));
    assert_memory_equal(key.text, expected, key.length);
}

static bool same(const struct key *a, const struct key *b)
{
    return a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

static void key_is_the_netstrings_of_its_parts(void **state)
{
    (void)state;
    assert_key(JOIN(PART("order"), PART("42")), "5:order,2:42");
    assert_key(JOIN(PART("")), "0:");
    assert_key(JOIN(PART(""), PART("")), "0:,0:");
    assert_key(JOIN(PART("caf\xC3\xA9")), "5:caf\xC3\xA9");
}

static int compare(const void *left, const void *right)
{
    const struct key *a = left, *b = right;
    int order = memcmp(a->text, b->text, a->length < b->length ? a->length : b->length);

    return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

/* All lists of up to three of the 1 + 4 + 16 texts over the characters that the format itself uses.
 */
static void case_20_separators_and_digits_in_parts_are_never_ambiguous(void **state)
{
    static const char letters[] = {'0', '1', ':', ','};
    char texts[21][2];
    struct idem_part all[21] = {{.text = "", .length = 0}};
    size_t total = 21 + 21 * 21 + 21 * 21 * 21;
    struct key *keys = calloc(total, sizeof(*keys));
    size_t at = 0;

    (void)state;
    assert_non_null(keys);
    for (size_t i = 0; i < 20; i++) {
        texts[i][0] = letters[i % 4];
        texts[i][1] = letters[i < 4 ? 0 : (i - 4) / 4];
        all[i + 1] = (struct idem_part){.text = texts[i], .length = i < 4 ? 1 : 2};
    }
    for (size_t i = 0; i < 21; i++) {
        keys[at++] = join(1, &all[i]);
        for (size_t k = 0; k < 21; k++) {
            keys[at++] = JOIN(all[i], all[k]);
            for (size_t m = 0; m < 21; m++)
                keys[at++] = JOIN(all[i], all[k], all[m]);
        }
    }
    assert_int_equal(at, total);
    qsort(keys, total, sizeof(*keys), compare);
    for (size_t i = 1; i < total; i++)
        assert_false(same(&keys[i - 1], &keys[i]));
    free(keys);
}

static void case_17_bytes_after_a_nul_count(void **state)
{
    struct key one = JOIN(PART("a\0001")), two = JOIN(PART("a\0002")), cut = JOIN(PART("a"));

    (void)state;
    assert_false(same(&one, &two));
    assert_false(same(&one, &cut));
}

static void key_folds_to_a_hash_from_256_bytes_on(void **state)
{
    char text[300];
    struct key joined, folded, other;

    (void)state;
    memset(text, 'x', sizeof(text));
    joined = join(1, &(struct idem_part){.text = text, .length = 251});
    assert_int_equal(joined.length, 255);
    assert_memory_equal(joined.text, "251:xxx", 7);

    folded = join(1, &(struct idem_part){.text = text, .length = 252});
    /* printf '252:%s' $(printf 'x%.0s' $(seq 252)) | sha256sum */
    assert_key(folded, "sha256:"
                       "12284018876f47c2bf2bf4dae6fe91663f7bd688e04833cb4ef3e5a5d0874e0f");
    text[251] = 'y';
    other = join(1, &(struct idem_part){.text = text, .length = 252});
    assert_int_equal(other.length, FOLDED_LENGTH);
    assert_false(same(&folded, &other));
    assert_memory_equal(folded.text, "sha256:", 7);
}

static void edge_is_the_same_for_several_parts(void **state)
{
    char text[300];
    struct key a, b;

    (void)state;
    memset(text, 'x', sizeof(text));
    /* "100:" + 100 + ",147:" + 146 or 147 = 255 or 256 */
    a = JOIN({.text = text, .length = 100}, {.text = text, .length = 146});
    assert_int_equal(a.length, 255);
    a = JOIN({.text = text, .length = 100}, {.text = text, .length = 147});
    assert_int_equal(a.length, FOLDED_LENGTH);
    b = JOIN({.text = text, .length = 147}, {.text = text, .length = 100});
    assert_int_equal(b.length, FOLDED_LENGTH);
    assert_false(same(&a, &b));
    /* A short part after one that did not fit must not slip into the gap. */
    b = JOIN({.text = text, .length = 100}, {.text = text, .length = 250}, PART("z"));
    assert_int_equal(b.length, FOLDED_LENGTH);
    assert_memory_equal(b.text, "sha256:", 7);
}

static void part_that_looks_like_a_hash_is_no_hash(void **state)
{
    char text[300];
    struct key folded, forged;

    (void)state;
    memset(text, 'x', sizeof(text));
    folded = join(1, &(struct idem_part){.text = text, .length = 300});
    forged = join(1, &(struct idem_part){.text = folded.text, .length = folded.length});
    assert_false(same(&folded, &forged));
    assert_memory_equal(forged.text, "71:sha256:", 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(key_is_the_netstrings_of_its_parts),
        cmocka_unit_test(case_20_separators_and_digits_in_parts_are_never_ambiguous),
        cmocka_unit_test(case_17_bytes_after_a_nul_count),
        cmocka_unit_test(key_folds_to_a_hash_from_256_bytes_on),
        cmocka_unit_test(edge_is_the_same_for_several_parts),
        cmocka_unit_test(part_that_looks_like_a_hash_is_no_hash),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
