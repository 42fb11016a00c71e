/* SPDX-License-Identifier: GPL-2.0-only */
/* See fake_server.h. Answers are made under a lock and belong to their connection, as in a server.
 */
#include "fake_server.h"

#include <my_config.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mysql.h>
#include <mysql/plugin.h>
#include <mysql/service_kill_statement.h>
#include <mysql/service_sql.h>

#include "clock.h"
#include "filter.h"
#include "idem/version.h"
#include "raise.h"
#include "session.h"
#include "settings.h"

#define COLUMNS 6

struct row {
    char *fields[COLUMNS];
    unsigned long lengths[COLUMNS];
};

struct fake_result {
    size_t count, next;
    struct row rows[64];
};

struct fake_thd {
    unsigned long id;
};

static pthread_mutex_t tables = PTHREAD_MUTEX_INITIALIZER;
static int64_t generation;
static _Thread_local struct fake_thd session;

static _Atomic int64_t memory = INT64_C(1) << 28;

void fake_limit_filters(int64_t bytes)
{
    atomic_store(&memory, bytes);
}

void fake_next_generation(void)
{
    pthread_mutex_lock(&tables);
    generation++;
    pthread_mutex_unlock(&tables);
}

uint64_t fake_hash(int64_t day, int i)
{
    char key[64];

    return idem_filter_hash("", 0, key,
                            (size_t)snprintf(key, sizeof(key), "%lld-%d", (long long)day, i));
}

void fake_become(unsigned long id)
{
    session.id = id;
}

static void add_field(struct row *row, int column, const void *bytes, size_t length)
{
    row->fields[column] = calloc(1, length + 1);
    if (row->fields[column] == NULL)
        abort();
    memcpy(row->fields[column], bytes, length);
    row->lengths[column] = length;
}

static void add_text(struct row *row, int column, const char *text)
{
    add_field(row, column, text, strlen(text));
}

static void add_number(struct row *row, int column, int64_t number)
{
    char text[32];

    snprintf(text, sizeof(text), "%lld", (long long)number);
    add_text(row, column, text);
}

static uint8_t *make_filter(int64_t day, size_t *ret_length)
{
    uint64_t hashes[FAKE_KEYS];
    uint8_t *bytes;

    for (int i = 0; i < FAKE_KEYS; i++)
        hashes[i] = fake_hash(day, i);
    if (!idem_filter_make(hashes, FAKE_KEYS, (int32_t)day, &bytes, ret_length))
        abort();
    return bytes;
}

/* The newest three days are open; of the others one in three has a new seal in each generation. */
static void add_days(struct fake_result *result)
{
    for (int i = 0; i < FAKE_DAYS; i++) {
        int64_t day = FAKE_FIRST + generation + FAKE_DAYS - 1 - i;
        struct row *row = &result->rows[result->count++];
        char sealed_at[32];

        add_number(row, 0, day);
        add_number(row, 1, i >= 3);
        if (i < 3)
            continue;
        snprintf(sealed_at, sizeof(sealed_at), "seal %lld", (long long)((generation + day) / 3));
        add_text(row, 2, sealed_at);
        add_number(row, 3, FAKE_KEYS);
        add_number(row, 4, 1000);
    }
}

static void answer(const char *text, struct fake_result *result)
{
    char date[IDEM_DATE_LENGTH + 1];
    int64_t day;

    if (strstr(text, "idem.meta") != NULL) {
        add_text(&result->rows[result->count++], 0, IDEM_VERSION);
    } else if (strstr(text, "idem.policy") != NULL) {
        for (int i = 0; i < FAKE_POLICIES; i++) {
            struct row *row = &result->rows[result->count++];
            char name[8];

            snprintf(name, sizeof(name), "p%02d", i);
            add_text(row, 0, name);
            add_number(row, 1, generation);
            add_number(row, 2, generation);
            for (int column = 3; column < 6; column++)
                add_number(row, column, 1);
        }
    } else if (strstr(text, "idem.access") != NULL) {
        struct row *row = &result->rows[result->count++];

        add_text(row, 0, "app");
        add_text(row, 1, "%");
        add_text(row, 2, "p%");
        add_number(row, 3, 1);
    } else if (strstr(text, "idem.live_day") != NULL) {
        add_days(result);
    } else if (strstr(text, "SELECT filter") != NULL) {
        const char *at = strstr(text, "day = '") + strlen("day = '");
        size_t length;
        uint8_t *bytes;

        memcpy(date, at, IDEM_DATE_LENGTH);
        if (!idem_clock_parse_date(date, IDEM_DATE_LENGTH, &day))
            abort();
        bytes = make_filter(day, &length);
        add_field(&result->rows[result->count++], 0, bytes, length);
        free(bytes);
    } else {
        add_text(&result->rows[result->count++], 0, "1"); /* @@global.log_bin */
    }
}

/* ---- the services ---- */

static MYSQL *fake_init(MYSQL *sql)
{
    memset(sql, 0, sizeof(*sql));
    sql->user = malloc(1); /* a connection that is not closed is a leak that shows */
    return sql;
}

static MYSQL *fake_connect_local(MYSQL *sql)
{
    return sql;
}

static unsigned int fake_errno(MYSQL *sql)
{
    (void)sql;
    return 0;
}

static const char *fake_error(MYSQL *sql)
{
    (void)sql;
    return "";
}

static void fake_free_result(MYSQL_RES *opaque)
{
    struct fake_result *result = (struct fake_result *)opaque;

    for (size_t i = 0; result != NULL && i < result->count; i++)
        for (int column = 0; column < COLUMNS; column++)
            free(result->rows[i].fields[column]);
    free(result);
}

static int fake_query(MYSQL *sql, const char *text, unsigned long length)
{
    int unused = 0;

    (void)length;
    if (strstr(text, "idem_probe") != NULL)
        return idem_session_check_probe((MYSQL_THD)&session, NULL, &unused, NULL);
    if (strncmp(text, "SELECT", 6) == 0) {
        struct fake_result *result = calloc(1, sizeof(*result));

        if (result == NULL)
            abort();
        pthread_mutex_lock(&tables);
        answer(text, result);
        pthread_mutex_unlock(&tables);
        sql->passwd = (char *)result;
    }
    return 0;
}

static MYSQL_RES *fake_store_result(MYSQL *sql)
{
    MYSQL_RES *result = (MYSQL_RES *)sql->passwd;

    sql->passwd = NULL;
    return result;
}

static unsigned long long fake_num_rows(MYSQL_RES *opaque)
{
    return ((struct fake_result *)opaque)->count;
}

static MYSQL_ROW fake_fetch_row(MYSQL_RES *opaque)
{
    struct fake_result *result = (struct fake_result *)opaque;

    return result->next < result->count ? result->rows[result->next++].fields : NULL;
}

static unsigned long *fake_fetch_lengths(MYSQL_RES *opaque)
{
    struct fake_result *result = (struct fake_result *)opaque;

    return result->rows[result->next - 1].lengths;
}

static void fake_close(MYSQL *sql)
{
    free(sql->user);
    sql->user = NULL;
}

static struct sql_service_st services = {
    .mysql_init_func = fake_init,
    .mysql_real_connect_local_func = fake_connect_local,
    .mysql_errno_func = fake_errno,
    .mysql_error_func = fake_error,
    .mysql_real_query_func = fake_query,
    .mysql_num_rows_func = fake_num_rows,
    .mysql_store_result_func = fake_store_result,
    .mysql_free_result_func = fake_free_result,
    .mysql_fetch_row_func = fake_fetch_row,
    .mysql_close_func = fake_close,
    .mysql_fetch_lengths_func = fake_fetch_lengths,
};
struct sql_service_st *sql_service = &services;

static enum thd_kill_levels fake_kill_level(const MYSQL_THD thd)
{
    (void)thd;
    return THD_IS_NOT_KILLED;
}

static struct kill_statement_service_st kill_service = {.thd_kill_level_func = fake_kill_level};
struct kill_statement_service_st *thd_kill_statement_service = &kill_service;

extern MYSQL_THD _current_thd(void);
extern char my_thread_init(void);
extern void my_thread_end(void);

MYSQL_THD _current_thd(void)
{
    return (MYSQL_THD)&session;
}

int thd_tx_isolation(const MYSQL_THD thd)
{
    (void)thd;
    return 2; /* REPEATABLE READ */
}

unsigned long thd_get_thread_id(const MYSQL_THD thd)
{
    return ((const struct fake_thd *)thd)->id;
}

long long thd_test_options(const MYSQL_THD thd, long long options)
{
    (void)thd;
    return options; /* the binlog is on */
}

char my_thread_init(void)
{
    return 0;
}

void my_thread_end(void)
{
}

/* ---- modules of the plugin that are more server than plugin ---- */

void idem_raise(unsigned int number, const char *format, ...)
{
    (void)number, (void)format;
}

int64_t idem_settings_filter_memory_bytes(void)
{
    return atomic_load(&memory);
}
