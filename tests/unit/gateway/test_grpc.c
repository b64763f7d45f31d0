/* A gRPC server gives each call its messages and its status, whatever the
 * frames they come in, holds its clients to their limits and survives any
 * bytes. */
#include "base/core/rand.h"
#include "tests/unit/gateway/grpc_fixture.h"

static void run_sizes(void *arg)
{
    static const size_t sizes[] = {0, 1, 5, 16379, 16384, 70000, 3000000};
    static const size_t frames[] = {0, 1000, 16384};
    (void)arg;
    start(0);
    for (size_t f = 0; f < ARRAY_LEN(frames); f++) {
        struct grpc_client c = {.frame_bytes = frames[f]};
        grpc_client_open(&c, "server:80");
        for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
            expect_echo(&c, sizes[i]);
        grpc_client_close(&c);
    }
    {
        struct grpc_client c = {.frame_bytes = 1, .window = 100};
        grpc_client_open(&c, "server:80");
        expect_echo(&c, 900);
        grpc_client_close(&c);
    }
    grpc_server_close(server);
}

START_TEST(test_message_in_any_frames)
{
    /* A message comes back as it went, in frames of any size. */
    run(run_sizes);
}

END_TEST

static void run_stream(void *arg)
{
    struct grpc_client c = {.window = 3000};
    struct buf request = BUF_INIT;
    struct grpc_reply r;
    struct slice m;
    size_t at = 0;
    size_t count = 0;
    (void)arg;
    start(0);
    buf_append_fill(&request, 'x', 500);
    grpc_client_open(&c, "server:80");
    ck_assert_int_eq(grpc_client_call(&c, "/t/repeat", buf_slice(&request), &r),
                     0);
    while (grpc_reply_next(&r, &at, &m))
        count += m.len == 1000;
    ck_assert_uint_eq(count, 500);
    ck_assert_int_eq(r.code, GRPC_OK);
    ck_assert(!r.trailers_only);
    grpc_reply_close(&r);
    grpc_client_close(&c);
    grpc_server_close(server);
    buf_close(&request);
}

START_TEST(test_stream_of_messages_through_a_small_window)
{
    /* All messages of a stream arrive through a window smaller than one. */
    run(run_stream);
}

END_TEST

static void run_refusals(void *arg)
{
    struct grpc_client c = {.stream = 0};
    struct grpc_reply r;
    (void)arg;
    start(0);
    grpc_client_open(&c, "server:80");
    ck_assert_int_eq(grpc_client_call(&c, "/t/refuse", SLICE_EMPTY, &r), 0);
    ck_assert_int_eq(r.code, GRPC_NOT_FOUND);
    ck_assert(r.trailers_only);
    ck_assert_str_eq(buf_cstr(&r.text), "100%25 %C3%A9");
    grpc_reply_close(&r);
    ck_assert_int_eq(grpc_client_call(&c, "/t/refuse", SLICE_LIT("x"), &r), 0);
    ck_assert_int_eq(r.code, GRPC_FAILED_PRECONDITION);
    grpc_reply_close(&r);
    ck_assert_int_eq(grpc_client_call(&c, "/t/none", SLICE_LIT("x"), &r), 0);
    ck_assert_int_eq(r.code, GRPC_UNIMPLEMENTED);
    grpc_reply_close(&r);
    /* Bidirectional: the request does not end by itself. */
    c.hold = true;
    ck_assert_int_eq(grpc_client_call(&c, "/t/none", SLICE_LIT("x"), &r), 0);
    ck_assert_int_eq(r.code, GRPC_UNIMPLEMENTED);
    grpc_reply_close(&r);
    c.hold = false;
    c.content_type = "text/html";
    ck_assert_int_eq(grpc_client_call(&c, "/t/echo", SLICE_LIT("x"), &r), 0);
    ck_assert_int_eq(r.http, 415);
    ck_assert_int_eq(r.code, -1);
    grpc_reply_close(&r);
    c.content_type = "application/grpc+proto";
    expect_echo(&c, 10);
    grpc_client_close(&c);
    grpc_server_close(server);
}

START_TEST(test_errors_and_unknown_methods)
{
    /* Errors have their code and text; what is unknown says so, at once. */
    run(run_refusals);
}

END_TEST

static void run_bad_messages(void *arg)
{
    static const struct {
        struct slice body;
        int code;
    } cases[] = {
        {{"", 0}, GRPC_INVALID_ARGUMENT},
        {{"\0\0", 2}, GRPC_INVALID_ARGUMENT},
        {{"\0\0\0\0\5abc", 8}, GRPC_INVALID_ARGUMENT},
        {{"\0\0\0\0\1ab", 7}, GRPC_INVALID_ARGUMENT},
        {{"\2\0\0\0\1a", 6}, GRPC_INVALID_ARGUMENT},
        {{"\1\0\0\0\1a", 6}, GRPC_INVALID_ARGUMENT},
        {{"\0\377\377\377\377a", 6}, GRPC_RESOURCE_EXHAUSTED},
    };
    struct grpc_client c = {.stream = 0};
    (void)arg;
    start(0);
    grpc_client_open(&c, "server:80");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct grpc_reply r;
        ck_assert_int_eq(grpc_client_send(&c, "/t/echo", cases[i].body, &r), 0);
        ck_assert_msg(r.code == cases[i].code, "case %zu: code %d", i, r.code);
        grpc_reply_close(&r);
    }
    expect_echo(&c, 100);
    grpc_client_close(&c);
    grpc_server_close(server);
}

START_TEST(test_malformed_messages)
{
    /* A request that is not one whole message ends its call and no other. */
    run(run_bad_messages);
}

END_TEST

static void run_budget(void *arg)
{
    struct grpc_client c = {.stream = 0};
    struct buf big = BUF_INIT;
    struct grpc_reply r;
    (void)arg;
    start(4 << 20);
    buf_append_fill(&big, 'b', 3 << 20);
    grpc_client_open(&c, "server:80");
    ck_assert_int_eq(grpc_client_call(&c, "/t/echo", buf_slice(&big), &r), 0);
    ck_assert_int_eq(r.code, GRPC_RESOURCE_EXHAUSTED);
    grpc_reply_close(&r);
    expect_echo(&c, 500000);
    grpc_client_close(&c);
    grpc_server_close(server);
    buf_close(&big);
}

START_TEST(test_bytes_in_flight_are_bounded)
{
    /* A request over the server's budget is refused; a later one is served. */
    run(run_budget);
}

END_TEST

static void run_deadline(void *arg)
{
    struct grpc_client c = {.timeout = "50m"};
    struct grpc_reply r;
    (void)arg;
    start(0);
    grpc_client_open(&c, "server:80");
    ck_assert_int_eq(grpc_client_call(&c, "/t/sleep", SLICE_EMPTY, &r), 0);
    ck_assert_int_eq(r.code, GRPC_DEADLINE_EXCEEDED);
    grpc_reply_close(&r);
    grpc_client_close(&c);
    grpc_server_close(server);
}

START_TEST(test_deadline_of_the_client)
{
    /* A call ends when its client's patience does. */
    run(run_deadline);
}

END_TEST

static void run_cancel(void *arg)
{
    struct grpc_client c = {.stop_after = 2000000};
    struct grpc_reply r;
    (void)arg;
    start(0);
    grpc_client_open(&c, "server:80");
    ck_assert_int_eq(grpc_client_call(&c, "/t/flood", SLICE_EMPTY, &r), 0);
    grpc_reply_close(&r);
    c.stop_after = 0;
    expect_echo(&c, 10);
    world_sleep_us(world, 100000);
    ck_assert_int_eq(cancelled_count, 1);
    ck_assert_uint_lt(sent_count, 100); /* It was held to the client's pace. */
    ck_assert_uint_eq(grpc_server_call_count(server), 0);
    grpc_client_close(&c);
    grpc_server_close(server);
}

START_TEST(test_client_gives_up)
{
    /* A stream that is reset cancels its call; the connection stays. */
    run(run_cancel);
}

END_TEST

/* Begin @count calls that do not end. */
static void begin_sleeps(struct grpc_client *c, int count)
{
    nghttp2_nv nv[6];
    nghttp2_data_provider source = {.read_callback = client__read_body};
    nv[0] = client__header(":method", "POST");
    nv[1] = client__header(":scheme", "http");
    nv[2] = client__header(":path", "/t/sleep");
    nv[3] = client__header(":authority", "test");
    nv[4] = client__header("content-type", "application/grpc");
    nv[5] = client__header("te", "trailers");
    for (int i = 0; i < count; i++) {
        c->body = slice_make("\0\0\0\0\0", 5);
        nghttp2_submit_request(c->session, NULL, nv, 6, &source, NULL);
        ck_assert_int_eq(client__flush(c), 0);
    }
}

static void run_lost(void *arg)
{
    struct grpc_client c = {.stop_after = 0};
    struct grpc_client still = {.stop_after = 0};
    (void)arg;
    start(0);
    grpc_client_open(&still, "server:80");
    grpc_client_open(&c, "server:80");
    begin_sleeps(&c, 5);
    world_sleep_us(world, 100000);
    ck_assert_uint_eq(grpc_server_call_count(server), 5);
    grpc_client_close(&c);
    world_sleep_us(world, 100000);
    ck_assert_int_eq(cancelled_count, 5);
    ck_assert_uint_eq(grpc_server_call_count(server), 0);
    ck_assert_uint_eq(grpc_server_connection_count(server), 1);
    expect_echo(&still, 10);
    grpc_client_close(&still);
    grpc_server_close(server);
}

START_TEST(test_connection_lost)
{
    /* Calls of a connection that is gone are cancelled. */
    run(run_lost);
}

END_TEST

/* Bytes after many calls gather for a moment, and no longer. */
static void run_crowd(void *arg)
{
    struct grpc_client c = {.stop_after = 0};
    uint64_t began_ns;
    (void)arg;
    start(0);
    grpc_client_open(&c, "server:80");
    begin_sleeps(&c, 15);
    world_sleep_us(world, 100000);
    began_ns = world_mono_ns(world);
    for (int i = 0; i < 10; i++)
        expect_echo(&c, 1000);
    ck_assert_uint_lt(world_mono_ns(world) - began_ns, 100000000);
    ck_assert_uint_eq(grpc_server_call_count(server), 15);
    grpc_client_close(&c);
    world_sleep_us(world, 100000);
    ck_assert_int_eq(cancelled_count, 15);
    ck_assert_uint_eq(grpc_server_call_count(server), 0);
    grpc_server_close(server);
}

START_TEST(test_many_calls_at_once)
{
    run(run_crowd);
}

END_TEST

static void run_goodbye(void *arg)
{
    struct grpc_client c = {.stream = 0};
    (void)arg;
    start(0);
    grpc_client_open(&c, "server:80");
    expect_echo(&c, 10);
    grpc_server_close(server);
    while (!c.goaway)
        ck_assert_int_eq(client__pump(&c), 0);
    grpc_client_close(&c);
}

START_TEST(test_goodbye)
{
    /* A server that ends tells its clients. */
    run(run_goodbye);
}

END_TEST

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

/* Something like frames: types and lengths that are, or are not, what they
 * should be. */
static void put_rubbish(struct rand_gen *g, struct buf *b)
{
    size_t frames = rand_below(g, 20);
    for (size_t i = 0; i < frames; i++) {
        size_t len = rand_below(g, 40);
        size_t said = rand_below(g, 8) ? len : rand_below(g, 1 << 24);
        char head[9];
        put_be32(head, (uint32_t)(said << 8));
        head[3] = (char)rand_below(g, 11);
        head[4] = (char)rand_below(g, 256);
        put_be32(head + 5, (uint32_t)rand_below(g, 6));
        buf_append(b, head, sizeof(head));
        for (size_t k = 0; k < len; k++)
            buf_append_byte(b, (char)rand_below(g, 256));
    }
}

static void run_rubbish(void *arg)
{
    struct rand_gen g;
    struct grpc_client still = {.stream = 0};
    (void)arg;
    rand_init(&g, test_seed());
    start(0);
    grpc_client_open(&still, "server:80");
    for (int i = 0; i < 500; i++) {
        struct buf b = BUF_INIT;
        struct stream *s;
        struct slice part;
        if (rand_below(&g, 10))
            buf_append_str(&b, PREFACE);
        put_rubbish(&g, &b);
        part = buf_slice(&b);
        ck_assert_int_eq(stream_connect("server:80", &s, NULL), 0);
        (void)!stream_write(s, &part, 1, NULL);
        if (rand_below(&g, 2))
            world_sleep_us(world, 1000);
        stream_close(s);
        buf_close(&b);
    }
    expect_echo(&still, 1000);
    grpc_client_close(&still);
    world_sleep_us(world, 20000000);
    ck_assert_uint_eq(grpc_server_call_count(server), 0);
    ck_assert_uint_eq(grpc_server_connection_count(server), 0);
    grpc_server_close(server);
}

START_TEST(test_rubbish)
{
    /* Bytes that are no HTTP/2, or hardly, end their own connection alone. */
    run(run_rubbish);
}

END_TEST

static void run_silent(void *arg)
{
    struct stream *s;
    (void)arg;
    start(0);
    ck_assert_int_eq(stream_connect("server:80", &s, NULL), 0);
    world_sleep_us(world, 1000000);
    ck_assert_uint_eq(grpc_server_connection_count(server), 1);
    world_sleep_us(world, 11000000);
    ck_assert_uint_eq(grpc_server_connection_count(server), 0);
    stream_close(s);
    grpc_server_close(server);
}

START_TEST(test_silence)
{
    /* A peer that connects and stays silent is disconnected. */
    run(run_silent);
}

END_TEST

static void put_message(struct buf *b, char flag, struct slice message)
{
    size_t at = b->len;
    buf_append_fill(b, flag, 1);
    buf_append_fill(b, 0, 4);
    put_be32(b->data + at + 1, (uint32_t)message.len);
    buf_append_slice(b, message);
}

/* The stream @b is answered by @answers messages, then @code. */
static void
expect_each(struct grpc_client *c, struct buf *b, int answers, int code)
{
    struct grpc_reply r;
    struct slice got;
    size_t at = 0;
    ck_assert_int_eq(grpc_client_send(c, "/t/each", buf_slice(b), &r), 0);
    ck_assert_int_eq(r.code, code);
    for (int i = 0; i < answers; i++) {
        ck_assert(grpc_reply_next(&r, &at, &got));
        ck_assert(slice_eq_str(got, i == 1 ? "" : "abab"));
    }
    ck_assert(!grpc_reply_next(&r, &at, &got));
    grpc_reply_close(&r);
}

static void run_each(void *arg)
{
    struct buf b = BUF_INIT;
    (void)arg;
    start(0);
    for (size_t frame = 0; frame < 9; frame++) {
        struct grpc_client c = {.frame_bytes = frame};
        grpc_client_open(&c, "server:80");
        buf_clear(&b);
        expect_each(&c, &b, 0, GRPC_OK);
        put_message(&b, 0, SLICE_LIT("ab"));
        put_message(&b, 0, SLICE_EMPTY);
        put_message(&b, 0, SLICE_LIT("ab"));
        expect_each(&c, &b, 3, GRPC_OK);
        b.len--;
        expect_each(&c, &b, 2, GRPC_INVALID_ARGUMENT);
        b.len++;
        /* The end of the request does not have to come. */
        put_message(&b, 0, SLICE_LIT("!"));
        c.hold = true;
        expect_each(&c, &b, 3, GRPC_NOT_FOUND);
        c.hold = false;
        put_message(&b, 0, SLICE_LIT("ab"));
        expect_each(&c, &b, 3, GRPC_NOT_FOUND);
        buf_clear(&b);
        put_message(&b, 1, SLICE_LIT("ab"));
        expect_each(&c, &b, 0, GRPC_INVALID_ARGUMENT);
        c.gzip = true;
        expect_each(&c, &b, 0, GRPC_UNIMPLEMENTED);
        c.gzip = false;
        buf_clear(&b);
        buf_append(&b, "\0\1\0\0\0", 5);
        expect_each(&c, &b, 0, GRPC_RESOURCE_EXHAUSTED);
        expect_echo(&c, 100);
        grpc_client_close(&c);
    }
    buf_close(&b);
    grpc_server_close(server);
}

/* Messages of a stream are answered one by one, however they are cut, until one
 * is refused. */
START_TEST(test_each_of_a_stream)
{
    run(run_each);
}

END_TEST

TEST_MAIN("grpc",
          test_each_of_a_stream,
          test_message_in_any_frames,
          test_stream_of_messages_through_a_small_window,
          test_errors_and_unknown_methods,
          test_malformed_messages,
          test_bytes_in_flight_are_bounded,
          test_deadline_of_the_client,
          test_client_gives_up,
          test_connection_lost,
          test_many_calls_at_once,
          test_goodbye,
          test_rubbish,
          test_silence, )
