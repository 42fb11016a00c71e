/* SPDX-License-Identifier: GPL-2.0-only */
/* Building statements and answers. */
#include "answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *make_room(struct idem_answer *answer, size_t length)
{
    if (answer->failed)
        return NULL;
    if (length > answer->room - answer->length) {
        size_t room = answer->room * 2 + length + 256;
        char *bigger = room < length ? NULL : realloc(answer->text, room);

        if (bigger == NULL) {
            answer->failed = true;
            return NULL;
        }
        answer->text = bigger;
        answer->room = room;
    }
    answer->length += length;
    return answer->text + answer->length - length;
}

void idem_answer_add(struct idem_answer *answer, const void *bytes, size_t length)
{
    char *to = make_room(answer, length);

    if (to != NULL && length > 0)
        memcpy(to, bytes, length);
}

void idem_answer_add_text(struct idem_answer *answer, const char *text)
{
    idem_answer_add(answer, text, strlen(text));
}

void idem_answer_add_hex(struct idem_answer *answer, const char *bytes, size_t length)
{
    static const char digits[] = "0123456789abcdef";
    char *to;

    if (bytes == NULL) {
        idem_answer_add_text(answer, "NULL");
        return;
    }
    to = make_room(answer, length * 2 + 3);
    if (to == NULL)
        return;
    *to++ = 'x';
    *to++ = '\'';
    for (size_t i = 0; i < length; i++) {
        *to++ = digits[(unsigned char)bytes[i] >> 4];
        *to++ = digits[(unsigned char)bytes[i] & 15];
    }
    *to = '\'';
}

static void add_string(struct idem_answer *answer, const char *value, size_t length)
{
    size_t from = 0;

    idem_answer_add(answer, "\"", 1);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)value[i];
        char escape[8];

        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        idem_answer_add(answer, value + from, i - from);
        from = i + 1;
        snprintf(escape, sizeof(escape), c < 0x20 ? "\\u%04x" : "\\%c", c);
        idem_answer_add_text(answer, escape);
    }
    idem_answer_add(answer, value + from, length - from);
    idem_answer_add(answer, "\"", 1);
}

static bool holds_json(const char *name)
{
    return strcmp(name, "result") == 0 || strcmp(name, "error") == 0 ||
           strcmp(name, "checkpoint") == 0 || strcmp(name, "last_error") == 0;
}

void idem_answer_add_member(struct idem_answer *answer, const char *name, bool is_number,
                            const char *value, size_t length)
{
    if (value == NULL)
        return;
    if (answer->length > 0 && answer->text[answer->length - 1] != '{')
        idem_answer_add(answer, ",", 1);
    add_string(answer, name, strlen(name));
    idem_answer_add(answer, ":", 1);
    if (is_number || holds_json(name))
        idem_answer_add(answer, value, length);
    else
        add_string(answer, value, length);
}
