/* A client of gRPC gets each answer to the call that asked, whatever else is
 * under way on its connection; what is too large, refused, cancelled or cut off
 * ends its call with a reason, and nothing else. */
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/grpc/grpc_channel.h"
#include "base/runtime/stream.h"
#include "tests/unit/gateway/grpc_fixture.h"

static struct grpc_channel *channel;

static void open_channel(size_t message_bytes_max)
{
    const struct grpc_channel_options o = {
        .host = "server", .message_bytes_max = message_bytes_max};
    ck_assert_int_eq(grpc_channel_open("server:80", &o, &channel, NULL), 0);
}

static int call(const char *path,
                struct slice message,
                struct buf *reply,
                struct channel_status *status,
                struct err *err)
{
    return grpc_channel_call(channel, path, NULL, 0, message, reply, status,
                             err);
}

/* --- answers ------------------------------------------------------------- */

static void echo_one(void *arg)
{
    size_t len = *(const size_t *)arg;
    struct channel_status status;
    struct buf message = BUF_INIT;
    struct buf reply = BUF_INIT;
    for (size_t i = 0; i < len; i++)
        buf_append_byte(&message, (char)(i * 7 + len));
    ck_assert_int_eq(
        call("/t/echo", buf_slice(&message), &reply, &status, NULL), 0);
    ck_assert_int_eq(status.code, GRPC_STATUS_OK);
    ck_assert(slice_eq(buf_slice(&message), buf_slice(&reply)));
    buf_close(&message);
    buf_close(&reply);
}

static void run_together(void *arg)
{
    static const size_t sizes[] = {0, 1, 5, 16379, 70000, 3000000, 200, 1000};
    struct fiber *fibers[ARRAY_LEN(sizes)];
    (void)arg;
    start(0);
    open_channel(0);
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        void *size;
        const size_t *at = &sizes[i];
        memcpy(&size, &at, sizeof(at));
        fibers[i] = fiber_start(loop_self(), "call", echo_one, size);
    }
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
        fiber_join(fibers[i]);
    grpc_channel_unref(channel);
    grpc_server_close(server);
}

START_TEST(test_calls_together)
{
    /* Answers of all sizes find the calls that asked. */
    run(run_together);
}

END_TEST

static void run_refused(void *arg)
{
    struct channel_status status;
    struct buf reply = BUF_INIT;
    (void)arg;
    start(0);
    open_channel(0);
    ck_assert_int_eq(call("/t/refuse", SLICE_EMPTY, &reply, &status, NULL), 0);
    ck_assert_int_eq(status.code, GRPC_STATUS_NOT_FOUND);
    ck_assert_str_eq(status.text, "100% \303\251");
    ck_assert_int_eq(call("/t/none", SLICE_EMPTY, &reply, &status, NULL), 0);
    ck_assert_int_eq(status.code, 12); /* UNIMPLEMENTED */
    /* More than one answer is none. */
    ck_assert_int_eq(call("/t/repeat", SLICE_LIT("xx"), &reply, &status, NULL),
                     ERR_CORRUPT);
    ck_assert(grpc_channel_is_open(channel));
    buf_close(&reply);
    grpc_channel_unref(channel);
    grpc_server_close(server);
}

START_TEST(test_refusals)
{
    /* A refusal comes with its number and its text. */
    run(run_refused);
}

END_TEST

static void run_too_large(void *arg)
{
    struct channel_status status;
    struct buf message = BUF_INIT;
    struct buf reply = BUF_INIT;
    struct err err = ERR_INIT;
    size_t fits = 1000;
    (void)arg;
    start(0);
    open_channel(1000);
    buf_append_fill(&message, 'x', 1001);
    ck_assert_int_eq(
        call("/t/echo", buf_slice(&message), &reply, &status, &err),
        ERR_TOOBIG);
    ck_assert(strstr(err.text, "1000 bytes"));
    ck_assert_uint_eq(reply.len, 0);
    echo_one(&fits);
    buf_close(&message);
    buf_close(&reply);
    grpc_channel_unref(channel);
    grpc_server_close(server);
}

START_TEST(test_answer_too_large)
{
    /* An answer over the bound ends its call; the next is answered. */
    run(run_too_large);
}

END_TEST

/* --- ends ---------------------------------------------------------------- */

static void run_deadline(void *arg)
{
    struct channel_status status;
    struct buf reply = BUF_INIT;
    size_t some = 10;
    (void)arg;
    start(0);
    open_channel(0);
    (void)fiber_set_deadline(world_mono_ns(world) + 1000000);
    ck_assert_int_eq(call("/t/sleep", SLICE_EMPTY, &reply, &status, NULL),
                     ERR_DEADLINE);
    (void)fiber_set_deadline(0);
    echo_one(&some);
    ck_assert_int_eq(cancelled_count, 1); /* The server was told. */
    buf_close(&reply);
    grpc_channel_unref(channel);
    grpc_server_close(server);
}

START_TEST(test_deadline)
{
    /* A call ends with its fiber's deadline, and the server is told. */
    run(run_deadline);
}

END_TEST

static void wait_long(void *arg)
{
    struct channel_status status;
    struct buf reply = BUF_INIT;
    struct err err = ERR_INIT;
    (void)arg;
    ck_assert_int_eq(call("/t/sleep", SLICE_EMPTY, &reply, &status, &err),
                     ERR_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "given up"));
    buf_close(&reply);
}

static void run_broken(void *arg)
{
    struct channel_status status;
    struct buf reply = BUF_INIT;
    struct fiber *f[3];
    (void)arg;
    start(0);
    open_channel(0);
    for (size_t i = 0; i < ARRAY_LEN(f); i++)
        f[i] = fiber_start(loop_self(), "call", wait_long, NULL);
    world_sleep_us(world, 10000);
    grpc_channel_break(channel);
    for (size_t i = 0; i < ARRAY_LEN(f); i++)
        fiber_join(f[i]);
    ck_assert(!grpc_channel_is_open(channel));
    ck_assert_int_eq(call("/t/echo", SLICE_EMPTY, &reply, &status, NULL),
                     ERR_UNAVAILABLE);
    buf_close(&reply);
    grpc_channel_unref(channel);
    grpc_server_close(server);
}

START_TEST(test_broken)
{
    /* All calls end when the channel is given up, and none begins. */
    run(run_broken);
}

END_TEST

static void run_server_ends(void *arg)
{
    struct channel_status status;
    struct buf reply = BUF_INIT;
    (void)arg;
    start(0);
    open_channel(0);
    grpc_server_close(server);
    world_sleep_us(world, 1000);
    ck_assert(!grpc_channel_is_open(channel));
    ck_assert_int_eq(call("/t/echo", SLICE_EMPTY, &reply, &status, NULL),
                     ERR_UNAVAILABLE);
    buf_close(&reply);
    grpc_channel_unref(channel);
}

START_TEST(test_server_ends)
{
    /* A server that ends is noticed without a call. */
    run(run_server_ends);
}

END_TEST

/* --- streams ------------------------------------------------------------- */

static void expect_next(struct channel_stream *s, const char *text)
{
    struct channel_status status;
    struct slice m;
    bool ended;
    ck_assert_int_eq(channel_stream_next(s, &m, &ended, &status, NULL), 0);
    ck_assert(!ended);
    ck_assert(slice_eq_str(m, text));
}

static void run_streams(void *arg)
{
    struct channel_stream *s;
    struct channel_status status;
    struct slice m;
    bool ended;
    size_t some = 40000;
    (void)arg;
    start(0);
    open_channel(0);
    ck_assert_int_eq(channel_stream_open(channel, "/t/each", NULL, 0, &s, NULL),
                     0);
    channel_stream_send(s, SLICE_LIT("a"));
    expect_next(s, "aa");
    channel_stream_send(s, SLICE_LIT("b"));
    channel_stream_send(s, SLICE_LIT("cd"));
    echo_one(&some);
    expect_next(s, "bb");
    expect_next(s, "cdcd");
    channel_stream_send(s, SLICE_LIT("!"));
    ck_assert_int_eq(channel_stream_next(s, &m, &ended, &status, NULL), 0);
    ck_assert(ended);
    ck_assert_int_eq(status.code, GRPC_STATUS_NOT_FOUND);
    ck_assert_str_eq(status.text, "not that");
    channel_stream_send(s, SLICE_LIT("x")); /* Is lost. */
    channel_stream_close(s);
    ck_assert_int_eq(channel_stream_open(channel, "/t/each", NULL, 0, &s, NULL),
                     0);
    channel_stream_close(s);
    grpc_channel_unref(channel);
    grpc_server_close(server);
}

START_TEST(test_streams)
{
    /* Messages of a stream are answered as they come, until it is refused. */
    run(run_streams);
}

END_TEST

/* --- hostile servers ----------------------------------------------------- */

static void hostile_main(void *arg)
{
    struct stream_listener *l = arg;
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int i = 0; i < 200; i++) {
        struct stream *io;
        char bytes[200];
        struct slice part = {bytes, 1 + rand_below(&r, sizeof(bytes) - 1)};
        if (stream_accept(l, &io, NULL))
            return;
        for (size_t k = 0; k < part.len; k++)
            bytes[k] = (char)rand_u64(&r);
        if (i % 2) /* Begins as a frame of settings does. */
            memcpy(bytes, "\0\0\0\4\0\0\0\0\0", MIN_OF(part.len, (size_t)9));
        (void)!stream_write(io, &part, 1, NULL);
        world_sleep_us(world, 2000);
        stream_close(io);
    }
}

static void run_hostile(void *arg)
{
    struct stream_listener *l;
    struct fiber *f;
    (void)arg;
    ck_assert_int_eq(stream_listen("server:80", &l, NULL), 0);
    f = fiber_start(loop_self(), "hostile", hostile_main, l);
    for (int i = 0; i < 200; i++) {
        struct channel_status status;
        struct buf reply = BUF_INIT;
        open_channel(0);
        ck_assert_int_lt(call("/t/echo", SLICE_EMPTY, &reply, &status, NULL),
                         0);
        buf_close(&reply);
        grpc_channel_unref(channel);
    }
    fiber_join(f);
    stream_listener_close(l);
}

START_TEST(test_hostile_servers)
{
    /* Any bytes, and the end of the connection, end a call with an error. */
    run(run_hostile);
}

END_TEST

TEST_MAIN("grpc_channel",
          test_calls_together,
          test_refusals,
          test_answer_too_large,
          test_deadline,
          test_broken,
          test_server_ends,
          test_streams,
          test_hostile_servers)
