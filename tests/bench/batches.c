/* SPDX-License-Identifier: GPL-2.0-only */
/* B7: events in batches of 500 against one by one. */
#include <stdio.h>
#include <string.h>

#include "bench.h"

#define BATCH 500

static void many(struct client *client)
{
    char events[BATCH * 32];
    size_t length = 0;

    for (int i = 0; i < BATCH; i++)
        length += (size_t)snprintf(events + length, sizeof(events) - length, "%c\"%s\"",
                                   i == 0 ? '[' : ',', new_key(client));
    snprintf(events + length, sizeof(events) - length, "]");
    ASK0(client, hand("start"));
    ASK(client, "CALL idem.consume_many(?, ?)", "bench", events);
    ASK0(client, hand("commit"));
}

static void one(struct client *client)
{
    struct reply reply = ASK(client, "CALL idem.consume(?, ?, ?)", "bench", new_key(client), NULL);

    expect(client, &reply, "NEW");
}

static void one_by_one(struct client *client)
{
    ASK0(client, hand("start"));
    for (int i = 0; i < BATCH; i++)
        one(client);
    ASK0(client, hand("commit"));
}

static void per_event(struct slice slices[ROUNDS_MAX][WORKS_MAX], unsigned int rounds, size_t work)
{
    for (unsigned int round = 0; round < rounds; round++)
        slices[round][work].per_second *= BATCH;
}

void bench_batches(struct server *loaded)
{
    static struct slice slices[ROUNDS_MAX][WORKS_MAX];
    const struct work works[] = {{"consume_many of 500", many, loaded},
                                 {"consume, each its own commit", one, loaded},
                                 {"consume, 500 a commit", one_by_one, loaded}};
    const struct load load = {1, SOCKET, bench_rounds(), bench_seconds()};

    for (int durable = 0; durable <= 1; durable++) {
        const char *setting = durable ? "full, events/s" : "relaxed, events/s";

        set_durability(loaded, durable);
        measure(&load, works, 3, slices);
        per_event(slices, load.rounds, 0);
        per_event(slices, load.rounds, 2);
        report_slices("B7", setting, works, 0, 1, 'r', slices, load.rounds, AT_LEAST, 5);
        report_slices("B7", setting, works, 0, 2, 'r', slices, load.rounds, FOR_INFORMATION, 0);
    }
    set_durability(loaded, false);
}
