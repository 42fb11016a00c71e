/* SPDX-License-Identifier: GPL-2.0-only */
/* What a session does: business transactions, leases in autocommit that are taken up again later
   (often too late), events, looks. Its choices come from its seed alone. */
#include "sessions.h"

#include <stdlib.h>
#include <string.h>

enum ending { BY_COMMIT, BY_FINISH, BY_ROLLBACK, BY_FINAL, BY_RETRYABLE, BY_RELEASE, BY_LEAVING };

static bool work(struct session *s, int key, struct deed *deed)
{
    return run_errno(s->sql, "INSERT INTO test.work VALUES (%d, %llu)", key,
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
    atomic_store(&world.leased[choose(s, LEASED)], key);
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
    do
        event = ask(s, one_call ? BEGIN : CLAIM, key, deed);
    while (event->undone && event->error == 0);
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
    if (is_owner(event) && !event->undone)
        keep(s, key, event->token);
    refresh(s, event->error);
    if (event->error == 0 &&
        (strcmp(event->state, "FAILED") == 0 || strcmp(event->state, "UNKNOWN") == 0)) {
        event = ask(s, PEEK, key, new_deed(s)); /* it must still be so */
        end_single(event);
        refresh(s, event->error);
    }
}

/* Goes on with a lease, which may have lapsed and been taken over meanwhile. */
static void take_up(struct session *s, struct hand *hand)
{
    static const enum op ops[] = {RENEW, CHECKPOINT, RELEASE, FAIL, FAIL};
    int key = hand->key, action = choose(s, 12);
    uint64_t token = choose(s, 4) == 0 ? 0 : hand->token;
    struct deed *deed = new_deed(s);

    if (action >= 5) {
        if (open_transaction(s, deed) && complete(s, key, token, action % 2, deed))
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
        int head = atomic_load(&world.head), action = choose(s, 22);
        int reach = choose(s, 1 << choose(s, 13));
        int key = choose(s, 3) != 0 ? head + choose(s, 24) : head > reach ? head - reach : head;
        int leased = atomic_load(&world.leased[choose(s, LEASED)]);
        struct hand *hand = &s->hands[choose(s, HANDS)];
        struct event *event;

        if (key >= world.keys)
            break;
        if (action < 13 && leased >= 0 && choose(s, 4) == 0)
            key = leased;
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
        } else if (action < 20) {
            take_batch(s, key);
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
            if (key % 5 == 0)
                run_errno(s->sql, "CALL idem.resolve('unknown', 'p%d-%d', 'retry', NULL)",
                          world.round, key);
        if (tries >= 20)
            report(LOST, "key %d cannot be ended", key);
    }
    mysql_close(s->sql);
    s->sql = NULL;
}
