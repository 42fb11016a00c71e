/* SPDX-License-Identifier: GPL-2.0-only */
/* Waits stay in their bounds for every input, and only errors worth another try are retryable. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backoff.h"
#include "idem/errors.h"

#define DRAWS 20000

static void delays_fill_their_range_and_never_leave_it(void **state)
{
    static const struct {
        uint64_t attempt, base, cap, limit;
    } rows[] = {
        {0, 3, 50, 3},   {1, 3, 50, 3},  {2, 3, 50, 6},           {3, 3, 50, 12},
        {4, 3, 50, 24},  {5, 3, 50, 48}, {6, 3, 50, 50},          {99, 3, 50, 50},
        {1, 80, 50, 50}, {1, 1, 1, 1},   {UINT64_MAX, 3, 50, 50},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint64_t least = UINT64_MAX, most = 0;

        for (int k = 0; k < DRAWS; k++) {
            uint64_t delay = idem_backoff_delay(rows[i].attempt, rows[i].base, rows[i].cap);

            least = delay < least ? delay : least;
            most = delay > most ? delay : most;
        }
        /* Of 51 equally likely values one is missed by 20,000 draws once in 10^171 runs. */
        assert_int_equal(least, 0);
        assert_int_equal(most, rows[i].limit);
    }
}

static void extreme_numbers_neither_overflow_nor_divide_by_zero(void **state)
{
    uint64_t above_half = 0;

    (void)state;
    assert_int_equal(idem_backoff_delay(1, 0, 0), 0);
    assert_int_equal(idem_backoff_delay(UINT64_MAX, 0, UINT64_MAX), 0);
    assert_int_equal(idem_backoff_delay(5, 100, 0), 0);
    for (int i = 0; i < 1000; i++) {
        above_half += idem_backoff_delay(1, UINT64_MAX, UINT64_MAX) > UINT64_MAX / 2;
        assert_true(idem_backoff_delay(64, 1, UINT64_MAX) <= UINT64_C(1) << 63);
        assert_true(idem_backoff_delay(2, UINT64_MAX / 2 + 1, UINT64_MAX - 7) <= UINT64_MAX - 7);
        assert_true(idem_backoff_delay(UINT64_MAX, 3, 1000) <= 1000);
    }
    assert_true(above_half > 0); /* the whole range is in use */
}

static void retryable_are_lost_transactions_and_connections_and_nothing_else(void **state)
{
    static const int64_t yes[] = {1020,
                                  1040,
                                  1047,
                                  1053,
                                  1077,
                                  1079,
                                  1152,
                                  1158,
                                  1159,
                                  1160,
                                  1161,
                                  1203,
                                  1205,
                                  1213,
                                  1226,
                                  1412,
                                  1927,
                                  2002,
                                  2003,
                                  2006,
                                  2013,
                                  2055,
                                  IDEM_E_NOT_READY};
    static const int64_t no[] = {-1213,
                                 INT64_MIN,
                                 INT64_MAX,
                                 0,
                                 1062,
                                 1290, /* read-only server */
                                 1317, /* killed: somebody wanted the work to stop */
                                 1406,
                                 1792, /* READ ONLY transaction */
                                 1969, /* max_statement_time */
                                 3024,
                                 (INT64_C(1) << 32) + 1213,
                                 IDEM_E_INVALID_ARGUMENT,
                                 IDEM_E_KEY_REUSED,
                                 IDEM_E_PAYLOAD_MISMATCH,
                                 IDEM_E_NOT_OWNER,
                                 IDEM_E_BAD_CONTEXT,
                                 IDEM_E_ACCESS_DENIED,
                                 IDEM_E_RESULT_TOO_LARGE,
                                 IDEM_E_ILLEGAL_TRANSITION,
                                 IDEM_E_VERSION_GAP};
    size_t retryable = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
        assert_true(idem_backoff_retryable(yes[i]));
    for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
        assert_false(idem_backoff_retryable(no[i]));
    for (int64_t number = -70000; number <= 70000; number++)
        retryable += idem_backoff_retryable(number);
    assert_int_equal(retryable, sizeof(yes) / sizeof(yes[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(delays_fill_their_range_and_never_leave_it),
        cmocka_unit_test(extreme_numbers_neither_overflow_nor_divide_by_zero),
        cmocka_unit_test(retryable_are_lost_transactions_and_connections_and_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
