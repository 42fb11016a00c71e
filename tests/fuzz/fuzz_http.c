/* SPDX-License-Identifier: GPL-2.0-only */
/* Any bytes as a request to idemd's HTTP endpoints, over a real socket: an HTTP answer or a closed
   connection. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "http.h"

#define PATIENCE_US 5000 /* for what asks nothing */

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct sockaddr_in address = {.sin_family = AF_INET};

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    int one = socket(AF_INET, SOCK_STREAM, 0);
    socklen_t length = sizeof(address);
    char listen_on[32];

    (void)argc, (void)argv;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(one, (struct sockaddr *)&address, length) != 0 ||
        getsockname(one, (struct sockaddr *)&address, &length) != 0)
        abort();
    close(one);
    snprintf(listen_on, sizeof(listen_on), "127.0.0.1:%u", ntohs(address.sin_port));
    if (idem_http_start(listen_on) == NULL)
        abort();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const beginnings[] = {"", "GET /", "HEAD /metrics HTTP/1.1\r\n",
                                             "GET /healthz HTTP/1.1\r\nHost: "};
    const struct timeval patience = {.tv_usec = PATIENCE_US};
    const struct linger at_once = {.l_onoff = 1}; /* or the ports run out */
    const char *beginning;
    char answer[4096];
    ssize_t got;
    int one;

    if (size == 0)
        return 0;
    beginning = beginnings[data[0] % 4];
    one = socket(AF_INET, SOCK_STREAM, 0);
    if (one < 0 || connect(one, (struct sockaddr *)&address, sizeof(address)) != 0)
        abort();
    setsockopt(one, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(one, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    /* It may be refused, and the connection closed, before all is sent. */
    if (send(one, beginning, strlen(beginning), MSG_NOSIGNAL | MSG_MORE) >= 0)
        (void)!send(one, data + 1, size - 1, MSG_NOSIGNAL);
    got = recv(one, answer, sizeof(answer), 0);
    close(one);
    if (got > 0 && (got < 7 || memcmp(answer, "HTTP/1.", 7) != 0))
        abort();
    return 0;
}
