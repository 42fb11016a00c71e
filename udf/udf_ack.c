/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_ack(state): the core's last act in a call without a result row; tells the door that it got
 * there. */
#include "door.h"

IDEM_UDF_INTEGER(idem_ack, "idem_ack(state)", 1, 1)

long long idem_ack(UDF_INIT *initid, UDF_ARGS *args, char *is_null, char *error)
{
    (void)initid, (void)error;
    *is_null = 0;
    if (args->args[0] != NULL)
        idem_door_acknowledge(args->args[0], args->lengths[0]);
    return 1;
}
