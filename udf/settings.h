/* SPDX-License-Identifier: GPL-2.0-only */
/* The system variables: one table gives variables, bounds and idem_setting(). */
#ifndef IDEM_SETTINGS_H
#define IDEM_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct st_mysql_sys_var;
extern struct st_mysql_sys_var *idem_settings_variables[];

/* The value of idem_<name>; false if there is no such setting. */
bool idem_settings_get(const char *name, size_t length, int64_t *ret_value);

int64_t idem_settings_partitions_ahead(void);
int64_t idem_settings_filter_memory_bytes(void);
#ifdef IDEM_TEST_CLOCK
int64_t idem_settings_test_now_us(void);
#endif

#endif
