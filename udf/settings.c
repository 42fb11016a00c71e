/* SPDX-License-Identifier: GPL-2.0-only */
/* The system variables. Values out of bounds are refused, never clamped, in every sql_mode. */
#include <my_config.h>

#include <stdlib.h>
#include <string.h>

#include <mysql/plugin.h>

#include "clock.h"
#include "raise.h"
#include "session.h"
#include "settings.h"

#define ER_WRONG_VALUE_FOR_VAR 1231

/* name, default, least, most, comment */
#define SETTINGS(X)                                                                                \
    X(retention_days, 30, 1, 3650, "Days that a record is kept, counted from its first claim")     \
    X(partitions_ahead, 7, 1, 365, "Days created ahead of today")                                  \
    X(lease_seconds, 300, 1, 604800,                                                               \
      "How long a committed, unfinished claim keeps others out; a policy may say otherwise")       \
    X(wait_ms, 0, 0, 60000, "How long a claim waits for the holder before it answers IN_PROGRESS") \
    X(max_result_bytes, 1048576, 1, 16777216, "Largest result, error or checkpoint in bytes")      \
    X(reap_batch, 500, 1, 10000, "Expired leases handled per transaction by reap()")               \
    X(ddl_lock_wait_ms, 1000, 1, 60000, "How long drop_expired() waits for the table's users")     \
    X(filter_memory_bytes, 268435456, 0, 4294967295,                                               \
      "Memory for the filters of sealed days; days whose filter does not fit are probed")          \
    X(maintenance_interval_seconds, 60, 1, 86400, "idemd: pause between looks at the partitions")  \
    X(reap_interval_seconds, 10, 1, 86400, "idemd: pause between looks for expired leases")

#define X(name, initial, least, most, comment)                                                     \
    static unsigned int value_##name = initial;                                                    \
    static int check_##name(MYSQL_THD thd, struct st_mysql_sys_var *variable, void *save,          \
                            struct st_mysql_value *value)                                          \
    {                                                                                              \
        (void)thd, (void)variable;                                                                 \
        return check_bounds(#name, least, most, save, value);                                      \
    }                                                                                              \
    static MYSQL_SYSVAR_UINT(name, value_##name, PLUGIN_VAR_RQCMDARG,                              \
                             comment ". " #least " to " #most, check_##name, NULL, initial, least, \
                             most, 0);

static int check_bounds(const char *name, long long least, long long most, void *save,
                        struct st_mysql_value *value)
{
    long long number;

    if (value->value_type(value) != MYSQL_VALUE_TYPE_INT || value->val_int(value, &number) != 0 ||
        number < least || number > most) {
        idem_raise(ER_WRONG_VALUE_FOR_VAR, "idem_%s takes a whole number from %lld to %lld", name,
                   least, most);
        return 1;
    }
    *(unsigned int *)save = (unsigned int)number;
    return 0;
}

SETTINGS(X)
#undef X

static char access_control = 1;
static MYSQL_SYSVAR_BOOL(
    access_control, access_control, PLUGIN_VAR_OPCMDARG,
    "Check idem.access at each call. OFF lets every account use every biz_type", NULL, NULL, 1);

/* Only for the plugin's own use: the door learns through its check function which session it is in.
 */
static MYSQL_THDVAR_INT(probe, PLUGIN_VAR_NOCMDOPT, "Internal", idem_session_check_probe, NULL, 0,
                        0, 1, 0);

#ifdef IDEM_TEST_CLOCK
static long long test_now_us;

static void update_test_now_us(MYSQL_THD thd, struct st_mysql_sys_var *variable, void *target,
                               const void *save)
{
    (void)thd, (void)variable;
    *(long long *)target = *(const long long *)save;
    idem_clock_set(test_now_us);
}

int64_t idem_settings_test_now_us(void)
{
    return test_now_us;
}

static MYSQL_SYSVAR_LONGLONG(test_now_us, test_now_us, PLUGIN_VAR_RQCMDARG,
                             "Test builds only: the time everybody sees, in microseconds since "
                             "1970 UTC; 0 is the real clock",
                             NULL, update_test_now_us, 0, 0, INT64_C(253402300799999999), 0);
#endif

struct st_mysql_sys_var *idem_settings_variables[] = {
#define X(name, ...) MYSQL_SYSVAR(name),
    SETTINGS(X)
#undef X
        MYSQL_SYSVAR(access_control),
    MYSQL_SYSVAR(probe),
#ifdef IDEM_TEST_CLOCK
    MYSQL_SYSVAR(test_now_us),
#endif
    NULL};

bool idem_settings_get(const char *name, size_t length, int64_t *ret_value)
{
#define X(setting, ...)                                                                            \
    if (length == sizeof(#setting) - 1 && memcmp(name, #setting, length) == 0) {                   \
        *ret_value = value_##setting;                                                              \
        return true;                                                                               \
    }
    SETTINGS(X)
#undef X
    if (length == sizeof("access_control") - 1 && memcmp(name, "access_control", length) == 0) {
        *ret_value = access_control != 0;
        return true;
    }
    return false;
}

int64_t idem_settings_partitions_ahead(void)
{
    return value_partitions_ahead;
}

int64_t idem_settings_filter_memory_bytes(void)
{
    return value_filter_memory_bytes;
}
