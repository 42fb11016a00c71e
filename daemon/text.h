/* SPDX-License-Identifier: GPL-2.0-only */
/* A text that grows. Running out of memory ends the process: nothing is in hand that could be lost.
 */
#ifndef IDEMD_TEXT_H
#define IDEMD_TEXT_H

#include <stddef.h>

struct idem_text {
    char *bytes; /* owned, NUL-terminated; NULL while empty */
    size_t length;
};

void idem_text_add(struct idem_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds what is safe inside HTML text and quoted attributes. */
void idem_text_add_html(struct idem_text *text, const char *plain);

void idem_text_free(struct idem_text *text);

#endif
