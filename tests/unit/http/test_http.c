/* The HTTP server answers pages from fibers, refuses what it does not know, and
 * ends while requests are under way. */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/http/guests.h"
#include "base/http/http.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/stream.h"
#include "base/runtime/world.h"
#include "tests/lib/check_main.h"

#define NAMES "n1:7480, console.example"

static struct world *world;
static struct loop *loop;
static struct http_server *server;
static bool slow_began;
static bool slow_may_end;
static bool slow_ended;

static void await(const bool *told)
{
    while (!*told)
        world_sleep_us(world, 1000);
}

/* --- streams ------------------------------------------------------------- */

static size_t streams_running;
static int stream_rc;

/* Numbers, until somebody ends it. */
static void count_up(void *ctx, struct http_stream *s)
{
    int rc = 0;
    ck_assert_ptr_eq(ctx, &streams_running);
    streams_running++;
    for (int i = 0; rc == 0; i++) {
        char text[16];
        int n = snprintf(text, sizeof(text), "<%d>", i);
        rc = http_stream_write(s, slice_make(text, (size_t)n), NULL);
        world_sleep_us(world, 1000);
    }
    stream_rc = rc;
    streams_running--;
}

/* More than a socket takes. */
static void write_much(void *ctx, struct http_stream *s)
{
    static char much[(size_t)16 << 20];
    (void)ctx;
    streams_running++;
    memset(much, 'x', sizeof(much));
    stream_rc = http_stream_write(s, slice_make(much, sizeof(much)), NULL);
    streams_running--;
}

static void write_three(void *ctx, struct http_stream *s)
{
    (void)ctx;
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(http_stream_write(s, SLICE_LIT("piece;"), NULL), 0);
}

static void begin_stream(const struct http_request *r,
                         http_stream_fn fn,
                         struct http_reply *reply)
{
    if (!http_stream_begin(r, fn, &streams_running))
        reply->status = 503;
}

static void
answer(void *ctx, const struct http_request *request, struct http_reply *reply)
{
    ck_assert_ptr_eq(ctx, &server);
    ck_assert_ptr_eq(loop_self(), loop);
    if (strcmp(http_path(request), "/count") == 0)
        begin_stream(request, count_up, reply);
    if (strcmp(http_path(request), "/much") == 0)
        begin_stream(request, write_much, reply);
    if (strcmp(http_path(request), "/three") == 0)
        begin_stream(request, write_three, reply);
    if (http_is_post(request)) {
        const char *a = http_form_get(http_body(request), "a");
        buf_printf(&reply->body, "a=%s;", a ? a : "(none)");
    }
    if (strcmp(http_path(request), "/away") == 0) {
        http_reply_redirect(reply, "/there?a=b");
        http_reply_header(reply, "Cache-Control", "private");
        return;
    }
    if (strcmp(http_path(request), "/slow") == 0) {
        slow_began = true;
        await(&slow_may_end);
        slow_ended = true;
    }
    if (strcmp(http_path(request), "/nothing") == 0)
        reply->status = 404;
    buf_printf(&reply->body, "%s", http_path(request));
}

/* Send @request, and read all until the other side ends. */
static void exchange(const char *request, struct buf *out)
{
    struct err err = ERR_INIT;
    struct slice part = slice_str(request);
    struct stream *s;
    char chunk[4096];
    size_t got = 1;
    ck_assert_msg(stream_connect(http_address(server), &s, &err) == 0, "%s",
                  err.text);
    ck_assert_int_eq(stream_write(s, &part, 1, &err), 0);
    while (got) {
        if (stream_read(s, chunk, sizeof(chunk), &got, &err))
            got = 0;
        buf_append(out, chunk, got);
    }
    stream_close(s);
}

static void expect(const char *request, const char *status, const char *body)
{
    struct buf b = BUF_INIT;
    exchange(request, &b);
    ck_assert_msg(strncmp(buf_cstr(&b), status, strlen(status)) == 0, "%s",
                  buf_cstr(&b));
    ck_assert_msg(strstr(buf_cstr(&b), body) != NULL, "%s", buf_cstr(&b));
    buf_close(&b);
}

static void with_server(void (*fn)(void))
{
    struct err err = ERR_INIT;
    ck_assert_msg(
        http_listen("127.0.0.1:0", NAMES, answer, &server, &server, &err) == 0,
        "%s", err.text);
    fn();
    http_close(server);
}

static void run_on_loop(void *arg)
{
    void (*fn)(void) = *(void (**)(void))arg;
    with_server(fn);
}

static void run(void (*fn)(void))
{
    struct err err = ERR_INIT;
    world = world_real_new();
    ck_assert_int_eq(loop_new(world, "http", &loop, &err), 0);
    loop_start(loop);
    loop_call(loop, "test", run_on_loop, &fn);
    loop_stop(loop);
    loop_join(loop);
    loop_free(loop);
    world_free(world);
}

#define CLOSE "Host: localhost\r\nConnection: close\r\n\r\n"

static void pages(void)
{
    expect("GET /a/b?name=x%20y HTTP/1.1\r\n" CLOSE, "HTTP/1.1 200 ",
           "\r\n\r\n/a/b");
    expect("GET / HTTP/1.1\r\n" CLOSE, "HTTP/1.1 200 ", "\r\n\r\n/");
    expect("GET /nothing HTTP/1.1\r\n" CLOSE, "HTTP/1.1 404 ", "/nothing");
    expect("HEAD / HTTP/1.1\r\n" CLOSE, "HTTP/1.1 200 ", "Content-Length: 1");
}

/* A page is what the handler gave for its path. */
START_TEST(test_pages)
{
    run(pages);
}

END_TEST

static void refusals(void)
{
    struct buf b = BUF_INIT;
    expect("PUT / HTTP/1.1\r\nContent-Length: 3\r\n" CLOSE "abc",
           "HTTP/1.1 405 ", "only GET, HEAD and POST");
    expect("DELETE / HTTP/1.1\r\n" CLOSE, "HTTP/1.1 405 ", "only GET");
    /* Headers larger than a connection may have. */
    buf_printf(&b, "GET / HTTP/1.1\r\nX: ");
    for (size_t i = 0; i < 2 * HTTP_CONNECTION_BYTES; i++)
        buf_append_byte(&b, 'x');
    buf_printf(&b, "\r\n" CLOSE);
    expect(buf_cstr(&b), "HTTP/1.1 431 ", "");
    buf_close(&b);
    expect("GET / HTTP/1.1\r\n" CLOSE, "HTTP/1.1 200 ", "/");
}

/* Other methods and oversized headers are refused, and do not end it. */
START_TEST(test_refusals)
{
    run(refusals);
}

END_TEST

#define FORM "Content-Type: application/x-www-form-urlencoded\r\n"

static void post_bytes(size_t bytes, const char *status)
{
    struct buf b = BUF_INIT;
    buf_printf(&b, "POST / HTTP/1.1\r\n" FORM "Content-Length: %zu\r\n" CLOSE,
               bytes);
    buf_append_str(&b, "a=");
    buf_append_fill(&b, 'x', bytes - 2);
    expect(buf_cstr(&b), status, "");
    buf_close(&b);
}

static void posts(void)
{
    expect("POST /p HTTP/1.1\r\n" FORM "Content-Length: 9\r\n" CLOSE
           "b=1&a=%25",
           "HTTP/1.1 200 ", "a=%;/p");
    expect("POST /p HTTP/1.1\r\nContent-Length: 3\r\n" CLOSE "a=1",
           "HTTP/1.1 200 ", "a=(none);");
    expect("POST /p HTTP/1.1\r\n" FORM "Content-Length: 3\r\n" CLOSE "a=%",
           "HTTP/1.1 400 ", "percent sign");
    expect("POST /p HTTP/1.1\r\n" FORM "Transfer-Encoding: chunked\r\n" CLOSE
           "2\r\na=\r\n1\r\n7\r\n0\r\n\r\n",
           "HTTP/1.1 200 ", "a=7;");
    post_bytes(HTTP_BODY_BYTES_MAX, "HTTP/1.1 200 ");
    post_bytes(HTTP_BODY_BYTES_MAX + 1, "HTTP/1.1 413 ");
    post_bytes(4 * HTTP_BODY_BYTES_MAX, "HTTP/1.1 413 ");
    expect("GET /a%zz HTTP/1.1\r\n" CLOSE, "HTTP/1.1 400 ", "malformed");
    expect("GET /a?b=%ff HTTP/1.1\r\n" CLOSE, "HTTP/1.1 400 ", "UTF-8");
    expect("GET /away HTTP/1.1\r\n" CLOSE, "HTTP/1.1 303 ",
           "Location: /there?a=b");
    expect("GET /away HTTP/1.1\r\n" CLOSE, "HTTP/1.1 303 ",
           "Cache-Control: private");
}

/* Forms are read up to their bound, and replies have the headers they got. */
START_TEST(test_posts)
{
    run(posts);
}

END_TEST

static struct stream *open_stream(const char *path)
{
    struct err err = ERR_INIT;
    struct stream *s;
    struct buf b = BUF_INIT;
    struct slice part;
    ck_assert_msg(stream_connect(http_address(server), &s, &err) == 0, "%s",
                  err.text);
    buf_printf(&b, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
    part = buf_slice(&b);
    ck_assert_int_eq(stream_write(s, &part, 1, &err), 0);
    buf_close(&b);
    return s;
}

/* Read until @text has come. */
static void read_until(struct stream *s, const char *text)
{
    struct buf b = BUF_INIT;
    while (!strstr(buf_cstr(&b), text)) {
        char chunk[1024];
        size_t got = 0;
        ck_assert_int_eq(stream_read(s, chunk, sizeof(chunk), &got, NULL), 0);
        ck_assert_uint_gt(got, 0);
        buf_append(&b, chunk, got);
    }
    buf_close(&b);
}

static void await_streams(size_t count)
{
    while (streams_running != count)
        world_sleep_us(world, 1000);
}

static void streams(void)
{
    struct stream *one = open_stream("/count");
    struct stream *two = open_stream("/count");
    read_until(one, "<5>");
    read_until(two, "<5>");
    expect("GET /three HTTP/1.1\r\n" CLOSE, "HTTP/1.1 200 ", "piece;");
    expect("HEAD /count HTTP/1.1\r\n" CLOSE, "HTTP/1.1 200 ", "");
    expect("GET / HTTP/1.1\r\n" CLOSE, "HTTP/1.1 200 ", "/");
    stream_close(one);
    await_streams(1);
    ck_assert(stream_rc == ERR_CLOSED || stream_rc == ERR_CANCELLED);
    read_until(two, "<50>");
    stream_close(two);
    await_streams(0);
}

/* Streams are written side by side until their clients leave. */
START_TEST(test_streams)
{
    run(streams);
}

END_TEST

static void most_streams(void)
{
    struct stream *s[HTTP_ADDRESS_STREAMS_MAX];
    for (size_t i = 0; i < ARRAY_LEN(s); i++) {
        s[i] = open_stream("/count");
        read_until(s[i], "<0>");
    }
    expect("GET /count HTTP/1.1\r\n" CLOSE, "HTTP/1.1 503 ", "");
    expect("GET / HTTP/1.1\r\n" CLOSE, "HTTP/1.1 200 ", "/");
    stream_close(s[0]);
    await_streams(ARRAY_LEN(s) - 1);
    s[0] = open_stream("/count");
    read_until(s[0], "<0>");
    for (size_t i = 0; i < ARRAY_LEN(s); i++)
        stream_close(s[i]);
    await_streams(0);
}

/* One address has a bounded number of streams; one that ends makes room. */
START_TEST(test_most_streams)
{
    run(most_streams);
}

END_TEST

static void closed_with_streams(void)
{
    struct stream *counting = open_stream("/count");
    struct stream *stuck = open_stream("/much"); /* And is not read. */
    struct err err = ERR_INIT;
    read_until(counting, "<3>");
    await_streams(2);
    http_close(server);
    ck_assert_uint_eq(streams_running, 0);
    stream_close(counting);
    stream_close(stuck);
    ck_assert_int_eq(
        http_listen("127.0.0.1:0", NAMES, answer, &server, &server, &err), 0);
}

/* Closing ends the streams, also one whose client reads nothing. */
START_TEST(test_closed_with_streams)
{
    run(closed_with_streams);
}

END_TEST

/* Says what it was asked for, without headers of its own. */
static void answer_foreign(void *ctx,
                           const struct http_request *r,
                           struct http_reply *reply)
{
    (void)ctx;
    reply->is_foreign = true;
    reply->content_type = NULL;
    http_reply_header(reply, "X-Of-Document", "1");
    buf_printf(&reply->body, "path=%s query=%s parts=%zu", http_path(r),
               http_query_text(r), http_path_segments(r)->count);
}

static void documents_with(bool is_proxy, void (*fn)(void))
{
    const struct http_documents documents = {.is_proxy = is_proxy};
    struct http_server *kept = server;
    struct err err = ERR_INIT;
    ck_assert_int_eq(http_listen_documents("127.0.0.1:0", NULL, &documents,
                                           answer_foreign, NULL, &server, &err),
                     0);
    fn();
    http_close(server);
    server = kept;
}

static void any_target(void)
{
    struct buf b = BUF_INIT;
    expect("GET /web/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17?%zz=%&a HTTP/1.1"
           "\r\nHost: localhost\r\nConnection: close\r\n\r\n",
           "HTTP/1.1 200", "/16/17 query=%zz=%&a parts=0");
    expect("POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n"
           "Connection: close\r\n\r\n",
           "HTTP/1.1 405", "only GET and HEAD");
    expect("GET http://a.b/c HTTP/1.1\r\nHost: a.b\r\nConnection: close\r\n"
           "\r\n",
           "HTTP/1.1 421", "");
    exchange("GET /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
             &b);
    ck_assert_ptr_nonnull(strstr(buf_cstr(&b), "X-Of-Document: 1"));
    ck_assert_ptr_null(strstr(buf_cstr(&b), "X-Frame-Options"));
    ck_assert_ptr_null(strstr(buf_cstr(&b), "Content-Type"));
    buf_close(&b);
}

static void proxied(void)
{
    expect("GET http://a.b/c?d HTTP/1.1\r\nHost: a.b\r\nConnection: close\r\n"
           "\r\n",
           "HTTP/1.1 200", "path=http://a.b/c query=d");
    expect("CONNECT a.b:443 HTTP/1.1\r\nHost: a.b:443\r\nConnection: close\r\n"
           "\r\n",
           "HTTP/1.1 405", "no connections for https");
    expect("GET /c HTTP/1.1\r\nHost: a.b\r\nConnection: close\r\n\r\n",
           "HTTP/1.1 421", "");
}

static void documents(void)
{
    documents_with(false, any_target);
    documents_with(true, proxied);
}

/* Targets are any URL, and the server's own headers are left out. */
START_TEST(test_documents)
{
    run(documents);
}

END_TEST

static void in_use(void)
{
    struct http_server *second;
    struct err err = ERR_INIT;
    ck_assert_int_eq(
        http_listen(http_address(server), NULL, answer, NULL, &second, &err),
        ERR_BUSY);
    ck_assert_ptr_nonnull(strstr(err.text, http_address(server)));
    ck_assert_int_eq(http_listen("nonsense", NULL, answer, NULL, &second, &err),
                     ERR_INVALID);
    ck_assert_int_eq(http_listen("unix:/x", NULL, answer, NULL, &second, &err),
                     ERR_INVALID);
}

/* A port in use and a wrong address are errors that name it. */
START_TEST(test_in_use)
{
    run(in_use);
}

END_TEST

static void ask_slowly(void *arg)
{
    struct buf *out = arg;
    exchange("GET /slow HTTP/1.1\r\n" CLOSE, out);
}

static void close_server(void *arg)
{
    http_close(server);
    *(bool *)arg = true;
}

static void closed_under_way(void)
{
    struct err err = ERR_INIT;
    struct buf out = BUF_INIT;
    bool is_closed = false;
    struct fiber *slow = fiber_start(loop, "slow", ask_slowly, &out);
    struct fiber *closer;
    await(&slow_began);
    closer = fiber_start(loop, "closer", close_server, &is_closed);
    world_sleep_us(world, 50000); /* It would be closed long since. */
    ck_assert(!is_closed);
    slow_may_end = true;
    fiber_join(closer);
    ck_assert(slow_ended);
    fiber_join(slow);
    buf_close(&out);
    ck_assert_int_eq(
        http_listen("127.0.0.1:0", NAMES, answer, &server, &server, &err), 0);
}

/* Closing waits for a running handler, whose fiber continues meanwhile. */
START_TEST(test_closed_under_way)
{
    run(closed_under_way);
}

END_TEST

static void asked_as(const char *host, const char *status)
{
    struct buf b = BUF_INIT;
    buf_printf(&b, "GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n",
               host);
    expect(buf_cstr(&b), status, "");
    buf_close(&b);
}

static void hosts(void)
{
    static const char *const good[] = {
        "localhost",     "LocalHost:7480", "127.0.0.1:7480",    "[::1]:80",
        "[2001:db8::1]", "10.0.0.7",       "Console.Example:1", "n1"};
    static const char *const bad[] = {"evil.example",
                                      "localhost.evil.example",
                                      "127.0.0.1.evil.example",
                                      "n1.evil.example",
                                      "[::1].evil.example:80x",
                                      ":80",
                                      "1"};
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        asked_as(good[i], "HTTP/1.1 200 ");
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        asked_as(bad[i], "HTTP/1.1 421 ");
    expect("GET / HTTP/1.0\r\n\r\n", "HTTP/1.", "/");
}

/* A name that leads here without being ours gets nothing: a browser that was
 * lured would show it to others. */
START_TEST(test_hosts)
{
    run(hosts);
}

END_TEST

static void headers(void)
{
    static const char *const lines[] = {
        "Content-Security-Policy: default-src 'none';", "X-Frame-Options: DENY",
        "X-Content-Type-Options: nosniff", "Referrer-Policy: same-origin",
        "Cross-Origin-Resource-Policy: same-origin"};
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        expect("GET / HTTP/1.1\r\n" CLOSE, "HTTP/1.1 200 ", lines[i]);
        expect("GET /nothing HTTP/1.1\r\n" CLOSE, "HTTP/1.1 404 ", lines[i]);
        expect("PUT / HTTP/1.1\r\n" CLOSE, "HTTP/1.1 405 ", lines[i]);
    }
}

/* Every answer tells browsers what they may do with it. */
START_TEST(test_headers)
{
    run(headers);
}

END_TEST

/* --- those that only wait ------------------------------------------------ */

#define DRIPPERS 300

static struct stream *drippers[DRIPPERS];

static void crowd(void)
{
    struct slice part = SLICE_LIT("GET / HTTP/1.1\r\nX-Drip: ");
    struct err err = ERR_INIT;
    for (size_t i = 0; i < DRIPPERS; i++) {
        ck_assert_msg(
            stream_connect(http_address(server), &drippers[i], &err) == 0, "%s",
            err.text);
        (void)!stream_write(drippers[i], &part, 1, NULL);
        if (i % 50 == 0)
            expect("GET / HTTP/1.1\r\n" CLOSE, "HTTP/1.1 200 ", "/");
    }
    for (int i = 0; i < 20; i++)
        expect("GET / HTTP/1.1\r\n" CLOSE, "HTTP/1.1 200 ", "/");
    for (size_t i = 0; i < DRIPPERS; i++)
        stream_close(drippers[i]);
}

/* Three hundred connections with half a request keep nobody waiting. */
START_TEST(test_crowd)
{
    run(crowd);
}

END_TEST

static void guests_of(struct http_guests *g, const int *fds)
{
    struct sockaddr_in here = {.sin_family = AF_INET};
    struct sockaddr_in there = {.sin_family = AF_INET};
    void *guest[4];
    char byte;
    here.sin_addr.s_addr = htonl(0x7f000001);
    there.sin_addr.s_addr = htonl(0x0a000001);
    guest[0] = http_guests_enter(g, fds[0], (struct sockaddr *)&here, 1);
    guest[1] = http_guests_enter(g, fds[1], (struct sockaddr *)&there, 1);
    guest[2] = http_guests_enter(g, fds[2], (struct sockaddr *)&there, 1);
    http_guests_busy(g, guest[1], true);
    ck_assert_uint_eq(http_guests_count(g), 3);
    http_guests_sweep(g, UINT64_MAX); /* All but the one that is answered. */
    ck_assert_uint_eq(http_guests_count(g), 1);
    ck_assert_int_eq(recv(fds[0], &byte, 1, MSG_DONTWAIT), 0);
    ck_assert_int_eq(recv(fds[1], &byte, 1, MSG_DONTWAIT), -1);
    ck_assert_int_eq(recv(fds[2], &byte, 1, MSG_DONTWAIT), 0);
    for (int i = 0; i < 3; i++)
        http_guests_leave(g, guest[i]);
    ck_assert_uint_eq(http_guests_count(g), 0);
}

/* Those whose time is over are shut down; one that waits for its answer is
 * not. */
START_TEST(test_sweep)
{
    struct http_guests *g = http_guests_new();
    int fds[3];
    int others[3];
    for (int i = 0; i < 3; i++) {
        int pair[2];
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
        fds[i] = pair[0];
        others[i] = pair[1];
    }
    guests_of(g, fds);
    http_guests_free(g);
    for (int i = 0; i < 3; i++) {
        close(fds[i]);
        close(others[i]);
    }
}

END_TEST

/* This machine's clients keep their places, however many come from
 * elsewhere. */
START_TEST(test_places)
{
    struct http_guests *g = http_guests_new();
    struct sockaddr_in here = {.sin_family = AF_INET};
    struct sockaddr_in there = {.sin_family = AF_INET};
    void *guests[HTTP_CONNECTIONS_MAX];
    int pair[2];
    here.sin_addr.s_addr = htonl(0x7f000001);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    for (unsigned i = 0; i < HTTP_CONNECTIONS_MAX; i++) {
        there.sin_addr.s_addr = htonl(0x0a000000 + i / 16);
        ck_assert(http_guests_admit(g, (struct sockaddr *)&there));
        guests[i] = http_guests_enter(g, pair[0], (struct sockaddr *)&there, 1);
    }
    ck_assert(http_guests_admit(g, (struct sockaddr *)&here));
    ck_assert_uint_eq(http_guests_count(g), HTTP_CONNECTIONS_MAX - 1);
    for (unsigned i = 0; i < HTTP_CONNECTIONS_MAX; i++)
        http_guests_leave(g, guests[i]);
    for (unsigned i = 0; i < HTTP_ADDRESS_MAX; i++)
        guests[i] = http_guests_enter(g, pair[0], (struct sockaddr *)&here, 1);
    there.sin_addr.s_addr = htonl(0x0a000000);
    ck_assert(http_guests_admit(g, (struct sockaddr *)&there));
    ck_assert_uint_eq(http_guests_count(g), HTTP_ADDRESS_MAX);
    for (unsigned i = 0; i < HTTP_ADDRESS_MAX; i++)
        http_guests_leave(g, guests[i]);
    http_guests_free(g);
    close(pair[0]);
    close(pair[1]);
}

END_TEST

TEST_MAIN("http",
          test_hosts,
          test_headers,
          test_crowd,
          test_sweep,
          test_places,
          test_pages,
          test_refusals,
          test_posts,
          test_streams,
          test_most_streams,
          test_closed_with_streams,
          test_in_use,
          test_documents,
          test_closed_under_way)
