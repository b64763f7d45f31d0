/* Calls over streams give what the handler gave, keep deadlines and
 * cancellation, bound memory, and survive whatever the other side does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/rand.h"
#include "base/rpc/codec.h"
#include "base/rpc/frame.h"
#include "base/rpc/remote.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/stream.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "tests/lib/check_main.h"
#include "tests/lib/frame_header.h"
#include "tests/lib/server_counter.h"

enum {
    ECHO = 1,
    FAIL = 2,
    SLEEP = 3,
    HUGE_REPLY = 4
};

/* --- Fixture ------------------------------------------------------------- */

static struct world *world;
static struct rpc_server *server;
static struct rpc_listener *listener;
static struct rpc_channel *channel;
static int sleepers; /* That began. */
static int sleepers_cancelled;
static int running_max;
static int running;

static int echo(void *ctx, struct rpc_call *call, struct err *err)
{
    (void)ctx;
    (void)err;
    running++;
    running_max = running > running_max ? running : running_max;
    if (call->idempotency_key) /* How long it takes. */
        world_sleep_us(world, call->idempotency_key);
    buf_append_slice(call->reply_body, call->body);
    buf_append_slice(call->reply_attachment, call->attachment);
    running--;
    return 0;
}

static int refuse(void *ctx, struct rpc_call *call, struct err *err)
{
    (void)ctx;
    buf_append_str(call->reply_body, "dropped");
    err_set(err, ERR_NOTFOUND, "row \"%.*s\" is not here",
            SLICE_ARG(call->body));
    err_hint(err, "look elsewhere");
    return ERR_NOTFOUND;
}

static int sleep_long(void *ctx, struct rpc_call *call, struct err *err)
{
    int rc;
    (void)ctx;
    (void)call;
    sleepers++;
    do {
        rc = fiber_park_checked(err);
    } while (rc == 0);
    sleepers_cancelled += rc == ERR_CANCELLED || rc == ERR_DEADLINE;
    return rc;
}

static int huge_reply(void *ctx, struct rpc_call *call, struct err *err)
{
    (void)ctx;
    (void)err;
    buf_append_fill(call->reply_body, 'x', FRAME_BODY_BYTES_MAX + 1);
    return 0;
}

static void start_server(const char *address,
                         const struct rpc_listen_options *opts)
{
    static const struct rpc_method methods[] = {
        {ECHO, "echo", echo, 0},
        {FAIL, "fail", refuse, 0},
        {SLEEP, "sleep", sleep_long, 0},
        {HUGE_REPLY, "huge", huge_reply, 0},
    };
    struct err err = ERR_INIT;
    sleepers = 0;
    sleepers_cancelled = 0;
    running_max = 0;
    server = rpc_server_new(world);
    rpc_server_add(server, methods, 4, NULL);
    ck_assert_msg(rpc_listen(server, address, opts, &listener, &err) == 0, "%s",
                  err.text);
    ck_assert_msg(rpc_connect(rpc_listener_address(listener), &channel, &err) ==
                      0,
                  "%s", err.text);
}

static void stop_server(void)
{
    rpc_channel_free(channel);
    rpc_listener_close(listener);
    rpc_server_free(server);
}

static const char *address;

/* Run fn in a fiber, over TCP and in the simulated world under many seeds. */
static void everywhere(task_fn fn)
{
    struct err err = ERR_INIT;
    struct loop *l;
    address = "127.0.0.1:0";
    world = world_real_new();
    ck_assert_int_eq(loop_new(world, "rpc", &l, &err), 0);
    loop_start(l);
    loop_call(l, "test", fn, NULL);
    loop_stop(l);
    loop_join(l);
    loop_free(l);
    world_free(world);
    address = "sim:1";
    for (uint64_t seed = 0; seed < 4; seed++) {
        world = sim_world_new(
            &(struct sim_options){.seed = seed, .network_us = 300});
        sim_run(world, fn, NULL);
        world_free(world);
    }
}

/* --- Calls --------------------------------------------------------------- */

static void echo_once(uint64_t seed, size_t bytes_max)
{
    struct rand_gen r;
    struct buf body = BUF_INIT;
    struct buf attachment = BUF_INIT;
    struct buf sent = BUF_INIT;
    struct err err = ERR_INIT;
    struct rpc_call_options opts = {.timeout_us = 0};
    rand_init(&r, seed);
    buf_append_fill(&sent, (char)seed, rand_below(&r, bytes_max));
    opts.idempotency_key = rand_below(&r, 3) * 100;
    ck_assert_msg(rpc_call(channel, ECHO, &opts, SLICE_LIT("body"),
                           buf_slice(&sent), &body, &attachment, &err) == 0,
                  "%s", err.text);
    ck_assert(slice_eq_str(buf_slice(&body), "body"));
    ck_assert(slice_eq(buf_slice(&attachment), buf_slice(&sent)));
    buf_close(&body);
    buf_close(&attachment);
    buf_close(&sent);
}

static void echo_many(void *arg)
{
    for (uint64_t i = 0; i < 12; i++)
        echo_once((uintptr_t)arg * 1000 + i, i == 7 ? 1000000 : 1000);
}

static void multiplex(void *arg)
{
    struct fiber *f[20];
    (void)arg;
    start_server(address, NULL);
    for (uintptr_t i = 0; i < 20; i++)
        f[i] = fiber_start(loop_self(), "caller", echo_many, (void *)i);
    for (int i = 0; i < 20; i++)
        fiber_join(f[i]);
    ck_assert_int_gt(running_max, 1);
    stop_server();
}

/* Twenty callers share a connection; each gets its own answers, large and
 * small, while those of others are under way. */
START_TEST(test_multiplexing)
{
    everywhere(multiplex);
}

END_TEST

static void errors(void *arg)
{
    struct buf body = BUF_INIT;
    struct err err = ERR_INIT;
    (void)arg;
    start_server(address, NULL);
    ck_assert_int_eq(rpc_call(channel, FAIL, NULL, SLICE_LIT("r1"), SLICE_EMPTY,
                              &body, NULL, &err),
                     ERR_NOTFOUND);
    ck_assert_str_eq(err.text, "row \"r1\" is not here");
    ck_assert_str_eq(err.hint, "look elsewhere");
    ck_assert_uint_eq(body.len, 0);
    ck_assert_int_eq(
        rpc_call(channel, 99, NULL, SLICE_EMPTY, SLICE_EMPTY, NULL, NULL, &err),
        ERR_UNSUPPORTED);
    ck_assert_int_eq(rpc_call(channel, HUGE_REPLY, NULL, SLICE_EMPTY,
                              SLICE_EMPTY, &body, NULL, &err),
                     ERR_TOOBIG);
    ck_assert_uint_eq(server_calls(server, "fail"), 1);
    ck_assert_uint_eq(server_failures(server, "fail"), 1);
    echo_once(1, 10); /* The connection lives on. */
    buf_close(&body);
    stop_server();
}

/* An error arrives with code, text and hint, and harms nobody else. */
START_TEST(test_errors)
{
    everywhere(errors);
}

END_TEST

/* --- Deadlines and cancellation ------------------------------------------ */

static void call_sleep(void *arg)
{
    struct err err = ERR_INIT;
    *(int *)arg = rpc_call(channel, SLEEP, NULL, SLICE_EMPTY, SLICE_EMPTY, NULL,
                           NULL, &err);
}

static void await_sleepers(int want)
{
    for (int i = 0; i < 10000 && sleepers < want; i++)
        world_sleep_us(world, 1000);
    ck_assert_int_ge(sleepers, want);
}

/* All that began were told. */
static void await_no_sleepers(void)
{
    for (int i = 0; i < 10000 && sleepers_cancelled < sleepers; i++)
        world_sleep_us(world, 1000);
    ck_assert_int_eq(sleepers_cancelled, sleepers);
}

static void give_up(void *arg)
{
    struct rpc_call_options opts = {.timeout_us = 20000};
    struct err err = ERR_INIT;
    struct fiber *f;
    int begun;
    int rc = 0;
    (void)arg;
    start_server(address, NULL);
    /* A machine that is busy may have the time over before the call is there.
     */
    while (sleepers == 0) {
        ck_assert_int_eq(rpc_call(channel, SLEEP, &opts, SLICE_EMPTY,
                                  SLICE_EMPTY, NULL, NULL, &err),
                         ERR_DEADLINE);
        opts.timeout_us *= 2;
    }
    begun = sleepers;
    f = fiber_start(loop_self(), "caller", call_sleep, &rc);
    await_sleepers(begun + 1);
    fiber_cancel(f);
    fiber_join(f);
    ck_assert_int_eq(rc, ERR_CANCELLED);
    await_no_sleepers();
    echo_once(2, 10);
    stop_server();
}

/* A caller's deadline and cancellation reach the handler. */
START_TEST(test_giving_up)
{
    everywhere(give_up);
}

END_TEST

static void close_under_calls(void *arg)
{
    struct fiber *f[3];
    int rc[3] = {0, 0, 0};
    struct err err = ERR_INIT;
    (void)arg;
    start_server(address, NULL);
    for (int i = 0; i < 3; i++)
        f[i] = fiber_start(loop_self(), "caller", call_sleep, &rc[i]);
    await_sleepers(3);
    rpc_listener_close(listener);
    for (int i = 0; i < 3; i++) {
        fiber_join(f[i]);
        ck_assert_int_eq(rc[i], ERR_UNAVAILABLE);
    }
    ck_assert_int_eq(sleepers_cancelled, 3);
    ck_assert_int_eq(rpc_call(channel, ECHO, NULL, SLICE_EMPTY, SLICE_EMPTY,
                              NULL, NULL, &err),
                     ERR_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "refused"));
    rpc_channel_free(channel);
    rpc_server_free(server);
}

/* A server that goes away ends its calls on both sides. */
START_TEST(test_server_goes)
{
    everywhere(close_under_calls);
}

END_TEST

static void free_under_calls(void *arg)
{
    struct fiber *f;
    int rc = 0;
    (void)arg;
    start_server(address, NULL);
    f = fiber_start(loop_self(), "caller", call_sleep, &rc);
    await_sleepers(1);
    rpc_channel_free(channel);
    fiber_join(f);
    ck_assert_int_eq(rc, ERR_UNAVAILABLE);
    rpc_listener_close(listener);
    ck_assert_int_eq(sleepers_cancelled, 1);
    rpc_server_free(server);
}

/* A client that goes away cancels what it asked for. */
START_TEST(test_client_goes)
{
    everywhere(free_under_calls);
}

END_TEST

/* --- Bounds -------------------------------------------------------------- */

static void echo_slowly(void *arg)
{
    struct rpc_call_options opts = {.idempotency_key = 500};
    struct err err = ERR_INIT;
    (void)arg;
    ck_assert_int_eq(rpc_call(channel, ECHO, &opts, SLICE_EMPTY, SLICE_EMPTY,
                              NULL, NULL, &err),
                     0);
}

static void bounded(void *arg)
{
    struct fiber *f[40];
    (void)arg;
    start_server(address, &(struct rpc_listen_options){.calls_max = 3});
    for (int i = 0; i < 40; i++)
        f[i] = fiber_start(loop_self(), "caller", echo_slowly, NULL);
    for (int i = 0; i < 40; i++)
        fiber_join(f[i]);
    ck_assert_int_eq(running_max, 3);
    stop_server();
}

/* No more calls run at once than the server allows; all are answered. */
START_TEST(test_calls_bounded)
{
    everywhere(bounded);
}

END_TEST

static void send_junk(struct rand_gen *r, int kind)
{
    struct err err = ERR_INIT;
    struct stream *s;
    char bytes[200];
    size_t len = sizeof(bytes);
    size_t got;
    struct slice part;
    struct frame f = {.kind = FRAME_REQUEST, .call_id = 1, .method = ECHO};
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)rand_u64(r);
    f.body = slice_make(bytes + 100, 50);
    if (kind == 1 || kind == 2) /* A frame, damaged or cut. */
        frame_encode_header(&f, bytes);
    if (kind == 1)
        bytes[rand_below(r, FRAME_HEADER_BYTES)] ^= 4;
    if (kind == 2)
        len = FRAME_HEADER_BYTES + rand_below(r, 50);
    if (kind == 3) { /* A response nobody asked for. */
        f.kind = FRAME_RESPONSE;
        frame_encode_header(&f, bytes);
        memmove(bytes + FRAME_HEADER_BYTES, bytes + 100, 50);
    }
    ck_assert_int_eq(stream_connect(rpc_listener_address(listener), &s, &err),
                     0);
    part = slice_make(bytes, len);
    if (stream_write(s, &part, 1, &err) == 0 && kind != 2) {
        int rc = stream_read(s, bytes, sizeof(bytes), &got, &err);
        ck_assert(rc == ERR_CLOSED || got == 0); /* It hangs up. */
    }
    stream_close(s);
}

static void junk(void *arg)
{
    struct rand_gen r;
    (void)arg;
    rand_init(&r, 5);
    start_server(address, NULL);
    for (int i = 0; i < 40; i++)
        send_junk(&r, i % 4);
    echo_once(3, 100);
    stop_server();
}

/* Junk closes its own connection and no other. */
START_TEST(test_junk)
{
    everywhere(junk);
}

END_TEST

/* --- Threads ------------------------------------------------------------- */

static void serve_until_told(void *arg)
{
    (void)arg;
    start_server("127.0.0.1:0", NULL);
}

static void stop_serving(void *arg)
{
    (void)arg;
    stop_server();
}

/* A channel serves callers of other threads and loops. */
START_TEST(test_any_thread)
{
    struct err err = ERR_INIT;
    struct loop *l;
    struct task *tasks[3];
    struct rpc_call_options opts = {.timeout_us = 10000};
    world = world_real_new();
    ck_assert_int_eq(loop_new(world, "rpc", &l, &err), 0);
    loop_start(l);
    loop_call(l, "serve", serve_until_told, NULL);
    for (uintptr_t i = 0; i < 3; i++)
        tasks[i] = task_start(world, "caller", echo_many, (void *)i);
    for (int i = 0; i < 3; i++)
        task_join(tasks[i]);
    ck_assert_int_eq(rpc_call(channel, SLEEP, &opts, SLICE_EMPTY, SLICE_EMPTY,
                              NULL, NULL, &err),
                     ERR_DEADLINE);
    loop_call(l, "stop", stop_serving, NULL);
    loop_stop(l);
    loop_join(l);
    loop_free(l);
    world_free(world);
}

END_TEST

TEST_MAIN("remote",
          test_multiplexing,
          test_errors,
          test_giving_up,
          test_server_goes,
          test_client_goes,
          test_calls_bounded,
          test_junk,
          test_any_thread)
