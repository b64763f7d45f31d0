/* Channels by address are kept while they are used, and closed when nobody has
 * used them for long. */
#include <stdio.h>

#include "base/rpc/channel_set.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/sim/sim_cluster.h"
#include "tests/lib/check_main.h"

enum {
    ECHO = 1,
    SLOW = 2,
    SECOND = 1000000,
    SERVERS = 3
};

static struct sim_cluster *cluster;
static struct world *machines[SERVERS];

static struct world *here(void)
{
    return loop_world(loop_self());
}

static int echo(void *ctx, struct rpc_call *call, struct err *err)
{
    (void)ctx;
    (void)err;
    if (call->method == SLOW)
        world_sleep_us(here(), UINT64_C(1000) * SECOND);
    return 0;
}

static void serve(void *arg)
{
    static const struct rpc_method methods[] = {{ECHO, "echo", echo, 0},
                                                {SLOW, "slow", echo, 0}};
    struct rpc_server *s = rpc_server_new(here());
    struct rpc_listener *l;
    struct err err = ERR_INIT;
    int rc;
    (void)arg;
    rpc_server_add(s, methods, 2, NULL);
    rc = rpc_listen(s, ":1", NULL, &l, &err);
    ck_assert_msg(rc == 0, "%s", err.text);
    while (fiber_check(NULL) == 0)
        world_sleep_us(here(), 60 * SECOND);
    rpc_listener_close(l);
    rpc_server_free(s);
}

static void ask(struct channel_set *s, const char *address, uint32_t method)
{
    struct err err = ERR_INIT;
    int rc = channel_set_call(s, slice_str(address), method, NULL, SLICE_EMPTY,
                              SLICE_EMPTY, NULL, NULL, &err);
    ck_assert_msg(rc == 0, "%s", err.text);
}

static void ask_slow(void *arg)
{
    ask(arg, "server2:1", SLOW);
}

static void idles(void *arg)
{
    struct channel_set *s;
    struct fiber *f;
    (void)arg;
    for (int i = 0; i < SERVERS; i++)
        sim_boot(machines[i], serve, NULL);
    world_sleep_us(here(), SECOND);
    s = channel_set_new(NULL);
    ask(s, "server0:1", ECHO);
    ask(s, "server1:1", ECHO);
    f = fiber_start(loop_self(), "slow", ask_slow, s);
    for (int i = 0; i < 4; i++) {
        world_sleep_us(here(), 60 * SECOND);
        ask(s, "server0:1", ECHO);
        ck_assert_uint_eq(channel_set_count(s), 3);
    }
    for (int i = 0; i < 4; i++) {
        world_sleep_us(here(), 60 * SECOND);
        ask(s, "server0:1", ECHO);
    }
    ck_assert_uint_eq(channel_set_count(s), 2); /* One's call is under way. */
    ask(s, "server1:1", ECHO);
    ck_assert_uint_eq(channel_set_count(s), 3);
    fiber_join(f);
    for (int i = 0; i < 8; i++) {
        world_sleep_us(here(), 60 * SECOND);
        ask(s, "server0:1", ECHO);
    }
    ck_assert_uint_eq(channel_set_count(s), 1);
    channel_set_close(s);
    for (int i = 0; i < SERVERS; i++)
        sim_crash(machines[i], SIM_CRASH_KILL);
    for (int i = 0; i < SERVERS; i++)
        sim_await_end(machines[i]);
}

/* Of three servers, one that is called each minute keeps its channel, one whose
 * call takes long keeps it until that is answered, and the third's is closed
 * after some minutes, and made again when it is called again. */
START_TEST(test_idle_channels_are_closed)
{
    static const struct sim_options o = {.network_us = 300};
    char name[32];
    cluster = sim_cluster_new(test_seed());
    for (int i = 0; i < SERVERS; i++) {
        snprintf(name, sizeof(name), "server%d", i);
        machines[i] = sim_machine_new(cluster, name, &o);
    }
    sim_cluster_run(cluster, idles, NULL);
    sim_cluster_free(cluster);
}

END_TEST

TEST_MAIN("channel_set", test_idle_channels_are_closed)
