/* SPDX-License-Identifier: GPL-2.0-only */
/* The ready flag, counted: UNINSTALL waits for the calls that are inside. */
#include "gate.h"

#include "raise.h"

#include <stdatomic.h>
#include <time.h>

/* Sequentially consistent on purpose: enter() counts first and looks afterwards, close() shuts
   first and looks at the count afterwards, so one of the two always sees the other. */
static atomic_bool is_open;
static atomic_int inside;

/* How often this thread is inside. */
static _Thread_local int here;

bool idem_gate_enter(const char *function)
{
    atomic_fetch_add(&inside, 1);
    if (atomic_load(&is_open)) {
        here++;
        return true;
    }
    atomic_fetch_sub(&inside, 1);
    idem_raise(IDEM_E_NOT_READY, "%s: plugin idem is not loaded; run INSTALL SONAME 'idem'",
               function);
    return false;
}

void idem_gate_leave(void)
{
    here--;
    atomic_fetch_sub(&inside, 1);
}

bool idem_gate_is_open(void)
{
    return atomic_load(&is_open);
}

void idem_gate_open(void)
{
    atomic_store(&is_open, true);
}

void idem_gate_close(void)
{
    const struct timespec pause = {.tv_nsec = 1000000};

    atomic_store(&is_open, false);
    while (atomic_load(&inside) > here)
        nanosleep(&pause, NULL);
}
