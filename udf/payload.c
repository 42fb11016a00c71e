/* SPDX-License-Identifier: GPL-2.0-only */
/* The payload hash. */
#include "payload.h"

#include "idem/limits.h"

#include <openssl/evp.h>
#include <stdbool.h>
#include <stdlib.h>

/* A later rule gets another number: hashes of different rules are never compared as equal, and the
   records of the old rule leave with their days. */
#define RULE 1

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

static bool digest(char domain, const void *bytes, size_t length, unsigned char *ret_hash)
{
    const unsigned char head[2] = {RULE, (unsigned char)domain};
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    bool done = hash != NULL && EVP_DigestInit_ex(hash, EVP_sha256(), NULL) == 1 &&
                EVP_DigestUpdate(hash, head, sizeof(head)) == 1 &&
                EVP_DigestUpdate(hash, bytes, length) == 1 &&
                EVP_DigestFinal_ex(hash, ret_hash, NULL) == 1;

    EVP_MD_CTX_free(hash);
    return done;
}

enum idem_json_status idem_payload_digest(const char *payload, size_t length,
                                          unsigned char ret_hash[IDEM_HASH_LENGTH])
{
    unsigned char *canonical = NULL;
    size_t canonical_length = 0;
    enum idem_json_status status =
        idem_json_canonical(payload, length, &canonical, &canonical_length);
    bool done = true;

    if (status == IDEM_JSON_OK)
        done = digest('J', canonical, canonical_length, ret_hash);
    else if (status == IDEM_JSON_INVALID)
        done = digest('B', payload, length, ret_hash);
    free(canonical);
    if (!done)
        return IDEM_JSON_NO_MEMORY;
    return status == IDEM_JSON_INVALID ? IDEM_JSON_OK : status;
}

const char *idem_payload_reason(enum idem_json_status status)
{
    switch (status) {
    case IDEM_JSON_DUPLICATE:
        return "an object names a member twice";
    case IDEM_JSON_DEEP:
        return "nested deeper than " TEXT(IDEM_JSON_DEPTH) " levels";
    case IDEM_JSON_RANGE:
        return "a number has an exponent of more than 15 digits";
    case IDEM_JSON_NO_MEMORY:
        return "out of memory";
    case IDEM_JSON_OK:
    case IDEM_JSON_INVALID:
        break;
    }
    return "not JSON";
}
