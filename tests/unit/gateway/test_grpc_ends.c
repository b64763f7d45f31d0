/* A connection may end at any byte of what its client says, and in any way:
 * nothing of its calls is used after they ended, no other client sees a byte
 * of them, and nothing stays behind.
 *
 * The bytes cut are a recording of ordinary requests, made by nghttp2's client.
 */
#include "base/core/rand.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "bigtable/gateway/grpc.h"
#include "tests/lib/check_main.h"
#include "tests/lib/grpc_client.h"
#include "tests/lib/grpc_recording.h"

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

/* Waits a moment, then answers with many messages of the request's first byte,
 * so that a reply can be told from others'. */
static int repeat(void *ctx, struct grpc_call *call, struct err *err)
{
    struct buf *b = grpc_scratch(call);
    struct slice request = grpc_request(call);
    int byte = request.len ? request.data[0] : '?';
    int rc = 0;
    (void)ctx;
    world_sleep_us(world, 50);
    for (int i = 0; i < 40 && rc == 0; i++) {
        buf_append_fill(b, byte, 20000);
        rc = grpc_send(call, b, err);
    }
    return rc;
}

static void echo_many(void *ctx, struct grpc_call *const *calls, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct err err = ERR_INIT;
        int rc = echo(ctx, calls[i], &err);
        if (i % 2)
            world_sleep_us(world, 20);
        grpc_set_outcome(calls[i], rc, &err);
    }
}

static void start(void)
{
    static const struct grpc_method methods[] = {{"/t/echo", echo},
                                                 {"/t/repeat", repeat}};
    const struct grpc_options o = {.methods = methods,
                                   .method_count = ARRAY_LEN(methods),
                                   .together = echo,
                                   .handle_many = echo_many,
                                   .calls_max = 20};
    ck_assert_int_eq(grpc_server_open(world, "server:80", &o, &server, NULL),
                     0);
}

static void run_with_seed(task_fn fn, uint64_t seed)
{
    world = sim_world_new(&(struct sim_options){.seed = seed});
    sim_run(world, fn, NULL);
    world_free(world);
}

/* --- Helpers ------------------------------------------------------------- */

static struct stream *connect_to_server(void)
{
    struct stream *s;
    ck_assert_int_eq(stream_connect("server:80", &s, NULL), 0);
    return s;
}

static void write_bytes(struct stream *s, struct slice bytes)
{
    (void)!stream_write(s, &bytes, 1, NULL);
}

/* Read until the server ends the stream, for at most 3 s. */
static void read_to_end(struct stream *s, struct buf *out)
{
    char room[4096];
    size_t got = 1;
    fiber_set_deadline(world_mono_ns(world) + UINT64_C(3000000000));
    while (got && stream_read(s, room, sizeof(room), &got, NULL) == 0)
        buf_append(out, room, got);
    fiber_set_deadline(0);
}

static void expect_echo(struct grpc_client *c)
{
    struct grpc_reply r;
    struct slice got;
    size_t at = 0;
    ck_assert_int_eq(
        grpc_client_call(c, "/t/echo", SLICE_LIT("still here"), &r), 0);
    ck_assert_int_eq(r.code, GRPC_OK);
    ck_assert(grpc_reply_next(&r, &at, &got));
    ck_assert(slice_eq_str(got, "still here"));
    grpc_reply_close(&r);
}

/* Another client is served, and nothing of those that ended is left. */
static void expect_nothing_left(void)
{
    struct grpc_client c = {.stream = 0};
    world_sleep_us(world, 5000000);
    ck_assert_uint_eq(grpc_server_call_count(server), 0);
    ck_assert_uint_eq(grpc_server_connection_count(server), 0);
    ck_assert_uint_eq(grpc_server_buffered_bytes(server), 0);
    grpc_client_open(&c, "server:80");
    expect_echo(&c);
    grpc_client_close(&c);
    grpc_server_close(server);
}

/* --- Frames by hand ------------------------------------------------------ */

static void put_frame(struct buf *b,
                      unsigned type,
                      unsigned flags,
                      uint32_t stream,
                      struct slice payload)
{
    char head[9];
    put_be32(head, (uint32_t)(payload.len << 8));
    head[3] = (char)type;
    head[4] = (char)flags;
    put_be32(head + 5, stream);
    buf_append(b, head, sizeof(head));
    buf_append_slice(b, payload);
}

/* Literals without indexing; names and values shorter than 127 bytes. */
static void put_literal(struct buf *b, const char *name, const char *value)
{
    buf_append_byte(b, 0);
    buf_append_byte(b, (char)strlen(name));
    buf_append_str(b, name);
    buf_append_byte(b, (char)strlen(value));
    buf_append_str(b, value);
}

static void put_headers(struct buf *b, const char *method, const char *path)
{
    put_literal(b, ":method", method);
    put_literal(b, ":scheme", "http");
    put_literal(b, ":path", path);
    put_literal(b, ":authority", "x");
    put_literal(b, "content-type", "application/grpc");
}

enum {
    DATA = 0,
    HEADERS = 1,
    SETTINGS = 4,
    PING = 6,
    CONTINUATION = 9,
    END_STREAM = 1,
    END_HEADERS = 4
};

static struct buf begin_frames(void)
{
    struct buf b = BUF_INIT;
    buf_append_str(&b, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    put_frame(&b, SETTINGS, 0, 0, SLICE_EMPTY);
    return b;
}

/* Headers longer than the limit: 3,000 times ":method: GET". */
static void put_long_headers(struct buf *b)
{
    put_headers(b, "POST", "/t/echo");
    for (int i = 0; i < 1000; i++)
        put_literal(b, "x-padding", "0123456789012345678901234567890123456789");
}

enum scenario {
    LONG_HEADERS_THEN_CONTINUATIONS,
    LONG_HEADERS,
    LONG_HEADERS_THEN_BAD_FRAME,
    UNKNOWN_METHOD,
    UNKNOWN_METHOD_THEN_BAD_FRAME,
    NOT_GRPC,
    NO_MESSAGE,
    ONE_CALL,
    MANY_CALLS,
    STALLED_REPLIES,
    SCENARIO_COUNT
};

static void put_scenario(struct buf *b, enum scenario s)
{
    struct buf h = BUF_INIT;
    struct slice message = slice_make("\0\0\0\0\1a", 6);
    bool is_long = s <= LONG_HEADERS_THEN_BAD_FRAME;
    bool is_unknown = s == UNKNOWN_METHOD || s == UNKNOWN_METHOD_THEN_BAD_FRAME;
    uint32_t last = s == MANY_CALLS || s == STALLED_REPLIES ? 15 : 1;
    bool empty = is_long || is_unknown || s == NOT_GRPC || s == NO_MESSAGE;
    if (is_long)
        put_long_headers(&h);
    else
        put_headers(&h, s == NOT_GRPC ? "GET" : "POST",
                    is_unknown             ? "/no/such"
                    : s == STALLED_REPLIES ? "/t/repeat"
                                           : "/t/echo");
    for (uint32_t id = 1; id <= last; id += 2) {
        struct slice rest = buf_slice(&h);
        put_frame(b, HEADERS,
                  (rest.len > 16000 ? 0 : END_HEADERS) |
                      (empty ? END_STREAM : 0),
                  id, slice_sub(rest, 0, 16000));
        while (rest.len > 16000) {
            rest = slice_sub(rest, 16000, rest.len);
            put_frame(b, CONTINUATION,
                      rest.len > 16000 || s == LONG_HEADERS_THEN_CONTINUATIONS
                          ? 0
                          : END_HEADERS,
                      id, slice_sub(rest, 0, 16000));
        }
        if (!empty)
            put_frame(b, DATA, END_STREAM, id, message);
    }
    if (s == LONG_HEADERS_THEN_CONTINUATIONS)
        for (int i = 0; i < 300; i++)
            put_frame(b, CONTINUATION, 0, 1, SLICE_EMPTY);
    if (s == LONG_HEADERS_THEN_BAD_FRAME || s == UNKNOWN_METHOD_THEN_BAD_FRAME)
        put_frame(b, PING, 0, 5, SLICE_LIT("12345678"));
    buf_close(&h);
}

/* --- Tests --------------------------------------------------------------- */

static void run_scenario(enum scenario what, int way)
{
    struct buf b = begin_frames();
    struct buf back = BUF_INIT;
    struct stream *s = connect_to_server();
    put_scenario(&b, what);
    write_bytes(s, buf_slice(&b));
    if (way == 1)
        stream_end_writing(s);
    else if (way == 2)
        world_sleep_us(world, 30);
    if (way != 0)
        read_to_end(s, &back);
    stream_close(s);
    buf_close(&b);
    buf_close(&back);
}

static void run_endings(void *arg)
{
    (void)arg;
    start();
    for (int what = 0; what < SCENARIO_COUNT; what++)
        for (int way = 0; way < 3; way++)
            run_scenario((enum scenario)what, way);
    expect_nothing_left();
}

START_TEST(test_connection_ends_behind_requests)
{
    /* Errors of the protocol, closed and half-closed connections, while
     * answers wait: the process lives, and so do other clients. */
    run_with_seed(run_endings, test_seed());
}

END_TEST

static struct buf recording; /* Of a conversation. */

/* Send the first @cut bytes in two pieces, and end in one of four ways. */
static void cut_at(size_t cut, struct rand_gen *g)
{
    struct slice said = slice_sub(buf_slice(&recording), 0, cut);
    size_t first = rand_below(g, cut + 1);
    struct stream *s = connect_to_server();
    struct buf back = BUF_INIT;
    write_bytes(s, slice_sub(said, 0, first));
    if (rand_below(g, 2))
        world_sleep_us(world, rand_below(g, 100));
    write_bytes(s, slice_sub(said, first, cut));
    switch (rand_below(g, 4)) {
    case 0: break; /* Closed; with answers unread, that is a reset. */
    case 1: world_sleep_us(world, rand_below(g, 200)); break;
    case 2:
        stream_end_writing(s);
        world_sleep_us(world, rand_below(g, 200));
        break;
    default: stream_end_writing(s); read_to_end(s, &back);
    }
    stream_close(s);
    buf_close(&back);
}

static void run_cuts(void *arg)
{
    struct rand_gen *g = arg;
    start();
    for (size_t cut = 0; cut <= recording.len; cut++)
        cut_at(cut, g);
    expect_nothing_left();
}

static struct rand_gen cuts_gen;

static void run_cuts_once(void *arg)
{
    (void)arg;
    run_cuts(&cuts_gen);
}

START_TEST(test_conversations_cut_at_every_byte)
{
    /* Unary calls, streams, compressed ones and refused ones, cut, reset and
     * half-closed at every byte. */
    for (int what = 0; what < GRPC_RECORDING_COUNT; what++)
        for (uint64_t seed = 0; seed < 3; seed++) {
            recording = grpc_recording_make(what);
            rand_init(&cuts_gen, test_seed() + seed);
            run_with_seed(run_cuts_once, test_seed() + seed);
            buf_close(&recording);
        }
}

END_TEST

/* --- other clients' rows ------------------------------------------------- */

static bool attack_ended;

static bool has_victims_row(struct slice s)
{
    size_t run = 0;
    for (size_t i = 0; i < s.len && run < 8; i++)
        run = s.data[i] == 'v' ? run + 1 : 0;
    return run == 8;
}

/* Ask for much, read nothing for a while, half-close, and then read. */
static void run_attack(void *arg)
{
    struct rand_gen g;
    (void)arg;
    rand_init(&g, test_seed());
    for (int i = 0; i < 40; i++) {
        struct buf b = begin_frames();
        struct buf back = BUF_INIT;
        struct stream *s = connect_to_server();
        put_scenario(&b, STALLED_REPLIES);
        write_bytes(s, buf_slice(&b));
        world_sleep_us(world, rand_below(&g, 3000));
        stream_end_writing(s);
        world_sleep_us(world, rand_below(&g, 3000));
        read_to_end(s, &back);
        ck_assert(!has_victims_row(buf_slice(&back)));
        stream_close(s);
        buf_close(&b);
        buf_close(&back);
    }
    attack_ended = true;
}

static void check_victim(const struct grpc_reply *r)
{
    struct slice m;
    size_t at = 0;
    size_t count = 0;
    ck_assert_int_eq(r->code, GRPC_OK);
    while (grpc_reply_next(r, &at, &m)) {
        ck_assert_uint_eq(m.len, 20000);
        ck_assert(m.data[0] == 'v' &&
                  memcmp(m.data, m.data + 1, m.len - 1) == 0);
        count++;
    }
    ck_assert_uint_eq(count, 40);
}

static void run_leak(void *arg)
{
    struct fiber *attacker;
    (void)arg;
    start();
    attack_ended = false;
    attacker = fiber_start(loop_self(), "attacker", run_attack, NULL);
    while (!attack_ended) {
        struct grpc_client c = {.window = 1 << 20};
        struct grpc_reply r;
        grpc_client_open(&c, "server:80");
        for (int i = 0; i < 3; i++) {
            world_sleep_us(world, 500);
            ck_assert_int_eq(
                grpc_client_call(&c, "/t/repeat", SLICE_LIT("v"), &r), 0);
            check_victim(&r);
            grpc_reply_close(&r);
        }
        grpc_client_close(&c);
    }
    fiber_join(attacker);
    expect_nothing_left();
}

START_TEST(test_no_reply_goes_to_another_client)
{
    /* Replies of connections that half-close while their answers wait are
     * neither sent to others nor cut without an error. */
    run_with_seed(run_leak, test_seed());
}

END_TEST

TEST_MAIN("grpc ends",
          test_connection_ends_behind_requests,
          test_conversations_cut_at_every_byte,
          test_no_reply_goes_to_another_client)
