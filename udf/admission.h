/* SPDX-License-Identifier: GPL-2.0-only */
/* The first step of every call: are the arguments good, and may this account use this biz_type? */
#ifndef IDEM_ADMISSION_H
#define IDEM_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>

#include "arguments.h"

struct idem_call {
    struct idem_text routine;
    struct idem_text client_charset; /* @@character_set_results */
    struct idem_text account;        /* USER(): the login account */
    struct idem_text biz_type;
    struct idem_text key;
    bool payload_given;
    bool writes; /* refused where replicas would diverge, or keys would not be unique */
};

/* What the policy of the biz_type, or the settings, allow. */
struct idem_terms {
    int64_t lease_seconds;
    int64_t max_result_bytes;
    bool observe; /* nothing is refused, so nothing may be answered from an earlier run */
};

/* False with 52001 (argument), 52005 (schema), 52006 (session) or 52007 (access) raised. */
bool idem_admission_check(const struct idem_call *call, struct idem_terms *ret_terms);

#endif
