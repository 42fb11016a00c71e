/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_commit(): finish and COMMIT. */
#include "door.h"

IDEM_DOOR(idem_commit, .procedure = "commit",
          .usage = "idem_commit(biz_type, key, result [, token])", .least = 3, .most = 4,
          .parameters = "abDc", .ends_transaction = true)
