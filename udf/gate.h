/* SPDX-License-Identifier: GPL-2.0-only */
/* The ready flag. Every UDF call passes the gate first: behind a closed gate the plugin's services,
   variables and sessions do not exist, and touching them crashes the server. */
#ifndef IDEM_GATE_H
#define IDEM_GATE_H

#include <stdbool.h>

/* True: the plugin stays until idem_gate_leave(). False: error 52005 has been raised. */
bool idem_gate_enter(const char *function);
void idem_gate_leave(void);

/* False when the gate was closed by the calling thread itself, while it was inside. */
bool idem_gate_is_open(void);

void idem_gate_open(void);

/* Lets nobody in any more and waits until everybody else has left. The server takes a plugin away
   on whichever thread lets go of it last, and that may be one that is inside: the probe of a
   session holds the plugin for the length of its statement. */
void idem_gate_close(void);

#endif
