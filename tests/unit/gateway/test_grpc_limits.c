/* Peers that are many, slow, silent or greedy are told so and left, and others
 * are served meanwhile. */
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "bigtable/gateway/grpc.h"
#include "bigtable/gateway/grpc_frames.h"
#include "tests/lib/check_main.h"
#include "tests/lib/grpc_client.h"

#define S UINT64_C(1000000)

/* --- Fixture ------------------------------------------------------------- */

static struct world *world;
static struct grpc_server *server;

static int echo(void *ctx, struct grpc_call *call, struct err *err)
{
    struct buf *b = grpc_scratch(call);
    (void)ctx;
    buf_append_slice(b, grpc_request(call));
    return grpc_send(call, b, err);
}

static int flood(void *ctx, struct grpc_call *call, struct err *err)
{
    struct buf *b = grpc_scratch(call);
    int rc = 0;
    (void)ctx;
    while (rc == 0) {
        buf_append_fill(b, 'f', 100000);
        rc = grpc_send(call, b, err);
    }
    return rc;
}

static void start(unsigned connections_max)
{
    static const struct grpc_method methods[] = {{"/t/echo", echo},
                                                 {"/t/flood", flood}};
    const struct grpc_options o = {.methods = methods,
                                   .method_count = ARRAY_LEN(methods),
                                   .connections_max = connections_max};
    ck_assert_int_eq(grpc_server_open(world, "server:80", &o, &server, NULL),
                     0);
}

static void run(task_fn fn)
{
    world = sim_world_new(&(struct sim_options){.seed = test_seed()});
    sim_run(world, fn, NULL);
    world_free(world);
}

/* --- Helpers ------------------------------------------------------------- */

static int echo_code(struct grpc_client *c)
{
    struct grpc_reply r;
    int rc = grpc_client_call(c, "/t/echo", SLICE_LIT("x"), &r);
    if (rc == 0)
        rc = r.code;
    grpc_reply_close(&r);
    return rc;
}

/* Until the server ends the connection, for at most @us. */
static bool is_ended_within(struct grpc_client *c, uint64_t us)
{
    bool ended;
    fiber_set_deadline(world_mono_ns(world) + us * 1000);
    while (client__pump(c) == 0)
        ;
    ended = fiber_check(NULL) == 0;
    fiber_set_deadline(0);
    return ended;
}

/* --- Connections --------------------------------------------------------- */

enum {
    LIMIT = 20 /* Half of them for one address of this machine. */
};

static void run_too_many(void *arg)
{
    struct grpc_client held[LIMIT / 2];
    struct grpc_client late = {.stream = 0};
    struct grpc_reply r;
    (void)arg;
    memset(held, 0, sizeof(held));
    start(LIMIT);
    for (size_t i = 0; i < ARRAY_LEN(held); i++) {
        grpc_client_open(&held[i], "server:80");
        ck_assert_int_eq(echo_code(&held[i]), 0);
    }
    /* All are in use, or were a moment ago. */
    grpc_client_open(&late, "server:80");
    ck_assert_int_eq(grpc_client_call(&late, "/t/echo", SLICE_LIT("x"), &r), 0);
    ck_assert_int_eq(r.code, GRPC_RESOURCE_EXHAUSTED);
    ck_assert_ptr_nonnull(strstr(buf_cstr(&r.text), "10 connections"));
    grpc_reply_close(&r);
    ck_assert(is_ended_within(&late, 3 * S));
    ck_assert(late.goaway);
    grpc_client_close(&late);
    ck_assert_int_eq(echo_code(&held[0]), 0);
    /* Later the one that has been idle for longest has to go. */
    world_sleep_us(world, 15 * S);
    ck_assert_int_eq(echo_code(&held[0]), 0);
    late = (struct grpc_client){.stream = 0};
    grpc_client_open(&late, "server:80");
    ck_assert_int_eq(echo_code(&late), 0);
    ck_assert(is_ended_within(&held[1], 3 * S));
    ck_assert(held[1].goaway);
    ck_assert_int_eq(echo_code(&held[0]), 0);
    ck_assert_int_eq(echo_code(&held[2]), 0);
    grpc_client_close(&late);
    for (size_t i = 0; i < ARRAY_LEN(held); i++)
        grpc_client_close(&held[i]);
    grpc_server_close(server);
}

START_TEST(test_too_many_connections)
{
    /* One address does not get all connections; who is turned away is told
     * why, and idle connections make room. */
    run(run_too_many);
}

END_TEST

static void run_turned_away_silently(void *arg)
{
    struct stream *s[200];
    size_t open = 0;
    (void)arg;
    start(LIMIT);
    for (size_t i = 0; i < ARRAY_LEN(s); i++) {
        ck_assert_int_eq(stream_connect("server:80", &s[i], NULL), 0);
        world_sleep_us(world, 10);
        open = MAX_OF(open, grpc_server_connection_count(server));
    }
    ck_assert_uint_le(open, LIMIT + 64);
    world_sleep_us(world, 15 * S);
    ck_assert_uint_eq(grpc_server_connection_count(server), 0);
    for (size_t i = 0; i < ARRAY_LEN(s); i++)
        stream_close(s[i]);
    grpc_server_close(server);
}

START_TEST(test_connections_that_say_nothing)
{
    /* They are bounded, whether served or turned away, and put out. */
    run(run_turned_away_silently);
}

END_TEST

/* --- Time ---------------------------------------------------------------- */

static void run_idle(void *arg)
{
    struct grpc_client c = {.stream = 0};
    (void)arg;
    start(0);
    grpc_client_open(&c, "server:80");
    ck_assert_int_eq(echo_code(&c), 0);
    /* It answers pings, and is not used. */
    ck_assert(!is_ended_within(&c, 1700 * S));
    ck_assert(!c.goaway);
    ck_assert(is_ended_within(&c, 200 * S));
    ck_assert(c.goaway);
    grpc_client_close(&c);
    grpc_server_close(server);
}

START_TEST(test_idle_connection)
{
    /* After half an hour a client that makes no call is told to go. */
    run(run_idle);
}

END_TEST

static void run_dead(void *arg)
{
    struct grpc_client c = {.stream = 0};
    (void)arg;
    start(0);
    grpc_client_open(&c, "server:80");
    ck_assert_int_eq(echo_code(&c), 0);
    world_sleep_us(world, 100 * S);
    ck_assert_uint_eq(grpc_server_connection_count(server), 1);
    world_sleep_us(world, 50 * S); /* It does not answer a ping. */
    ck_assert_uint_eq(grpc_server_connection_count(server), 0);
    grpc_client_close(&c);
    grpc_server_close(server);
}

START_TEST(test_dead_connection)
{
    /* A peer that does not answer pings is gone. */
    run(run_dead);
}

END_TEST

static void run_slow_request(void *arg)
{
    struct grpc_client c = {.hold = true};
    struct grpc_reply r;
    uint64_t began = world_mono_ns(world);
    (void)arg;
    start(0);
    grpc_client_open(&c, "server:80");
    ck_assert_int_eq(
        grpc_client_send(&c, "/t/echo", slice_make("\0\0\0\0\5ab", 7), &r), 0);
    ck_assert_int_eq(r.code, GRPC_DEADLINE_EXCEEDED);
    ck_assert_uint_ge(world_mono_ns(world) - began, 60 * S * 1000);
    ck_assert_uint_lt(world_mono_ns(world) - began, 70 * S * 1000);
    grpc_reply_close(&r);
    c.hold = false;
    ck_assert_int_eq(echo_code(&c), 0);
    grpc_client_close(&c);
    grpc_server_close(server);
}

START_TEST(test_request_that_does_not_come)
{
    /* It ends its call after a minute, and its memory is free again. */
    run(run_slow_request);
}

END_TEST

static void run_slow_reply(void *arg)
{
    struct grpc_client c = {.window = 1000};
    struct grpc_client other = {.stream = 0};
    struct grpc_reply r = {.code = -1};
    nghttp2_data_provider source = {.read_callback = client__read_body};
    nghttp2_nv nv[5];
    (void)arg;
    start(0);
    grpc_client_open(&c, "server:80");
    nv[0] = client__header(":method", "POST");
    nv[1] = client__header(":path", "/t/flood");
    nv[2] = client__header(":scheme", "http");
    nv[3] = client__header("content-type", "application/grpc");
    nv[4] = nv[3];
    nv[3] = client__header(":authority", "test");
    c.body = slice_make("\0\0\0\0\0", 5);
    c.reply = &r;
    c.stream = nghttp2_submit_request(c.session, NULL, nv, 5, &source, NULL);
    ck_assert_int_eq(client__flush(&c), 0);
    /* Nothing is read: the reply is not taken, and pings are not answered. */
    world_sleep_us(world, 1 * S);
    ck_assert_uint_eq(grpc_server_connection_count(server), 1);
    ck_assert_uint_eq(grpc_server_call_count(server), 1);
    world_sleep_us(world, 59 * S);
    ck_assert_uint_eq(grpc_server_call_count(server), 1);
    world_sleep_us(world, 400 * S);
    ck_assert_uint_eq(grpc_server_call_count(server), 0);
    ck_assert_uint_eq(grpc_server_buffered_bytes(server), 0);
    grpc_client_open(&other, "server:80");
    ck_assert_int_eq(echo_code(&other), 0);
    grpc_client_close(&other);
    grpc_reply_close(&r);
    grpc_client_close(&c);
    grpc_server_close(server);
}

START_TEST(test_reply_that_is_not_taken)
{
    /* A client that stops reading does not keep a handler for ever. */
    run(run_slow_reply);
}

END_TEST

/* --- Metadata ------------------------------------------------------------ */

static void run_metadata(void *arg)
{
    struct grpc_client c = {.stream = 0};
    struct grpc_reply r;
    char *value = mem_alloc(8001);
    (void)arg;
    memset(value, 'm', 8000);
    value[8000] = '\0';
    start(0);
    grpc_client_open(&c, "server:80");
    ck_assert_int_eq(echo_code(&c), 0);
    c.padding = value;
    c.padding_count = 130; /* A little more than 1 MB. */
    ck_assert_int_eq(grpc_client_call(&c, "/t/echo", SLICE_LIT("x"), &r), 0);
    ck_assert_int_eq(r.code, GRPC_RESOURCE_EXHAUSTED);
    grpc_reply_close(&r);
    c.padding_count = 5;
    ck_assert_int_eq(echo_code(&c), 0);
    ck_assert(!c.goaway);
    grpc_client_close(&c);
    grpc_server_close(server);
    mem_free(value);
}

START_TEST(test_long_metadata)
{
    /* Too much of it ends its call, and the connection is good for others. */
    run(run_metadata);
}

END_TEST

static bool is_sound(struct grpc_frames *f, struct slice bytes)
{
    enum grpc_frame_event e = GRPC_FRAME_NOTHING;
    while (bytes.len && e != GRPC_FRAME_BAD_PRIORITY)
        bytes = slice_sub(bytes, grpc_frames_watch(f, bytes, &e), bytes.len);
    return e != GRPC_FRAME_BAD_PRIORITY;
}

START_TEST(test_priority_frames)
{
    /* Found wherever the bytes are cut: of no stream, or on itself. */
    static const struct {
        uint32_t stream;
        uint32_t parent;
        bool sound;
    } cases[] = {{1, 0, true}, {0, 1, false}, {3, 3, false}, {5, 3, true}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        for (size_t cut = 0; cut < 24 + 9 + 3 + 9 + 5; cut++) {
            struct grpc_frames f = {.seen = 0};
            struct buf b = BUF_INIT;
            char head[9] = {0, 0, 3, 99};
            bool sound;
            buf_append_str(&b, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
            buf_append(&b, head, 9);
            buf_append_str(&b, "abc");
            head[2] = 5;
            head[3] = 2;
            put_be32(head + 5, cases[i].stream);
            buf_append(&b, head, 9);
            put_be32(head, cases[i].parent | UINT32_C(0x80000000));
            buf_append(&b, head, 5);
            sound = is_sound(&f, slice_sub(buf_slice(&b), 0, cut)) &&
                    is_sound(&f, slice_sub(buf_slice(&b), cut, b.len));
            ck_assert_int_eq(sound, cases[i].sound);
            buf_close(&b);
        }
}

END_TEST

TEST_MAIN("grpc limits",
          test_too_many_connections,
          test_connections_that_say_nothing,
          test_idle_connection,
          test_dead_connection,
          test_request_that_does_not_come,
          test_reply_that_is_not_taken,
          test_long_metadata,
          test_priority_frames)
