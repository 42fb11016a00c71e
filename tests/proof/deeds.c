/* SPDX-License-Identifier: GPL-2.0-only */
/* Connections, and the transactions that deeds stand for. */
#include "sessions.h"

#include <stdlib.h>
#include <time.h>

int choose(struct session *s, int count)
{
    return (int)(rand_r(&s->seed) % (unsigned int)count);
}

bool is_gone(unsigned int error)
{
    return error == 1927 || error == 1053 || (error >= 2000 && error < 3000);
}

struct deed *new_deed(struct session *s)
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

void end_deed(struct deed *deed, enum outcome outcome, uint64_t before)
{
    deed->outcome = outcome;
    deed->end_before = before;
    deed->end_after = atomic_fetch_add(&world.stamp, 1);
}

/* A killed call may have come through. */
void end_single(struct event *event)
{
    end_deed(event->deed,
             event->undone                                  ? ROLLED_BACK
             : event->error == 0                            ? COMMITTED
             : event->error > 52000 && event->error < 52011 ? ROLLED_BACK
                                                            : MAYBE,
             event->before);
}

void connect_session(struct session *s)
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
void give_up(struct session *s, struct deed *deed)
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

void refresh(struct session *s, unsigned int error)
{
    if (is_gone(error))
        connect_session(s);
}

bool in_transaction(struct session *s)
{
    unsigned int status = 0;

    mariadb_get_infov(s->sql, MARIADB_CONNECTION_SERVER_STATUS, &status);
    return status & SERVER_STATUS_IN_TRANS;
}

/* COMMIT: after a kill nobody knows. */
void end_by_commit(struct session *s, struct deed *deed)
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

bool witness(struct session *s, struct deed *deed)
{
    deed->witnessed = true;
    return run_errno(s->sql, "INSERT INTO test.witness VALUES (%llu)",
                     (unsigned long long)deed->id) == 0;
}

bool open_transaction(struct session *s, struct deed *deed)
{
    if (run_errno(s->sql, "START TRANSACTION") == 0 && witness(s, deed))
        return true;
    give_up(s, deed);
    return false;
}
