/* SPDX-License-Identifier: GPL-2.0-only */
/* Cores that are wrong on purpose: the checker must see each. A break replaces a piece of a
   routine's source, so it can be told in a line and fails loudly once the core has moved on. */
#include "history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATCHED_BYTES 131072 /* twice the largest source */

struct patch {
    const char *name, *file, *from, *to;
};

static const struct patch patches[] = {
    /* Claims look at no other day. */
    {"no-look", "core/_acquire.sql", "idem_look_days(", "CONCAT(NULL, "},
    {"no-look", "core/_claim.sql", "idem_look_days(", "CONCAT(NULL, "},
    /* Any token is good. */
    {"no-token", "core/_settle.sql", "r.token = in_token", "in_token IS NOT NULL"},
    /* A lost transaction is answered as if somebody else held the key. */
    {"swallow", "core/_claim.sql", "HANDLER FOR 1205", "HANDLER FOR 1205, 1213, 1020"},
    /* Days leave while they are still to be kept. */
    {"forget", "maintenance/drop_expired.sql", "idem_setting('retention_days')", "1"},
    /* Filters miss keys. */
    {"bad-filter", "maintenance/seal_days.sql", "LEFT JOIN idem.record r ON r.created_on = v_day",
     "LEFT JOIN idem.record r ON r.created_on = v_day AND RIGHT(r.idem_key, 1) < '5'"},
    /* Leases are reaped while they run. */
    {"eager-reap", "maintenance/reap.sql", "r.lease_until <= v_now", "r.lease_until IS NOT NULL"},
    /* finish() takes what is finished already. */
    {"finish-twice", "core/_settle.sql", "r.biz_type = in_biz_type AND r.status = 0",
     "r.biz_type = in_biz_type"},
    /* The work is committed before its record is (for --points claims). */
    {"commit-first", "doors/commit.sql", "    CALL idem._settle(",
     "    COMMIT AND NO CHAIN NO RELEASE;\n    CALL idem._settle("},
    /* Values go into SQL text as they are (for --hostile). */
    {"bare-literal", "guards/_literal.sql", "CONCAT('_utf8mb4 X''', HEX(v_text), '''')",
     "CONCAT('''', v_text, '''')"},
};

static char *read_source(const char *name)
{
    char path[512];
    FILE *file;
    char *text = calloc(1, 65536);

    snprintf(path, sizeof(path), "%s/sql/%s", IDEM_TEST_SOURCE_DIR, name);
    file = fopen(path, "r");
    if (file == NULL || text == NULL || fread(text, 1, 65535, file) == 0) {
        fprintf(stderr, "proof: cannot read %s\n", path);
        exit(2);
    }
    fclose(file);
    return text;
}

static void replace_routine(MYSQL *sql, const struct patch *patch)
{
    char *source = read_source(patch->file);
    char *at = strstr(source, "CREATE OR REPLACE"), *end = at != NULL ? strstr(at, "$$") : NULL;
    char *patched = calloc(1, PATCHED_BYTES), *hit;
    size_t length = 0;
    int hits = 0;

    if (end == NULL || patched == NULL)
        abort();
    *end = '\0';
    for (; (hit = strstr(at, patch->from)) != NULL; hits++, at = hit + strlen(patch->from))
        length += (size_t)snprintf(patched + length, PATCHED_BYTES - length, "%.*s%s",
                                   (int)(hit - at), at, patch->to);
    snprintf(patched + length, PATCHED_BYTES - length, "%s", at);
    if (hits == 0) {
        fprintf(stderr, "proof: %s: no \"%s\" in %s any more\n", patch->name, patch->from,
                patch->file);
        exit(2);
    }
    run(sql, "%s", patched);
    free(patched);
    free(source);
}

bool break_core(MYSQL *sql, const char *name)
{
    bool found = false;

    run(sql, "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'");
    for (size_t i = 0; i < sizeof(patches) / sizeof(patches[0]); i++) {
        if (strcmp(patches[i].name, name) == 0) {
            replace_routine(sql, &patches[i]);
            found = true;
        }
    }
    return found;
}

void list_breaks(void)
{
    for (size_t i = 0; i < sizeof(patches) / sizeof(patches[0]); i++)
        if (strncmp(patches[i].file, "guards/", 7) != 0 &&
            strncmp(patches[i].file, "doors/", 6) != 0 &&
            (i == 0 || strcmp(patches[i].name, patches[i - 1].name) != 0))
            puts(patches[i].name);
}
