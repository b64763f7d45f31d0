/* The HTTP server answers pages from fibers, refuses what it does not know, and
 * ends while requests are under way. */
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/http/http.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/stream.h"
#include "base/runtime/world.h"
#include "tests/lib/check_main.h"

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

static void
answer(void *ctx, const struct http_request *request, struct http_reply *reply)
{
    const char *name = http_parameter(request, "name");
    ck_assert_ptr_eq(ctx, &server);
    ck_assert_ptr_eq(loop_self(), loop);
    if (strcmp(http_path(request), "/slow") == 0) {
        slow_began = true;
        await(&slow_may_end);
        slow_ended = true;
    }
    if (strcmp(http_path(request), "/nothing") == 0)
        reply->status = 404;
    buf_printf(&reply->body, "%s %s", http_path(request), name ? name : "-");
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
    ck_assert_msg(http_listen("127.0.0.1:0", answer, &server, &server, &err) ==
                      0,
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

#define CLOSE "Host: x\r\nConnection: close\r\n\r\n"

static void pages(void)
{
    expect("GET /a/b?name=x%20y HTTP/1.1\r\n" CLOSE, "HTTP/1.1 200 ",
           "\r\n\r\n/a/b x y");
    expect("GET / HTTP/1.1\r\n" CLOSE, "HTTP/1.1 200 ", "\r\n\r\n/ -");
    expect("GET /nothing HTTP/1.1\r\n" CLOSE, "HTTP/1.1 404 ", "/nothing -");
    expect("HEAD / HTTP/1.1\r\n" CLOSE, "HTTP/1.1 200 ", "Content-Length: 3");
}

/* A page is what the handler gave for its path and parameters. */
START_TEST(test_pages)
{
    run(pages);
}

END_TEST

static void refusals(void)
{
    struct buf b = BUF_INIT;
    expect("POST / HTTP/1.1\r\nContent-Length: 3\r\n" CLOSE "abc",
           "HTTP/1.1 405 ", "only GET and HEAD");
    expect("DELETE / HTTP/1.1\r\n" CLOSE, "HTTP/1.1 405 ", "only GET");
    /* Headers larger than a connection may have. */
    buf_printf(&b, "GET / HTTP/1.1\r\nX: ");
    for (size_t i = 0; i < 2 * HTTP_CONNECTION_BYTES; i++)
        buf_append_byte(&b, 'x');
    buf_printf(&b, "\r\n" CLOSE);
    expect(buf_cstr(&b), "HTTP/1.1 431 ", "");
    buf_close(&b);
    expect("GET / HTTP/1.1\r\n" CLOSE, "HTTP/1.1 200 ", "/ -");
}

/* Other methods and oversized headers are refused, and do not end it. */
START_TEST(test_refusals)
{
    run(refusals);
}

END_TEST

static void in_use(void)
{
    struct http_server *second;
    struct err err = ERR_INIT;
    ck_assert_int_eq(
        http_listen(http_address(server), answer, NULL, &second, &err),
        ERR_BUSY);
    ck_assert_ptr_nonnull(strstr(err.text, http_address(server)));
    ck_assert_int_eq(http_listen("nonsense", answer, NULL, &second, &err),
                     ERR_INVALID);
    ck_assert_int_eq(http_listen("unix:/x", answer, NULL, &second, &err),
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
    ck_assert_int_eq(http_listen("127.0.0.1:0", answer, &server, &server, &err),
                     0);
}

/* Closing waits for a handler under way, whose fiber goes on meanwhile. */
START_TEST(test_closed_under_way)
{
    run(closed_under_way);
}

END_TEST

TEST_MAIN("http", test_pages, test_refusals, test_in_use, test_closed_under_way)
