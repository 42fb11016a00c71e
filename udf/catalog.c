/* SPDX-License-Identifier: GPL-2.0-only */
/* Reading the catalog and handing out its newest snapshot. */
#include "catalog.h"

#include <my_config.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <mysql.h>
#include <mysql/plugin.h>
#include <mysql/service_sql.h>

#include "clock.h"
#include "idem/version.h"
#include "pattern.h"
#include "raise.h"
#include "settings.h"

#define RELOAD_MS 1000
#define WAIT_SECONDS 10

/* mysys, exported by the server: a thread that runs SQL needs them. */
extern char my_thread_init(void);
extern void my_thread_end(void);

struct rule {
    char *user, *host, *biz_type;
    size_t user_length, host_length, biz_type_length;
    bool allowed;
};

struct idem_catalog {
    char version[64];
    struct idem_policy *policies; /* sorted by biz_type */
    size_t policy_count;
    struct rule *rules;
    size_t rule_count;
    struct idem_day *days; /* ascending */
    size_t day_count;
};

/* Readers count themselves under one of two numbers, the writer puts the new snapshot in place,
   changes the number and waits for each in turn to come to zero; twice, since a reader may have
   fetched the number long before it counted itself. New readers never hold the writer up. */
static atomic_uint number;
static atomic_int readers[2];
static _Atomic(struct idem_catalog *) newest;

/* Guards what follows; never held while SQL runs or while a reader is waited for. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;  /* for the thread: a request, or the end */
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER; /* for callers: a reload has ended */
static uint64_t requested, completed; /* reloads asked for, and the last request that was served */
static bool last_failed;
static bool ending;
static pthread_t thread;

static void free_catalog(struct idem_catalog *catalog)
{
    if (catalog == NULL)
        return;
    for (size_t i = 0; i < catalog->rule_count; i++) {
        free(catalog->rules[i].user);
        free(catalog->rules[i].host);
        free(catalog->rules[i].biz_type);
    }
    for (size_t i = 0; i < catalog->day_count; i++)
        idem_sealed_free(catalog->days[i].filter);
    free(catalog->rules);
    free(catalog->policies);
    free(catalog->days);
    free(catalog);
}

static void wait_for_readers(unsigned int which)
{
    const struct timespec pause = {.tv_nsec = 50000};

    while (atomic_load(&readers[which]) > 0)
        nanosleep(&pause, NULL);
}

static void replace(struct idem_catalog *catalog)
{
    struct idem_catalog *old = atomic_exchange(&newest, catalog);

    for (int turn = 0; turn < 2; turn++) {
        unsigned int before = atomic_fetch_xor(&number, 1);

        wait_for_readers(before & 1);
    }
    free_catalog(old);
}

static MYSQL_RES *select_rows(MYSQL *sql, const char *text)
{
    if (mysql_real_query(sql, text, strlen(text)) != 0)
        return NULL;
    return mysql_store_result(sql);
}

static char *copy(const char *text, size_t length)
{
    char *to = malloc(length + 1);

    if (to != NULL) {
        memcpy(to, text, length);
        to[length] = '\0';
    }
    return to;
}

static int64_t number_or(const char *text, int64_t otherwise)
{
    return text != NULL ? strtoll(text, NULL, 10) : otherwise;
}

static bool load_version(MYSQL *sql, struct idem_catalog *catalog)
{
    MYSQL_RES *result = select_rows(sql, "SELECT value FROM idem.meta WHERE name = 'version'");
    MYSQL_ROW row;

    if (result == NULL)
        return false;
    row = mysql_fetch_row(result);
    if (row != NULL)
        strncpy(catalog->version, row[0], sizeof(catalog->version) - 1);
    mysql_free_result(result);
    return true;
}

static bool load_policies(MYSQL *sql, struct idem_catalog *catalog)
{
    MYSQL_RES *result =
        select_rows(sql, "SELECT biz_type, lease_seconds, max_result_bytes, on_expiry + 0, "
                         "require_payload, observe FROM idem.policy ORDER BY biz_type");
    size_t room;
    MYSQL_ROW row;

    if (result == NULL)
        return false;
    room = (size_t)mysql_num_rows(result);
    catalog->policies = calloc(room + 1, sizeof(*catalog->policies));
    while (catalog->policies != NULL && catalog->policy_count < room &&
           (row = mysql_fetch_row(result)) != NULL) {
        struct idem_policy *policy = &catalog->policies[catalog->policy_count++];

        policy->biz_type_length = mysql_fetch_lengths(result)[0];
        memcpy(policy->biz_type, row[0], policy->biz_type_length);
        policy->lease_seconds = number_or(row[1], -1);
        policy->max_result_bytes = number_or(row[2], -1);
        policy->on_expiry = (enum idem_expiry)(number_or(row[3], 1) - 1);
        policy->require_payload = number_or(row[4], 0) != 0;
        policy->observe = number_or(row[5], 0) != 0;
    }
    mysql_free_result(result);
    return catalog->policies != NULL;
}

static bool load_rules(MYSQL *sql, struct idem_catalog *catalog)
{
    MYSQL_RES *result = select_rows(sql, "SELECT user, host, biz_type, allowed FROM idem.access");
    bool good = true;
    size_t room;
    MYSQL_ROW row;

    if (result == NULL)
        return false;
    room = (size_t)mysql_num_rows(result);
    catalog->rules = calloc(room + 1, sizeof(*catalog->rules));
    good = catalog->rules != NULL;
    while (good && catalog->rule_count < room && (row = mysql_fetch_row(result)) != NULL) {
        struct rule *rule = &catalog->rules[catalog->rule_count++];
        unsigned long *lengths = mysql_fetch_lengths(result);

        rule->user_length = lengths[0];
        rule->host_length = lengths[1];
        rule->biz_type_length = lengths[2];
        rule->user = copy(row[0], lengths[0]);
        rule->host = copy(row[1], lengths[1]);
        rule->biz_type = copy(row[2], lengths[2]);
        rule->allowed = number_or(row[3], 0) != 0;
        good = rule->user != NULL && rule->host != NULL && rule->biz_type != NULL;
    }
    mysql_free_result(result);
    return good;
}

/* The filter of the last snapshot, if it is of the same seal. Only this thread replaces it. */
static struct idem_sealed *kept_filter(int64_t day, const char *sealed_at)
{
    const struct idem_catalog *last = atomic_load(&newest);

    for (size_t i = 0; last != NULL && i < last->day_count; i++)
        if (last->days[i].number == day && last->days[i].filter != NULL &&
            idem_sealed_is(last->days[i].filter, sealed_at))
            return idem_sealed_dup(last->days[i].filter);
    return NULL;
}

static struct idem_sealed *load_filter(MYSQL *sql, int64_t day, const char *sealed_at,
                                       uint64_t keys)
{
    char text[192], date[IDEM_DATE_LENGTH + 1];
    struct idem_sealed *filter = kept_filter(day, sealed_at);
    MYSQL_RES *result;
    MYSQL_ROW row;

    if (filter != NULL)
        return filter;
    idem_clock_date(day, date);
    snprintf(text, sizeof(text),
             "SELECT filter FROM idem.sealed_day WHERE day = '%s' AND sealed_at = '%.32s' AND "
             "LENGTH(filter) = bytes",
             date, sealed_at);
    result = select_rows(sql, text);
    if (result == NULL)
        return NULL;
    row = mysql_fetch_row(result);
    if (row != NULL && row[0] != NULL)
        filter = idem_sealed_new(day, sealed_at, keys, row[0], mysql_fetch_lengths(result)[0]);
    mysql_free_result(result);
    return filter;
}

/* Newest first, so that the oldest filters are those that do not fit. */
static bool load_days(MYSQL *sql, struct idem_catalog *catalog)
{
    MYSQL_RES *result =
        select_rows(sql, "SELECT TO_DAYS(l.day) - TO_DAYS('1970-01-01'), l.sealed, s.sealed_at, "
                         "s.`keys`, s.bytes FROM idem.live_day l LEFT JOIN idem.sealed_day s "
                         "ON s.day = l.day AND l.sealed ORDER BY l.day DESC");
    const int64_t limit = idem_settings_filter_memory_bytes();
    int64_t bytes = 0;
    size_t room;
    bool good;
    MYSQL_ROW row;

    if (result == NULL)
        return false;
    room = (size_t)mysql_num_rows(result);
    catalog->days = calloc(room + 1, sizeof(*catalog->days));
    good = catalog->days != NULL;
    catalog->day_count = good ? room : 0;
    for (size_t i = catalog->day_count; good && i > 0; i--) {
        struct idem_day *day = &catalog->days[i - 1];

        row = mysql_fetch_row(result);
        good = row != NULL;
        if (!good)
            break;
        day->number = number_or(row[0], 0);
        day->sealed = number_or(row[1], 0) != 0;
        bytes += number_or(row[4], 0);
        if (row[2] != NULL && row[4] != NULL && bytes <= limit)
            day->filter = load_filter(sql, day->number, row[2], (uint64_t)number_or(row[3], 0));
    }
    mysql_free_result(result);
    return good;
}

/* A session of its own for each reload, gone afterwards: none is left over when the server shuts
   down. A table that is locked (LOCK TABLES, DDL) delays it by a second at most, and the old
   snapshot stays. */
static bool load(void)
{
    struct idem_catalog *catalog = calloc(1, sizeof(*catalog));
    static const char patience[] = "SET SESSION lock_wait_timeout = 1";
    MYSQL sql;
    bool good;

    memset(&sql, 0, sizeof(sql));
    if (catalog == NULL || mysql_init(&sql) == NULL) {
        free(catalog);
        return false;
    }
    good = mysql_real_connect_local(&sql) != NULL &&
           mysql_real_query(&sql, patience, sizeof(patience) - 1) == 0 &&
           load_version(&sql, catalog) && load_policies(&sql, catalog) &&
           load_rules(&sql, catalog) && load_days(&sql, catalog);
    mysql_close(&sql);
    if (good)
        replace(catalog);
    else
        free_catalog(catalog);
    return good;
}

static struct timespec in_ms(long ms)
{
    struct timespec when;

    clock_gettime(CLOCK_REALTIME, &when);
    when.tv_sec += ms / 1000;
    when.tv_nsec += ms % 1000 * 1000000;
    if (when.tv_nsec >= 1000000000) {
        when.tv_sec++;
        when.tv_nsec -= 1000000000;
    }
    return when;
}

static void *run(void *unused)
{
    (void)unused;
    my_thread_init();
    pthread_mutex_lock(&lock);
    while (!ending) {
        struct timespec next = in_ms(RELOAD_MS);
        uint64_t serving;

        /* Before the first request there may be no server to ask yet: it is starting. */
        while (!ending && requested == completed)
            if (requested == 0)
                pthread_cond_wait(&work, &lock);
            else if (pthread_cond_timedwait(&work, &lock, &next) != 0)
                break;
        if (ending)
            break;
        serving = requested;
        pthread_mutex_unlock(&lock);
        bool good = load();
        pthread_mutex_lock(&lock);
        last_failed = !good;
        completed = serving;
        pthread_cond_broadcast(&ready);
    }
    pthread_mutex_unlock(&lock);
    my_thread_end();
    return NULL;
}

int idem_catalog_start(void)
{
    requested = completed = 0;
    last_failed = ending = false;
    return pthread_create(&thread, NULL, run, NULL);
}

void idem_catalog_stop(void)
{
    pthread_mutex_lock(&lock);
    ending = true;
    pthread_cond_signal(&work);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    free_catalog(atomic_exchange(&newest, NULL));
}

bool idem_catalog_reload(void)
{
    struct timespec limit = in_ms(WAIT_SECONDS * 1000L);
    uint64_t mine;
    bool good;

    pthread_mutex_lock(&lock);
    mine = ++requested;
    pthread_cond_signal(&work);
    while (completed < mine && !ending)
        if (pthread_cond_timedwait(&ready, &lock, &limit) != 0)
            break;
    good = completed >= mine && !last_failed;
    pthread_mutex_unlock(&lock);
    if (!good)
        idem_raise(IDEM_E_NOT_READY, "idem: schema idem cannot be read; run install.sql");
    return good;
}

const struct idem_catalog *idem_catalog_enter(int *ret_ticket)
{
    for (int tries = 0; tries < 2; tries++) {
        int ticket = (int)(atomic_load(&number) & 1);
        const struct idem_catalog *catalog;

        atomic_fetch_add(&readers[ticket], 1);
        catalog = atomic_load(&newest);
        if (catalog != NULL && strcmp(catalog->version, IDEM_VERSION) == 0) {
            *ret_ticket = ticket;
            return catalog;
        }
        atomic_fetch_sub(&readers[ticket], 1);
        /* None yet, or another version: install.sql may just have run. */
        if (tries == 0 && !idem_catalog_reload())
            return NULL;
    }
    idem_raise(IDEM_E_NOT_READY,
               "idem: the installation of schema idem is incomplete or not of version " IDEM_VERSION
               " as the plugin; run its install.sql");
    return NULL;
}

void idem_catalog_leave(int ticket)
{
    atomic_fetch_sub(&readers[ticket], 1);
}

static int compare_policy(const void *key, const void *element)
{
    const struct idem_text *biz_type = key;
    const struct idem_policy *policy = element;
    size_t shorter =
        biz_type->length < policy->biz_type_length ? biz_type->length : policy->biz_type_length;
    int order = memcmp(biz_type->bytes, policy->biz_type, shorter);

    return order != 0 ? order
                      : (biz_type->length > policy->biz_type_length) -
                            (biz_type->length < policy->biz_type_length);
}

const struct idem_policy *idem_catalog_policy(const struct idem_catalog *catalog,
                                              struct idem_text biz_type)
{
    return bsearch(&biz_type, catalog->policies, catalog->policy_count, sizeof(*catalog->policies),
                   compare_policy);
}

bool idem_catalog_allows(const struct idem_catalog *catalog, struct idem_text account,
                         struct idem_text biz_type)
{
    const char *at = memrchr(account.bytes, '@', account.length); /* a user may hold one too */
    size_t user_length = at != NULL ? (size_t)(at - account.bytes) : account.length;
    const char *host = at != NULL ? at + 1 : "";
    size_t host_length = at != NULL ? account.length - user_length - 1 : 0;
    bool allowed = false;

    for (size_t i = 0; i < catalog->rule_count; i++) {
        const struct rule *rule = &catalog->rules[i];

        if (rule->user_length != user_length ||
            memcmp(rule->user, account.bytes, user_length) != 0 ||
            !idem_pattern_matches(rule->host, rule->host_length, host, host_length, true) ||
            !idem_pattern_matches(rule->biz_type, rule->biz_type_length, biz_type.bytes,
                                  biz_type.length, false))
            continue;
        if (!rule->allowed)
            return false;
        allowed = true;
    }
    return allowed;
}

const struct idem_day *idem_catalog_days(const struct idem_catalog *catalog, size_t *ret_count)
{
    *ret_count = catalog->day_count;
    return catalog->days;
}
