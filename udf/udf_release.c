/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_release(): give a claim back. */
#include "door.h"

IDEM_DOOR(idem_release, .procedure = "release", .usage = "idem_release(biz_type, key [, token])",
          .least = 2, .most = 3, .parameters = "abC")
