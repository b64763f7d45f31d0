/* The clocks of as many nodes as can be asked are compared: one that differs
 * from most is found. */
#include "base/core/panic.h"
#include "cli/cluster_answers.h"
#include "tests/lib/check_main.h"

static struct inquiry *inquiry_of(size_t count)
{
    struct inquiry *i = mem_zalloc(1, sizeof(*i));
    i->count = count;
    for (size_t n = 0; n < count; n++) {
        i->questions[n].pid = QUESTION_PID_UNKNOWN;
        i->questions[n].asked_us = 1000000000;
        buf_printf(&i->questions[n].answer, "node=n%zu time=%llu\n", n,
                   1000000000ULL + (n == 7 ? 30000000 : 0));
    }
    return i;
}

static void inquiry_free(struct inquiry *i)
{
    for (size_t n = 0; n < i->count; n++)
        buf_close(&i->questions[n].answer);
    mem_free(i);
}

START_TEST(test_clocks_of_many_nodes)
{
    static const size_t counts[] = {8, 33, 100, INQUIRY_NODES_MAX};
    for (size_t k = 0; k < ARRAY_LEN(counts); k++) {
        struct inquiry *i = inquiry_of(counts[k]);
        ck_assert_int_eq(answer_clock(i, 7), 30000000);
        ck_assert_int_eq(answer_clock(i, 6), 0);
        inquiry_free(i);
    }
}

END_TEST

TEST_MAIN("cluster_answers", test_clocks_of_many_nodes)
