/* A histogram answers percentiles like the sorted values, within its error. */
#include <math.h>
#include <stdlib.h>

#include "base/core/histogram.h"
#include "base/core/rand.h"
#include "tests/lib/check_main.h"

enum {
    VALUES = 20000
};

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Buckets tile the integers: each starts where the one before ends. */
START_TEST(test_buckets_tile)
{
    for (size_t i = 1; i < HISTOGRAM_BUCKET_COUNT; i++) {
        uint64_t low = histogram_bucket_low(i);
        ck_assert_uint_eq(histogram_bucket(low), i);
        ck_assert_uint_eq(histogram_bucket(low - 1), i - 1);
    }
    ck_assert_uint_eq(histogram_bucket(UINT64_MAX), HISTOGRAM_BUCKET_COUNT - 1);
}

END_TEST

/* Percentiles of values of all magnitudes are within 3.2 % of the exact ones,
 * also when the values were added to two histograms and merged. */
START_TEST(test_percentiles)
{
    static struct histogram h;
    static struct histogram part;
    static uint64_t v[VALUES];
    struct rand_gen r;
    rand_init(&r, test_seed());
    histogram_init(&h);
    histogram_init(&part);
    for (int i = 0; i < VALUES; i++) {
        v[i] = rand_u64(&r) >> (8 + rand_below(&r, 56));
        histogram_add(i % 3 ? &h : &part, v[i]);
    }
    histogram_merge(&h, &part);
    qsort(v, VALUES, sizeof(v[0]), compare);
    for (int p = 1; p <= 100; p++) {
        double want = (double)v[VALUES * p / 100 - 1];
        double got = (double)histogram_percentile(&h, p);
        ck_assert_msg(fabs(got - want) <= 0.032 * want, "p%d: %g, not %g", p,
                      got, want);
    }
    ck_assert_uint_eq(h.count, VALUES);
    ck_assert_uint_eq(histogram_percentile(&h, 100), v[VALUES - 1]);
    ck_assert_uint_eq(h.min, v[0]);
}

END_TEST

/* An empty histogram has zeros, one value has itself everywhere. */
START_TEST(test_empty_and_one)
{
    static struct histogram h;
    histogram_init(&h);
    ck_assert_uint_eq(histogram_percentile(&h, 50), 0);
    histogram_add(&h, 1000003);
    for (int p = 0; p <= 100; p += 10)
        ck_assert_uint_eq(histogram_percentile(&h, p), 1000003);
}

END_TEST

TEST_MAIN("histogram", test_buckets_tile, test_percentiles, test_empty_and_one)
