/* SPDX-License-Identifier: GPL-2.0-only */
/* Status variables: one counter per verdict and per refusal. They only grow. */
#ifndef IDEM_COUNTERS_H
#define IDEM_COUNTERS_H

#include <my_config.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mysql/plugin.h>

extern struct st_mysql_show_var idem_counters_status[];

/* Starts the uptime. */
void idem_counters_start(void);

/* A number of this run of this server: the microseconds since 1970 at which the plugin was loaded,
   shifted for ten bits of noise. Tells a connection id from that of another run or node. */
uint64_t idem_counters_epoch(void);

/* Adds one to the counter of `verdict`, e.g. "CLAIMED"; false if there is none. */
bool idem_counters_add(const char *verdict, size_t length);

/* All counters as one JSON object with a NUL; returns its length, without the NUL. */
size_t idem_counters_json(char *ret_json, size_t room);

#endif
