/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_fail(): end a claim as failed. */
#include "door.h"

IDEM_DOOR(idem_fail, .procedure = "fail",
          .usage = "idem_fail(biz_type, key, error [, retryable [, token]])", .least = 3, .most = 5,
          .parameters = "abEcD")
