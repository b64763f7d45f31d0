/* Looking before going to sleep is bounded: in vain it costs no more than a
 * part of the time that passes, after a long wait and when switched off it is
 * not done at all. */
#include "base/runtime/busy_poll.h"
#include "base/runtime/world.h"
#include "tests/lib/check_main.h"

static struct world *world;

/* Wait once, for nothing; how long this looked. */
static uint64_t wait_in_vain(struct busy_poll *b)
{
    uint64_t from = world_mono_ns(world);
    bool looks = busy_poll_begin(b);
    if (looks)
        while (busy_poll_again(b))
            ;
    busy_poll_end(b, false);
    return looks ? world_mono_ns(world) - from : 0;
}

/* Polling that never succeeds costs its credit, and then a part of the time. */
START_TEST(test_in_vain)
{
    struct busy_poll b = {.credit_ns = 0};
    uint64_t from;
    uint64_t looked = 0;
    uint64_t longest = 0;
    unsigned refusals = 0;
    world = world_real_new();
    from = world_mono_ns(world);
    for (int i = 0; i < 2000; i++) {
        uint64_t one = wait_in_vain(&b);
        refusals += one == 0;
        looked += one;
        longest = one > longest ? one : longest;
    }
    ck_assert_uint_gt(refusals, 0);
    ck_assert_uint_le(looked, 10000000 + (world_mono_ns(world) - from) / 2 +
                                  longest + 1000000);
    world_free(world);
}

END_TEST

/* Polling that succeeds each time is never stopped: only after a pause of
 * this very thread, which looks like a long wait, is one left out. */
START_TEST(test_catching)
{
    struct busy_poll b = {.credit_ns = 0};
    unsigned looks = 0;
    for (int i = 0; i < 2000; i++) {
        looks += busy_poll_begin(&b);
        busy_poll_end(&b, true);
    }
    ck_assert_uint_gt(looks, 1000);
}

END_TEST

/* After a long wait a thread sleeps at once the next time. */
START_TEST(test_long_wait)
{
    struct busy_poll b = {.credit_ns = 0};
    world = world_real_new();
    ck_assert(busy_poll_begin(&b));
    world_sleep_us(world, 20000);
    busy_poll_end(&b, false);
    ck_assert(!busy_poll_begin(&b));
    world_free(world);
}

END_TEST

/* A thread that is woken in bursts, seldom, does not poll within the burst. */
START_TEST(test_seldom)
{
    struct busy_poll b = {.credit_ns = 0};
    unsigned looks = 0;
    world = world_real_new();
    for (int round = 0; round < 10; round++) {
        (void)busy_poll_begin(&b);
        world_sleep_us(world, 10000);
        busy_poll_end(&b, false);
        for (int i = 0; i < 8; i++) {
            looks += busy_poll_begin(&b);
            busy_poll_end(&b, true);
        }
    }
    /* The first round's may: nothing is known yet. */
    ck_assert_uint_le(looks, 8);
    for (int i = 0; i < 200; i++) {
        (void)busy_poll_begin(&b);
        busy_poll_end(&b, true);
    }
    ck_assert(busy_poll_begin(&b));
    world_free(world);
}

END_TEST

/* Zero switches it off. */
START_TEST(test_off)
{
    struct busy_poll b = {.credit_ns = 0};
    busy_poll_set_us(0);
    ck_assert(!busy_poll_begin(&b));
    busy_poll_set_us(BUSY_POLL_US_DEFAULT);
    ck_assert(busy_poll_begin(&b));
}

END_TEST

/* During a pause no thread polls or keeps polling, nor right after the last
 * pause has ended. */
START_TEST(test_pause)
{
    struct busy_poll b = {.credit_ns = 0};
    uint64_t resumed;
    bool looks;
    world = world_real_new();
    busy_poll_pause();
    busy_poll_pause();
    ck_assert(!busy_poll_begin(&b));
    busy_poll_resume();
    ck_assert(!busy_poll_begin(&b));
    do { /* A busy machine may take this thread away for longer than that. */
        resumed = world_mono_ns(world);
        busy_poll_resume();
        looks = busy_poll_begin(&b);
        busy_poll_pause();
    } while (looks && world_mono_ns(world) - resumed > 5000000);
    ck_assert(!looks);
    busy_poll_resume();
    world_sleep_us(world, 20000);
    ck_assert(busy_poll_begin(&b));
    busy_poll_pause();
    ck_assert(!busy_poll_again(&b));
    busy_poll_resume();
    world_free(world);
}

END_TEST

TEST_MAIN("busy_poll",
          test_in_vain,
          test_catching,
          test_long_wait,
          test_seldom,
          test_off,
          test_pause)
