/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_claim_plan(routine, client_charset, account, scope, biz_type, key, payload, wait_ms):
   admits a claim and answers all that its insert needs, in one text (a function call and a variable
   for each would cost more than the insert):

     1-10 day, 11-30 token, 31-56 now, 57-82 end of the lease, 83 the way to go, 84-93 the day to
     read, 94-125 hash of the payload, missing without one.

   Ways: 'i' insert, no other day (and, under Galera, no other node) can have the key; 'l' insert
   and look; 'r' a replay of a day that finished it lately or whose filter knows it: a plain read
   will most likely do. Errors: idem_admission_check(), 52001 for payload and wait_ms, 52005 when
   there is no day. */
#include <stdio.h>
#include <string.h>

#include "admission.h"
#include "clock.h"
#include "days.h"
#include "filter.h"
#include "galera.h"
#include "payload.h"
#include "recent.h"
#include "session.h"
#include "udf.h"

#define WAIT_MS_MAX 60000
#define PLAN_HEAD 93

IDEM_UDF_STRING(idem_claim_plan,
                "idem_claim_plan(routine, client_charset, account, scope, biz_type, key, payload, "
                "wait_ms)",
                8, 8, PLAN_HEAD + IDEM_HASH_LENGTH)

/* Whether another day may have the key, and the day where it most likely is: finished there lately,
   or, with `guess`, being finished there, or a filter speaks of it; 0 when nothing does. False with
   52005 raised. */
static bool look_around(int64_t day, uint64_t hash, bool guess, bool *ret_elsewhere,
                        int64_t *ret_likely)
{
    const struct idem_catalog *catalog;
    const struct idem_day *other;
    bool committed, recent = idem_recent_day(hash, ret_likely, &committed);
    size_t at = 0;
    int ticket;

    catalog = idem_catalog_enter(&ticket);
    if (catalog == NULL)
        return false;
    *ret_elsewhere = false;
    if (!recent || (!committed && !guess))
        *ret_likely = 0;
    while ((!*ret_elsewhere || (guess && *ret_likely == 0)) &&
           (other = idem_days_next(catalog, day, hash, &at)) != NULL) {
        *ret_elsewhere = true;
        if (guess && *ret_likely == 0 && other->filter != NULL)
            *ret_likely = other->number;
    }
    idem_catalog_leave(ticket);
    return true;
}

static bool hash_payload(struct idem_text payload, char *ret_hash, unsigned long *ret_length)
{
    enum idem_json_status status;

    *ret_length = 0;
    if (payload.bytes == NULL)
        return true;
    status = idem_payload_digest(payload.bytes, payload.length, (unsigned char *)ret_hash);
    if (status != IDEM_JSON_OK) {
        idem_raise(IDEM_E_INVALID_ARGUMENT, "idem: payload: %s", idem_payload_reason(status));
        return false;
    }
    *ret_length = IDEM_HASH_LENGTH;
    return true;
}

static bool plan(const UDF_ARGS *args, char *result, unsigned long *ret_length)
{
    const struct idem_call call = {.routine = idem_udf_text(args, 0),
                                   .client_charset = idem_udf_text(args, 1),
                                   .account = idem_udf_text(args, 2),
                                   .biz_type = idem_udf_text(args, 4),
                                   .key = idem_udf_text(args, 5),
                                   .payload_given = args->args[6] != NULL,
                                   .writes = true};
    char day_name[IDEM_DATE_LENGTH + 1], likely_name[IDEM_DATE_LENGTH + 1] = "          ";
    char head[PLAN_HEAD + 1], now_name[IDEM_DATETIME_LENGTH + 1],
        lease_name[IDEM_DATETIME_LENGTH + 1];
    int64_t now = idem_clock_us(), day, likely;
    unsigned long long wait_ms;
    struct idem_terms terms;
    bool guess, elsewhere;
    uint64_t hash;
    char way;

    if (!idem_admission_check(&call, &terms) ||
        (args->args[7] != NULL &&
         !idem_udf_integer("idem", "wait_ms", args, 7, 0, WAIT_MS_MAX, &wait_ms)) ||
        !hash_payload(idem_udf_text(args, 6), result + PLAN_HEAD, ret_length) ||
        !idem_days_open(&day))
        return false;
    hash = idem_filter_hash(args->args[3], args->lengths[3], call.key.bytes, call.key.length);
    /* One new key in ten has a wrong "maybe" in some of thirty days, and a key that is being
       finished cannot be read yet. The read would open the caller's snapshot for nothing then, and
       from 11.6 on that costs the caller 1020. begin starts afresh. */
    guess = idem_text_is(call.routine, "begin") || !idem_session_in_transaction();
    if (!look_around(day, hash, guess, &elsewhere, &likely))
        return false;
    way = elsewhere || idem_days_near_midnight(now) || idem_galera_is_on() ? 'l' : 'i';
    if (!terms.observe && likely != 0 && idem_session_reads_plainly()) {
        way = 'r';
        idem_clock_date(likely, likely_name);
    }
    idem_clock_date(day, day_name);
    idem_clock_datetime(now, now_name);
    idem_clock_datetime(now + terms.lease_seconds * 1000000, lease_name);
    snprintf(head, sizeof(head), "%s%020llu%s%s%c%s", day_name,
             (unsigned long long)idem_clock_token(), now_name, lease_name, way, likely_name);
    memcpy(result, head, PLAN_HEAD);
    return true;
}

char *idem_claim_plan(UDF_INIT *initid, UDF_ARGS *args, char *result, unsigned long *length,
                      char *is_null, char *error)
{
    (void)initid;
    *error = !plan(args, result, length);
    *is_null = *error;
    *length += PLAN_HEAD;
    return *error ? NULL : result;
}
