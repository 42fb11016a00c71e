/* SPDX-License-Identifier: GPL-2.0-only */
/* One picture of an installation, as JSON: what `idemd status`, /metrics, /healthz and the page
 * show. */
#ifndef IDEMD_REPORT_H
#define IDEMD_REPORT_H

#include <stdbool.h>

#include "db.h"
#include "lead.h"

/* Counts are not taken further than this: a report must stay cheap. */
#define IDEM_REPORT_COUNT_MAX 100000

/* Members: time, standing, server, reason (string or null), healthy, problems [text], and when a
   server answers: version, read_only, leader (a connection, or null), retention_days, runway_days,
   tasks [{name, interval, age, overdue, ...}], days [{day, rows, bytes, state}], records
   {in_progress, expired, unknown}, stuck
   [{...}]. The caller decrefs it. db may be unconnected; standing says so. */
json_t *idem_report_read(struct idem_db *db, enum idem_standing standing);

/* Short forms for readers. Missing members are 0 and "". */
const char *idem_report_text(const json_t *object, const char *name);
double idem_report_number(const json_t *object, const char *name);

#endif
