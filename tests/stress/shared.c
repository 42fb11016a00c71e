/* SPDX-License-Identifier: GPL-2.0-only */
/* Stress on everything that sessions share inside the plugin: the catalog's snapshots and their
   filters, the handles of sessions, counters, tokens, the day, the gate. Built with
   -fsanitize=thread it finds races (tests/sanitize.sh); without, what they would come to.

     stress_shared [SECONDS] */
#include "fake_server.h"

#include <my_config.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "catalog.h"
#include "clock.h"
#include "counters.h"
#include "gate.h"
#include "session.h"

#define READERS 3
#define CONNECTERS 2

static atomic_bool over;
static atomic_ulong looks, reloads, sessions, tokens, loads;

static void expect(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "stress: %s\n", what);
    abort();
}

static bool enter(void)
{
    if (idem_gate_enter("stress"))
        return true;
    nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    return false;
}

/* What a claim does with a snapshot. */
static void look(const struct idem_catalog *catalog, unsigned int *seed)
{
    const struct idem_policy *policy = NULL;
    const struct idem_day *days;
    int64_t lease = -1;
    size_t count;

    for (int i = 0; i < 20; i++) {
        char name[8];
        struct idem_text text = {name, 3};

        snprintf(name, sizeof(name), "p%02d", i);
        policy = idem_catalog_policy(catalog, text);
        expect(policy != NULL, "a policy is not found");
        expect(i == 0 || policy->lease_seconds == lease, "policies of two generations");
        lease = policy->lease_seconds;
    }
    expect(idem_catalog_allows(catalog, (struct idem_text){"app@here", 8},
                               (struct idem_text){"pay", 3}),
           "access is refused");
    days = idem_catalog_days(catalog, &count);
    expect(count == FAKE_DAYS, "days are missing");
    for (size_t i = 0; i < count; i++) {
        uint64_t hash = fake_hash(days[i].number, rand_r(seed) % FAKE_KEYS);

        expect(i == 0 || days[i].number == days[i - 1].number + 1, "days out of order");
        expect(days[i].sealed == (i < FAKE_DAYS - 3), "the wrong day is sealed");
        expect(idem_sealed_maybe(days[i].filter, hash), "a filter denies a key of its day");
    }
}

static void *read_catalog(void *number)
{
    unsigned int seed = *(const unsigned int *)number;

    while (!atomic_load(&over)) {
        const struct idem_catalog *catalog;
        uint64_t token;
        int ticket;

        if (!enter())
            continue;
        catalog = idem_catalog_enter(&ticket);
        if (catalog != NULL) {
            look(catalog, &seed);
            idem_catalog_leave(ticket);
            atomic_fetch_add(&looks, 1);
        }
        token = idem_clock_token();
        expect(idem_clock_token() > token, "tokens do not grow");
        atomic_fetch_add(&tokens, 2);
        idem_clock_today(20);
        expect(idem_counters_add("CLAIMED", 7), "no counter CLAIMED");
        idem_sealed_count(1, 1);
        if (rand_r(&seed) % 64 == 0 && idem_catalog_reload())
            atomic_fetch_add(&reloads, 1);
        idem_gate_leave();
    }
    return NULL;
}

/* Sessions come, call a door a few times, and go. The server holds the plugin for each notice,
   which is the gate here. */
static void *connect_sessions(void *number)
{
    unsigned long id = *(const unsigned int *)number;
    struct mysql_event_connection event = {.status = 0};

    while (!atomic_load(&over)) {
        struct idem_session session;

        id += CONNECTERS;
        if (!enter())
            continue;
        event.thread_id = id * 1024 + id / CONNECTERS % 16; /* all in few buckets of the table */
        event.event_subclass = MYSQL_AUDIT_CONNECTION_CONNECT;
        idem_session_notify(&event);
        fake_become(event.thread_id);
        for (int i = 0; i < 4; i++) {
            if (!idem_session_open("stress", i % 2, &session)) {
                expect(!idem_gate_is_open(), "no session, and the plugin is not leaving");
                break;
            }
            expect(session.sql != &session.fresh, "the handle is not found");
            idem_session_close(&session, i % 2);
        }
        /* Some are still there when the plugin goes. */
        event.event_subclass = MYSQL_AUDIT_CONNECTION_DISCONNECT;
        if (id % 8 > 1)
            idem_session_notify(&event);
        idem_gate_leave();
        atomic_fetch_add(&sessions, 1);
    }
    return NULL;
}

static void *change_tables(void *unused)
{
    unsigned int seed = 7;

    while (!atomic_load(&over)) {
        static const int64_t limits[] = {0, 2500, 5000, 1 << 28, 1 << 28};

        fake_next_generation();
        fake_limit_filters(limits[rand_r(&seed) % 5]);
        if (enter()) {
            if (idem_catalog_reload())
                atomic_fetch_add(&reloads, 1);
            idem_gate_leave();
        }
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return unused;
}

static void load_plugin(void)
{
    expect(idem_catalog_start() == 0, "no thread");
    idem_counters_start();
    idem_gate_open();
    atomic_fetch_add(&loads, 1);
}

static void unload_plugin(void)
{
    idem_gate_close();
    idem_catalog_stop();
    idem_session_deinit();
    expect(idem_sealed_bytes() == 0, "filters are left over");
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 2;
    unsigned int numbers[READERS + CONNECTERS];
    pthread_t threads[READERS + CONNECTERS + 1];
    char json[4096];

    load_plugin();
    for (unsigned int i = 0; i < READERS + CONNECTERS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, i < READERS ? read_catalog : connect_sessions,
                       &numbers[i]);
    }
    pthread_create(&threads[READERS + CONNECTERS], NULL, change_tables, NULL);
    for (int i = 0; i < seconds * 5; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
        expect(idem_counters_json(json, sizeof(json)) > 0, "no counters");
        unload_plugin();
        load_plugin();
    }
    atomic_store(&over, true);
    for (int i = 0; i < READERS + CONNECTERS + 1; i++)
        pthread_join(threads[i], NULL);
    unload_plugin();
    printf("stress: %lu looks, %lu reloads, %lu sessions, %lu tokens, %lu times loaded\n",
           atomic_load(&looks), atomic_load(&reloads), atomic_load(&sessions), atomic_load(&tokens),
           atomic_load(&loads));
    return atomic_load(&looks) == 0 || atomic_load(&reloads) == 0 || atomic_load(&sessions) == 0;
}
