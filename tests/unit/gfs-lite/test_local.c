/* The local file system keeps what fs.h promises, also when the power goes. */
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "gfs-lite/fs.h"
#include "tests/lib/check_main.h"

static struct world *world;
static struct fs *fs;
static const char *root;

static void set_up(void)
{
    root = test_tmpdir();
    world = world_real_new();
    ck_assert_int_eq(fs_local_open(world, root, &fs, NULL), 0);
}

static void tear_down(void)
{
    fs_close(fs);
    world_free(world);
}

static void check_contents(const char *path, struct slice want)
{
    struct buf got = BUF_INIT;
    struct err why = ERR_INIT;
    ck_assert_msg(fs_read_all(fs, path, 1 << 28, &got, &why) == 0, "%s",
                  why.text);
    ck_assert_uint_eq(got.len, want.len);
    ck_assert(slice_eq(buf_slice(&got), want));
    buf_close(&got);
}

/* --- streams and logs ---------------------------------------------------- */

/* Appends of any sizes with flushes between them: the file holds exactly what
 * was appended up to the last flush, at least. */
static void random_appends(enum fs_write_mode mode, unsigned long long seed)
{
    struct fs_write_options opts = {
        .mode = mode, .expected_bytes = 1 << 20, .cached = seed % 2 == 1};
    struct buf want = BUF_INIT;
    struct fs_writer *w;
    struct rand_gen r;
    rand_init(&r, seed);
    ck_assert_int_eq(fs_create(fs, "d/e/file", &opts, &w, NULL), 0);
    for (int i = 0; i < 200; i++) {
        static const size_t sizes[] = {1,     100,     4096,         5000,
                                       70000, 1 << 20, (1 << 20) + 1};
        size_t len =
            rand_below(&r, sizes[rand_below(&r, ARRAY_LEN(sizes))] + 1);
        size_t at = want.len;
        if (want.len > (mode == FS_WRITE_LOG ? 4 << 20 : 16 << 20))
            break;
        buf_append_fill(&want, (char)i, len);
        ck_assert_int_eq(fs_writer_append(w, want.data + at, len, NULL), 0);
        ck_assert_uint_eq(fs_writer_offset(w), want.len);
        if (rand_one_in(&r, 10)) {
            ck_assert_int_eq(rand_one_in(&r, 2) ? fs_writer_flush(w, NULL)
                                                : fs_writer_sync(w, NULL),
                             0);
            check_contents("d/e/file", buf_slice(&want));
        } else if (mode == FS_WRITE_LOG) {
            check_contents("d/e/file", buf_slice(&want));
        }
    }
    fs_writer_close(w);
    check_contents("d/e/file", buf_slice(&want));
    buf_close(&want);
}

START_TEST(test_appends_come_back)
{
    unsigned long long seed = test_seed();
    set_up();
    for (unsigned i = 0; i < 4; i++) {
        random_appends(FS_WRITE_STREAM, seed + i);
        random_appends(FS_WRITE_LOG, seed + i);
    }
    tear_down();
}

END_TEST

/* Reads at any offset give the file's bytes, through and past the page cache,
 * and end where it ends. */
START_TEST(test_reads_at_any_offset)
{
    struct fs_write_options opts = {.mode = FS_WRITE_STREAM,
                                    .cached = test_seed() % 2 == 1};
    struct buf want = BUF_INIT;
    struct fs_reader *reader;
    struct fs_writer *w;
    struct rand_gen r;
    char *dst;
    set_up();
    dst = aligned_alloc(4096, 1 << 16);
    rand_init(&r, test_seed());
    for (size_t i = 0; i < 300000; i++)
        buf_append_byte(&want, (char)rand_u64(&r));
    ck_assert_int_eq(fs_create(fs, "f", &opts, &w, NULL), 0);
    ck_assert_int_eq(fs_writer_append(w, want.data, want.len, NULL), 0);
    ck_assert_int_eq(fs_writer_sync(w, NULL), 0);
    fs_writer_close(w);
    ck_assert_int_eq(fs_open(fs, "f", &reader, NULL), 0);
    ck_assert_uint_eq(fs_reader_size(reader), want.len);
    for (int i = 0; i < 500; i++) {
        /* Any way: as usual, as read once, as part of a scan. */
        uint64_t way = rand_below(&r, 3);
        uint64_t at = rand_below(&r, want.len + 8192);
        size_t len = rand_below(&r, 1 << 16);
        size_t got;
        struct slice part;
        if (way > 0) {
            at = at / 4096 * 4096;
            len = len / 4096 * 4096;
        }
        fs_prefetch(reader, at, len);
        ck_assert_int_eq(
            way == 0   ? fs_read_at(reader, at, dst, len, &got, NULL)
            : way == 1 ? fs_read_once_at(reader, at, dst, len, &got, NULL)
                       : fs_read_scan_at(reader, at, dst, len, &got, NULL),
            0);
        part = slice_sub(buf_slice(&want), at, at + len);
        ck_assert(slice_eq(part, slice_make(dst, got)));
    }
    fs_reader_close(reader);
    buf_close(&want);
    free(dst);
    tear_down();
}

END_TEST

/* --- names --------------------------------------------------------------- */

/* exclusive refuses what is there; without it the file starts empty. */
START_TEST(test_exclusive_and_truncate)
{
    struct fs_write_options opts = {.mode = FS_WRITE_LOG, .exclusive = true};
    struct fs_writer *w;
    set_up();
    ck_assert_int_eq(fs_create(fs, "f", &opts, &w, NULL), 0);
    ck_assert_int_eq(fs_writer_append(w, "abc", 3, NULL), 0);
    fs_writer_close(w);
    ck_assert_int_eq(fs_create(fs, "f", &opts, &w, NULL), ERR_EXISTS);
    opts.exclusive = false;
    ck_assert_int_eq(fs_create(fs, "f", &opts, &w, NULL), 0);
    fs_writer_close(w);
    check_contents("f", SLICE_EMPTY);
    tear_down();
}

END_TEST

/* Names that leave the root, or are too long, are refused by every call. */
START_TEST(test_bad_names)
{
    static const char *const bad[] = {"/etc/passwd", "..", "../x", "a/../b",
                                      "a/.."};
    struct fs_info info;
    char *longest;
    set_up();
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct err why = ERR_INIT;
        ck_assert_int_eq(fs_stat(fs, bad[i], &info, &why), ERR_INVALID);
        ck_assert_int_eq(fs_remove_tree(fs, bad[i], NULL), ERR_INVALID);
        ck_assert_int_eq(fs_mkdirs(fs, bad[i], NULL), ERR_INVALID);
        ck_assert_int_eq(fs_replace(fs, bad[i], SLICE_EMPTY, NULL),
                         ERR_INVALID);
    }
    longest = calloc(1, FS_PATH_BYTES_MAX + 2);
    memset(longest, 'a', FS_PATH_BYTES_MAX + 1);
    ck_assert_int_eq(fs_stat(fs, longest, &info, NULL), ERR_INVALID);
    free(longest);
    ck_assert_int_eq(fs_mkdirs(fs, "..a/b..", NULL), 0); /* No way up. */
    tear_down();
}

END_TEST

/* A tree goes with all that is in it; what is absent is said to be. */
START_TEST(test_remove_tree)
{
    struct fs_info info;
    char **names;
    size_t count;
    set_up();
    ck_assert_int_eq(fs_mkdirs(fs, "a/b/c", NULL), 0);
    ck_assert_int_eq(fs_replace(fs, "a/x", SLICE_LIT("1"), NULL), 0);
    ck_assert_int_eq(fs_replace(fs, "a/b/y", SLICE_LIT("2"), NULL), 0);
    ck_assert_int_eq(fs_replace(fs, "z", SLICE_LIT("3"), NULL), 0);
    ck_assert_int_eq(fs_list(fs, "a", &names, &count, NULL), 0);
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(names[0], "b");
    ck_assert_str_eq(names[1], "x");
    fs_names_free(names, count);
    ck_assert_int_eq(fs_remove_tree(fs, "a", NULL), 0);
    ck_assert_int_eq(fs_remove_tree(fs, "a", NULL), ERR_NOTFOUND);
    ck_assert_int_eq(fs_stat(fs, "a", &info, NULL), ERR_NOTFOUND);
    ck_assert_int_eq(fs_stat(fs, "z", &info, NULL), 0);
    ck_assert(!info.is_directory);
    ck_assert_uint_eq(info.size_bytes, 1);
    tear_down();
}

END_TEST

/* A file is no root; a missing directory becomes one. */
START_TEST(test_open_root)
{
    struct err why = ERR_INIT;
    struct buf path = BUF_INIT;
    struct fs *other;
    set_up();
    ck_assert_int_eq(fs_replace(fs, "f", SLICE_LIT("1"), NULL), 0);
    buf_printf(&path, "%s/f", root);
    ck_assert_int_eq(fs_local_open(world, buf_cstr(&path), &other, &why),
                     ERR_INVALID);
    ck_assert(strstr(why.text, buf_cstr(&path)) != NULL);
    buf_clear(&path);
    buf_printf(&path, "%s/new/one/", root);
    ck_assert_int_eq(fs_local_open(world, buf_cstr(&path), &other, NULL), 0);
    ck_assert_int_eq(fs_replace(other, "g", SLICE_LIT("2"), NULL), 0);
    check_contents("new/one/g", SLICE_LIT("2"));
    fs_close(other);
    buf_close(&path);
    tear_down();
}

END_TEST

/* A file larger than asked for is not read. */
START_TEST(test_read_all_is_bounded)
{
    struct buf out = BUF_INIT;
    set_up();
    ck_assert_int_eq(fs_replace(fs, "f", SLICE_LIT("12345"), NULL), 0);
    ck_assert_int_eq(fs_read_all(fs, "f", 4, &out, NULL), ERR_TOOBIG);
    ck_assert_uint_eq(out.len, 0);
    ck_assert_int_eq(fs_read_all(fs, "f", 5, &out, NULL), 0);
    ck_assert_uint_eq(out.len, 5);
    ck_assert_int_eq(fs_read_all(fs, "g", 5, &out, NULL), ERR_NOTFOUND);
    buf_close(&out);
    tear_down();
}

END_TEST

/* --- power loss ---------------------------------------------------------- */

struct power {
    struct world *world;
    bool replaced; /* fs_replace of "new" returned. */
    bool synced;   /* The stream's sync returned. */
    bool failed;
};

static void fill(struct buf *b)
{
    for (int i = 0; i < 10000; i++)
        buf_printf(b, "line %d\n", i);
}

static void power_workload(void *arg)
{
    struct fs_write_options opts = {.mode = FS_WRITE_STREAM};
    struct power *p = arg;
    struct buf bytes = BUF_INIT;
    struct fs_writer *w;
    struct fs *f;
    fill(&bytes);
    if (fs_local_open(p->world, "/store", &f, NULL)) {
        p->failed = true;
        buf_close(&bytes);
        return;
    }
    if (!fs_replace(f, "head", SLICE_LIT("old"), NULL) &&
        !fs_replace(f, "head", SLICE_LIT("new"), NULL))
        p->replaced = true;
    if (!fs_create(f, "deep/er/stream", &opts, &w, NULL)) {
        int rc = fs_writer_append(w, bytes.data, bytes.len, NULL);
        if (!rc && !fs_writer_sync(w, NULL))
            p->synced = true;
        fs_writer_close(w);
    }
    p->failed = !p->replaced || !p->synced;
    fs_close(f);
    buf_close(&bytes);
}

static void power_verify(void *arg)
{
    struct power *p = arg;
    struct buf got = BUF_INIT;
    struct buf want = BUF_INIT;
    struct fs *f;
    int rc;
    ck_assert_int_eq(fs_local_open(p->world, "/store", &f, NULL), 0);
    rc = fs_read_all(f, "head", 100, &got, NULL);
    if (p->replaced)
        ck_assert(slice_eq_str(buf_slice(&got), "new"));
    else if (!rc)
        ck_assert(slice_eq_str(buf_slice(&got), "new") ||
                  slice_eq_str(buf_slice(&got), "old"));
    buf_clear(&got);
    rc = fs_read_all(f, "deep/er/stream", 1 << 20, &got, NULL);
    if (p->synced) {
        fill(&want);
        ck_assert_int_eq(rc, 0);
        ck_assert(slice_eq(buf_slice(&got), buf_slice(&want)));
    }
    buf_close(&got);
    buf_close(&want);
    fs_close(f);
}

/* Power lost at every operation: a replaced file is the old one or the new one,
 * whole; what was synced is there with its name and its directories. */
START_TEST(test_power_loss_at_every_operation)
{
    struct power p = {.failed = true};
    uint64_t n = 0;
    unsigned long long seed = test_seed();
    while (p.failed) {
        struct world *w =
            sim_world_new(&(struct sim_options){.seed = seed + n});
        p = (struct power){.world = w};
        sim_power_off_at_op(w, ++n);
        sim_run(w, power_workload, &p);
        sim_power_on(w);
        sim_run(w, power_verify, &p);
        world_free(w);
        ck_assert_uint_lt(n, 1000);
    }
    ck_assert_uint_gt(n, 15);
}

END_TEST

/* Directories of another process, which was killed before it synced any. */
static void make_unsynced(struct world *w)
{
    ck_assert_int_eq(world_mkdir(w, "/srv", NULL), 0);
    ck_assert_int_eq(world_mkdir(w, "/srv/store", NULL), 0);
    ck_assert_int_eq(world_sync_dir(w, "/srv", NULL), 0);
    ck_assert_int_eq(world_sync_dir(w, "/", NULL), 0);
    ck_assert_int_eq(world_mkdir(w, "/srv/store/made", NULL), 0);
}

static void write_where_others_made(void *arg)
{
    struct world *w = arg;
    struct fs *f;
    make_unsynced(w);
    ck_assert_int_eq(fs_local_open(w, "/srv/store", &f, NULL), 0);
    ck_assert_int_eq(fs_replace(f, "made/file", SLICE_LIT("1"), NULL), 0);
    ck_assert_int_eq(world_mkdir(w, "/srv/store/made/below", NULL), 0);
    ck_assert_int_eq(fs_mkdirs(f, "made/below", NULL), 0);
    ck_assert_int_eq(world_mkdir(w, "/srv/store/other", NULL), 0);
    ck_assert_int_eq(fs_replace(f, "other/one/file", SLICE_LIT("2"), NULL), 0);
    ck_assert_int_eq(world_mkdir(w, "/srv/store/moved", NULL), 0);
    ck_assert_int_eq(world_mkdir(w, "/srv/store/moved/in", NULL), 0);
    ck_assert_int_eq(fs_replace(f, "made/below/g", SLICE_LIT("0"), NULL), 0);
    ck_assert_int_eq(fs_remove_tree(f, "made/below", NULL), 0);
    ck_assert_int_eq(fs_rename(f, "moved", "made/below", NULL), 0);
    ck_assert_int_eq(fs_replace(f, "made/below/f", SLICE_LIT("3"), NULL), 0);
    fs_close(f);
}

static void read_where_others_made(void *arg)
{
    static const char *const names[] = {"made/file", "other/one/file",
                                        "made/below/f"};
    struct buf got = BUF_INIT;
    struct fs *f;
    ck_assert_int_eq(fs_local_open(arg, "/srv/store", &f, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        ck_assert_msg(fs_read_all(f, names[i], 10, &got, NULL) == 0, "%s",
                      names[i]);
    ck_assert(slice_eq_str(buf_slice(&got), "123"));
    buf_close(&got);
    fs_close(f);
}

/* A file that was synced in a directory survives, also if a process made the
 * directory that was killed before it was on the disk. */
START_TEST(test_directories_others_made)
{
    for (unsigned i = 0; i < 60; i++) {
        struct world *w =
            sim_world_new(&(struct sim_options){.seed = test_seed() + i});
        sim_run(w, write_where_others_made, w);
        sim_power_off(w);
        sim_power_on(w);
        sim_run(w, read_where_others_made, w);
        world_free(w);
    }
}

END_TEST

static void recover_log(void *arg)
{
    struct world *w = arg;
    struct fs_write_options o = {.mode = FS_WRITE_LOG};
    struct fs_writer *writer;
    struct fs *f;
    uint64_t length = 1;
    ck_assert_int_eq(fs_local_open(w, "/store", &f, NULL), 0);
    ck_assert_int_eq(fs_recover(f, "log", &length, NULL), ERR_NOTFOUND);
    ck_assert_int_eq(fs_recover(f, "", &length, NULL), ERR_INVALID);
    ck_assert_int_eq(fs_create(f, "log", &o, &writer, NULL), 0);
    ck_assert_int_eq(fs_writer_append_sync(writer, "one", 3, NULL), 0);
    ck_assert_int_eq(fs_writer_append_sync(writer, "two", 3, NULL), 0);
    ck_assert_int_eq(fs_recover(f, "log", &length, NULL), 0);
    ck_assert_uint_eq(length, 6);
    fs_writer_close(writer);
    fs_close(f);
}

/* Taking a file over says how long it is; what is no file is refused. */
START_TEST(test_take_over)
{
    struct world *w = sim_world_new(&(struct sim_options){.seed = test_seed()});
    sim_run(w, recover_log, w);
    world_free(w);
}

END_TEST

/* --- More files than descriptors ------------------------------------------ */

enum {
    MANY = 300,
    DESCRIPTORS = 64,
    READING_THREADS = 4
};

static struct fs_reader *many[MANY];
static atomic_uint wrong;

static size_t open_descriptors(void)
{
    size_t n = 0;
    DIR *d = opendir("/proc/self/fd");
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static void write_small(const char *path, const char *text)
{
    struct fs_write_options opts = {.mode = FS_WRITE_LOG};
    struct fs_writer *w;
    ck_assert_int_eq(fs_create(fs, path, &opts, &w, NULL), 0);
    ck_assert_int_eq(fs_writer_append(w, text, strlen(text), NULL), 0);
    fs_writer_close(w);
}

static void *read_many(void *arg)
{
    struct rand_gen r;
    rand_init(&r, *(const unsigned *)arg);
    for (int i = 0; i < 3000; i++) {
        size_t k = rand_below(&r, MANY);
        _Alignas(4096) char bytes[4096];
        char want[32];
        size_t got;
        int rc =
            rand_one_in(&r, 3)
                ? fs_read_once_at(many[k], 0, bytes, sizeof(bytes), &got, NULL)
                : fs_read_at(many[k], 0, bytes, sizeof(bytes), &got, NULL);
        snprintf(want, sizeof(want), "file %03zu", k);
        if (rc || got != 8 || memcmp(bytes, want, 8) != 0)
            atomic_fetch_add(&wrong, 1);
    }
    return NULL;
}

/* Far more files can be open and read by several threads at once than the
 * process may have descriptors. */
START_TEST(test_more_files_than_descriptors)
{
    struct rlimit before;
    struct rlimit few;
    pthread_t threads[READING_THREADS];
    unsigned seeds[READING_THREADS];
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = open_descriptors() + DESCRIPTORS;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    set_up();
    for (size_t i = 0; i < MANY; i++) {
        char path[32];
        char text[32];
        snprintf(path, sizeof(path), "many/%zu", i);
        snprintf(text, sizeof(text), "file %03zu", i);
        write_small(path, text);
        ck_assert_int_eq(fs_open(fs, path, &many[i], NULL), 0);
        ck_assert_uint_eq(fs_reader_size(many[i]), 8);
    }
    for (unsigned i = 0; i < READING_THREADS; i++) {
        seeds[i] = i;
        ck_assert_int_eq(
            pthread_create(&threads[i], NULL, read_many, &seeds[i]), 0);
    }
    for (unsigned i = 0; i < READING_THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(atomic_load(&wrong), 0);
    ck_assert_uint_le(open_descriptors(), few.rlim_cur);
    for (size_t i = 0; i < MANY; i++)
        fs_reader_close(many[i]);
    tear_down();
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
}

END_TEST

TEST_MAIN("local",
          test_appends_come_back,
          test_reads_at_any_offset,
          test_exclusive_and_truncate,
          test_bad_names,
          test_remove_tree,
          test_open_root,
          test_read_all_is_bounded,
          test_power_loss_at_every_operation,
          test_directories_others_made,
          test_more_files_than_descriptors,
          test_take_over)
