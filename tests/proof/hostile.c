/* SPDX-License-Identifier: GPL-2.0-only */
/* Hostile callers: SQL and broken bytes in every string argument, through both doors and the
   guards, under character sets in which a quote can hide behind a lead byte, and under every
   sql_mode. Nothing of it may run: neither with the caller's rights nor with those of idem or the
   server. */
#include "history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BYTES 70000
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A call, and arguments with which it gets far. */
static const struct {
    const char *text, *good[4];
} calls[] = {
    {"CALL idem.claim(?, ?, ?)", {"p", "k", "{}"}},
    {"SELECT idem_claim(?, ?, ?)", {"p", "k", "{}"}},
    {"CALL idem.claim_into(?, ?, ?, 0, @s, @t, @d)", {"p", "k", "{}"}},
    {"CALL idem.begin(?, ?, ?)", {"p", "k", "{}"}},
    {"SELECT idem_begin(?, ?, ?)", {"p", "k", "{}"}},
    {"CALL idem.consume(?, ?, ?)", {"p", "k", "{}"}},
    {"SELECT idem_consume(?, ?, ?)", {"p", "k", "{}"}},
    {"CALL idem.finish(?, ?, NULL, ?)", {"p", "k", "{}"}},
    {"SELECT idem_finish(?, ?, ?)", {"p", "k", "{}"}},
    {"CALL idem.commit(?, ?, NULL, ?)", {"p", "k", "{}"}},
    {"SELECT idem_commit(?, ?, ?)", {"p", "k", "{}"}},
    {"CALL idem.fail(?, ?, NULL, ?, 1)", {"p", "k", "{}"}},
    {"SELECT idem_fail(?, ?, ?, 1)", {"p", "k", "{}"}},
    {"CALL idem.checkpoint(?, ?, NULL, ?)", {"p", "k", "{}"}},
    {"SELECT idem_checkpoint(?, ?, ?)", {"p", "k", "{}"}},
    {"CALL idem.release(?, ?, NULL)", {"p", "k", "{}"}},
    {"SELECT idem_release(?, ?)", {"p", "k", "{}"}},
    {"CALL idem.renew(?, ?, NULL, NULL)", {"p", "k", "{}"}},
    {"SELECT idem_renew(?, ?)", {"p", "k", "{}"}},
    {"CALL idem.peek(?, ?)", {"p", "k", "{}"}},
    {"SELECT idem_peek(?, ?)", {"p", "k", "{}"}},
    {"CALL idem.consume_many(?, ?)", {"p", "[\"a\",\"b\"]"}},
    {"SELECT idem_consume_many(?, ?)", {"p", "[\"a\",\"b\"]"}},
    {"SELECT idem_key(?, ?, ?), idem_payload_hash(?)", {"a", "b", "c", "{}"}},
    /* From here on the server's own errors about values are in order. */
    {"CALL idem.transition('m', ?, ?, ?, @o, @s)", {"42", "PAID", "{\"note\":\"x\"}"}},
    {"CALL idem.transition(?, ?, ?, NULL, @o, @s)", {"m", "42", "NEW"}},
    {"CALL idem.apply_snapshot('s', ?, 1, ?, @o)", {"42", "{\"note\":\"x\"}"}},
    {"CALL idem.apply_delta(?, ?, ?, ?, @o, @e)", {"s", "42", "1", "{\"note\":\"x\"}"}},
    {"CALL idem.compare_and_set('s', ?, ?, ?, @o)", {"42", "1", "{\"note\":\"x\"}"}},
};
#define GUARDS_FROM 24

static const char *const charsets[] = {"utf8mb4", "latin1", "gbk", "big5", "sjis", "binary"};
static const char *const modes[] = {"''",
                                    "DEFAULT",
                                    "'TRADITIONAL'",
                                    "'ANSI'",
                                    "'ORACLE'",
                                    "'NO_BACKSLASH_ESCAPES'",
                                    "'ANSI_QUOTES,PIPES_AS_CONCAT'",
                                    "'PAD_CHAR_TO_FULL_LENGTH'",
                                    "'EMPTY_STRING_IS_NULL'"};

/* What gets out of a literal, a name or a comment, and what would then run. */
static const char *const pieces[] = {
    "'",
    "\"",
    "`",
    "\\",
    "\\'",
    "''",
    "\xbf'",
    "\xbf\\'",
    "\x95\\'",
    "\xa1'",
    "\x81`",
    "\xe5\\'",
    "*/",
    "-- ",
    "#",
    "/*!",
    ";",
    "$$",
    ")",
    "),(",
    " OR 1=1",
    "{\"",
    "\"}",
    "{\"$hex\":\"27",
    "\":",
    "[[[[",
    "\xf0\x9f\x98",
    "{\"note\":\"a\"}",
    "{\"a` = (SELECT test.attack())\":1}",
    "\xc0\xa7",
    "%s%n",
    "0x27",
    "p",
    "k",
    "7",
    "PAID",
    ", test.attack(), ",
    " UNION SELECT test.attack() ",
    "; INSERT INTO test.ran VALUES (1); ",
    "' , test.attack() , '",
    "'); INSERT INTO test.ran VALUES (2); -- ",
    "; DELETE FROM idem.access; ",
    "'; DROP TABLE idem.record; -- ",
    "' AND test.attack() AND '",
    "` = test.attack(), `",
};
/* Text that is well formed where a JSON object of columns is due. */
static const char *const objects[] = {
    "{\"note\":\"x', note = test.attack(), note = '\"}",
    "{\"note\":\"' OR test.attack() OR '\"}",
    "{\"note\":\"\\', note = test.attack() -- \"}",
    "{\"note\":{\"$hex\":\"27' OR test.attack() -- \"}}",
    "{\"note` = test.attack(), `note\":1}",
    "{\"version\":{\"$add\":\"test.attack()\"}}",
};

static size_t compose(unsigned int *seed, const char *good, char *to)
{
    size_t length = 0;
    int parts = rand_r(seed) % 6, kind = rand_r(seed) % 10;

    if (kind < 7) {
        return (size_t)snprintf(
            to, BYTES, "%s",
            kind == 0 || good == NULL ? objects[(size_t)rand_r(seed) % COUNT(objects)] : good);
    }
    for (int i = 0; i < parts; i++) {
        const char *piece = pieces[(size_t)rand_r(seed) % COUNT(pieces)];

        if (rand_r(seed) % 6 == 0) {
            to[length++] = (char)rand_r(seed); /* also NUL */
            continue;
        }
        length += (size_t)snprintf(to + length, BYTES - length, "%s", piece);
    }
    if (rand_r(seed) % 200 == 0) {
        size_t more = (size_t)rand_r(seed) % 66000;

        memset(to + length, "'[\xbfx"[rand_r(seed) % 4], more);
        length += more;
    }
    return length;
}

/* The error number of the call. */
static unsigned int attack(MYSQL *sql, size_t call, unsigned int *seed)
{
    static char texts[4][BYTES];
    MYSQL_BIND binds[4] = {0};
    MYSQL_STMT *statement = mysql_stmt_init(sql);
    unsigned int error = 0;

    for (int i = 0; i < 4; i++) {
        binds[i].buffer_type = rand_r(seed) % 20 == 0 ? MYSQL_TYPE_NULL : MYSQL_TYPE_STRING;
        binds[i].buffer = texts[i];
        binds[i].buffer_length = compose(seed, calls[call].good[i], texts[i]);
    }
    if (mysql_stmt_prepare(statement, calls[call].text, strlen(calls[call].text)) != 0 ||
        mysql_stmt_bind_param(statement, binds) != 0 || mysql_stmt_execute(statement) != 0)
        error = mysql_stmt_errno(statement);
    for (int next = 0; error == 0 && next == 0;) {
        if (mysql_stmt_field_count(statement) > 0) {
            if (mysql_stmt_store_result(statement) != 0)
                error = mysql_stmt_errno(statement);
            mysql_stmt_free_result(statement);
        }
        next = mysql_stmt_next_result(statement);
        if (next > 0 && error == 0)
            error = mysql_stmt_errno(statement);
    }
    mysql_stmt_close(statement);
    return error;
}

static void set_up(MYSQL *sql)
{
    run(sql, "CREATE DATABASE test");
    run(sql, "CREATE TABLE test.ran (what INT) ENGINE=MyISAM"); /* no rollback hides it */
    run(sql,
        "CREATE FUNCTION test.attack() RETURNS INT DETERMINISTIC MODIFIES SQL DATA BEGIN INSERT "
        "INTO test.ran VALUES (3); RETURN 1; END");
    run(sql, "CREATE TABLE test.orders (id VARBINARY(64) PRIMARY KEY, state VARCHAR(16), version "
             "BIGINT NOT NULL, "
             "note TEXT) ENGINE=InnoDB");
    run(sql, "INSERT INTO test.orders VALUES ('42', 'NEW', 0, 'untouched'), ('sentinel', 'NEW', 0, "
             "'untouched')");
    run(sql, "CALL idem.define_machine('m', 'test', 'orders', 'id', 'state', "
             "'{\"NEW\":[\"PAID\"],\"PAID\":[\"NEW\"]}')");
    run(sql, "CALL idem.define_projection('s', 'test', 'orders', 'id', 'version', 'snapshot')");
    run(sql, "CREATE USER mallory");
    run(sql, "GRANT ALL ON test.* TO mallory");
    run(sql, "GRANT idem_app TO mallory");
    run(sql, "SET DEFAULT ROLE idem_app FOR mallory");
    run(sql, "CALL idem.allow('mallory', '%%', '%%')");
}

static MYSQL *dress(MYSQL *sql, unsigned int *seed)
{
    if (sql != NULL)
        mysql_close(sql);
    sql = server_connect_as(world.server, "mallory", 0);
    run(sql, "SET SESSION sql_mode = %s, autocommit = %d",
        modes[(size_t)rand_r(seed) % COUNT(modes)], rand_r(seed) % 4 != 0);
    run(sql, "SET NAMES %s", charsets[(size_t)rand_r(seed) % COUNT(charsets)]);
    return sql;
}

/* What changes when a statement of an attacker has run. */
static const char *look(MYSQL *sql)
{
    return value(
        sql,
        "SELECT CONCAT_WS(' ', (SELECT COUNT(*) FROM test.ran), (SELECT COUNT(*) FROM "
        "idem.access), (SELECT COUNT(*) FROM mysql.global_priv), (SELECT COUNT(*) FROM "
        "information_schema.tables WHERE table_schema IN ('idem', 'test')), (SELECT COUNT(*) FROM "
        "information_schema.routines), (SELECT CONCAT(state, version, note) FROM test.orders "
        "WHERE id = 'sentinel'))");
}

static void check(MYSQL *sql, const char *state)
{
    const char *found = look(sql);

    if (strcmp(found, state) != 0)
        report(FAULT, "an attacker's statement ran: %s instead of %s", found, state);
}

size_t hostile_run(void)
{
    MYSQL *observer = server_connect(world.server), *sql = NULL;
    unsigned int seed = world.plan.seed;
    time_t end = time(NULL) + (time_t)world.plan.seconds;
    char state[256] = "";
    size_t count = 0;

    set_up(observer);
    if (world.plan.broken != NULL && !break_core(observer, world.plan.broken))
        abort();
    snprintf(state, sizeof(state), "%s", look(observer));
    while (time(NULL) < end && atomic_load(&world.faults) < 20) {
        size_t call = (size_t)rand_r(&seed) % COUNT(calls);
        unsigned int error;

        if (count % 50 == 0)
            sql = dress(sql, &seed);
        error = attack(sql, call, &seed);
        count++;
        if (error >= 2000 && error < 3000) {
            report(FAULT, "%s: error %u, the server is gone", calls[call].text, error);
            break;
        }
        if (error != 0 && (error < 52001 || error > 52010) && call < GUARDS_FROM)
            report(FAULT, "%s: error %u: %s", calls[call].text, error, mysql_error(sql));
        if (rand_r(&seed) % 3 == 0)
            run(sql, "ROLLBACK");
        if (count % 200 == 0)
            check(observer, state);
    }
    mysql_close(sql);
    check(observer, state);
    mysql_close(observer);
    return count;
}
