/* SPDX-License-Identifier: GPL-2.0-only */
/* The storm: 64 sessions carry out 2,000 actions through both doors while transactions roll back at
   random, queries are killed, connections are cut and midnight passes again and again. Each
   action's work must be committed exactly once, and nothing but 1213, 1020 and kills may reach a
   client. */
#include "fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define SESSIONS 64
#define KEYS 2000
#define DAYS 4 /* each has its share of the keys, and sees those of the days before */

struct client {
    pthread_t thread;
    int number;
    long long calls;
    unsigned int unexpected; /* the first error that should not have been */
    char message[256];
};

static atomic_int keys_known = KEYS / DAYS;
static atomic_int keys_open = KEYS;
static atomic_bool key_done[KEYS];
static atomic_ulong ids[SESSIONS];
static atomic_bool killed[SESSIONS]; /* since the last error of this session */
static atomic_bool over;

static bool is_kill(unsigned int error)
{
    return error == 1317 || error == 1927 || error == 2006 || error == 2013;
}

/* True when the error is one that a client of a stormy server has to live with. */
static bool is_expected(unsigned int error)
{
    return is_kill(error) || error == 1213 || error == 1020;
}

static MYSQL *reconnect(MYSQL *sql, struct client *client)
{
    unsigned int error;

    if (sql != NULL)
        mysql_close(sql);
    while ((sql = server_try_connect(fixture_server, 0, &error)) == NULL)
        if (!is_expected(error))
            client->unexpected = error;
    atomic_store(&ids[client->number], mysql_thread_id(sql));
    return sql;
}

/* One try at one key. Returns the error that ended it, or 0; *ret_done: a DONE was seen. */
static unsigned int try_key(MYSQL *sql, struct client *client, int key, unsigned int *seed,
                            bool *ret_done)
{
    enum door door = rand_r(seed) % 2 ? UDF_DOOR : PROCEDURE_DOOR;
    bool one_call = rand_r(seed) % 2;
    char name[32], statement[128];
    struct answer answer;
    unsigned int error;

    *ret_done = false;
    snprintf(name, sizeof(name), "'storm-%d'", key);
    if (!one_call && (error = run_errno(sql, "BEGIN")) != 0)
        return error;
    answer = one_call ? begin(sql, door, "'storm'", name, "'{\"n\":1}'")
                      : claim(sql, door, "'storm'", name, "'{\"n\":1}'");
    client->calls++;
    if (answer.error != 0)
        return answer.error;
    if (strcmp(answer.state, "CLAIMED") == 0) {
        snprintf(statement, sizeof(statement), "INSERT INTO test.work VALUES (%d, %d)", key,
                 client->number);
        if ((error = run_errno(sql, "%s", statement)) != 0)
            return error;
        if (rand_r(seed) % 4 == 0)
            return run_errno(sql, "ROLLBACK");
        if (one_call)
            return commit(sql, door, "'storm'", name, "NULL", "'{\"ok\":1}'");
        if ((error = finish(sql, door, "'storm'", name, "NULL", "'{\"ok\":1}'")) != 0)
            return error;
        return run_errno(sql, "COMMIT");
    }
    *ret_done = strcmp(answer.state, "DONE") == 0;
    return one_call ? 0 : run_errno(sql, "ROLLBACK");
}

static void *work(void *data)
{
    struct client *client = data;
    unsigned int seed = (unsigned int)client->number + 1;
    MYSQL *sql = reconnect(NULL, client);

    while (atomic_load(&keys_open) > 0 && client->unexpected == 0) {
        int known = atomic_load(&keys_known), key = rand_r(&seed) % known;
        unsigned int error;
        bool done;

        /* Half of the time an unfinished key near by, so that the end comes; else a replay. */
        for (int i = 0; rand_r(&seed) % 2 && i < known && atomic_load(&key_done[key]); i++)
            key = (key + 1) % known;
        error = try_key(sql, client, key, &seed, &done);
        if (done && !atomic_exchange(&key_done[key], true))
            atomic_fetch_sub(&keys_open, 1);
        if (error == 0)
            continue;
        if (!is_expected(error) &&
            !(atomic_exchange(&killed[client->number], false) && killed_may_answer(error))) {
            client->unexpected = error;
            snprintf(client->message, sizeof(client->message), "%s", mysql_error(sql));
        }
        error = run_errno(sql, "ROLLBACK");
        if (error == 1317)
            error = run_errno(sql, "ROLLBACK");
        if (error != 0)
            sql = reconnect(sql, client);
    }
    atomic_store(&ids[client->number], 0);
    mysql_close(sql);
    mysql_thread_end();
    return NULL;
}

/* A day ends when no more than half of its own keys are left: each midnight, and nothing else,
   makes the next ones known, so how many days have records does not depend on who is fast. */
static bool day_is_over(int steps)
{
    int left = atomic_load(&keys_known) - (KEYS - atomic_load(&keys_open));

    return steps >= 60 && left <= KEYS / DAYS / 2;
}

static void *disturb(void *data)
{
    MYSQL *sql = server_connect(fixture_server);
    const struct timespec pause = {.tv_nsec = 3000000};
    unsigned int seed = 99;
    int64_t now = INT64_C(1956571200000000); /* 2032-01-01 12:00 */
    int64_t midnight = now - now % DAY_US + DAY_US;
    int steps = 0; /* since it was made almost midnight */

    (void)data;
    for (int i = 0; !atomic_load(&over); i++, steps++) {
        int victim = rand_r(&seed) % SESSIONS;
        unsigned long id = atomic_load(&ids[victim]);

        now += 2500;
        if (now < midnight && day_is_over(steps)) {
            now = midnight - 100000;
            steps = 0;
        }
        run(sql, "SET GLOBAL idem_test_now_us = %lld", (long long)now);
        if (now >= midnight) {
            int known = atomic_load(&keys_known) + KEYS / DAYS;

            midnight += DAY_US;
            atomic_store(&keys_known, known < KEYS ? known : KEYS);
            run(sql, "CALL idem.ensure_partitions()");
        }
        atomic_store(&killed[victim], true);
        if (id != 0)
            run_errno(sql, "KILL %s %lu", i % 5 == 0 ? "CONNECTION" : "QUERY", id);
        nanosleep(&pause, NULL);
    }
    mysql_close(sql);
    mysql_thread_end();
    return NULL;
}

static void every_action_is_carried_out_exactly_once(void **state)
{
    static struct client clients[SESSIONS];
    pthread_t disturber;
    long long calls = 0;

    (void)state;
    run(s1, "CREATE TABLE test.work (k INT, session INT, KEY (k)) ENGINE=InnoDB");
    set_clock(s1, "2032-01-01 12:00:00");
    run(s1, "SET GLOBAL idem_partitions_ahead = 60");
    run(s1, "CALL idem.ensure_partitions()");
    for (int i = 0; i < SESSIONS; i++) {
        clients[i].number = i;
        pthread_create(&clients[i].thread, NULL, work, &clients[i]);
    }
    pthread_create(&disturber, NULL, disturb, NULL);
    for (int i = 0; i < SESSIONS; i++) {
        pthread_join(clients[i].thread, NULL);
        calls += clients[i].calls;
    }
    atomic_store(&over, true);
    pthread_join(disturber, NULL);
    for (int i = 0; i < SESSIONS; i++)
        if (clients[i].unexpected != 0)
            fail_msg("error %u: %s", clients[i].unexpected, clients[i].message);

    print_message("%lld claims for %d keys over %s days\n", calls, KEYS,
                  value(s1, "SELECT COUNT(DISTINCT created_on) FROM idem.record"));
    expect_text(s1, "2000", "SELECT COUNT(*) FROM test.work");
    expect_text(s1, "2000", "SELECT COUNT(DISTINCT k) FROM test.work");
    expect_text(s1, "2000", "SELECT COUNT(*) FROM idem.record WHERE biz_type = 'storm'");
    expect_text(s1, "2000",
                "SELECT COUNT(*) FROM idem.record WHERE biz_type = 'storm' AND status = 1");
    assert_true(value_int(s1, "SELECT COUNT(DISTINCT created_on) FROM idem.record") >= DAYS);
    assert_false(server_log_contains(fixture_server, "got signal"));
    assert_false(server_log_contains(fixture_server, "[ERROR] InnoDB"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(every_action_is_carried_out_exactly_once, fixture_settle),
    };

    return cmocka_run_group_tests_name("storm", tests, fixture_start, fixture_stop);
}
