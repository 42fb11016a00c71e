/* SPDX-License-Identifier: GPL-2.0-only */
/* Log lines on stderr: text for people and the journal, or one JSON object a line. */
#ifndef IDEMD_LOG_H
#define IDEMD_LOG_H

#include <stdbool.h>

#include <jansson.h>

enum idem_log_level { IDEM_LOG_ERROR, IDEM_LOG_WARNING, IDEM_LOG_INFO, IDEM_LOG_DEBUG };

/* "error", "warning", "info" or "debug"; false when it is none of them. */
bool idem_log_level_parse(const char *name, enum idem_log_level *ret_level);

/* Lines above `most` are left out. The default is text and info. */
void idem_log_setup(bool json, enum idem_log_level most);

/* Writes one line. fields (an object, or NULL) is taken over. */
void idem_log(enum idem_log_level level, json_t *fields, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
