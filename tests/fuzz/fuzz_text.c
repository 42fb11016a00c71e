/* SPDX-License-Identifier: GPL-2.0-only */
/* Any bytes as text and as a pattern of an access rule: the ways to look at UTF-8 agree, and a text
   always matches itself when its special characters are escaped. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pattern.h"
#include "utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    char *escaped = malloc(2 * size + 1);
    size_t at = 0, step = 1, length = 0;

    if (escaped == NULL)
        return 0;
    while (at < size && (step = idem_utf8_char(data + at, size - at)) > 0)
        at += step;
    if (idem_utf8_valid(text, size) != (at == size))
        abort();
    if (idem_utf8_is_ascii(text, size) && !idem_utf8_valid(text, size))
        abort();
    (void)idem_utf8_is_blank(text, size);
    (void)idem_utf8_is_wide(text, size);

    for (size_t i = 0; i < size; i++) {
        if (text[i] == '%' || text[i] == '_' || text[i] == '\\')
            escaped[length++] = '\\';
        escaped[length++] = text[i];
    }
    if (!idem_pattern_matches(escaped, length, text, size, false) ||
        !idem_pattern_matches(escaped, length, text, size, true) ||
        !idem_pattern_matches("%", 1, text, size, false))
        abort();
    (void)idem_pattern_matches(text, size / 2, text + size / 2, size - size / 2, true);
    free(escaped);
    return 0;
}
