/* Spans of several processes become a tree: children after their parents, each
 * within its parent's time, whatever the clocks were. */
#include "base/core/macros.h"
#include "base/core/rand.h"
#include "base/trace/span_tree.h"
#include "tests/lib/check_main.h"

/* Children follow their parents, sorted by their beginnings. */
START_TEST(test_order)
{
    struct tree_span s[] = {{.id = 4, .parent = 2, .start_us = 30},
                            {.id = 3, .parent = 1, .start_us = 50},
                            {.id = 2, .parent = 1, .start_us = 20},
                            {.id = 1, .start_us = 10},
                            {.id = 9, .parent = 77, .start_us = 5}};
    static const uint64_t ids[] = {9, 1, 2, 4, 3};
    static const unsigned depths[] = {0, 0, 1, 2, 1};
    span_tree_sort(s, ARRAY_LEN(s), 1);
    for (size_t i = 0; i < ARRAY_LEN(s); i++) {
        ck_assert_uint_eq(s[i].id, ids[i]);
        ck_assert_uint_eq(s[i].depth, depths[i]);
        ck_assert_int_eq(s[i].shift_us, 0);
    }
}

END_TEST

/* A process whose clock is an hour ahead is shifted by what its parent allows,
 * and so is the one below it, whose clock is behind. */
START_TEST(test_skewed_clocks)
{
    const int64_t hour = 3600000000;
    struct tree_span s[] = {
        {.id = 1, .start_us = hour, .duration_us = 100},
        {.id = 2, .parent = 1, .start_us = hour + 10, .duration_us = 80},
        {.id = 3,
         .parent = 2,
         .start_us = 2 * hour,
         .duration_us = 60,
         .process = 1},
        {.id = 4,
         .parent = 3,
         .start_us = 2 * hour + 5,
         .duration_us = 50,
         .process = 1},
        {.id = 5, .parent = 4, .start_us = 7, .duration_us = 50, .process = 2}};
    span_tree_sort(s, ARRAY_LEN(s), 3);
    ck_assert_uint_eq(s[2].id, 3);
    ck_assert_int_eq(s[2].start_us + s[2].shift_us, hour + 30);
    ck_assert_int_eq(s[3].shift_us, s[2].shift_us);
    ck_assert_uint_eq(s[4].id, 5);
    ck_assert_int_eq(s[4].start_us + s[4].shift_us, hour + 35);
}

END_TEST

/* Clocks that fit are left alone. */
START_TEST(test_good_clocks)
{
    struct tree_span s[] = {{.id = 1, .start_us = 1000, .duration_us = 100},
                            {.id = 2,
                             .parent = 1,
                             .start_us = 1020,
                             .duration_us = 30,
                             .process = 1}};
    span_tree_sort(s, ARRAY_LEN(s), 2);
    ck_assert_int_eq(s[1].shift_us, 0);
}

END_TEST

/* Hostile processes send circles, doubles and spans that are their own parents:
 * each span comes back once. */
START_TEST(test_hostile)
{
    struct rand_gen r;
    rand_init(&r, 5);
    for (int n = 0; n < 2000; n++) {
        struct tree_span s[12];
        bool seen[12] = {false};
        size_t count = 1 + rand_below(&r, ARRAY_LEN(s));
        for (size_t i = 0; i < count; i++)
            s[i] =
                (struct tree_span){.id = 1 + rand_below(&r, 8),
                                   .parent = rand_below(&r, 9),
                                   .start_us = (int64_t)(rand_u64(&r) >> 12),
                                   .duration_us = (int64_t)(rand_u64(&r) >> 12),
                                   .process = (unsigned)rand_below(&r, 3)};
        span_tree_sort(s, count, 3);
        for (size_t i = 0; i < count; i++) {
            ck_assert(!seen[s[i].at]);
            seen[s[i].at] = true;
            ck_assert(i || s[i].depth == 0);
            ck_assert(i == 0 || s[i].depth <= s[i - 1].depth + 1);
        }
    }
}

END_TEST

TEST_MAIN("span_tree",
          test_order,
          test_skewed_clocks,
          test_good_clocks,
          test_hostile)
