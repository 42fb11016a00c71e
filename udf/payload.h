/* SPDX-License-Identifier: GPL-2.0-only */
/* What makes two payloads the same. */
#ifndef IDEM_PAYLOAD_H
#define IDEM_PAYLOAD_H

#include "json.h"

#define IDEM_HASH_LENGTH 32

/* SHA-256 over a rule number, a domain ('J' for JSON, 'B' for bytes) and the canonical JSON or the
   bytes as they are. A text that is not JSON is bytes; JSON with a duplicate name, nested too deep
   or with an absurd exponent has no single meaning here and gives that status, no hash. */
enum idem_json_status idem_payload_digest(const char *payload, size_t length,
                                          unsigned char ret_hash[IDEM_HASH_LENGTH]);

/* Why a payload has no hash, for an error message. */
const char *idem_payload_reason(enum idem_json_status status);

#endif
