/* SPDX-License-Identifier: GPL-2.0-only */
/* A text that grows. */
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void idem_text_add(struct idem_text *text, const char *format, ...)
{
    va_list arguments;
    char *added, *bytes;
    int length;

    va_start(arguments, format);
    length = vasprintf(&added, format, arguments);
    va_end(arguments);
    if (length < 0 || (bytes = realloc(text->bytes, text->length + (size_t)length + 1)) == NULL)
        abort();
    memcpy(bytes + text->length, added, (size_t)length + 1);
    free(added);
    text->bytes = bytes;
    text->length += (size_t)length;
}

void idem_text_add_html(struct idem_text *text, const char *plain)
{
    for (; *plain != '\0'; plain++) {
        size_t safe = strcspn(plain, "<>&\"'");

        if (safe > 0)
            idem_text_add(text, "%.*s", (int)safe, plain);
        plain += safe;
        if (*plain == '\0')
            return;
        idem_text_add(text, "&#%d;", *plain);
    }
}

void idem_text_free(struct idem_text *text)
{
    free(text->bytes);
    text->bytes = NULL;
    text->length = 0;
}
