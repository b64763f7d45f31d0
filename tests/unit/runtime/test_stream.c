/* Streams carry bytes in order, hold writers to their readers' pace, and end
 * when told, over TCP, Unix sockets and in the simulated world. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/core/crc32c.h"
#include "base/core/rand.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/stream.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "tests/lib/check_main.h"

enum {
    BIG = 3000000
};

/* --- Fixture ------------------------------------------------------------- */

static struct world *world;
static const char *address;

/* Run fn in a fiber on a loop of the real world. */
static void in_real_world(task_fn fn)
{
    struct err err = ERR_INIT;
    struct loop *l;
    world = world_real_new();
    ck_assert_int_eq(loop_new(world, "net", &l, &err), 0);
    loop_start(l);
    loop_call(l, "test", fn, NULL);
    loop_stop(l);
    loop_join(l);
    loop_free(l);
    world_free(world);
}

/* Run fn in the real world over TCP and over a Unix socket, and in the
 * simulated one. */
static void everywhere(task_fn fn)
{
    char path[400];
    snprintf(path, sizeof(path), "unix:%s/sock", test_tmpdir());
    for (int i = 0; i < 2; i++) {
        address = i ? path : "127.0.0.1:0";
        in_real_world(fn);
    }
    address = "sim:7";
    for (uint64_t seed = 0; seed < 5; seed++) {
        world = sim_world_new(
            &(struct sim_options){.seed = seed, .network_us = 200});
        sim_run(world, fn, NULL);
        world_free(world);
    }
}

static struct stream_listener *must_listen(void)
{
    struct err err = ERR_INIT;
    struct stream_listener *l;
    ck_assert_msg(stream_listen(address, &l, &err) == 0, "%s", err.text);
    return l;
}

static struct stream *must_connect(const char *to)
{
    struct err err = ERR_INIT;
    struct stream *s;
    ck_assert_msg(stream_connect(to, &s, &err) == 0, "%s", err.text);
    return s;
}

/* --- Echo ---------------------------------------------------------------- */

static void echo_one(void *arg)
{
    struct stream *s = arg;
    struct err err = ERR_INIT;
    static char p[70000];
    size_t got;
    while (stream_read(s, p, sizeof(p), &got, &err) == 0 && got) {
        struct slice part = slice_make(p, got);
        ck_assert_msg(stream_write(s, &part, 1, &err) == 0, "%s", err.text);
    }
    stream_close(s);
}

static void serve(void *arg)
{
    struct err err = ERR_INIT;
    struct stream *s;
    while (stream_accept(arg, &s, &err) == 0)
        fiber_detach(fiber_start(loop_self(), "echo", echo_one, s));
    ck_assert_int_eq(err.code, ERR_CLOSED);
}

static void fill(char *p, size_t len)
{
    struct rand_gen r;
    rand_init(&r, 42);
    for (size_t i = 0; i < len; i++)
        p[i] = (char)rand_u64(&r);
}

static void send_big(void *arg)
{
    struct err err = ERR_INIT;
    char *p = malloc(BIG);
    struct slice parts[100];
    fill(p, BIG);
    for (size_t i = 0; i < 100; i++)
        parts[i] = slice_make(p + i * (BIG / 100), BIG / 100);
    ck_assert_int_eq(stream_write(arg, parts, 100, &err), 0);
    free(p);
}

static void echo_big(void *arg)
{
    struct err err = ERR_INIT;
    struct stream_listener *l = must_listen();
    struct fiber *server = fiber_start(loop_self(), "server", serve, l);
    struct stream *s = must_connect(stream_listener_address(l));
    struct fiber *sender = fiber_start(loop_self(), "sender", send_big, s);
    char *back = malloc(BIG);
    char *want = malloc(BIG);
    (void)arg;
    fill(want, BIG);
    ck_assert_msg(stream_read_full(s, back, BIG, &err) == 0, "%s", err.text);
    ck_assert_uint_eq(crc32c(back, BIG), crc32c(want, BIG));
    fiber_join(sender);
    stream_close(s);
    stream_listener_close(l);
    fiber_join(server);
    free(back);
    free(want);
}

/* Megabytes go out and come back while neither side holds them all. */
START_TEST(test_echo)
{
    everywhere(echo_big);
}

END_TEST

static void echo_small(void *arg)
{
    struct err err = ERR_INIT;
    struct stream_listener *l = must_listen();
    struct fiber *server = fiber_start(loop_self(), "server", serve, l);
    struct slice part = SLICE_LIT("word");
    char back[4];
    struct stream *s = must_connect(address);
    (void)arg;
    ck_assert_int_eq(stream_write(s, &part, 1, &err), 0);
    ck_assert_int_eq(stream_read_full(s, back, 4, &err), 0);
    ck_assert_mem_eq(back, "word", 4);
    stream_close(s);
    stream_listener_close(l);
    fiber_join(server);
    ck_assert_int_eq(stream_connect(address, &s, &err), ERR_UNAVAILABLE);
}

static void nowhere(void *arg)
{
    struct err err = ERR_INIT;
    struct stream_listener *l;
    struct stream *s;
    (void)arg;
    ck_assert_int_eq(stream_listen(address, &l, &err), ERR_NOTFOUND);
    ck_assert_int_eq(stream_connect(address, &s, &err), ERR_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "not-there"));
}

/* As of a process that was killed. */
static void leave_socket(const char *dir)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = "sock"};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq(chdir(dir), 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    close(fd);
    ck_assert_int_eq(access("sock", F_OK), 0);
}

/* A Unix socket's path may be longer than the system's addresses are. A path
 * left by a dead process is reused; a directory that is missing is named. */
START_TEST(test_long_path)
{
    char path[600] = "unix:";
    char *dir = path + strlen(path);
    char *end;
    strcpy(dir, test_tmpdir());
    for (int i = 0; i < 4; i++) {
        strcat(dir, "/a-directory-with-a-long-name");
        ck_assert_int_eq(mkdir(dir, 0700), 0);
    }
    end = dir + strlen(dir);
    address = path;
    leave_socket(dir);
    strcpy(end, "/sock");
    in_real_world(echo_small);
    ck_assert_int_ne(access("sock", F_OK), 0);
    strcpy(end, "/not-there/sock");
    in_real_world(nowhere);
}

END_TEST

/* --- Ends ---------------------------------------------------------------- */

static void read_once(void *arg)
{
    struct err err = ERR_INIT;
    char p[10];
    size_t got;
    ck_assert_int_eq(stream_read(arg, p, sizeof(p), &got, &err), ERR_CLOSED);
}

static void ends(void *arg)
{
    struct err err = ERR_INIT;
    struct stream_listener *l = must_listen();
    struct stream *a = must_connect(stream_listener_address(l));
    struct stream *b;
    struct slice part = SLICE_LIT("last words");
    struct fiber *reader;
    char p[10];
    size_t got;
    int rc = 0;
    (void)arg;
    ck_assert_int_eq(stream_accept(l, &b, &err), 0);
    /* Bytes sent before the end arrive; then comes the end. */
    ck_assert_int_eq(stream_write(a, &part, 1, &err), 0);
    reader = fiber_start(loop_self(), "reader", read_once, a);
    world_sleep_us(world, 1000);
    stream_close(a); /* Its reader leaves with an error. */
    fiber_join(reader);
    ck_assert_int_eq(stream_read_full(b, p, 10, &err), 0);
    ck_assert_mem_eq(p, part.data, 10);
    ck_assert_int_eq(stream_read(b, p, 1, &got, &err), 0);
    ck_assert_uint_eq(got, 0);
    ck_assert_int_eq(stream_read_full(b, p, 1, &err), ERR_CLOSED);
    for (int i = 0; i < 100 && rc == 0; i++) {
        rc = stream_write(b, &part, 1, &err);
        world_sleep_us(world, 100);
    }
    ck_assert_int_eq(rc, ERR_CLOSED);
    stream_close(b);
    stream_listener_close(l);
}

/* An end arrives after the bytes before it; writing to nobody fails. */
START_TEST(test_ends)
{
    everywhere(ends);
}

END_TEST

/* --- Deadlines ----------------------------------------------------------- */

static void deadlines(void *arg)
{
    struct err err = ERR_INIT;
    struct stream_listener *l = must_listen();
    struct stream *s = must_connect(stream_listener_address(l));
    struct stream *none;
    char *big = calloc(1, BIG * 4);
    struct slice part = slice_make(big, BIG * 4);
    size_t got;
    (void)arg;
    fiber_set_deadline(world_mono_ns(world) + 20000000);
    ck_assert_int_eq(stream_read(s, big, 10, &got, &err), ERR_DEADLINE);
    fiber_set_deadline(world_mono_ns(world) + 20000000);
    ck_assert_int_eq(stream_write(s, &part, 1, &err), ERR_DEADLINE);
    fiber_set_deadline(0);
    stream_close(s);
    ck_assert_int_eq(stream_accept(l, &s, &err), 0);
    stream_close(s);
    fiber_set_deadline(world_mono_ns(world) + 20000000);
    ck_assert_int_eq(stream_accept(l, &s, &err), ERR_DEADLINE);
    fiber_set_deadline(0);
    stream_listener_close(l);
    ck_assert_int_eq(stream_connect("127.0.0.1:1", &none, &err),
                     ERR_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "127.0.0.1:1"));
    free(big);
}

/* Calls that would wait for ever end at the deadline; refusals say who. */
START_TEST(test_deadlines)
{
    everywhere(deadlines);
}

END_TEST

/* --- Addresses ----------------------------------------------------------- */

static void addresses(void *arg)
{
    static const char *const wrong[] = {"",   "host", ":1",
                                        "h:", "h:x",  "h:123456789"};
    struct err err = ERR_INIT;
    struct stream_listener *l = must_listen();
    struct stream_listener *second;
    struct stream *s;
    (void)arg;
    ck_assert_int_eq(stream_listen(stream_listener_address(l), &second, &err),
                     ERR_BUSY);
    stream_listener_close(l);
    if (strncmp(address, "sim:", 4) == 0)
        return;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        ck_assert_int_eq(stream_connect(wrong[i], &s, &err), ERR_INVALID);
    address = "[::1]:0";
    if (stream_listen(address, &l, &err) == 0) {
        s = must_connect(stream_listener_address(l));
        stream_close(s);
        stream_listener_close(l);
    }
    l = NULL;
    address = "localhost:0";
    l = must_listen();
    stream_listener_close(l);
}

/* Addresses in all forms; malformed and taken ones are refused. */
START_TEST(test_addresses)
{
    everywhere(addresses);
}

END_TEST

TEST_MAIN("stream",
          test_echo,
          test_long_path,
          test_ends,
          test_deadlines,
          test_addresses)
