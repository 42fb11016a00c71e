/* SPDX-License-Identifier: GPL-2.0-only */
/* Events that sessions take, one by one and in batches. */
#include "sessions.h"

#include <string.h>

/* Handles what is new, in the transaction that took it. */
static bool handle(struct session *s, const struct event *event)
{
    return strcmp(event->state, "NEW") != 0 ||
           run_errno(s->sql, "INSERT INTO test.seen VALUES (%d, %llu)", event->key,
                     (unsigned long long)event->deed->id) == 0;
}

void take_event(struct session *s, int key)
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
    if (!open_transaction(s, deed))
        return;
    event = ask(s, CONSUME, key, deed);
    if (event->error == 0 && !in_transaction(s))
        report(FAULT, "event %d: %s, and the transaction is gone", key, event->state);
    if (event->error != 0 || !handle(s, event) || choose(s, 5) == 0)
        give_up(s, deed);
    else
        end_by_commit(s, deed);
}

/* A batch, now and then after one that is taken back to a savepoint, or after a single one. */
void take_batch(struct session *s, int key)
{
    struct deed *deed = new_deed(s);
    struct event *events[BATCH_MAX], *event;
    bool good = true;
    int count;

    if (!open_transaction(s, deed))
        return;
    if (choose(s, 5) == 0) {
        good = run_errno(s->sql, "SAVEPOINT b") == 0 &&
               (count = ask_many(s, key, deed, events)) > 0 &&
               run_errno(s->sql, "ROLLBACK TO b") == 0;
        for (int i = 0; good && i < count; i++)
            events[i]->undone = true;
    } else if (choose(s, 5) == 0) {
        event = ask(s, CONSUME, key * 2 + choose(s, 2), deed);
        good = event->error == 0 && handle(s, event);
    }
    count = good ? ask_many(s, key, deed, events) : 0;
    if (count > 0 && !in_transaction(s))
        report(FAULT, "events around %d: the transaction is gone", key);
    for (int i = 0; i < count; i++)
        if (!handle(s, events[i]))
            count = 0;
    if (count == 0 || choose(s, 5) == 0)
        give_up(s, deed);
    else
        end_by_commit(s, deed);
}
