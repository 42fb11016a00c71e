/* SPDX-License-Identifier: GPL-2.0-only */
/* The plugin descriptor. An audit plugin that asks for connection events only: they are where a
   session's handle can be made and freed. */
#include "session.h"

#include "catalog.h"
#include "clock.h"
#include "counters.h"
#include "gate.h"
#include "idem/version.h"
#include "settings.h"

static int init_plugin(void *unused)
{
    (void)unused;
#ifdef IDEM_TEST_CLOCK
    idem_clock_set(
        idem_settings_test_now_us()); /* an option of the server: it holds over a restart */
#endif
    if (idem_catalog_start() != 0)
        return 1;
    idem_counters_start();
    idem_gate_open();
    return 0;
}

static int deinit_plugin(void *unused)
{
    (void)unused;
    idem_gate_close();
    idem_catalog_stop();
    idem_session_deinit();
    idem_clock_set(0);
    return 0;
}

static void notify(MYSQL_THD thd, unsigned int event_class, const void *event)
{
    (void)thd;
    if (event_class == MYSQL_AUDIT_CONNECTION_CLASS)
        idem_session_notify(event);
}

static struct st_mysql_audit descriptor = {
    .interface_version = MYSQL_AUDIT_INTERFACE_VERSION,
    .event_notify = notify,
    .class_mask = {MYSQL_AUDIT_CONNECTION_CLASSMASK},
};

/* clang-format off */
maria_declare_plugin(idem)
{
    MYSQL_AUDIT_PLUGIN,
    &descriptor,
    "idem",
    "the idem authors",
    "Idempotency: claims, replays and fencing tokens in the caller's own transaction",
    PLUGIN_LICENSE_GPL,
    init_plugin,
    deinit_plugin,
    IDEM_VERSION_HEX,
    idem_counters_status,
    idem_settings_variables,
    IDEM_VERSION,
    MariaDB_PLUGIN_MATURITY_GAMMA
}
maria_declare_plugin_end;
/* clang-format on */
