/* An open file is sent over a Unix socket, and the receiver reads it even
 * after its name is gone. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/stream.h"
#include "base/runtime/world.h"
#include "tests/lib/check_main.h"

struct scene {
    struct world *world;
    char socket[160];
    char path[160];
    struct stream_listener *listener;
};

static void serve(void *arg)
{
    struct scene *s = arg;
    struct stream *stream;
    struct slice part = SLICE_LIT("text");
    struct file *f;
    ck_assert_int_eq(stream_accept(s->listener, &stream, NULL), 0);
    ck_assert_int_eq(file_open(s->world, s->path,
                               FILE_READ | FILE_WRITE | FILE_CREATE, &f, NULL),
                     0);
    ck_assert_int_eq(file_write_at(f, 0, &part, 1, NULL), 0);
    ck_assert_int_eq(stream_write(stream, &part, 1, NULL), 0);
    ck_assert_int_eq(stream_send_file(stream, f, NULL), 0);
    file_close(f);
    ck_assert_int_eq(world_remove(s->world, s->path, NULL), 0);
    ck_assert_int_eq(stream_write(stream, &part, 1, NULL), 0);
    stream_close(stream);
}

static void run(void *arg)
{
    struct scene *s = arg;
    struct stream *stream;
    struct fiber *server;
    struct file *f;
    char got[4];
    size_t n;
    ck_assert_int_eq(stream_listen(s->socket, &s->listener, NULL), 0);
    server = fiber_start(loop_self(), "server", serve, s);
    ck_assert_int_eq(stream_connect(s->socket, &stream, NULL), 0);
    ck_assert_int_eq(stream_read_full(stream, got, 4, NULL), 0);
    ck_assert_int_eq(stream_receive_file(stream, &f, NULL), 0);
    fiber_join(server);
    memset(got, 0, sizeof(got));
    ck_assert_int_eq(file_read_at(f, 0, got, 4, &n, NULL), 0);
    ck_assert_uint_eq(n, 4);
    ck_assert_mem_eq(got, "text", 4);
    file_close(f);
    /* Plain bytes where a file should be are refused. */
    ck_assert_int_eq(stream_receive_file(stream, &f, NULL), ERR_CORRUPT);
    ck_assert_ptr_null(f);
    stream_close(stream);
    stream_listener_close(s->listener);
}

START_TEST(test_file_passes_over_a_unix_socket)
{
    struct scene s = {.world = world_real_new()};
    struct loop *loop;
    uint64_t capacity;
    uint64_t room;
    snprintf(s.socket, sizeof(s.socket), "unix:%s/s", test_tmpdir());
    snprintf(s.path, sizeof(s.path), "%s/f", test_tmpdir());
    ck_assert_int_eq(loop_new(s.world, "test", &loop, NULL), 0);
    loop_start(loop);
    loop_call(loop, "run", run, &s);
    loop_stop(loop);
    loop_join(loop);
    loop_free(loop);
    ck_assert_int_eq(
        world_space(s.world, test_tmpdir(), &capacity, &room, NULL), 0);
    ck_assert_uint_gt(capacity, 0);
    ck_assert_uint_le(room, capacity);
    world_free(s.world);
}

END_TEST

TEST_MAIN("pass_file", test_file_passes_over_a_unix_socket)
