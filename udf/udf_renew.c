/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_renew(): extend a lease. */
#include "door.h"

IDEM_DOOR(idem_renew, .procedure = "renew",
          .usage = "idem_renew(biz_type, key [, lease_seconds [, token]])", .least = 2, .most = 4,
          .parameters = "abDC")
