/* SPDX-License-Identifier: GPL-2.0-only */
/* A growing buffer for an answer, and the JSON that a result row becomes. */
#ifndef IDEM_ANSWER_H
#define IDEM_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

struct idem_answer {
    char *text; /* owned; reused from call to call */
    size_t length;
    size_t room;
    bool failed; /* out of memory: the text is not whole */
};

void idem_answer_add(struct idem_answer *answer, const void *bytes, size_t length);
void idem_answer_add_text(struct idem_answer *answer, const char *text);

/* x'...', which no character set and no sql_mode can read as anything else; NULL for a NULL
 * pointer. */
void idem_answer_add_hex(struct idem_answer *answer, const char *bytes, size_t length);

/* One member "name":value with a comma in front unless it is the first of its object. The value of
   result, error, checkpoint and last_error is JSON already and goes in byte for byte; numbers stay
   numbers; everything else becomes a string. NULL values are left out. */
void idem_answer_add_member(struct idem_answer *answer, const char *name, bool is_number,
                            const char *value, size_t length);

#endif
