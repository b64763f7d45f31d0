/* Attachments through shared memory arrive as they were sent and in any order
 * of sizes; no place, count or segment that the other side makes up leads out
 * of the memory, and a connection falls back to its stream when there is no
 * room. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/rand.h"
#include "base/rpc/frame.h"
#include "base/rpc/handshake.h"
#include "base/rpc/remote.h"
#include "base/rpc/shared_ring.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/loop.h"
#include "base/runtime/shared_memory.h"
#include "base/runtime/stream.h"
#include "base/runtime/world.h"
#include "tests/lib/check_main.h"
#include "tests/lib/frame_header.h"

#define SLOTS_MAX 64

/* --- Fixture ------------------------------------------------------------- */

/* Two ends in one process: what one puts, the other finds. */
struct pair {
    struct shared_memory *a;
    struct shared_memory *b;
    struct shared_ring *sender;
    struct shared_ring *receiver;
    struct shared_memory *a_again; /* Each ring owns its two. */
    struct shared_memory *b_again;
};

static struct world *world;
static struct stream *ends[2];

static void pass(struct shared_memory *m, int from, struct shared_memory **out)
{
    size_t bytes = shared_ring_segment_bytes();
    ck_assert_int_eq(shared_memory_send(m, ends[from], NULL), 0);
    ck_assert_int_eq(shared_memory_receive(ends[1 - from], bytes, out, NULL),
                     0);
}

static void open_pair(struct pair *p)
{
    size_t bytes = shared_ring_segment_bytes();
    ck_assert_int_eq(shared_memory_new(bytes, &p->a, NULL), 0);
    ck_assert_int_eq(shared_memory_new(bytes, &p->b, NULL), 0);
    pass(p->a, 0, &p->a_again);
    pass(p->b, 1, &p->b_again);
    p->sender = shared_ring_over(p->a, p->b_again);
    p->receiver = shared_ring_over(p->b, p->a_again);
}

static void close_pair(struct pair *p)
{
    shared_ring_free(p->sender);
    shared_ring_free(p->receiver);
}

static void connect_ends(void)
{
    struct stream_listener *l;
    char address[300];
    snprintf(address, sizeof(address), "unix:%s/meet", test_tmpdir());
    ck_assert_int_eq(stream_listen(address, &l, NULL), 0);
    ck_assert_int_eq(stream_connect(address, &ends[0], NULL), 0);
    ck_assert_int_eq(stream_accept(l, &ends[1], NULL), 0);
    stream_listener_close(l);
}

static void in_real_world(task_fn fn)
{
    struct loop *l;
    world = world_real_new();
    ck_assert_int_eq(loop_new(world, "test", &l, NULL), 0);
    loop_start(l);
    loop_call(l, "test", fn, NULL);
    loop_stop(l);
    loop_join(l);
    loop_free(l);
    world_free(world);
}

static void close_ends(void)
{
    stream_close(ends[0]);
    stream_close(ends[1]);
}

/* --- Tests --------------------------------------------------------------- */

struct slot {
    uint64_t place;
    size_t len;
    char fill;
};

static bool is_filled(const char *at, size_t len, char fill)
{
    for (size_t i = 0; i < len; i++)
        if (at[i] != fill)
            return false;
    return true;
}

static void take_oldest(struct pair *p, struct slot *slots, size_t *count)
{
    const char *at;
    ck_assert_int_eq(
        shared_ring_find(p->receiver, slots[0].place, slots[0].len, &at, NULL),
        0);
    ck_assert(is_filled(at, slots[0].len, slots[0].fill));
    shared_ring_taken(p->receiver, slots[0].place, slots[0].len);
    memmove(slots, slots + 1, --*count * sizeof(*slots));
}

static void any_order(void *arg)
{
    struct pair p;
    struct slot slots[SLOTS_MAX];
    size_t count = 0;
    struct rand_gen r;
    (void)arg;
    rand_init(&r, test_seed());
    connect_ends();
    open_pair(&p);
    for (int i = 0; i < 3000; i++) {
        struct slot s = {.len = 1 + rand_below(&r, 300000), .fill = (char)i};
        char *to = NULL;
        if (count < SLOTS_MAX && rand_below(&r, 2))
            to = shared_ring_put(p.sender, s.len, &s.place);
        else if (count > 0)
            take_oldest(&p, slots, &count);
        if (to) {
            memset(to, s.fill, s.len);
            slots[count++] = s;
        }
    }
    while (count)
        take_oldest(&p, slots, &count);
    close_pair(&p);
    close_ends();
}

/* Bytes that were put and not taken stay unchanged, whatever is put after
 * them. */
START_TEST(test_any_order)
{
    in_real_world(any_order);
}

END_TEST

static void fills_up(void *arg)
{
    struct pair p;
    uint64_t place = 0;
    unsigned count = 0;
    (void)arg;
    connect_ends();
    open_pair(&p);
    ck_assert_ptr_null(
        shared_ring_put(p.sender, SHARED_RING_BYTES + 1, &place));
    ck_assert_ptr_nonnull(shared_ring_put(p.sender, 100000, &place));
    shared_ring_taken(p.receiver, place, 100000);
    while (shared_ring_put(p.sender, 100000, &place))
        count++;
    ck_assert_uint_eq(count, SHARED_RING_BYTES / 100000);
    shared_ring_taken(p.receiver, place, 100000);
    ck_assert_ptr_nonnull(shared_ring_put(p.sender, SHARED_RING_BYTES, &place));
    /* A count of what was never put: nothing is put any more. */
    shared_ring_taken(p.receiver, place + SHARED_RING_BYTES, 1);
    ck_assert_ptr_null(shared_ring_put(p.sender, 1, &place));
    close_pair(&p);
    close_ends();
}

/* A ring has room for as much after something was taken as at first; a full one
 * says so, and is empty again when all was taken; a count that cannot be makes
 * it full for good. */
START_TEST(test_fills_up)
{
    in_real_world(fills_up);
}

END_TEST

static void wild_places(void *arg)
{
    struct pair p;
    struct rand_gen r;
    unsigned wrong = 0;
    (void)arg;
    rand_init(&r, test_seed());
    connect_ends();
    open_pair(&p);
    for (int i = 0; i < 100000; i++) {
        uint64_t place = rand_u64(&r) >> rand_below(&r, 64);
        size_t len = (size_t)(rand_u64(&r) >> rand_below(&r, 64));
        const char *at;
        int rc = shared_ring_find(p.receiver, place, len, &at, NULL);
        size_t in_ring = place % SHARED_RING_BYTES;
        bool inside =
            len <= SHARED_RING_BYTES && in_ring + len <= SHARED_RING_BYTES;
        wrong += rc != (inside ? 0 : ERR_CORRUPT);
        if (inside && len)
            wrong += at[0] || at[len - 1];
    }
    ck_assert_uint_eq(wrong, 0);
    close_pair(&p);
    close_ends();
}

/* A place is inside the memory or refused. */
START_TEST(test_wild_places)
{
    in_real_world(wild_places);
}

END_TEST

static void other_files(void *arg)
{
    struct shared_memory *m;
    struct shared_memory *got;
    char path[300];
    struct file *f;
    (void)arg;
    connect_ends();
    snprintf(path, sizeof(path), "%s/file", test_tmpdir());
    ck_assert_int_eq(
        file_open(world, path, FILE_READ | FILE_WRITE | FILE_CREATE, &f, NULL),
        0);
    ck_assert_int_eq(file_truncate(f, shared_ring_segment_bytes(), NULL), 0);
    ck_assert_int_eq(stream_send_file(ends[0], f, NULL), 0);
    ck_assert_int_eq(
        shared_memory_receive(ends[1], shared_ring_segment_bytes(), &got, NULL),
        ERR_CORRUPT);
    file_close(f);
    ck_assert_int_eq(shared_memory_new(4096, &m, NULL), 0);
    ck_assert_int_eq(shared_memory_send(m, ends[0], NULL), 0);
    ck_assert_int_eq(
        shared_memory_receive(ends[1], shared_ring_segment_bytes(), &got, NULL),
        ERR_CORRUPT);
    shared_memory_free(m);
    close_ends();
}

/* A file that could shrink, and memory of another size, are refused. */
START_TEST(test_other_files)
{
    in_real_world(other_files);
}

END_TEST

/* --- Over connections ---------------------------------------------------- */

enum {
    ECHO = 1
};

static int echo(void *ctx, struct rpc_call *call, struct err *err)
{
    (void)ctx;
    (void)err;
    buf_append_slice(call->reply_attachment, call->attachment);
    return 0;
}

static struct rpc_server *server;
static struct rpc_listener *listener;
static unsigned caller_count;

static void start(void)
{
    static const struct rpc_method method = {ECHO, "echo", echo, 0};
    server = rpc_server_new(world);
    rpc_server_add(server, &method, 1, NULL);
    ck_assert_int_eq(rpc_listen(server, "127.0.0.1:0", NULL, &listener, NULL),
                     0);
}

static void stop(void)
{
    rpc_listener_close(listener);
    rpc_server_free(server);
}

static void call_often(void *arg)
{
    struct rpc_channel *c = arg;
    struct rand_gen r;
    struct buf bytes = BUF_INIT;
    struct buf body = BUF_INIT;
    struct buf back = BUF_INIT;
    rand_init(&r, test_seed() + ++caller_count);
    for (int i = 0; i < 60; i++) {
        size_t len = rand_below(&r, rand_below(&r, 4) ? 200000 : 3000000);
        uint64_t fill = rand_u64(&r);
        buf_clear(&bytes);
        buf_clear(&back);
        for (size_t at = 0; at < len; at += 8)
            buf_append(&bytes, &fill, MIN_OF(len - at, 8));
        ck_assert_int_eq(rpc_call(c, ECHO, NULL, SLICE_EMPTY, buf_slice(&bytes),
                                  &body, &back, NULL),
                         0);
        ck_assert_uint_eq(back.len, len);
        ck_assert(len == 0 || memcmp(back.data, bytes.data, len) == 0);
    }
    buf_close(&bytes);
    buf_close(&body);
    buf_close(&back);
}

static void many_calls(void *arg)
{
    struct rpc_channel *c;
    struct fiber *f[8];
    (void)arg;
    start();
    c = rpc_channel_new(rpc_listener_address(listener), NULL);
    for (int i = 0; i < 8; i++)
        f[i] = fiber_start(loop_self(), "caller", call_often, c);
    for (int i = 0; i < 8; i++)
        fiber_join(f[i]);
    rpc_channel_free(c);
    stop();
}

/* Attachments of all sizes, more at once than there is room for, come back. */
START_TEST(test_many_calls)
{
    in_real_world(many_calls);
}

END_TEST

/* Send a request whose attachment of @len is said to be at @place; true if an
 * answer comes, false if the server hangs up. */
static bool is_answered(uint64_t place, size_t len, bool share)
{
    struct frame f = {.kind = FRAME_REQUEST, .call_id = 1, .method = ECHO};
    char bytes[FRAME_HEADER_BYTES + FRAME_PLACE_BYTES];
    char *zeros = calloc(1, len + 1);
    char address[300];
    struct slice part = slice_make(bytes, sizeof(bytes));
    struct sharing sharing;
    struct stream *s;
    size_t got = 0;
    f.attachment = slice_make(zeros, len);
    frame_encode_header(&f, bytes);
    frame_mark_shared(bytes);
    put_le64(bytes + FRAME_HEADER_BYTES, place);
    snprintf(address, sizeof(address), "%s%s", share ? "unix:@quarry/" : "",
             rpc_listener_address(listener));
    ck_assert_int_eq(stream_connect(address, &s, NULL), 0);
    ck_assert_int_eq(handshake_connect(NULL, address, &s, &sharing, NULL), 0);
    ck_assert(share == (sharing.ring != NULL));
    ck_assert_int_eq(stream_write(s, &part, 1, NULL), 0);
    if (stream_read(s, bytes, sizeof(bytes), &got, NULL))
        got = 0;
    stream_close(s);
    shared_ring_free(sharing.ring);
    free(zeros);
    return got > 0;
}

static void hostile_frames(void *arg)
{
    (void)arg;
    start();
    ck_assert(is_answered(0, 100000, true));
    ck_assert(is_answered(UINT64_MAX - SHARED_RING_BYTES + 1, 1, true));
    ck_assert(!is_answered(SHARED_RING_BYTES - 10, 100000, true));
    ck_assert(!is_answered(UINT64_MAX, 100000, true));
    ck_assert(!is_answered(0, SHARED_RING_BYTES + 1, true));
    ck_assert(!is_answered(0, 100000, false)); /* Nothing is shared. */
    stop();
}

/* A frame that names a place outside the memory, or any place where there is
 * none, ends its connection. */
START_TEST(test_hostile_frames)
{
    in_real_world(hostile_frames);
}

END_TEST

/* --- Without memory to share --------------------------------------------- */

/* May files be as long as a segment? Where not, one byte less: check keeps what
 * each assertion tells it in a file, too, and a lower limit cuts that off. */
static void allow_segments(bool may)
{
    struct rlimit r;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &r), 0);
    r.rlim_cur = may ? r.rlim_max : shared_ring_segment_bytes() - 1;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &r), 0);
}

static void run_allow(void *arg)
{
    allow_segments(*(const bool *)arg);
}

/* The client makes its segment before it parks, the server when it has heard
 * of that: each as far as it may then. */
static void meet_where(bool client_may, bool server_may)
{
    struct sharing sharing;
    struct fiber *other;
    struct stream *s;
    char address[300];
    snprintf(address, sizeof(address), "unix:@quarry/%s",
             rpc_listener_address(listener));
    ck_assert_int_eq(stream_connect(address, &s, NULL), 0);
    allow_segments(client_may);
    other = fiber_start(loop_self(), "allow", run_allow, &server_may);
    ck_assert_int_eq(handshake_connect(NULL, address, &s, &sharing, NULL), 0);
    allow_segments(true);
    fiber_join(other);
    ck_assert((client_may && server_may) == (sharing.ring != NULL));
    ck_assert_int_eq(sharing.refused.code, client_may ? 0 : ERR_EXHAUSTED);
    stream_close(s);
    shared_ring_free(sharing.ring);
}

static unsigned lines_of(const char *path)
{
    char line[2 * LOG_LINE_BYTES];
    FILE *f = fopen(path, "r");
    unsigned n = 0;
    ck_assert_ptr_nonnull(f);
    while (fgets(line, sizeof(line), f)) {
        ck_assert_ptr_nonnull(strstr(line, "no shared memory peer="));
        n++;
    }
    fclose(f);
    return n;
}

static void no_memory(void *arg)
{
    struct rpc_channel *c;
    struct logger *logger;
    char path[300];
    (void)arg;
    signal(SIGXFSZ, SIG_IGN);
    snprintf(path, sizeof(path), "%s/log", test_tmpdir());
    ck_assert_int_eq(logger_open(path, LOG_LEVEL_INFO, &logger, NULL), 0);
    world_set_logger(world, logger);
    start();
    meet_where(true, true);
    meet_where(false, true);
    meet_where(true, false);
    allow_segments(false);
    c = rpc_channel_new(rpc_listener_address(listener), NULL);
    call_often(c);
    rpc_channel_free(c);
    stop();
    ck_assert_uint_eq(lines_of(path), 2); /* The server's, the channel's. */
    world_set_logger(world, NULL);
    logger_close(logger);
}

/* Where one side or the other cannot make what is to be shared, all goes over
 * the socket, and its log says so once. */
START_TEST(test_no_memory)
{
    in_real_world(no_memory);
}

END_TEST

struct side {
    struct shared_memory *own;
    struct shared_ring *ring;
    struct err refused;
};

/* May this process open descriptors? */
static void allow_descriptors(bool may)
{
    struct rlimit r;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &r), 0);
    r.rlim_cur = may ? r.rlim_max : 0;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &r), 0);
}

static void open_side(struct side *side, bool is_client)
{
    ck_assert_int_eq(shared_ring_open(ends[is_client], is_client, side->own,
                                      &side->ring, &side->refused, NULL),
                     0);
}

static void run_client(void *arg)
{
    open_side(arg, true);
}

/* The client takes the server's segment when the server is done. */
static void exchange(struct side *server_side,
                     bool server_may,
                     struct side *client,
                     bool client_may)
{
    size_t bytes = shared_ring_segment_bytes();
    struct fiber *f;
    *server_side = *client = (struct side){.refused = ERR_INIT};
    connect_ends();
    ck_assert_int_eq(shared_memory_new(bytes, &server_side->own, NULL), 0);
    ck_assert_int_eq(shared_memory_new(bytes, &client->own, NULL), 0);
    f = fiber_start(loop_self(), "client", run_client, client);
    allow_descriptors(server_may);
    open_side(server_side, false);
    allow_descriptors(client_may);
    fiber_join(f);
    allow_descriptors(true);
    close_ends();
}

static void check_refused(struct side *by, struct side *other)
{
    uint64_t place;
    ck_assert_ptr_null(by->ring);
    ck_assert_int_eq(by->refused.code, ERR_EXHAUSTED);
    ck_assert_int_eq(other->refused.code, 0);
    ck_assert_ptr_nonnull(other->ring);
    ck_assert_ptr_null(shared_ring_put(other->ring, 1, &place));
    shared_ring_free(other->ring);
}

static void no_descriptors(void *arg)
{
    struct side server_side;
    struct side client;
    (void)arg;
    exchange(&server_side, false, &client, true);
    check_refused(&server_side, &client);
    exchange(&server_side, true, &client, false);
    check_refused(&client, &server_side);
}

/* A side that cannot take the other's segment says so, and the other puts
 * nothing there. */
START_TEST(test_no_descriptors)
{
    in_real_world(no_descriptors);
}

END_TEST

TEST_MAIN("shared_ring",
          test_any_order,
          test_fills_up,
          test_wild_places,
          test_other_files,
          test_many_calls,
          test_hostile_frames,
          test_no_memory,
          test_no_descriptors)
