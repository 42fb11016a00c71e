/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls through either door. */
#include "claims.h"

#include "server.h"

#include <errmsg.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const door_names[2] = {"procedure", "udf"};

static void copy(char *to, size_t room, const char *from, size_t length)
{
    if (length >= room)
        length = room - 1;
    memcpy(to, from, length);
    to[length] = '\0';
}

static void take(struct answer *answer, const char *name, const char *text, size_t length)
{
    char number[32];

    copy(number, sizeof(number), text, length);
    if (strcmp(name, "state") == 0)
        copy(answer->state, sizeof(answer->state), text, length);
    else if (strcmp(name, "token") == 0)
        answer->token = strtoull(number, NULL, 10);
    else if (strcmp(name, "attempt") == 0)
        answer->attempt = (unsigned int)strtoul(number, NULL, 10);
    else if (strcmp(name, "retry_after_ms") == 0)
        answer->retry_after_ms = strtoll(number, NULL, 10);
    else if (strcmp(name, "result") == 0)
        copy(answer->result, sizeof(answer->result), text, length);
    else if (strcmp(name, "error") == 0)
        copy(answer->failure, sizeof(answer->failure), text, length);
    else if (strcmp(name, "last_error") == 0)
        copy(answer->last_error, sizeof(answer->last_error), text, length);
    else if (strcmp(name, "checkpoint") == 0)
        copy(answer->checkpoint, sizeof(answer->checkpoint), text, length);
}

/* Values of results may nest: braces and quotes are counted. */
void answer_read(struct answer *answer, const char *at)
{
    while (*at != '\0' && *at != '}') {
        const char *name = strchr(at, '"') + 1;
        const char *name_end = strchr(name, '"');
        const char *from = name_end + 2;
        const char *to = from;
        bool quoted = false;
        int depth = 0;
        char key[32];

        for (; *to != '\0'; to++) {
            if (quoted && *to == '\\')
                to++;
            else if (*to == '"')
                quoted = !quoted;
            else if (!quoted && (*to == '{' || *to == '['))
                depth++;
            else if (!quoted && depth == 0 && (*to == ',' || *to == '}'))
                break;
            else if (!quoted && (*to == '}' || *to == ']'))
                depth--;
        }
        copy(key, sizeof(key), name, (size_t)(name_end - name));
        if (strcmp(key, "state") == 0 && *from == '"')
            take(answer, key, from + 1, (size_t)(to - from - 2));
        else
            take(answer, key, from, (size_t)(to - from));
        at = *to == ',' ? to + 1 : to;
    }
}

static struct answer ask(MYSQL *sql, enum door door, const char *name, const char *arguments)
{
    struct answer answer = {.retry_after_ms = -1};
    char text[8192];
    MYSQL_RES *result;
    MYSQL_ROW row;
    int more;

    snprintf(text, sizeof(text), door == UDF_DOOR ? "SELECT idem_%s(%s)" : "CALL idem.%s(%s)", name,
             arguments);
    if (mysql_query(sql, text) != 0 || (result = mysql_store_result(sql)) == NULL) {
        answer.error = mysql_errno(sql);
        return answer;
    }
    row = mysql_fetch_row(result);
    if (row != NULL && door == UDF_DOOR && row[0] != NULL)
        answer_read(&answer, row[0]);
    else if (row != NULL && door == PROCEDURE_DOOR)
        for (unsigned int i = 0; i < mysql_num_fields(result); i++)
            if (row[i] != NULL)
                take(&answer, mysql_fetch_field_direct(result, i)->name, row[i], strlen(row[i]));
    answer.error = mysql_errno(sql);
    mysql_free_result(result);
    while ((more = mysql_next_result(sql)) == 0)
        mysql_free_result(mysql_store_result(sql));
    if (more > 0) { /* the row was sent, and then the call failed */
        memset(&answer, 0, sizeof(answer));
        answer.error = mysql_errno(sql);
    }
    return answer;
}

struct answer claim(MYSQL *sql, enum door door, const char *biz_type, const char *key,
                    const char *payload)
{
    char arguments[8000];

    snprintf(arguments, sizeof(arguments), "%s, %s, %s", biz_type, key, payload);
    return ask(sql, door, "claim", arguments);
}

struct answer begin(MYSQL *sql, enum door door, const char *biz_type, const char *key,
                    const char *payload)
{
    char arguments[8000];

    snprintf(arguments, sizeof(arguments), "%s, %s, %s", biz_type, key, payload);
    return ask(sql, door, "begin", arguments);
}

struct answer consume(MYSQL *sql, enum door door, const char *consumer, const char *event,
                      const char *payload)
{
    char arguments[8000];

    snprintf(arguments, sizeof(arguments), "%s, %s, %s", consumer, event, payload);
    return ask(sql, door, "consume", arguments);
}

struct answer peek(MYSQL *sql, enum door door, const char *biz_type, const char *key)
{
    char arguments[8000];

    snprintf(arguments, sizeof(arguments), "%s, %s", biz_type, key);
    return ask(sql, door, "peek", arguments);
}

/* A call without a result row. The UDF door answers an object: NULL without an error would be a
   call that was killed and did not say so. */
static unsigned int settle(MYSQL *sql, enum door door, const char *name, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static unsigned int settle(MYSQL *sql, enum door door, const char *name, const char *format, ...)
{
    char arguments[8000];
    struct answer answer;
    va_list list;

    va_start(list, format);
    vsnprintf(arguments, sizeof(arguments), format, list);
    va_end(list);
    if (door == PROCEDURE_DOOR)
        return run_errno(sql, "CALL idem.%s(%s)", name, arguments);
    answer = ask(sql, door, name, arguments);
    return answer.error == 0 && answer.state[0] == '\0' ? CR_UNKNOWN_ERROR : answer.error;
}

unsigned int finish(MYSQL *sql, enum door door, const char *biz_type, const char *key,
                    const char *token, const char *result)
{
    return door == UDF_DOOR
               ? settle(sql, door, "finish", "%s, %s, %s, %s", biz_type, key, result, token)
               : settle(sql, door, "finish", "%s, %s, %s, %s", biz_type, key, token, result);
}

unsigned int commit(MYSQL *sql, enum door door, const char *biz_type, const char *key,
                    const char *token, const char *result)
{
    return door == UDF_DOOR
               ? settle(sql, door, "commit", "%s, %s, %s, %s", biz_type, key, result, token)
               : settle(sql, door, "commit", "%s, %s, %s, %s", biz_type, key, token, result);
}

unsigned int fail_claim(MYSQL *sql, enum door door, const char *biz_type, const char *key,
                        const char *token, const char *error, int retryable)
{
    return door == UDF_DOOR ? settle(sql, door, "fail", "%s, %s, %s, %d, %s", biz_type, key, error,
                                     retryable, token)
                            : settle(sql, door, "fail", "%s, %s, %s, %s, %d", biz_type, key, token,
                                     error, retryable);
}

unsigned int release(MYSQL *sql, enum door door, const char *biz_type, const char *key,
                     const char *token)
{
    return settle(sql, door, "release", "%s, %s, %s", biz_type, key, token);
}

unsigned int renew(MYSQL *sql, enum door door, const char *biz_type, const char *key,
                   const char *token, const char *seconds)
{
    return door == UDF_DOOR
               ? settle(sql, door, "renew", "%s, %s, %s, %s", biz_type, key, seconds, token)
               : settle(sql, door, "renew", "%s, %s, %s, %s", biz_type, key, token, seconds);
}

unsigned int checkpoint(MYSQL *sql, enum door door, const char *biz_type, const char *key,
                        const char *token, const char *data)
{
    return door == UDF_DOOR
               ? settle(sql, door, "checkpoint", "%s, %s, %s, %s", biz_type, key, data, token)
               : settle(sql, door, "checkpoint", "%s, %s, %s, %s", biz_type, key, token, data);
}

bool killed_may_answer(unsigned int error)
{
    return error == 1317 || error == 1205 || error == 1062 || error == 1526 || error == 1615 ||
           error == 1930;
}
