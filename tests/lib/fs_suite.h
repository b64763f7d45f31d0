/* The promises of fs.h, for any file system behind it: checks that need nothing
 * but a way to open one.
 *
 *     struct fs_suite s = {.world = w, .open = …, .ctx = …, .traits = …};
 *     fs_suite_all(&s);
 *     fs_suite_faults(&s, 200, seed);
 *
 * The traits tell what a file system cannot do by its nature; everything else
 * is asked of all alike. Paths are below `root`, which is emptied. In the
 * storm of faults something between us and the server breaks calls: they may
 * fail, but what succeeds is true, and what failed is done whole or not at all.
 */
#ifndef TESTS_LIB_FS_SUITE_H
#define TESTS_LIB_FS_SUITE_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "gfs-lite/fs.h"
#include "tests/lib/check_main.h"

enum fs_suite_traits {
    FS_SUITE_APPENDS = 1,     /* Flushed bytes are readable, and more may be
                                 appended after a sync. */
    FS_SUITE_DIRECTORIES = 2, /* Directories exist without files. */
    FS_SUITE_LOCKS = 4,       /* fs_lock() */
    FS_SUITE_FENCES = 8,      /* fs_recover() cuts a writer off. */
    FS_SUITE_COLONS = 16,     /* Names may have colons, */
    FS_SUITE_BYTES = 32,      /* and bytes that are no UTF-8. */
    FS_SUITE_TREES = 64,      /* Directories are renamed. */
    FS_SUITE_PUBLISHES = 128, /* Of several who make a file, one succeeds. */
};

struct fs_suite {
    struct world *world;
    /* Another client of the same files. Owned by the caller. */
    int (*open)(void *ctx, struct fs **out, struct err *err);
    void *ctx;
    const char *root; /* "" or "a/b" */
    unsigned traits;
    size_t big_bytes; /* Of a file that is written in parts. */
    size_t entries;   /* Of a directory that is listed in pages. */
    unsigned writers; /* At a time. */
};

#define FS_SUITE_SECOND UINT64_C(1000000)
/* No call takes longer, whatever happens to it. */
#define FS_SUITE_CALL_US_MAX (90 * FS_SUITE_SECOND)

static UNUSED __thread struct err suite_error;

/* Fails the check unless @call, which may say why in `err`, gives 0. */
#define SUITE_OK(call)                                                         \
    do {                                                                       \
        struct err *err = &suite_error;                                        \
        int rc_ = (call);                                                      \
        ck_assert_msg(rc_ == 0, "%s: %d %s", #call, rc_, err->text);           \
    } while (0)

/* --- bytes and names ----------------------------------------------------- */

static UNUSED struct fs *suite_client(struct fs_suite *s)
{
    struct fs *fs = NULL;
    SUITE_OK(s->open(s->ctx, &fs, err));
    return fs;
}

/* Good until eight others are made by the same thread. */
static UNUSED const char *suite_name(const struct fs_suite *s, const char *name)
{
    static __thread char names[8][FS_PATH_BYTES_MAX + 1];
    static __thread size_t next;
    char *p = names[next++ % 8];
    snprintf(p, sizeof(names[0]), "%s%s%s", s->root,
             *s->root && *name ? "/" : "", name);
    return p;
}

/* Bytes that tell where they belong, and to which file. */
static UNUSED void suite_fill(struct buf *out, size_t len, uint64_t seed)
{
    char *p = buf_extend(out, len);
    for (size_t i = 0; i < len; i++)
        p[i] = (char)((i * 2654435761u + seed * 40503u + (i >> 9)) >> 3);
}

static UNUSED int suite_try_put(struct fs *fs,
                                const char *path,
                                struct slice data,
                                bool exclusive,
                                struct err *err)
{
    const struct fs_write_options o = {.mode = FS_WRITE_STREAM,
                                       .exclusive = exclusive};
    struct fs_writer *w = NULL;
    int rc = fs_create(fs, path, &o, &w, err);
    size_t part = 1;
    for (size_t at = 0; at < data.len && rc == 0; at += part) {
        part = MIN_OF(2 * part + 7, data.len - at);
        part = MIN_OF(part, (size_t)1 << 20);
        rc = fs_writer_append(w, data.data + at, part, err);
    }
    if (rc == 0) {
        ck_assert_uint_eq(fs_writer_offset(w), data.len);
        rc = fs_writer_sync(w, err);
    }
    fs_writer_close(w);
    return rc;
}

static UNUSED void suite_put(struct fs *fs, const char *path, struct slice data)
{
    SUITE_OK(suite_try_put(fs, path, data, false, err));
}

static UNUSED void
suite_check(struct fs *fs, const char *path, struct slice want)
{
    struct buf got = BUF_INIT;
    struct fs_info info;
    SUITE_OK(fs_read_all(fs, path, (size_t)1 << 28, &got, err));
    ck_assert_msg(got.len == want.len, "%s: %zu bytes of %zu", path, got.len,
                  want.len);
    ck_assert_msg(slice_eq(buf_slice(&got), want), "%s: other bytes", path);
    SUITE_OK(fs_stat(fs, path, &info, err));
    ck_assert(!info.is_directory);
    ck_assert_uint_eq(info.size_bytes, want.len);
    buf_close(&got);
}

static UNUSED void suite_check_absent(struct fs *fs, const char *path)
{
    struct fs_reader *r = NULL;
    struct fs_info info;
    ck_assert_int_eq(fs_stat(fs, path, &info, NULL), ERR_NOTFOUND);
    ck_assert_int_eq(fs_open(fs, path, &r, NULL), ERR_NOTFOUND);
}

static UNUSED void suite_clear(struct fs_suite *s, struct fs *fs)
{
    int rc;
    if (*s->root == '\0')
        return;
    rc = fs_remove_tree(fs, s->root, &suite_error);
    ck_assert_msg(rc == 0 || rc == ERR_NOTFOUND, "%s", suite_error.text);
}

/* --- one file ------------------------------------------------------------ */

/* Any range of the file has its bytes, and ends where it ends. */
static UNUSED void suite_check_ranges(struct fs *fs,
                                      const char *path,
                                      struct slice want,
                                      unsigned count)
{
    struct fs_reader *r = NULL;
    struct rand_gen g;
    size_t most = MIN_OF(want.len, (size_t)100000) + 10;
    char *dst = mem_alloc(most);
    rand_init(&g, want.len);
    SUITE_OK(fs_open(fs, path, &r, err));
    ck_assert_uint_eq(fs_reader_size(r), want.len);
    for (unsigned i = 0; i < count; i++) {
        uint64_t at = rand_below(&g, want.len + 10);
        size_t len = rand_below(&g, most);
        size_t has = at < want.len ? MIN_OF(len, want.len - at) : 0;
        size_t got = 0;
        if (i % 10 == 3)
            fs_prefetch(r, at, len);
        SUITE_OK(fs_read_at(r, at, dst, len, &got, err));
        ck_assert_uint_eq(got, has);
        ck_assert(has == 0 || memcmp(dst, want.data + at, has) == 0);
    }
    fs_reader_close(r);
    mem_free(dst);
}

/* Empty, small and large files come back, whole and in ranges. */
static UNUSED void fs_suite_files(struct fs_suite *s)
{
    const size_t sizes[] = {0, 1, 4096, 65537, s->big_bytes};
    struct fs *fs = suite_client(s);
    struct fs *other = suite_client(s);
    suite_clear(s, fs);
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        struct buf data = BUF_INIT;
        char name[32];
        snprintf(name, sizeof(name), "files/deep/%zu", i);
        suite_fill(&data, sizes[i], i);
        suite_put(fs, suite_name(s, name), buf_slice(&data));
        suite_check(fs, suite_name(s, name), buf_slice(&data));
        suite_check(other, suite_name(s, name), buf_slice(&data));
        suite_check_ranges(other, suite_name(s, name), buf_slice(&data), 40);
        buf_close(&data);
    }
    fs_close(other);
    fs_close(fs);
}

/* A file is replaced as a whole, not made twice, and dropped when its writer
 * was closed without a sync, if it appears whole. */
static UNUSED void fs_suite_replaced(struct fs_suite *s)
{
    const struct fs_write_options o = {.mode = FS_WRITE_STREAM};
    struct fs *fs = suite_client(s);
    const char *name = suite_name(s, "replaced/file");
    const char *gone = suite_name(s, "replaced/dropped");
    struct fs_writer *w = NULL;
    struct fs_info info;
    suite_clear(s, fs);
    suite_put(fs, name, SLICE_LIT("a long first version"));
    suite_put(fs, name, SLICE_LIT("second"));
    suite_check(fs, name, SLICE_LIT("second"));
    SUITE_OK(fs_replace(fs, name, SLICE_LIT("third, replaced"), err));
    suite_check(fs, name, SLICE_LIT("third, replaced"));
    SUITE_OK(fs_replace(fs, name, SLICE_EMPTY, err));
    suite_check(fs, name, SLICE_EMPTY);
    ck_assert_int_eq(suite_try_put(fs, name, SLICE_LIT("x"), true, NULL),
                     ERR_EXISTS);
    suite_check(fs, name, SLICE_EMPTY);
    if (fs_writes_whole(fs)) {
        SUITE_OK(fs_create(fs, gone, &o, &w, err));
        SUITE_OK(fs_writer_append(w, "abc", 3, err));
        ck_assert_int_eq(fs_stat(fs, gone, &info, NULL), ERR_NOTFOUND);
        fs_writer_close(w);
        suite_check_absent(fs, gone);
    }
    fs_close(fs);
}

/* A reader has one version of a file: the old one, or an error. */
static UNUSED void fs_suite_versions(struct fs_suite *s)
{
    struct fs *fs = suite_client(s);
    const char *name = suite_name(s, "versions/file");
    struct buf old = BUF_INIT;
    struct buf now = BUF_INIT;
    struct fs_reader *r = NULL;
    char *dst = mem_alloc(300000);
    size_t got = 0;
    int rc;
    suite_clear(s, fs);
    suite_fill(&old, 300000, 1);
    suite_fill(&now, 300000, 2);
    suite_put(fs, name, buf_slice(&old));
    SUITE_OK(fs_open(fs, name, &r, err));
    SUITE_OK(fs_replace(fs, name, buf_slice(&now), err));
    rc = fs_read_at(r, 0, dst, 300000, &got, NULL);
    ck_assert(rc == 0 || rc == ERR_ABORTED || rc == ERR_NOTFOUND);
    ck_assert(rc || (got == 300000 && memcmp(dst, old.data, got) == 0));
    fs_reader_close(r);
    suite_check(fs, name, buf_slice(&now));
    mem_free(dst);
    buf_close(&old);
    buf_close(&now);
    fs_close(fs);
}

/* A log is readable up to its last flush, by others too, and is appended to
 * after a sync. */
static UNUSED void fs_suite_appended(struct fs_suite *s)
{
    const struct fs_write_options o = {.mode = FS_WRITE_LOG};
    struct fs *fs = suite_client(s);
    struct fs *other = suite_client(s);
    const char *name = suite_name(s, "appended/log");
    struct buf all = BUF_INIT;
    struct fs_writer *w = NULL;
    suite_clear(s, fs);
    if (!(s->traits & FS_SUITE_APPENDS)) {
        SUITE_OK(fs_create(fs, name, &o, &w, err));
        SUITE_OK(fs_writer_append(w, "abc", 3, err));
        ck_assert_int_eq(fs_writer_flush(w, NULL), ERR_UNSUPPORTED);
        SUITE_OK(fs_writer_sync(w, err));
        ck_assert_int_eq(fs_writer_append(w, "d", 1, NULL), ERR_UNSUPPORTED);
        fs_writer_close(w);
        suite_check(fs, name, SLICE_LIT("abc"));
        fs_close(other);
        fs_close(fs);
        return;
    }
    suite_fill(&all, 400000, 7);
    SUITE_OK(fs_create(fs, name, &o, &w, err));
    for (size_t at = 0, i = 0; at < all.len; i++) {
        size_t n = MIN_OF((size_t)1 + i * 997, all.len - at);
        if (i % 3 == 2) {
            SUITE_OK(fs_writer_append_sync(w, all.data + at, n, err));
        } else {
            SUITE_OK(fs_writer_append(w, all.data + at, n, err));
            SUITE_OK(fs_writer_flush(w, err));
        }
        at += n;
        if (i % 4 == 1)
            suite_check_ranges(other, name, slice_make(all.data, at), 3);
    }
    SUITE_OK(fs_writer_sync(w, err));
    fs_writer_close(w);
    suite_check(other, name, buf_slice(&all));
    buf_close(&all);
    fs_close(other);
    fs_close(fs);
}

/* After fs_recover() the writer that was there is refused, and the file stays
 * as long as it was said to be. */
static UNUSED void fs_suite_fenced(struct fs_suite *s)
{
    const struct fs_write_options o = {.mode = FS_WRITE_LOG};
    struct fs *fs = suite_client(s);
    struct fs *other = suite_client(s);
    const char *name = suite_name(s, "fenced/log");
    struct fs_writer *w = NULL;
    struct buf got = BUF_INIT;
    uint64_t length = 0;
    int rc;
    suite_clear(s, fs);
    ck_assert_int_eq(fs_recover(fs, name, &length, NULL), ERR_NOTFOUND);
    SUITE_OK(fs_create(fs, name, &o, &w, err));
    SUITE_OK(fs_writer_append(w, "flushed", 7, err));
    if (s->traits & FS_SUITE_APPENDS)
        SUITE_OK(fs_writer_flush(w, err));
    if (s->traits & FS_SUITE_FENCES) {
        SUITE_OK(fs_recover(other, name, &length, err));
        ck_assert_uint_ge(length, 7);
        rc = fs_writer_append(w, "late", 4, NULL);
        rc = rc ? rc : fs_writer_sync(w, NULL);
        ck_assert_int_eq(rc, ERR_ABORTED);
        SUITE_OK(fs_read_all(other, name, 1 << 20, &got, err));
        ck_assert_uint_eq(got.len, length);
        ck_assert_mem_eq(got.data, "flushed", 7);
        SUITE_OK(fs_recover(other, name, &length, err));
        ck_assert_uint_eq(got.len, length);
    }
    fs_writer_close(w);
    buf_close(&got);
    fs_close(other);
    fs_close(fs);
}

/* --- names --------------------------------------------------------------- */

static UNUSED void suite_add_name(void *ctx, const char *name)
{
    struct buf *b = ctx;
    buf_append_str(b, name);
    buf_append_byte(b, '\n');
}

static UNUSED int suite_visit(void *ctx,
                              const char *name,
                              const struct fs_info *info,
                              struct err *err)
{
    struct buf *b = ctx;
    (void)err;
    suite_add_name(b, name);
    if (!info->is_directory)
        buf_printf(b, "%" PRIu64 "\n", info->size_bytes);
    return 0;
}

/* A directory of many entries is listed in order, each entry once. */
static UNUSED void fs_suite_lists(struct fs_suite *s)
{
    struct fs *fs = suite_client(s);
    struct buf want = BUF_INIT;
    struct buf got = BUF_INIT;
    char **names = NULL;
    size_t count = 0;
    char name[64];
    suite_clear(s, fs);
    for (size_t i = 0; i < s->entries; i++) {
        snprintf(name, sizeof(name), "lists/d/%05zu", (i * 7919) % s->entries);
        SUITE_OK(fs_replace(fs, suite_name(s, name),
                            slice_make("abcdefg", i % 7), err));
    }
    suite_put(fs, suite_name(s, "lists/d/sub/file"), SLICE_LIT("x"));
    suite_put(fs, suite_name(s, "lists/d0"), SLICE_LIT("beside"));
    SUITE_OK(fs_list(fs, suite_name(s, "lists/d"), &names, &count, err));
    ck_assert_uint_eq(count, s->entries + 1);
    for (size_t i = 0; i < s->entries; i++) {
        snprintf(name, sizeof(name), "%05zu", i);
        ck_assert_str_eq(names[i], name);
    }
    ck_assert_str_eq(names[s->entries], "sub");
    fs_names_free(names, count);
    suite_add_name(&want, "d");
    suite_add_name(&want, "d0");
    suite_add_name(&want, "6");
    SUITE_OK(fs_each(fs, suite_name(s, "lists"), suite_visit, &got, err));
    ck_assert_str_eq(buf_cstr(&got), buf_cstr(&want));
    ck_assert_int_eq(
        fs_list(fs, suite_name(s, "lists/none"), &names, &count, NULL),
        ERR_NOTFOUND);
    SUITE_OK(fs_remove_tree(fs, suite_name(s, "lists/d"), err));
    suite_check_absent(fs, suite_name(s, "lists/d/00000"));
    suite_check(fs, suite_name(s, "lists/d0"), SLICE_LIT("beside"));
    buf_close(&want);
    buf_close(&got);
    fs_close(fs);
}

/* Names of any characters: what is made is found, and listed as it is. */
static UNUSED void fs_suite_odd_names(struct fs_suite *s)
{
    static const char *const odd[] = {
        "a b",     "a+b",        "%41",     "100%",      "a&b=c",    "q?x=1",
        "#hash",   "'quoted'",   "\"two\"", "(x)[y]{z}", "~t",       "$v!",
        "ü-日本",  "semi;colon", "a,b",     "back\\s",   "<xml>",    "a@b*c",
        ".hidden", "..twice",    "...",     "trailing ", " leading", "-"};
    struct fs *fs = suite_client(s);
    char **names = NULL;
    size_t count = 0;
    size_t made = ARRAY_LEN(odd);
    char name[300];
    suite_clear(s, fs);
    for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
        snprintf(name, sizeof(name), "odd/%s", odd[i]);
        suite_put(fs, suite_name(s, name), slice_str(odd[i]));
        snprintf(name, sizeof(name), "odd/%s", odd[i]);
        suite_check(fs, suite_name(s, name), slice_str(odd[i]));
        snprintf(name, sizeof(name), "below/%s/x", odd[i]);
        suite_put(fs, suite_name(s, name), SLICE_LIT("x"));
    }
    if (s->traits & FS_SUITE_COLONS) {
        suite_put(fs, suite_name(s, "odd/a:b"), SLICE_LIT("a:b"));
        made++;
    }
    if (s->traits & FS_SUITE_BYTES) {
        suite_put(fs, suite_name(s, "odd/\xff\xfe"), SLICE_LIT("\xff\xfe"));
        made++;
    }
    SUITE_OK(fs_list(fs, suite_name(s, "odd"), &names, &count, err));
    ck_assert_uint_eq(count, made);
    for (size_t i = 0; i < count; i++) {
        ck_assert(i == 0 || strcmp(names[i - 1], names[i]) < 0);
        snprintf(name, sizeof(name), "odd/%s", names[i]);
        suite_check(fs, suite_name(s, name), slice_str(names[i]));
    }
    fs_names_free(names, count);
    SUITE_OK(fs_list(fs, suite_name(s, "below"), &names, &count, err));
    ck_assert_uint_eq(count, ARRAY_LEN(odd));
    fs_names_free(names, count);
    SUITE_OK(fs_rename(fs, suite_name(s, "odd/%41"),
                       suite_name(s, "odd/b+ü %42"), err));
    suite_check(fs, suite_name(s, "odd/b+ü %42"), SLICE_LIT("%41"));
    memset(name, 'n', sizeof(name));
    memcpy(name, "odd/", 4);
    name[204] = '\0';
    suite_put(fs, suite_name(s, name), SLICE_LIT("long"));
    suite_check(fs, suite_name(s, name), SLICE_LIT("long"));
    fs_close(fs);
}

/* A renamed file has its bytes and replaces what was there. */
static UNUSED void fs_suite_renamed(struct fs_suite *s)
{
    struct fs *fs = suite_client(s);
    const char *a = suite_name(s, "renamed/a");
    const char *b = suite_name(s, "renamed/b");
    const char *c = suite_name(s, "elsewhere/c");
    struct buf data = BUF_INIT;
    suite_clear(s, fs);
    suite_fill(&data, 200000, 3);
    suite_put(fs, a, buf_slice(&data));
    SUITE_OK(fs_rename(fs, a, b, err));
    suite_check_absent(fs, a);
    suite_check(fs, b, buf_slice(&data));
    suite_put(fs, a, SLICE_LIT("short"));
    SUITE_OK(fs_rename(fs, a, b, err));
    suite_check_absent(fs, a);
    suite_check(fs, b, SLICE_LIT("short"));
    SUITE_OK(fs_rename(fs, b, b, err));
    suite_check(fs, b, SLICE_LIT("short"));
    SUITE_OK(fs_mkdirs(fs, suite_name(s, "elsewhere"), err));
    SUITE_OK(fs_rename(fs, b, c, err));
    SUITE_OK(fs_sync_dir(fs, suite_name(s, "elsewhere"), err));
    suite_check(fs, c, SLICE_LIT("short"));
    suite_check_absent(fs, b);
    ck_assert_int_eq(fs_rename(fs, a, b, NULL), ERR_NOTFOUND);
    if (s->traits & FS_SUITE_TREES) {
        SUITE_OK(fs_rename(fs, suite_name(s, "elsewhere"),
                           suite_name(s, "moved"), err));
        suite_check(fs, suite_name(s, "moved/c"), SLICE_LIT("short"));
        suite_check_absent(fs, c);
    }
    buf_close(&data);
    fs_close(fs);
}

/* A removed file is gone, and the code says when there was none. */
static UNUSED void fs_suite_removed(struct fs_suite *s)
{
    struct fs *fs = suite_client(s);
    const char *name = suite_name(s, "removed/deep/file");
    struct fs_reader *r = NULL;
    struct fs_info info;
    suite_clear(s, fs);
    suite_put(fs, name, SLICE_LIT("x"));
    SUITE_OK(fs_stat(fs, suite_name(s, "removed/deep"), &info, err));
    ck_assert(info.is_directory);
    ck_assert_int_eq(fs_remove(fs, suite_name(s, "removed"), NULL),
                     ERR_INVALID);
    ck_assert(fs_open(fs, suite_name(s, "removed"), &r, NULL) != 0);
    SUITE_OK(fs_remove(fs, name, err));
    suite_check_absent(fs, name);
    ck_assert_int_eq(fs_remove(fs, name, &suite_error), ERR_NOTFOUND);
    ck_assert_msg(strstr(suite_error.text, "removed/deep/file"), "%s",
                  suite_error.text);
    ck_assert_int_eq(fs_remove_tree(fs, suite_name(s, "never"), NULL),
                     ERR_NOTFOUND);
    ck_assert_int_eq(fs_stat(fs, "../x", &info, NULL), ERR_INVALID);
    ck_assert_int_eq(fs_open(fs, "a/../../x", &r, NULL), ERR_INVALID);
    ck_assert_int_eq(fs_open(fs, "/etc/passwd", &r, NULL), ERR_INVALID);
    if (s->traits & FS_SUITE_DIRECTORIES) {
        SUITE_OK(fs_mkdirs(fs, suite_name(s, "removed/empty/er"), err));
        SUITE_OK(fs_stat(fs, suite_name(s, "removed/empty/er"), &info, err));
        ck_assert(info.is_directory);
        SUITE_OK(fs_remove_tree(fs, suite_name(s, "removed/empty/er"), err));
        ck_assert_int_eq(
            fs_stat(fs, suite_name(s, "removed/empty/er"), &info, NULL),
            ERR_NOTFOUND);
        suite_put(fs, suite_name(s, "removed/file"), SLICE_LIT("x"));
        ck_assert(fs_mkdirs(fs, suite_name(s, "removed/file/x"), NULL) != 0);
    }
    fs_close(fs);
}

/* --- several at a time --------------------------------------------------- */

struct suite_writer {
    struct fs_suite *suite;
    struct fs *fs;
    unsigned number;
    int outcome; /* Of making the one name. */
};

static UNUSED void suite_run_writer(void *arg)
{
    struct suite_writer *w = arg;
    struct buf data = BUF_INIT;
    char name[64];
    for (unsigned i = 0; i < 4; i++) {
        buf_clear(&data);
        suite_fill(&data, 20000 * i + w->number, w->number);
        snprintf(name, sizeof(name), "many/%u-%u", w->number, i);
        suite_put(w->fs, suite_name(w->suite, name), buf_slice(&data));
    }
    buf_clear(&data);
    suite_fill(&data, 1000 + w->number, w->number);
    w->outcome = fs_publish(w->fs, suite_name(w->suite, "many/published"),
                            buf_slice(&data), NULL);
    buf_close(&data);
}

/* Clients that write at a time do not disturb each other, and of those who
 * publish a file one succeeds. */
static UNUSED void fs_suite_many(struct fs_suite *s)
{
    struct suite_writer *all = mem_zalloc(s->writers, sizeof(*all));
    struct task **tasks = mem_zalloc(s->writers, sizeof(*tasks));
    struct fs *fs = suite_client(s);
    struct buf data = BUF_INIT;
    unsigned winners = 0;
    char name[64];
    suite_clear(s, fs);
    for (unsigned i = 0; i < s->writers; i++) {
        all[i] = (struct suite_writer){
            .suite = s, .fs = suite_client(s), .number = i};
        tasks[i] = task_start(s->world, "writer", suite_run_writer, &all[i]);
    }
    for (unsigned i = 0; i < s->writers; i++)
        task_join(tasks[i]);
    for (unsigned i = 0; i < s->writers; i++) {
        bool alone = (s->traits & FS_SUITE_PUBLISHES) != 0;
        for (unsigned j = 0; j < 4; j++) {
            buf_clear(&data);
            suite_fill(&data, 20000 * j + i, i);
            snprintf(name, sizeof(name), "many/%u-%u", i, j);
            suite_check(fs, suite_name(s, name), buf_slice(&data));
        }
        fs_close(all[i].fs);
        if (all[i].outcome == 0) {
            winners++;
            buf_clear(&data);
            suite_fill(&data, 1000 + i, i);
            if (alone)
                suite_check(fs, suite_name(s, "many/published"),
                            buf_slice(&data));
        } else {
            ck_assert_int_eq(all[i].outcome, ERR_EXISTS);
        }
    }
    if (s->traits & FS_SUITE_PUBLISHES)
        ck_assert_uint_eq(winners, 1);
    buf_close(&data);
    fs_close(fs);
    mem_free(tasks);
    mem_free(all);
}

/* One client has a lock, and the other is told who. */
static UNUSED void fs_suite_locked(struct fs_suite *s)
{
    struct fs *fs = suite_client(s);
    struct fs *other = suite_client(s);
    const char *name = suite_name(s, "locked/LOCK");
    struct fs_lock *a = NULL;
    struct fs_lock *b = NULL;
    suite_clear(s, fs);
    SUITE_OK(fs_mkdirs(fs, suite_name(s, "locked"), err));
    if (!(s->traits & FS_SUITE_LOCKS)) {
        ck_assert_int_eq(fs_lock(fs, name, &a, &suite_error), ERR_UNSUPPORTED);
    } else {
        SUITE_OK(fs_lock(fs, name, &a, err));
        ck_assert_int_eq(fs_lock(other, name, &b, &suite_error), ERR_BUSY);
        fs_unlock(a);
        SUITE_OK(fs_lock(other, name, &b, err));
        fs_unlock(b);
    }
    fs_close(other);
    fs_close(fs);
}

static UNUSED void fs_suite_all(struct fs_suite *s)
{
    fs_suite_files(s);
    fs_suite_replaced(s);
    fs_suite_versions(s);
    fs_suite_appended(s);
    fs_suite_fenced(s);
    fs_suite_lists(s);
    fs_suite_odd_names(s);
    fs_suite_renamed(s);
    fs_suite_removed(s);
    fs_suite_many(s);
    fs_suite_locked(s);
}

/* --- a storm of faults --------------------------------------------------- */

#define SUITE_FILES  6
#define SUITE_MAYBES 64

/* The contents that a name may have, by their seeds, 0 for none. More than one
 * after a call that failed. */
struct suite_state {
    uint64_t maybe[SUITE_MAYBES];
    size_t count;
};

static UNUSED void suite_is(struct suite_state *st, uint64_t seed)
{
    st->maybe[0] = seed;
    st->count = 1;
}

static UNUSED bool suite_may_be(const struct suite_state *st, uint64_t seed)
{
    for (size_t i = 0; i < st->count; i++)
        if (st->maybe[i] == seed)
            return true;
    return false;
}

static UNUSED void suite_or(struct suite_state *st, uint64_t seed)
{
    if (suite_may_be(st, seed))
        return;
    ck_assert_uint_lt(st->count, SUITE_MAYBES);
    st->maybe[st->count++] = seed;
}

static UNUSED size_t suite_length(uint64_t seed)
{
    return (size_t)(seed * 7919 % 60000) + 16;
}

/* Contents begin with their seed, and so tell which they are. */
static UNUSED void suite_content(uint64_t seed, struct buf *out)
{
    char text[17];
    buf_clear(out);
    snprintf(text, sizeof(text), "%016" PRIx64, seed);
    suite_fill(out, suite_length(seed), seed);
    memcpy(out->data, text, 16);
}

static UNUSED uint64_t suite_seed_of(const struct buf *b)
{
    char text[17] = "";
    ck_assert_uint_ge(b->len, 16);
    memcpy(text, b->data, 16);
    return strtoull(text, NULL, 16);
}

struct suite_storm {
    struct fs_suite *suite;
    struct fs *fs;
    struct suite_state files[SUITE_FILES];
    struct rand_gen rand;
    uint64_t next_seed;
    uint64_t failed;
    uint64_t done;
    uint64_t slowest_us;
};

static UNUSED const char *suite_storm_name(struct suite_storm *t, size_t i)
{
    char name[32];
    snprintf(name, sizeof(name), "storm/f%zu", i);
    return suite_name(t->suite, name);
}

/* A failure that says nothing about what is there. Corruption that is noticed
 * is one; absence is a statement. */
static UNUSED bool suite_is_fault(int rc)
{
    return rc == ERR_UNAVAILABLE || rc == ERR_CORRUPT || rc == ERR_DEADLINE ||
           rc == ERR_IO || rc == ERR_UNKNOWN_OUTCOME || rc == ERR_EXHAUSTED;
}

static UNUSED void suite_storm_read(struct suite_storm *t, size_t i)
{
    struct suite_state *st = &t->files[i];
    struct buf got = BUF_INIT;
    struct buf want = BUF_INIT;
    int rc =
        fs_read_all(t->fs, suite_storm_name(t, i), 1 << 20, &got, &suite_error);
    if (rc == 0) {
        uint64_t seed = suite_seed_of(&got);
        ck_assert_msg(suite_may_be(st, seed), "f%zu has %" PRIx64, i, seed);
        suite_content(seed, &want);
        ck_assert_msg(slice_eq(buf_slice(&got), buf_slice(&want)),
                      "f%zu: %zu wrong bytes of %zu", i, got.len, want.len);
        suite_is(st, seed);
    } else if (rc == ERR_NOTFOUND) {
        ck_assert_msg(suite_may_be(st, 0), "f%zu is not there: %s", i,
                      suite_error.text);
    } else {
        t->failed++;
        ck_assert_msg(suite_is_fault(rc) || rc == ERR_ABORTED, "f%zu: %d %s", i,
                      rc, suite_error.text);
    }
    buf_close(&got);
    buf_close(&want);
}

static UNUSED void suite_storm_range(struct suite_storm *t, size_t i)
{
    struct suite_state *st = &t->files[i];
    struct buf want = BUF_INIT;
    struct fs_reader *r = NULL;
    char dst[4000];
    size_t got = 0;
    int rc = fs_open(t->fs, suite_storm_name(t, i), &r, NULL);
    bool fits = false;
    uint64_t at = 0;
    if (rc == 0) {
        at = rand_below(&t->rand, fs_reader_size(r) + 1);
        rc = fs_read_at(r, at, dst, sizeof(dst), &got, NULL);
    }
    if (rc == ERR_NOTFOUND)
        ck_assert(suite_may_be(st, 0));
    for (size_t k = 0; rc == 0 && k < st->count && !fits; k++) {
        if (st->maybe[k] == 0)
            continue;
        suite_content(st->maybe[k], &want);
        fits = fs_reader_size(r) == want.len &&
               got == MIN_OF(sizeof(dst), want.len - at) &&
               memcmp(dst, want.data + at, got) == 0;
    }
    ck_assert_msg(rc || fits, "f%zu: wrong bytes at %" PRIu64, i, at);
    t->failed += rc != 0 && rc != ERR_NOTFOUND;
    fs_reader_close(r);
    buf_close(&want);
}

static UNUSED void suite_storm_write(struct suite_storm *t, size_t i, bool only)
{
    struct suite_state *st = &t->files[i];
    uint64_t seed = ++t->next_seed;
    struct buf data = BUF_INIT;
    int rc;
    suite_content(seed, &data);
    rc = only ? fs_publish(t->fs, suite_storm_name(t, i), buf_slice(&data),
                           &suite_error)
         : rand_one_in(&t->rand, 2)
             ? fs_replace(t->fs, suite_storm_name(t, i), buf_slice(&data),
                          &suite_error)
             : suite_try_put(t->fs, suite_storm_name(t, i), buf_slice(&data),
                             false, &suite_error);
    if (rc == 0) {
        ck_assert_msg(!only || suite_may_be(st, 0), "f%zu was there", i);
        suite_is(st, seed);
    } else if (only && rc == ERR_EXISTS) {
        ck_assert_msg(st->count > 1 || st->maybe[0] != 0, "f%zu is absent", i);
    } else {
        t->failed++;
        suite_or(st, seed);
        ck_assert_msg(suite_is_fault(rc), "f%zu: %d %s", i, rc,
                      suite_error.text);
    }
    buf_close(&data);
}

static UNUSED void suite_storm_remove(struct suite_storm *t, size_t i)
{
    struct suite_state *st = &t->files[i];
    int rc = fs_remove(t->fs, suite_storm_name(t, i), &suite_error);
    if (rc == 0) {
        ck_assert(st->count > 1 || st->maybe[0] != 0);
        suite_is(st, 0);
    } else if (rc == ERR_NOTFOUND) {
        ck_assert_msg(suite_may_be(st, 0), "%s", suite_error.text);
    } else {
        t->failed++;
        suite_or(st, 0);
        ck_assert_msg(suite_is_fault(rc), "f%zu: %d %s", i, rc,
                      suite_error.text);
    }
}

static UNUSED void suite_storm_rename(struct suite_storm *t, size_t i, size_t j)
{
    struct suite_state *from = &t->files[i];
    struct suite_state *to = &t->files[j];
    char *old = mem_strdup(suite_storm_name(t, i));
    int rc = i == j
                 ? ERR_CANCELLED
                 : fs_rename(t->fs, old, suite_storm_name(t, j), &suite_error);
    if (rc == 0) {
        *to = (struct suite_state){.count = 0};
        for (size_t k = 0; k < from->count; k++)
            if (from->maybe[k] != 0)
                suite_or(to, from->maybe[k]);
        ck_assert_uint_gt(to->count, 0);
        suite_is(from, 0);
    } else if (rc == ERR_NOTFOUND) {
        ck_assert_msg(suite_may_be(from, 0), "%s", suite_error.text);
    } else if (i != j) {
        t->failed++;
        for (size_t k = 0; k < from->count; k++)
            if (from->maybe[k] != 0)
                suite_or(to, from->maybe[k]);
        suite_or(from, 0);
        ck_assert_msg(suite_is_fault(rc), "f%zu: %d %s", i, rc,
                      suite_error.text);
    }
    mem_free(old);
}

static UNUSED void suite_storm_list(struct suite_storm *t)
{
    char **names = NULL;
    size_t count = 0;
    int rc =
        fs_list(t->fs, suite_name(t->suite, "storm"), &names, &count, NULL);
    if (rc && rc != ERR_NOTFOUND) {
        t->failed++;
        return;
    }
    for (size_t i = 0; i < SUITE_FILES; i++) {
        const struct suite_state *st = &t->files[i];
        char want[16];
        bool listed = false;
        snprintf(want, sizeof(want), "f%zu", i);
        for (size_t k = 0; k < count; k++)
            listed |= strcmp(names[k], want) == 0;
        ck_assert_msg(listed ? st->count > 1 || st->maybe[0] != 0
                             : suite_may_be(st, 0),
                      "f%zu is %s", i, listed ? "listed" : "not listed");
    }
    if (rc == 0)
        fs_names_free(names, count);
}

static UNUSED void suite_storm_step(struct suite_storm *t)
{
    uint64_t begin = world_mono_ns(t->suite->world);
    size_t i = rand_below(&t->rand, SUITE_FILES);
    switch (rand_below(&t->rand, 9)) {
    case 0:
    case 1: suite_storm_write(t, i, false); break;
    case 2: suite_storm_write(t, i, true); break;
    case 3: suite_storm_remove(t, i); break;
    case 4: suite_storm_list(t); break;
    case 5: suite_storm_rename(t, i, rand_below(&t->rand, SUITE_FILES)); break;
    case 6: suite_storm_range(t, i); break;
    default: suite_storm_read(t, i); break;
    }
    t->done++;
    t->slowest_us =
        MAX_OF(t->slowest_us, (world_mono_ns(t->suite->world) - begin) / 1000);
}

/* Calls of @steps random kinds, of which a proxy breaks some: no success is
 * wrong, then and in the end, when @quiet (NULL: the same) asks without it. */
static UNUSED void fs_suite_faults(struct fs_suite *s,
                                   struct fs_suite *quiet,
                                   uint64_t steps,
                                   uint64_t seed)
{
    struct suite_storm t = {.suite = quiet ? quiet : s};
    t.fs = suite_client(t.suite);
    suite_clear(t.suite, t.fs);
    fs_close(t.fs);
    t.suite = s;
    t.fs = suite_client(s);
    rand_init(&t.rand, seed);
    for (size_t i = 0; i < SUITE_FILES; i++)
        suite_is(&t.files[i], 0);
    for (uint64_t i = 0; i < steps; i++)
        suite_storm_step(&t);
    fs_close(t.fs);
    t.suite = quiet ? quiet : s;
    t.fs = suite_client(t.suite);
    for (size_t i = 0; i < SUITE_FILES; i++) {
        uint64_t failed = t.failed;
        suite_storm_read(&t, i);
        ck_assert_uint_eq(t.failed, failed);
    }
    suite_storm_list(&t);
    fs_close(t.fs);
    printf("%" PRIu64 " calls, %" PRIu64 " failed, the slowest took %" PRIu64
           " ms\n",
           t.done, t.failed, t.slowest_us / 1000);
    ck_assert_uint_lt(t.slowest_us, FS_SUITE_CALL_US_MAX);
    ck_assert_uint_lt(t.failed, t.done);
}

#endif /* TESTS_LIB_FS_SUITE_H */
