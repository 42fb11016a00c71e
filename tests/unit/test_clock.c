/* SPDX-License-Identifier: GPL-2.0-only */
/* The day that never goes back, and tokens that only grow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include <pthread.h>

#include "clock.h"

#define US_PER_DAY (INT64_C(86400) * 1000000)
#define DAY INT64_C(20513) /* 2026-03-01 */
#define AHEAD 7
#define THREADS ((size_t)8)
#define TOKENS ((size_t)50000)

static int forget(void **state)
{
    (void)state;
    idem_clock_set(0);
    return 0;
}

static void real_clock_is_the_wall_clock_in_utc(void **state)
{
    (void)state;
    int64_t before = (int64_t)time(NULL) * 1000000;
    int64_t now = idem_clock_us();

    assert_true(now >= before && now <= (int64_t)(time(NULL) + 1) * 1000000);
    assert_int_equal(idem_clock_today(AHEAD), idem_clock_us() / US_PER_DAY);
}

static void case_26_clock_that_steps_back_over_midnight_does_not_reopen_yesterday(void **state)
{
    (void)state;
    idem_clock_set(DAY * US_PER_DAY - 1);
    assert_int_equal(idem_clock_today(AHEAD), DAY - 1);
    idem_clock_set(DAY * US_PER_DAY);
    assert_int_equal(idem_clock_today(AHEAD), DAY);
    idem_clock_set(DAY * US_PER_DAY - 1);
    assert_int_equal(idem_clock_today(AHEAD), DAY);
    assert_int_equal(idem_clock_us(), DAY * US_PER_DAY - 1);
}

static void jump_within_the_partitions_is_kept_and_beyond_them_forgotten(void **state)
{
    (void)state;
    idem_clock_set((DAY + AHEAD) * US_PER_DAY);
    assert_int_equal(idem_clock_today(AHEAD), DAY + AHEAD);
    idem_clock_set(DAY * US_PER_DAY);
    assert_int_equal(idem_clock_today(AHEAD), DAY + AHEAD);

    idem_clock_set((DAY + AHEAD + 1) * US_PER_DAY);
    assert_int_equal(idem_clock_today(AHEAD), DAY + AHEAD + 1);
    idem_clock_set(DAY * US_PER_DAY);
    assert_int_equal(idem_clock_today(AHEAD), DAY);
    idem_clock_set((DAY - 1) * US_PER_DAY);
    assert_int_equal(idem_clock_today(AHEAD), DAY); /* the right day counts as seen again */
}

static void date_is_the_gregorian_utc_day(void **state)
{
    static const struct {
        int64_t day;
        const char *text;
    } dates[] = {{0, "1970-01-01"},     {59, "1970-03-01"},     {11016, "2000-02-29"},
                 {19782, "2024-02-29"}, {DAY, "2026-03-01"},    {47540, "2100-02-28"},
                 {47541, "2100-03-01"}, {2932896, "9999-12-31"}};
    char text[IDEM_DATE_LENGTH + 1];

    (void)state;
    for (size_t i = 0; i < sizeof(dates) / sizeof(dates[0]); i++) {
        idem_clock_date(dates[i].day, text);
        assert_string_equal(text, dates[i].text);
    }
}

static void token_follows_the_clock_and_never_falls_behind_it(void **state)
{
    uint64_t first;

    (void)state;
    idem_clock_set(INT64_C(4000000000000000));
    first = idem_clock_token();
    assert_int_equal(first, UINT64_C(4000000000000000));
    assert_int_equal(idem_clock_token(), first + 1); /* the clock stands still */
    idem_clock_set(INT64_C(3000000000000000));
    assert_int_equal(idem_clock_token(), first + 2); /* the clock went back */
    idem_clock_set(INT64_C(4000000000000010));
    assert_int_equal(idem_clock_token(), first + 10);
}

static void *take_tokens(void *room)
{
    uint64_t *tokens = room;

    for (size_t i = 0; i < TOKENS; i++)
        tokens[i] = idem_clock_token();
    return NULL;
}

static int compare(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

static void tokens_of_many_threads_strictly_grow_and_never_meet(void **state)
{
    uint64_t *tokens = calloc(THREADS * TOKENS, sizeof(*tokens));
    pthread_t threads[THREADS];

    (void)state;
    assert_non_null(tokens);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_tokens, tokens + i * TOKENS), 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < THREADS; i++)
        for (size_t k = 1; k < TOKENS; k++)
            assert_true(tokens[i * TOKENS + k] > tokens[i * TOKENS + k - 1]);
    qsort(tokens, THREADS * TOKENS, sizeof(*tokens), compare);
    for (size_t i = 1; i < THREADS * TOKENS; i++)
        assert_true(tokens[i] != tokens[i - 1]);
    free(tokens);
}

static atomic_bool jittering;

static void *watch_day(void *went_back)
{
    int64_t seen = 0;

    while (atomic_load(&jittering)) {
        int64_t day = idem_clock_today(AHEAD);

        if (day < seen)
            *(int *)went_back = 1;
        seen = day;
    }
    return NULL;
}

static void day_goes_back_for_no_thread_while_the_clock_jitters_at_midnight(void **state)
{
    pthread_t threads[THREADS];
    int went_back[THREADS] = {0};

    (void)state;
    idem_clock_set(DAY * US_PER_DAY - 1);
    atomic_store(&jittering, true);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, watch_day, &went_back[i]), 0);
    for (int i = 0; i < 2000000; i++)
        idem_clock_set(DAY * US_PER_DAY - i % 2);
    atomic_store(&jittering, false);
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(went_back[i], 0);
    }
}

static void datetime_names_each_microsecond(void **state)
{
    static const struct {
        int64_t us;
        const char *text;
    } rows[] = {
        {0, "1970-01-01 00:00:00.000000"},
        {1, "1970-01-01 00:00:00.000001"},
        {DAY * US_PER_DAY - 1, "2026-02-28 23:59:59.999999"},
        {DAY * US_PER_DAY + INT64_C(3723000042), "2026-03-01 01:02:03.000042"},
        {INT64_C(1709208000000000), "2024-02-29 12:00:00.000000"},
        {INT64_C(253402300799999999), "9999-12-31 23:59:59.999999"},
    };
    char text[IDEM_DATETIME_LENGTH + 1];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        idem_clock_datetime(rows[i].us, text);
        assert_string_equal(text, rows[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(real_clock_is_the_wall_clock_in_utc, forget),
        cmocka_unit_test_setup(
            case_26_clock_that_steps_back_over_midnight_does_not_reopen_yesterday, forget),
        cmocka_unit_test_setup(jump_within_the_partitions_is_kept_and_beyond_them_forgotten,
                               forget),
        cmocka_unit_test_setup(date_is_the_gregorian_utc_day, forget),
        cmocka_unit_test_setup(datetime_names_each_microsecond, forget),
        cmocka_unit_test_setup(tokens_of_many_threads_strictly_grow_and_never_meet, forget),
        cmocka_unit_test_setup(day_goes_back_for_no_thread_while_the_clock_jitters_at_midnight,
                               forget),
        cmocka_unit_test_setup(token_follows_the_clock_and_never_falls_behind_it, forget),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
