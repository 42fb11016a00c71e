/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_finish(): store the result of a claim. */
#include "door.h"

IDEM_DOOR(idem_finish, .procedure = "finish",
          .usage = "idem_finish(biz_type, key, result [, token])", .least = 3, .most = 4,
          .parameters = "abDc")
