/* SPDX-License-Identifier: GPL-2.0-only */
/* The wall clock, the day that never goes back, and fencing tokens. */
#include "clock.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

static atomic_int_least64_t test_us;
static atomic_int_least64_t newest_day;
static atomic_uint_least64_t last_token;

int64_t idem_clock_us(void)
{
    int64_t set = atomic_load_explicit(&test_us, memory_order_relaxed);
    struct timespec now;

    if (set != 0)
        return set;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void idem_clock_set(int64_t us)
{
    atomic_store(&test_us, us);
    if (us == 0)
        atomic_store(&newest_day, 0);
}

int64_t idem_clock_today(int64_t ahead)
{
    int64_t day = idem_clock_us() / IDEM_DAY_US;
    int64_t newest = atomic_load(&newest_day);

    /* Raised before the caller inserts: whoever inserts into an older day afterwards has read the
       day before this, and will see it raised when it looks again (see sql/tables/record_look). */
    while (newest < day || newest > day + ahead)
        if (atomic_compare_exchange_weak(&newest_day, &newest, day))
            return day;
    return newest;
}

/* strftime() and snprintf() take a fifth of a claim's own time. */
static void put(char *text, int digits, int64_t value)
{
    for (int i = digits - 1; i >= 0; i--, value /= 10)
        text[i] = (char)('0' + value % 10);
}

static void put_date(const struct tm *utc, char ret_text[IDEM_DATE_LENGTH + 1])
{
    put(ret_text, 4, utc->tm_year + 1900);
    put(ret_text + 5, 2, utc->tm_mon + 1);
    put(ret_text + 8, 2, utc->tm_mday);
    ret_text[4] = ret_text[7] = '-';
    ret_text[IDEM_DATE_LENGTH] = '\0';
}

void idem_clock_date(int64_t day, char ret_text[IDEM_DATE_LENGTH + 1])
{
    time_t seconds = (time_t)(day * 86400);
    struct tm utc;

    put_date(gmtime_r(&seconds, &utc), ret_text);
}

void idem_clock_datetime(int64_t us, char ret_text[IDEM_DATETIME_LENGTH + 1])
{
    time_t seconds = (time_t)(us / 1000000);
    struct tm utc;

    put_date(gmtime_r(&seconds, &utc), ret_text);
    put(ret_text + 11, 2, utc.tm_hour);
    put(ret_text + 14, 2, utc.tm_min);
    put(ret_text + 17, 2, utc.tm_sec);
    put(ret_text + 20, 6, us % 1000000);
    ret_text[10] = ' ';
    ret_text[13] = ret_text[16] = ':';
    ret_text[19] = '.';
    ret_text[IDEM_DATETIME_LENGTH] = '\0';
}

bool idem_clock_parse_date(const char *text, size_t length, int64_t *ret_day)
{
    char date[IDEM_DATE_LENGTH + 1];
    struct tm utc = {0};
    const char *end;

    if (length != IDEM_DATE_LENGTH)
        return false;
    memcpy(date, text, length);
    date[length] = '\0';
    end = strptime(date, "%Y-%m-%d", &utc);
    if (end == NULL || *end != '\0')
        return false;
    *ret_day = timegm(&utc) / 86400;
    return true;
}

uint64_t idem_clock_token(void)
{
    uint64_t now = (uint64_t)idem_clock_us();
    uint64_t last = atomic_load(&last_token);
    uint64_t next;

    do
        next = now > last ? now : last + 1;
    while (!atomic_compare_exchange_weak(&last_token, &last, next));
    return next;
}
