/* SPDX-License-Identifier: GPL-2.0-only */
/* The calls, each recorded as an event. */
#include "sessions.h"

#include <errmsg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const way_names[] = {"procedure", "udf", "claim_into", "trigger", "function"};

const char *biz_type_of(int key)
{
    return key % 5 == 0 ? "'unknown'" : key % 5 == 1 ? "'fail'" : "'retry'";
}

bool is_owner(const struct event *event)
{
    return strcmp(event->state, "CLAIMED") == 0 || strcmp(event->state, "RECLAIMED") == 0;
}

static bool is_settling(enum op op)
{
    return op >= FINISH && op <= CHECKPOINT;
}

/* A KILL that lands between two calls may still hit the second one. */
static bool was_killed(struct session *s, const struct event *event)
{
    uint64_t since = 0;

    for (size_t i = s->event_count; i > 0 && since == 0; i--)
        if (s->events[i - 1]->after != 0 && s->events[i - 1]->after < event->before)
            since = s->events[i - 1]->before;
    return atomic_load(&s->killed_until) > since;
}

/* Errors a client has to live with. */
static void vet(struct session *s, const struct event *event)
{
    unsigned int error = event->error;

    if (error == 1213 || error == 1020 || error == 1317 ||
        (is_gone(error) && error != CR_UNKNOWN_ERROR))
        return;
    if (error == 1412) /* its snapshot is older than a partition that came or went */
        return;
    if (is_settling(event->op) && (error == 52004 || error == 1205))
        return;
    if (event->way >= TRIGGER && error == 1205) /* there it is what IN_PROGRESS is elsewhere */
        return;
    /* A KILL while the server reads a trigger leaves it useless until its table is opened again. */
    if (event->way == TRIGGER && error == 1064)
        return;
    if (killed_may_answer(error) && was_killed(s, event))
        return;
    report(FAULT, "key %d: call %d through %s answers error %u: %s", event->key, event->op,
           way_names[event->way], error, s->sql != NULL ? mysql_error(s->sql) : "");
}

static struct event *open_event(struct session *s, enum op op, int key, struct deed *deed)
{
    struct event *event = calloc(1, sizeof(*event));
    long long now = atomic_load(&world.clock_low), none = 0;

    if (s->event_count == s->event_room) {
        s->event_room = s->event_room * 2 + 1024;
        s->events = realloc(s->events, s->event_room * sizeof(struct event *));
    }
    if (event == NULL || s->events == NULL)
        abort();
    s->events[s->event_count++] = event;
    *event = (struct event){.op = op,
                            .way = choose(s, 2) ? UDF : PROCEDURE,
                            .session = s->number,
                            .key = key,
                            .deed = deed,
                            .clock_before = now,
                            .before = atomic_fetch_add(&world.stamp, 1)};
    atomic_compare_exchange_strong(&world.first_day[op == CONSUME ? key / 2 : key], &none,
                                   now / DAY_US);
    return event;
}

static void end_event(struct event *event, unsigned int error)
{
    event->after = atomic_fetch_add(&world.stamp, 1);
    event->clock_after = atomic_load(&world.clock_high);
    event->error = error;
}

static void close_event(struct session *s, struct event *event, unsigned int error)
{
    end_event(event, error);
    if (error != 0)
        vet(s, event);
}

/* {"by":id} as we wrote it, byte for byte; LAPSED for the error that idem itself writes. */
static uint64_t id_of(const char *text, int key)
{
    unsigned long long id = 0;
    char again[64];

    if (text[0] == '\0')
        return 0;
    if (strcmp(text, "{\"reason\":\"lease expired\"}") == 0)
        return LAPSED;
    sscanf(text, "{\"by\":%llu}", &id);
    snprintf(again, sizeof(again), "{\"by\":%llu}", id);
    if (strcmp(text, again) != 0)
        report(FAULT, "key %d answers %s, which nobody gave", key, text);
    return id;
}

static void name_key(int key, char ret_name[32])
{
    snprintf(ret_name, 32, "p%d-%d", world.round, key);
}

/* The rows of a look at what was answered, which a kill may hit. 0, or its error. */
static unsigned int fetch(struct session *s, const char *text, MYSQL_RES **ret_rows)
{
    int tries = 0;

    while (mysql_query(s->sql, text) != 0)
        if (mysql_errno(s->sql) != 1317 || tries++ > 10)
            return mysql_errno(s->sql);
    *ret_rows = mysql_store_result(s->sql);
    return *ret_rows != NULL ? 0 : mysql_errno(s->sql);
}

/* claim_into, by itself or in a trigger or function, whose statement may be made to fail after it
   was answered. */
static struct answer claim_into(struct session *s, enum way way, bool fails, const char *arguments)
{
    static const char *const calls[] = {
        [INTO] = "CALL idem.claim_into(%s, 0, @state, @token, @detail)",
        [TRIGGER] = "INSERT INTO test.gate VALUES (%s, %d)",
        [FUNCTION] = "SELECT test.gate(%s, %d)",
    };
    struct answer answer = {.retry_after_ms = -1};
    unsigned int error;
    char text[512];
    MYSQL_RES *rows;
    MYSQL_ROW row;

    snprintf(text, sizeof(text), calls[way], arguments, fails);
    error = run_errno(s->sql, "%s", text);
    if (error == 1644 && fails)
        error = 0;
    if (error == 0)
        error = fetch(s, "SELECT @state, @token, @detail", &rows);
    answer.error = error;
    if (error != 0)
        return answer;
    row = mysql_fetch_row(rows);
    if (row != NULL && row[0] != NULL && row[2] != NULL) {
        answer_read(&answer, row[2]);
        snprintf(answer.state, sizeof(answer.state), "%s", row[0]);
        answer.token = row[1] != NULL ? strtoull(row[1], NULL, 10) : 0;
    }
    mysql_free_result(rows);
    return answer;
}

struct event *ask(struct session *s, enum op op, int key, struct deed *deed)
{
    static const enum way ways[] = {PROCEDURE, PROCEDURE, UDF, UDF, INTO, TRIGGER, FUNCTION};
    struct event *event = open_event(s, op, key, deed);
    const char *type = biz_type_of(key);
    struct answer answer;
    char bare[32], name[40], payload[64], consumer[16], arguments[192];
    bool fails = choose(s, 4) == 0;

    name_key(op == CONSUME ? key / 2 : key, bare);
    snprintf(name, sizeof(name), "'%s'", bare);
    snprintf(payload, sizeof(payload), choose(s, 2) ? "'{\"key\":%d}'" : "'{ \"key\" : %d.0 }'",
             key);
    snprintf(consumer, sizeof(consumer), "'consumer-%d'", key % 2);
    snprintf(arguments, sizeof(arguments), "%s, %s, %s", type, name, payload);
    if (op == CLAIM)
        event->way = ways[choose(s, 7)];
    event->undone = fails && event->way >= TRIGGER;
    answer = event->way >= INTO ? claim_into(s, event->way, fails, arguments)
             : op == CLAIM      ? claim(s->sql, (enum door)event->way, type, name, payload)
             : op == BEGIN      ? begin(s->sql, (enum door)event->way, type, name, payload)
             : op == CONSUME    ? consume(s->sql, (enum door)event->way, consumer, name, payload)
                                : peek(s->sql, (enum door)event->way, type, name);
    memcpy(event->state, answer.state, sizeof(event->state));
    event->token = answer.token;
    event->attempt = answer.attempt;
    event->id = id_of(strcmp(answer.state, "DONE") == 0     ? answer.result
                      : strcmp(answer.state, "FAILED") == 0 ? answer.failure
                                                            : "",
                      key);
    event->checkpoint = id_of(answer.checkpoint, key);
    close_event(s, event, answer.error);
    if (answer.error == 0 && answer.state[0] == '\0')
        report(FAULT, "key %d: call %d has neither state nor error", key, op);
    return event;
}

static unsigned int call_many(struct session *s, enum way way, int consumer, const char *batch,
                              MYSQL_RES **ret_rows)
{
    char text[4096];
    unsigned int error;

    if (way == PROCEDURE) {
        snprintf(text, sizeof(text), "CALL idem.consume_many('consumer-%d', '%s')", consumer,
                 batch);
        error = mysql_query(s->sql, text) != 0 ? mysql_errno(s->sql) : 0;
        if (error == 0 && (*ret_rows = mysql_store_result(s->sql)) == NULL)
            error = mysql_errno(s->sql);
        if (error == 0) /* the status behind the rows */
            while (mysql_next_result(s->sql) == 0)
                mysql_free_result(mysql_store_result(s->sql));
        return error;
    }
    error = run_errno(s->sql, "SELECT idem_consume_many('consumer-%d', '%s') INTO @batch", consumer,
                      batch);
    return error != 0 ? error
                      : fetch(s,
                              "SELECT t.event_id, t.state FROM JSON_TABLE(CONVERT(@batch USING "
                              "utf8mb4), '$[*]' COLUMNS (i FOR ORDINALITY, event_id VARCHAR(255) "
                              "PATH '$.event_id', state VARCHAR(16) PATH '$.state')) t ORDER BY i",
                              ret_rows);
}

/* Some keys more than once, with and without their payload. */
static size_t write_batch(struct session *s, int key, int count, int consumer, struct deed *deed,
                          struct event **events, char *ret_text, size_t room)
{
    size_t length = 0;

    for (int i = 0; i < count; i++) {
        int other = key + choose(s, count > 8 ? 30 : 6), form = choose(s, 3);
        char name[32];

        if (other >= world.keys || !is_young(other, atomic_load(&world.clock_high)))
            other = key;
        events[i] = open_event(s, CONSUME, other * 2 + consumer, deed);
        events[i]->way = events[0]->way;
        name_key(other, name);
        length +=
            (size_t)snprintf(ret_text + length, room - length,
                             form > 0 ? "%c{\"id\":\"%s\"" : "%c\"%s\"", i == 0 ? '[' : ',', name);
        if (form > 0)
            length += (size_t)snprintf(ret_text + length, room - length,
                                       form == 2 ? ",\"payload\":{\"key\":%d}}" : "}",
                                       other * 2 + consumer);
    }
    return length + (size_t)snprintf(ret_text + length, room - length, "]");
}

int ask_many(struct session *s, int key, struct deed *deed, struct event *ret_events[BATCH_MAX])
{
    int count = 1 + choose(s, choose(s, 4) == 0 ? BATCH_MAX : 8), consumer = choose(s, 2), row = 0;
    char batch[BATCH_MAX * 80];
    MYSQL_RES *rows = NULL;
    unsigned int error;
    MYSQL_ROW fields;

    if (write_batch(s, key, count, consumer, deed, ret_events, batch, sizeof(batch)) >=
        sizeof(batch))
        abort();
    error = call_many(s, ret_events[0]->way, consumer, batch, &rows);
    for (int i = 1; i < count; i++)
        end_event(ret_events[i], error);
    close_event(s, ret_events[0], error);
    if (error != 0)
        return 0;
    for (; (fields = mysql_fetch_row(rows)) != NULL; row++) {
        char name[32];

        name_key(row < count ? ret_events[row]->key / 2 : 0, name);
        if (row >= count || fields[0] == NULL || fields[1] == NULL || strcmp(fields[0], name) != 0)
            report(FAULT, "consume_many: row %d of %d is about %s", row, count, fields[0]);
        else
            snprintf(ret_events[row]->state, sizeof(ret_events[row]->state), "%s", fields[1]);
    }
    if (row != count)
        report(FAULT, "consume_many: %d answers to %d events", row, count);
    mysql_free_result(rows);
    return count;
}

struct event *settle(struct session *s, enum op op, int key, uint64_t token, bool final,
                     struct deed *deed)
{
    struct event *event = open_event(s, op, key, deed);
    const char *type = biz_type_of(key);
    char bare[32], name[40], token_text[32] = "NULL", json[64];
    enum door door = (enum door)event->way;
    unsigned int error;

    name_key(key, bare);
    snprintf(name, sizeof(name), "'%s'", bare);
    snprintf(json, sizeof(json), "'{\"by\":%llu}'", (unsigned long long)deed->id);
    if (token != 0)
        snprintf(token_text, sizeof(token_text), "%llu", (unsigned long long)token);
    event->token = token;
    event->id = deed->id;
    event->final = final;
    error = op == FINISH       ? finish(s->sql, door, type, name, token_text, json)
            : op == COMMIT     ? commit(s->sql, door, type, name, token_text, json)
            : op == FAIL       ? fail_claim(s->sql, door, type, name, token_text, json, !final)
            : op == RELEASE    ? release(s->sql, door, type, name, token_text)
            : op == CHECKPOINT ? checkpoint(s->sql, door, type, name, token_text, json)
                               : renew(s->sql, door, type, name, token_text, "300");
    close_event(s, event, error);
    return event;
}
