/* SPDX-License-Identifier: GPL-2.0-only */
/* Any bytes as a payload: no crash, and the canonical form is the same for a text and the text in
   white space and inside an array. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "payload.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum idem_json_status canonical(const char *text, size_t length, unsigned char **ret_bytes,
                                       size_t *ret_length)
{
    *ret_bytes = NULL;
    *ret_length = 0;
    return idem_json_canonical(text, length, ret_bytes, ret_length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char *bytes, *spaced_bytes, *listed_bytes, hash[IDEM_HASH_LENGTH];
    size_t length, spaced_length, listed_length;
    char *spaced = malloc(size + 2);
    enum idem_json_status status;

    if (spaced == NULL)
        return 0;
    status = canonical((const char *)data, size, &bytes, &length);
    if ((idem_payload_digest((const char *)data, size, hash) == IDEM_JSON_OK) !=
        (status == IDEM_JSON_OK || status == IDEM_JSON_INVALID))
        abort();

    memcpy(spaced + 1, data, size);
    spaced[0] = ' ';
    spaced[size + 1] = '\n';
    if (canonical(spaced, size + 2, &spaced_bytes, &spaced_length) != status ||
        spaced_length != length || (length > 0 && memcmp(spaced_bytes, bytes, length) != 0))
        abort();

    /* [text] is JSON when text is, and holds the same. */
    spaced[0] = '[';
    spaced[size + 1] = ']';
    if (status == IDEM_JSON_OK) {
        enum idem_json_status listed = canonical(spaced, size + 2, &listed_bytes, &listed_length);

        if (listed != IDEM_JSON_DEEP && (listed != IDEM_JSON_OK || listed_length != length + 2 ||
                                         memcmp(listed_bytes + 1, bytes, length) != 0))
            abort();
        free(listed_bytes);
    }
    free(spaced_bytes);
    free(bytes);
    free(spaced);
    return 0;
}
