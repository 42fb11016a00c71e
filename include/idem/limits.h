/* SPDX-License-Identifier: GPL-2.0-only */
/* Sizes that the tables, the checks and the tests agree on. All in bytes. */
#ifndef IDEM_LIMITS_H
#define IDEM_LIMITS_H

#define IDEM_BIZ_TYPE_MAX 64 /* record.biz_type, record.scope */
#define IDEM_KEY_MAX 255     /* record.idem_key */
#define IDEM_JSON_DEPTH 512  /* nesting of a payload that is hashed by meaning */
#define IDEM_RESULT_DEPTH 31 /* nesting of result, error, checkpoint: what JSON_VALID() reads */

#endif
