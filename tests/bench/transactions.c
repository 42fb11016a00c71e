/* SPDX-License-Identifier: GPL-2.0-only */
/* B1: a business transaction with two writes. */
#include <stdio.h>

#include "bench.h"

static const char payload[] = "{\"order\":42,\"amount\":10}";
static const char receipt[] = "{\"receipt\":7}";

static void writes(struct client *client)
{
    char account[16];

    snprintf(account, sizeof(account), "%llu",
             (unsigned long long)(random_number(client) % 100000 + 1));
    ASK(client, hand("write 1"), account);
    ASK(client, hand("write 2"), account);
}

static void procedures(struct client *client)
{
    const char *key = new_key(client);
    struct reply reply = ASK(client, "CALL idem.begin(?, ?, ?)", "bench", key, payload);

    expect(client, &reply, "CLAIMED");
    writes(client);
    reply = ASK(client, "CALL idem.commit(?, ?, ?, ?)", "bench", key, NULL, receipt);
    expect(client, &reply, "DONE");
}

static void functions(struct client *client)
{
    const char *key = new_key(client);
    struct reply reply = ASK(client, "SELECT idem_begin(?, ?, ?)", "bench", key, payload);

    expect(client, &reply, "CLAIMED");
    writes(client);
    reply = ASK(client, "SELECT idem_commit(?, ?, ?)", "bench", key, receipt);
    expect(client, &reply, "DONE");
}

static void by_hand(struct client *client)
{
    const char *key = new_key(client);

    ASK0(client, hand("start"));
    ASK(client, hand("claim"), key, "01234567890123456789012345678901");
    writes(client);
    ASK(client, hand("finish"), receipt, key);
    ASK0(client, hand("commit"));
}

static void without(struct client *client)
{
    ASK0(client, hand("start"));
    writes(client);
    ASK0(client, hand("commit"));
}

void bench_transactions(struct server *loaded)
{
    static const unsigned int crowds[] = {1, 8, 32};
    static struct slice slices[ROUNDS_MAX][WORKS_MAX];
    const struct work works[] = {{"begin/commit procedures", procedures, loaded},
                                 {"begin/commit functions", functions, loaded},
                                 {"hand-written", by_hand, loaded},
                                 {"no idempotency", without, loaded}};

    if (!options.netem)
        report_skipped("B1", "a real link: netem is not permitted here; instead each client pauses "
                             "0.5 ms before each round trip ('paused')");
    for (int link = SOCKET; link <= LINK; link++)
        for (int durable = 0; durable <= 1; durable++)
            for (size_t i = 0; i < sizeof(crowds) / sizeof(crowds[0]); i++) {
                const struct load load = {crowds[i], (enum link)link, bench_rounds(),
                                          bench_seconds()};
                const char *road = link == SOCKET ? "socket" : options.netem ? "link" : "paused";
                char setting[48];

                set_durability(loaded, durable);
                measure(&load, works, 4, slices);
                snprintf(setting, sizeof(setting), "%s, %s, %u client%s", road,
                         durable ? "full" : "relaxed", crowds[i], crowds[i] > 1 ? "s" : "");
                report_slices("B1", setting, works, 0, 2, 'r', slices, load.rounds, AT_LEAST,
                              link == SOCKET ? 0.95 : 1.2);
                report_slices("B1", setting, works, 0, 3, 'r', slices, load.rounds, AT_LEAST,
                              link == SOCKET ? 0.7 : 0.95);
                report_slices("B1", setting, works, 1, 0, 'r', slices, load.rounds, AT_LEAST, 0.85);
                if (link == SOCKET)
                    report_slices("B1", setting, works, 0, 2, 'c', slices, load.rounds,
                                  FOR_INFORMATION, 0);
            }
    set_durability(loaded, false);
}
