/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_begin(): START TRANSACTION and claim. */
#include "door.h"

IDEM_DOOR(idem_begin, .procedure = "begin", .usage = "idem_begin(biz_type, key [, payload])",
          .least = 2, .most = 3, .parameters = "abc", .opens_transaction = true)
