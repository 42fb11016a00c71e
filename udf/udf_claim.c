/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_claim(): claim a key. */
#include "door.h"

IDEM_DOOR(idem_claim, .procedure = "_claim_row",
          .usage = "idem_claim(biz_type, key [, payload [, wait_ms]])", .least = 2, .most = 4,
          .parameters = "abcD")
