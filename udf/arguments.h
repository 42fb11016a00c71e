/* SPDX-License-Identifier: GPL-2.0-only */
/* The rules for biz_type, consumer and key, checked once for every call. */
#ifndef IDEM_ARGUMENTS_H
#define IDEM_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct idem_text {
    const char *bytes; /* NULL is SQL NULL */
    size_t length;
};

/* False for NULL. */
static inline bool idem_text_is(struct idem_text text, const char *word)
{
    return text.bytes != NULL && text.length == strlen(word) &&
           memcmp(text.bytes, word, text.length) == 0;
}

/* 1-64 bytes of biz_type (said as consumer when routine begins with "consume") and 1-255 of key,
   valid UTF-8, not blank, not UTF-16 or UTF-32; only ASCII when client_charset is neither utf8 nor
   binary nor NULL. False with 52001 raised, naming routine, argument and limit. */
bool idem_arguments_check(struct idem_text routine, struct idem_text client_charset,
                          struct idem_text biz_type, struct idem_text key);

#endif
