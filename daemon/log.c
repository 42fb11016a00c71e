/* SPDX-License-Identifier: GPL-2.0-only */
/* Log lines on stderr. */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const level_names[] = {"error", "warning", "info", "debug"};
static bool as_json;
static enum idem_log_level most_level = IDEM_LOG_INFO;

bool idem_log_level_parse(const char *name, enum idem_log_level *ret_level)
{
    for (size_t i = 0; i < sizeof(level_names) / sizeof(level_names[0]); i++)
        if (strcmp(name, level_names[i]) == 0) {
            *ret_level = (enum idem_log_level)i;
            return true;
        }
    return false;
}

void idem_log_setup(bool json, enum idem_log_level most)
{
    as_json = json;
    most_level = most;
}

static void format_time(char *ret_text, size_t room)
{
    struct timespec now;
    struct tm utc;
    size_t length;

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    length = strftime(ret_text, room, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(ret_text + length, room - length, ".%03ldZ", now.tv_nsec / 1000000);
}

static void write_text(const char *time, const char *level, const char *message, json_t *fields)
{
    const char *name;
    json_t *field;

    flockfile(stderr);
    fprintf(stderr, "%s %-7s %s", time, level, message);
    json_object_foreach(fields, name, field)
    {
        const char *plain = json_string_value(field);
        char *text = NULL;

        if (json_is_null(field))
            continue;
        if (plain == NULL || strpbrk(plain, " \"=\n") != NULL)
            text = json_dumps(field, JSON_ENCODE_ANY | JSON_COMPACT);
        fprintf(stderr, " %s=%s", name, text != NULL ? text : plain != NULL ? plain : "?");
        free(text);
    }
    fputc('\n', stderr);
    funlockfile(stderr);
}

static void write_json(const char *time, const char *level, const char *message, json_t *fields)
{
    json_t *line = json_pack("{s:s,s:s,s:s}", "time", time, "level", level, "message", message);
    char *text;

    if (line != NULL && fields != NULL)
        json_object_update_missing(line, fields);
    text = line != NULL ? json_dumps(line, JSON_COMPACT) : NULL;
    /* A message of the server that is not UTF-8 has no JSON form: then at least say so in text. */
    fprintf(stderr, "%s\n",
            text != NULL ? text : "{\"level\":\"error\",\"message\":\"not UTF-8\"}");
    free(text);
    json_decref(line);
}

void idem_log(enum idem_log_level level, json_t *fields, const char *format, ...)
{
    char message[1024], time[40];
    va_list arguments;

    if (level <= most_level) {
        va_start(arguments, format);
        vsnprintf(message, sizeof(message), format, arguments);
        va_end(arguments);
        format_time(time, sizeof(time));
        (as_json ? write_json : write_text)(time, level_names[level], message, fields);
    }
    json_decref(fields);
}
