/* SPDX-License-Identifier: GPL-2.0-only */
/* The demo: a payment service under at-least-once delivery. Eight clients carry out 500 payments,
   each of which must move its amount once. The network loses answers, cuts connections before and
   after the commit and delivers requests twice; a client that got no answer asks again. Run without
   and with idem. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <mysql.h>
#include <mysqld_error.h>

#define PAYMENTS 500
#define CLIENTS 8
#define AMOUNT 10

/* How often, in percent of requests. */
enum { ANSWER_LOST = 15, CRASH_BEFORE_COMMIT = 5, CRASH_AFTER_COMMIT = 5, DELIVERED_TWICE = 10 };

enum outcome { DONE, NO_ANSWER, BUSY };

struct client {
    pthread_t thread;
    unsigned int seed;
    MYSQL *sql;
};

static const char *socket_path;
static bool with_idem;
static atomic_int next_payment;
static atomic_int requests, lost, crashed;

static void die(MYSQL *sql, const char *what)
{
    fprintf(stderr, "payments: %s: %s\n", what, mysql_error(sql));
    exit(1);
}

static MYSQL *dial(void)
{
    MYSQL *sql = mysql_init(NULL);

    if (mysql_real_connect(sql, NULL, "root", "", NULL, 0, socket_path, 0) == NULL)
        die(sql, "connect");
    return sql;
}

/* Runs one statement and copies the first value of its answer. False: the server has rolled the
   transaction back, start it again (1020: as it does from 11.6 on when the row has changed since).
 */
static bool ask(MYSQL *sql, char *ret_value, size_t room, const char *statement)
{
    MYSQL_RES *result;

    if (mysql_query(sql, statement) != 0) {
        if (mysql_errno(sql) == ER_CHECKREAD || mysql_errno(sql) == ER_LOCK_DEADLOCK)
            return false;
        die(sql, statement);
    }
    result = mysql_store_result(sql);
    if (result == NULL)
        return true;
    if (ret_value != NULL) {
        MYSQL_ROW row = mysql_fetch_row(result);

        snprintf(ret_value, room, "%s", row != NULL && row[0] != NULL ? row[0] : "");
    }
    mysql_free_result(result);
    return true;
}

static bool happens(struct client *client, int percent)
{
    return rand_r(&client->seed) % 100 < percent;
}

static void cut(struct client *client)
{
    mysql_close(client->sql); /* the server rolls back what was open */
    client->sql = dial();
    atomic_fetch_add(&crashed, 1);
}

static bool charge(MYSQL *sql, int payment)
{
    char statement[128];

    snprintf(statement, sizeof(statement), "INSERT INTO demo.charge (payment) VALUES (%d)",
             payment);
    if (!ask(sql, NULL, 0, statement))
        return false;
    snprintf(statement, sizeof(statement), "UPDATE demo.account SET balance = balance - %d",
             AMOUNT);
    return ask(sql, NULL, 0, statement);
}

/* One delivery of one payment request, as the service sees it. */
static enum outcome deliver(struct client *client, int payment)
{
    char statement[160], answer[256];

    atomic_fetch_add(&requests, 1);
    if (with_idem) {
        snprintf(statement, sizeof(statement),
                 "SELECT idem_begin('payment', 'pay-%d', '{\"amount\":%d}')", payment, AMOUNT);
        if (!ask(client->sql, answer, sizeof(answer), statement) ||
            strstr(answer, "\"IN_PROGRESS\"") != NULL)
            return BUSY;
        if (strstr(answer, "\"DONE\"") != NULL)
            return happens(client, ANSWER_LOST) ? (atomic_fetch_add(&lost, 1), NO_ANSWER) : DONE;
    } else {
        ask(client->sql, NULL, 0, "START TRANSACTION");
    }
    if (!charge(client->sql, payment))
        return BUSY;
    if (happens(client, CRASH_BEFORE_COMMIT)) {
        cut(client);
        return NO_ANSWER;
    }
    if (with_idem) {
        snprintf(statement, sizeof(statement),
                 "SELECT idem_commit('payment', 'pay-%d', '{\"receipt\":%d}')", payment, payment);
        if (!ask(client->sql, answer, sizeof(answer), statement))
            return BUSY;
    } else if (!ask(client->sql, NULL, 0, "COMMIT")) {
        return BUSY;
    }
    if (happens(client, CRASH_AFTER_COMMIT)) {
        cut(client);
        return NO_ANSWER;
    }
    if (happens(client, ANSWER_LOST)) {
        atomic_fetch_add(&lost, 1);
        return NO_ANSWER;
    }
    return DONE;
}

static void *serve(void *data)
{
    struct client *client = data;

    client->sql = dial();
    for (;;) {
        const struct timespec pause = {.tv_nsec = 2000000};
        int payment = atomic_fetch_add(&next_payment, 1);
        bool twice;

        /* A request that is delivered twice: the neighbour gets it as well. */
        if (payment >= PAYMENTS)
            break;
        twice = happens(client, DELIVERED_TWICE);
        while (deliver(client, payment) != DONE)
            nanosleep(&pause, NULL);
        if (twice)
            while (deliver(client, payment) == BUSY)
                nanosleep(&pause, NULL);
    }
    mysql_close(client->sql);
    mysql_thread_end();
    return NULL;
}

static long number(MYSQL *sql, const char *statement)
{
    char text[64] = "";

    ask(sql, text, sizeof(text), statement);
    return strtol(text, NULL, 10);
}

/* Runs all payments and prints a row; returns how many were charged wrongly. */
static long run(MYSQL *sql, bool idem)
{
    static struct client clients[CLIENTS];
    struct timespec from, to;
    long doubled, missing, moved;

    ask(sql, NULL, 0, "TRUNCATE demo.charge");
    ask(sql, NULL, 0, "UPDATE demo.account SET balance = 0");
    with_idem = idem;
    atomic_store(&next_payment, 0);
    atomic_store(&requests, 0);
    atomic_store(&lost, 0);
    atomic_store(&crashed, 0);
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (unsigned int i = 0; i < CLIENTS; i++) {
        clients[i].seed = i + 1;
        pthread_create(&clients[i].thread, NULL, serve, &clients[i]);
    }
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(clients[i].thread, NULL);
    clock_gettime(CLOCK_MONOTONIC, &to);
    doubled = number(sql, "SELECT COUNT(*) FROM (SELECT 1 FROM demo.charge GROUP BY payment HAVING "
                          "COUNT(*) > 1) t");
    missing = PAYMENTS - number(sql, "SELECT COUNT(DISTINCT payment) FROM demo.charge");
    moved = -number(sql, "SELECT balance FROM demo.account");
    printf("| %-12s | %8d | %9d | %6d | %7d | %12ld | %7ld | %11ld | %9ld |\n",
           idem ? "with idem" : "without idem", PAYMENTS, atomic_load(&requests),
           atomic_load(&lost), atomic_load(&crashed), doubled, missing, (long)PAYMENTS * AMOUNT,
           moved);
    fprintf(stderr, "%s: %.1f s\n", idem ? "with idem" : "without idem",
            (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9);
    return idem ? doubled + missing + labs((long)PAYMENTS * AMOUNT - moved) : 0;
}

int main(int argc, char **argv)
{
    MYSQL *sql;
    long wrong;

    if (argc != 2) {
        fprintf(stderr, "usage: payments SOCKET\n");
        return 2;
    }
    socket_path = argv[1];
    mysql_library_init(0, NULL, NULL);
    sql = dial();
    ask(sql, NULL, 0, "CREATE DATABASE IF NOT EXISTS demo");
    ask(sql, NULL, 0,
        "CREATE OR REPLACE TABLE demo.charge (id INT PRIMARY KEY AUTO_INCREMENT, "
        "payment INT NOT NULL, KEY (payment)) ENGINE=InnoDB");
    ask(sql, NULL, 0, "CREATE OR REPLACE TABLE demo.account (balance BIGINT) ENGINE=InnoDB");
    ask(sql, NULL, 0, "INSERT INTO demo.account VALUES (0)");
    printf("| %-12s | payments | requests  | lost   | crashed | charged more | never   | money due "
           "  | "
           "moved     |\n|              |          | delivered | answer |         | than once    | "
           "charged |             |           |\n",
           "");
    printf("|--------------|---------:|----------:|-------:|--------:|-------------:|--------:|----"
           "-------"
           "-:|----------:|\n");
    fflush(stdout);
    run(sql, false);
    wrong = run(sql, true);
    mysql_close(sql);
    if (wrong != 0)
        fprintf(stderr, "payments: idem failed\n");
    return wrong != 0;
}
