/* SPDX-License-Identifier: GPL-2.0-only */
/* JSON by meaning: one canonical byte string for every text that says the same.

   No maintained C library in Debian keeps big numbers exact and reports duplicate names: json-c
   saturates integers, jansson and cJSON read through double, yajl turns a lone surrogate into '?'
   and has no upstream. Hence a strict RFC 8259 reader of our own, not recursive, fuzzed. */
#ifndef IDEM_JSON_H
#define IDEM_JSON_H

#include <stddef.h>

enum idem_json_status {
    IDEM_JSON_OK,
    IDEM_JSON_INVALID,   /* not JSON */
    IDEM_JSON_DUPLICATE, /* an object names a member twice */
    IDEM_JSON_DEEP,      /* nested deeper than allowed; not read to its end */
    IDEM_JSON_RANGE,     /* a number's exponent is beyond 15 digits */
    IDEM_JSON_NO_MEMORY,
};

/* Canonical form of `text`: members sorted by name bytes, strings unescaped to UTF-8 with their
   length in front, numbers as digits and exponent without padding zeros (1 = 1.0 = 1e0, -0 = 0).
   Injective: two texts get the same bytes only if they mean the same. The caller frees *ret_bytes.
 */
enum idem_json_status idem_json_canonical(const char *text, size_t length,
                                          unsigned char **ret_bytes, size_t *ret_length);

/* OK for JSON of at most `depth` levels, also where it has no single meaning (a member named twice,
   an absurd exponent). */
enum idem_json_status idem_json_check(const char *text, size_t length, size_t depth);

#endif
