/* SPDX-License-Identifier: GPL-2.0-only */
/* B5: 256 clients want one key while its owner works. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "bench.h"

#define CROWD 256
#define WORK_MS 50

static atomic_uint round_number; /* names the key that everybody wants */
static atomic_bool over;

static void key_of(unsigned int number, char ret_key[32])
{
    snprintf(ret_key, 32, "crowd-%u", number);
}

/* Claims a key, lets the crowd at it, works, and ends by commit and by rollback in turn. */
static void *own(void *argument)
{
    struct server *server = argument;
    MYSQL *sql = server_connect(server);

    for (unsigned int number = atomic_load(&round_number) + 1; !atomic_load(&over); number++) {
        char key[32];

        key_of(number, key);
        run(sql, "CALL idem.begin('bench', '%s', NULL)", key);
        atomic_store(&round_number, number);
        nanosleep(&(struct timespec){.tv_nsec = WORK_MS * 1000000L}, NULL);
        if (number % 2 == 0)
            run(sql, "CALL idem.commit('bench', '%s', NULL, '{\"ok\":true}')", key);
        else
            run(sql, "ROLLBACK");
        nanosleep(&(struct timespec){.tv_nsec = WORK_MS * 1000000L / 4}, NULL);
    }
    mysql_close(sql);
    return NULL;
}

static void want(struct client *client)
{
    char key[32];
    uint64_t began = now_ns();

    ASK(client, "SELECT ?", "1");
    sample(client, 1, now_ns() - began);
    key_of(atomic_load(&round_number), key);
    began = now_ns();
    ASK(client, "CALL idem.claim(?, ?, ?)", "bench", key, NULL);
    sample(client, 0, now_ns() - began);
}

void bench_crowd(struct server *loaded)
{
    static struct slice slices[ROUNDS_MAX][WORKS_MAX];
    const struct work work = {"claim of a held key", want, loaded};
    const struct load load = {CROWD, SOCKET, bench_rounds(), options.full ? 5.0 : 1.0};
    double claims[ROUNDS_MAX] = {0}, selects[ROUNDS_MAX] = {0}, ratio[ROUNDS_MAX] = {0};
    uint64_t errors = 0, deadlocks = 0;
    pthread_t owner;

    atomic_store(&over, false);
    pthread_create(&owner, NULL, own, loaded);
    while (atomic_load(&round_number) == 0)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    measure(&load, &work, 1, slices);
    atomic_store(&over, true);
    pthread_join(owner, NULL);
    for (unsigned int i = 0; i < load.rounds; i++) {
        claims[i] = slices[i][0].p99_us[0];
        selects[i] = slices[i][0].p99_us[1];
        ratio[i] = claims[i] / selects[i];
        errors += slices[i][0].errors;
        deadlocks += slices[i][0].deadlocks;
    }
    report_number("B5", "256 clients, one key", "errors", "", (double)errors, AT_MOST, 0);
    report_number("B5", "256 clients, one key", "deadlocks", "", (double)deadlocks, AT_MOST, 0);
    report("B5", "256 clients, one key", "p99 of the answer", "p99 of SELECT 1", "us",
           spread_of(claims, load.rounds), spread_of(selects, load.rounds),
           spread_of(ratio, load.rounds), AT_MOST, 3);
}
