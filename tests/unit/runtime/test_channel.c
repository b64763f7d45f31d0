/* Channels lose nothing, keep order, hold to their bound, and end cleanly. */
#include <stdint.h>
#include <stdlib.h>

#include "base/runtime/channel.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/sim.h"
#include "base/runtime/world.h"
#include "tests/lib/check_main.h"

enum {
    SENDERS = 3,
    ITEMS = 4000,
    CAPACITY = 4
};

/* --- Fixture ------------------------------------------------------------ */

static struct world *world;
static struct channel *channel;

struct sums {
    uint64_t sum;
    uint64_t count;
    uint64_t last[SENDERS + 1]; /* By sender. */
};

static void send_items(void *arg)
{
    uintptr_t me = (uintptr_t)arg;
    for (uintptr_t i = 1; i <= ITEMS; i++) {
        struct err err = ERR_INIT;
        ck_assert_int_eq(channel_send(channel, (void *)(me << 32 | i), &err),
                         0);
    }
}

static void receive_items(void *arg)
{
    struct sums *s = arg;
    struct err err = ERR_INIT;
    void *item;
    while (channel_receive(channel, &item, &err) == 0) {
        uintptr_t v = (uintptr_t)item;
        ck_assert(v >> 32 <= SENDERS);
        ck_assert(s->last[v >> 32] < (v & UINT32_MAX)); /* In order. */
        s->last[v >> 32] = v & UINT32_MAX;
        s->sum += v & UINT32_MAX;
        s->count++;
        ck_assert_uint_le(channel_count(channel), CAPACITY);
    }
    ck_assert_int_eq(err.code, ERR_CLOSED);
}

static void send_and_receive(void *arg)
{
    struct task *senders[SENDERS];
    struct task *receivers[2];
    struct sums sums[2] = {{.sum = 0}, {.sum = 0}};
    (void)arg;
    channel = channel_new(CAPACITY);
    for (int i = 0; i < 2; i++)
        receivers[i] = task_start(world, "receiver", receive_items, &sums[i]);
    for (uintptr_t i = 0; i < SENDERS; i++)
        senders[i] = task_start(world, "sender", send_items, (void *)(i + 1));
    for (int i = 0; i < SENDERS; i++)
        task_join(senders[i]);
    channel_close(channel);
    for (int i = 0; i < 2; i++)
        task_join(receivers[i]);
    ck_assert_uint_eq(sums[0].count + sums[1].count, SENDERS * ITEMS);
    ck_assert_uint_eq(sums[0].sum + sums[1].sum,
                      (uint64_t)SENDERS * ITEMS * (ITEMS + 1) / 2);
    channel_free(channel);
}

/* --- Tests -------------------------------------------------------------- */

/* Between threads. */
START_TEST(test_threads)
{
    world = world_real_new();
    send_and_receive(NULL);
    world_free(world);
}

END_TEST

/* Between the simulated world's fibers, in many orders. */
START_TEST(test_simulated)
{
    for (uint64_t seed = 0; seed < 5; seed++) {
        world = sim_world_new(&(struct sim_options){.seed = seed});
        sim_run(world, send_and_receive, NULL);
        world_free(world);
    }
}

END_TEST

static void receive_on_fiber(void *arg)
{
    loop_call(arg, "receiver", receive_items, &(struct sums){.sum = 0});
}

/* Between threads and a fiber of a real loop. */
START_TEST(test_fiber_and_threads)
{
    struct err err = ERR_INIT;
    struct loop *l;
    struct task *receiver;
    world = world_real_new();
    channel = channel_new(CAPACITY);
    ck_assert_int_eq(loop_new(world, "loop", &l, &err), 0);
    loop_start(l);
    receiver = task_start(world, "caller", receive_on_fiber, l);
    send_items((void *)(uintptr_t)1);
    channel_close(channel);
    task_join(receiver);
    loop_stop(l);
    loop_join(l);
    loop_free(l);
    channel_free(channel);
    world_free(world);
}

END_TEST

static void meet_deadline(void *arg)
{
    struct err err = ERR_INIT;
    void *item;
    (void)arg;
    fiber_set_deadline(world_mono_ns(world) + 1000000);
    ck_assert_int_eq(channel_receive(channel, &item, &err), ERR_DEADLINE);
    ck_assert(channel_try_send(channel, &err));
    ck_assert_int_eq(channel_send(channel, &err, &err), ERR_DEADLINE);
    ck_assert(!channel_try_send(channel, &err));
}

/* Waiting ends at the deadline, and full and empty are told at once. */
START_TEST(test_deadline)
{
    void *item;
    world = sim_world_new(&(struct sim_options){.seed = 1});
    channel = channel_new(1);
    ck_assert(!channel_try_receive(channel, &item));
    sim_run(world, meet_deadline, NULL);
    channel_close(channel);
    ck_assert(channel_try_receive(channel, &item));
    ck_assert(!channel_try_send(channel, item));
    channel_free(channel);
    world_free(world);
}

END_TEST

TEST_MAIN("channel",
          test_threads,
          test_simulated,
          test_fiber_and_threads,
          test_deadline)
