/* Tests of the time by which ages are measured. */
#include "bigtable/tablet/age_clock.h"
#include "tests/lib/check_main.h"

#define SECOND_US INT64_C(1000000)
#define HOUR_US   (3600 * SECOND_US)
#define DAY_US    (24 * HOUR_US)

static struct age_clock ages;

/* The time told after @after_us, when the machine's clock is off by @off_us. */
static int64_t now(int64_t after_us, int64_t off_us)
{
    int64_t wall_us = 1000 * DAY_US + after_us + off_us;
    int64_t told_us =
        age_clock_now(&ages, wall_us, (uint64_t)(DAY_US + after_us) * 1000);
    ck_assert_int_le(told_us, wall_us);
    return told_us - 1000 * DAY_US;
}

static void begin(void)
{
    age_clock_init(&ages, 1000 * DAY_US, (uint64_t)DAY_US * 1000);
    ck_assert_int_eq(now(0, 0), 0);
}

/* A clock that is a day ahead for less than an hour makes nothing old, however
 * often it is. */
START_TEST(test_a_step_ahead_and_back)
{
    begin();
    ck_assert_int_eq(now(SECOND_US, DAY_US), SECOND_US);
    ck_assert_int_eq(now(HOUR_US / 2, DAY_US), HOUR_US / 2);
    ck_assert_int_eq(now(HOUR_US, 0), HOUR_US);
    ck_assert_int_eq(now(HOUR_US + SECOND_US, DAY_US), HOUR_US + SECOND_US);
    ck_assert_int_eq(now(2 * HOUR_US, DAY_US), 2 * HOUR_US);
}

END_TEST

/* One that stays ahead, or goes back, is believed. */
START_TEST(test_a_step_that_lasts)
{
    begin();
    ck_assert_int_eq(now(SECOND_US, DAY_US), SECOND_US);
    ck_assert_int_eq(now(2 * HOUR_US, DAY_US), 2 * HOUR_US + DAY_US);
    ck_assert_int_eq(now(3 * HOUR_US, DAY_US), 3 * HOUR_US + DAY_US);
    ck_assert_int_eq(now(4 * HOUR_US, -DAY_US), 4 * HOUR_US - DAY_US);
    ck_assert_int_eq(now(5 * HOUR_US, -DAY_US), 5 * HOUR_US - DAY_US);
}

END_TEST

/* A clock that gains 100 us a second is followed for weeks. */
START_TEST(test_drift)
{
    begin();
    for (int64_t t = 0; t < 20 * DAY_US; t += HOUR_US)
        ck_assert_int_eq(now(t, t / 10000), t + t / 10000);
}

END_TEST

/* Whether the clock was wrong from the start is not known until it is old. */
START_TEST(test_proven)
{
    begin();
    ck_assert(!age_clock_is_proven(
        &ages, (uint64_t)(DAY_US + HOUR_US - SECOND_US) * 1000));
    ck_assert(age_clock_is_proven(&ages, (uint64_t)(DAY_US + HOUR_US) * 1000));
}

END_TEST

TEST_MAIN("age clock",
          test_a_step_ahead_and_back,
          test_a_step_that_lasts,
          test_drift,
          test_proven)
