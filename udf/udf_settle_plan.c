/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_settle_plan(routine, client_charset, account, biz_type, key, token, json, retryable,
   lease_seconds): admits finish, fail, release, renew, checkpoint and fence, and
   answers all that their update needs, in one text (see idem_claim_plan()):

     1-10 day, 11-36 now, 37-62 end of the lease after renew, 63 status.

   The day is a guess: a token is the microseconds of its acquisition, so it names the day of a
   first attempt. Errors: idem_admission_check(), 52001 for json and lease_seconds, 52008. */
#include <stdio.h>
#include <string.h>

#include "admission.h"
#include "clock.h"
#include "idem/limits.h"
#include "json.h"
#include "settings.h"
#include "udf.h"

#define LEASE_SECONDS_MAX 604800
#define DAY_MAX 2932896 /* 9999-12-31 */
#define PLAN 63

IDEM_UDF_STRING(idem_settle_plan,
                "idem_settle_plan(routine, client_charset, account, biz_type, key, token, json, "
                "retryable, lease_seconds)",
                9, 9, PLAN)

/* What the routines do with a record. */
static const struct act {
    const char *routine;
    const char *json; /* the name of what it stores */
    char status;      /* of the record afterwards */
} acts[] = {{"finish", "result", '1'},   {"fail", "error", '2'}, {"release", NULL, '4'},
            {"checkpoint", "data", '0'}, {"renew", NULL, '0'},   {"fence", NULL, '0'}};

static const struct act *act_of(struct idem_text routine)
{
    for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
        if (idem_text_is(routine, acts[i].routine))
            return &acts[i];
    idem_raise(IDEM_E_INVALID_ARGUMENT, "idem_settle_plan: there is no such routine");
    return NULL;
}

static bool check_json(const struct act *act, struct idem_text json, const struct idem_terms *terms)
{
    enum idem_json_status status;

    if (act->json == NULL || json.bytes == NULL)
        return true;
    if ((int64_t)json.length > terms->max_result_bytes) {
        idem_raise(IDEM_E_RESULT_TOO_LARGE, "idem.%s: %zu bytes, the limit is %lld", act->routine,
                   json.length, (long long)terms->max_result_bytes);
        return false;
    }
    status = idem_json_check(json.bytes, json.length, IDEM_RESULT_DEPTH);
    if (status == IDEM_JSON_NO_MEMORY)
        idem_raise(IDEM_E_NOT_READY, "idem.%s: out of memory", act->routine);
    else if (status != IDEM_JSON_OK)
        idem_raise(IDEM_E_INVALID_ARGUMENT,
                   "idem.%s: %s is not JSON in UTF-8 (at most %d levels deep)", act->routine,
                   act->json, IDEM_RESULT_DEPTH);
    return status == IDEM_JSON_OK;
}

static bool plan(const UDF_ARGS *args, char *result)
{
    const struct idem_call call = {.routine = idem_udf_text(args, 0),
                                   .client_charset = idem_udf_text(args, 1),
                                   .account = idem_udf_text(args, 2),
                                   .biz_type = idem_udf_text(args, 3),
                                   .key = idem_udf_text(args, 4),
                                   .payload_given = true,
                                   .writes = true};
    const struct act *act = act_of(call.routine);
    char head[PLAN + 1], day_name[IDEM_DATE_LENGTH + 1];
    char now_name[IDEM_DATETIME_LENGTH + 1], lease_name[IDEM_DATETIME_LENGTH + 1];
    int64_t now = idem_clock_us(), day = idem_clock_today(idem_settings_partitions_ahead());
    unsigned long long token, lease_seconds;
    struct idem_terms terms;
    char status;

    if (act == NULL || !idem_admission_check(&call, &terms) ||
        !check_json(act, idem_udf_text(args, 6), &terms))
        return false;
    lease_seconds = (unsigned long long)terms.lease_seconds;
    if (args->args[8] != NULL && !idem_udf_integer("idem.renew", "lease_seconds", args, 8, 1,
                                                   LEASE_SECONDS_MAX, &lease_seconds))
        return false;
    if (args->args[5] != NULL) {
        if (!idem_udf_integer("idem_settle_plan", "token", args, 5, 0, UINT64_MAX, &token))
            return false;
        if (token / IDEM_DAY_US <= DAY_MAX)
            day = (int64_t)(token / IDEM_DAY_US);
    }
    status = act->status == '2' && args->args[7] != NULL && !idem_udf_is_zero(args, 7)
                 ? '4'
                 : act->status;
    idem_clock_date(day, day_name);
    idem_clock_datetime(now, now_name);
    idem_clock_datetime(now + (int64_t)lease_seconds * 1000000, lease_name);
    snprintf(head, sizeof(head), "%s%s%s%c", day_name, now_name, lease_name, status);
    memcpy(result, head, PLAN);
    return true;
}

char *idem_settle_plan(UDF_INIT *initid, UDF_ARGS *args, char *result, unsigned long *length,
                       char *is_null, char *error)
{
    (void)initid;
    *error = !plan(args, result);
    *is_null = *error;
    *length = PLAN;
    return *error ? NULL : result;
}
