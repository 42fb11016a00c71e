/* SPDX-License-Identifier: GPL-2.0-only */
/* Servers with a past: days full of finished records, for idem and for its hand-written peer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"

#define TEXT_MAX 65536

static char *read_all(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = calloc(1, TEXT_MAX);

    if (file == NULL || text == NULL || fread(text, 1, TEXT_MAX - 1, file) == 0) {
        fprintf(stderr, "bench: cannot read %s\n", path);
        exit(1);
    }
    fclose(file);
    return text;
}

/* The next statement from *at on: its name, and its text cut off at the semicolon. */
static const char *next_statement(char **at, const char **ret_name)
{
    static const char mark[] = "-- name: ";
    char *name = strstr(*at, mark), *text, *end;

    if (name == NULL)
        return NULL;
    name += sizeof(mark) - 1;
    text = strchr(name, '\n');
    *text++ = '\0';
    end = strstr(text, ";\n");
    *end = '\0';
    *at = end + 1;
    *ret_name = name;
    return text;
}

const char *hand(const char *name)
{
    static char *file;
    static struct {
        const char *name, *text;
    } known[32];
    static int count;
    char *at;

    if (file == NULL) {
        at = file = read_all(options.fair);
        while (count < 31 && (known[count].text = next_statement(&at, &known[count].name)) != NULL)
            count++;
    }
    for (int i = 0; i < count; i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].text;
    fprintf(stderr, "bench: %s has no statement %s\n", options.fair, name);
    exit(1);
}

void hand_create(MYSQL *sql)
{
    char *text = read_all(options.fair), *at = text;
    const char *name, *statement;

    while ((statement = next_statement(&at, &name)) != NULL)
        if (strcmp(name, "create") == 0)
            run(sql, "%s", statement);
    free(text);
}

/* Days back from today; spread over the index, not in its order. */
void old_key(unsigned int day, uint64_t i, char ret_key[32])
{
    char digits[16];

    snprintf(digits, sizeof(digits), "%09llu", (unsigned long long)(i % 1000000000U));
    for (int at = 0; at < 4; at++) {
        char swap = digits[at];

        digits[at] = digits[8 - at];
        digits[8 - at] = swap;
    }
    snprintf(ret_key, 32, "old-%s-%u", digits, day);
}

static void fill_day(MYSQL *sql, unsigned int day, uint64_t keys, bool peers)
{
    static const char key[] = "CONCAT('old-', REVERSE(LPAD(seq, 9, '0')), '-', %u)";
    char key_text[128], at[64];

    snprintf(key_text, sizeof(key_text), key, day);
    snprintf(at, sizeof(at), "idem_today() - INTERVAL %u DAY + INTERVAL 12 HOUR", day);
    run(sql,
        "INSERT INTO idem.record (scope, idem_key, created_on, biz_type, status, attempt, token,"
        " owner_conn, owner_epoch, owner_account, payload_hash, result, created_at, updated_at,"
        " finished_at) SELECT '', %s, idem_today() - INTERVAL %u DAY, 'bench', 1, 1, seq, 1, 1,"
        " 'root@localhost', REPEAT('h', 32), '{\"receipt\":7}', %s, %s, %s FROM seq_0_to_%llu",
        key_text, day, at, at, at, (unsigned long long)keys - 1);
    if (peers)
        run(sql,
            "INSERT INTO hand.record SELECT %s, 'bench', REPEAT('h', 32), 1, '{\"receipt\":7}', %s,"
            " %s FROM seq_0_to_%llu",
            key_text, at, at, (unsigned long long)keys - 1);
}

static void make_days(MYSQL *sql, unsigned int days)
{
    size_t room = 80 * ((size_t)days + 10), length = 0;
    char *list = malloc(room);

    run(sql, "DELETE FROM idem.live_day");
    for (int back = (int)days; back >= -1; back--) {
        const char *text = value(
            sql,
            "SELECT CONCAT(DATE_FORMAT(idem_today() - INTERVAL %d DAY, 'PARTITION p%%Y%%m%%d'),"
            " ' VALUES LESS THAN (''', idem_today() - INTERVAL %d DAY, ''')')",
            back, back - 1);

        length +=
            (size_t)snprintf(list + length, room - length, "%s%s", length > 0 ? "," : "", text);
        run(sql,
            "INSERT INTO idem.live_day (day, created_at) VALUES (idem_today() - INTERVAL %d DAY, "
            "UTC_TIMESTAMP())",
            back);
    }
    run(sql, "ALTER TABLE idem.record PARTITION BY RANGE COLUMNS (created_on) (%s)", list);
    free(list);
    run(sql, "SELECT idem_reload()");
}

/* Claims have more to look at within two hours of midnight (UTC), so the hour is part of the
 * setting. */
void set_hour(MYSQL *sql, int hour)
{
    run(sql, "SET GLOBAL idem_test_now_us = %lld",
        ((long long)time(NULL) / 86400 * 24 + hour) * 3600000000LL);
}

struct server *server_with_days(unsigned int days)
{
    static const char *const small[] = {"--innodb-buffer-pool-size=1G",
                                        "--innodb-log-file-size=256M", "--max-connections=600",
                                        NULL};
    static const char *const full[] = {"--innodb-buffer-pool-size=10G", "--innodb-log-file-size=2G",
                                       "--max-connections=600", NULL};
    struct server *server = server_start(options.full ? full : small);
    MYSQL *sql = server_connect(server);

    run(sql, "SET sql_log_bin = 0");
    set_hour(sql, 12);
    hand_create(sql);
    make_days(sql, days);
    set_durability(server, false);
    mysql_close(sql);
    return server;
}

void fill_days(struct server *server, unsigned int from, unsigned int to, uint64_t keys, bool peers)
{
    MYSQL *sql = server_connect(server);

    run(sql, "SET sql_log_bin = 0");
    run(sql, "USE idem"); /* the sequence engine needs a default database */
    for (unsigned int day = from; day <= to; day++)
        fill_day(sql, day, keys, peers);
    mysql_close(sql);
}

void seal_days(struct server *server, unsigned int days)
{
    MYSQL *sql = server_connect(server);

    run(sql, "CALL idem.seal_days()");
    if (value_int(sql, "SELECT COUNT(*) FROM idem.sealed_day") + 1 < days) {
        fprintf(stderr, "bench: the days could not be sealed\n");
        exit(1);
    }
    mysql_close(sql);
}

void set_durability(struct server *server, bool full)
{
    MYSQL *sql = server_connect(server);

    run(sql, "SET GLOBAL innodb_flush_log_at_trx_commit = %d", full ? 1 : 2);
    run(sql, "SET GLOBAL sync_binlog = %d", full ? 1 : 0);
    mysql_close(sql);
}

unsigned int bench_rounds(void)
{
    return options.full ? 9 : 5;
}

double bench_seconds(void)
{
    return options.full ? 2.0 : 0.4;
}

uint64_t bench_keys(void)
{
    return options.full ? 1000000 : 20000;
}
