/* SPDX-License-Identifier: GPL-2.0-only */
/* idem_payload_hash(text): 32 bytes that are equal for payloads of the same meaning; NULL for NULL.
 */
#include <string.h>

#include "payload.h"
#include "udf.h"

IDEM_UDF_STRING(idem_payload_hash, "idem_payload_hash(text)", 1, 1, IDEM_HASH_LENGTH)

char *idem_payload_hash(UDF_INIT *initid, UDF_ARGS *args, char *result, unsigned long *length,
                        char *is_null, char *error)
{
    enum idem_json_status status;

    (void)initid;
    *is_null = 1;
    if (args->args[0] == NULL)
        return NULL;
    status = idem_payload_digest(args->args[0], args->lengths[0], (unsigned char *)result);
    if (status != IDEM_JSON_OK) {
        *error = 1;
        idem_raise(IDEM_E_INVALID_ARGUMENT, "idem: payload: %s", idem_payload_reason(status));
        return NULL;
    }
    *is_null = 0;
    *length = IDEM_HASH_LENGTH;
    return result;
}
