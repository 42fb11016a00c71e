/* SPDX-License-Identifier: GPL-2.0-only */
/* One way to say a call for both doors, so that a scenario is written once and run through each. */
#ifndef IDEM_TESTS_CLAIMS_H
#define IDEM_TESTS_CLAIMS_H

#include <stdbool.h>

#include <mysql.h>

enum door { PROCEDURE_DOOR, UDF_DOOR };

extern const char *const door_names[2];

#define EACH_DOOR(door) for (enum door door = PROCEDURE_DOOR; door <= UDF_DOOR; door++)

struct answer {
    unsigned int error; /* 0, or the error number; then the rest is empty */
    char state[16];
    unsigned long long token;
    unsigned int attempt;
    char result[256], last_error[256], failure[256], checkpoint[256];
    long long retry_after_ms; /* -1 when absent */
};

/* Arguments are SQL expressions, e.g. "'pay'", "NULL", "x'00ff'". */
struct answer claim(MYSQL *sql, enum door door, const char *biz_type, const char *key,
                    const char *payload);
struct answer begin(MYSQL *sql, enum door door, const char *biz_type, const char *key,
                    const char *payload);
struct answer consume(MYSQL *sql, enum door door, const char *consumer, const char *event,
                      const char *payload);
struct answer peek(MYSQL *sql, enum door door, const char *biz_type, const char *key);

/* Takes over the members of a flat JSON object that idem answered. */
void answer_read(struct answer *answer, const char *json);

/* These return the error number, 0 for success; CR_UNKNOWN_ERROR when the UDF door answered nothing
   and no error. token may be "NULL". */
unsigned int finish(MYSQL *sql, enum door door, const char *biz_type, const char *key,
                    const char *token, const char *result);
unsigned int commit(MYSQL *sql, enum door door, const char *biz_type, const char *key,
                    const char *token, const char *result);
unsigned int fail_claim(MYSQL *sql, enum door door, const char *biz_type, const char *key,
                        const char *token, const char *error, int retryable);
unsigned int release(MYSQL *sql, enum door door, const char *biz_type, const char *key,
                     const char *token);
unsigned int renew(MYSQL *sql, enum door door, const char *biz_type, const char *key,
                   const char *token, const char *seconds);
unsigned int checkpoint(MYSQL *sql, enum door door, const char *biz_type, const char *key,
                        const char *token, const char *data);

/* In a killed statement the server runs no handler any more: what it had just met may come out
   bare, and that its routine was to be prepared anew (1615). */
bool killed_may_answer(unsigned int error);

#endif
