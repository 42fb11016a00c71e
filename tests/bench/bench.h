/* SPDX-License-Identifier: GPL-2.0-only */
/* The benchmark. Work: something a client does over and over. Slice: all clients doing one work for
   a while. Round: one slice of each work, in turn; what is compared is always of the same round, so
   a noisy neighbour hits both sides. */
#ifndef IDEM_BENCH_H
#define IDEM_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server.h"

#define WORKS_MAX 4
#define ROUNDS_MAX 31

enum link { SOCKET, LINK }; /* LINK: half a millisecond per round trip */

/* --- what the command line said --- */
struct options {
    bool full;
    const char *only; /* "B2,B3", or NULL */
    const char *json; /* file, or NULL */
    const char *fair; /* hand_written.sql */
    bool netem;       /* run.sh has put 0.25 ms on 127.0.0.1, each way */
};
extern struct options options;

/* The statement of this name in hand_written.sql; lives for ever. */
const char *hand(const char *name);

/* Runs every statement named "create". */
void hand_create(MYSQL *sql);

/* --- clients --- */
struct client;
struct work {
    const char *name;
    void (*once)(struct client *client);
    struct server *server;
};

struct reply {
    unsigned int error;
    char text[24]; /* first column of the first row */
    uint64_t affected;
};

/* Executes a prepared statement (prepared at first use) with parameters sent as strings, NULL for
   NULL, and reads all its results. An error is counted against the slice. text must live on. */
struct reply ask(struct client *client, const char *text, size_t count,
                 const char *const *parameters);
#define ASK(client, text, ...)                                                                     \
    ask(client, text, sizeof((const char *[]){__VA_ARGS__}) / sizeof(const char *),                \
        (const char *[]){__VA_ARGS__})
#define ASK0(client, text) ask(client, text, 0, NULL)

/* Records how long something took; which is 0 or 1. */
void sample(struct client *client, int which, uint64_t ns);
uint64_t now_ns(void);

/* An answer that is not the expected one counts as an error and is shown once. */
void expect(struct client *client, const struct reply *reply, const char *state);

/* A key nobody used before; 24 bytes of random order. Also the client's own random numbers. */
const char *new_key(struct client *client);
uint64_t random_number(struct client *client);
unsigned int client_number(const struct client *client);

struct slice {
    double per_second;
    double cpu_us;                  /* of the server, per operation */
    double median_us[2], p99_us[2]; /* of the samples; 0 without any */
    uint64_t errors, deadlocks;
};

struct load {
    unsigned int clients;
    enum link link;
    unsigned int rounds; /* odd, at most ROUNDS_MAX */
    double seconds;      /* of one slice */
};

/* Runs rounds of slices; ret_slices[round][work]. */
void measure(const struct load *load, const struct work *works, size_t count,
             struct slice ret_slices[ROUNDS_MAX][WORKS_MAX]);

/* --- the report --- */
struct spread {
    double median, low, high;
};
struct spread spread_of(double *values, size_t count);

enum direction { AT_LEAST, AT_MOST, FOR_INFORMATION };

/* One line: ours and theirs in unit, their ratio, and whether it meets the target. */
void report(const char *id, const char *setting, const char *ours_name, const char *theirs_name,
            const char *unit, struct spread ours, struct spread theirs, struct spread ratio,
            enum direction direction, double target);

/* The same from slices: field 'r' is operations per second, 'm' the median time of sample 0, 'c'
   the server's processor time per operation, which a busy machine disturbs least. Ratios are taken
   round by round. */
void report_slices(const char *id, const char *setting, const struct work *works, size_t ours,
                   size_t theirs, char field, struct slice slices[ROUNDS_MAX][WORKS_MAX],
                   unsigned int rounds, enum direction direction, double target);

/* One measured number against a limit. */
void report_number(const char *id, const char *setting, const char *what, const char *unit,
                   double number, enum direction direction, double target);

/* Loudly: not measured, and why. */
void report_skipped(const char *id, const char *why);

void report_finish(void);

/* --- servers with a past --- */
/* A server with `days` past days, today and tomorrow, all empty, and the hand-written tables. Its
   clock stands still at noon. */
struct server *server_with_days(unsigned int days);

/* Moves that clock to another hour of today (UTC). */
void set_hour(MYSQL *sql, int hour);

/* Fills each day from `from` to `to` days ago with `keys` finished records, and the hand-written
   table with the same when `peers`. old_key() is the name of the i-th. */
void fill_days(struct server *server, unsigned int from, unsigned int to, uint64_t keys,
               bool peers);
void old_key(unsigned int day, uint64_t i, char ret_key[32]);
/* Seals the past days; all but yesterday in the first two hours after midnight UTC. */
void seal_days(struct server *server, unsigned int days);

void set_durability(struct server *server, bool full);
unsigned int bench_rounds(void);
double bench_seconds(void);
uint64_t bench_keys(void);

/* --- the cases; loaded is the server with 30 days that most of them share --- */
void bench_transactions(struct server *loaded);                                     /* B1 */
void bench_first_claim(struct server *loaded, const char *setting, bool is_target); /* B2 */
void bench_replay(struct server *loaded);                                           /* B3 */
void bench_sealed(void);                                                            /* B4 */
void bench_crowd(struct server *loaded);                                            /* B5 */
void bench_retention(void);                                                         /* B6 */
void bench_batches(struct server *loaded);                                          /* B7 */
void bench_filter(void);                                                            /* B8 */
void bench_growth(struct server *loaded);                                           /* B9 */

#endif
