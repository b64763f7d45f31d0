/* A job's files are the same thing in the world and in a file system: whatever
 * is done to them, and whatever a job makes of them. */
#define _GNU_SOURCE /* memmem */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/rand.h"
#include "base/crypt/keyring.h"
#include "base/runtime/world.h"
#include "gfs-lite/fs.h"
#include "mapreduce/input/glob.h"
#include "mapreduce/job.h"
#include "mapreduce/job_history.h"
#include "mapreduce/mapreduce.h"
#include "mapreduce/master/journal.h"
#include "mapreduce/output/dirs.h"
#include "mapreduce/records/files.h"
#include "mapreduce/records/stream_writer.h"
#include "tests/lib/check_main.h"

/* --- Fixture ------------------------------------------------------------- */

static struct world *world;
static struct fs *fs;
static char root[320];
static char dir[300];

static void setup(void)
{
    world = world_real_new();
    snprintf(dir, sizeof(dir), "%s", test_tmpdir());
    setenv("TMPDIR", dir, 1);
    snprintf(root, sizeof(root), "%s/cell", dir);
    ck_assert_int_eq(fs_local_open(world, root, &fs, NULL), 0);
}

static void teardown(void)
{
    fs_close(fs);
    world_free(world);
}

/* --- Helpers ------------------------------------------------------------- */

static bool contains(struct slice bytes, const char *text)
{
    return memmem(bytes.data, bytes.len, text, strlen(text)) != NULL;
}

/* A path of the test, in the world or in the file system. */
static const char *at(const struct job_files *f, const char *name)
{
    static char paths[4][400];
    static unsigned next;
    char *p = paths[next++ % 4];
    if (f->fs)
        snprintf(p, sizeof(paths[0]), "/%s", name);
    else
        snprintf(p, sizeof(paths[0]), "%s/%s", dir, name);
    return p;
}

static void store(const struct job_files *f, const char *path, struct slice s)
{
    struct stream_writer w;
    ck_assert_int_eq(stream_writer_open(&w, f, path, NULL), 0);
    stream_writer_append(&w, s.data, s.len);
    ck_assert_int_eq(stream_writer_finish(&w, true, NULL), 0);
}

static void expect(const struct job_files *f, const char *path, struct slice s)
{
    struct buf b = BUF_INIT;
    ck_assert_int_eq(files_read_all(f, path, 64 << 20, &b, NULL), 0);
    ck_assert_uint_eq(b.len, s.len);
    ck_assert(slice_eq(buf_slice(&b), s));
    buf_close(&b);
}

static bool is_there(const struct job_files *f, const char *path)
{
    struct files_info info;
    return files_stat(f, path, &info, NULL) == 0;
}

static void both(void (*fn)(const struct job_files *f))
{
    fn(&(struct job_files){.world = world});
    fn(&(struct job_files){.world = world, .fs = fs});
}

/* --- Files --------------------------------------------------------------- */

static void write_and_read(const struct job_files *f)
{
    uint64_t seed = test_seed();
    struct rand_gen r;
    rand_init(&r, seed);
    for (int i = 0; i < 30; i++) {
        size_t n = rand_below(&r, 3 << 20);
        struct buf b = BUF_INIT;
        struct job_file *file;
        uint64_t size;
        char part[100];
        size_t got;
        size_t from;
        for (size_t k = 0; k < n; k += 8)
            buf_put_le64(&b, rand_u64(&r));
        b.len = n;
        store(f, at(f, "d/e/file"), buf_slice(&b));
        expect(f, at(f, "d/e/file"), buf_slice(&b));
        ck_assert_int_eq(job_file_open(f, at(f, "d/e/file"), &file, NULL), 0);
        ck_assert_int_eq(job_file_size(file, &size, NULL), 0);
        ck_assert_uint_eq(size, n);
        from = rand_below(&r, n + 1);
        ck_assert_int_eq(
            job_file_read_at(file, from, part, sizeof(part), &got, NULL), 0);
        ck_assert_uint_eq(got, MIN_OF(sizeof(part), n - from));
        ck_assert(memcmp(part, buf_cstr(&b) + from, got) == 0);
        job_file_close(file);
        buf_close(&b);
    }
}

/* Written bytes are read back, from any place, and a second writer starts over.
 */
START_TEST(test_write_and_read)
{
    setup();
    ck_assert_int_eq(dirs_make(&(struct job_files){.world = world},
                               at(&(struct job_files){.world = world}, "d/e"),
                               NULL),
                     0);
    both(write_and_read);
    teardown();
}

END_TEST

static void names(const struct job_files *f)
{
    char **list;
    size_t count;
    bool exists;
    bool empty;
    ck_assert_int_eq(dirs_make(f, at(f, "x/y"), NULL), 0);
    ck_assert_int_eq(dirs_make(f, at(f, "x/y"), NULL), 0);
    ck_assert_int_eq(dirs_probe(f, at(f, "x/y"), &exists, &empty, NULL), 0);
    ck_assert(exists && empty);
    ck_assert_int_eq(dirs_probe(f, at(f, "x/z"), &exists, &empty, NULL), 0);
    ck_assert(!exists);
    ck_assert_int_eq(files_replace(f, at(f, "x/y/b"), SLICE_LIT("old"), NULL),
                     0);
    ck_assert_int_eq(files_replace(f, at(f, "x/y/b"), SLICE_LIT("new"), NULL),
                     0);
    ck_assert_int_eq(files_replace(f, at(f, "x/y/a"), SLICE_EMPTY, NULL), 0);
    expect(f, at(f, "x/y/b"), SLICE_LIT("new"));
    ck_assert_int_eq(files_list(f, at(f, "x/y"), &list, &count, NULL), 0);
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(list[0], "a");
    ck_assert_str_eq(list[1], "b");
    files_names_free(list, count);
    ck_assert_int_eq(files_rename(f, at(f, "x/y/b"), at(f, "x/y/a"), NULL), 0);
    expect(f, at(f, "x/y/a"), SLICE_LIT("new"));
    ck_assert_int_eq(files_rename(f, at(f, "x/y"), at(f, "x/w"), NULL), 0);
    ck_assert(is_there(f, at(f, "x/w/a")) && !is_there(f, at(f, "x/y")));
    ck_assert_int_eq(files_sync_dir(f, at(f, "x"), NULL), 0);
    ck_assert_int_eq(glob_files(f, at(f, "x/*/a"), &list, &count, NULL), 0);
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(list[0], at(f, "x/w/a"));
    files_names_free(list, count);
    ck_assert_int_eq(dirs_remove(f, at(f, "x"), NULL), 0);
    ck_assert_int_eq(dirs_remove(f, at(f, "x"), NULL), 0);
    ck_assert(!is_there(f, at(f, "x")));
}

/* Directories and names: made, listed, replaced, found by patterns, removed. */
START_TEST(test_names)
{
    setup();
    both(names);
    teardown();
}

END_TEST

/* A missing file is reported as such. */
START_TEST(test_missing)
{
    setup();
    const struct job_files f = {.world = world, .fs = fs};
    struct job_file *file;
    struct buf b = BUF_INIT;
    ck_assert_int_eq(job_file_open(&f, "none", &file, NULL), ERR_NOTFOUND);
    ck_assert_int_eq(files_remove(&f, "none", NULL), ERR_NOTFOUND);
    ck_assert_int_eq(files_replace(&f, "big", SLICE_LIT("12345"), NULL), 0);
    ck_assert_int_eq(files_read_all(&f, "big", 4, &b, NULL), ERR_TOOBIG);
    buf_close(&b);
    teardown();
}

END_TEST

/* --- Journals ------------------------------------------------------------ */

static size_t records_of(struct slice bytes)
{
    uint64_t offset = 0;
    enum journal_type type;
    struct slice body;
    size_t n = 0;
    while (journal_next(bytes, &offset, &type, &body))
        n++;
    ck_assert_uint_eq(offset, bytes.len);
    return n;
}

/* Each life of a job in a file system writes a file of its own; read, they are
 * one journal, without what the last moments of a life tore. */
START_TEST(test_journal_lives)
{
    setup();
    const struct job_files f = {.world = world, .fs = fs};
    const struct job_files bare = {.world = world};
    char path[400];
    for (size_t life = 0; life < 5; life++) {
        struct journal j;
        struct buf b = BUF_INIT;
        struct file *torn;
        struct slice junk = SLICE_LIT("torn record");
        uint64_t size;
        uint64_t length;
        int rc = journal_load(&f, "job/journal", &b, &length, NULL);
        ck_assert_int_eq(rc, life == 0 ? ERR_NOTFOUND : 0);
        ck_assert_uint_eq(records_of(buf_slice(&b)), life * 3);
        ck_assert_int_eq(journal_open(&j, &f, "job/journal", b.len, NULL), 0);
        ck_assert_int_eq(
            journal_append(&j, JOURNAL_END, SLICE_LIT("body"), NULL), 0);
        for (int i = 0; i < 2; i++)
            journal_add(&j, JOURNAL_END, SLICE_LIT("together"));
        ck_assert_int_eq(journal_flush(&j, NULL), 0);
        journal_add(&j, JOURNAL_END, SLICE_LIT("not written"));
        journal_close(&j);
        buf_close(&b);
        if (life > 0)
            snprintf(path, sizeof(path), "%s/job/journal.%zu", root, life);
        else
            snprintf(path, sizeof(path), "%s/job/journal", root);
        ck_assert_int_eq(file_open(bare.world, path, FILE_WRITE, &torn, NULL),
                         0);
        ck_assert_int_eq(file_size(torn, &size, NULL), 0);
        ck_assert_int_eq(file_write_at(torn, size, &junk, 1, NULL), 0);
        file_close(torn);
    }
    teardown();
}

END_TEST

/* The records of an encrypted journal cannot be read in its file; they are
 * decrypted with its keys alone, from every process that wrote it, and after
 * records from before encryption. */
START_TEST(test_journal_is_encrypted)
{
    setup();

    struct keyring *keys = keyring_new_ephemeral(world);
    struct job_files f = {.world = world};
    const char *path = at(&f, "journal");
    struct buf b = BUF_INIT;
    struct buf raw = BUF_INIT;
    struct err err = ERR_INIT;
    uint64_t length = 0;
    for (int life = 0; life < 3; life++) {
        struct journal j;
        f.keyring = life ? keys : NULL;
        ck_assert_int_eq(journal_open(&j, &f, path, length, NULL), 0);
        ck_assert_int_eq(
            journal_append(&j, JOURNAL_END,
                           life ? SLICE_LIT("plainly") : SLICE_LIT("before"),
                           NULL),
            0);
        journal_close(&j);
        f.keyring = keys;
        buf_clear(&b);
        ck_assert_int_eq(journal_load(&f, path, &b, &length, NULL), 0);
        ck_assert_uint_eq(records_of(buf_slice(&b)), (size_t)life + 1);
    }
    ck_assert_int_eq(files_read_all(&f, path, 1 << 20, &raw, NULL), 0);
    ck_assert_uint_eq(raw.len, length);
    ck_assert(!contains(buf_slice(&raw), "plainly"));
    ck_assert(contains(buf_slice(&raw), "before"));
    ck_assert(contains(buf_slice(&b), "plainly"));
    f.keyring = NULL;
    ck_assert_int_eq(journal_load(&f, path, &b, &length, &err), ERR_DENIED);
    keyring_unref(keys);
    buf_close(&b);
    buf_close(&raw);
    teardown();
}

END_TEST

/* So are small files. */
START_TEST(test_small_files_are_encrypted)
{
    setup();

    struct keyring *keys = keyring_new_ephemeral(world);
    struct job_files f = {.world = world, .keyring = keys};
    const char *path = at(&f, "job.json");
    struct buf b = BUF_INIT;
    ck_assert_int_eq(files_replace_sealed(&f, path, SLICE_LIT("plainly"), NULL),
                     0);
    ck_assert_int_eq(files_read_all(&f, path, 1000, &b, NULL), 0);
    ck_assert(!contains(buf_slice(&b), "plainly"));
    buf_clear(&b);
    ck_assert_int_eq(files_read_all_sealed(&f, path, 7, &b, NULL), 0);
    ck_assert(contains(buf_slice(&b), "plainly"));
    f.keyring = NULL;
    ck_assert_int_eq(files_read_all_sealed(&f, path, 7, &b, NULL), ERR_DENIED);
    ck_assert_int_eq(files_replace_sealed(&f, path, SLICE_LIT("plainly"), NULL),
                     0);
    f.keyring = keys;
    buf_clear(&b);
    ck_assert_int_eq(files_read_all_sealed(&f, path, 7, &b, NULL), 0);
    ck_assert(contains(buf_slice(&b), "plainly"));
    keyring_unref(keys);
    buf_close(&b);
    teardown();
}

END_TEST

static void write_life(enum journal_type first, enum journal_type second)
{
    const struct job_files f = {.world = world, .fs = fs};
    struct journal j;
    ck_assert_int_eq(journal_open(&j, &f, "job/journal", 0, NULL), 0);
    journal_add(&j, first, SLICE_EMPTY);
    journal_add(&j, second, SLICE_EMPTY);
    ck_assert_int_eq(journal_flush(&j, NULL), 0);
    journal_close(&j);
}

/* A job begins once: what is written by a process that came late to its
 * beginning, and knew of no other, is not read. One that another left before
 * it had written anything has not begun. */
START_TEST(test_journal_begins_once)
{
    setup();

    static const enum journal_type want[] = {JOURNAL_BEGIN, JOURNAL_PLAN,
                                             JOURNAL_RESUME, JOURNAL_END};
    const struct job_files f = {.world = world, .fs = fs};
    struct journal empty;
    struct buf b = BUF_INIT;
    uint64_t offset = 0;
    uint64_t length;
    ck_assert_int_eq(journal_open(&empty, &f, "job/journal", 0, NULL), 0);
    journal_close(&empty);
    write_life(JOURNAL_BEGIN, JOURNAL_PLAN);
    write_life(JOURNAL_BEGIN, JOURNAL_PLAN);
    write_life(JOURNAL_RESUME, JOURNAL_END);
    ck_assert_int_eq(journal_load(&f, "job/journal", &b, &length, NULL), 0);
    for (size_t i = 0; i < 4; i++) {
        enum journal_type type;
        struct slice body;
        ck_assert(journal_next(buf_slice(&b), &offset, &type, &body));
        ck_assert_int_eq(type, want[i]);
    }
    ck_assert_uint_eq(offset, b.len);
    buf_close(&b);
    teardown();
}

END_TEST

/* --- Jobs ---------------------------------------------------------------- */

static int map(struct mr_task *t, const struct mr_record *r, struct err *err)
{
    (void)err;
    mr_emit_count(t, r->value, 1);
    return 0;
}

static int
reduce(struct mr_task *t, struct slice key, struct mr_values *v, struct err *e)
{
    (void)e;
    mr_write_count(mr_output(t, NULL), key, mr_values_sum(v));
    mr_write(mr_output(t, "more"), key, SLICE_LIT("more"));
    mr_write_side(mr_output(t, NULL), "side", key, SLICE_LIT("side"));
    return 0;
}

static const struct mr_job job = {.abi_version = MR_ABI_VERSION,
                                  .name = "count",
                                  .map = map,
                                  .reduce = reduce};

static const struct mr_job *find(const char *name)
{
    return strcmp(name, "count") == 0 ? &job : NULL;
}

static const char *const inputs[] = {"file:/in/*.txt"};
static const char *const outputs[] = {"file:/out", "more=records:deep/er/more"};

static struct mr_options options(void)
{
    return (struct mr_options){.program = {.job = &job},
                               .inputs = inputs,
                               .input_count = 1,
                               .outputs = outputs,
                               .output_count = 2,
                               .reducers = 3,
                               .split_bytes = 1000,
                               .memory_bytes = 4 << 20,
                               .in_process = true,
                               .id = "20260101-000000-0001",
                               .history_dir = "/jobs",
                               .fs = fs,
                               .world = world};
}

static void write_input(const struct job_files *f)
{
    struct buf b = BUF_INIT;
    for (int i = 0; i < 500; i++)
        buf_printf(&b, "line %03d\n", i % 50);
    store(f, "in/a.txt", buf_slice(&b));
    store(f, "in/b.txt", buf_slice(&b));
    buf_close(&b);
}

/* All lines of the parts of /out, counted by key. */
static void expect_output(const struct job_files *f)
{
    unsigned lines = 0;
    for (unsigned p = 0; p < 3; p++) {
        char path[40];
        struct buf b = BUF_INIT;
        snprintf(path, sizeof(path), "out/part-%05u", p);
        ck_assert_int_eq(files_read_all(f, path, 1 << 20, &b, NULL), 0);
        for (struct slice s = buf_slice(&b); s.len > 0; lines++) {
            size_t n = slice_find_byte(s, '\n');
            ck_assert(slice_ends_with(slice_sub(s, 0, n), SLICE_LIT("\t20")));
            s = slice_sub(s, n + 1, s.len);
        }
        buf_close(&b);
    }
    ck_assert_uint_eq(lines, 50);
    ck_assert(is_there(f, "out/_SUCCESS") && is_there(f, "out/side-00001"));
    ck_assert(is_there(f, "deep/er/more/_SUCCESS"));
    ck_assert(!is_there(f, "jobs/20260101-000000-0001/work"));
}

/* A job reads and writes a file system, and leaves nothing there but its
 * outputs and its history. */
START_TEST(test_job)
{
    setup();
    const struct job_files f = {.world = world, .fs = fs};
    struct mr_options o = options();
    struct job_summary *s;
    struct err err = ERR_INIT;
    char **list;
    size_t count;
    write_input(&f);
    ck_assert_msg(mr_run(&o, NULL, &err) == 0, "%s", err.text);
    expect_output(&f);
    ck_assert_int_eq(files_list(&f, "/", &list, &count, NULL), 0);
    ck_assert_uint_eq(count, 4); /* deep in jobs out */
    files_names_free(list, count);
    ck_assert_int_eq(job_history_get(&f, "/jobs", o.id, &s, NULL), 0);
    ck_assert_int_eq(s->state, JOB_SUCCEEDED);
    job_summaries_free(s, 1);
    ck_assert_int_eq(mr_run(&o, NULL, &err), ERR_EXISTS);
    teardown();
}

END_TEST

/* The say over the job is lost at question number @left. */
struct authority {
    unsigned left;
};

static int check(void *ctx, struct err *err)
{
    struct authority *a = ctx;
    if (a->left > 0) {
        a->left--;
        return 0;
    }
    return err_set(err, ERR_CLOSED, "another master has it");
}

/* A master that loses the job at any moment leaves it to the next, which
 * resumes it; in the end the output is there once. */
START_TEST(test_take_over)
{
    setup();
    const struct job_files f = {.world = world, .fs = fs};
    struct authority a = {.left = 0};
    unsigned lives = 1;
    int rc = ERR_CLOSED;
    write_input(&f);
    for (; rc == ERR_CLOSED; lives++) {
        struct mr_options o = options();
        struct mr_report *report = NULL;
        struct err err = ERR_INIT;
        a.left = 2 * lives;
        o.check = check;
        o.check_ctx = &a;
        rc = mr_resume(&o, o.id, find, &report, &err);
        if (rc == ERR_NOTFOUND && !report)
            rc = mr_run(&o, &report, &err);
        ck_assert_msg(rc == 0 || rc == ERR_CLOSED, "%s", err.text);
        mr_report_free(report);
    }
    ck_assert_uint_gt(lives, 3);
    expect_output(&f);
    teardown();
}

END_TEST

TEST_MAIN("files",
          test_write_and_read,
          test_names,
          test_missing,
          test_journal_lives,
          test_journal_begins_once,
          test_journal_is_encrypted,
          test_small_files_are_encrypted,
          test_job,
          test_take_over)
