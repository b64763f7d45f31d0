/* The judge of histories accepts what some order explains, and nothing else. */
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
#include "tests/lib/check_main.h"
#include "tests/lib/linearizable.h"

static size_t
call(struct history *h, uint64_t at, uint64_t client, uint32_t kind, uint64_t a)
{
    struct history_value v = {.kind = kind, .a = a};
    return history_call(h, at, client, 1, &v);
}

static void answer(struct history *h, size_t op, uint64_t at, uint64_t a)
{
    struct history_value v = {.a = a};
    history_return(h, op, at, &v);
}

static enum history_verdict judge(struct history *h)
{
    struct buf why = BUF_INIT;
    enum history_verdict v = history_check(h, &history_register, 0, &why);
    ck_assert_int_eq(v == HISTORY_WRONG, why.len > 0);
    buf_close(&why);
    history_free(h);
    return v;
}

START_TEST(test_a_read_sees_what_was_written_before)
{
    struct history *h = history_new();
    size_t w = call(h, 1, 1, REGISTER_WRITE, 5);
    size_t r;
    answer(h, w, 2, 0);
    r = call(h, 3, 2, REGISTER_READ, 0);
    answer(h, r, 4, 5);
    ck_assert_int_eq(judge(h), HISTORY_LINEARIZABLE);
}

END_TEST

START_TEST(test_a_stale_read_is_wrong)
{
    struct history *h = history_new();
    size_t w = call(h, 1, 1, REGISTER_WRITE, 5);
    size_t r;
    answer(h, w, 2, 0);
    r = call(h, 3, 2, REGISTER_READ, 0);
    answer(h, r, 4, 0);
    ck_assert_int_eq(judge(h), HISTORY_WRONG);
}

END_TEST

START_TEST(test_an_unknown_write_may_come_late_but_not_twice)
{
    /* Adds 1 unanswered; reads 0, 1 are fine, then 0 again is not. */
    for (int wrong = 0; wrong < 2; wrong++) {
        struct history *h = history_new();
        size_t r;
        call(h, 1, 1, REGISTER_ADD, 1);
        r = call(h, 10, 2, REGISTER_READ, 0);
        answer(h, r, 11, 0);
        r = call(h, 12, 2, REGISTER_READ, 0);
        answer(h, r, 13, 1);
        r = call(h, 14, 2, REGISTER_READ, 0);
        answer(h, r, 15, wrong ? 0 : 1);
        ck_assert_int_eq(judge(h),
                         wrong ? HISTORY_WRONG : HISTORY_LINEARIZABLE);
    }
}

END_TEST

START_TEST(test_reads_that_turn_back_are_wrong)
{
    struct history *h = history_new();
    size_t w = call(h, 1, 1, REGISTER_WRITE, 5); /* All the time under way. */
    size_t r = call(h, 2, 2, REGISTER_READ, 0);
    answer(h, r, 3, 5);
    r = call(h, 4, 3, REGISTER_READ, 0);
    answer(h, r, 5, 0);
    answer(h, w, 6, 0);
    ck_assert_int_eq(judge(h), HISTORY_WRONG);
}

END_TEST

/* Real histories of a real register: each call takes effect at a time between
 * its begin and its end. One answer changed makes it wrong (adding: sums are
 * all different). */
START_TEST(test_random_histories)
{
    uint64_t seed = test_seed();
    for (uint64_t n = 0; n < 300; n++) {
        struct history *h = history_new();
        struct rand_gen r;
        uint64_t sum = 0;
        uint64_t begin[8] = {0};
        size_t ops[64];
        uint64_t sums[64];
        size_t count = 0;
        uint64_t at = 1;
        bool spoil = n % 2;
        rand_init(&r, seed + n);
        for (size_t i = 0; i < 60; i++) {
            uint64_t client = rand_below(&r, 8);
            struct history_value v = {.kind = REGISTER_ADD};
            at += rand_below(&r, 10);
            /* It began at most 30 ago, behind the client's last, */
            uint64_t from = at > 30 ? at - rand_below(&r, 30) : at;
            from = from > begin[client] ? from : begin[client] + 1;
            v.a = 1 + rand_below(&r, 9);
            sum += v.a;
            ops[count] = history_call(h, from, client, 1, &v);
            sums[count++] = sum;
            begin[client] = at + rand_below(&r, 20);
            at = at > from ? at : from;
            if (begin[client] < at)
                begin[client] = at;
            answer(h, ops[count - 1], begin[client], sum);
        }
        if (spoil) {
            size_t i = rand_below(&r, count);
            answer(h, ops[i], 1 << 20, sums[i] + 1000);
        }
        ck_assert_int_eq(judge(h),
                         spoil ? HISTORY_WRONG : HISTORY_LINEARIZABLE);
    }
}

END_TEST

TEST_MAIN("linearizable",
          test_a_read_sees_what_was_written_before,
          test_a_stale_read_is_wrong,
          test_an_unknown_write_may_come_late_but_not_twice,
          test_reads_that_turn_back_are_wrong,
          test_random_histories)
