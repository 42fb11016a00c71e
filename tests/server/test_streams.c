/* SPDX-License-Identifier: GPL-2.0-only */
/* Random event streams against a simple model: whatever order they come in, however often, the rows
   end as if each event had come once and in order. */
#include "bank.h"
#include "fixture.h"

#include <pthread.h>

static int start(void **state)
{
    fixture_start(state);
    define_bank(s1);
    return 0;
}

#define STREAMS 10000
#define CHUNK 25
#define EVENTS_MAX 4
#define WORKERS 2

enum kind { PLAIN, PARK, SNAP, KINDS };

struct stream {
    enum kind kind;
    int id, events;
    int amount[EVENTS_MAX + 1];
    int version; /* of the model's row */
    bool parked[EVENTS_MAX + 1];
    bool acknowledged[EVENTS_MAX + 1];
};

struct worker {
    pthread_t thread;
    MYSQL *sql;
    unsigned int seed;
    int first, last;
    int calls;
    char error[512];
};

static int total(const struct stream *stream, int version)
{
    int sum = 0;

    for (int v = 1; v <= version; v++)
        sum += stream->amount[v];
    return sum;
}

/* What the call must answer. */
static const char *model_deliver(struct stream *stream, int version)
{
    if (stream->kind == SNAP) {
        const char *outcome = stream->version == 0         ? "INSERTED"
                              : version > stream->version  ? "UPDATED"
                              : version == stream->version ? "DUPLICATE"
                                                           : "STALE";

        if (version > stream->version)
            stream->version = version;
        stream->acknowledged[version] = true;
        return outcome;
    }
    if (version > stream->version + 1) {
        if (stream->kind == PLAIN)
            return "GAP";
        stream->parked[version] = true;
        stream->acknowledged[version] = true;
        return "PARKED";
    }
    stream->acknowledged[version] = true;
    if (version <= stream->version)
        return "DUPLICATE";
    stream->version = version;
    while (stream->version < stream->events && stream->parked[stream->version + 1])
        stream->version++;
    return "APPLIED";
}

struct script {
    char text[262144], expected[16384], asked[16384];
    size_t length, expected_length, asked_length;
    int calls;
};

#define APPEND(script, what, ...)                                                                  \
    ((script)->what##_length +=                                                                    \
     (size_t)snprintf((script)->what + (script)->what##_length,                                    \
                      sizeof((script)->what) - (script)->what##_length, __VA_ARGS__))
#define text_length length

static void deliver(struct script *script, struct stream *stream, int version)
{
    int call = script->calls++;

    APPEND(script, text,
           stream->kind == SNAP   ? "CALL idem.apply_snapshot('snap', %d, %d, "
                                    "'{\"cents\":%d,\"memo\":\"%d\"}', @o%d);"
           : stream->kind == PARK ? "CALL idem.apply_delta('park', %d, %d, "
                                    "'{\"cents\":{\"$add\":%d},\"memo\":\"%d\"}', @o%d, @e);"
                                  : "CALL idem.apply_delta('plain', %d, %d, "
                                    "'{\"cents\":{\"$add\":%d},\"memo\":\"%d\"}', @o%d, @e);",
           stream->id, version,
           stream->kind == SNAP ? total(stream, version) : stream->amount[version], version, call);
    APPEND(script, expected, "%s%s", call ? "," : "", model_deliver(stream, version));
    APPEND(script, asked, "%s@o%d", call ? "," : "", call);
}

static void make_stream(struct stream *stream, int id, unsigned int *seed)
{
    *stream = (struct stream){.kind = (enum kind)(rand_r(seed) % KINDS),
                              .id = id,
                              .events = 1 + rand_r(seed) % EVENTS_MAX};
    for (int v = 1; v <= stream->events; v++)
        stream->amount[v] = rand_r(seed) % 2001 - 1000;
}

/* Deliveries of a chunk of streams, mixed: each event a first time, one in five lost, one in three
   doubled; then what nobody acknowledged is sent again, in any order, until nothing is left. */
static void make_script(struct script *script, struct stream *streams, unsigned int *seed)
{
    for (bool refill = false, left = true; left; refill = true) {
        struct {
            struct stream *stream;
            int version;
        } queue[CHUNK * EVENTS_MAX * 2];
        int count = 0;

        for (int i = 0; i < CHUNK; i++)
            for (int v = 1; v <= streams[i].events; v++) {
                int copies = refill ? !streams[i].acknowledged[v]
                                    : (rand_r(seed) % 5 != 0) + (rand_r(seed) % 3 == 0);

                while (copies-- > 0) {
                    queue[count].stream = &streams[i];
                    queue[count++].version = v;
                }
            }
        for (int i = count - 1; i > 0; i--) {
            int j = rand_r(seed) % (i + 1);

            if (j != i) {
                struct stream *stream = queue[i].stream;
                int version = queue[i].version;

                queue[i] = queue[j];
                queue[j].stream = stream;
                queue[j].version = version;
            }
        }
        for (int i = 0; i < count; i++)
            deliver(script, queue[i].stream, queue[i].version);
        left = false;
        for (int i = 0; i < CHUNK; i++)
            for (int v = 1; v <= streams[i].events; v++)
                left |= !streams[i].acknowledged[v];
    }
}

/* Sends text, keeps the first value of the last result. False with the error said. */
static bool ask(struct worker *worker, const char *text, char *ret_answer, size_t room)
{
    int more;

    if (mysql_query(worker->sql, text) != 0) {
        snprintf(worker->error, sizeof(worker->error), "%s", mysql_error(worker->sql));
        return false;
    }
    do {
        MYSQL_RES *result = mysql_store_result(worker->sql);
        MYSQL_ROW row = result != NULL ? mysql_fetch_row(result) : NULL;

        if (row != NULL)
            snprintf(ret_answer, room, "%s", row[0] != NULL ? row[0] : "NULL");
        mysql_free_result(result);
        more = mysql_next_result(worker->sql);
    } while (more == 0);
    if (more > 0)
        snprintf(worker->error, sizeof(worker->error), "%s", mysql_error(worker->sql));
    return more < 0;
}

static bool check_rows(struct worker *worker, const struct stream *streams)
{
    static const char *const tables[] = {"account", "parking", "customer"};

    for (int i = 0; i < CHUNK; i++) {
        const struct stream *stream = &streams[i];
        char text[256], answer[128] = "", expected[128];

        snprintf(text, sizeof(text),
                 "SELECT CONCAT_WS(' ', version, cents, memo) FROM bank.%s WHERE id = %d",
                 tables[stream->kind], stream->id);
        snprintf(expected, sizeof(expected), "%d %d %d", stream->events,
                 total(stream, stream->events), stream->events);
        if (!ask(worker, text, answer, sizeof(answer)))
            return false;
        if (strcmp(answer, expected) != 0) {
            snprintf(worker->error, sizeof(worker->error), "%s: got %s, in order it is %s", text,
                     answer, expected);
            return false;
        }
    }
    return true;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct script *script = malloc(sizeof(*script));
    char *answer = malloc(sizeof(script->expected));
    char *select = malloc(sizeof(script->asked) + 64);

    mysql_thread_init();
    for (int at = worker->first; at < worker->last && worker->error[0] == '\0'; at += CHUNK) {
        struct stream streams[CHUNK];
        bool transaction = rand_r(&worker->seed) % 2;

        script->length = script->expected_length = script->asked_length = 0;
        script->calls = 0;
        for (int i = 0; i < CHUNK; i++)
            make_stream(&streams[i], 5000000 + at + i, &worker->seed);
        if (transaction)
            APPEND(script, text, "BEGIN;");
        make_script(script, streams, &worker->seed);
        if (transaction)
            APPEND(script, text, "COMMIT;");
        worker->calls += script->calls;
        snprintf(select, sizeof(script->asked) + 64, "SELECT CONCAT_WS(',', %s)", script->asked);
        if (!ask(worker, script->text, answer, sizeof(script->expected)) ||
            !ask(worker, select, answer, sizeof(script->expected)))
            break;
        if (strcmp(answer, script->expected) != 0)
            snprintf(worker->error, sizeof(worker->error),
                     "streams from %d: got %.200s, expected %.200s", at, answer, script->expected);
        else
            check_rows(worker, streams);
    }
    mysql_thread_end();
    free(script);
    free(answer);
    free(select);
    return NULL;
}

static void random_streams_end_as_if_they_had_come_in_order(void **state)
{
    struct worker workers[WORKERS];
    const char *given = getenv("IDEM_TEST_SEED");
    unsigned int seed = given != NULL ? (unsigned int)strtoul(given, NULL, 10) : 20260101;
    int calls = 0;

    (void)state;
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){.seed = seed + (unsigned int)i,
                                     .first = STREAMS / WORKERS * i,
                                     .last = STREAMS / WORKERS * (i + 1)};
        workers[i].sql = server_connect_as(fixture_server, "root", CLIENT_MULTI_STATEMENTS);
        run(workers[i].sql, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(workers[i].thread, NULL);
        calls += workers[i].calls;
        mysql_close(workers[i].sql);
    }
    for (int i = 0; i < WORKERS; i++)
        if (workers[i].error[0] != '\0')
            fail_msg("seed %u: %s", seed, workers[i].error);
    print_message("%d streams, %d deliveries\n", STREAMS, calls);
    expect_text(s1, "0", "SELECT COUNT(*) FROM idem.parked_event");
    expect_text(s1, "10000",
                "SELECT (SELECT COUNT(*) FROM bank.account WHERE id >= 5000000)"
                " + (SELECT COUNT(*) FROM bank.parking WHERE id >= 5000000)"
                " + (SELECT COUNT(*) FROM bank.customer WHERE id >= 5000000)");
}

/* ---- the same streams from several sessions at once ---- */

#define SHARED 300
#define SESSIONS 4

struct session {
    pthread_t thread;
    MYSQL *sql;
    struct worker asker;
    struct stream *streams;
    unsigned int seed;
};

/* Delivers one event until it is acknowledged or a gap; false on an error that is not 1213. */
static bool deliver_shared(struct session *session, const struct stream *stream, int version,
                           bool *ret_gap)
{
    char text[512], answer[32] = "";

    snprintf(text, sizeof(text),
             stream->kind == SNAP ? "CALL idem.apply_snapshot('snap', %d, %d, "
                                    "'{\"cents\":%d,\"memo\":\"%d\"}', @o); SELECT @o"
             : stream->kind == PARK
                 ? "CALL idem.apply_delta('park', %d, %d, "
                   "'{\"cents\":{\"$add\":%d},\"memo\":\"%d\"}', @o, @e); SELECT @o"
                 : "CALL idem.apply_delta('plain', %d, %d, "
                   "'{\"cents\":{\"$add\":%d},\"memo\":\"%d\"}', @o, @e); SELECT @o",
             stream->id, version,
             stream->kind == SNAP ? total(stream, version) : stream->amount[version], version);
    while (!ask(&session->asker, text, answer, sizeof(answer))) {
        if (mysql_errno(session->sql) != 1213)
            return false;
        session->asker.error[0] = '\0';
    }
    *ret_gap = strcmp(answer, "GAP") == 0;
    if (strcmp(answer, "CONFLICT") == 0)
        snprintf(session->asker.error, sizeof(session->asker.error), "CONFLICT for %.200s", text);
    return session->asker.error[0] == '\0';
}

static void *deliver_all(void *argument)
{
    struct session *session = argument;
    bool done[SHARED][EVENTS_MAX + 1] = {0};

    mysql_thread_init();
    for (int at = 0; at < SHARED; at += CHUNK / 5)
        for (bool left = true; left;) {
            left = false;
            for (int i = 0; i < CHUNK * 4; i++) {
                int n = at + rand_r(&session->seed) % (CHUNK / 5);
                int version = 1 + rand_r(&session->seed) % session->streams[n].events;
                bool gap = false;

                if (done[n][version])
                    continue;
                if (!deliver_shared(session, &session->streams[n], version, &gap))
                    goto cleanup;
                done[n][version] = !gap;
            }
            for (int n = at; n < at + CHUNK / 5; n++)
                for (int version = 1; version <= session->streams[n].events; version++)
                    left |= !done[n][version];
        }

cleanup:
    mysql_thread_end();
    return NULL;
}

static void streams_delivered_by_several_sessions_at_once_are_applied_once(void **state)
{
    static struct stream streams[SHARED];
    struct session sessions[SESSIONS];
    unsigned int seed = 7;
    struct worker checker = {.sql = s1};

    (void)state;
    for (int i = 0; i < SHARED; i++)
        make_stream(&streams[i], 7000000 + i, &seed);
    for (int i = 0; i < SESSIONS; i++) {
        sessions[i] = (struct session){.streams = streams, .seed = (unsigned int)i};
        sessions[i].sql = server_connect_as(fixture_server, "root", CLIENT_MULTI_STATEMENTS);
        sessions[i].asker.sql = sessions[i].sql;
        run(sessions[i].sql, "SET SESSION TRANSACTION ISOLATION LEVEL %s",
            i % 2 ? "READ COMMITTED" : "REPEATABLE READ");
        pthread_create(&sessions[i].thread, NULL, deliver_all, &sessions[i]);
    }
    for (int i = 0; i < SESSIONS; i++) {
        pthread_join(sessions[i].thread, NULL);
        mysql_close(sessions[i].sql);
    }
    for (int i = 0; i < SESSIONS; i++)
        if (sessions[i].asker.error[0] != '\0')
            fail_msg("%s", sessions[i].asker.error);
    for (int i = 0; i < SHARED; i += CHUNK)
        if (!check_rows(&checker, &streams[i]))
            fail_msg("%s", checker.error);
    expect_text(s1, "0", "SELECT COUNT(*) FROM idem.parked_event");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_streams_end_as_if_they_had_come_in_order),
        cmocka_unit_test(streams_delivered_by_several_sessions_at_once_are_applied_once),
    };

    return cmocka_run_group_tests_name("streams", tests, start, fixture_stop);
}
