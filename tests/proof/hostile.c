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

static const char *const calls[] = {
    "CALL idem.claim(?, ?, ?)",
    "SELECT idem_claim(?, ?, ?)",
    "CALL idem.claim_into(?, ?, ?, 0, @s, @t, @d)",
    "CALL idem.begin(?, ?, ?)",
    "SELECT idem_begin(?, ?, ?)",
    "CALL idem.consume(?, ?, ?)",
    "SELECT idem_consume(?, ?, ?)",
    "CALL idem.finish(?, ?, NULL, ?)",
    "SELECT idem_finish(?, ?, ?)",
    "CALL idem.commit(?, ?, NULL, ?)",
    "SELECT idem_commit(?, ?, ?)",
    "CALL idem.fail(?, ?, NULL, ?, 1)",
    "SELECT idem_fail(?, ?, ?, 1)",
    "CALL idem.checkpoint(?, ?, NULL, ?)",
    "SELECT idem_checkpoint(?, ?, ?)",
    "CALL idem.release(?, ?, NULL)",
    "SELECT idem_release(?, ?)",
    "CALL idem.renew(?, ?, NULL, NULL)",
    "SELECT idem_renew(?, ?)",
    "CALL idem.peek(?, ?)",
    "SELECT idem_peek(?, ?)",
    "CALL idem.consume_many(?, ?)",
    "SELECT idem_consume_many(?, ?)",
    "SELECT idem_key(?, ?, ?), idem_payload_hash(?)",
    /* From here on the server's own errors about values are in order. */
    "CALL idem.transition('m', ?, ?, ?, @o, @s)",
    "CALL idem.transition(?, ?, ?, NULL, @o, @s)",
    "CALL idem.apply_snapshot('s', ?, 1, ?, @o)",
    "CALL idem.apply_delta(?, ?, ?, ?, @o, @e)",
    "CALL idem.compare_and_set('s', ?, ?, ?, @o)",
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
static const char *const plausible[] = {"p", "k",   "42", "{}", "{\"note\":\"x\"}", "[\"a\",\"b\"]",
                                        "7", "PAID"};

static size_t compose(unsigned int *seed, char *to)
{
    size_t length = 0;
    int parts = rand_r(seed) % 6;

    if (rand_r(seed) % 2) {
        strcpy(to, plausible[(size_t)rand_r(seed) % COUNT(plausible)]);
        return strlen(to);
    }
    for (int i = 0; i < parts; i++) {
        const char *piece = pieces[(size_t)rand_r(seed) % COUNT(pieces)];

        if (rand_r(seed) % 6 == 0) {
            to[length++] = (char)rand_r(seed); /* also NUL */
            continue;
        }
        memcpy(to + length, piece, strlen(piece));
        length += strlen(piece);
    }
    if (rand_r(seed) % 200 == 0) {
        size_t more = (size_t)rand_r(seed) % 66000;

        memset(to + length, "'[\xbfx"[rand_r(seed) % 4], more);
        length += more;
    }
    return length;
}

/* The error number of the call. */
static unsigned int attack(MYSQL *sql, const char *call, unsigned int *seed)
{
    static char texts[4][BYTES];
    MYSQL_BIND binds[4] = {0};
    MYSQL_STMT *statement = mysql_stmt_init(sql);
    unsigned int error = 0;

    for (int i = 0; i < 4; i++) {
        binds[i].buffer_type = rand_r(seed) % 20 == 0 ? MYSQL_TYPE_NULL : MYSQL_TYPE_STRING;
        binds[i].buffer = texts[i];
        binds[i].buffer_length = compose(seed, texts[i]);
    }
    if (mysql_stmt_prepare(statement, call, strlen(call)) != 0 ||
        mysql_stmt_bind_param(statement, binds) != 0 || mysql_stmt_execute(statement) != 0)
        error = mysql_stmt_errno(statement);
    while (error == 0) {
        if (mysql_stmt_field_count(statement) > 0 && mysql_stmt_store_result(statement) != 0)
            error = mysql_stmt_errno(statement);
        mysql_stmt_free_result(statement);
        if (mysql_stmt_next_result(statement) != 0)
            break;
    }
    if (error == 0)
        error = mysql_stmt_errno(statement);
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

static void check(MYSQL *sql, const char *state)
{
    const char *found =
        value(sql, "SELECT CONCAT_WS(' ', (SELECT COUNT(*) FROM test.ran), (SELECT "
                   "COUNT(*) FROM idem.access), (SELECT COUNT(*) FROM mysql.global_priv), "
                   "(SELECT COUNT(*) FROM information_schema.tables WHERE table_schema IN "
                   "('idem', 'test')), (SELECT COUNT(*) FROM information_schema.routines), "
                   "(SELECT CONCAT(state, version, note) FROM test.orders WHERE id = "
                   "'sentinel'))");

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
    snprintf(
        state, sizeof(state), "0 %s %s %s %s NEW0untouched",
        strdup(value(observer, "SELECT COUNT(*) FROM idem.access")),
        strdup(value(observer, "SELECT COUNT(*) FROM mysql.global_priv")),
        strdup(value(observer, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema "
                               "IN ('idem', 'test')")),
        strdup(value(observer, "SELECT COUNT(*) FROM information_schema.routines")));
    check(observer, state);
    while (time(NULL) < end && atomic_load(&world.faults) < 20) {
        size_t call = (size_t)rand_r(&seed) % COUNT(calls);
        unsigned int error;

        if (count % 50 == 0)
            sql = dress(sql, &seed);
        error = attack(sql, calls[call], &seed);
        count++;
        if (error >= 2000 && error < 3000) {
            report(FAULT, "%s: error %u, the server is gone", calls[call], error);
            break;
        }
        if (error != 0 && (error < 52001 || error > 52010) && call < GUARDS_FROM)
            report(FAULT, "%s: error %u: %s", calls[call], error, mysql_error(sql));
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
