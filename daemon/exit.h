/* SPDX-License-Identifier: GPL-2.0-only */
/* Exit codes of idemd. Scripts rely on them: idemd(8), EXIT STATUS. */
#ifndef IDEMD_EXIT_H
#define IDEMD_EXIT_H

enum idem_exit {
    IDEM_EXIT_OK = 0,
    IDEM_EXIT_FAILED =
        1, /* a task failed; status: something is overdue; check: something is missing */
    IDEM_EXIT_USAGE = 2,     /* command line or option file */
    IDEM_EXIT_NO_SERVER = 3, /* none of the hosts answered, or idem is not installed there */
    IDEM_EXIT_READ_ONLY = 4, /* no writable server among the hosts */
};

#endif
