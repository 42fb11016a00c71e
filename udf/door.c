/* SPDX-License-Identifier: GPL-2.0-only */
/* Running a procedure for a door, and turning what comes back into an answer or an error. */
#include "door.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "counters.h"
#include "galera.h"
#include "session.h"

/* After the server header: the macros of the service replace the client functions. */
#include <mysql/service_sql.h>

#define ER_LOCK_DEADLOCK 1213
#define ER_BAD_DB_ERROR 1049
#define ER_SP_DOES_NOT_EXIST 1305
#define ER_QUERY_INTERRUPTED 1317

/* Largest answer: a result of idem_max_result_bytes' upper bound, and the members around it. */
#define ANSWER_MAX (32UL << 20)

struct acknowledgement {
    char state[16];
    size_t length;
};

/* Set while this thread runs a door's CALL. */
static _Thread_local struct acknowledgement *waiting;

void idem_door_acknowledge(const char *state, size_t length)
{
    if (waiting == NULL || length > sizeof(waiting->state))
        return;
    memcpy(waiting->state, state, length);
    waiting->length = length;
}

my_bool idem_door_init(const struct idem_door *door, UDF_INIT *initid, UDF_ARGS *args,
                       char *message)
{
    if (idem_udf_init(door->usage, door->least, door->most, initid, args, message))
        return 1;
    initid->max_length = ANSWER_MAX;
    initid->ptr = calloc(1, sizeof(struct idem_answer));
    if (initid->ptr == NULL) {
        idem_raise(IDEM_E_NOT_READY, "%s: out of memory", door->function);
        return 1;
    }
    return 0;
}

void idem_door_deinit(UDF_INIT *initid)
{
    struct idem_answer *answer = (struct idem_answer *)initid->ptr;

    if (answer != NULL)
        free(answer->text);
    free(answer);
    initid->ptr = NULL;
}

static bool build_call(const struct idem_door *door, const UDF_ARGS *args,
                       struct idem_answer *ret_call)
{
    idem_answer_add_text(ret_call, "CALL idem.");
    idem_answer_add_text(ret_call, door->procedure);
    for (const char *at = door->parameters; *at != '\0'; at++) {
        bool integer = *at < 'a';
        unsigned int i = (unsigned int)(*at - (integer ? 'A' : 'a'));
        unsigned long long number;

        idem_answer_add(ret_call, at == door->parameters ? "(" : ",", 1);
        if (i >= args->arg_count || args->args[i] == NULL) {
            idem_answer_add_text(ret_call, "NULL");
        } else if (integer) {
            if (!idem_udf_integer(door->function, args->attributes[i], args, i, 0, UINT64_MAX,
                                  &number))
                return false;
            idem_answer_add(ret_call, args->args[i], args->lengths[i]);
        } else {
            idem_answer_add_hex(ret_call, args->args[i], args->lengths[i]);
        }
    }
    idem_answer_add(ret_call, ")", 1);
    if (ret_call->failed)
        idem_raise(IDEM_E_NOT_READY, "%s: out of memory", door->function);
    return !ret_call->failed;
}

static bool is_number(enum enum_field_types type)
{
    return type == MYSQL_TYPE_TINY || type == MYSQL_TYPE_SHORT || type == MYSQL_TYPE_LONG ||
           type == MYSQL_TYPE_LONGLONG || type == MYSQL_TYPE_INT24 || type == MYSQL_TYPE_NEWDECIMAL;
}

static void add_row(struct idem_answer *answer, MYSQL_RES *result, MYSQL_ROW row)
{
    MYSQL_FIELD *fields = mysql_fetch_fields(result);
    unsigned long *lengths = mysql_fetch_lengths(result);
    unsigned int count = mysql_num_fields(result);

    idem_answer_add(answer, "{", 1);
    for (unsigned int i = 0; i < count; i++)
        idem_answer_add_member(answer, fields[i].name, is_number(fields[i].type), row[i],
                               lengths[i]);
    idem_answer_add(answer, "}", 1);
}

/* False when no row came where one is due: the call was killed on the way. */
static bool add_result(const struct idem_door *door, MYSQL *sql, const struct acknowledgement *end,
                       struct idem_answer *answer)
{
    MYSQL_RES *result = mysql_store_result(sql);
    MYSQL_ROW row;
    size_t rows = 0;

    if (result == NULL) {
        if (end->length == 0)
            return false;
        idem_answer_add_text(answer, "{\"state\":\"");
        idem_answer_add(answer, end->state, end->length);
        idem_answer_add_text(answer, "\"}");
        return true;
    }
    if (door->many)
        idem_answer_add(answer, "[", 1);
    while ((row = mysql_fetch_row(result)) != NULL && (door->many || rows == 0)) {
        if (rows++ > 0)
            idem_answer_add(answer, ",", 1);
        add_row(answer, result, row);
    }
    if (door->many)
        idem_answer_add(answer, "]", 1);
    mysql_free_result(result);
    return door->many || rows > 0;
}

/* Every server error goes on with its own number. 1213 and 1020 above all: the transaction is gone,
   and a caller that got an answer instead would go on outside one. */
static void raise_from(const struct idem_door *door, MYSQL *sql)
{
    unsigned int number = mysql_errno(sql);

    if (number == ER_BAD_DB_ERROR || number == ER_SP_DOES_NOT_EXIST) {
        idem_counters_add("NOT_READY", sizeof("NOT_READY") - 1);
        idem_raise(IDEM_E_NOT_READY,
                   "%s: schema idem is missing or incomplete (%s); run install.sql", door->function,
                   mysql_error(sql));
    } else if (number == 0 || idem_session_killed()) {
        idem_raise(ER_QUERY_INTERRUPTED, "Query execution was interrupted");
    } else {
        idem_raise(number, "%s", mysql_error(sql));
    }
}

static bool is_claimed(const struct idem_answer *answer)
{
    static const char *const states[] = {"{\"state\":\"CLAIMED\"", "{\"state\":\"RECLAIMED\""};

    for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++)
        if (answer->length > strlen(states[i]) &&
            memcmp(answer->text, states[i], strlen(states[i])) == 0)
            return true;
    return false;
}

/* Galera: false when the transaction was aborted for another node, and the server told one of our
   own commands that could not pass it on. answer: NULL before the call. */
static bool is_kept(const struct idem_door *door, struct idem_galera_transaction before,
                    const struct idem_answer *answer)
{
    struct idem_galera_transaction now = idem_galera_transaction();

    if (before.begun && (!now.begun || (before.id != -1 && now.id != before.id)))
        return answer != NULL && door->ends_transaction;
    if (answer != NULL && door->opens_transaction && before.on && is_claimed(answer))
        return now.begun;
    return true;
}

static void raise_aborted(void)
{
    idem_raise(ER_LOCK_DEADLOCK,
               "Deadlock found: aborted for another node; try restarting transaction");
}

static bool run(const struct idem_door *door, const UDF_ARGS *args, struct idem_answer *answer)
{
    struct idem_session session;
    struct acknowledgement end = {.length = 0};
    struct idem_answer call = {.length = 0};
    struct idem_galera_transaction before = idem_galera_transaction();
    bool answered = false;

    answer->length = 0;
    answer->failed = false;
    if (before.implicit && !door->opens_transaction) {
        idem_raise(IDEM_E_BAD_CONTEXT,
                   "%s: with autocommit = 0 on a Galera node START TRANSACTION first, or CALL the "
                   "procedure of schema idem",
                   door->function);
        return false;
    }
    if (!build_call(door, args, &call)) {
        free(call.text);
        return false;
    }
    if (!idem_session_open(door->function, door->opens_transaction, &session)) {
        free(call.text);
        return false;
    }
    if (!is_kept(door, before, NULL)) {
        raise_aborted();
        idem_session_close(&session, false);
        free(call.text);
        return false;
    }
    waiting = &end;
    if (mysql_real_query(session.sql, call.text, call.length) != 0) {
        raise_from(door, session.sql);
    } else if (!add_result(door, session.sql, &end, answer)) {
        idem_raise(ER_QUERY_INTERRUPTED, "Query execution was interrupted");
    } else if (answer->failed) {
        idem_raise(IDEM_E_NOT_READY, "%s: out of memory", door->function);
    } else {
        answered = true;
    }
    waiting = NULL;
    idem_session_close(&session, answered);
    if (answered && !is_kept(door, before, answer)) {
        raise_aborted();
        answered = false;
    }
    free(call.text);
    return answered;
}

char *idem_door_row(const struct idem_door *door, UDF_INIT *initid, UDF_ARGS *args,
                    unsigned long *length, char *is_null, char *error)
{
    struct idem_answer *answer = (struct idem_answer *)initid->ptr;
    bool answered = false;

    if (idem_gate_enter(door->function)) {
        answered = run(door, args, answer);
        idem_gate_leave();
    }
    *is_null = !answered;
    *error = !answered;
    *length = answered ? answer->length : 0;
    return answered ? answer->text : NULL;
}
