/* SPDX-License-Identifier: GPL-2.0-only */
/* B1: a business transaction with two writes, and how its cost grows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static const char payload[] = "{\"order\":42,\"amount\":10}";
static const char small_receipt[] = "{\"receipt\":7}";
static const char *receipt = small_receipt;

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

/* The result is stored once, in the same transaction; both sides carry it. */
static void grow_result(struct server *loaded)
{
    static struct slice slices[ROUNDS_MAX][WORKS_MAX];
    static const size_t sizes[] = {100, 10000, 1000000};
    const struct work works[] = {{"begin/commit procedures", procedures, loaded},
                                 {"hand-written", by_hand, loaded}};
    const struct load load = {1, SOCKET, bench_rounds(), bench_seconds()};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char *text = malloc(sizes[i] + 1), setting[48];

        memset(text, 'x', sizes[i]);
        text[0] = text[sizes[i] - 1] = '"';
        text[sizes[i]] = '\0';
        receipt = text;
        measure(&load, works, 2, slices);
        receipt = small_receipt;
        free(text);
        snprintf(setting, sizeof(setting), "result of %zu bytes", sizes[i]);
        report_slices("B9", setting, works, 0, 1, 'c', slices, load.rounds, FOR_INFORMATION, 0);
    }
}

/* A server with a past against one with two empty days. */
static void grow_past(unsigned int days, uint64_t keys)
{
    static struct slice slices[ROUNDS_MAX][WORKS_MAX];
    struct server *old = server_with_days(days), *empty = server_with_days(2);
    const struct work works[] = {{"with a past", procedures, old},
                                 {"2 empty days", procedures, empty}};
    const struct load load = {1, SOCKET, bench_rounds(), bench_seconds()};
    char setting[48];

    fill_days(old, 1, days, keys, false);
    seal_days(old, days);
    measure(&load, works, 2, slices);
    snprintf(setting, sizeof(setting), "%u days of %llu keys", days, (unsigned long long)keys);
    report_slices("B9", setting, works, 0, 1, 'c', slices, load.rounds, FOR_INFORMATION, 0);
    server_stop(old);
    server_stop(empty);
}

void bench_growth(struct server *loaded)
{
    grow_result(loaded);
    grow_past(30, 100);
    grow_past(30, bench_keys());
    grow_past(90, 1000);
    grow_past(365, 1000);
}
