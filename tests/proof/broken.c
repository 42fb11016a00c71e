/* SPDX-License-Identifier: GPL-2.0-only */
/* Cores that are wrong on purpose: the checker must see each. A break replaces a piece of a
   routine's source, so it can be told in a line and fails loudly once the core has moved on. */
#include "history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INSTALL_SQL IDEM_TEST_SQL_DIR "/install.sql"
#define PATCHED_BYTES 131072 /* twice the largest routine */

/* In these routines, as they stand in install.sql. */
struct patch {
    const char *name, *routines, *from, *to;
};

static const struct patch patches[] = {
    /* Claims look at no other day. */
    {"no-look", "_acquire", "idem_look_days(", "CONCAT(NULL, "},
    /* Any token is good. */
    {"no-token", "finish commit _settle _settle_again", "r.token = in_token",
     "in_token IS NOT NULL"},
    /* A lost transaction is answered as if somebody else held the key. */
    {"swallow", "claim _claim_row claim_into begin consume _take _judge", "HANDLER FOR 1205",
     "HANDLER FOR 1205, 1213, 1020"},
    /* Days leave while they are still to be kept. */
    {"forget", "drop_expired", "idem_setting('retention_days')", "1"},
    /* Filters miss keys. */
    {"bad-filter", "seal_days", "idem_filter_build(r.scope, r.idem_key,",
     "idem_filter_build(r.scope, IF(RIGHT(r.idem_key, 1) < '5', r.idem_key, 'p'),"},
    /* Leases are reaped while they run. */
    {"eager-reap", "reap", "r.lease_until <= v_now", "r.lease_until IS NOT NULL"},
    /* finish() takes what is finished already. */
    {"finish-twice", "finish commit _settle", "r.biz_type = in_biz_type AND r.status = 0",
     "r.biz_type = in_biz_type"},
    /* A running lease is no obstacle. */
    {"no-lease", "_judge", "v_status = 0 AND v_lease_until > v_now", "FALSE"},
    /* consume_many says NEW of an event and keeps no record of it. */
    {"forget-event", "consume_many", "SELECT in_consumer, x.id, v_day",
     "SELECT in_consumer, IF(x.i = 3, CONCAT(x.id, idem_token()), x.id), v_day"},
    /* consume_many leaves one out. */
    {"skip-event", "consume_many", "ON t.i = x.i", "ON t.i = x.i WHERE x.i <> 6"},
    /* What a policy decides goes back with the caller's transaction. */
    {"settle-inside", "_judge", "IF v_bound AND in_routine", "IF FALSE AND in_routine"},
    /* The same in triggers and functions alone. */
    {"settle-nested", "_judge", "IF v_bound AND in_routine", "IF @@in_transaction AND in_routine"},
    /* A trigger or function leaves a second row. */
    {"leave-row", "_acquire", "DELETE FROM idem.record\n         WHERE",
     "DELETE FROM idem.record\n         WHERE FALSE AND"},
    /* A take-over is handed no recovery point. */
    {"no-checkpoint", "_settle", "IF(in_routine = 'checkpoint',", "IF(FALSE,"},
    /* The work is committed before its record is (for --points claims). */
    {"commit-first", "commit", "    finish: BEGIN\n",
     "    COMMIT AND NO CHAIN NO RELEASE;\n    finish: BEGIN\n"},
    /* Values go into SQL text as they are (for --hostile). */
    {"bare-literal", "_literal", "CONCAT('_utf8mb4 X''', HEX(v_text), '''')",
     "CONCAT('''', v_text, '''')"},
};

#define INSTALL_BYTES (1 << 20)

static char *read_install_sql(void)
{
    FILE *file = fopen(INSTALL_SQL, "r");
    char *text = calloc(1, INSTALL_BYTES);

    if (file == NULL || text == NULL || fread(text, 1, INSTALL_BYTES - 1, file) == 0) {
        fprintf(stderr, "proof: cannot read %s\n", INSTALL_SQL);
        exit(2);
    }
    fclose(file);
    return text;
}

/* The routine with every `from` made `to`. */
static void replace_routine(MYSQL *sql, const char *routine, const struct patch *patch)
{
    char *install = read_install_sql(), head[128];
    char *patched = calloc(1, PATCHED_BYTES), *at, *end, *hit;
    size_t length = 0;
    int hits = 0;

    snprintf(head, sizeof(head), "PROCEDURE idem.%s(", routine);
    at = strstr(install, head);
    if (at == NULL) {
        snprintf(head, sizeof(head), "FUNCTION idem.%s(", routine);
        at = strstr(install, head);
    }
    while (at != NULL && at > install && strncmp(at, "CREATE OR REPLACE", 17) != 0)
        at--;
    end = at != NULL ? strstr(at, "$$") : NULL;
    if (end == NULL || patched == NULL) {
        fprintf(stderr, "proof: %s: there is no routine %s\n", patch->name, routine);
        exit(2);
    }
    *end = '\0';
    for (; (hit = strstr(at, patch->from)) != NULL; hits++, at = hit + strlen(patch->from))
        length += (size_t)snprintf(patched + length, PATCHED_BYTES - length, "%.*s%s",
                                   (int)(hit - at), at, patch->to);
    snprintf(patched + length, PATCHED_BYTES - length, "%s", at);
    if (hits == 0) {
        fprintf(stderr, "proof: %s: no \"%s\" in %s any more\n", patch->name, patch->from, routine);
        exit(2);
    }
    run(sql, "%s", patched);
    free(patched);
    free(install);
}

static void apply_patch(MYSQL *sql, const struct patch *patch)
{
    char routines[128], *rest = routines, *routine;

    snprintf(routines, sizeof(routines), "%s", patch->routines);
    while ((routine = strsep(&rest, " ")) != NULL)
        replace_routine(sql, routine, patch);
}

bool break_core(MYSQL *sql, const char *name)
{
    bool found = false;

    run(sql, "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'");
    for (size_t i = 0; i < sizeof(patches) / sizeof(patches[0]); i++) {
        if (strcmp(patches[i].name, name) == 0) {
            apply_patch(sql, &patches[i]);
            found = true;
        }
    }
    return found;
}

void list_breaks(void)
{
    for (size_t i = 0; i < sizeof(patches) / sizeof(patches[0]); i++)
        if (strcmp(patches[i].name, "bare-literal") != 0 &&
            strcmp(patches[i].name, "commit-first") != 0 &&
            (i == 0 || strcmp(patches[i].name, patches[i - 1].name) != 0))
            puts(patches[i].name);
}
