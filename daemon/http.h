/* SPDX-License-Identifier: GPL-2.0-only */
/* /metrics, /healthz and the status page. The HTTP thread only hands out what was published last:
   no request ever reaches the database. */
#ifndef IDEMD_HTTP_H
#define IDEMD_HTTP_H

#include <jansson.h>

#include "text.h"

struct idem_http;

/* Serves on "ADDRESS:PORT" ("[::1]:9909" for IPv6). Complains in the log and answers NULL if it
 * cannot. */
struct idem_http *idem_http_start(const char *listen);
void idem_http_stop(struct idem_http *http); /* accepts NULL */

/* Shows this report (report.h) from now on. */
void idem_http_publish(struct idem_http *http, const json_t *report);

/* The renderings (metrics.c, page.c). */
void idem_metrics_render(const json_t *report, struct idem_text *ret_text);
void idem_page_render(const json_t *report, struct idem_text *ret_text);

#endif
