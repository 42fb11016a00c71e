/* SPDX-License-Identifier: GPL-2.0-only */
/* Where this daemon stands towards its server. */
#include "lead.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const char *const idem_standing_names[] = {"down", "not ready", "read-only", "standby", "leader"};

/* read_only is 0/1, and has more values in later servers: everything but off keeps us out. */
static const char prove[] = "SELECT UPPER(@@global.read_only) IN ('0', 'OFF') AS writable,"
                            " COALESCE(IS_USED_LOCK('idem.leader'), 0) = CONNECTION_ID() AS leader,"
                            " idem_version() AS library, (SELECT m.value FROM idem.meta m WHERE "
                            "m.name = 'version') AS tables";

static bool is_one(const json_t *rows, const char *column)
{
    const char *text = json_string_value(json_object_get(json_array_get(rows, 0), column));

    return text != NULL && strcmp(text, "1") == 0;
}

static enum idem_standing judge(struct idem_db *db, const json_t *rows)
{
    const json_t *row = json_array_get(rows, 0);
    const char *library = json_string_value(json_object_get(row, "library"));
    const char *tables = json_string_value(json_object_get(row, "tables"));

    if (library == NULL || tables == NULL || strcmp(library, tables) != 0) {
        db->error = 0;
        snprintf(db->message, sizeof(db->message),
                 "schema idem is %s and idem.so is %s: run install.sql, or restart the server",
                 tables != NULL ? tables : "incomplete", library != NULL ? library : "unknown");
        return IDEM_NOT_READY;
    }
    if (!is_one(rows, "writable"))
        return IDEM_READ_ONLY;
    return is_one(rows, "leader") ? IDEM_LEADER : IDEM_STANDBY;
}

static json_t *ask(struct idem_db *db)
{
    json_t *rows = idem_db_query(db, "USE idem"); /* says best when the schema is missing */

    if (rows == NULL)
        return NULL;
    json_decref(rows);
    return idem_db_query(db, prove);
}

enum idem_standing idem_lead_prove(struct idem_db *db, bool take)
{
    json_t *rows = ask(db);
    enum idem_standing standing;

    if (rows == NULL)
        return idem_db_lost(db) ? IDEM_DOWN : IDEM_NOT_READY;
    standing = judge(db, rows);
    json_decref(rows);
    if (standing != IDEM_STANDBY || !take)
        return standing;
    rows = idem_db_query(db, "SELECT GET_LOCK('idem.leader', 0) AS leader");
    if (rows == NULL)
        return IDEM_DOWN;
    standing = is_one(rows, "leader") ? IDEM_LEADER : IDEM_STANDBY;
    json_decref(rows);
    return standing;
}
