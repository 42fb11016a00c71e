/* SPDX-License-Identifier: GPL-2.0-only */
/* The SQL errors that idem raises itself. The number is the stable identity; SQLSTATE is HY000. */
#ifndef IDEM_ERRORS_H
#define IDEM_ERRORS_H

#define IDEM_ERROR_MAP(X)                                                                          \
    X(52001, INVALID_ARGUMENT)                                                                     \
    X(52002, KEY_REUSED)                                                                           \
    X(52003, PAYLOAD_MISMATCH)                                                                     \
    X(52004, NOT_OWNER)                                                                            \
    X(52005, NOT_READY)                                                                            \
    X(52006, BAD_CONTEXT)                                                                          \
    X(52007, ACCESS_DENIED)                                                                        \
    X(52008, RESULT_TOO_LARGE)                                                                     \
    X(52009, ILLEGAL_TRANSITION)                                                                   \
    X(52010, VERSION_GAP)

enum idem_error {
#define X(number, name) IDEM_E_##name = number,
    IDEM_ERROR_MAP(X)
#undef X
};

#endif
