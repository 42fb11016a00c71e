/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_policy(biz_type, field): one field of the policy in force, as a number: lease_seconds,
   observe, on_expiry (0 retry, 1 unknown, 2 fail). */
#include "catalog.h"
#include "settings.h"
#include "udf.h"

IDEM_UDF_INTEGER(idem_policy, "idem_policy(biz_type, field)", 2, 2)

static bool field_of(const struct idem_policy *policy, struct idem_text field, int64_t *ret_value)
{
    if (idem_text_is(field, "observe")) {
        *ret_value = policy != NULL && policy->observe;
    } else if (idem_text_is(field, "on_expiry")) {
        *ret_value = policy != NULL ? policy->on_expiry : IDEM_EXPIRY_RETRY;
    } else if (idem_text_is(field, "lease_seconds")) {
        if (policy != NULL && policy->lease_seconds >= 0)
            *ret_value = policy->lease_seconds;
        else
            idem_settings_get(field.bytes, field.length, ret_value);
    } else {
        idem_raise(IDEM_E_INVALID_ARGUMENT, "idem_policy: there is no such field");
        return false;
    }
    return true;
}

long long idem_policy(UDF_INIT *initid, UDF_ARGS *args, char *is_null, char *error)
{
    struct idem_text biz_type = idem_udf_text(args, 0);
    const struct idem_catalog *catalog;
    int64_t value = 0;
    int ticket;

    (void)initid;
    *is_null = 0;
    *error = 1;
    if (biz_type.bytes == NULL) {
        idem_raise(IDEM_E_INVALID_ARGUMENT, "idem_policy: biz_type is NULL");
        return 0;
    }
    catalog = idem_catalog_enter(&ticket);
    if (catalog == NULL)
        return 0;
    *error = !field_of(idem_catalog_policy(catalog, biz_type), idem_udf_text(args, 1), &value);
    idem_catalog_leave(ticket);
    return value;
}
