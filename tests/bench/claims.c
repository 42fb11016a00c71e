/* SPDX-License-Identifier: GPL-2.0-only */
/* B2: a first claim, B3: a replay, B4: a first claim in front of sealed days. */
#include <string.h>

#include "bench.h"

#define DAYS 30
#define BATCH 20 /* claims per transaction, so that its commit is not what is measured */
#define REPLAYED 2000

static const char payload[] = "{\"order\":42,\"amount\":10}";
static const char hash[] = "01234567890123456789012345678901";

static void first_claims(struct client *client, const char *text, bool by_hand)
{
    ASK0(client, hand("start"));
    for (int i = 0; i < BATCH; i++) {
        const char *key = new_key(client);
        uint64_t began = now_ns();
        struct reply reply =
            by_hand ? ASK(client, text, key, hash) : ASK(client, text, "bench", key, payload);

        sample(client, 0, now_ns() - began);
        if (!by_hand)
            expect(client, &reply, "CLAIMED");
    }
    ASK0(client, hand("commit"));
}

static void first_by_procedure(struct client *client)
{
    first_claims(client, "CALL idem.claim(?, ?, ?)", false);
}

static void first_by_function(struct client *client)
{
    first_claims(client, "SELECT idem_claim(?, ?, ?)", false);
}

static void first_by_hand(struct client *client)
{
    first_claims(client, hand("claim"), true);
}

static void round_trip(struct client *client)
{
    uint64_t began = now_ns();

    ASK(client, "DO ?", "1");
    sample(client, 0, now_ns() - began);
}

void bench_first_claim(struct server *loaded, const char *setting, bool is_target)
{
    static struct slice slices[ROUNDS_MAX][WORKS_MAX];
    const struct work works[] = {{"claim procedure", first_by_procedure, loaded},
                                 {"claim function", first_by_function, loaded},
                                 {"bare INSERT", first_by_hand, loaded},
                                 {"round trip alone", round_trip, loaded}};
    const struct load load = {1, SOCKET, bench_rounds(), bench_seconds()};

    measure(&load, works, 4, slices);
    report_slices("B2", setting, works, 0, 2, 'm', slices, load.rounds,
                  is_target ? AT_MOST : FOR_INFORMATION, 1.5);
    report_slices("B2", setting, works, 1, 2, 'm', slices, load.rounds, FOR_INFORMATION, 0);
    report_slices("B2", setting, works, 3, 2, 'm', slices, load.rounds, FOR_INFORMATION, 0);
    report_slices("B2", setting, works, 0, 2, 'c', slices, load.rounds, FOR_INFORMATION, 0);
    report_slices("B2", setting, works, 1, 0, 'c', slices, load.rounds, FOR_INFORMATION, 0);
}

/* A key of one of the past days: finished, with a result. */
static const char *finished_key(struct client *client, char room[32])
{
    unsigned int day = (unsigned int)(random_number(client) % DAYS) + 1;

    old_key(day, random_number(client) % REPLAYED, room);
    return room;
}

static void replay_by_claim(struct client *client)
{
    char room[32];
    const char *key = finished_key(client, room);
    struct reply reply = ASK(client, "CALL idem.claim(?, ?, ?)", "bench", key, NULL);

    expect(client, &reply, "DONE");
}

static void replay_by_function(struct client *client)
{
    char room[32];
    const char *key = finished_key(client, room);
    struct reply reply = ASK(client, "SELECT idem_claim(?, ?)", "bench", key);

    expect(client, &reply, "DONE");
}

static void replay_by_hand(struct client *client)
{
    char room[32];
    const char *key = finished_key(client, room);

    ASK(client, hand("claim"), key, hash);
    ASK(client, hand("replay"), key);
}

static void replay_by_begin(struct client *client)
{
    char room[32];
    const char *key = finished_key(client, room);
    struct reply reply = ASK(client, "CALL idem.begin(?, ?, ?)", "bench", key, NULL);

    expect(client, &reply, "DONE");
}

static void replay_by_hand_in_transaction(struct client *client)
{
    ASK0(client, hand("start"));
    replay_by_hand(client);
    ASK0(client, hand("rollback"));
}

void bench_replay(struct server *loaded)
{
    static struct slice slices[ROUNDS_MAX][WORKS_MAX];
    static const unsigned int crowds[] = {1, 8};
    const struct work alone[] = {{"claim procedure", replay_by_claim, loaded},
                                 {"claim function", replay_by_function, loaded},
                                 {"INSERT, SELECT", replay_by_hand, loaded}};
    const struct work whole[] = {
        {"begin procedure", replay_by_begin, loaded},
        {"START, INSERT, SELECT, ROLLBACK", replay_by_hand_in_transaction, loaded}};

    for (int i = 0; i < 2; i++) {
        const struct load load = {crowds[i], SOCKET, bench_rounds(), bench_seconds()};
        const char *setting = crowds[i] == 1 ? "socket, 1 client" : "socket, 8 clients";

        measure(&load, alone, 3, slices);
        report_slices("B3", setting, alone, 0, 2, 'r', slices, load.rounds, AT_LEAST, 1.5);
        report_slices("B3", setting, alone, 1, 2, 'r', slices, load.rounds, FOR_INFORMATION, 0);
        report_slices("B3", setting, alone, 0, 2, 'c', slices, load.rounds, FOR_INFORMATION, 0);
        measure(&load, whole, 2, slices);
        report_slices("B3", setting, whole, 0, 1, 'r', slices, load.rounds, AT_LEAST, 1.5);
    }
}

void bench_sealed(void)
{
    static struct slice slices[ROUNDS_MAX][WORKS_MAX];
    struct server *sealed = server_with_days(DAYS), *empty = server_with_days(2);
    const struct work works[] = {{"claim, 30 sealed days", first_by_procedure, sealed},
                                 {"claim, 2 empty days", first_by_procedure, empty}};
    const struct load load = {1, SOCKET, bench_rounds() + 4, bench_seconds()};

    fill_days(sealed, 1, DAYS, bench_keys(), false);
    seal_days(sealed, DAYS);
    measure(&load, works, 2, slices);
    report_slices("B4", "socket, in a transaction", works, 0, 1, 'm', slices, load.rounds, AT_MOST,
                  1.15);
    report_slices("B4", "socket, in a transaction", works, 0, 1, 'c', slices, load.rounds,
                  FOR_INFORMATION, 0);
    server_stop(sealed);
    server_stop(empty);
}
