/* SPDX-License-Identifier: GPL-2.0-only */
/* The checker: what must hold for every key, from the events and from what the tables hold in the
 * end. */
#include "history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
    unsigned int count; /* rows of this key */
    uint64_t id;        /* of one of them */
};

struct record {
    unsigned int count, status;
};

static struct row *works, *seen;
static struct record *records, *inbox; /* inbox: per event and consumer */
static bool *witnesses[1024];          /* per session and deed */

static struct deed *deed_of(uint64_t id)
{
    uint64_t number = id / IDS, index = id % IDS;

    if (number > (uint64_t)world.plan.sessions || index == 0 ||
        index > world.sessions[number].deed_count)
        return NULL;
    return world.sessions[number].deeds[index - 1];
}

static MYSQL_RES *query(MYSQL *sql, const char *text)
{
    MYSQL_RES *rows;

    if (mysql_query(sql, text) != 0 || (rows = mysql_store_result(sql)) == NULL) {
        fprintf(stderr, "proof: %s: %s\n", text, mysql_error(sql));
        exit(2);
    }
    return rows;
}

/* Of the keys of this round. */
static void load_records(MYSQL *sql, const char *what, const char *where, struct record *to)
{
    char text[512];
    MYSQL_RES *rows;
    MYSQL_ROW row;

    snprintf(
        text, sizeof(text),
        "SELECT %s, COUNT(*), MIN(status) FROM idem.record WHERE %s AND idem_key LIKE 'p%d-%%' "
        "GROUP BY scope, idem_key",
        what, where, world.round);
    rows = query(sql, text);
    while ((row = mysql_fetch_row(rows)) != NULL)
        to[atoi(row[0])] = (struct record){(unsigned int)atoi(row[1]), (unsigned int)atoi(row[2])};
    mysql_free_result(rows);
}

static void load_rows(MYSQL *sql, const char *text, struct row *to)
{
    MYSQL_RES *rows = query(sql, text);
    MYSQL_ROW row;

    while ((row = mysql_fetch_row(rows)) != NULL)
        to[atoi(row[0])] = (struct row){(unsigned int)atoi(row[1]), strtoull(row[2], NULL, 10)};
    mysql_free_result(rows);
}

static void load_tables(MYSQL *sql)
{
    MYSQL_RES *rows;
    MYSQL_ROW row;

    works = calloc((size_t)world.keys, sizeof(*works));
    seen = calloc((size_t)world.keys * 2, sizeof(*seen));
    records = calloc((size_t)world.keys, sizeof(*records));
    inbox = calloc((size_t)world.keys * 2, sizeof(*inbox));
    if (works == NULL || seen == NULL || records == NULL || inbox == NULL)
        abort();
    load_rows(sql, "SELECT k, COUNT(*), MIN(id) FROM test.work GROUP BY k", works);
    load_rows(sql, "SELECT k, COUNT(*), MIN(id) FROM test.seen GROUP BY k", seen);
    load_records(sql, "SUBSTRING_INDEX(idem_key, '-', -1)", "scope = ''", records);
    load_records(sql, "SUBSTRING_INDEX(idem_key, '-', -1) * 2 + RIGHT(scope, 1)",
                 "scope LIKE 'consumer-_'", inbox);
    for (int i = 0; i <= world.plan.sessions; i++)
        witnesses[i] = calloc(world.sessions[i].deed_count + 1, sizeof(bool));
    rows = query(sql, "SELECT id FROM test.witness");
    while ((row = mysql_fetch_row(rows)) != NULL) {
        uint64_t id = strtoull(row[0], NULL, 10);

        if (deed_of(id) == NULL)
            report(FAULT, "a witness nobody wrote: %s", row[0]);
        else
            witnesses[id / IDS][id % IDS - 1] = true;
    }
    mysql_free_result(rows);
}

/* A transaction is there as a whole, or not at all: also what it wrote before it claimed. */
static void check_deeds(void)
{
    for (int i = 0; i <= world.plan.sessions; i++) {
        const struct session *s = &world.sessions[i];

        for (size_t n = 0; n < s->deed_count; n++) {
            const struct deed *deed = s->deeds[n];

            if (!deed->witnessed)
                continue;
            if (deed->outcome == COMMITTED && !witnesses[i][n])
                report(LOST, "transaction %llu was committed, its first row is not there",
                       (unsigned long long)deed->id);
            if (deed->outcome == ROLLED_BACK && witnesses[i][n])
                report(FAULT, "transaction %llu was rolled back, its first row is there",
                       (unsigned long long)deed->id);
        }
        free(witnesses[i]);
    }
}

static bool is_claimed(const struct event *e)
{
    return e->op <= BEGIN &&
           (strcmp(e->state, "CLAIMED") == 0 || strcmp(e->state, "RECLAIMED") == 0);
}

/* A claim that was committed, so that from issued() on its token is the key's. */
static bool is_issued(const struct event *e)
{
    return is_claimed(e) && !e->undone && e->deed->outcome == COMMITTED;
}

static uint64_t issued(const struct event *e)
{
    return e->deed->end_after > e->after ? e->deed->end_after : e->after;
}

static bool is_settled(const struct event *e)
{
    return e->op >= FINISH && e->op <= CHECKPOINT;
}

static bool is_final(const struct event *e)
{
    return e->op == FINISH || e->op == COMMIT || (e->op == FAIL && e->final);
}

static bool answers(const struct event *e, const char *state)
{
    return e->error == 0 && !is_settled(e) && strcmp(e->state, state) == 0;
}

/* The result or error that an answer carried was given by a call whose commit had begun by then. */
static void check_replay(const struct event *e, int key)
{
    bool done = answers(e, "DONE");
    const struct deed *deed = deed_of(e->id);

    if (done && works[key].count == 0)
        report(LOST, "key %d answered DONE, its work is not there", key);
    else if (done && works[key].id != e->id)
        report(FAULT, "key %d answered DONE by %llu, its work is by %llu", key,
               (unsigned long long)e->id, (unsigned long long)works[key].id);
    if (!done && works[key].count > 0)
        report(FAULT, "key %d answered FAILED, its work is there", key);
    if (e->id == LAPSED && key % 5 == 1)
        return; /* idem's own error */
    if (deed == NULL || deed->outcome == ROLLED_BACK || deed->end_before > e->after)
        report(FAULT, "key %d answered %s by %llu, which was not committed", key, e->state,
               (unsigned long long)e->id);
}

/* a: a claim that was committed; b: what was answered at any time. */
static void check_claim_pair(const struct event *a, const struct event *b, int key)
{
    if (is_settled(b) && b->error == 0 && b->token != 0 && b->token < a->token) {
        if (issued(a) < b->before)
            report(FAULT, "key %d: token %llu accepted after %llu was issued", key,
                   (unsigned long long)b->token, (unsigned long long)a->token);
        if (b->deed->outcome == COMMITTED && a->before > b->after &&
            issued(a) < b->deed->end_before)
            report(FAULT, "key %d: token %llu issued while %llu was being settled", key,
                   (unsigned long long)a->token, (unsigned long long)b->token);
    }
    if (!is_claimed(b) || issued(a) >= b->before)
        return;
    if (b->token < a->token || (b->token == a->token && a->session != b->session))
        report(FAULT, "key %d: token %llu issued after %llu", key, (unsigned long long)b->token,
               (unsigned long long)a->token);
    if (b->token > a->token && b->attempt <= a->attempt)
        report(FAULT, "key %d: attempt %u after attempt %u", key, b->attempt, a->attempt);
}

/* The earliest that the lease of a claim can have begun: at the call that got the token, which may
   be an earlier one of the same session whose answer was lost in a kill. (Not the token's time: the
   clock may have jumped inside the call.) */
static int64_t lease_start(const struct event *const *events, size_t count, const struct event *a)
{
    int64_t start = a->clock_before;

    for (size_t i = 0; i < count; i++) {
        const struct event *e = events[i];

        if (e->op <= BEGIN && e->session == a->session && e->clock_before < start &&
            (e->token == a->token || e->deed->outcome == MAYBE))
            start = e->clock_before;
    }
    return start;
}

/* A committed claim keeps others out until its lease has run out or its owner has let go. */
static void check_lease(const struct event *const *events, size_t count, const struct event *a,
                        const struct event *b, int key)
{
    if (!is_claimed(b) || b->token == a->token || issued(a) >= b->before ||
        b->clock_after >= lease_start(events, count, a) + LEASE_US)
        return;
    for (size_t i = 0; i < count; i++) {
        const struct event *e = events[i];

        if ((e->op == FAIL || e->op == RELEASE) && e->before < b->after &&
            e->deed->outcome != ROLLED_BACK && e->error != 52004)
            return;
    }
    report(FAULT, "key %d: taken over with %llu while the lease of %llu ran", key,
           (unsigned long long)b->token, (unsigned long long)a->token);
}

/* A take-over is handed the recovery point that a committed call has stored. */
static void check_checkpoint(const struct event *const *events, size_t count, const struct event *r,
                             int key)
{
    const struct deed *deed = deed_of(r->checkpoint);

    if (r->checkpoint != 0 && (deed == NULL || deed->outcome == ROLLED_BACK))
        report(FAULT, "key %d hands on checkpoint %llu, which was not committed", key,
               (unsigned long long)r->checkpoint);
    for (size_t i = 0; i < count && r->checkpoint == 0; i++) {
        const struct event *e = events[i];

        if (e->op == CHECKPOINT && e->error == 0 && e->deed->outcome == COMMITTED &&
            e->deed->end_after < r->before)
            report(LOST, "key %d: taken over without checkpoint %llu", key,
                   (unsigned long long)e->id);
    }
}

/* UNKNOWN moves the token on, so who had the claim before is out. */
static void check_unknown(const struct event *const *events, size_t count, const struct event *u,
                          int key)
{
    if (key % 5 != 0)
        report(FAULT, "key %d: UNKNOWN against its policy", key);
    for (size_t i = 0; i < count; i++) {
        const struct event *a = events[i];

        for (size_t j = 0; j < count && is_issued(a) && issued(a) < u->before; j++) {
            const struct event *e = events[j];

            if (is_settled(e) && e->error == 0 && e->token == a->token && e->before > u->after)
                report(FAULT, "key %d: token %llu accepted after UNKNOWN was answered", key,
                       (unsigned long long)e->token);
        }
    }
}

/* What happened to a key, for whoever looks into a fault. */
static void print_events(const struct event *const *events, size_t count)
{
    static const char *const ops[] = {"claim",   "begin", "finish",     "commit", "fail",
                                      "release", "renew", "checkpoint", "peek",   "consume"};
    static const char *const outcomes[] = {"open", "committed", "rolled back", "maybe"};

    for (size_t i = 0; i < count; i++) {
        const struct event *e = events[i];

        fprintf(stderr,
                "    %8llu-%-8llu %lld session %-3d deed %llu (%s at %llu-%llu)%s: %s%s through "
                "%s, token "
                "%llu: error %u, %s by %lld, token %llu, attempt %u\n",
                (unsigned long long)e->before, (unsigned long long)e->after,
                (long long)e->clock_before, e->session, (unsigned long long)e->deed->id,
                outcomes[e->deed->outcome], (unsigned long long)e->deed->end_before,
                (unsigned long long)e->deed->end_after, e->undone ? " undone" : "", ops[e->op],
                e->final ? " for good" : "", way_names[e->way],
                (unsigned long long)(is_settled(e) ? e->token : 0), e->error, e->state,
                (long long)e->id, (unsigned long long)(is_settled(e) ? 0 : e->token), e->attempt);
    }
}

static void check_key(const struct event *const *events, size_t count, int key)
{
    uint64_t over = UINT64_MAX, told = 0;
    bool young = is_young(key, atomic_load(&world.clock_low));

    if (works[key].count > 1)
        report(DOUBLED, "key %d: its work was committed %u times", key, works[key].count);
    for (size_t i = 0; i < count; i++) {
        const struct event *e = events[i];
        bool replay = answers(e, "DONE") || answers(e, "FAILED");

        if (replay)
            check_replay(e, key);
        if (replay && e->after < over)
            over = e->after;
        if (e->error != 0 || !is_final(e) || e->deed->outcome != COMMITTED)
            continue;
        if (e->deed->end_after < over)
            over = e->deed->end_after;
        if (told != 0 && told != e->id)
            report(DOUBLED, "key %d: %llu and %llu were both told that theirs counts", key,
                   (unsigned long long)told, (unsigned long long)e->id);
        told = e->id;
        if (e->op != FAIL && (works[key].count == 0 || works[key].id != e->id))
            report(LOST, "key %d: %llu was told that it is done, its work is not there", key,
                   (unsigned long long)e->id);
    }
    for (size_t i = 0; i < count; i++) {
        const struct event *e = events[i];

        if (e->before > over && e->error == 0 &&
            (is_claimed(e) || (e->op == PEEK && !answers(e, "DONE") && !answers(e, "FAILED"))))
            report(FAULT, "key %d: %s after it was over", key, e->state);
        if (answers(e, "RECLAIMED"))
            check_checkpoint(events, count, e, key);
        if (answers(e, "UNKNOWN"))
            check_unknown(events, count, e, key);
        if (!is_issued(e))
            continue;
        for (size_t j = 0; j < count; j++) {
            check_claim_pair(e, events[j], key);
            check_lease(events, count, e, events[j], key);
        }
    }
    if (young && records[key].count != 1)
        report(records[key].count > 1 ? DOUBLED : LOST, "key %d has %u records", key,
               records[key].count);
    else if (young && (records[key].status == 1) != (works[key].count > 0))
        report(LOST, "key %d: status %u and %u times its work", key, records[key].status,
               works[key].count);
}

/* Somebody may have had the event when d was told so: committed by then, or earlier in d's own
   transaction. */
static bool was_had(const struct event *const *events, size_t count, const struct event *d)
{
    for (size_t i = 0; i < count; i++) {
        const struct event *e = events[i];

        if (e->error == 0 && !answers(e, "NEW"))
            continue;
        if (e->deed == d->deed
                ? answers(e, "NEW") && e->before < d->before && (!e->undone || d->undone)
                : !e->undone && e->deed->outcome != ROLLED_BACK && e->deed->end_before < d->after)
            return true;
    }
    return false;
}

/* One event of one consumer. */
static void check_consumed(const struct event *const *events, size_t count, int key)
{
    unsigned int taken = 0;

    if (seen[key].count > 1)
        report(DOUBLED, "event %d was handled %u times", key, seen[key].count);
    for (size_t i = 0; i < count; i++) {
        const struct event *e = events[i];

        if (answers(e, "NEW") && !e->undone && e->deed->outcome == COMMITTED) {
            taken++;
            if (e->deed->witnessed && seen[key].id != e->deed->id)
                report(LOST, "event %d: %llu has handled it, that is not there", key,
                       (unsigned long long)e->deed->id);
        }
        if (answers(e, "DUPLICATE") && !was_had(events, count, e))
            report(LOST, "event %d: DUPLICATE, and nobody had it", key);
    }
    if (taken > 1)
        report(DOUBLED, "event %d was NEW %u times", key, taken);
    if (inbox[key].count > 1 ||
        (taken > 0 && inbox[key].count == 0 && is_young(key / 2, atomic_load(&world.clock_low))))
        report(inbox[key].count > 1 ? DOUBLED : LOST, "event %d has %u records", key,
               inbox[key].count);
}

static int by_key(const void *left, const void *right)
{
    const struct event *a = *(const struct event *const *)left;
    const struct event *b = *(const struct event *const *)right;
    bool a_inbox = a->op == CONSUME, b_inbox = b->op == CONSUME;

    if (a_inbox != b_inbox)
        return a_inbox ? 1 : -1;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->before < b->before ? -1 : a->before > b->before;
}

void check_history(MYSQL *sql)
{
    size_t count = 0, from = 0;
    int faults, printed = 0;
    const struct event **events;

    for (int i = 0; i <= world.plan.sessions; i++)
        count += world.sessions[i].event_count;
    events = calloc(count + 1, sizeof(struct event *));
    if (events == NULL)
        abort();
    count = 0;
    for (int i = 0; i <= world.plan.sessions; i++)
        for (size_t n = 0; n < world.sessions[i].event_count; n++)
            events[count++] = world.sessions[i].events[n];
    qsort(events, count, sizeof(struct event *), by_key);
    load_tables(sql);
    for (size_t to = 1; to <= count; to++) {
        if (to < count && events[to]->key == events[from]->key &&
            (events[to]->op == CONSUME) == (events[from]->op == CONSUME))
            continue;
        faults = atomic_load(&world.faults);
        if (events[from]->op == CONSUME)
            check_consumed(events + from, to - from, events[from]->key);
        else
            check_key(events + from, to - from, events[from]->key);
        if (faults != atomic_load(&world.faults) && printed++ < 3)
            print_events(events + from, to - from);
        from = to;
    }
    check_deeds();
    free(events);
    free(works);
    free(seen);
    free(records);
    free(inbox);
}
