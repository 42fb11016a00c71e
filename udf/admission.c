/* SPDX-License-Identifier: GPL-2.0-only */
/* Judging arguments, binlog format, access and policy of a call. */
#include "admission.h"

#include "catalog.h"
#include "counters.h"
#include "galera.h"
#include "raise.h"
#include "session.h"
#include "settings.h"

static int64_t setting_unless(int64_t own, const char *name, size_t length)
{
    int64_t value = own;

    if (own < 0)
        idem_settings_get(name, length, &value);
    return value;
}
#define SETTING_UNLESS(own, name) setting_unless(own, name, sizeof(name) - 1)

static bool may(const struct idem_catalog *catalog, const struct idem_call *call)
{
    if (call->account.bytes != NULL && idem_catalog_allows(catalog, call->account, call->biz_type))
        return true;
    if (SETTING_UNLESS(-1, "access_control") == 0)
        return true;
    idem_counters_add("ACCESS_DENIED", sizeof("ACCESS_DENIED") - 1);
    idem_raise(IDEM_E_ACCESS_DENIED,
               "idem.%.*s: account %.*s may not use this biz_type; an operator can CALL idem.allow",
               (int)call->routine.length, call->routine.bytes, (int)call->account.length,
               call->account.bytes);
    return false;
}

static bool admit(const struct idem_catalog *catalog, const struct idem_call *call,
                  struct idem_terms *ret_terms)
{
    const struct idem_policy *policy = idem_catalog_policy(catalog, call->biz_type);

    if (!may(catalog, call))
        return false;
    if (policy != NULL && policy->require_payload && !call->payload_given) {
        idem_raise(IDEM_E_INVALID_ARGUMENT,
                   "idem.%.*s: payload is NULL and the policy of this biz_type demands one",
                   (int)call->routine.length, call->routine.bytes);
        return false;
    }
    ret_terms->lease_seconds =
        SETTING_UNLESS(policy != NULL ? policy->lease_seconds : -1, "lease_seconds");
    ret_terms->max_result_bytes =
        SETTING_UNLESS(policy != NULL ? policy->max_result_bytes : -1, "max_result_bytes");
    ret_terms->observe = policy != NULL && policy->observe;
    return true;
}

bool idem_admission_check(const struct idem_call *call, struct idem_terms *ret_terms)
{
    const struct idem_catalog *catalog;
    bool admitted;
    int ticket;

    if (!idem_arguments_check(call->routine, call->client_charset, call->biz_type, call->key))
        return false;
    if (call->writes && idem_session_logs_statements()) {
        idem_raise(IDEM_E_BAD_CONTEXT,
                   "idem: binlog_format STATEMENT would let replicas diverge; use ROW or MIXED");
        return false;
    }
    if (call->writes && idem_session_skips_unique_checks()) {
        idem_raise(IDEM_E_BAD_CONTEXT, "idem: unique_checks is OFF, so the server might take a key "
                                       "twice; SET unique_checks = ON");
        return false;
    }
    if (call->writes && !idem_galera_check())
        return false;
    catalog = idem_catalog_enter(&ticket);
    if (catalog == NULL) {
        idem_counters_add("NOT_READY", sizeof("NOT_READY") - 1);
        return false;
    }
    admitted = admit(catalog, call, ret_terms);
    idem_catalog_leave(ticket);
    return admitted;
}
