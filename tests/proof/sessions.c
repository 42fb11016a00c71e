/* SPDX-License-Identifier: GPL-2.0-only */
/* What a session does: business transactions, leases in autocommit that are taken up again later
   (often too late), events, looks. Its choices come from its seed alone. */
#include "history.h"

#include <errmsg.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum ending { BY_COMMIT, BY_FINISH, BY_ROLLBACK, BY_FINAL, BY_RETRYABLE, BY_RELEASE, BY_LEAVING };

static int choose(struct session *s, int count)
{
    return (int)(rand_r(&s->seed) % (unsigned int)count);
}

const char *biz_type_of(int key)
{
    return key % 10 == 0 ? "'unknown'" : key % 10 == 1 ? "'fail'" : "'retry'";
}

bool is_gone(unsigned int error)
{
    return error == 1927 || error == 1053 || (error >= 2000 && error < 3000);
}

static bool is_settling(enum op op)
{
    return op >= FINISH && op <= CHECKPOINT;
}

/* Errors a client has to live with. A killed statement runs no handler any more, so what it had
   just met may come out bare. */
static void vet(struct session *s, const struct event *event)
{
    unsigned int error = event->error;
    bool killed = atomic_exchange(&s->disturbed, false);

    if (error == 1213 || error == 1020 || error == 1317 ||
        (is_gone(error) && error != CR_UNKNOWN_ERROR))
        return;
    if (error == 1412) /* its snapshot is older than a partition that came or went */
        return;
    if (is_settling(event->op) && (error == 52004 || error == 1205))
        return;
    if (killed && (error == 1205 || error == 1062 || error == 1526))
        return;
    report(FAULT, "key %d: call %d through the %s door answers error %u: %s", event->key, event->op,
           door_names[event->door], error, s->sql != NULL ? mysql_error(s->sql) : "");
}

static struct deed *new_deed(struct session *s)
{
    struct deed *deed = calloc(1, sizeof(*deed));

    if (s->deed_count == s->deed_room) {
        s->deed_room = s->deed_room * 2 + 1024;
        s->deeds = realloc(s->deeds, s->deed_room * sizeof(struct deed *));
    }
    if (deed == NULL || s->deeds == NULL)
        abort();
    s->deeds[s->deed_count++] = deed;
    deed->id = (uint64_t)s->number * IDS + s->deed_count;
    return deed;
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
                            .door = choose(s, 2) ? UDF_DOOR : PROCEDURE_DOOR,
                            .session = s->number,
                            .key = key,
                            .deed = deed,
                            .clock_before = now,
                            .before = atomic_fetch_add(&world.stamp, 1)};
    atomic_compare_exchange_strong(&world.first_day[op == CONSUME ? key / 2 : key], &none,
                                   now / DAY_US);
    return event;
}

static void close_event(struct session *s, struct event *event, unsigned int error)
{
    event->after = atomic_fetch_add(&world.stamp, 1);
    event->clock_after = atomic_load(&world.clock_high);
    event->error = error;
    if (error != 0)
        vet(s, event);
}

static void end_deed(struct deed *deed, enum outcome outcome, uint64_t before)
{
    deed->outcome = outcome;
    deed->end_before = before;
    deed->end_after = atomic_fetch_add(&world.stamp, 1);
}

/* In autocommit the call is the commit. A killed one may have come through. */
static void end_single(struct event *event)
{
    end_deed(event->deed,
             event->error == 0                              ? COMMITTED
             : event->error > 52000 && event->error < 52011 ? ROLLED_BACK
                                                            : MAYBE,
             event->before);
}

static void connect_session(struct session *s)
{
    unsigned int error = 0;
    unsigned long flags = choose(s, 2) ? CLIENT_FOUND_ROWS : 0;

    atomic_store(&s->connection, 0);
    if (s->sql != NULL)
        mysql_close(s->sql);
    while ((s->sql = server_try_connect(world.server, flags, &error)) == NULL) {
        if (!is_gone(error))
            report(FAULT, "connect: error %u", error);
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    run_errno(s->sql,
              "SET SESSION innodb_lock_wait_timeout = 5, innodb_snapshot_isolation = %s, "
              "tx_isolation = '%s'",
              choose(s, 2) ? "ON" : "OFF", choose(s, 2) ? "READ-COMMITTED" : "REPEATABLE-READ");
    atomic_store(&s->connection, mysql_thread_id(s->sql));
}

/* After an error inside a transaction that nobody tried to commit. */
static void give_up(struct session *s, struct deed *deed)
{
    uint64_t before = atomic_fetch_add(&world.stamp, 1);
    unsigned int error = run_errno(s->sql, "ROLLBACK");

    if (error == 1317)
        error = run_errno(s->sql, "ROLLBACK");
    if (error != 0)
        connect_session(s);
    if (deed->outcome == OPEN)
        end_deed(deed, ROLLED_BACK, before);
}

static void refresh(struct session *s, unsigned int error)
{
    if (is_gone(error))
        connect_session(s);
}

static bool in_transaction(struct session *s)
{
    unsigned int status = 0;

    mariadb_get_infov(s->sql, MARIADB_CONNECTION_SERVER_STATUS, &status);
    return status & SERVER_STATUS_IN_TRANS;
}

static bool is_owner(const struct event *event)
{
    return strcmp(event->state, "CLAIMED") == 0 || strcmp(event->state, "RECLAIMED") == 0;
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

static struct event *ask(struct session *s, enum op op, int key, struct deed *deed)
{
    struct event *event = open_event(s, op, key, deed);
    const char *type = biz_type_of(key);
    struct answer answer;
    char name[32], payload[64], consumer[16];

    snprintf(name, sizeof(name), "'p-%d'", op == CONSUME ? key / 2 : key);
    snprintf(payload, sizeof(payload), choose(s, 2) ? "'{\"key\":%d}'" : "'{ \"key\" : %d.0 }'",
             key);
    snprintf(consumer, sizeof(consumer), "'consumer-%d'", key % 2);
    answer = op == CLAIM     ? claim(s->sql, event->door, type, name, payload)
             : op == BEGIN   ? begin(s->sql, event->door, type, name, payload)
             : op == CONSUME ? consume(s->sql, event->door, consumer, name, payload)
                             : peek(s->sql, event->door, type, name);
    memcpy(event->state, answer.state, sizeof(event->state));
    event->token = answer.token;
    event->attempt = answer.attempt;
    event->id = id_of(strcmp(answer.state, "DONE") == 0     ? answer.result
                      : strcmp(answer.state, "FAILED") == 0 ? answer.failure
                                                            : "",
                      key);
    close_event(s, event, answer.error);
    if (answer.error == 0 && answer.state[0] == '\0')
        report(FAULT, "key %d: call %d has neither state nor error", key, op);
    return event;
}

/* token 0: without a token. */
static struct event *settle(struct session *s, enum op op, int key, uint64_t token, bool final,
                            struct deed *deed)
{
    struct event *event = open_event(s, op, key, deed);
    const char *type = biz_type_of(key);
    char name[32], token_text[32] = "NULL", json[64];
    enum door door = event->door;
    unsigned int error;

    snprintf(name, sizeof(name), "'p-%d'", key);
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

/* COMMIT: after a kill nobody knows. */
static void end_by_commit(struct session *s, struct deed *deed)
{
    uint64_t before = atomic_fetch_add(&world.stamp, 1);
    unsigned int error = run_errno(s->sql, "COMMIT");

    end_deed(deed,
             error == 0                       ? COMMITTED
             : error == 1213 || error == 1020 ? ROLLED_BACK
                                              : MAYBE,
             before);
    if (error != 0)
        give_up(s, deed);
}

static bool work(struct session *s, int key, struct deed *deed)
{
    return run_errno(s->sql, "INSERT INTO test.work VALUES (%d, %llu)", key,
                     (unsigned long long)deed->id) == 0;
}

static bool witness(struct session *s, struct deed *deed)
{
    deed->witnessed = true;
    return run_errno(s->sql, "INSERT INTO test.witness VALUES (%llu)",
                     (unsigned long long)deed->id) == 0;
}

/* Work, finish and commit, in an open transaction. True when the commit was answered. */
static bool complete(struct session *s, int key, uint64_t token, bool one_call, struct deed *deed)
{
    struct event *event;

    if (!work(s, key, deed)) {
        give_up(s, deed);
        return false;
    }
    if (choose(s, 8) == 0 && (run_errno(s->sql, "SAVEPOINT w") != 0 || !work(s, key, deed) ||
                              run_errno(s->sql, "ROLLBACK TO w") != 0)) {
        give_up(s, deed);
        return false;
    }
    event = settle(s, one_call ? COMMIT : FINISH, key, token, false, deed);
    if (event->error != 0) {
        if (one_call && (event->error == 1317 || is_gone(event->error)))
            end_deed(deed, MAYBE, event->before);
        give_up(s, deed);
        return false;
    }
    if (one_call)
        end_deed(deed, COMMITTED, event->before);
    else
        end_by_commit(s, deed);
    return deed->outcome == COMMITTED;
}

static void keep(struct session *s, int key, uint64_t token)
{
    struct hand *hand = &s->hands[choose(s, HANDS)];

    for (int i = 0; i < HANDS; i++)
        if (s->hands[i].key == key || (s->hands[i].key < 0 && hand->key != key))
            hand = &s->hands[i];
    *hand = (struct hand){key, token};
}

/* Opens a transaction and claims in it. NULL: not the owner, and the transaction is over. */
static struct event *open_claim(struct session *s, int key, struct deed *deed, bool *ret_settled)
{
    bool one_call = choose(s, 2);
    struct event *event;

    if (!one_call) {
        if (run_errno(s->sql, "START TRANSACTION") != 0 || !witness(s, deed) ||
            (choose(s, 4) == 0 && /* an old snapshot */
             run_errno(s->sql, "SELECT COUNT(*), SLEEP(0.002) FROM test.work WHERE k = %d", key) !=
                 0))
            goto lost;
        if (choose(s, 6) == 0) {
            if (run_errno(s->sql, "SAVEPOINT c") != 0)
                goto lost;
            event = ask(s, CLAIM, key, deed);
            if (event->error != 0 || run_errno(s->sql, "ROLLBACK TO c") != 0)
                goto lost;
            event->undone = true;
        }
    }
    event = ask(s, one_call ? BEGIN : CLAIM, key, deed);
    if (event->error != 0)
        goto lost;
    *ret_settled = event->id != 0;
    if (in_transaction(s) != (!one_call || is_owner(event)))
        report(FAULT, "key %d: %s, and the transaction is %s", key, event->state,
               in_transaction(s) ? "still open" : "gone");
    if (is_owner(event) && (!one_call || witness(s, deed)))
        return event;
lost:
    give_up(s, deed);
    return NULL;
}

/* One business transaction. True when the key is done or failed for good. */
static bool carry_out(struct session *s, int key, enum ending ending)
{
    struct deed *deed = new_deed(s);
    bool settled = false;
    struct event *claimed = open_claim(s, key, deed, &settled), *event;

    if (claimed == NULL)
        return settled;
    if (choose(s, 8) == 0) {
        event = ask(s, CLAIM, key, deed);
        if (event->error == 0 && event->token != claimed->token &&
            strcmp(event->state, "IN_PROGRESS") != 0)
            report(FAULT, "key %d: its owner's second claim answers %s", key, event->state);
        if (event->error != 0) {
            give_up(s, deed);
            return false;
        }
    }
    if (choose(s, 8) == 0 &&
        settle(s, choose(s, 2) ? RENEW : CHECKPOINT, key, claimed->token, false, deed)->error !=
            0) {
        give_up(s, deed);
        return false;
    }
    if (ending == BY_COMMIT || ending == BY_FINISH)
        return complete(s, key, choose(s, 2) ? claimed->token : 0, ending == BY_COMMIT, deed);
    if (ending == BY_ROLLBACK) {
        if (choose(s, 2))
            work(s, key, deed);
        give_up(s, deed);
        if (choose(s, 12) == 0) {
            event = settle(s, FAIL, key, 0, true, new_deed(s));
            end_single(event);
            refresh(s, event->error);
        }
        return false;
    }
    if (ending != BY_LEAVING) {
        event = settle(s, ending == BY_RELEASE ? RELEASE : FAIL, key, claimed->token,
                       ending == BY_FINAL, deed);
        if (event->error != 0) {
            give_up(s, deed);
            return false;
        }
    }
    end_by_commit(s, deed);
    if (ending == BY_LEAVING && deed->outcome == COMMITTED)
        keep(s, key, claimed->token);
    return ending == BY_FINAL && deed->outcome == COMMITTED;
}

static void take_lease(struct session *s, int key)
{
    struct event *event = ask(s, CLAIM, key, new_deed(s));

    end_single(event);
    if (is_owner(event))
        keep(s, key, event->token);
    refresh(s, event->error);
}

/* Goes on with a lease, which may have lapsed and been taken over meanwhile. */
static void take_up(struct session *s, struct hand *hand)
{
    static const enum op ops[] = {RENEW, CHECKPOINT, RELEASE, FAIL, FAIL};
    int key = hand->key, action = choose(s, 12);
    uint64_t token = choose(s, 4) == 0 ? 0 : hand->token;
    struct deed *deed = new_deed(s);

    if (action >= 5) {
        if (run_errno(s->sql, "START TRANSACTION") != 0 || !witness(s, deed))
            give_up(s, deed);
        else if (complete(s, key, token, action % 2, deed))
            atomic_fetch_add(&world.head, 1);
    } else {
        struct event *event =
            settle(s, ops[action], key, token, action == 4 && choose(s, 3) == 0, deed);

        end_single(event);
        refresh(s, event->error);
        if (action < 2)
            return;
    }
    if (choose(s, 4) != 0) /* else a stale call later */
        hand->key = -1;
}

static void take_event(struct session *s, int key)
{
    struct deed *deed = new_deed(s);
    struct event *event;

    key = key * 2 + choose(s, 2);
    if (choose(s, 3) == 0) {
        event = ask(s, CONSUME, key, deed);
        end_single(event);
        refresh(s, event->error);
        return;
    }
    if (run_errno(s->sql, "START TRANSACTION") != 0 || !witness(s, deed)) {
        give_up(s, deed);
        return;
    }
    event = ask(s, CONSUME, key, deed);
    if (event->error == 0 && !in_transaction(s))
        report(FAULT, "event %d: %s, and the transaction is gone", key, event->state);
    if (event->error != 0 || strcmp(event->state, "NEW") != 0 ||
        run_errno(s->sql, "INSERT INTO test.seen VALUES (%d, %llu)", key,
                  (unsigned long long)deed->id) != 0 ||
        choose(s, 5) == 0)
        give_up(s, deed);
    else
        end_by_commit(s, deed);
}

bool is_young(int key, int64_t clock)
{
    long long first = atomic_load(&world.first_day[key]);

    return first == 0 || clock / DAY_US - first <= YOUNG_DAYS;
}

void *session_run(void *data)
{
    static const enum ending endings[] = {
        BY_COMMIT,   BY_COMMIT,   BY_COMMIT,   BY_COMMIT, BY_FINISH,    BY_FINISH,  BY_FINISH,
        BY_ROLLBACK, BY_ROLLBACK, BY_ROLLBACK, BY_FINAL,  BY_RETRYABLE, BY_RELEASE, BY_LEAVING};
    struct session *s = data;

    connect_session(s);
    while (!atomic_load(&world.over)) {
        int head = atomic_load(&world.head), action = choose(s, 20);
        int reach = choose(s, 1 << choose(s, 13));
        int key = choose(s, 3) != 0 ? head + choose(s, 24) : head > reach ? head - reach : head;
        struct hand *hand = &s->hands[choose(s, HANDS)];
        struct event *event;

        if (key >= world.keys)
            break;
        if (!is_young(key, atomic_load(&world.clock_high)))
            continue;
        if (action < 10) {
            if (carry_out(s, key, endings[choose(s, 14)]))
                atomic_fetch_add(&world.head, choose(s, 2));
        } else if (action < 13) {
            take_lease(s, key);
        } else if (action < 16) {
            if (hand->key >= 0 && is_young(hand->key, atomic_load(&world.clock_high)))
                take_up(s, hand);
        } else if (action < 18) {
            take_event(s, key);
        } else {
            event = ask(s, PEEK, key, new_deed(s));
            end_single(event);
            refresh(s, event->error);
        }
    }
    atomic_store(&s->connection, 0);
    mysql_close(s->sql);
    s->sql = NULL;
    mysql_thread_end();
    return NULL;
}

void session_drain(struct session *s)
{
    connect_session(s);
    for (int key = 0; key < world.keys; key++) {
        int tries = 0;

        if (atomic_load(&world.first_day[key]) == 0 ||
            !is_young(key, atomic_load(&world.clock_high)))
            continue;
        while (!carry_out(s, key, BY_COMMIT) && tries++ < 20)
            if (key % 10 == 0)
                run_errno(s->sql, "CALL idem.resolve('unknown', 'p-%d', 'retry', NULL)", key);
        if (tries >= 20)
            report(LOST, "key %d cannot be ended", key);
    }
    mysql_close(s->sql);
    s->sql = NULL;
}
