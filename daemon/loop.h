/* SPDX-License-Identifier: GPL-2.0-only */
/* Signals, waiting and the systemd watchdog of the one thread that talks to the server. Signals are
   only delivered while it waits, so nothing is ever interrupted half-way. */
#ifndef IDEMD_LOOP_H
#define IDEMD_LOOP_H

#include <stdbool.h>
#include <stdint.h>

/* Takes over SIGTERM, SIGINT, SIGHUP and SIGUSR1, and reads the watchdog's interval. */
void idem_loop_start(void);

/* SIGTERM or SIGINT came: finish what is in hand. At the second one idemd exits by itself. */
bool idem_loop_stopping(void);

/* SIGHUP (option files) or SIGUSR1 (every task now) came since the last call. */
bool idem_loop_take_reload(void);
bool idem_loop_take_kick(void);

/* Waits until fd is ready for `events` (of poll(2)); 0 after timeout_ms (-1: none). */
short idem_loop_poll(int fd, short events, int timeout_ms);

/* Waits; a signal ends it early. */
void idem_loop_sleep(int64_t ms);

/* Monotonic, in ms. */
int64_t idem_loop_now(void);

#endif
