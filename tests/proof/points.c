/* SPDX-License-Identifier: GPL-2.0-only */
/* Crash points of claims. A scenario is a claim's life from its first statement to its last.
   Sessions go through it, each with a key of its own, and the one with step n stops before step n;
   when every step has a session waiting before it the server is killed. So one crash hits all
   steps. Writes are hit one by one: a session that waits in a commit would hold up the rest. */
#include "points.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STATEMENTS 8
#define ATTEMPTS_MAX 4000
#define WAITING_MAX 150                  /* sessions before a crash */
#define LAPSE_US (INT64_C(31) * 1000000) /* the longest lease here, and a second */

struct scenario {
    const char *name;
    const char *prepare[2]; /* by another session; @k is the key */
    const char *statements[STATEMENTS];
    int kept_from;  /* so many answers, and there is a record */
    bool fails;     /* its end is FAILED, without work */
    bool inbox;     /* a record of consumer 'c' */
    bool yesterday; /* needs the day before open */
    bool delta;     /* versions of test.account, and no claim */
};

#define APPLY(version, cents)                                                                      \
    "CALL idem.apply_delta('account', @k, " version ", '{\"cents\": {\"$add\": " cents             \
    "}}', @o, @e)"

#define WORK "INSERT INTO test.work SELECT @k, 0 FROM DUAL WHERE @@in_transaction"

/* A record of yesterday, and one of today behind it: the taker-over of a key of yesterday locks the
   gap that it looks at today, and the next session shall not come into that one. */
#define YESTERDAY(status, lease)                                                                   \
    "INSERT INTO idem.record (scope, idem_key, created_on, biz_type, status, attempt, token, "     \
    "owner_conn, owner_epoch, owner_account, result, lease_until, created_at, updated_at) VALUES " \
    "('', CONCAT(@k, '!'), idem_today(), 'p', 1, 1, 1, 1, 1, '', '1', NULL, '2031-12-31', "        \
    "'2031-12-31'), ('', @k, idem_today() - INTERVAL 1 DAY, 'p', " status                          \
    ", 1, 1, 1, 1, '', '1', " lease ", '2031-12-31', '2031-12-31')"

static const struct scenario scenarios[] = {
    {.name = "lapsed, retry",
     .prepare = {YESTERDAY("0", "'2031-12-31'")},
     .statements = {"SELECT idem_begin('p', @k)", WORK, "SELECT idem_commit('p', @k, '1')"},
     .yesterday = true},
    {.name = "lapsed, fail",
     .prepare = {YESTERDAY("0", "'2031-12-31'"),
                 "UPDATE idem.record SET biz_type = 'fail' WHERE scope = '' AND idem_key = @k"},
     .statements = {"SELECT idem_claim('fail', @k)", "CALL idem.begin('fail', @k, NULL)"},
     .fails = true,
     .yesterday = true},
    {.name = "done yesterday",
     .prepare = {YESTERDAY("1", "NULL"), "INSERT INTO test.work VALUES (@k, 0)"},
     .statements = {"SELECT idem_begin('p', @k)", "CALL idem.claim('p', @k, NULL)"},
     .yesterday = true},
    {.name = "transaction",
     .statements = {"CALL idem.begin('p', @k, '{\"n\":1}')", WORK,
                    "CALL idem.commit('p', @k, NULL, '{\"ok\":1}')"},
     .kept_from = 3},
    {.name = "functions",
     .statements = {"SELECT idem_begin('p', @k)", WORK,
                    "SELECT idem_commit('p', @k, '{\"ok\":1}')"},
     .kept_from = 3},
    {.name = "own transaction",
     .statements = {"START TRANSACTION", WORK, "SELECT idem_claim('p', @k)",
                    "SELECT idem_checkpoint('p', @k, '1')", "SELECT idem_finish('p', @k, '2')",
                    "COMMIT"},
     .kept_from = 6},
    {.name = "lease",
     .statements = {"CALL idem.claim_into('p', @k, NULL, 0, @s, @t, @d)",
                    "CALL idem.renew('p', @k, @t, 30)", "CALL idem.checkpoint('p', @k, @t, '[1]')",
                    "START TRANSACTION", WORK, "CALL idem.finish('p', @k, @t, '{}')", "COMMIT"},
     .kept_from = 1},
    {.name = "released",
     .statements = {"SELECT idem_claim('p', @k)", "SELECT idem_release('p', @k)",
                    "CALL idem.begin('p', @k, NULL)", WORK, "SELECT idem_commit('p', @k, '1')"},
     .kept_from = 1},
    {.name = "retryable",
     .statements = {"CALL idem.claim('p', @k, NULL)", "CALL idem.fail('p', @k, NULL, '1', TRUE)",
                    "SELECT idem_begin('p', @k)", WORK, "CALL idem.commit('p', @k, NULL, '1')"},
     .kept_from = 1},
    {.name = "failed",
     .statements = {"CALL idem.begin('p', @k, NULL)", WORK, "ROLLBACK",
                    "CALL idem.fail('p', @k, NULL, '{\"no\":1}', FALSE)"},
     .kept_from = 4,
     .fails = true},
    {.name = "consumed",
     .statements = {"START TRANSACTION", "CALL idem.consume('c', @k, NULL)", WORK, "COMMIT"},
     .kept_from = 4,
     .inbox = true},
    {.name = "batch",
     .statements = {"START TRANSACTION",
                    "SELECT idem_consume_many('c', JSON_ARRAY(@k, CONCAT(@k, "
                    "'-2')))",
                    WORK, "COMMIT"},
     .kept_from = 4,
     .inbox = true},
    /* 3 comes early and is kept, 2 closes the gap. Each adds a digit of its own. */
    {.name = "delta",
     .statements = {APPLY("1", "1"), APPLY("3", "100"), APPLY("2", "10")},
     .delta = true},
};

struct attempt {
    const struct scenario *scenario;
    const char *variable; /* of crashpoint.so, to be set to point */
    int point;
    MYSQL *sql;
    pthread_t thread;
    bool has_thread;
    char key[64];
    int answered;
    bool complete;
    atomic_bool survived; /* and has not stopped behind its last answer either */
};

static struct attempt attempts[ATTEMPTS_MAX];
static size_t attempt_count;
static atomic_size_t calls;
static int64_t now; /* the test clock */
int points_hit;

const char *const *points_options(int64_t now_us)
{
    static char clock[64], flush[64], binlog[64];
    static const char *const options[] = {CRASHPOINT,
                                          clock,
                                          flush,
                                          binlog,
                                          "--loose-idem-partitions-ahead=2",
                                          "--loose-idem-retention-days=3",
                                          "--loose-idem-lease-seconds=20",
                                          NULL};

    snprintf(clock, sizeof(clock), "--loose-idem-test-now-us=%lld", (long long)now_us);
    snprintf(flush, sizeof(flush), "--innodb-flush-log-at-trx-commit=%d", world.plan.flush);
    snprintf(binlog, sizeof(binlog), "--sync-binlog=%d", world.plan.flush == 1);
    return options;
}

void points_say(const char *walk, int last)
{
    fprintf(stderr, "  %s: %d\n", walk, last);
}

void points_break(MYSQL *sql)
{
    if (world.plan.broken != NULL && !break_core(sql, world.plan.broken)) {
        fprintf(stderr, "proof: no break %s\n", world.plan.broken);
        exit(2);
    }
}

MYSQL *points_crash(MYSQL *sql, int64_t now_us)
{
    server_kill(world.server, SIGKILL);
    mysql_close(sql);
    server_restart(world.server, points_options(now_us));
    return server_connect(world.server);
}

/* With flush 2 a commit is handed to the kernel before it is answered, and the kernel lives on. */
bool points_durable(void)
{
    return world.plan.flush != 0;
}

void points_flush(MYSQL *sql)
{
    run(sql, "SET GLOBAL innodb_flush_log_at_trx_commit = 1");
    run(sql, "FLUSH ENGINE LOGS"); /* does nothing when that is 0 */
    run(sql, "SET GLOBAL innodb_flush_log_at_trx_commit = %d", world.plan.flush);
}

int points_first(void)
{
    static unsigned int walks;

    return 1 + (int)((world.plan.seed + walks++) % (unsigned int)world.plan.stride);
}

void points_verify(MYSQL *sql, const char *when)
{
    MYSQL_RES *result;
    MYSQL_ROW row;

    if (mysql_query(sql, "CALL idem.verify()") != 0) {
        report(FAULT, "%s: verify: %s", when, mysql_error(sql));
        return;
    }
    do {
        result = mysql_store_result(sql);
        while (result != NULL && (row = mysql_fetch_row(result)) != NULL)
            report(strcmp(row[0], "key in two days") == 0 ? DOUBLED : FAULT, "%s: %s, %s %s", when,
                   row[0], row[1] != NULL ? row[1] : "", row[4] != NULL ? row[4] : "");
        mysql_free_result(result);
    } while (mysql_next_result(sql) == 0);
}

static int stopped(MYSQL *observer)
{
    return (int)value_int(observer, "SELECT variable_value FROM information_schema.global_status "
                                    "WHERE variable_name = 'crashpoint_stopped'");
}

static struct attempt *new_attempt(const struct scenario *scenario, MYSQL *observer,
                                   const char *variable, int point)
{
    static int number; /* ascending keys: see YESTERDAY */
    struct attempt *attempt = &attempts[attempt_count++];

    if (attempt_count == ATTEMPTS_MAX)
        abort();
    memset(attempt, 0, sizeof(*attempt));
    attempt->scenario = scenario;
    attempt->variable = variable;
    attempt->point = point;
    attempt->sql = server_connect(world.server);
    snprintf(attempt->key, sizeof(attempt->key), "%s %05d at %d", scenario->name, number++, point);
    run(attempt->sql, "SET @k = '%s'", attempt->key);
    run(observer, "SET @k = '%s'", attempt->key);
    run(observer, "START TRANSACTION"); /* it may be lost, but not one half of it */
    for (int i = 0; i < 2 && scenario->prepare[i] != NULL; i++)
        run(observer, "%s", scenario->prepare[i]);
    run(observer, "COMMIT");
    return attempt;
}

/* Goes through the scenario until it is done or the server has gone. */
static void *carry_out(void *data)
{
    struct attempt *attempt = data;
    const char *const *statements = attempt->scenario->statements;
    int i;

    run(attempt->sql, "SET %s = %d", attempt->variable, attempt->point);
    for (i = 0; i < STATEMENTS && statements[i] != NULL; i++) {
        unsigned int error = run_errno(attempt->sql, "%s", statements[i]);

        atomic_fetch_add(&calls, 1);
        if (is_gone(error))
            return NULL;
        if (error != 0)
            report(FAULT, "%s: %s: error %u: %s", attempt->key, statements[i], error,
                   mysql_error(attempt->sql));
        attempt->answered++;
    }
    attempt->complete = true;
    if (run_errno(attempt->sql, "SET %s = 0", attempt->variable) == 0)
        atomic_store(&attempt->survived, true);
    return NULL;
}

struct found {
    int records, status, work;
};

static struct found look(MYSQL *sql, const struct attempt *attempt)
{
    struct found found = {0};

    sscanf(
        value(sql,
              "SELECT CONCAT_WS(' ', COUNT(*), COALESCE(MAX(status), 9), (SELECT COUNT(*) FROM "
              "test.work WHERE k = '%s')) FROM idem.record WHERE scope = '%s' AND idem_key = '%s'",
              attempt->key, attempt->scenario->inbox ? "c" : "", attempt->key),
        "%d %d %d", &found.records, &found.status, &found.work);
    return found;
}

/* Version, sum and how many wait. A version is applied once or not at all: the digits say which. */
static void check_delta(MYSQL *sql, const struct attempt *attempt, const char *expected)
{
    const char *found = value(sql,
                              "SELECT CONCAT(COALESCE(MAX(version), 'none'), ' ', "
                              "COALESCE(MAX(cents), 0), ' ', (SELECT COUNT(*) FROM "
                              "idem.parked_event WHERE id = '%s')) FROM test.account WHERE id = "
                              "'%s'",
                              attempt->key, attempt->key);

    if (strstr(expected, found) == NULL)
        report(FAULT, "%s: %s instead of %s", attempt->key, found, expected);
}

/* Right after the crash: wholly there or wholly absent, and nothing acknowledged missing. */
static void check(MYSQL *sql, const struct attempt *attempt)
{
    struct found found = {0};

    if (attempt->scenario->delta) {
        /* After each answer, or in the middle of the next call. Version 3 may wait although 2 is
           applied, or still be kept when it has been applied: the retry finds it. */
        static const char *const after[] = {"none 0 0; 1 1 0", "1 1 0; 1 1 1",
                                            "1 1 1; 2 11 1; 3 111 1; 3 111 0", "3 111 0"};

        check_delta(sql, attempt,
                    points_durable() ? after[attempt->answered]
                                     : "none 0 0; 1 1 0; 1 1 1; 2 11 1; 3 111 1; 3 111 0");
        return;
    }
    found = look(sql, attempt);
    if (found.records > 1 || found.work > 1)
        report(DOUBLED, "%s: %d records, %d times done", attempt->key, found.records, found.work);
    if (found.work > 0 && found.status != 1)
        report(DOUBLED, "%s: done, and the record does not say so: %d", attempt->key, found.status);
    if (found.work == 0 && found.status == 1)
        report(LOST, "%s: the record says done, and nothing was", attempt->key);
    if (!points_durable())
        return;
    if (attempt->complete && found.status != (attempt->scenario->fails ? 2 : 1))
        report(LOST, "%s: all was answered, and its status is %d", attempt->key, found.status);
    if (attempt->answered >= attempt->scenario->kept_from && attempt->scenario->kept_from > 0 &&
        found.records == 0)
        report(LOST, "%s: %d answers, and there is no record", attempt->key, attempt->answered);
    if (found.status == 0 && !attempt->scenario->yesterday &&
        strcmp(peek(sql, UDF_DOOR, "'p'", value(sql, "SELECT QUOTE('%s')", attempt->key)).state,
               "IN_PROGRESS") != 0)
        report(FAULT, "%s: its lease does not keep others out", attempt->key);
}

static void retry_event(MYSQL *sql, const struct attempt *attempt, const char *key)
{
    struct answer answer;

    run(sql, "START TRANSACTION");
    answer = consume(sql, PROCEDURE_DOOR, "'c'", key, "NULL");
    if (strcmp(answer.state, "NEW") == 0)
        run(sql, "INSERT INTO test.work VALUES (%s, 1)", key);
    else if (strcmp(answer.state, "DUPLICATE") != 0)
        report(FAULT, "%s: retried: %u %s", attempt->key, answer.error, answer.state);
    run(sql, "COMMIT");
}

/* All is delivered again, in order. */
static void retry_delta(MYSQL *sql, const struct attempt *attempt)
{
    run(sql, "SET @k = '%s'", attempt->key);
    run(sql, APPLY("1", "1"));
    run(sql, APPLY("2", "10"));
    run(sql, APPLY("3", "100"));
    check_delta(sql, attempt, "3 111 0");
}

/* When every lease has run out. */
static void retry(MYSQL *sql, const struct attempt *attempt)
{
    bool fails = attempt->scenario->fails;
    const char *type = strstr(attempt->key, "lapsed, fail") != NULL ? "'fail'" : "'p'";
    char key[80];
    struct answer answer;
    struct found found;

    atomic_fetch_add(&calls, 1);
    if (attempt->scenario->delta) {
        retry_delta(sql, attempt);
        return;
    }
    snprintf(key, sizeof(key), "'%s'", attempt->key);
    if (attempt->scenario->inbox) {
        retry_event(sql, attempt, key);
    } else {
        answer = begin(sql, UDF_DOOR, type, key, "NULL");
        if (strcmp(answer.state, "CLAIMED") == 0 || strcmp(answer.state, "RECLAIMED") == 0) {
            run(sql, "INSERT INTO test.work VALUES (%s, 1)", key);
            if (commit(sql, PROCEDURE_DOOR, type, key, "NULL", "'{\"ok\":2}'") != 0)
                report(LOST, "%s: retried: %s", attempt->key, mysql_error(sql));
            fails = false;
        } else if (strcmp(answer.state, fails ? "FAILED" : "DONE") != 0) {
            report(LOST, "%s: retried: %u %s", attempt->key, answer.error, answer.state);
        }
    }
    found = look(sql, attempt);
    if (found.records != 1 || found.work > 1)
        report(DOUBLED, "%s: in the end %d records, %d times done", attempt->key, found.records,
               found.work);
    if (found.status != (fails ? 2 : 1) || found.work != !fails)
        report(LOST, "%s: in the end its status is %d, %d times done", attempt->key, found.status,
               found.work);
}

static MYSQL *crash_and_check(MYSQL *observer)
{
    observer = points_crash(observer, now);
    for (size_t i = 0; i < attempt_count; i++) {
        if (attempts[i].has_thread)
            pthread_join(attempts[i].thread, NULL);
        mysql_close(attempts[i].sql);
        check(observer, &attempts[i]);
    }
    now += LAPSE_US;
    run(observer, "SET GLOBAL idem_test_now_us = %lld", (long long)now);
    for (size_t i = 0; i < attempt_count; i++)
        retry(observer, &attempts[i]);
    attempt_count = 0;
    return observer;
}

static MYSQL *set_up(void)
{
    MYSQL *sql;

    now = START_US + DAY_US / 2;
    world.server = server_start(points_options(now));
    sql = server_connect(world.server);
    run(sql, "CREATE DATABASE test");
    run(sql, "CREATE TABLE test.work (k VARCHAR(64), retried INT, KEY (k)) ENGINE=InnoDB "
             "DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin");
    run(sql, "CREATE TABLE test.account (id VARCHAR(64) PRIMARY KEY, version BIGINT UNSIGNED NOT "
             "NULL, cents BIGINT NOT NULL DEFAULT 0) ENGINE=InnoDB");
    run(sql, "CALL idem.define_projection('account', 'test', 'account', 'id', 'version', 'delta')");
    run(sql, "CALL idem.set_projection('account', NULL, TRUE, NULL)");
    run(sql, "CALL idem.set_policy('fail', NULL, 'fail', NULL, NULL, NULL)");
    now += DAY_US * 5 / 8; /* 03:00 of the next day: the one before can be sealed */
    run(sql, "SET GLOBAL idem_test_now_us = %lld", (long long)now);
    run(sql, "CALL idem.ensure_partitions()");
    points_break(sql);
    return sql;
}

/* Claims that must look at an open yesterday go another way than those that need not. */
static MYSQL *seal_yesterday(MYSQL *sql)
{
    run(sql, "CALL idem.seal_days()");
    if (value_int(sql, "SELECT COUNT(*) FROM idem.sealed_day") != 1)
        report(FAULT, "yesterday was not sealed");
    return sql;
}

static MYSQL *each_scenario(MYSQL *observer, bool is_sealed,
                            MYSQL *(*walk)(MYSQL *, const struct scenario *))
{
    for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
        if (!is_sealed || !scenarios[i].yesterday)
            observer = walk(observer, &scenarios[i]);
    return observer;
}

static MYSQL *walk_steps(MYSQL *observer, const struct scenario *scenario)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    int before = stopped(observer);

    for (int point = points_first();; point += world.plan.stride, before++) {
        struct attempt *attempt = new_attempt(scenario, observer, "crashpoint_stop_at", point);

        pthread_create(&attempt->thread, NULL, carry_out, attempt);
        attempt->has_thread = true;
        do
            nanosleep(&pause, NULL);
        while (!atomic_load(&attempt->survived) && stopped(observer) == before);
        if (atomic_load(&attempt->survived)) {
            points_say(scenario->name, point);
            break;
        }
        points_hit++;
    }
    /* Who looks into another day locks the gap there for its statement or transaction. */
    return scenario->yesterday || before > WAITING_MAX ? crash_and_check(observer) : observer;
}

static MYSQL *walk_writes(MYSQL *observer, const struct scenario *scenario)
{
    for (int point = points_first();; point += world.plan.stride) {
        struct attempt *attempt =
            new_attempt(scenario, observer, "crashpoint_kill_at_write", point);

        carry_out(attempt);
        if (atomic_load(&attempt->survived)) {
            points_say(scenario->name, point);
            return observer;
        }
        points_hit++;
        observer = crash_and_check(observer);
    }
}

static size_t attack(MYSQL *(*walk)(MYSQL *, const struct scenario *))
{
    MYSQL *observer = set_up();

    observer = crash_and_check(each_scenario(observer, false, walk));
    observer = seal_yesterday(observer);
    observer = crash_and_check(each_scenario(observer, true, walk));
    points_verify(observer, "after all crashes");
    mysql_close(observer);
    return atomic_load(&calls);
}

size_t points_claims(void)
{
    return attack(walk_steps);
}

size_t points_commits(void)
{
    return attack(walk_writes);
}
