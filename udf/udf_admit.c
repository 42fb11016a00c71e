/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_admit(routine, client_charset, account, biz_type, key, payload_given, statement_binlog): the
   first step of every call. Answers the lease in seconds, or raises 52001 (argument), 52005
   (schema), 52006 (binlog_format STATEMENT would let replicas diverge; see also galera.h), 52007
   (access). */
#include "catalog.h"
#include "counters.h"
#include "galera.h"
#include "settings.h"
#include "udf.h"

IDEM_UDF_INTEGER(idem_admit,
                 "idem_admit(routine, client_charset, account, biz_type, key, payload_given, "
                 "statement_binlog)",
                 7, 7)

static bool is_true(const UDF_ARGS *args, unsigned int i)
{
    return args->args[i] != NULL && args->lengths[i] == 1 && args->args[i][0] == '1';
}

static bool admit(const struct idem_catalog *catalog, const UDF_ARGS *args, long long *ret_lease)
{
    struct idem_text routine = idem_udf_text(args, 0);
    struct idem_text account = idem_udf_text(args, 2);
    struct idem_text biz_type = idem_udf_text(args, 3);
    const struct idem_policy *policy = idem_catalog_policy(catalog, biz_type);
    int64_t lease = policy != NULL ? policy->lease_seconds : -1;

    if (account.bytes == NULL || !idem_catalog_allows(catalog, account, biz_type)) {
        int64_t controlled = 1;

        idem_settings_get("access_control", sizeof("access_control") - 1, &controlled);
        if (controlled) {
            idem_counters_add("ACCESS_DENIED", sizeof("ACCESS_DENIED") - 1);
            idem_raise(IDEM_E_ACCESS_DENIED,
                       "idem.%.*s: account %.*s may not use this biz_type; an operator can CALL "
                       "idem.allow",
                       (int)routine.length, routine.bytes, (int)account.length, account.bytes);
            return false;
        }
    }
    if (policy != NULL && policy->require_payload && !is_true(args, 5)) {
        idem_raise(IDEM_E_INVALID_ARGUMENT,
                   "idem.%.*s: payload is NULL and the policy of this biz_type demands one",
                   (int)routine.length, routine.bytes);
        return false;
    }
    if (lease < 0)
        idem_settings_get("lease_seconds", sizeof("lease_seconds") - 1, &lease);
    *ret_lease = lease;
    return true;
}

long long idem_admit(UDF_INIT *initid, UDF_ARGS *args, char *is_null, char *error)
{
    const struct idem_catalog *catalog;
    long long lease = 0;
    int ticket;

    (void)initid;
    *is_null = 0;
    *error = 1;
    if (!idem_arguments_check(idem_udf_text(args, 0), idem_udf_text(args, 1),
                              idem_udf_text(args, 3), idem_udf_text(args, 4)))
        return 0;
    if (is_true(args, 6)) {
        idem_raise(IDEM_E_BAD_CONTEXT,
                   "idem: binlog_format STATEMENT would let replicas diverge; use "
                   "ROW or MIXED");
        return 0;
    }
    if (!idem_galera_check())
        return 0;
    catalog = idem_catalog_enter(&ticket);
    if (catalog == NULL) {
        idem_counters_add("NOT_READY", sizeof("NOT_READY") - 1);
        return 0;
    }
    *error = !admit(catalog, args, &lease);
    idem_catalog_leave(ticket);
    return lease;
}
