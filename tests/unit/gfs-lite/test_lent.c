/* A borrower sees the files of the lender's file system, whatever the lender,
 * borrowers before it, and what they send do. */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "gfs-lite/fs.h"
#include "gfs-lite/lent.h"
#include "tests/lib/check_main.h"

static struct world *world;
static const char *root;
static struct fs *real;
static struct lender *lender;
static struct task *server;
static int ends[2];
static unsigned opened; /* File systems of borrowers' own. */

static void run_server(void *arg)
{
    (void)arg;
    lender_serve(lender, ends[0]);
}

static void set_up(void)
{
    world = world_real_new();
    root = test_tmpdir();
    opened = 0;
    ck_assert_int_eq(fs_local_open(world, root, &real, NULL), 0);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    lender = lender_new(real);
    server = task_start(world, "lender", run_server, NULL);
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
    lender_free(lender);
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
    return fs_lent_open(world, ends[1], open_own, NULL);
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

/* --- the same files ------------------------------------------------------- */

/* Whatever the size, what is written is there for others, and what others wrote
 * is read, whole and at any offset; only what is small goes without a file
 * system of the borrower's own. */
START_TEST(test_sizes)
{
    static const size_t sizes[] = {
        0, 1, 4096, LENT_BYTES_MAX - 1, LENT_BYTES_MAX, 65537, 300000};
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
        ck_assert_uint_eq(opened, sizes[i] > LENT_BYTES_MAX ? 2 : 0);
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

/* A writer that goes on behind a sync, small or large, leaves all of it. */
START_TEST(test_appending_on)
{
    const struct fs_write_options o = {.mode = FS_WRITE_LOG};
    static char more[LENT_BYTES_MAX];
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
    fill(&bytes, LENT_BYTES_MAX, &r);
    ck_assert_int_eq(write_file(real, "f", buf_slice(&bytes)), 0);
    for (size_t read = 0; read < 2 * LENT_READ_BYTES_MAX; read += bytes.len) {
        ck_assert_uint_eq(opened, read > LENT_READ_BYTES_MAX);
        expect_file(fs, "f", buf_slice(&bytes));
    }
    ck_assert_uint_eq(opened, 1);
    buf_close(&bytes);
    fs_close(fs);
    tear_down();
}

END_TEST

/* Errors of the lender's file system arrive, with their words; what it has not
 * to do with is done by the borrower itself. */
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

/* More files than a lender keeps open, again and again. */
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

/* --- the lender, and others ------------------------------------------------
 */

/* When the lender goes, what was begun with it goes on, and ends right. */
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

static void send_question(enum lent_op op, const char *path)
{
    struct buf q = BUF_INIT;
    buf_put_u8(&q, (uint8_t)op);
    buf_put_le64(&q, 7);
    buf_put_lslice(&q, slice_str(path));
    ck_assert_int_eq(send(ends[1], q.data, q.len, 0), (ssize_t)q.len);
    buf_close(&q);
}

/* A borrower that dies between question and answer leaves the answer to the
 * next, who passes over it; empty and malformed messages hurt nobody. */
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
        send_question(LENT_OPEN, "b");
        send_question((enum lent_op)rand_below(&r, 6), "b");
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
    int code;
    lender_answer(lender, message, &answer);
    in = cursor_make(buf_slice(&answer));
    cursor_le64(&in);
    code = (int)cursor_zigzag(&in);
    ck_assert(!in.bad);
    buf_close(&answer);
    return code;
}

static void
put_read(struct buf *q, uint64_t size, uint64_t offset, uint64_t len)
{
    buf_clear(q);
    buf_put_u8(q, LENT_READ);
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
    put_read(&q, 5, 0, LENT_BYTES_MAX + 1);
    ck_assert_int_eq(answer_code(buf_slice(&q)), ERR_CORRUPT);
    put_read(&q, 6, 0, 5);
    ck_assert_int_eq(answer_code(buf_slice(&q)), ERR_ABORTED);
    buf_close(&q);
    tear_down();
}

END_TEST

TEST_MAIN("lent",
          test_sizes,
          test_appending_on,
          test_much,
          test_errors_and_names,
          test_many_files,
          test_lender_gone,
          test_dead_and_hostile_borrowers,
          test_questions)
