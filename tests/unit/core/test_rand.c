/* Random numbers repeat by seed and are spread evenly; hashes stay what they
 * are, because they are stored. */
#include <math.h>
#include <stdlib.h>

#include "base/core/buf.h"
#include "base/core/hash.h"
#include "base/core/rand.h"
#include "base/core/trace.h"
#include "tests/lib/check_main.h"

/* Equal seeds, equal sequences; neighbouring seeds have nothing in common. */
START_TEST(test_seeds)
{
    struct rand_gen a;
    struct rand_gen b;
    struct rand_gen c;
    int equal = 0;
    rand_init(&a, 7);
    rand_init(&b, 7);
    rand_init(&c, 8);
    for (int i = 0; i < 1000; i++) {
        uint64_t v = rand_u64(&a);
        ck_assert_uint_eq(v, rand_u64(&b));
        equal += v == rand_u64(&c);
    }
    ck_assert_int_eq(equal, 0);
}

END_TEST

/* Every value below the bound comes up about as often as any other. */
START_TEST(test_even)
{
    enum {
        BOUND = 7,
        DRAWS = 70000
    };
    struct rand_gen r;
    int counts[BOUND] = {0};
    double sum = 0;
    int ones = 0;
    rand_init(&r, test_seed());
    for (int i = 0; i < DRAWS; i++) {
        double d = rand_double(&r);
        counts[rand_below(&r, BOUND)]++;
        ck_assert(d >= 0 && d < 1);
        sum += d;
        ones += rand_one_in(&r, 10);
    }
    for (int i = 0; i < BOUND; i++)
        ck_assert_int_lt(abs(counts[i] - DRAWS / BOUND), 600);
    ck_assert(fabs(sum / DRAWS - 0.5) < 0.01);
    ck_assert_int_lt(abs(ones - DRAWS / 10), 500);
    ck_assert_uint_eq(rand_below(&r, 1), 0);
}

END_TEST

/* Bounds above half of all numbers, where about every second one drawn is
 * refused. */
START_TEST(test_large_bounds)
{
    const uint64_t bound = (UINT64_C(1) << 63) + 1;
    struct rand_gen r;
    int high = 0;
    rand_init(&r, test_seed());
    for (int i = 0; i < 10000; i++) {
        uint64_t n = rand_below(&r, bound);
        ck_assert_uint_lt(n, bound);
        high += n >= bound / 2;
    }
    ck_assert_int_lt(abs(high - 5000), 300);
}

END_TEST

/* XXH3's published value for the empty input: a change would orphan what is
 * stored under the old hashes. */
START_TEST(test_hash_is_stable)
{
    ck_assert(hash64("", 0, 0) == UINT64_C(0x2d06800538d394c2));
    ck_assert(hash64("a", 1, 0) != hash64("a", 1, 1));
    ck_assert(hash64_slice(SLICE_LIT("abc")) == hash64("abc", 3, 0));
    ck_assert(hash_mix(1) != hash_mix(2) && hash_mix(0) == 0);
}

END_TEST

/* A trace keeps the newest lines and a hash of all. */
START_TEST(test_trace)
{
    struct trace t;
    struct trace u;
    struct buf b = BUF_INIT;
    trace_init(&t, 2);
    trace_init(&u, 0);
    for (unsigned i = 0; i < 5; i++) {
        trace_add(&t, i * 1000001, "line %u", i);
        trace_add(&u, i * 1000001, "line %u", i);
    }
    ck_assert(t.hash == u.hash && t.count == 5);
    trace_print(&t, 10, &b);
    ck_assert_str_eq(buf_cstr(&b), "[     3.000003] line 3\n"
                                   "[     4.000004] line 4\n");
    trace_add(&t, 0, "one more");
    ck_assert(t.hash != u.hash);
    trace_close(&t);
    trace_close(&u);
    buf_close(&b);
}

END_TEST

TEST_MAIN("rand",
          test_seeds,
          test_even,
          test_large_bounds,
          test_hash_is_stable,
          test_trace)
