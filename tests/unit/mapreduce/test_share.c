/* Slots are shared by priority and weight, none is wasted and none given twice.
 */
#include <string.h>

#include "base/core/rand.h"
#include "mapreduce/cluster/share.h"
#include "tests/lib/check_main.h"

#define JOBS_MAX 20

static uint64_t sum_of(const struct share_job *j, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += j[i].quota;
    return sum;
}

/* No job gets more than it wants, all together no more than there is, and all
 * of it when it is wanted; who is below another gets nothing while that one
 * wants more; among equals nobody is more than a slot ahead of its weight. */
START_TEST(test_properties)
{
    struct rand_gen r;
    struct share_job j[JOBS_MAX];
    rand_init(&r, test_seed());
    for (int round = 0; round < 2000; round++) {
        size_t n = rand_below(&r, JOBS_MAX + 1);
        uint32_t slots = (uint32_t)rand_below(&r, 50);
        uint64_t wanted = 0;
        for (size_t i = 0; i < n; i++) {
            j[i] = (struct share_job){.priority = (int)rand_below(&r, 3) - 1,
                                      .weight = 1 + (uint32_t)rand_below(&r, 5),
                                      .wants = (uint32_t)rand_below(&r, 12),
                                      .quota = 77};
            wanted += j[i].wants;
        }
        share_slots(j, n, slots);
        ck_assert_uint_eq(sum_of(j, n), wanted < slots ? wanted : slots);
        for (size_t a = 0; a < n; a++) {
            ck_assert_uint_le(j[a].quota, j[a].wants);
            for (size_t b = 0; b < n && j[a].quota < j[a].wants; b++) {
                if (j[b].priority < j[a].priority)
                    ck_assert_uint_eq(j[b].quota, 0);
                if (j[b].priority == j[a].priority && j[b].quota > 0)
                    ck_assert_uint_le((uint64_t)(j[b].quota - 1) * j[a].weight,
                                      (uint64_t)j[a].quota * j[b].weight);
            }
        }
    }
}

END_TEST

/* The older of two equals has the odd slot. */
START_TEST(test_order)
{
    struct share_job j[] = {{.weight = 1, .wants = 9},
                            {.weight = 1, .wants = 9},
                            {.weight = 2, .wants = 9}};
    share_slots(j, 2, 3);
    ck_assert_uint_eq(j[0].quota, 2);
    ck_assert_uint_eq(j[1].quota, 1);
    share_slots(j, 3, 8);
    ck_assert_uint_eq(j[0].quota, 2);
    ck_assert_uint_eq(j[1].quota, 2);
    ck_assert_uint_eq(j[2].quota, 4);
}

END_TEST

TEST_MAIN("share", test_properties, test_order)
