/* Attachments of answers whose checksum the handler knows, from memory or from
 * a file, come whole or not at all, and by the shortest way there is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/crc32c.h"
#include "base/core/rand.h"
#include "base/rpc/remote.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/stream.h"
#include "base/runtime/world.h"
#include "tests/lib/check_main.h"

enum {
    FROM_FILE = 1,
    WRONG_CRC = 2,
    WHO = 3
};

#define FILE_BYTES 300000

/* --- Fixture ------------------------------------------------------------- */

struct fixture {
    struct world *world;
    struct rpc_server *server;
    struct rpc_listener *listener;
    struct file *file;
    char bytes[FILE_BYTES];
    unsigned released;
    bool lent; /* The last file was taken by the transport. */
};

static void release(void *ctx)
{
    ((struct fixture *)ctx)->released++;
}

/* body: two little numbers as text, "OFFSET LEN". */
static int from_file(void *ctx, struct rpc_call *call, struct err *err)
{
    struct fixture *f = ctx;
    char text[40] = {0};
    unsigned offset;
    unsigned len;
    size_t got;
    memcpy(text, call->body.data, call->body.len);
    ck_assert_int_eq(sscanf(text, "%u %u", &offset, &len), 2);
    f->lent = rpc_reply_file(call, f->file, offset, len,
                             crc32c(f->bytes + offset, len), release, f);
    if (f->lent)
        return 0;
    return file_read_at(f->file, offset,
                        buf_extend(call->reply_attachment, len), len, &got,
                        err);
}

static int wrong_crc(void *ctx, struct rpc_call *call, struct err *err)
{
    (void)ctx;
    (void)err;
    buf_append_fill(call->reply_attachment, 'x', 70000);
    call->reply_crc = (struct rpc_crc){true, 12345};
    return 0;
}

static int who(void *ctx, struct rpc_call *call, struct err *err)
{
    (void)ctx;
    (void)err;
    buf_append_slice(call->reply_body, call->peer);
    return 0;
}

static void start(struct fixture *f)
{
    static const struct rpc_method methods[] = {
        {FROM_FILE, "file", from_file, 0},
        {WRONG_CRC, "wrong", wrong_crc, 0},
        {WHO, "who", who, 0},
    };
    struct slice all = slice_make(f->bytes, FILE_BYTES);
    char path[256];
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (size_t i = 0; i < FILE_BYTES; i++)
        f->bytes[i] = (char)rand_u64(&r);
    snprintf(path, sizeof(path), "%s/data", test_tmpdir());
    ck_assert_int_eq(file_open(f->world, path,
                               FILE_READ | FILE_WRITE | FILE_CREATE, &f->file,
                               NULL),
                     0);
    ck_assert_int_eq(file_write_at(f->file, 0, &all, 1, NULL), 0);
    f->server = rpc_server_new(f->world);
    rpc_server_add(f->server, methods, 3, f);
    ck_assert_int_eq(
        rpc_listen(f->server, "127.0.0.1:0", NULL, &f->listener, NULL), 0);
}

static void stop(struct fixture *f)
{
    rpc_listener_close(f->listener);
    rpc_server_free(f->server);
    file_close(f->file);
}

static void run(task_fn fn)
{
    static struct fixture f;
    struct loop *l;
    memset(&f, 0, sizeof(f));
    f.world = world_real_new();
    ck_assert_int_eq(loop_new(f.world, "rpc", &l, NULL), 0);
    loop_start(l);
    loop_call(l, "test", fn, &f);
    loop_stop(l);
    loop_join(l);
    loop_free(l);
    world_free(f.world);
}

/* --- Tests --------------------------------------------------------------- */

static void check_range(struct fixture *f,
                        struct rpc_channel *c,
                        unsigned offset,
                        unsigned len,
                        bool sink)
{
    struct buf got = BUF_INIT;
    char *memory = buf_reserve(&got, FILE_BYTES);
    struct rpc_sink into = {.data = memory, .cap = FILE_BYTES};
    struct rpc_call_options o = {.into = sink ? &into : NULL};
    struct buf own = BUF_INIT;
    struct err err = ERR_INIT;
    char text[40];
    snprintf(text, sizeof(text), "%u %u", offset, len);
    ck_assert_msg(rpc_call(c, FROM_FILE, &o, slice_str(text), SLICE_EMPTY, NULL,
                           &own, &err) == 0,
                  "%s", err.text);
    ck_assert_uint_eq(sink ? into.len : own.len, len);
    ck_assert_mem_eq(sink ? memory : own.data, f->bytes + offset, len);
    buf_close(&own);
    buf_close(&got);
}

static void do_file(void *arg)
{
    struct fixture *f = arg;
    struct rpc_channel *remote;
    struct rpc_channel *tcp;
    struct rand_gen r;
    char address[40];
    rand_init(&r, test_seed());
    start(f);
    ck_assert_int_eq(
        rpc_connect(rpc_listener_address(f->listener), &remote, NULL), 0);
    snprintf(address, sizeof(address), "localhost%s",
             strchr(rpc_listener_address(f->listener), ':'));
    ck_assert_int_eq(rpc_connect(address, &tcp, NULL), 0);
    for (unsigned i = 0; i < 60; i++) {
        unsigned offset = (unsigned)rand_below(&r, FILE_BYTES);
        unsigned len = (unsigned)rand_below(&r, FILE_BYTES - offset) + 1;
        check_range(f, remote, offset, len, i % 2);
        ck_assert(f->lent);
        check_range(f, tcp, offset, len, i % 2);
        ck_assert(f->lent);
    }
    rpc_channel_free(remote);
    rpc_channel_free(tcp);
    stop(f);
    ck_assert_uint_eq(f->released, 120);
}

/* Any range of a file comes as it lies there, through shared memory and through
 * a socket; where the transport takes no files the handler is told so. */
START_TEST(test_answers_from_a_file)
{
    run(do_file);
}

END_TEST

static void do_wrong(void *arg)
{
    struct fixture *f = arg;
    struct rpc_channel *c;
    static char memory[70000];
    start(f);
    ck_assert_int_eq(rpc_connect(rpc_listener_address(f->listener), &c, NULL),
                     0);
    for (unsigned i = 0; i < 4; i++) {
        struct rpc_sink into = {.data = memory, .cap = sizeof(memory)};
        struct rpc_call_options o = {.into = i % 2 ? &into : NULL};
        struct buf own = BUF_INIT;
        struct err err = ERR_INIT;
        ck_assert_int_eq(rpc_call(c, WRONG_CRC, &o, SLICE_EMPTY, SLICE_EMPTY,
                                  NULL, &own, &err),
                         ERR_CORRUPT);
        ck_assert_ptr_nonnull(strstr(err.text, "checksum"));
        ck_assert_uint_eq(own.len, 0);
        buf_close(&own);
        ck_assert(rpc_channel_is_up(c));
        check_range(f, c, 1000, 100000, i % 2);
    }
    rpc_channel_free(c);
    stop(f);
}

/* An attachment that is not what its checksum says ends its call alone; the
 * connection stays open. */
START_TEST(test_wrong_attachment_ends_the_call)
{
    run(do_wrong);
}

END_TEST

/* A caller of its own, whose memory goes with it. */
struct caller {
    struct rpc_channel *channel;
    unsigned begun;
};

static void call_into_own(void *arg)
{
    struct caller *c = arg;
    struct rpc_sink *into = malloc(sizeof(*into));
    struct rpc_call_options o = {.into = into};
    char text[40];
    *into = (struct rpc_sink){.data = malloc(FILE_BYTES), .cap = FILE_BYTES};
    snprintf(text, sizeof(text), "0 %d", FILE_BYTES);
    c->begun++;
    (void)!rpc_call(c->channel, FROM_FILE, &o, slice_str(text), SLICE_EMPTY,
                    NULL, NULL, NULL);
    free(into->data);
    free(into);
}

static void do_giving_up(void *arg)
{
    struct fixture *f = arg;
    struct caller c = {.begun = 0};
    struct rand_gen r;
    rand_init(&r, test_seed());
    start(f);
    ck_assert_int_eq(
        rpc_connect(rpc_listener_address(f->listener), &c.channel, NULL), 0);
    for (unsigned i = 0; i < 300; i++) {
        struct fiber *caller =
            fiber_start(loop_self(), "caller", call_into_own, &c);
        for (uint64_t n = rand_below(&r, 30); n; n--)
            world_sleep_us(f->world, rand_below(&r, 50));
        fiber_cancel(caller);
        fiber_join(caller);
    }
    ck_assert_uint_eq(c.begun, 300);
    check_range(f, c.channel, 7, 100000, true);
    rpc_channel_free(c.channel);
    stop(f);
}

/* A caller that gives up takes its memory along, however much of the answer has
 * come; the connection stays open. */
START_TEST(test_giving_up_midway)
{
    run(do_giving_up);
}

END_TEST

static void ask_who(const char *address, struct buf *out)
{
    struct rpc_channel *c;
    ck_assert_int_eq(rpc_connect(address, &c, NULL), 0);
    ck_assert_int_eq(
        rpc_call(c, WHO, NULL, SLICE_EMPTY, SLICE_EMPTY, out, NULL, NULL), 0);
    rpc_channel_free(c);
}

static void do_nearby(void *arg)
{
    struct fixture *f = arg;
    struct stream_listener *squatter;
    struct rpc_listener *second;
    struct buf peer = BUF_INIT;
    struct buf name = BUF_INIT;
    char address[32];
    start(f);
    ask_who(rpc_listener_address(f->listener), &peer);
    ck_assert(slice_starts_with(buf_slice(&peer), SLICE_LIT("unix:")));
    /* Without one, and with one that is taken, TCP does. The port is below
     * those of clients and of other tests' servers. */
    snprintf(address, sizeof(address), "127.0.0.1:%d",
             9000 + (int)getpid() % 1000);
    buf_printf(&name, "unix:@quarry/%s", address);
    ck_assert_int_eq(stream_listen(buf_cstr(&name), &squatter, NULL), 0);
    ck_assert_int_eq(rpc_listen(f->server, address, NULL, &second, NULL), 0);
    stream_listener_close(squatter);
    buf_clear(&peer);
    ask_who(address, &peer);
    ck_assert(slice_starts_with(buf_slice(&peer), SLICE_LIT("127.0.0.1:")));
    rpc_listener_close(second);
    buf_close(&peer);
    buf_close(&name);
    stop(f);
}

/* A loopback server is reached by its Unix socket, and by TCP where it has
 * none. */
START_TEST(test_nearby)
{
    run(do_nearby);
}

END_TEST

TEST_MAIN("attachments",
          test_answers_from_a_file,
          test_wrong_attachment_ends_the_call,
          test_giving_up_midway,
          test_nearby)
