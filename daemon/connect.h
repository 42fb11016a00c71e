/* SPDX-License-Identifier: GPL-2.0-only */
/* Finding the best server for the commands that run once. */
#ifndef IDEMD_CONNECT_H
#define IDEMD_CONNECT_H

#include <stdbool.h>

#include "db.h"
#include "lead.h"

/* Connects to the first writable server of the list, else to the most useful one. `take`: try to
 * lead. */
enum idem_standing idem_connect_any(struct idem_db *db, const struct idem_options *options,
                                    bool take);

#endif
