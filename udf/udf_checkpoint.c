/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_checkpoint(): store a recovery point. */
#include "door.h"

IDEM_DOOR(idem_checkpoint, .procedure = "checkpoint",
          .usage = "idem_checkpoint(biz_type, key, data [, token])", .least = 3, .most = 4,
          .parameters = "abDc")
