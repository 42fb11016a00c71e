/* SPDX-License-Identifier: GPL-2.0-only */
/* Clients: prepared statements, threads, and slices in turn. */
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "bench.h"

#define STATEMENTS_MAX 16
#define COLUMNS_MAX 16
#define SAMPLES_MAX (1U << 18)
#define LINK_US 500

#define ER_LOCK_DEADLOCK 1213

struct client {
    MYSQL *sql;
    unsigned int number;
    bool pause; /* stands in for the link where netem is not to be had */
    uint64_t random;
    char key[32];
    struct {
        const char *text;
        MYSQL_STMT *statement;
    } prepared[STATEMENTS_MAX];
    uint64_t done, errors, deadlocks;
    float *samples[2]; /* microseconds */
    unsigned int sampled[2];
    const struct work *work;
    pthread_barrier_t *start;
    double seconds;
};

static atomic_uint complaints;

uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

void sample(struct client *client, int which, uint64_t ns)
{
    if (client->sampled[which] < SAMPLES_MAX)
        client->samples[which][client->sampled[which]++] = (float)ns / 1000;
}

uint64_t random_number(struct client *client)
{
    uint64_t z = client->random += 0x9e3779b97f4a7c15U; /* splitmix64 */

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
    z = (z ^ z >> 27) * 0x94d049bb133111ebU;
    return z ^ z >> 31;
}

const char *new_key(struct client *client)
{
    snprintf(client->key, sizeof(client->key), "new-%016llx%04x",
             (unsigned long long)random_number(client), client->number);
    return client->key;
}

unsigned int client_number(const struct client *client)
{
    return client->number;
}

static void complain(struct client *client, const char *what, const char *more)
{
    client->errors++;
    if (atomic_fetch_add(&complaints, 1) < 10)
        fprintf(stderr, "bench: %s: %s: %s\n", client->work->name, what, more);
}

void expect(struct client *client, const struct reply *reply, const char *state)
{
    if (reply->error == 0 && strcmp(reply->text, state) != 0 &&
        !(reply->text[0] == '{' && strstr(reply->text, state) != NULL))
        complain(client, "unexpected answer", reply->text);
}

static MYSQL_STMT *prepare(struct client *client, const char *text)
{
    int i = 0;

    while (client->prepared[i].text != NULL && client->prepared[i].text != text)
        i++;
    if (client->prepared[i].text == NULL) {
        MYSQL_STMT *statement = mysql_stmt_init(client->sql);

        if (i >= STATEMENTS_MAX - 1 || statement == NULL ||
            mysql_stmt_prepare(statement, text, strlen(text)) != 0) {
            fprintf(stderr, "bench: %s: %s\n", text,
                    statement != NULL ? mysql_stmt_error(statement) : "too many statements");
            exit(1);
        }
        client->prepared[i].text = text;
        client->prepared[i].statement = statement;
    }
    return client->prepared[i].statement;
}

static void read_result(MYSQL_STMT *statement, struct reply *reply)
{
    MYSQL_BIND binds[COLUMNS_MAX] = {0};
    static _Thread_local char room[COLUMNS_MAX][sizeof(reply->text)];
    unsigned long lengths[COLUMNS_MAX] = {0};

    for (unsigned int i = 0; i < mysql_stmt_field_count(statement) && i < COLUMNS_MAX; i++) {
        binds[i].buffer_type = MYSQL_TYPE_STRING;
        binds[i].buffer = room[i];
        binds[i].buffer_length = sizeof(room[i]) - 1;
        binds[i].length = &lengths[i];
    }
    mysql_stmt_bind_result(statement, binds);
    for (bool first = true;; first = false) {
        int code = mysql_stmt_fetch(statement);

        if (code != 0 && code != MYSQL_DATA_TRUNCATED)
            break;
        if (first) {
            size_t length = lengths[0] < sizeof(reply->text) ? lengths[0] : sizeof(reply->text) - 1;

            memcpy(reply->text, room[0], length);
            reply->text[length] = '\0';
        }
    }
}

struct reply ask(struct client *client, const char *text, size_t count,
                 const char *const *parameters)
{
    MYSQL_STMT *statement = prepare(client, text);
    MYSQL_BIND binds[8] = {0};
    struct reply reply = {.error = 0};

    for (size_t i = 0; i < count; i++) {
        binds[i].buffer_type = parameters[i] != NULL ? MYSQL_TYPE_STRING : MYSQL_TYPE_NULL;
        binds[i].buffer = (void *)(uintptr_t)parameters[i];
        binds[i].buffer_length = parameters[i] != NULL ? strlen(parameters[i]) : 0;
    }
    if (client->pause)
        nanosleep(&(struct timespec){.tv_nsec = LINK_US * 1000L}, NULL);
    if ((count > 0 && mysql_stmt_bind_param(statement, binds) != 0) ||
        mysql_stmt_execute(statement) != 0) {
        reply.error = mysql_stmt_errno(statement);
        client->deadlocks += reply.error == ER_LOCK_DEADLOCK;
        complain(client, text, mysql_stmt_error(statement));
        return reply;
    }
    do {
        if (mysql_stmt_field_count(statement) > 0)
            read_result(statement, &reply);
        else
            reply.affected = mysql_stmt_affected_rows(statement);
        mysql_stmt_free_result(statement);
    } while (mysql_stmt_next_result(statement) == 0);
    return reply;
}

static MYSQL *connect_client(const struct server *server, enum link link)
{
    MYSQL *sql;

    if (link == SOCKET || !options.netem)
        return server_connect(server);
    sql = mysql_init(NULL);
    mysql_options(sql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    if (mysql_real_connect(sql, "127.0.0.1", "root", "", NULL, server_port(server), NULL,
                           CLIENT_MULTI_RESULTS) == NULL) {
        fprintf(stderr, "bench: %s\n", mysql_error(sql));
        exit(1);
    }
    return sql;
}

static void *run_client(void *argument)
{
    struct client *client = argument;
    uint64_t end;

    mysql_thread_init();
    prctl(PR_SET_TIMERSLACK, 1000);
    pthread_barrier_wait(client->start);
    end = now_ns() + (uint64_t)(client->seconds * 1e9);
    do {
        client->work->once(client);
        client->done++;
    } while (now_ns() < end);
    mysql_thread_end();
    return NULL;
}

static int by_size(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

/* Processor time of all threads of the server, in nanoseconds. */
static uint64_t cpu_ns(const struct server *server)
{
    char path[320];
    uint64_t total = 0;
    struct dirent *entry;
    DIR *tasks;

    snprintf(path, sizeof(path), "/proc/%ld/task", server_pid(server));
    tasks = opendir(path);
    while (tasks != NULL && (entry = readdir(tasks)) != NULL) {
        unsigned long long ns = 0;
        FILE *file;

        snprintf(path, sizeof(path), "/proc/%ld/task/%s/schedstat", server_pid(server),
                 entry->d_name);
        file = entry->d_name[0] != '.' ? fopen(path, "r") : NULL;
        if (file != NULL && fscanf(file, "%llu", &ns) == 1)
            total += ns;
        if (file != NULL)
            fclose(file);
    }
    if (tasks != NULL)
        closedir(tasks);
    return total;
}

static struct slice sum_up(struct client *clients, unsigned int count, double seconds)
{
    struct slice slice = {.per_second = 0};

    for (unsigned int i = 0; i < count; i++) {
        slice.per_second += (double)clients[i].done / seconds;
        slice.errors += clients[i].errors;
        slice.deadlocks += clients[i].deadlocks;
    }
    for (int which = 0; which < 2; which++) {
        size_t total = 0, at = 0;
        float *all;

        for (unsigned int i = 0; i < count; i++)
            total += clients[i].sampled[which];
        all = malloc((total + 1) * sizeof(*all));
        for (unsigned int i = 0; i < count; i++) {
            memcpy(all + at, clients[i].samples[which], clients[i].sampled[which] * sizeof(*all));
            at += clients[i].sampled[which];
        }
        qsort(all, total, sizeof(*all), by_size);
        if (total > 0) {
            slice.median_us[which] = all[total / 2];
            slice.p99_us[which] = all[total * 99 / 100];
        }
        free(all);
    }
    return slice;
}

static struct slice run_slice(struct client *clients, unsigned int count, double seconds)
{
    pthread_t *threads = calloc(count, sizeof(*threads));
    pthread_barrier_t start;
    uint64_t began, cpu_began, done = 0;
    struct slice slice;
    double passed;

    pthread_barrier_init(&start, NULL, count + 1);
    for (unsigned int i = 0; i < count; i++) {
        clients[i].done = clients[i].errors = clients[i].deadlocks = 0;
        clients[i].sampled[0] = clients[i].sampled[1] = 0;
        clients[i].start = &start;
        clients[i].seconds = seconds;
        if (pthread_create(&threads[i], NULL, run_client, &clients[i]) != 0)
            abort();
    }
    cpu_began = cpu_ns(clients[0].work->server);
    pthread_barrier_wait(&start);
    began = now_ns();
    for (unsigned int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    passed = (double)(now_ns() - began) / 1e9;
    pthread_barrier_destroy(&start);
    free(threads);
    slice = sum_up(clients, count, passed);
    for (unsigned int i = 0; i < count; i++)
        done += clients[i].done;
    slice.cpu_us = (double)(cpu_ns(clients[0].work->server) - cpu_began) / 1e3 / (double)done;
    return slice;
}

void measure(const struct load *load, const struct work *works, size_t count,
             struct slice ret_slices[ROUNDS_MAX][WORKS_MAX])
{
    struct client *clients = calloc(count * load->clients, sizeof(*clients));

    for (size_t i = 0; i < count * load->clients; i++) {
        struct client *client = &clients[i];

        client->work = &works[i / load->clients];
        client->number = (unsigned int)(i % load->clients);
        client->random = now_ns() * 31 + i * 1000003;
        client->sql = connect_client(client->work->server, load->link);
        client->pause = load->link == LINK && !options.netem;
        for (int which = 0; which < 2; which++)
            client->samples[which] = malloc(SAMPLES_MAX * sizeof(float));
    }
    for (size_t w = 0; w < count; w++)
        run_slice(clients + w * load->clients, load->clients, load->seconds / 4);
    for (unsigned int round = 0; round < load->rounds; round++)
        for (size_t turn = 0; turn < count; turn++) {
            /* Every second round backwards: nobody always comes first. */
            size_t w = round % 2 == 0 ? turn : count - 1 - turn;

            ret_slices[round][w] =
                run_slice(clients + w * load->clients, load->clients, load->seconds);
        }
    for (size_t i = 0; i < count * load->clients; i++) {
        for (int p = 0; p < STATEMENTS_MAX && clients[i].prepared[p].text != NULL; p++)
            mysql_stmt_close(clients[i].prepared[p].statement);
        mysql_close(clients[i].sql);
        free(clients[i].samples[0]);
        free(clients[i].samples[1]);
    }
    free(clients);
}
