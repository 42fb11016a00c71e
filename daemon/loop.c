/* SPDX-License-Identifier: GPL-2.0-only */
/* Signals, waiting and the systemd watchdog. */
#include "loop.h"

#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

#include <systemd/sd-daemon.h>

#include "exit.h"
#include "log.h"

static volatile sig_atomic_t stops, reloads, kicks;
static sigset_t while_waiting;
static int64_t slice_ms = 3600000; /* longest wait without a word to the watchdog */

static void on_signal(int number)
{
    if (number == SIGHUP)
        reloads = 1;
    else if (number == SIGUSR1)
        kicks = 1;
    else
        stops = stops + 1;
}

void idem_loop_start(void)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};
    struct sigaction action = {.sa_handler = on_signal};
    uint64_t watchdog_us = 0;
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        sigaddset(&set, numbers[i]);
        sigaction(numbers[i], &action, NULL);
    }
    sigprocmask(SIG_BLOCK, &set, &while_waiting);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        sigdelset(&while_waiting, numbers[i]);
    signal(SIGPIPE, SIG_IGN);
    if (sd_watchdog_enabled(0, &watchdog_us) > 0)
        slice_ms = (int64_t)(watchdog_us / 3000);
}

bool idem_loop_stopping(void)
{
    return stops > 0;
}

bool idem_loop_take_reload(void)
{
    bool came = reloads != 0;

    reloads = 0;
    return came;
}

bool idem_loop_take_kick(void)
{
    bool came = kicks != 0;

    kicks = 0;
    return came;
}

int64_t idem_loop_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* One wait of at most ms (<0: none). -1: a signal came. */
static int wait_once(struct pollfd *one, nfds_t count, int64_t ms)
{
    struct timespec timeout;
    int ready;

    sd_notify(0, "WATCHDOG=1");
    if (ms < 0 || ms > slice_ms)
        ms = slice_ms;
    timeout = (struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    ready = ppoll(one, count, &timeout, &while_waiting);
    if (stops > 1) {
        idem_log(IDEM_LOG_WARNING, NULL, "second signal: leaving at once");
        _exit(IDEM_EXIT_FAILED);
    }
    return ready;
}

short idem_loop_poll(int fd, short events, int timeout_ms)
{
    struct pollfd one = {.fd = fd, .events = events};
    int64_t until = idem_loop_now() + timeout_ms;

    for (;;) {
        int64_t left = timeout_ms < 0 ? -1 : until - idem_loop_now();

        if (timeout_ms >= 0 && left < 0)
            return 0;
        if (wait_once(&one, 1, left) > 0)
            return one.revents;
    }
}

void idem_loop_sleep(int64_t ms)
{
    int64_t until = idem_loop_now() + ms;

    while (stops == 0 && reloads == 0 && kicks == 0) {
        int64_t left = until - idem_loop_now();

        if (left <= 0)
            return;
        wait_once(NULL, 0, left);
    }
    wait_once(NULL, 0, 0); /* a second signal may be pending */
}
