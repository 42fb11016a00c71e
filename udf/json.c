/* SPDX-License-Identifier: GPL-2.0-only */
/* A strict JSON reader that writes the canonical form as it goes, and sorts each object on closing.
 */
#include "json.h"

#include "idem/limits.h"
#include "utf8.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define STRING_HEAD 9 /* 'S' and the length in 8 bytes */

struct member { /* offsets into the output */
    size_t start;
    size_t end;
};

struct frame {
    bool object;
    size_t start;        /* where its members begin in the output */
    size_t first_member; /* index into reader.members */
};

struct reader {
    const unsigned char *at;
    const unsigned char *end;
    unsigned char *out;
    size_t out_length;
    size_t out_room;
    struct member *members;
    size_t member_count;
    size_t member_room;
    size_t depth;
    size_t depth_limit; /* at most IDEM_JSON_DEPTH */
    enum idem_json_status status;
    enum idem_json_status flaw; /* has no single meaning, if it turns out to be JSON to its end */
    struct frame frames[IDEM_JSON_DEPTH]; /* the first `depth` are good */
};

static bool stop(struct reader *r, enum idem_json_status status)
{
    r->status = status;
    return false;
}

static bool emit(struct reader *r, const void *bytes, size_t length)
{
    if (length > r->out_room - r->out_length) {
        size_t room = r->out_room * 2 + length + 64;
        unsigned char *bigger = room < r->out_room ? NULL : realloc(r->out, room);

        if (bigger == NULL)
            return stop(r, IDEM_JSON_NO_MEMORY);
        r->out = bigger;
        r->out_room = room;
    }
    if (length > 0)
        memcpy(r->out + r->out_length, bytes, length);
    r->out_length += length;
    return true;
}

static void skip_space(struct reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
        r->at++;
}

static bool take(struct reader *r, unsigned char wanted)
{
    if (r->at == r->end || *r->at != wanted)
        return false;
    r->at++;
    return true;
}

static bool read_word(struct reader *r, const char *word, char code)
{
    size_t length = strlen(word);

    if ((size_t)(r->end - r->at) < length || memcmp(r->at, word, length) != 0)
        return stop(r, IDEM_JSON_INVALID);
    r->at += length;
    return emit(r, &code, 1);
}

static bool read_hex4(struct reader *r, uint32_t *ret_unit)
{
    uint32_t unit = 0;

    if (r->end - r->at < 4)
        return stop(r, IDEM_JSON_INVALID);
    for (int i = 0; i < 4; i++) {
        unsigned char c = *r->at++;

        if (c >= '0' && c <= '9')
            unit = unit << 4 | (uint32_t)(c - '0');
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            unit = unit << 4 | (uint32_t)((c | 0x20) - 'a' + 10);
        else
            return stop(r, IDEM_JSON_INVALID);
    }
    *ret_unit = unit;
    return true;
}

/* After "\u". A surrogate without its other half stands for no character: not JSON text. */
static bool read_unicode_escape(struct reader *r)
{
    unsigned char bytes[4];
    uint32_t point;
    uint32_t low;

    if (!read_hex4(r, &point))
        return false;
    if (point >= 0xDC00 && point <= 0xDFFF)
        return stop(r, IDEM_JSON_INVALID);
    if (point >= 0xD800 && point <= 0xDBFF) {
        if (!take(r, '\\') || !take(r, 'u'))
            return stop(r, IDEM_JSON_INVALID);
        if (!read_hex4(r, &low))
            return false;
        if (low < 0xDC00 || low > 0xDFFF)
            return stop(r, IDEM_JSON_INVALID);
        point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
    }
    return emit(r, bytes, idem_utf8_encode(point, bytes));
}

static bool read_escape(struct reader *r)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    const char *found;

    if (r->at == r->end)
        return stop(r, IDEM_JSON_INVALID);
    if (*r->at == 'u') {
        r->at++;
        return read_unicode_escape(r);
    }
    found = *r->at ? strchr(from, *r->at) : NULL;
    if (found == NULL)
        return stop(r, IDEM_JSON_INVALID);
    r->at++;
    return emit(r, &to[found - from], 1);
}

static bool read_string(struct reader *r)
{
    unsigned char head[STRING_HEAD] = {'S'};
    size_t start = r->out_length;
    uint64_t length;

    if (!take(r, '"'))
        return stop(r, IDEM_JSON_INVALID);
    if (!emit(r, head, sizeof(head)))
        return false;
    while (r->at < r->end && *r->at != '"') {
        if (*r->at == '\\') {
            r->at++;
            if (!read_escape(r))
                return false;
        } else {
            size_t step = *r->at < 0x20 ? 0 : idem_utf8_char(r->at, (size_t)(r->end - r->at));

            if (step == 0)
                return stop(r, IDEM_JSON_INVALID);
            if (!emit(r, r->at, step))
                return false;
            r->at += step;
        }
    }
    if (!take(r, '"'))
        return stop(r, IDEM_JSON_INVALID);
    length = r->out_length - start - STRING_HEAD;
    for (int i = 0; i < 8; i++)
        r->out[start + 1 + (size_t)i] = (unsigned char)(length >> (56 - 8 * i));
    return true;
}

/* [-+]?digits after 'e', leading zeros skipped. */
static bool read_exponent(struct reader *r, int64_t *ret_exponent, bool *ret_in_range)
{
    bool negative = false;
    int64_t value = 0;
    int digits = 0;

    if (!take(r, '+'))
        negative = take(r, '-');
    if (r->at == r->end || *r->at < '0' || *r->at > '9')
        return stop(r, IDEM_JSON_INVALID);
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
        if (value == 0 && *r->at == '0')
            continue;
        if (++digits <= 15)
            value = value * 10 + (*r->at - '0');
    }
    *ret_exponent = negative ? -value : value;
    *ret_in_range = digits <= 15;
    return true;
}

/* Writes digits d1d2..dn and exponent x for d1d2..dn * 10^x, with d1 and dn not 0. */
static bool emit_number(struct reader *r, bool negative, const unsigned char *digits, size_t count,
                        int64_t exponent)
{
    char tail[32];
    int at = sizeof(tail);
    uint64_t rest = exponent < 0 ? (uint64_t)-exponent : (uint64_t)exponent;

    tail[--at] = ';';
    do
        tail[--at] = (char)('0' + rest % 10);
    while ((rest /= 10) != 0);
    if (exponent < 0)
        tail[--at] = '-';
    tail[--at] = 'e';
    if (!emit(r, negative ? "D-" : "D", negative ? 2 : 1))
        return false;
    for (size_t i = 0; i < count; i++)
        if (digits[i] != '.' && !emit(r, &digits[i], 1))
            return false;
    return emit(r, tail + at, sizeof(tail) - (size_t)at);
}

static bool read_number(struct reader *r)
{
    bool negative = take(r, '-');
    const unsigned char *first = r->at;
    const unsigned char *last;
    const unsigned char *point = NULL;
    int64_t exponent = 0;
    bool in_range = true;

    while (r->at < r->end && *r->at >= '0' && *r->at <= '9')
        r->at++;
    if (r->at == first || (*first == '0' && r->at - first > 1))
        return stop(r, IDEM_JSON_INVALID);
    if (r->at < r->end && *r->at == '.') {
        point = r->at++;
        while (r->at < r->end && *r->at >= '0' && *r->at <= '9')
            r->at++;
        if (r->at == point + 1)
            return stop(r, IDEM_JSON_INVALID);
    }
    last = r->at;
    if (r->at < r->end && (*r->at | 0x20) == 'e') {
        r->at++;
        if (!read_exponent(r, &exponent, &in_range))
            return false;
    }
    if (point != NULL)
        exponent -= last - point - 1;
    for (; last > first && (last[-1] == '0' || last[-1] == '.'); last--)
        exponent += last[-1] == '0';
    while (first < last && (*first == '0' || *first == '.'))
        first++;
    if (first == last)
        return emit(r, "D0;", 3);
    if (!in_range) {
        r->flaw = IDEM_JSON_RANGE;
        return true;
    }
    return emit_number(r, negative, first, (size_t)(last - first), exponent);
}

static size_t name_length(const unsigned char *string)
{
    uint64_t length = 0;

    for (int i = 1; i <= 8; i++)
        length = length << 8 | string[i];
    return (size_t)length;
}

static int compare_members(const void *left, const void *right, void *out)
{
    const unsigned char *a = (unsigned char *)out + ((const struct member *)left)->start;
    const unsigned char *b = (unsigned char *)out + ((const struct member *)right)->start;
    size_t a_length = name_length(a);
    size_t b_length = name_length(b);
    int order = memcmp(a + STRING_HEAD, b + STRING_HEAD, a_length < b_length ? a_length : b_length);

    return order != 0 ? order : (a_length > b_length) - (a_length < b_length);
}

static bool sort_members(struct reader *r, const struct frame *frame)
{
    size_t count = r->member_count - frame->first_member;
    size_t size = r->out_length - frame->start;
    struct member *members;
    unsigned char *sorted;
    size_t length = 0;
    bool in_order = true;

    if (count < 2)
        return true;
    members = r->members + frame->first_member;
    for (size_t i = 1; i < count && in_order; i++)
        in_order = compare_members(&members[i - 1], &members[i], r->out) < 0;
    if (in_order)
        return true;
    qsort_r(members, count, sizeof(*members), compare_members, r->out);
    for (size_t i = 1; i < count; i++)
        if (compare_members(&members[i - 1], &members[i], r->out) == 0)
            r->flaw = IDEM_JSON_DUPLICATE;
    sorted = malloc(size);
    if (sorted == NULL)
        return stop(r, IDEM_JSON_NO_MEMORY);
    for (size_t i = 0; i < count; i++) {
        memcpy(sorted + length, r->out + members[i].start, members[i].end - members[i].start);
        length += members[i].end - members[i].start;
    }
    memcpy(r->out + frame->start, sorted, size);
    free(sorted);
    return true;
}

static bool open_container(struct reader *r, bool object)
{
    if (r->depth == r->depth_limit)
        return stop(r, IDEM_JSON_DEEP);
    r->at++;
    if (!emit(r, object ? "{" : "[", 1))
        return false;
    r->frames[r->depth++] =
        (struct frame){.object = object, .start = r->out_length, .first_member = r->member_count};
    return true;
}

static bool close_container(struct reader *r)
{
    struct frame *frame = &r->frames[--r->depth];

    r->at++;
    if (frame->object) {
        if (!sort_members(r, frame))
            return false;
        r->member_count = frame->first_member;
    }
    return emit(r, frame->object ? "}" : "]", 1);
}

/* A member's name and colon; its end is set when its value is complete. */
static bool read_name(struct reader *r)
{
    if (r->member_count == r->member_room) {
        size_t room = r->member_room * 2 + 16;
        struct member *bigger = reallocarray(r->members, room, sizeof(*bigger));

        if (bigger == NULL)
            return stop(r, IDEM_JSON_NO_MEMORY);
        r->members = bigger;
        r->member_room = room;
    }
    r->members[r->member_count++] = (struct member){.start = r->out_length};
    if (!read_string(r))
        return false;
    skip_space(r);
    if (!take(r, ':'))
        return stop(r, IDEM_JSON_INVALID);
    skip_space(r);
    return true;
}

/* A whole scalar, or the opening of a container (*ret_opened). */
static bool read_value(struct reader *r, bool *ret_opened)
{
    *ret_opened = false;
    if (r->at == r->end)
        return stop(r, IDEM_JSON_INVALID);
    switch (*r->at) {
    case '{':
    case '[':
        *ret_opened = true;
        return open_container(r, *r->at == '{');
    case '"':
        return read_string(r);
    case 't':
        return read_word(r, "true", 'T');
    case 'f':
        return read_word(r, "false", 'F');
    case 'n':
        return read_word(r, "null", 'N');
    default:
        return read_number(r);
    }
}

/* Called where a value has just ended: closes what closes here. False at the end or on error;
   true when another value (in an object: its name already read) must follow. */
static bool next_value(struct reader *r)
{
    while (r->depth > 0) {
        struct frame *frame = &r->frames[r->depth - 1];

        if (frame->object)
            r->members[r->member_count - 1].end = r->out_length;
        skip_space(r);
        if (take(r, ',')) {
            skip_space(r);
            return frame->object ? read_name(r) : true;
        }
        if (r->at == r->end || *r->at != (frame->object ? '}' : ']'))
            return stop(r, IDEM_JSON_INVALID);
        if (!close_container(r))
            return false;
    }
    skip_space(r);
    if (r->at != r->end)
        stop(r, IDEM_JSON_INVALID);
    return false;
}

static void read_text(struct reader *r)
{
    bool opened;

    skip_space(r);
    do {
        if (!read_value(r, &opened))
            return;
        while (opened) {
            struct frame *frame = &r->frames[r->depth - 1];

            skip_space(r);
            if (r->at < r->end && *r->at == (frame->object ? '}' : ']')) {
                if (!close_container(r))
                    return;
                opened = false;
                break;
            }
            if (frame->object && !read_name(r))
                return;
            if (!read_value(r, &opened))
                return;
        }
    } while (next_value(r));
}

/* Without an initializer: that would clear the frames, which costs more than reading a short text.
 */
static void start(struct reader *r, const char *text, size_t length, size_t depth)
{
    memset(r, 0, offsetof(struct reader, frames));
    r->at = (const unsigned char *)text;
    r->end = r->at + length;
    r->depth_limit = depth;
}

enum idem_json_status idem_json_canonical(const char *text, size_t length,
                                          unsigned char **ret_bytes, size_t *ret_length)
{
    struct reader r;

    start(&r, text, length, IDEM_JSON_DEPTH);
    read_text(&r);
    free(r.members);
    if (r.status == IDEM_JSON_OK)
        r.status = r.flaw;
    if (r.status != IDEM_JSON_OK) {
        free(r.out);
        return r.status;
    }
    *ret_bytes = r.out;
    *ret_length = r.out_length;
    return IDEM_JSON_OK;
}

enum idem_json_status idem_json_check(const char *text, size_t length, size_t depth)
{
    struct reader r;

    start(&r, text, length, depth);
    read_text(&r);
    free(r.members);
    free(r.out);
    return r.status;
}
