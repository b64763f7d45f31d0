/* Timestamps rise, keep below a bound that was kept, and let leases run out,
 * whatever the clock does.
 */
#include "base/core/rand.h"
#include "bigtable/row/stamp_source.h"
#include "tests/lib/check_main.h"

#define SECOND_US INT64_C(1000000)
#define HOUR_US   (3600 * SECOND_US)
#define EPOCH_US  (1700000000 * SECOND_US)

/* A source with a clock, and who keeps its bound. */
struct stamp_bench {
    struct stamp_source source;
    int64_t wall_us;
    uint64_t mono_ns;
};

static void pass(struct stamp_bench *b, int64_t us)
{
    b->wall_us += us;
    b->mono_ns += (uint64_t)us * 1000;
}

static int64_t take(struct stamp_bench *b, uint32_t count)
{
    int64_t from = stamp_source_next(&b->source, b->wall_us, b->mono_ns);
    if (stamp_source_is_over(&b->source, from, count))
        b->source.bound = from + count + STAMP_AHEAD_US;
    stamp_source_take(&b->source, from, count, b->mono_ns);
    return from;
}

static void open_at(struct stamp_bench *b, int64_t bound)
{
    b->wall_us = EPOCH_US;
    b->mono_ns = 5000000000;
    stamp_source_open(&b->source, bound, b->mono_ns);
}

/* A clock that was ahead for a while leaves numbers that it reaches in hours: a
 * lease of ten seconds is over after twenty. */
START_TEST(test_a_lease_ends_after_a_clock_was_ahead)
{
    struct stamp_bench b;
    int64_t begun;
    open_at(&b, 0);
    (void)take(&b, 1);
    b.wall_us += 72 * HOUR_US;
    begun = take(&b, 1);
    b.wall_us -= 72 * HOUR_US;
    for (int i = 0; i < 200; i++) {
        pass(&b, SECOND_US / 10);
        (void)take(&b, 1);
    }
    ck_assert_int_ge(take(&b, 1), begun + 10 * SECOND_US);
}

END_TEST

/* So it is behind a bound that an earlier source left. */
START_TEST(test_a_lease_ends_behind_a_bound)
{
    struct stamp_bench b;
    open_at(&b, EPOCH_US + 72 * HOUR_US);
    pass(&b, 20 * SECOND_US);
    ck_assert_int_ge(take(&b, 1), EPOCH_US + 72 * HOUR_US + 10 * SECOND_US - 1);
}

END_TEST

/* Whatever the clock does: numbers rise, stay below the bound, are never behind
 * the clock, and pass by at least half of the time that passes. */
START_TEST(test_any_clock)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int round = 0; round < 200; round++) {
        struct stamp_bench b;
        int64_t last;
        open_at(&b, rand_one_in(&r, 2)
                        ? 0
                        : EPOCH_US + (int64_t)rand_below(&r, HOUR_US));
        last = take(&b, 1);
        for (int i = 0; i < 200; i++) {
            int64_t us = (int64_t)rand_below(&r, 2 * SECOND_US);
            uint32_t count = 1 + (uint32_t)rand_below(&r, 1000);
            int64_t from;
            pass(&b, us);
            if (rand_one_in(&r, 5))
                b.wall_us += (int64_t)rand_below(&r, 2 * HOUR_US) - HOUR_US;
            from = take(&b, count);
            ck_assert_int_gt(from, last);
            ck_assert_int_ge(from, b.wall_us);
            ck_assert_int_ge(from - last, us / 2);
            ck_assert_int_lt(from + count - 1, b.source.bound);
            last = from + count - 1;
        }
    }
}

END_TEST

TEST_MAIN("stamp_source",
          test_a_lease_ends_after_a_clock_was_ahead,
          test_a_lease_ends_behind_a_bound,
          test_any_clock)
