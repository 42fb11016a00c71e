/* SPDX-License-Identifier: GPL-2.0-only */
/* Well-formed UTF-8 (RFC 3629: no overlong forms, no surrogates, at most U+10FFFF). */
#ifndef IDEM_UTF8_H
#define IDEM_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the character at text[0], 0 if it is not well-formed or cut off. */
size_t idem_utf8_char(const unsigned char *text, size_t length);

bool idem_utf8_valid(const char *text, size_t length);
bool idem_utf8_is_ascii(const char *text, size_t length);

/* True when there is nothing but ASCII white space (also when empty). */
bool idem_utf8_is_blank(const char *text, size_t length);

/* True for what text in UTF-16 or UTF-32 looks like when it is taken for bytes: ASCII, at least two
   characters of it, with a NUL before or behind each. It is valid UTF-8, and another key. */
bool idem_utf8_is_wide(const char *text, size_t length);

/* Writes code point `point` (a scalar value) to ret_bytes; returns its 1-4 bytes. */
size_t idem_utf8_encode(uint32_t point, unsigned char ret_bytes[4]);

#endif
