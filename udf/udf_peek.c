/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_peek(): look at a key, claim nothing. */
#include "door.h"

IDEM_DOOR(idem_peek, .procedure = "peek", .usage = "idem_peek(biz_type, key)", .least = 2,
          .most = 2, .parameters = "ab")
