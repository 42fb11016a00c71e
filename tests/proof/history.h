/* SPDX-License-Identifier: GPL-2.0-only */
/* The proof by history. Many sessions call idem at random while the server is disturbed; each call
   and its answer is an event. Afterwards the checker proves from the events and the final tables
   that no work was doubled or lost.

   Stamp: a number drawn from one counter before and after every call. When a's `after` is below b's
   `before`, a was over before b began; otherwise they overlapped and nothing is concluded.
   Deed: the outcome a call shares with its transaction. In autocommit each call has a deed of its
   own. Id: names one deed's work, result, error and rows: session * IDS + a running number. */
#ifndef IDEM_PROOF_HISTORY_H
#define IDEM_PROOF_HISTORY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "claims.h"
#include "daemon.h"
#include "server.h"

#define IDS 10000000
#define LAPSED UINT64_MAX /* the id of the error that on_expiry writes */
#define HANDS 4           /* leases a session keeps for later */
#define LEASED 16
#define ROUND_SECONDS 30
#define LEASE_US (INT64_C(300) * 1000000)
#define RETENTION_DAYS 12
#define YOUNG_DAYS 6 /* far enough from retention that a stalled session stays within */
#define START_US (INT64_C(1956441600) * 1000000) /* 2031-12-31 */

enum op { CLAIM, BEGIN, FINISH, COMMIT, FAIL, RELEASE, RENEW, CHECKPOINT, PEEK, CONSUME };

/* How a call is made; the first two are the doors of claims.h. */
enum way { PROCEDURE = PROCEDURE_DOOR, UDF = UDF_DOOR, INTO, TRIGGER, FUNCTION };
extern const char *const way_names[];

enum outcome { OPEN, COMMITTED, ROLLED_BACK, MAYBE };

struct deed {
    uint64_t id;
    enum outcome outcome;
    uint64_t end_before, end_after; /* stamps of what ended it */
    bool witnessed;                 /* it wrote its row of test.witness */
};

struct event {
    enum op op;
    enum way way;
    int session, key;
    uint64_t before, after;
    int64_t clock_before, clock_after; /* test clock: no later, no earlier than */
    unsigned int error;
    char state[16];
    uint64_t token;       /* answered by claims, used by the rest */
    unsigned int attempt; /* answered by claims */
    uint64_t id;          /* of the result or error: given, or answered; 0 none */
    bool final;           /* a failure that is not retryable */
    uint64_t checkpoint;  /* answered by claims; 0 none */
    bool undone;          /* a savepoint or a failed statement took it back */
    struct deed *deed;
};

struct hand {
    int key; /* -1: empty */
    uint64_t token;
};

struct session {
    pthread_t thread;
    int number;
    unsigned int seed;
    MYSQL *sql;
    atomic_ulong connection;
    atomic_uint_least64_t
        killed_until; /* stamp after the last KILL; UINT64_MAX while one is sent */
    struct event **events;
    size_t event_count, event_room;
    struct deed **deeds; /* id number * IDS + 1 is the first */
    size_t deed_count, deed_room;
    struct hand hands[HANDS];
};

struct plan {
    unsigned int seed;
    double seconds;
    int sessions, rounds;
    bool hostile; /* callers, instead of busy ones */
    bool crashes; /* kill -9 and restart the server */
    const char *broken;
    const char *points; /* which crash points to attack, instead */
    int flush;          /* innodb_flush_log_at_trx_commit; sync_binlog follows */
    int stride;         /* every so many points */
};

struct world {
    struct plan plan;
    struct server *server;
    struct session *sessions;
    int round;                 /* each has keys of its own */
    int keys;                  /* how many there can be */
    atomic_int head;           /* keys from here on are rarely touched yet */
    atomic_int leased[LEASED]; /* keys that were left as leases not long ago; -1: none */
    atomic_llong *first_day;   /* per key: the first day it was touched, 0 never */
    atomic_ullong stamp;
    atomic_llong clock_low, clock_high; /* the server's clock is between them */
    struct daemon daemon;
    atomic_bool over;
    atomic_int faults, lost, doubled;
};

extern struct world world;

/* Counts a fault and prints the first twenty. */
enum fault { FAULT, LOST, DOUBLED };
void report(enum fault fault, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The biz_type of a key as an SQL literal; its policy lets a lapsed lease be retried, be unknown or
   fail. */
const char *biz_type_of(int key);

/* Sessions. */
void *session_run(void *session);
void session_drain(struct session *session); /* ends every key that is young enough */
bool is_gone(unsigned int error);            /* the connection, not the statement, has failed */
bool is_young(int key, int64_t clock);

/* Disturbers: threads that end with world.over. */
void *disturb_clock(void *unused);
void *disturb_sessions(void *unused);
void *disturb_days(void *unused);
void *disturb_by_daemon(void *unused);

/* Makes the core of the server wrong in the named way; false: no such name. */
bool break_core(MYSQL *sql, const char *name);
void list_breaks(void); /* those that a history shows */

void check_history(MYSQL *sql);

/* The server's counters over a round against what the sessions were told. */
void count_from_here(MYSQL *sql);
void check_counters(MYSQL *sql);

/* Memory, files and threads of server and daemon: what grows without idem, a sample after each
   round, and whether they grow. */
void watch_plain_load(MYSQL *sql);
void watch_sample(void);
void watch_check(void);

/* The attack by hostile callers; how many calls it made. */
size_t hostile_run(void);

#endif
