/* SPDX-License-Identifier: GPL-2.0-only */
/* What the library, the routines and the tests agree on. Sizes are in bytes. */
#ifndef IDEM_LIMITS_H
#define IDEM_LIMITS_H

#define IDEM_BIZ_TYPE_MAX 64 /* record.biz_type, record.scope */
#define IDEM_KEY_MAX 255     /* record.idem_key */
#define IDEM_JSON_DEPTH 512  /* nesting of a payload that is hashed by meaning */
#define IDEM_RESULT_DEPTH 31 /* nesting of result, error, checkpoint: what JSON_VALID() reads */

/* Two hours: how far the clocks of two servers that follow each other may be apart. For so long
   before midnight the next day may already hold records, and for so long after it a day is not
   sealed. The routines get it when they are assembled. */
#define IDEM_CLOCK_SKEW_US 7200000000

#endif
