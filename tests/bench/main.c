/* SPDX-License-Identifier: GPL-2.0-only */
/* The benchmark's command line. run.sh builds, prepares the link and starts it. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define DAYS 30

struct options options = {.fair = IDEM_BENCH_DIR "/hand_written.sql"};

static bool wanted(const char *id)
{
    return options.only == NULL || strstr(options.only, id) != NULL;
}

int main(int argc, char **argv)
{
    static const struct option known[] = {{"scale", required_argument, NULL, 's'},
                                          {"only", required_argument, NULL, 'o'},
                                          {"json", required_argument, NULL, 'j'},
                                          {"netem", no_argument, NULL, 'n'},
                                          {NULL, 0, NULL, 0}};
    struct server *loaded = NULL;
    int c;

    while ((c = getopt_long(argc, argv, "", known, NULL)) != -1)
        switch (c) {
        case 's':
            options.full = strcmp(optarg, "full") == 0;
            break;
        case 'o':
            options.only = optarg;
            break;
        case 'j':
            options.json = optarg;
            break;
        case 'n':
            options.netem = true;
            break;
        default:
            fprintf(stderr, "usage: run.sh [--scale small|full] [--only B1,B2] [--json FILE]\n");
            return 2;
        }

    if (wanted("B1") || wanted("B2") || wanted("B3") || wanted("B5") || wanted("B7") ||
        wanted("B9")) {
        loaded = server_with_days(DAYS);
        fill_days(loaded, 1, DAYS, bench_keys(), true);
        if (wanted("B2"))
            bench_first_claim(loaded, "30 days to be probed", false);
        seal_days(loaded, DAYS);
    }
    if (wanted("B1"))
        bench_transactions(loaded);
    if (wanted("B2")) {
        MYSQL *sql = server_connect(loaded);

        bench_first_claim(loaded, "30 days", true);
        set_hour(sql, 23);
        bench_first_claim(loaded, "30 days, near midnight", false);
        set_hour(sql, 12);
        mysql_close(sql);
    }
    if (wanted("B3"))
        bench_replay(loaded);
    if (wanted("B5"))
        bench_crowd(loaded);
    if (wanted("B7"))
        bench_batches(loaded);
    if (wanted("B9"))
        bench_growth(loaded);
    server_stop(loaded);
    if (wanted("B4"))
        bench_sealed();
    if (wanted("B6"))
        bench_retention();
    if (wanted("B8"))
        bench_filter();
    report_finish();
    return 0;
}
