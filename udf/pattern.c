/* SPDX-License-Identifier: GPL-2.0-only */
/* LIKE, with one point to come back to: the last % seen. */
#include "pattern.h"

#include <ctype.h>

static bool same(char a, char b, bool fold_case)
{
    return fold_case ? tolower((unsigned char)a) == tolower((unsigned char)b) : a == b;
}

bool idem_pattern_matches(const char *pattern, size_t pattern_length, const char *text,
                          size_t length, bool fold_case)
{
    const char *end = pattern + pattern_length;
    const char *text_end = text + length;
    const char *after_percent = NULL;
    const char *retry = NULL;

    while (text < text_end) {
        bool escaped = pattern + 1 < end && *pattern == '\\';

        if (pattern < end && *pattern == '%') {
            after_percent = ++pattern;
            retry = text;
        } else if (pattern < end &&
                   ((!escaped && *pattern == '_') || same(pattern[escaped], *text, fold_case))) {
            pattern += 1 + escaped;
            text++;
        } else if (after_percent != NULL) {
            pattern = after_percent;
            text = ++retry;
        } else {
            return false;
        }
    }
    while (pattern < end && *pattern == '%')
        pattern++;
    return pattern == end;
}
