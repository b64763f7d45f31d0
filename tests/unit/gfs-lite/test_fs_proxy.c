/* A proxy client sees the files of the proxy server's file system, whatever the
 * proxy, proxy clients before it, and what they send do. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "gfs-lite/fs.h"
#include "gfs-lite/fs_proxy.h"
#include "tests/lib/check_main.h"

static struct world *world;
static const char *root;
static struct fs *real;
static struct fs_proxy_server *proxy;
static struct fs_proxy_session *session;
static struct task *server;
static int ends[2];
static unsigned opened; /* File systems of proxy clients' own. */

static void run_server(void *arg)
{
    (void)arg;
    fs_proxy_session_serve(session, ends[0]);
}

static void set_up(void)
{
    world = world_real_new();
    root = test_tmpdir();
    opened = 0;
    ck_assert_int_eq(fs_local_open(world, root, &real, NULL), 0);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    proxy = fs_proxy_server_new(real);
    session = fs_proxy_session_new(proxy, NULL);
    server = task_start(world, "proxy server", run_server, NULL);
}

static void stop_server(void)
{
    if (!server)
        return;
    shutdown(ends[0], SHUT_RDWR);
    task_join(server);
    server = NULL;
}

static void tear_down(void)
{
    stop_server();
    close(ends[0]);
    close(ends[1]);
    fs_proxy_session_free(session);
    fs_proxy_server_free(proxy);
    fs_close(real);
    world_free(world);
}

static int
open_own(void *ctx, struct world *w, struct fs **out, struct err *err)
{
    (void)ctx;
    opened++;
    return fs_local_open(w, root, out, err);
}

static struct fs *borrow(void)
{
    return fs_proxy_connect(world, ends[1], open_own, NULL);
}

static void fill(struct buf *b, size_t bytes, struct rand_gen *r)
{
    char *p;
    buf_clear(b);
    p = buf_extend(b, bytes);
    for (size_t i = 0; i < bytes; i++)
        p[i] = (char)rand_u64(r);
}

static int write_file(struct fs *fs, const char *path, struct slice bytes)
{
    const struct fs_write_options o = {.mode = FS_WRITE_STREAM};
    struct fs_writer *w = NULL;
    int rc = fs_create(fs, path, &o, &w, NULL);
    for (size_t at = 0; rc == 0 && at < bytes.len; at += 30000)
        rc = fs_writer_append(w, bytes.data + at,
                              MIN_OF(bytes.len - at, (size_t)30000), NULL);
    if (rc == 0)
        rc = fs_writer_sync(w, NULL);
    if (rc == 0)
        ck_assert_uint_eq(fs_writer_offset(w), bytes.len);
    fs_writer_close(w);
    return rc;
}

static void expect_file(struct fs *fs, const char *path, struct slice want)
{
    struct buf got = BUF_INIT;
    ck_assert_int_eq(fs_read_all(fs, path, 1 << 30, &got, NULL), 0);
    ck_assert(slice_eq(buf_slice(&got), want));
    buf_close(&got);
}

/* --- the same files ------------------------------------------------------ */

/* Whatever the size, what is written is there for others, and what others wrote
 * is read, whole and at any offset; only what is small goes without a file
 * system of the proxy client's own. */
START_TEST(test_sizes)
{
    static const size_t sizes[] = {
        0, 1, 4096, FS_PROXY_BYTES_MAX - 1, FS_PROXY_BYTES_MAX, 65537, 300000};
    struct rand_gen r;
    struct buf bytes = BUF_INIT;
    set_up();
    rand_init(&r, test_seed());
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        struct fs *fs = borrow();
        struct fs_reader *reader = NULL;
        struct buf name = BUF_INIT;
        char part[1000];
        fill(&bytes, sizes[i], &r);
        opened = 0;
        ck_assert_int_eq(write_file(fs, "a/b", buf_slice(&bytes)), 0);
        expect_file(real, "a/b", buf_slice(&bytes));
        buf_printf(&name, "c%zu", i); /* Readers stay open a while. */
        ck_assert_int_eq(write_file(real, buf_cstr(&name), buf_slice(&bytes)),
                         0);
        fs_close(fs);
        fs = borrow();
        expect_file(fs, buf_cstr(&name), buf_slice(&bytes));
        ck_assert_uint_eq(opened, sizes[i] > FS_PROXY_BYTES_MAX ? 2 : 0);
        ck_assert_int_eq(fs_open(fs, buf_cstr(&name), &reader, NULL), 0);
        ck_assert_uint_eq(fs_reader_size(reader), sizes[i]);
        for (int k = 0; k < 20; k++) {
            size_t at = rand_below(&r, sizes[i] + 10);
            size_t want = MIN_OF(sizeof(part), sizes[i] - MIN_OF(at, sizes[i]));
            size_t got = 0;
            ck_assert_int_eq(
                fs_read_at(reader, at, part, sizeof(part), &got, NULL), 0);
            ck_assert_uint_eq(got, want);
            ck_assert(slice_eq(slice_make(part, got),
                               slice_sub(buf_slice(&bytes), at, at + got)));
        }
        fs_reader_close(reader);
        fs_close(fs);
        buf_close(&name);
    }
    buf_close(&bytes);
    tear_down();
}

END_TEST

/* A writer that continues behind a sync, small or large, leaves all bytes. */
START_TEST(test_appending_on)
{
    const struct fs_write_options o = {.mode = FS_WRITE_LOG};
    static char more[FS_PROXY_BYTES_MAX];
    struct fs *fs;
    struct buf want = BUF_INIT;
    set_up();
    fs = borrow();
    memset(more, 'm', sizeof(more));
    for (int large = 0; large < 2; large++) {
        size_t n = large ? sizeof(more) : 10;
        struct fs_writer *w = NULL;
        buf_clear(&want);
        ck_assert_int_eq(fs_create(fs, "log", &o, &w, NULL), 0);
        for (int i = 0; i < 3; i++) {
            ck_assert_int_eq(fs_writer_append_sync(w, more, n, NULL), 0);
            buf_append(&want, more, n);
            expect_file(real, "log", buf_slice(&want));
        }
        fs_writer_close(w);
    }
    ck_assert_uint_eq(opened, 1);
    buf_close(&want);
    fs_close(fs);
    tear_down();
}

END_TEST

/* One that reads much is sent to read by itself; what it reads stays right. */
START_TEST(test_much)
{
    struct fs *fs;
    struct rand_gen r;
    struct buf bytes = BUF_INIT;
    set_up();
    fs = borrow();
    rand_init(&r, test_seed());
    fill(&bytes, FS_PROXY_BYTES_MAX, &r);
    ck_assert_int_eq(write_file(real, "f", buf_slice(&bytes)), 0);
    for (size_t read = 0; read < 2 * FS_PROXY_READ_BYTES_MAX;
         read += bytes.len) {
        ck_assert_uint_eq(opened, read > FS_PROXY_READ_BYTES_MAX);
        expect_file(fs, "f", buf_slice(&bytes));
    }
    ck_assert_uint_eq(opened, 1);
    buf_close(&bytes);
    fs_close(fs);
    tear_down();
}

END_TEST

/* Errors of the proxy server's file system arrive, with their words; what it
 * has not to do with is done by the proxy client itself. */
START_TEST(test_errors_and_names)
{
    struct fs *fs;
    struct fs_reader *reader = NULL;
    struct fs_info info;
    struct err err = ERR_INIT;
    set_up();
    fs = borrow();
    ck_assert_int_eq(fs_open(fs, "nothing", &reader, &err), ERR_NOTFOUND);
    ck_assert_ptr_nonnull(strstr(err.text, "nothing"));
    ck_assert_int_ne(write_file(fs, "../out", SLICE_LIT("x")), 0);
    ck_assert_uint_eq(opened, 0);
    ck_assert_int_eq(write_file(fs, "d/one", SLICE_LIT("x")), 0);
    ck_assert_int_eq(fs_rename(fs, "d/one", "d/two", NULL), 0);
    ck_assert_int_eq(fs_stat(fs, "d/two", &info, NULL), 0);
    ck_assert_uint_eq(info.size_bytes, 1);
    ck_assert_int_eq(fs_remove(fs, "d/two", NULL), 0);
    ck_assert_int_eq(fs_stat(real, "d/two", &info, NULL), ERR_NOTFOUND);
    ck_assert_uint_eq(opened, 1);
    fs_close(fs);
    tear_down();
}

END_TEST

/* More files than a proxy server keeps open, again and again. */
START_TEST(test_many_files)
{
    struct fs *fs;
    set_up();
    fs = borrow();
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 200; i++) {
            struct buf name = BUF_INIT;
            buf_printf(&name, "many/%d", i);
            if (round == 0)
                ck_assert_int_eq(
                    write_file(fs, buf_cstr(&name), buf_slice(&name)), 0);
            expect_file(fs, buf_cstr(&name), buf_slice(&name));
            buf_close(&name);
        }
    ck_assert_uint_eq(opened, 0);
    fs_close(fs);
    tear_down();
}

END_TEST

/* --- the proxy, and others ----------------------------------------------- */

/* When the proxy server goes, writes that were begun with it continue, and
 * end right. */
START_TEST(test_lender_gone)
{
    const struct fs_write_options o = {.mode = FS_WRITE_STREAM};
    struct fs *fs;
    struct fs_reader *reader = NULL;
    struct fs_writer *w = NULL;
    char got[16];
    size_t n = 0;
    set_up();
    fs = borrow();
    ck_assert_int_eq(write_file(real, "r", SLICE_LIT("0123456789")), 0);
    ck_assert_int_eq(fs_open(fs, "r", &reader, NULL), 0);
    ck_assert_int_eq(fs_create(fs, "w", &o, &w, NULL), 0);
    ck_assert_int_eq(fs_writer_append(w, "abc", 3, NULL), 0);
    stop_server();
    ck_assert_int_eq(fs_read_at(reader, 5, got, sizeof(got), &n, NULL), 0);
    ck_assert(slice_eq_str(slice_make(got, n), "56789"));
    ck_assert_int_eq(fs_writer_append(w, "def", 3, NULL), 0);
    ck_assert_int_eq(fs_writer_sync(w, NULL), 0);
    fs_writer_close(w);
    fs_reader_close(reader);
    expect_file(real, "w", SLICE_LIT("abcdef"));
    expect_file(fs, "r", SLICE_LIT("0123456789"));
    ck_assert_uint_eq(opened, 1);
    fs_close(fs);
    tear_down();
}

END_TEST

static void send_question(enum fs_proxy_op op, const char *path)
{
    struct buf q = BUF_INIT;
    buf_put_u8(&q, (uint8_t)op);
    buf_put_le64(&q, 7);
    buf_put_lslice(&q, slice_str(path));
    ck_assert_int_eq(send(ends[1], q.data, q.len, 0), (ssize_t)q.len);
    buf_close(&q);
}

/* A proxy client that dies between question and answer leaves the answer to the
 * next, who skips it; empty and malformed messages hurt nobody. */
START_TEST(test_dead_and_hostile_borrowers)
{
    struct rand_gen r;
    set_up();
    rand_init(&r, test_seed());
    ck_assert_int_eq(write_file(real, "a", SLICE_LIT("right")), 0);
    ck_assert_int_eq(write_file(real, "b", SLICE_LIT("wrong bytes")), 0);
    for (int i = 0; i < 50; i++) {
        struct fs *fs;
        char junk[64];
        send_question(FS_PROXY_OPEN, "b");
        send_question((enum fs_proxy_op)rand_below(&r, 6), "b");
        for (size_t k = 0; k < sizeof(junk); k++)
            junk[k] = (char)rand_u64(&r);
        ck_assert_int_ge(send(ends[1], junk, rand_below(&r, sizeof(junk)), 0),
                         0);
        ck_assert_int_eq(send(ends[1], junk, 0, 0), 0);
        fs = borrow();
        expect_file(fs, "a", SLICE_LIT("right"));
        fs_close(fs);
    }
    ck_assert_uint_eq(opened, 0);
    tear_down();
}

END_TEST

static int answer_code(struct slice message)
{
    struct buf answer = BUF_INIT;
    struct cursor in;
    int rc;
    fs_proxy_session_answer(session, message, &answer);
    in = cursor_make(buf_slice(&answer));
    cursor_le64(&in);
    rc = (int)cursor_zigzag(&in);
    ck_assert(!in.bad);
    buf_close(&answer);
    return rc;
}

static void
put_read(struct buf *q, uint64_t size, uint64_t offset, uint64_t len)
{
    buf_clear(q);
    buf_put_u8(q, FS_PROXY_READ);
    buf_put_le64(q, 1);
    buf_put_lslice(q, SLICE_LIT("f"));
    buf_put_varint(q, size);
    buf_put_varint(q, offset);
    buf_put_varint(q, len);
}

/* A question that is cut, asks for too much, or is of a file that has changed
 * is refused. */
START_TEST(test_questions)
{
    struct buf q = BUF_INIT;
    set_up();
    ck_assert_int_eq(write_file(real, "f", SLICE_LIT("12345")), 0);
    put_read(&q, 5, 0, 5);
    ck_assert_int_eq(answer_code(buf_slice(&q)), 0);
    for (size_t n = 0; n < q.len; n++)
        ck_assert_int_eq(answer_code(slice_make(q.data, n)), ERR_CORRUPT);
    put_read(&q, 5, UINT64_MAX, 5);
    ck_assert_int_eq(answer_code(buf_slice(&q)), 0);
    put_read(&q, 5, 0, FS_PROXY_BYTES_MAX + 1);
    ck_assert_int_eq(answer_code(buf_slice(&q)), ERR_CORRUPT);
    put_read(&q, 6, 0, 5);
    ck_assert_int_eq(answer_code(buf_slice(&q)), ERR_ABORTED);
    buf_close(&q);
    tear_down();
}

END_TEST

/* --- a limited session --------------------------------------------------- */

/* A proxy client without another way: in/a and in/b are its inputs, out/.m1.
 * begins the names of what it writes. */
static struct fs *borrow_limited(void)
{
    static const char *const reads[] = {"in/a", "in/b"};
    static const struct fs_proxy_prefix writes[] = {{"out/.m1.", NULL},
                                                    {"load/m1+", NULL}};
    fs_proxy_session_limit(session,
                           &(struct fs_proxy_rules){reads, 2, writes, 2});
    return fs_proxy_connect(world, ends[1], NULL, NULL);
}

/* Whatever the size, all of it goes through the proxy server. */
START_TEST(test_limited_sizes)
{
    static const size_t sizes[] = {
        0,     1,       FS_PROXY_BYTES_MAX,
        65537, 1000000, FS_PROXY_READ_BYTES_MAX + 70000};
    struct rand_gen r;
    struct buf bytes = BUF_INIT;
    set_up();
    rand_init(&r, test_seed());
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        struct fs *fs = borrow_limited();
        struct fs_reader *reader = NULL;
        char *copy = mem_alloc(sizes[i] + 1);
        size_t got = 0;
        fill(&bytes, sizes[i], &r);
        ck_assert_int_eq(write_file(fs, "out/.m1.part", buf_slice(&bytes)), 0);
        expect_file(real, "out/.m1.part", buf_slice(&bytes));
        stop_server(); /* It keeps readers of files for a second. */
        fs_proxy_session_free(session);
        fs_proxy_server_free(proxy);
        proxy = fs_proxy_server_new(real);
        session = fs_proxy_session_new(proxy, NULL);
        close(ends[0]);
        close(ends[1]);
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
        server = task_start(world, "proxy server", run_server, NULL);
        fs_close(fs);
        fs = borrow_limited();
        ck_assert_int_eq(write_file(real, "in/a", buf_slice(&bytes)), 0);
        ck_assert_int_eq(fs_open(fs, "in/a", &reader, NULL), 0);
        fs_prefetch(reader, 0, sizes[i]);
        ck_assert_int_eq(fs_read_at(reader, 0, copy, sizes[i] + 1, &got, NULL),
                         0);
        ck_assert(slice_eq(slice_make(copy, got), buf_slice(&bytes)));
        fs_reader_close(reader);
        mem_free(copy);
        fs_close(fs);
    }
    buf_close(&bytes);
    tear_down();
}

END_TEST

/* Names of its own are replaced, renamed, listed and removed; those of others
 * in the same directory are neither seen nor touched. */
START_TEST(test_limited_names)
{
    struct fs *fs;
    struct fs_info info;
    char **names = NULL;
    size_t count = 0;
    set_up();
    ck_assert_int_eq(write_file(real, "load/m10+1.sst", SLICE_LIT("x")), 0);
    ck_assert_int_eq(write_file(real, "load/m1+1.sst", SLICE_LIT("xy")), 0);
    fs = borrow_limited();
    ck_assert_int_eq(fs_replace(fs, "out/.m1.part", SLICE_LIT("list"), NULL),
                     0);
    expect_file(real, "out/.m1.part", SLICE_LIT("list"));
    ck_assert_int_eq(fs_list(fs, "load", &names, &count, NULL), 0);
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(names[0], "m1+1.sst");
    fs_names_free(names, count);
    ck_assert_int_eq(fs_stat(fs, "load/m1+1.sst", &info, NULL), 0);
    ck_assert_uint_eq(info.size_bytes, 2);
    ck_assert_int_eq(fs_remove(fs, "load/m1+1.sst", NULL), 0);
    ck_assert_int_eq(fs_stat(real, "load/m1+1.sst", &info, NULL), ERR_NOTFOUND);
    fs_close(fs);
    tear_down();
}

END_TEST

/* Every path but its own is refused, however it is written, and nothing comes
 * of it. */
START_TEST(test_limited_refusals)
{
    static const char *const others[] = {
        "in/c",
        "in",
        "in/a/",
        "./in/a",
        "in//a",
        "in/../in/a",
        "/in/a",
        "secret",
        "out/.m10.part",
        "out/.m2.part",
        "out/part",
        "out",
        "",
        "out/.m1./../../secret",
        "out/.m1.d/x",
        "load/m10+1.sst",
    };
    struct fs *fs;
    struct fs_reader *reader = NULL;
    struct fs_writer *w = NULL;
    const struct fs_write_options exclusive = {.exclusive = true};
    struct fs_info info;
    char **names = NULL;
    size_t count = 0;
    set_up();
    ck_assert_int_eq(write_file(real, "secret", SLICE_LIT("s")), 0);
    ck_assert_int_eq(write_file(real, "in/a", SLICE_LIT("a")), 0);
    ck_assert_int_eq(write_file(real, "out/.m2.part", SLICE_LIT("2")), 0);
    fs = borrow_limited();
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        const char *p = others[i];
        struct err err = ERR_INIT;
        ck_assert_int_eq(fs_open(fs, p, &reader, &err), ERR_DENIED);
        ck_assert_ptr_nonnull(strstr(err.text, "is no file of this attempt"));
        ck_assert_int_eq(write_file(fs, p, SLICE_LIT("x")), ERR_DENIED);
        ck_assert_int_eq(fs_create(fs, p, &exclusive, &w, NULL), ERR_DENIED);
        ck_assert_int_eq(fs_rename(fs, p, "out/.m1.part", NULL), ERR_DENIED);
        ck_assert_int_eq(fs_rename(fs, "out/.m1.part", p, NULL), ERR_DENIED);
        ck_assert_int_eq(fs_remove(fs, p, NULL), ERR_DENIED);
        ck_assert_int_eq(fs_stat(fs, p, &info, NULL), ERR_DENIED);
        if (strcmp(p, "out") != 0) {
            ck_assert_int_eq(fs_list(fs, p, &names, &count, NULL), ERR_DENIED);
            ck_assert_int_eq(fs_sync_dir(fs, p, NULL), ERR_DENIED);
        }
    }
    ck_assert_int_eq(fs_remove_tree(fs, "out", NULL), ERR_UNSUPPORTED);
    ck_assert_int_eq(fs_mkdirs(fs, "out/d", NULL), ERR_UNSUPPORTED);
    /* Inputs are not written, nor outputs read. */
    ck_assert_int_eq(write_file(fs, "in/a", SLICE_LIT("x")), ERR_DENIED);
    ck_assert_int_eq(fs_remove(fs, "in/a", NULL), ERR_DENIED);
    ck_assert_int_eq(write_file(fs, "out/.m1.part", SLICE_LIT("1")), 0);
    ck_assert_int_eq(fs_open(fs, "out/.m1.part", &reader, NULL), ERR_DENIED);
    fs_close(fs);
    expect_file(real, "secret", SLICE_LIT("s"));
    expect_file(real, "in/a", SLICE_LIT("a"));
    expect_file(real, "out/.m2.part", SLICE_LIT("2"));
    tear_down();
}

END_TEST

/* The next proxy client does not have the files that one has open; and the
 * number of files that one may open is bounded. */
START_TEST(test_limited_handles)
{
    const struct fs_write_options o = {.exclusive = true};
    static struct fs_writer *w[FS_PROXY_WRITERS_MAX + 1];
    struct buf q = BUF_INIT;
    struct fs *fs;
    set_up();
    fs = borrow_limited();
    for (size_t i = 0; i <= FS_PROXY_WRITERS_MAX; i++) {
        char name[64];
        snprintf(name, sizeof(name), "out/.m1.side.%zu", i);
        ck_assert_int_eq(fs_create(fs, name, &o, &w[i], NULL),
                         i < FS_PROXY_WRITERS_MAX ? 0 : ERR_FULL);
    }
    for (size_t i = 0; i < FS_PROXY_WRITERS_MAX; i++)
        fs_writer_close(w[i]);
    ck_assert_int_eq(fs_create(fs, "out/.m1.part", &o, &w[0], NULL), 0);
    buf_put_u8(&q, FS_PROXY_APPEND);
    buf_put_le64(&q, 1);
    buf_put_lslice(&q, SLICE_EMPTY);
    buf_put_varint(&q, 0);
    buf_put_lslice(&q, SLICE_LIT("x"));
    ck_assert_int_eq(answer_code(buf_slice(&q)), 0);
    for (size_t n = 0; n < q.len; n++)
        ck_assert_int_eq(answer_code(slice_make(q.data, n)), ERR_CORRUPT);
    fs_close(borrow_limited());
    ck_assert_int_eq(answer_code(buf_slice(&q)), ERR_CORRUPT);
    ck_assert_int_ne(fs_writer_append(w[0], "y", 1, NULL), 0);
    fs_writer_close(w[0]);
    expect_file(real, "out/.m1.part", SLICE_LIT("x"));
    buf_close(&q);
    fs_close(fs);
    tear_down();
}

END_TEST

/* When its proxy server goes, a proxy client without another way is told so. */
START_TEST(test_limited_lender_gone)
{
    struct fs *fs;
    struct fs_reader *reader = NULL;
    struct err err = ERR_INIT;
    set_up();
    ck_assert_int_eq(write_file(real, "in/a", SLICE_LIT("a")), 0);
    fs = borrow_limited();
    stop_server();
    ck_assert_int_eq(fs_open(fs, "in/a", &reader, &err), ERR_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "the file proxy is gone"));
    ck_assert_int_eq(write_file(fs, "out/.m1.part", SLICE_LIT("x")),
                     ERR_UNAVAILABLE);
    fs_close(fs);
    tear_down();
}

END_TEST

TEST_MAIN("fs_proxy",
          test_sizes,
          test_appending_on,
          test_much,
          test_errors_and_names,
          test_many_files,
          test_lender_gone,
          test_dead_and_hostile_borrowers,
          test_questions,
          test_limited_sizes,
          test_limited_names,
          test_limited_refusals,
          test_limited_handles,
          test_limited_lender_gone)
