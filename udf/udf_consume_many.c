/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_consume_many(): take a batch of events. */
#include "door.h"

IDEM_DOOR(idem_consume_many, .procedure = "consume_many",
          .usage = "idem_consume_many(consumer, events_json)", .least = 2, .most = 2,
          .parameters = "ab", .many = true)
