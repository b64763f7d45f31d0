/* A gRPC server with some methods, on a simulated machine, for the tests of
 * what lies below the API. Included once by a test. */
#ifndef TESTS_UNIT_GATEWAY_GRPC_FIXTURE_H
#define TESTS_UNIT_GATEWAY_GRPC_FIXTURE_H

#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "bigtable/gateway/grpc.h"
#include "tests/lib/check_main.h"
#include "tests/lib/grpc_client.h"

#define MESSAGE_MAX ((size_t)4 << 20)

static struct world *world;
static struct grpc_server *server;
static int cancelled_count;
static size_t sent_count; /* Messages that /t/flood sent. */

static int echo(void *ctx, struct grpc_call *call, struct err *err)
{
    struct buf *b = grpc_scratch(call);
    (void)ctx;
    buf_append_slice(b, grpc_request(call));
    return grpc_send(call, b, err);
}

/* As many messages as the request has bytes, each of 1,000. */
static int repeat(void *ctx, struct grpc_call *call, struct err *err)
{
    struct buf *b = grpc_scratch(call);
    int rc = 0;
    (void)ctx;
    for (size_t i = 0; i < grpc_request(call).len && rc == 0; i++) {
        buf_append_fill(b, 'm', 1000);
        rc = grpc_send(call, b, err);
    }
    return rc;
}

static int flood(void *ctx, struct grpc_call *call, struct err *err)
{
    struct buf *b = grpc_scratch(call);
    int rc = 0;
    (void)ctx;
    while (rc == 0) {
        buf_append_fill(b, 'f', 100000);
        rc = grpc_send(call, b, err);
        sent_count += rc == 0;
    }
    cancelled_count += rc == ERR_CANCELLED;
    return rc;
}

static int refuse(void *ctx, struct grpc_call *call, struct err *err)
{
    (void)ctx;
    if (grpc_request(call).len)
        grpc_set_code(call, GRPC_FAILED_PRECONDITION);
    return err_set(err, ERR_NOTFOUND, "100%% \303\251");
}

static int too_fast(void *ctx, struct grpc_call *call, struct err *err)
{
    (void)ctx;
    (void)call;
    err_set(err, ERR_EXHAUSTED, "too fast; again in 1500 ms");
    err_set_retry(err, 1500000);
    return ERR_EXHAUSTED;
}

static int full(void *ctx, struct grpc_call *call, struct err *err)
{
    (void)ctx;
    (void)call;
    return err_set(err, ERR_EXHAUSTED, "the table is full");
}

/* Of a stream: what is asked, twice; "!" is refused. */
static int
twice(void *ctx, struct slice request, struct buf *out, struct err *err)
{
    (void)ctx;
    if (slice_eq_str(request, "!"))
        return err_set(err, ERR_NOTFOUND, "not that");
    buf_append_slice(out, request);
    buf_append_slice(out, request);
    return 0;
}

static int sleep_some(void *ctx, struct grpc_call *call, struct err *err)
{
    (void)ctx;
    world_sleep_us(world, 25000);
    return grpc_send(call, grpc_scratch(call), err);
}

static int sleep_long(void *ctx, struct grpc_call *call, struct err *err)
{
    int rc;
    (void)ctx;
    (void)call;
    do
        rc = fiber_park_checked(err);
    while (rc == 0);
    cancelled_count += rc == ERR_CANCELLED;
    return rc;
}

static inline void start(size_t buffered_bytes_max)
{
    static const struct grpc_method methods[] = {
        {"/t/each", NULL},       {"/t/echo", echo},
        {"/t/fast", too_fast},   {"/t/flood", flood},
        {"/t/full", full},       {"/t/refuse", refuse},
        {"/t/repeat", repeat},   {"/t/sleep", sleep_long},
        {"/t/some", sleep_some},
    };
    struct grpc_options o = {.methods = methods,
                             .method_count = ARRAY_LEN(methods),
                             .each = twice,
                             .message_bytes_max = MESSAGE_MAX,
                             .buffered_bytes_max = buffered_bytes_max,
                             .calls_max = 20};
    cancelled_count = 0;
    sent_count = 0;
    ck_assert_int_eq(grpc_server_open(world, "server:80", &o, &server, NULL),
                     0);
}

static inline void run(task_fn fn)
{
    world = sim_world_new(&(struct sim_options){.seed = test_seed()});
    sim_run(world, fn, NULL);
    world_free(world);
}

static inline void expect_echo(struct grpc_client *c, size_t len)
{
    struct buf message = BUF_INIT;
    struct grpc_reply r;
    struct slice got;
    size_t at = 0;
    for (size_t i = 0; i < len; i++)
        buf_append_byte(&message, (char)(i * 7));
    ck_assert_int_eq(grpc_client_call(c, "/t/echo", buf_slice(&message), &r),
                     0);
    ck_assert_int_eq(r.http, 200);
    ck_assert_int_eq(r.code, GRPC_OK);
    ck_assert(grpc_reply_next(&r, &at, &got));
    ck_assert(slice_eq(got, buf_slice(&message)));
    ck_assert(!grpc_reply_next(&r, &at, &got));
    grpc_reply_close(&r);
    buf_close(&message);
}

#endif /* TESTS_UNIT_GATEWAY_GRPC_FIXTURE_H */
