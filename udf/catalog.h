/* SPDX-License-Identifier: GPL-2.0-only */
/* The catalog: what schema idem says about versions, policies, access and live days, kept in
   memory.

   A thread of the plugin reads the tables itself, once a second and when asked to, into a snapshot
   that never changes; a claim looks things up in the newest one without a lock or a query. No
   account can feed it: it takes nothing but what stands in the tables.

   Days: a claim goes only into a day that the snapshot lists, and later looks use the same or a
   newer snapshot, so whatever day holds records is looked at. The filters of sealed days come from
   idem.sealed_day in the same way, the newest that fit into idem_filter_memory_bytes; a day without
   a good one is probed. */
#ifndef IDEM_CATALOG_H
#define IDEM_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arguments.h"
#include "sealed.h"

enum idem_expiry { IDEM_EXPIRY_RETRY, IDEM_EXPIRY_UNKNOWN, IDEM_EXPIRY_FAIL };

struct idem_policy {
    char biz_type[64];
    size_t biz_type_length;
    int64_t lease_seconds;    /* -1: the setting */
    int64_t max_result_bytes; /* -1: the setting */
    enum idem_expiry on_expiry;
    bool require_payload;
    bool observe;
};

struct idem_day {
    int64_t number;             /* days since 1970-01-01 */
    bool sealed;                /* takes no new record */
    struct idem_sealed *filter; /* NULL: to be probed */
};

struct idem_catalog;

/* Starts the thread; it reads nothing before the first idem_catalog_enter(). Non-zero on failure.
 */
int idem_catalog_start(void);

/* Ends the thread and frees everything. Nobody may be inside the gate. */
void idem_catalog_stop(void);

/* The newest snapshot, good until idem_catalog_leave(ticket). The first call waits for the first
   snapshot. NULL with 52005 raised: the schema is missing or of another version. */
const struct idem_catalog *idem_catalog_enter(int *ret_ticket);
void idem_catalog_leave(int ticket);

/* Waits until a snapshot taken after this call is in place. False with 52005 raised when the tables
   cannot be read, or not within 10 seconds. */
bool idem_catalog_reload(void);

/* The policy of biz_type; NULL: the defaults. */
const struct idem_policy *idem_catalog_policy(const struct idem_catalog *catalog,
                                              struct idem_text biz_type);

/* True when an access rule allows login account `account` ("user@host") this biz_type and none
 * denies. */
bool idem_catalog_allows(const struct idem_catalog *catalog, struct idem_text account,
                         struct idem_text biz_type);

/* The live days, ascending. */
const struct idem_day *idem_catalog_days(const struct idem_catalog *catalog, size_t *ret_count);

#endif
