/* SPDX-License-Identifier: GPL-2.0-only */
/* Which payloads are the same: the written table, and the rules behind it on random values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "idem/limits.h"
#include "payload.h"

struct text {
    const char *bytes;
    size_t length;
};

#define T(literal)                                                                                 \
    {                                                                                              \
        literal, sizeof(literal) - 1                                                               \
    }
#define END                                                                                        \
    {                                                                                              \
        NULL, 0                                                                                    \
    }

/* Payloads of one line are the same; payloads of different lines never are. Cases 21 and 22, and
   the grammar of RFC 8259. */
static const struct text same[][8] = {
    {T("{\"a\":1,\"b\":[1,2]}"), T("{ \"b\":[1,2], \"a\":1 }"),
     T("\t{\"b\"\r\n:[ 1 , 2 ],\"a\":1}\n"), T("{\"b\":[1.0,2e0],\"\\u0061\":1}"), END},
    {T("{\"b\":[2,1],\"a\":1}"), END}, /* the order of an array counts */
    {T("{\"a\":1}"), T("{\"a\":1.0}"), T("{\"a\":1e0}"), T("{\"a\":10e-1}"), T("{\"a\":0.1E+1}"),
     T("{\"a\":1.000}"), T("{\"a\":100e-00002}"), END},
    {T("{\"a\":-1}"), T("{\"a\":-10E-1}"), END},
    {T("{\"a\":\"1\"}"), END}, /* a text is not a number */
    {T("{\"a\":\"A\"}"), T("{\"a\":\"\\u0041\"}"), T("{\"\\u0061\":\"A\"}"), END},
    {T("{\"a\":\"a\"}"), END}, /* case counts */
    {T("{\"A\":\"A\"}"), END},
    {T("{\"a\":12345678901234567890}"), T("{\"a\":1234567890123456789e1}"), END},
    {T("{\"a\":12345678901234567891}"), END}, /* a double would round both to the same */
    {T("9007199254740993"), END},
    {T("9007199254740992"), END},
    {T("0.1"), T("1e-1"), T("0.10"), END},
    {T("0.1000000000000000055511151231257827"), END}, /* the double nearest to 0.1 */
    {T("{\"a\":-0}"), T("{\"a\":0}"), T("{\"a\":-0.0}"), T("{\"a\":0e99999999999999999999}"),
     T("{\"a\":0.00E-7}"), END},
    {T("1e400"), T("10e399"), T("0.1e401"), END}, /* beyond a double */
    {T("1e401"), END},
    {T("1e-400"), END}, /* a double would make it 0 */
    {T("-1e-400"), END},
    {T("1e999999999999999"), END},
    {T("{\"\xF0\x9F\x98\x80\":1,\"\xEF\xAC\xB3\":2}"),
     T("{\"\xEF\xAC\xB3\":2,\"\xF0\x9F\x98\x80\":1}"), T("{\"\\ud83d\\ude00\":1,\"\\uFB33\":2}"),
     T("{\"\\uD83D\\uDE00\":1,\"\\ufb33\":2}"), END},
    {T("\"caf\xC3\xA9\""), T("\"caf\\u00e9\""), END},
    {T("\"cafe\xCC\x81\""), END}, /* no normalisation */
    {T("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""),
     T("\"\\u0022\\u005c/\\u0008\\u000C\\u000a\\u000d\\u0009\""), END},
    {T("\"a\\u0000b\""), END}, /* not cut at NUL */
    {T("\"a\\u0000c\""), END},
    {T("\"a\""), T(" \"a\" "), END},
    {T("\"a \""), END},
    {T("\"\""), END},
    {T("{\"a\":{\"x\":1,\"y\":2},\"b\":3}"), T("{\"b\":3,\"a\":{\"y\":2,\"x\":1}}"), END},
    {T("{\"a\":{\"x\":1},\"y\":2,\"b\":3}"), END}, /* the same members, nested otherwise */
    {T("{\"aa\":1,\"a\":2}"), T("{\"a\":2,\"aa\":1}"), END},
    {T("[[],{}]"), T("[ [ ] , { } ]"), END},
    {T("[{},[]]"), END},
    {T("[]"), END},
    {T("{}"), T(" { } "), END},
    {T("[null]"), END},
    {T("null"), T(" null\n"), END},
    {T("true"), END},
    {T("false"), END},
    {T("\"true\""), END},
    {T("0"), T("-0"), END},
    {T("[0]"), END},
    {T("[1,1]"), END},
    {T("[11]"), END},
    {T("[[1],1]"), END},
    {T("[1,[1]]"), END},
    {T("[[1,1]]"), END},
    /* Not JSON: bytes, every one of them, apart from all JSON. */
    {T(""), END},
    {T(" "), END},
    {T("\0"), END},
    {T("amount=10"), END},
    {T("amount=10 "), END},
    {T("Amount=10"), END},
    {T("D1e0;"), END}, /* the canonical form of 1 */
    {T("N"), END},
    {T("{\"a\":1"), END},
    {T("{'a':1}"), END},
    {T("{\"a\":1,}"), END},
    {T("{a:1}"), END},
    {T("{\"a\" 1}"), END},
    {T("{,}"), END},
    {T("[1,]"), END},
    {T("[1 2]"), END},
    {T("[1}"), END},
    {T("[1]]"), END},
    {T("1 2"), END},
    {T("01"), END},
    {T("-01"), END},
    {T("+1"), END},
    {T(".5"), END},
    {T("5."), END},
    {T("1e"), END},
    {T("1e+"), END},
    {T("-"), END},
    {T("0x10"), END},
    {T("NaN"), END},
    {T("{\"a\":NaN}"), END},
    {T("Infinity"), END},
    {T("True"), END},
    {T("tru"), END},
    {T("nullx"), END},
    {T("null\0"), END},
    {T("1\0"), END},
    {T("\"a"), END},
    {T("\"\\x41\""), END},
    {T("\"\\u00g1\""), END},
    {T("\"\\u004"), END},
    {T("\"\\"), END},
    {T("\"a\tb\""), END},    /* a control character must be escaped */
    {T("\"\\ud83d\""), END}, /* half a surrogate pair */
    {T("\"\\ude00\\ud83d\""), END},
    {T("\"\\ud83d\\u0041\""), END},
    {T("\"\xE9\""), END},         /* not UTF-8 */
    {T("\"\xED\xA0\x80\""), END}, /* a surrogate in UTF-8 */
    {T("\xEF\xBB\xBF{}"), END},   /* a byte order mark */
    {T("// comment\n1"), END},
    {T("{\"a\":1,\"a\":1} x"), END}, /* a double name in what is not JSON */
    {T("{\"a\":1,\"a\":1"), END},
    {T("[1e1234567890123456"), END},
};

#define LINES (sizeof(same) / sizeof(same[0]))

struct digest {
    unsigned char bytes[IDEM_HASH_LENGTH];
};

static struct digest hash(const char *bytes, size_t length)
{
    struct digest digest;
    char *exact = malloc(length + (length == 0)); /* so that a sanitizer sees a read past the end */

    assert_non_null(exact);
    memcpy(exact, bytes, length);
    if (idem_payload_digest(exact, length, digest.bytes) != IDEM_JSON_OK)
        fail_msg("no hash for %.*s", (int)length, bytes);
    free(exact);
    return digest;
}

static bool equal(const struct digest *a, const struct digest *b)
{
    return memcmp(a->bytes, b->bytes, IDEM_HASH_LENGTH) == 0;
}

static void case_21_22_table_of_equal_and_unequal_payloads(void **state)
{
    struct digest digests[LINES];

    (void)state;
    for (size_t i = 0; i < LINES; i++) {
        digests[i] = hash(same[i][0].bytes, same[i][0].length);
        for (size_t k = 1; same[i][k].bytes != NULL; k++) {
            struct digest other = hash(same[i][k].bytes, same[i][k].length);

            if (!equal(&digests[i], &other))
                fail_msg("%s and %s must be equal", same[i][0].bytes, same[i][k].bytes);
        }
        for (size_t k = 0; k < i; k++)
            if (equal(&digests[i], &digests[k]))
                fail_msg("%s and %s must differ", same[i][0].bytes, same[k][0].bytes);
    }
}

static void hash_is_fixed_for_stored_records(void **state)
{
    /* printf '\001J%s' 'D1e0;' | sha256sum; printf '\001B%s' 'amount=10' | sha256sum. A change here
       makes every stored record of the old rule a false mismatch: it needs a new rule number. */
    static const char *const expected[] = {
        "6047b7ba94b165bab5eb81e4fedf86bafbce2630ddebb5b6f3c33687cdb9ffd9",
        "a7e4e2b326c94f1f71de3eb46819adef853234edc21213f08a801305efd9b2bd"};
    static const char *const payloads[] = {"1.0", "amount=10"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct digest digest = hash(payloads[i], strlen(payloads[i]));
        char text[2 * IDEM_HASH_LENGTH + 1];

        for (size_t k = 0; k < IDEM_HASH_LENGTH; k++)
            snprintf(text + 2 * k, 3, "%02x", digest.bytes[k]);
        assert_string_equal(text, expected[i]);
    }
}

static void assert_status(enum idem_json_status expected, const char *bytes)
{
    struct digest digest, untouched;

    memset(&digest, 0x5A, sizeof(digest));
    untouched = digest;
    if (idem_payload_digest(bytes, strlen(bytes), digest.bytes) != expected)
        fail_msg("status of %.100s", bytes);
    assert_true(equal(&digest, &untouched));
}

static void case_22_payload_without_a_single_meaning_has_no_hash(void **state)
{
    (void)state;
    assert_status(IDEM_JSON_DUPLICATE, "{\"a\":1,\"a\":2}");
    assert_status(IDEM_JSON_DUPLICATE, "{\"a\":2,\"a\":1}");
    assert_status(IDEM_JSON_DUPLICATE, "{\"a\":1,\"b\":2,\"\\u0061\":1}");
    assert_status(IDEM_JSON_DUPLICATE, "[[{\"x\":{\"\":1,\"\":1}}]]");
    assert_status(IDEM_JSON_DUPLICATE, "{\"b\":{\"x\":1,\"x\":1},\"a\":{}}");
    assert_status(IDEM_JSON_RANGE, "1e1234567890123456");
    assert_status(IDEM_JSON_RANGE, "[-1E-1234567890123456]");
    assert_string_equal(idem_payload_reason(IDEM_JSON_DUPLICATE), "an object names a member twice");
    assert_string_equal(idem_payload_reason(IDEM_JSON_DEEP), "nested deeper than 512 levels");
    assert_string_equal(idem_payload_reason(IDEM_JSON_RANGE),
                        "a number has an exponent of more than 15 digits");
}

/* depth times open, core, depth times close */
static char *nest(size_t depth, const char *open, const char *core, const char *close)
{
    char *text = calloc(depth * (strlen(open) + strlen(close)) + strlen(core) + 1, 1);
    char *at = text;

    assert_non_null(text);
    for (size_t i = 0; i < depth; i++)
        at = stpcpy(at, open);
    at = stpcpy(at, core);
    for (size_t i = 0; i < depth; i++)
        at = stpcpy(at, close);
    return text;
}

static void case_22_depth_counts_up_to_the_limit_and_not_beyond(void **state)
{
    char *forty = nest(40, "[", "1", "]");
    char *spaced = nest(40, "[ ", "1.0", " ]");
    char *deepest = nest(IDEM_JSON_DEPTH, "{\"b\":2,\"a\":", "[]", "}");
    char *too_deep = nest(IDEM_JSON_DEPTH + 1, "[", "", "]");
    char *unclosed = nest(100000, "[", "", "");
    struct digest a = hash(forty, strlen(forty)), b = hash(spaced, strlen(spaced));

    (void)state;
    assert_true(equal(&a, &b));
    assert_status(IDEM_JSON_DEEP, deepest); /* the inner [] is one more */
    assert_status(IDEM_JSON_DEEP, too_deep);
    assert_status(IDEM_JSON_DEEP, unclosed);
    free(deepest);
    deepest = nest(IDEM_JSON_DEPTH, "{\"b\":2,\"a\":", "1", "}");
    hash(deepest, strlen(deepest));
    free(forty);
    free(spaced);
    free(deepest);
    free(too_deep);
    free(unclosed);
}

/* Random values, each spelled in two random ways. A small generator of its own: the same on every
   machine. */
#define VALUES 20000
#define SPELLED_MAX 16384

static uint64_t random_state;

static unsigned int pick(unsigned int below)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned int)(random_state >> 33) % below;
}

enum kind { WORD, NUMBER, STRING, ARRAY, OBJECT };

struct value {
    enum kind kind;
    int number; /* WORD: 0-2; NUMBER: in thousandths; STRING: which character */
    size_t count;
    struct value *items[4]; /* member i of an object is named by letter i */
};

static struct value *make_value(int depth)
{
    struct value *value = calloc(1, sizeof(*value));

    assert_non_null(value);
    value->kind = (enum kind)pick(depth > 0 ? 5 : 3);
    value->number = (int)pick(value->kind == WORD     ? 3
                              : value->kind == STRING ? 6
                                                      : 4001) -
                    (value->kind == NUMBER ? 2000 : 0);
    value->count = value->kind >= ARRAY ? pick(5) : 0;
    for (size_t i = 0; i < value->count; i++)
        value->items[i] = make_value(depth - 1);
    return value;
}

static void free_value(struct value *value)
{
    for (size_t i = 0; i < value->count; i++)
        free_value(value->items[i]);
    free(value);
}

static char *put(char *at, const char *text)
{
    return stpcpy(at, text);
}

static char *put_space(char *at)
{
    static const char *const spaces[] = {"", "", "", " ", "\n", "\t\r"};

    return put(at, spaces[pick(6)]);
}

static char *put_string(char *at, int which)
{
    static const char *const spellings[6][3] = {
        {"", "", ""},
        {"A", "\\u0041", "A"},
        {"\xC3\xA9", "\\u00E9", "\\u00e9"},
        {"\xF0\x9F\x98\x80", "\\ud83d\\ude00", "\\uD83D\\uDE00"},
        {"/", "\\/", "\\u002f"},
        {"\\n", "\\u000a", "\\u000A"},
    };

    return put(put(put(at, "\""), spellings[which][pick(3)]), "\"");
}

static char *put_number(char *at, int thousandths)
{
    int shift = (int)pick(7) - 3;
    char digits[32];

    if (thousandths == 0)
        return put(at, (const char *const[]){"0", "-0", "0.0", "0e5"}[pick(4)]);
    snprintf(digits, sizeof(digits), "%s%d.%03d", thousandths < 0 ? "-" : "",
             abs(thousandths) / 1000, abs(thousandths) % 1000);
    if (pick(2) == 0)
        return put(at, digits);
    /* The same number as an integer with zeros behind it, and an exponent. */
    at += sprintf(at, "%d%.*s", thousandths, shift > 0 ? shift : 0, "000");
    return at + sprintf(at, pick(2) ? "e%d" : "E%+d", -3 - (shift > 0 ? shift : 0));
}

static char *spell(char *at, const struct value *value)
{
    static const char *const words[] = {"null", "true", "false"};
    size_t start = value->count > 0 ? pick((unsigned int)value->count) : 0;

    at = put_space(at);
    switch (value->kind) {
    case WORD:
        at = put(at, words[value->number]);
        break;
    case NUMBER:
        at = put_number(at, value->number);
        break;
    case STRING:
        at = put_string(at, value->number);
        break;
    case ARRAY:
        at = put(at, "[");
        for (size_t i = 0; i < value->count; i++)
            at = spell(put(at, i > 0 ? "," : ""), value->items[i]);
        at = put(put_space(at), "]");
        break;
    case OBJECT:
        at = put(at, "{");
        for (size_t i = 0; i < value->count; i++) { /* members from anywhere round */
            size_t which = (start + i) % value->count;

            at = put_space(put_string(put_space(put(at, i > 0 ? "," : "")), (int)which));
            at = spell(put(at, ":"), value->items[which]);
        }
        at = put(put_space(at), "}");
        break;
    }
    return put_space(at);
}

/* Changes one leaf, or adds an item. */
static void change(struct value *value)
{
    if (value->count > 0 && pick(3) > 0)
        change(value->items[pick((unsigned int)value->count)]);
    else if (value->kind >= ARRAY && value->count < 4)
        value->items[value->count++] = make_value(0);
    else if (value->kind >= ARRAY)
        free_value(value->items[--value->count]);
    else
        value->number = value->kind == NUMBER ? value->number + 1
                                              : (value->number + 1) % (value->kind == WORD ? 3 : 6);
}

static void spelling_never_counts_and_meaning_always_does(void **state)
{
    static char one[SPELLED_MAX], two[SPELLED_MAX];

    (void)state;
    random_state = 20261129;
    for (int i = 0; i < VALUES; i++) {
        struct value *value = make_value(3);
        size_t one_length = (size_t)(spell(one, value) - one);
        size_t two_length = (size_t)(spell(two, value) - two);
        struct digest a = hash(one, one_length), b = hash(two, two_length), c;

        if (!equal(&a, &b))
            fail_msg("%s and %s must be equal", one, two);
        change(value);
        two_length = (size_t)(spell(two, value) - two);
        c = hash(two, two_length);
        if (equal(&a, &c))
            fail_msg("%s and %s must differ", one, two);
        free_value(value);
    }
}

/* Every prefix and every one-byte change of a rich text is read without a crash, and none but the
   whole has its hash. */
static void cut_or_damaged_payload_is_another_payload(void **state)
{
    static const char text[] =
        "{\"a\":[1.5e-3,\"\\u00e9\xF0\x9F\x98\x80\",true,null],\"b\":{\"c\":-7}}";
    struct digest whole = hash(text, sizeof(text) - 1);
    char damaged[sizeof(text)];

    (void)state;
    for (size_t length = 0; length < sizeof(text) - 1; length++) {
        struct digest cut = hash(text, length);

        assert_false(equal(&cut, &whole));
        for (int c = 0; c < 256; c++) {
            struct digest other;

            memcpy(damaged, text, sizeof(text));
            if (c == (unsigned char)text[length])
                continue;
            damaged[length] = (char)c;
            if (idem_payload_digest(damaged, sizeof(text) - 1, other.bytes) != IDEM_JSON_OK)
                continue;
            /* The case of e and of a hex digit: the only changes without a meaning. */
            if (equal(&other, &whole) && (c | 0x20) != (text[length] | 0x20))
                fail_msg("%s means the same as %s", damaged, text);
        }
    }
}

static void a_result_is_json_of_so_many_levels_whatever_it_means(void **state)
{
    static const struct {
        const char *text;
        enum idem_json_status status;
    } rows[] = {
        {"null", IDEM_JSON_OK},
        {" {\"a\":1,\"a\":2} ", IDEM_JSON_OK}, /* no single meaning, but JSON */
        {"1e9999999999999999", IDEM_JSON_OK},
        {"[[1]]", IDEM_JSON_OK},
        {"[[[1]]]", IDEM_JSON_DEEP},
        {"[1,]", IDEM_JSON_INVALID},
        {"1 2", IDEM_JSON_INVALID},
        {"", IDEM_JSON_INVALID},
        {"\"\xed\xa0\x80\"", IDEM_JSON_INVALID}, /* half a surrogate in CESU-8 */
        {"\"\xff\"", IDEM_JSON_INVALID},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(idem_json_check(rows[i].text, strlen(rows[i].text), 2), rows[i].status);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(case_21_22_table_of_equal_and_unequal_payloads),
        cmocka_unit_test(hash_is_fixed_for_stored_records),
        cmocka_unit_test(case_22_payload_without_a_single_meaning_has_no_hash),
        cmocka_unit_test(case_22_depth_counts_up_to_the_limit_and_not_beyond),
        cmocka_unit_test(a_result_is_json_of_so_many_levels_whatever_it_means),
        cmocka_unit_test(spelling_never_counts_and_meaning_always_does),
        cmocka_unit_test(cut_or_damaged_payload_is_another_payload),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
