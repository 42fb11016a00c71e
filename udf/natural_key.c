/* SPDX-License-Identifier: GPL-2.0-only */
/* Natural keys: netstrings, folded to a hash when too long. */
#include "natural_key.h"

#include <openssl/evp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct writer {
    char *key;
    size_t length;
    bool fits;
    EVP_MD_CTX *hash;
};

static bool put(struct writer *to, const char *text, size_t length)
{
    if (to->fits && length <= IDEM_KEY_MAX - to->length)
        memcpy(to->key + to->length, text, length);
    else
        to->fits = false;
    to->length += to->fits ? length : 0;
    return EVP_DigestUpdate(to->hash, text, length) == 1;
}

size_t idem_natural_key(const struct idem_part *parts, size_t count, char ret_key[IDEM_KEY_MAX])
{
    struct writer to = {.key = ret_key, .fits = true, .hash = EVP_MD_CTX_new()};
    unsigned char digest[32];
    size_t written = 0;

    if (to.hash == NULL || EVP_DigestInit_ex(to.hash, EVP_sha256(), NULL) != 1)
        goto cleanup;
    for (size_t i = 0; i < count; i++) {
        char head[32];
        int head_length = snprintf(head, sizeof(head), "%s%zu:", i ? "," : "", parts[i].length);

        if (!put(&to, head, (size_t)head_length) || !put(&to, parts[i].text, parts[i].length))
            goto cleanup;
    }
    written = to.length;
    if (!to.fits) {
        EVP_DigestFinal_ex(to.hash, digest, NULL);
        written = (size_t)sprintf(ret_key, "sha256:");
        for (size_t i = 0; i < sizeof(digest); i++)
            written += (size_t)sprintf(ret_key + written, "%02x", digest[i]);
    }

cleanup:
    EVP_MD_CTX_free(to.hash);
    return written;
}
