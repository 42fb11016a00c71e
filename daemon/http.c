/* SPDX-License-Identifier: GPL-2.0-only */
/* The HTTP endpoints, on libmicrohttpd with its own thread. Small bounds: at most 32 connections,
   10 seconds each, 16 KiB of request; GET and HEAD only. */
#include "http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <microhttpd.h>

#include "log.h"
#include "loop.h"

#define STALE_MS 60000 /* the thread that publishes has hung for this long: not healthy */

struct idem_http {
    struct MHD_Daemon *daemon;
    /* Guards what follows; nothing else is locked or called while it is held, except for copying.
     */
    pthread_mutex_t lock;
    struct idem_text metrics, health, page;
    bool healthy;
    int64_t published;
};

static enum MHD_Result respond(struct MHD_Connection *connection, unsigned int status,
                               const char *type, const struct idem_text *body)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(
        body->length, body->bytes != NULL ? body->bytes : "", MHD_RESPMEM_MUST_COPY);
    enum MHD_Result result;

    if (response == NULL)
        return MHD_NO;
    MHD_add_response_header(response, "Content-Type", type);
    MHD_add_response_header(response, "Cache-Control", "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(
        response, "Content-Security-Policy",
        "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(response, "Allow", "GET, HEAD");
    result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned int status, char *text)
{
    return respond(connection, status, "text/plain; charset=utf-8",
                   &(struct idem_text){.bytes = text, .length = strlen(text)});
}

static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **request)
{
    struct idem_http *http = context;
    enum MHD_Result result;

    (void)version, (void)upload, (void)upload_size, (void)request;
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET or HEAD\n");
    pthread_mutex_lock(&http->lock);
    if (strcmp(url, "/metrics") == 0)
        result = respond(connection, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8",
                         &http->metrics);
    else if (strcmp(url, "/healthz") != 0)
        result = strcmp(url, "/") == 0
                     ? respond(connection, MHD_HTTP_OK, "text/html; charset=utf-8", &http->page)
                     : refuse(connection, MHD_HTTP_NOT_FOUND, "/, /metrics or /healthz\n");
    else if (idem_loop_now() - http->published > STALE_MS)
        result = refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "no news for a minute\n");
    else
        result = respond(connection, http->healthy ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE,
                         "text/plain; charset=utf-8", &http->health);
    pthread_mutex_unlock(&http->lock);
    return result;
}

static bool parse_address(const char *listen, struct sockaddr_storage *ret_address)
{
    const char *colon = strrchr(listen, ':');
    char host[64], *end;
    struct sockaddr_in *v4 = (struct sockaddr_in *)ret_address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret_address;
    unsigned long port;

    memset(ret_address, 0, sizeof(*ret_address));
    if (colon == NULL || colon == listen || (size_t)(colon - listen) >= sizeof(host))
        return false;
    port = strtoul(colon + 1, &end, 10);
    if (end == colon + 1 || *end != '\0' || port > 65535)
        return false;
    if (listen[0] == '[' && colon[-1] == ']') {
        snprintf(host, sizeof(host), "%.*s", (int)(colon - listen - 2), listen + 1);
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons((uint16_t)port);
        return inet_pton(AF_INET6, host, &v6->sin6_addr) == 1;
    }
    snprintf(host, sizeof(host), "%.*s", (int)(colon - listen), listen);
    v4->sin_family = AF_INET;
    v4->sin_port = htons((uint16_t)port);
    return inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host, &v4->sin_addr) ==
           1;
}

struct idem_http *idem_http_start(const char *listen)
{
    struct idem_http *http = calloc(1, sizeof(*http));
    struct sockaddr_storage address;
    unsigned int flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO;

    if (http == NULL)
        abort();
    if (!parse_address(listen, &address)) {
        idem_log(IDEM_LOG_ERROR, NULL, "listen takes ADDRESS:PORT or off, not '%s'", listen);
        free(http);
        return NULL;
    }
    if (address.ss_family == AF_INET6)
        flags |= MHD_USE_IPv6;
    pthread_mutex_init(&http->lock, NULL);
    http->published = idem_loop_now();
    idem_text_add(&http->health, "starting\n");
    errno = 0;
    http->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, answer, http, MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address,
        MHD_OPTION_CONNECTION_LIMIT, 32U, MHD_OPTION_CONNECTION_TIMEOUT, 10U,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)16384, MHD_OPTION_END);
    if (http->daemon == NULL) {
        idem_log(IDEM_LOG_ERROR, NULL, "cannot listen on %s: %s (see --listen)", listen,
                 strerror(errno));
        idem_http_stop(http);
        return NULL;
    }
    return http;
}

void idem_http_stop(struct idem_http *http)
{
    if (http == NULL)
        return;
    if (http->daemon != NULL)
        MHD_stop_daemon(http->daemon);
    idem_text_free(&http->metrics);
    idem_text_free(&http->health);
    idem_text_free(&http->page);
    pthread_mutex_destroy(&http->lock);
    free(http);
}

static void render_health(const json_t *report, struct idem_text *ret_text)
{
    json_t *problem;
    size_t i;

    idem_text_add(ret_text, "%s\n",
                  json_is_true(json_object_get(report, "healthy")) ? "ok" : "not ok");
    json_array_foreach(json_object_get(report, "problems"), i, problem)
        idem_text_add(ret_text, "%s\n", json_string_value(problem));
}

void idem_http_publish(struct idem_http *http, const json_t *report)
{
    struct idem_text metrics = {0}, health = {0}, page = {0}, old[3];

    idem_metrics_render(report, &metrics);
    render_health(report, &health);
    idem_page_render(report, &page);
    pthread_mutex_lock(&http->lock);
    old[0] = http->metrics;
    old[1] = http->health;
    old[2] = http->page;
    http->metrics = metrics;
    http->health = health;
    http->page = page;
    http->healthy = json_is_true(json_object_get(report, "healthy"));
    http->published = idem_loop_now();
    pthread_mutex_unlock(&http->lock);
    for (size_t i = 0; i < 3; i++)
        idem_text_free(&old[i]);
}
