/* A channel finds its server again, fails fast while it is away, notices the
 * dead, and tells what was surely not done; attachments travel from where they
 * lie to where they are wanted, even if a caller gives up meanwhile. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
#include "base/metrics/metrics.h"
#include "base/rpc/remote.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/sync.h"
#include "base/sim/sim_cluster.h"
#include "base/sim/sim_nemesis.h"
#include "base/trace/tracer.h"
#include "tests/lib/check_main.h"

enum {
    ECHO = 1,
    SEND = 2,
    SLOW = 4,
    RELAY = 5,
    ADD = 6,
    SECOND = 1000000,
    BLOB = 300000
};

/* One thread runs the simulation: there is nothing for ThreadSanitizer to find,
 * which is slow with fibers. */
#ifdef __SANITIZE_THREAD__
#define SEEDS 1
#else
#define SEEDS 8
#endif

/* --- Fixture ------------------------------------------------------------- */

static struct sim_cluster *cluster;
static struct world *server_machine;
static struct world *relay_machine;
static uint64_t added; /* Calls of ADD executed. */
static struct metrics *metrics;
static struct tracer *tracer;
static char blob[BLOB];

static uint64_t client_counted(enum metric_id id)
{
    return metric_read(metrics_counter(metrics, id, METRIC_LABELS("server:1")));
}

static struct world *here(void)
{
    return loop_world(loop_self());
}

static int echo(void *ctx, struct rpc_call *call, struct err *err)
{
    (void)ctx;
    (void)err;
    buf_append_slice(call->reply_body, call->body);
    buf_append_slice(call->reply_attachment, call->attachment);
    return 0;
}

/* Answers with the blob after a word. */
static int send_blob(void *ctx, struct rpc_call *call, struct err *err)
{
    (void)ctx;
    buf_append_str(call->reply_attachment, "blob:");
    buf_append(call->reply_attachment, blob, BLOB);
    if (slice_eq_str(call->body, "fail"))
        return err_set(err, ERR_BUSY, "no");
    return 0;
}

static int slow(void *ctx, struct rpc_call *call, struct err *err)
{
    (void)ctx;
    (void)call;
    world_sleep_us(here(), 2 * SECOND);
    return fiber_check(err);
}

static int add_one(void *ctx, struct rpc_call *call, struct err *err)
{
    (void)ctx;
    (void)call;
    (void)err;
    added++;
    return 0;
}

/* Calls ECHO of the server machine. */
static int relay(void *ctx, struct rpc_call *call, struct err *err)
{
    struct rpc_channel *c = rpc_channel_new("server:1", NULL);
    int rc = rpc_call(c, ECHO, NULL, call->body, SLICE_EMPTY, call->reply_body,
                      NULL, err);
    (void)ctx;
    rpc_channel_free(c);
    return rc;
}

static const struct rpc_method methods[] = {
    {ECHO, "echo", echo, 0},  {SEND, "send", send_blob, 0},
    {SLOW, "slow", slow, 0},  {RELAY, "relay", relay, 0},
    {ADD, "add", add_one, 0},
};

static void serve(void *arg)
{
    struct rpc_server *s = rpc_server_new(here());
    struct rpc_listen_options o = {.metrics = metrics, .idle_us = 4 * SECOND};
    struct rpc_listener *l;
    (void)arg;
    world_set_tracer(here(), tracer);
    rpc_server_add(s, methods, ARRAY_LEN(methods), NULL);
    if (rpc_listen(s, ":1", &o, &l, NULL) == 0) {
        while (fiber_check(NULL) == 0)
            if (fiber_park_checked(NULL))
                break;
        rpc_listener_close(l);
    }
    rpc_server_free(s);
}

static void run(uint64_t seed, task_fn scenario)
{
    struct rand_gen r;
    struct sim_options o = {.network_us = 300};
    rand_init(&r, seed);
    for (size_t i = 0; i < BLOB; i++)
        blob[i] = (char)rand_u64(&r);
    added = 0;
    cluster = sim_cluster_new(seed);
    metrics = metrics_new();
    tracer = NULL;
    server_machine = sim_machine_new(cluster, "server", &o);
    relay_machine = sim_machine_new(cluster, "relay", &o);
    sim_cluster_run(cluster, scenario, NULL);
    sim_cluster_free(cluster);
    tracer_free(tracer);
    metrics_free(metrics);
}

static void everywhere(task_fn scenario)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        run(seed, scenario);
}

static void boot(void)
{
    sim_boot(server_machine, serve, NULL);
    world_sleep_us(here(), 1000);
}

static void crash(enum sim_crash how)
{
    sim_crash(server_machine, how);
    sim_await_end(server_machine);
}

static int ask(struct rpc_channel *c, uint64_t timeout_us, struct err *err)
{
    struct rpc_call_options o = {.timeout_us = timeout_us};
    return rpc_call(c, ECHO, &o, SLICE_LIT("?"), SLICE_EMPTY, NULL, NULL, err);
}

static uint64_t now_us(void)
{
    return sim_cluster_now_us(cluster);
}

/* --- Reconnecting -------------------------------------------------------- */

static void comes_back(void *arg)
{
    struct err err = ERR_INIT;
    struct rpc_channel *c = rpc_channel_new(
        "server:1", &(struct rpc_channel_options){.metrics = metrics});
    uint64_t from;
    int tries = 0;
    (void)arg;
    ck_assert_int_eq(ask(c, SECOND, &err),
                     ERR_UNAVAILABLE); /* Not there yet. */
    boot();
    world_sleep_us(here(), SECOND / 10);
    ck_assert_msg(ask(c, SECOND, &err) == 0, "%s", err.text);
    ck_assert(rpc_channel_is_up(c));
    crash(SIM_CRASH_KILL);
    world_sleep_us(here(), SECOND / 10);
    ck_assert(!rpc_channel_is_up(c));
    /* While it is down calls fail, most of them at once. */
    from = now_us();
    for (int i = 0; i < 1000; i++) {
        ck_assert_int_eq(ask(c, SECOND, &err), ERR_UNAVAILABLE);
        world_sleep_us(here(), 10000);
    }
    ck_assert_uint_lt(now_us() - from, 13 * SECOND);
    ck_assert_uint_lt(client_counted(METRIC_rpc_client_connect_failures), 40);
    boot();
    from = now_us();
    while (ask(c, SECOND, &err) && tries++ < 1000)
        world_sleep_us(here(), 10000);
    ck_assert_uint_lt(now_us() - from, 4 * SECOND);
    ck_assert_uint_eq(client_counted(METRIC_rpc_client_connects), 2);
    ck_assert_uint_eq(client_counted(METRIC_rpc_client_lost_connections), 1);
    rpc_channel_free(c);
}

/* A server may come late, go and come back: calls fail at once meanwhile, tries
 * are few, and soon after its return calls succeed. */
START_TEST(test_reconnects)
{
    everywhere(comes_back);
}

END_TEST

static void waits_briefly(void *arg)
{
    const struct rpc_channel_options o = {.metrics = metrics,
                                          .connect_wait_us = SECOND / 10};
    struct err err = ERR_INIT;
    struct rpc_channel *c = rpc_channel_new("server:1", &o);
    uint64_t from;
    (void)arg;
    boot();
    sim_pause(server_machine);
    from = now_us();
    ck_assert_int_eq(ask(c, 30 * SECOND, &err), ERR_UNAVAILABLE);
    ck_assert_uint_ge(now_us() - from, SECOND / 10);
    ck_assert_uint_lt(now_us() - from, SECOND / 5);
    from = now_us();
    ck_assert_int_eq(ask(c, 30 * SECOND, &err), ERR_UNAVAILABLE);
    ck_assert_uint_lt(now_us() - from, SECOND / 100);
    sim_resume(server_machine);
    world_sleep_us(here(), SECOND / 10);
    /* The try that both did not wait for. */
    ck_assert_uint_eq(client_counted(METRIC_rpc_client_connects), 1);
    ck_assert_int_eq(ask(c, SECOND, &err), 0);
    rpc_channel_free(c);
}

/* A call waits for a connection as long as it was told to; the try to connect
 * continues without it. */
START_TEST(test_connect_wait)
{
    everywhere(waits_briefly);
}

END_TEST

static void doubts(void *arg)
{
    const struct rpc_channel_options o = {.connect_wait_us = SECOND / 2};
    struct err err = ERR_INIT;
    struct rpc_channel *c = rpc_channel_new("server:1", &o);
    uint64_t from;
    (void)arg;
    boot();
    ck_assert_int_eq(ask(c, SECOND, &err), 0);
    sim_pause(server_machine);
    world_sleep_us(here(), 5 * SECOND);
    ck_assert(!rpc_channel_is_up(c));
    for (int i = 0; i < 20; i++) {
        from = now_us();
        ck_assert_int_eq(ask(c, 30 * SECOND, &err), ERR_UNAVAILABLE);
        ck_assert_uint_le(now_us() - from, SECOND / 20 + SECOND / 100);
        world_sleep_us(here(), SECOND / 4);
    }
    sim_resume(server_machine);
    world_sleep_us(here(), 3 * SECOND);
    ck_assert_int_eq(ask(c, SECOND, &err), 0);
    rpc_channel_free(c);
}

/* A server that went silent, or did not answer the last try to connect, is not
 * waited for as one that nobody has tried: the caller can ask another. */
START_TEST(test_silent_server_is_waited_for_briefly)
{
    everywhere(doubts);
}

END_TEST

static int waiting_rc;
static uint64_t waiting_us;

static void ask_slow(void *arg)
{
    struct err err = ERR_INIT;
    uint64_t from = now_us();
    waiting_rc =
        rpc_call(arg, SLOW, NULL, SLICE_EMPTY, SLICE_EMPTY, NULL, NULL, &err);
    waiting_us = now_us() - from;
}

static void goes_silent(void *arg)
{
    struct err err = ERR_INIT;
    struct rpc_channel *c = rpc_channel_new("server:1", NULL);
    struct fiber *f;
    (void)arg;
    boot();
    ck_assert_int_eq(ask(c, SECOND, &err), 0);
    /* An idle connection stays up through silence: both sides ping. */
    world_sleep_us(here(), 30 * SECOND);
    ck_assert(rpc_channel_is_up(c));
    f = fiber_start(loop_self(), "slow", ask_slow, c);
    world_sleep_us(here(), SECOND);
    sim_pause(server_machine);
    fiber_join(f);
    ck_assert_int_eq(waiting_rc, ERR_UNAVAILABLE);
    /* A second passed before; one that is busy for two is not given up. */
    ck_assert_uint_gt(waiting_us, 3 * SECOND);
    ck_assert_uint_lt(waiting_us, 5 * SECOND);
    sim_resume(server_machine);
    world_sleep_us(here(), 3 * SECOND);
    ck_assert_int_eq(ask(c, SECOND, &err), 0);
    /* Nobody calls for long: the connection is let go, and comes back. */
    world_sleep_us(here(), 90 * SECOND);
    ck_assert(!rpc_channel_is_up(c));
    ck_assert_int_eq(ask(c, SECOND, &err), 0);
    rpc_channel_free(c);
}

/* A peer that says nothing is taken for dead in time, one that only idles is
 * not. */
START_TEST(test_silence)
{
    everywhere(goes_silent);
}

END_TEST

static int connections(void)
{
    return (int)metric_read(
        metrics_counter(metrics, METRIC_rpc_accepted_connections, NULL));
}

static void client_main(void *arg)
{
    struct rpc_channel *c = rpc_channel_new("server:1", NULL);
    (void)arg;
    while (fiber_check(NULL) == 0) {
        (void)!ask(c, SECOND, NULL);
        world_sleep_us(here(), SECOND / 10);
    }
    rpc_channel_free(c);
}

static void dead_client(void *arg)
{
    struct err err = ERR_INIT;
    struct rpc_channel *c = rpc_channel_new("server:1", NULL);
    (void)arg;
    boot();
    sim_boot(relay_machine, client_main, NULL);
    world_sleep_us(here(), SECOND);
    ck_assert_int_eq(connections(), 1);
    sim_crash(relay_machine, SIM_CRASH_POWER);
    sim_await_end(relay_machine);
    world_sleep_us(here(), 20 * SECOND);
    /* Its connection is gone: stopping the server waits for nobody. */
    ck_assert_int_eq(ask(c, SECOND, &err), 0);
    rpc_channel_free(c);
    sim_stop(server_machine);
}

/* A client without power does not keep its connection for ever. */
START_TEST(test_dead_client)
{
    everywhere(dead_client);
}

END_TEST

/* --- What was not done --------------------------------------------------- */

static bool counting;
static uint64_t certain; /* Calls that were surely not executed, */
static uint64_t done;    /* those answered, */
static uint64_t unknown; /* and the rest. */

static void add_on(void *arg)
{
    struct rpc_channel *c = rpc_channel_new("server:1", NULL);
    (void)arg;
    while (counting) {
        bool sent = true;
        struct rpc_call_options o = {.timeout_us = SECOND / 2, .sent = &sent};
        int rc =
            rpc_call(c, ADD, &o, SLICE_EMPTY, SLICE_EMPTY, NULL, NULL, NULL);
        done += rc == 0;
        unknown += rc && sent;
        certain += rc && !sent;
        world_sleep_us(here(), 5000);
    }
    rpc_channel_free(c);
}

static void what_was_done(void *arg)
{
    struct nemesis_options o = {.seed = sim_cluster_now_us(cluster),
                                .machines = &server_machine,
                                .machine_count = 1,
                                .down_max = 1,
                                .pause_us = SECOND / 2,
                                .fault_us = SECOND,
                                .duration_us = 30 * SECOND};
    struct fiber *f[3];
    (void)arg;
    counting = true;
    certain = 0;
    done = 0;
    unknown = 0;
    boot();
    for (int i = 0; i < 3; i++)
        f[i] = fiber_start(loop_self(), "adder", add_on, NULL);
    nemesis_run(cluster, &o, NULL);
    counting = false;
    for (int i = 0; i < 3; i++)
        fiber_join(f[i]);
    ck_assert_uint_gt(done, 300);
    ck_assert_uint_gt(unknown + certain, 0);
    ck_assert_uint_ge(added, done);
    ck_assert_uint_le(added, done + unknown);
}

/* Under every fault: what is answered was executed, what was not sent was not.
 */
START_TEST(test_outcomes_under_faults)
{
    everywhere(what_was_done);
}

END_TEST

/* --- Attachments --------------------------------------------------------- */

static void attachments(void *arg)
{
    struct err err = ERR_INIT;
    struct rpc_channel *c = rpc_channel_new("server:1", NULL);
    struct slice parts[2] = {{blob, 1000}, {blob + 1000, BLOB - 1000}};
    char *room = calloc(1, BLOB + 5);
    struct rpc_sink sink = {.data = room, .cap = BLOB + 5};
    struct rpc_call_options o = {.parts = parts, .part_count = 2};
    struct buf attachment = BUF_INIT;
    (void)arg;
    boot();
    /* In parts, echoed whole. */
    ck_assert_int_eq(rpc_call(c, ECHO, &o, SLICE_EMPTY, SLICE_LIT("head"), NULL,
                              &attachment, &err),
                     0);
    ck_assert_uint_eq(attachment.len, BLOB + 4);
    ck_assert_mem_eq(attachment.data, "head", 4);
    ck_assert_mem_eq(attachment.data + 4, blob, BLOB);
    /* Straight into our memory. */
    o = (struct rpc_call_options){.into = &sink};
    ck_assert_int_eq(
        rpc_call(c, SEND, &o, SLICE_EMPTY, SLICE_EMPTY, NULL, NULL, &err), 0);
    ck_assert_uint_eq(sink.len, BLOB + 5);
    ck_assert_mem_eq(room, "blob:", 5);
    ck_assert_mem_eq(room + 5, blob, BLOB);
    /* Too little room, a failure, and an answer that nobody wants. */
    sink = (struct rpc_sink){.data = room, .cap = 1000};
    ck_assert_int_eq(
        rpc_call(c, SEND, &o, SLICE_EMPTY, SLICE_EMPTY, NULL, NULL, &err),
        ERR_TOOBIG);
    ck_assert_uint_eq(sink.len, 0);
    ck_assert_int_eq(
        rpc_call(c, SEND, &o, SLICE_LIT("fail"), SLICE_EMPTY, NULL, NULL, &err),
        ERR_BUSY);
    ck_assert_int_eq(
        rpc_call(c, SEND, NULL, SLICE_EMPTY, SLICE_EMPTY, NULL, NULL, &err), 0);
    rpc_channel_free(c);
    buf_close(&attachment);
    free(room);
}

/* Attachments in parts and ones with a place to go arrive byte for byte. */
START_TEST(test_attachments)
{
    everywhere(attachments);
}

END_TEST

/* Calls with deadlines that cut them at any moment, over memory that is gone
 * (ASan watches) the moment they return. */
static void cut_short(void *arg)
{
    struct rand_gen *r = arg;
    struct rpc_channel *c = rpc_channel_new("server:1", NULL);
    for (int i = 0; i < 25; i++) {
        char *mine = malloc(BLOB);
        char *room = malloc(BLOB + 5);
        struct rpc_sink sink = {.data = room, .cap = BLOB + 5};
        struct slice part = slice_make(mine, BLOB);
        struct rpc_call_options o = {.timeout_us = 1 + rand_below(r, 4000),
                                     .parts = &part,
                                     .part_count = 1,
                                     .into = &sink};
        bool is_echo = rand_one_in(r, 2);
        memcpy(mine, blob, BLOB);
        if (rpc_call(c, is_echo ? ECHO : SEND, &o, SLICE_EMPTY, SLICE_EMPTY,
                     NULL, NULL, NULL) == 0)
            ck_assert_mem_eq(room + (is_echo ? 0 : 5), blob, BLOB);
        free(mine);
        free(room);
    }
    rpc_channel_free(c);
}

static void cut_all(void *arg)
{
    struct rand_gen r;
    struct fiber *f[4];
    struct sim_link slow_line = {.bytes_per_s = 400000000, .jitter_us = 500};
    (void)arg;
    rand_init(&r, sim_cluster_trace_hash(cluster));
    boot();
    sim_set_link(cluster, NULL, NULL, &slow_line);
    for (int i = 0; i < 4; i++)
        f[i] = fiber_start(loop_self(), "cutter", cut_short, &r);
    for (int i = 0; i < 4; i++)
        fiber_join(f[i]);
}

/* A caller that gives up takes its memory with it, mid-frame too. */
START_TEST(test_giving_up_with_attachments)
{
    everywhere(cut_all);
}

END_TEST

/* --- Traces -------------------------------------------------------------- */

static void traced(void *arg)
{
    struct err err = ERR_INIT;
    struct rpc_channel *c;
    struct buf b = BUF_INIT;
    unsigned lines = 0;
    (void)arg;
    tracer = tracer_new(here(), 100000);
    tracer_set(tracer, &(struct trace_settings){.one_in = 1});
    world_set_tracer(here(), tracer);
    c = rpc_channel_new("relay:1", NULL);
    boot();
    sim_boot(relay_machine, serve, NULL);
    world_sleep_us(here(), 1000);
    ck_assert_int_eq(
        rpc_call(c, RELAY, NULL, SLICE_LIT("x"), SLICE_EMPTY, NULL, NULL, &err),
        0);
    tracer_set(tracer, &(struct trace_settings){.one_in = 0});
    ck_assert_int_eq(
        rpc_call(c, RELAY, NULL, SLICE_LIT("y"), SLICE_EMPTY, NULL, NULL, &err),
        0); /* Not this one. */
    world_sleep_us(here(), SECOND);
    tracer_print(tracer, &b);
    for (const char *p = buf_cstr(&b); (p = strchr(p, '\n')); p++)
        lines++;
    ck_assert_uint_eq(lines, 4);
    ck_assert_ptr_nonnull(strstr(buf_cstr(&b), " client call relay:1 "));
    ck_assert_ptr_nonnull(strstr(buf_cstr(&b), " client call server:1 "));
    ck_assert_ptr_nonnull(strstr(buf_cstr(&b), " server relay director:"));
    ck_assert_ptr_nonnull(strstr(buf_cstr(&b), " server echo relay:"));
    /* One tree: all lines begin with the same trace id. */
    for (const char *p = strchr(b.data, '\n'); p && p[1];
         p = strchr(p + 1, '\n'))
        ck_assert_mem_eq(p + 1, b.data, 32);
    rpc_channel_free(c);
    buf_close(&b);
}

/* A sampled call's tree is found on every machine it went through. */
START_TEST(test_traces)
{
    run(1, traced);
}

END_TEST

TEST_MAIN("channel",
          test_reconnects,
          test_connect_wait,
          test_silent_server_is_waited_for_briefly,
          test_silence,
          test_dead_client,
          test_outcomes_under_faults,
          test_attachments,
          test_giving_up_with_attachments,
          test_traces)
