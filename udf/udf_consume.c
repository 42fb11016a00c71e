/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_consume(): take an event once per consumer. */
#include "door.h"

IDEM_DOOR(idem_consume, .procedure = "consume",
          .usage = "idem_consume(consumer, event_id [, payload])", .least = 2, .most = 3,
          .parameters = "abc")
