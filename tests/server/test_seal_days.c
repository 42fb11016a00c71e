/* SPDX-License-Identifier: GPL-2.0-only */
/* Sealing: no key is ever forgotten, whatever is under way when a day is sealed, and whatever
   becomes of its filter. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "async.h"
#include "fixture.h"

/* Each test has a day of its own, far from those of the others; everybody's clock goes there. */
static int base = 20500;

static const char *day(int offset)
{
    static char text[4][16];
    static int next;
    time_t seconds = (time_t)(base + offset) * 86400;
    struct tm utc;

    gmtime_r(&seconds, &utc);
    strftime(text[next % 4], sizeof(text[0]), "%Y-%m-%d", &utc);
    return text[next++ % 4];
}

static void clock_at(int offset, const char *time)
{
    char text[40];

    snprintf(text, sizeof(text), "%s %s", day(offset), time);
    set_clock(s3, text);
}

/* The first day of the test is today, at noon, and the days after it exist. */
static int begin_days(void **state)
{
    (void)state;
    base += 10;
    run(s3, "TRUNCATE idem.record");
    run(s3, "DELETE FROM idem.live_day");
    run(s3, "ALTER TABLE idem.record PARTITION BY RANGE COLUMNS (created_on)"
            " (PARTITION p19700101 VALUES LESS THAN ('1970-01-02'))");
    set_clock(s3, NULL);
    clock_at(0, "12:00:00");
    run(s3, "CALL idem.ensure_partitions()");
    return 0;
}

/* What the answer to CALL idem.seal_days() says of a day; "" nothing. */
static const char *read_outcome(MYSQL *sql, int offset)
{
    static char outcome[16];
    const char *found = "";
    MYSQL_RES *result = mysql_store_result(sql);
    MYSQL_ROW row;

    if (result == NULL)
        fail_msg("seal_days: %s", mysql_error(sql));
    while ((row = mysql_fetch_row(result)) != NULL)
        if (strcmp(row[0], day(offset)) == 0)
            found = row[1];
    snprintf(outcome, sizeof(outcome), "%s", found);
    mysql_free_result(result);
    while (mysql_next_result(sql) == 0)
        mysql_free_result(mysql_store_result(sql));
    return outcome;
}

static const char *seal(MYSQL *sql, int offset)
{
    mysql_query(sql, "CALL idem.seal_days()");
    return read_outcome(sql, offset);
}

static void reconnect(void)
{
    mysql_close(s1);
    mysql_close(s2);
    mysql_close(s3);
    s1 = server_connect(fixture_server);
    s2 = server_connect(fixture_server);
    s3 = server_connect(fixture_server);
}

static void claim_and_finish(MYSQL *sql, const char *key)
{
    assert_string_equal(claim(sql, PROCEDURE_DOOR, "'pay'", key, "NULL").state, "CLAIMED");
    assert_int_equal(finish(sql, PROCEDURE_DOOR, "'pay'", key, "NULL", "'7'"), 0);
}

static int64_t status_of(const char *name)
{
    const char *text = value(s3,
                             "SELECT variable_value FROM information_schema.global_status"
                             " WHERE variable_name = 'idem_%s'",
                             name);

    return strtoll(text, NULL, 10);
}

static void a_sealed_day_keeps_its_keys_and_spares_the_look(void **state)
{
    const char *key = fresh_key("kept");
    int64_t skips, probes;

    (void)state;
    claim_and_finish(s1, key);
    clock_at(1, "01:59:59");
    assert_string_equal(seal(s2, 0), ""); /* another server's clock may still be in that day */
    clock_at(1, "02:00:00");
    assert_string_equal(seal(s2, 0), "sealed");
    assert_string_equal(seal(s2, 0), "");
    skips = status_of("filter_skips");
    probes = status_of("filter_probes");
    assert_string_equal(claim(s1, PROCEDURE_DOOR, "'pay'", fresh_key("new"), "NULL").state,
                        "CLAIMED");
    assert_true(status_of("filter_skips") > skips);
    assert_true(status_of("filter_probes") == probes);
    assert_true(status_of("filter_bytes") > 0);
    EACH_DOOR(door)
    assert_string_equal(claim(s1, door, "'pay'", key, "NULL").state, "DONE");
    assert_true(status_of("filter_probes") > probes);
}

static void a_day_without_keys_is_sealed_too(void **state)
{
    int64_t probes;

    (void)state;
    clock_at(1, "12:00:00");
    assert_string_equal(seal(s2, 0), "sealed");
    probes = status_of("filter_probes");
    claim_and_finish(s1, fresh_key("after"));
    assert_true(status_of("filter_probes") == probes);
}

static void an_open_writer_keeps_its_day_from_being_sealed(void **state)
{
    const char *key = fresh_key("open");

    (void)state;
    run(s1, "START TRANSACTION");
    claim_and_finish(s1, key);
    clock_at(1, "12:00:00");
    assert_string_equal(seal(s2, 0), "busy");
    /* Meanwhile nothing of the day is skipped. */
    assert_string_equal(claim(s2, PROCEDURE_DOOR, "'pay'", key, "NULL").state, "IN_PROGRESS");
    run(s1, "COMMIT");
    assert_string_equal(seal(s2, 0), "sealed");
    assert_string_equal(claim(s2, PROCEDURE_DOOR, "'pay'", key, "NULL").state, "DONE");
}

static void a_prepared_writer_keeps_its_day_from_being_sealed(void **state)
{
    const char *key = fresh_key("xa");

    (void)state;
    run(s1, "XA START 'x'");
    claim_and_finish(s1, key);
    run(s1, "XA END 'x'");
    run(s1, "XA PREPARE 'x'");
    clock_at(1, "12:00:00");
    assert_string_equal(seal(s2, 0), "busy");
    run(s1, "XA COMMIT 'x'");
    assert_string_equal(seal(s2, 0), "sealed");
    assert_string_equal(claim(s2, PROCEDURE_DOOR, "'pay'", key, "NULL").state, "DONE");
}

static void a_delete_that_may_be_rolled_back_keeps_its_day_from_being_sealed(void **state)
{
    const char *key = fresh_key("deleted");

    (void)state;
    claim_and_finish(s1, key);
    clock_at(1, "12:00:00");
    run(s1, "START TRANSACTION");
    run(s1, "DELETE FROM idem.record WHERE idem_key = %s", key);
    assert_string_equal(seal(s2, 0), "busy");
    run(s1, "ROLLBACK");
    assert_string_equal(seal(s2, 0), "sealed");
    assert_string_equal(claim(s2, PROCEDURE_DOOR, "'pay'", key, "NULL").state, "DONE");
}

/* The claim had read its day before midnight, and inserts only now. */
static void a_late_row_is_taken_back(void **state)
{
    (void)state;
    clock_at(1, "12:00:00");
    run(s1, "SET GLOBAL log_bin_trust_function_creators = ON");
    run(s1, "CREATE OR REPLACE FUNCTION test.late(d DATE) RETURNS INT MODIFIES SQL DATA BEGIN "
            "DECLARE CONTINUE HANDLER FOR 1526 SET @caught = 1526; "
            "SELECT idem._acquire('', 'late', d, 'pay', 0, NULL, 1, NULL, NULL, NULL, "
            "UTC_TIMESTAMP()) INTO @none; RETURN 1; END");
    for (int sealed = 0; sealed <= 1; sealed++) {
        run(s1, "SET @caught = NULL");
        run(s1, "SELECT test.late('%s')", day(0));
        expect_text(s1, "1526", "SELECT @caught");
        expect_text(s2, "0", "SELECT COUNT(*) FROM idem.record WHERE idem_key = 'late'");
        expect_errno(s1, 1526,
                     "SELECT idem._acquire('', 'late', '%s', 'pay', 0, NULL, 1, NULL, NULL, NULL,"
                     " UTC_TIMESTAMP())",
                     day(0));
        expect_text(s2, "0", "SELECT COUNT(*) FROM idem.record WHERE idem_key = 'late'");
        seal(s2, 0);
    }
}

static void case_clock_set_back_over_a_restart_claims_in_the_next_open_day(void **state)
{
    const char *old = fresh_key("old"), *new = fresh_key("new");
    struct answer answer;

    (void)state;
    claim_and_finish(s1, old);
    clock_at(1, "12:00:00");
    assert_string_equal(seal(s2, 0), "sealed");
    set_clock(s3, NULL); /* forgets the newest day, as a restart does */
    clock_at(0, "13:00:00");
    answer = claim(s1, PROCEDURE_DOOR, "'pay'", new, "NULL");
    assert_string_equal(answer.state, "CLAIMED");
    expect_text(s2, day(1), "SELECT created_on FROM idem.record WHERE idem_key = %s", new);
    assert_string_equal(claim(s2, PROCEDURE_DOOR, "'pay'", new, "NULL").state, "IN_PROGRESS");
    assert_int_equal(finish(s1, PROCEDURE_DOOR, "'pay'", new, "NULL", "'1'"), 0);
    assert_string_equal(claim(s2, PROCEDURE_DOOR, "'pay'", old, "NULL").state, "DONE");
    assert_int_equal(fail_claim(s2, PROCEDURE_DOOR, "'pay'", "'failed-back'", "NULL", "'1'", 0), 0);
    expect_text(s2, day(1), "SELECT created_on FROM idem.record WHERE idem_key = 'failed-back'");
    clock_at(1, "13:00:00");
    EACH_DOOR(door)
    assert_string_equal(claim(s2, door, "'pay'", new, "NULL").state, "DONE");
}

static void a_real_restart_reads_the_seals_again(void **state)
{
    const char *key = fresh_key("restart");

    (void)state;
    claim_and_finish(s1, key);
    clock_at(1, "12:00:00");
    assert_string_equal(seal(s2, 0), "sealed");
    server_restart(fixture_server, NULL);
    reconnect();
    clock_at(0, "13:00:00");
    assert_string_equal(claim(s1, PROCEDURE_DOOR, "'pay'", key, "NULL").state, "DONE");
    assert_string_equal(claim(s1, PROCEDURE_DOOR, "'pay'", "'restart-new'", "NULL").state,
                        "CLAIMED");
    expect_text(s2, day(1), "SELECT created_on FROM idem.record WHERE idem_key = 'restart-new'");
    assert_true(status_of("filter_bytes") > 0);
}

static void a_crash_between_mark_and_filter_is_finished_by_the_next_call(void **state)
{
    const char *key = fresh_key("crash");

    (void)state;
    claim_and_finish(s1, key);
    clock_at(1, "12:00:00");
    run(s2, "UPDATE idem.live_day SET sealed = TRUE WHERE day = '%s'", day(0));
    run(s2, "SELECT idem_reload()");
    assert_string_equal(claim(s1, PROCEDURE_DOOR, "'pay'", key, "NULL").state, "DONE");
    assert_string_equal(seal(s2, 0), "sealed");
    assert_string_equal(claim(s1, PROCEDURE_DOOR, "'pay'", key, "NULL").state, "DONE");
}

/* Between mark and filter, held there by a locked record; and while the filter is written, held by
   a lock on the day that its foreign key points to. */
static void a_server_killed_while_it_seals_forgets_nothing(void **state)
{
    (void)state;
    for (int writing = 0; writing <= 1; writing++) {
        const char *key = fresh_key("killed");
        int over = 2 * writing;
        MYSQL *sealer = server_connect(fixture_server);

        set_clock(s3, NULL);
        clock_at(over, "12:00:00");
        claim_and_finish(s1, key);
        clock_at(over + 1, "12:00:00");
        seal(s2, -1); /* what is left of the days before */
        run(s2, "UPDATE idem.live_day SET sealed = FALSE WHERE day = '%s'", day(over));
        run(s2, "DELETE FROM idem.sealed_day WHERE day = '%s'", day(over));
        run(s1, "BEGIN");
        run(s1, "SELECT 1 FROM idem.record WHERE idem_key = %s FOR UPDATE", key);
        send_query(sealer, "CALL idem.seal_days()");
        wait_until(s2, "SELECT sealed FROM idem.live_day WHERE day = '%s'", day(over));
        if (writing) {
            run(s3, "BEGIN");
            run(s3, "SELECT 1 FROM idem.live_day WHERE day = '%s' FOR UPDATE", day(over));
            run(s1, "ROLLBACK");
            wait_for_lock(s2);
        }
        expect_text(s2, "0", "SELECT COUNT(*) FROM idem.sealed_day WHERE day = '%s'", day(over));
        server_kill(fixture_server, SIGKILL);
        mysql_close(sealer);
        server_restart(fixture_server, NULL);
        reconnect();
        clock_at(over + 1, "12:00:00");
        expect_text(s2, "1 0",
                    "SELECT CONCAT(l.sealed, ' ', COUNT(s.day)) FROM idem.live_day l"
                    " LEFT JOIN idem.sealed_day s ON s.day = l.day WHERE l.day = '%s'",
                    day(over));
        assert_string_equal(claim(s1, PROCEDURE_DOOR, "'pay'", key, "NULL").state, "DONE");
        assert_string_equal(seal(s2, over), "sealed");
        assert_string_equal(claim(s1, PROCEDURE_DOOR, "'pay'", key, "NULL").state, "DONE");
    }
}

static void two_sealers_make_one_filter(void **state)
{
    const char *key = fresh_key("both");
    MYSQL *other = server_connect(fixture_server);

    (void)state;
    claim_and_finish(s1, key);
    clock_at(1, "12:00:00");
    run(s1, "BEGIN");
    run(s1, "SELECT 1 FROM idem.record WHERE idem_key = %s FOR UPDATE", key);
    send_query(s2, "CALL idem.seal_days()");
    send_query(other, "CALL idem.seal_days()");
    wait_until(s3, "SELECT COUNT(*) = 2 FROM information_schema.processlist"
                   " WHERE info LIKE '%%SLEEP(0.05)%%' AND id <> CONNECTION_ID()");
    run(s1, "ROLLBACK");
    assert_int_equal(mysql_read_query_result(s2), 0);
    assert_string_equal(read_outcome(s2, 0), "sealed");
    assert_int_equal(mysql_read_query_result(other), 0);
    assert_string_equal(read_outcome(other, 0), "sealed");
    mysql_close(other);
    expect_text(s3, "1 1",
                "SELECT CONCAT(COUNT(*), ' ', MAX(s.`keys`)) FROM idem.sealed_day s"
                " WHERE s.day = '%s'",
                day(0));
    assert_string_equal(claim(s1, PROCEDURE_DOOR, "'pay'", key, "NULL").state, "DONE");
}

/* The other seal is committed while this one has read the records and is about to store its own. */
static void a_seal_that_was_faster_is_no_error(void **state)
{
    (void)state;
    claim_and_finish(s1, fresh_key("first"));
    clock_at(1, "12:00:00");
    run(s1, "BEGIN");
    run(s1,
        "INSERT INTO idem.sealed_day SELECT '%s', 1, LENGTH(f.filter), f.filter, UTC_TIMESTAMP()"
        " FROM (SELECT idem_filter_build(scope, idem_key, '%s') AS filter FROM idem.record) f",
        day(0), day(0));
    send_query(s2, "CALL idem.seal_days()");
    wait_for_lock(s3);
    run(s1, "COMMIT");
    assert_int_equal(mysql_read_query_result(s2), 0);
    assert_string_equal(read_outcome(s2, 0), "sealed");
}

static void install_seal_days(const char *body)
{
    run(s3,
        "CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.seal_days() MODIFIES SQL DATA"
        " SQL SECURITY DEFINER %s",
        body);
}

/* The read of the keys ends early, without an error. */
static void a_filter_of_fewer_keys_than_were_locked_is_not_stored(void **state)
{
    static const char whole[] = "r ON r.created_on = v_day)";
    char *body = strdup(value(s3, "SELECT body FROM mysql.proc WHERE db = 'idem'"
                                  " AND name = 'seal_days'")),
         *at = strstr(body, whole), *cut;

    (void)state;
    assert_non_null(at);
    assert_true(asprintf(&cut, "%.*sr ON r.created_on = v_day AND r.idem_key < 'n')%s",
                         (int)(at - body), body, at + strlen(whole)) > 0);
    claim_and_finish(s1, fresh_key("a"));
    claim_and_finish(s1, fresh_key("z"));
    clock_at(1, "12:00:00");
    run(s3, "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'");
    install_seal_days(cut);
    assert_string_equal(seal(s2, 0), "busy");
    install_seal_days(body);
    run(s3, "SET SESSION sql_mode = DEFAULT");
    assert_string_equal(seal(s2, 0), "sealed");
    free(cut);
    free(body);
}

/* A row of sealed_day for a day that still takes records, made by hand: it knows none of them. */
static void a_filter_of_an_open_day_is_not_used(void **state)
{
    const char *key = fresh_key("open");

    (void)state;
    run(s2,
        "INSERT INTO idem.sealed_day SELECT '%s', 0, LENGTH(f.filter), f.filter, UTC_TIMESTAMP()"
        " FROM (SELECT idem_filter_build(NULL, NULL, '%s') AS filter) f",
        day(0), day(0));
    run(s2, "SELECT idem_reload()");
    claim_and_finish(s1, key);
    clock_at(1, "12:00:00");
    assert_string_equal(claim(s2, PROCEDURE_DOOR, "'pay'", key, "NULL").state, "DONE");
}

static void whatever_becomes_of_a_filter_the_key_is_found(void **state)
{
    static const char *const harms[] = {
        "filter = NULL",
        "filter = ''",
        "filter = LEFT(filter, LENGTH(filter) - 1)",
        "filter = INSERT(filter, 30, 1, 'x')",
        "filter = (SELECT idem_filter_build(NULL, NULL, day))",
        "filter = (SELECT idem_filter_build('', 'other', day + INTERVAL 1 DAY))",
        "`keys` = 0",
        "bytes = NULL",
    };
    const char *key = fresh_key("harmed");

    (void)state;
    claim_and_finish(s1, key);
    clock_at(1, "12:00:00");
    assert_string_equal(seal(s2, 0), "sealed");
    for (size_t i = 0; i < sizeof(harms) / sizeof(harms[0]); i++) {
        run(s2,
            "UPDATE idem.sealed_day SET %s, sealed_at = sealed_at + INTERVAL 1 MICROSECOND"
            " WHERE day = '%s'",
            harms[i], day(0));
        run(s2, "SELECT idem_reload()");
        assert_string_equal(claim(s1, PROCEDURE_DOOR, "'pay'", key, "NULL").state, "DONE");
        run(s2, "DELETE FROM idem.sealed_day WHERE day = '%s'", day(0));
        assert_string_equal(seal(s2, 0), "sealed");
    }
}

static void without_memory_days_are_probed(void **state)
{
    const char *key = fresh_key("memory");

    (void)state;
    claim_and_finish(s1, key);
    clock_at(1, "12:00:00");
    assert_string_equal(seal(s2, 0), "sealed");
    run(s3, "SET GLOBAL idem_filter_memory_bytes = 0");
    run(s3, "SELECT idem_reload()");
    assert_true(status_of("filter_bytes") == 0);
    assert_string_equal(claim(s1, PROCEDURE_DOOR, "'pay'", key, "NULL").state, "DONE");
    run(s3, "SET GLOBAL idem_filter_memory_bytes = DEFAULT");
    run(s3, "SELECT idem_reload()");
    assert_true(status_of("filter_bytes") > 0);
}

static void a_seal_leaves_with_its_day(void **state)
{
    (void)state;
    clock_at(1, "12:00:00");
    assert_string_equal(seal(s2, 0), "sealed");
    run(s2, "DELETE FROM idem.live_day WHERE day = '%s'", day(0));
    expect_text(s2, "0", "SELECT COUNT(*) FROM idem.sealed_day");
    run(s2, "SELECT idem_reload()");
    assert_true(status_of("filter_bytes") == 0);
}

static void every_key_of_a_large_day_is_in_its_filter(void **state)
{
    (void)state;
    run(s2, "USE idem"); /* the sequence engine needs a default database */
    run(s3, "USE idem");
    run(s3,
        "INSERT INTO idem.record (scope, idem_key, created_on, biz_type, status, attempt, token,"
        " owner_conn, owner_epoch, owner_account, created_at, updated_at)"
        " SELECT IF(seq MOD 3 = 0, 'billing', ''), CONCAT('k', seq), '%s', 'pay', 1, 1, seq, 1, 1, "
        "'',"
        " UTC_TIMESTAMP(), UTC_TIMESTAMP() FROM seq_1_to_12345",
        day(0));
    clock_at(1, "12:00:00");
    assert_string_equal(seal(s2, 0), "sealed");
    expect_text(s2, "12345", "SELECT `keys` FROM idem.sealed_day WHERE day = '%s'", day(0));
    expect_text(s2, "12345",
                "SELECT SUM(idem_filter_has(s.filter, s.day, r.scope, r.idem_key))"
                " FROM idem.record r JOIN idem.sealed_day s ON s.day = r.created_on"
                " WHERE s.day = '%s'",
                day(0));
    expect_text(s2, "1",
                "SELECT SUM(idem_filter_has(s.filter, s.day, '', CONCAT('other', q.seq))) < 100"
                " FROM seq_1_to_10000 q, idem.sealed_day s WHERE s.day = '%s'",
                day(0));
}

static void sealing_wants_its_own_transactions(void **state)
{
    (void)state;
    run(s1, "START TRANSACTION");
    expect_errno(s1, 52006, "CALL idem.seal_days()");
    run(s1, "ROLLBACK");
    run(s1, "SET autocommit = 0");
    expect_errno(s1, 52006, "CALL idem.seal_days()");
    run(s1, "SET autocommit = 1");
}

#define RACERS 3
#define RACE_DAYS 5
#define RACE_KEYS 100000

struct racer {
    MYSQL *sql;
    char error[256]; /* of the last claim that had one */
};

static atomic_int race_key; /* the newest key; racers also ask for some that are older */
static atomic_bool race_over;
/* No claim runs over a restart. */
static pthread_rwlock_t restart = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
/* What was told of each key, and not rolled back. */
static atomic_int race_claimed[RACE_KEYS], race_reclaimed[RACE_KEYS];

/* Claims new and old keys, every second one in a transaction, half of these rolled back. */
static void *race(void *argument)
{
    struct racer *racer = argument;

    for (unsigned int i = 0; !atomic_load(&race_over); i++) {
        int newest = i % 4 == 0 ? atomic_fetch_add(&race_key, 1) : atomic_load(&race_key);
        int number = newest - (int)(i % 3) * 7;
        char key[32];
        struct answer answer;
        bool commits = i % 2 != 0 || i % 4 == 0;

        pthread_rwlock_rdlock(&restart);
        snprintf(key, sizeof(key), "'race-%d'", number);
        if (i % 2 == 0)
            run(racer->sql, "START TRANSACTION");
        answer = claim(racer->sql, PROCEDURE_DOOR, "'pay'", key, "NULL");
        if (answer.error != 0)
            snprintf(racer->error, sizeof(racer->error), "%u %s", answer.error,
                     mysql_error(racer->sql));
        if (i % 2 == 0)
            run(racer->sql, commits ? "COMMIT" : "ROLLBACK");
        if (commits && strcmp(answer.state, "RECLAIMED") == 0)
            atomic_fetch_add(&race_reclaimed[number], 1);
        if (commits && strcmp(answer.state, "CLAIMED") == 0) {
            atomic_fetch_add(&race_claimed[number], 1);
            /* Or somebody else's by now: the clock may have left the lease behind. */
            finish(racer->sql, PROCEDURE_DOOR, "'pay'", key, "NULL", "'1'");
        }
        pthread_rwlock_unlock(&restart);
    }
    return NULL;
}

/* Days end, are sealed, and are called today again by a clock that was set back, under full load.
 */
static void no_key_is_claimed_twice_while_days_are_sealed(void **state)
{
    struct racer racers[RACERS] = {{NULL, ""}};
    pthread_t threads[RACERS];
    int told = 0, seals = 0;

    (void)state;
    atomic_store(&race_key, 100);
    atomic_store(&race_over, false);
    for (int i = 0; i < RACERS; i++) {
        racers[i].sql = server_connect(fixture_server);
        pthread_create(&threads[i], NULL, race, &racers[i]);
    }
    for (int now = 1; now <= RACE_DAYS; now++) {
        int before = atomic_load(&race_key);

        while (atomic_load(&race_key) < before + 50)
            usleep(1000);
        clock_at(now, "12:00:00");
        if (strcmp(seal(s2, now - 1), "sealed") != 0)
            continue;
        seals++;
        before = atomic_load(&race_key);
        pthread_rwlock_wrlock(&restart);
        set_clock(s3, NULL);
        clock_at(now - 1, "13:00:00");
        pthread_rwlock_unlock(&restart);
        while (atomic_load(&race_key) < before + 50)
            usleep(1000);
    }
    atomic_store(&race_over, true);
    for (int i = 0; i < RACERS; i++) {
        pthread_join(threads[i], NULL);
        mysql_close(racers[i].sql);
    }
    for (int i = 0; i < RACERS; i++)
        assert_string_equal(racers[i].error, "");
    assert_true(seals > 0);
    expect_text(s2, "0",
                "SELECT COUNT(*) FROM (SELECT idem_key FROM idem.record"
                " GROUP BY scope, idem_key HAVING COUNT(*) > 1) d");
    /* The one who is told first has it as RECLAIMED when midnight made the claimer let it go. */
    for (int number = 0; number <= atomic_load(&race_key); number++) {
        assert_in_range(race_claimed[number], 0, 1);
        told += race_claimed[number] + race_reclaimed[number] > 0;
    }
    assert_int_equal(told, value_int(s2, "SELECT COUNT(*) FROM idem.record"
                                         " WHERE idem_key LIKE 'race-%%'"));
    expect_text(s2, "0",
                "SELECT COUNT(*) FROM idem.record r JOIN idem.sealed_day s ON s.day = r.created_on"
                " WHERE NOT idem_filter_has(s.filter, s.day, r.scope, r.idem_key)");
}

static int settle(void **state)
{
    run_errno(s1, "XA ROLLBACK 'x'"); /* of a test that failed: it would hold up all others */
    return fixture_settle(state);
}

#define SEAL_TEST(name) cmocka_unit_test_setup_teardown(name, begin_days, settle)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SEAL_TEST(a_sealed_day_keeps_its_keys_and_spares_the_look),
        SEAL_TEST(a_day_without_keys_is_sealed_too),
        SEAL_TEST(an_open_writer_keeps_its_day_from_being_sealed),
        SEAL_TEST(a_prepared_writer_keeps_its_day_from_being_sealed),
        SEAL_TEST(a_delete_that_may_be_rolled_back_keeps_its_day_from_being_sealed),
        SEAL_TEST(a_late_row_is_taken_back),
        SEAL_TEST(case_clock_set_back_over_a_restart_claims_in_the_next_open_day),
        SEAL_TEST(a_real_restart_reads_the_seals_again),
        SEAL_TEST(a_crash_between_mark_and_filter_is_finished_by_the_next_call),
        SEAL_TEST(a_server_killed_while_it_seals_forgets_nothing),
        SEAL_TEST(two_sealers_make_one_filter),
        SEAL_TEST(a_seal_that_was_faster_is_no_error),
        SEAL_TEST(a_filter_of_fewer_keys_than_were_locked_is_not_stored),
        SEAL_TEST(a_filter_of_an_open_day_is_not_used),
        SEAL_TEST(whatever_becomes_of_a_filter_the_key_is_found),
        SEAL_TEST(without_memory_days_are_probed),
        SEAL_TEST(a_seal_leaves_with_its_day),
        SEAL_TEST(every_key_of_a_large_day_is_in_its_filter),
        SEAL_TEST(sealing_wants_its_own_transactions),
        SEAL_TEST(no_key_is_claimed_twice_while_days_are_sealed),
    };

    return cmocka_run_group_tests_name("seal_days", tests, fixture_start, fixture_stop);
}
