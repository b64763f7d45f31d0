/* Text is read line by line, each line once, wherever it is cut into splits and
 * however it is compressed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <zstd.h>

#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "mapreduce/input/glob.h"
#include "mapreduce/input/input.h"
#include "mapreduce/records/files.h"
#include "tests/lib/check_main.h"

static struct world *world;
static char path[300];

static void setup(void)
{
    world = world_real_new();
    snprintf(path, sizeof(path), "%s/in", test_tmpdir());
}

static void store(const char *name, const void *bytes, size_t n)
{
    FILE *f = fopen(name, "wb");
    ck_assert_uint_eq(fwrite(bytes, 1, n, f), n);
    fclose(f);
}

/* Lines of random lengths and breaks, many of them empty. */
static void random_text(struct rand_gen *r, struct buf *text)
{
    size_t lines = rand_below(r, 300);
    buf_clear(text);
    for (size_t i = 0; i < lines; i++) {
        size_t n = rand_one_in(r, 3) ? 0 : rand_below(r, 100);
        if (rand_one_in(r, 100))
            n = rand_below(r, 3000000);
        buf_append_fill(text, (char)('a' + rand_below(r, 26)), n);
        buf_append_str(text, rand_one_in(r, 4) ? "\r\n" : "\n");
    }
    if (rand_one_in(r, 2))
        buf_append_str(text, "no break at the end");
}

/* The lines as one text with plain breaks: the model. */
static void model_lines(struct slice text, struct buf *out)
{
    buf_clear(out);
    while (text.len > 0) {
        size_t n = slice_find_byte(text, '\n');
        struct slice line = slice_sub(text, 0, n);
        if (n < text.len && line.len > 0 && line.data[line.len - 1] == '\r')
            line.len--;
        buf_append_slice(out, line);
        buf_append_byte(out, '\n');
        text = slice_sub(text, n + 1, text.len);
    }
}

static void read_split(const struct input_context *ctx,
                       const struct input_split *split,
                       struct buf *out)
{
    struct input_reader *reader;
    struct mr_record record = {.input = 0};
    bool more = true;
    ck_assert_int_eq(input_open(ctx, split, &reader, NULL), 0);
    while (reader->next(reader, &record, &more, NULL) == 0 && more) {
        buf_append_slice(out, record.value);
        buf_append_byte(out, '\n');
    }
    ck_assert(!more);
    input_reader_close(reader);
}

static void check_read(uint64_t split_bytes, struct slice want)
{
    struct mr_spec spec = {.kind = MR_SPEC_FILE, .path = path};
    struct input_context ctx = {.files = {.world = world},
                                .specs = &spec,
                                .split_bytes = split_bytes,
                                .worker_count = 2};
    struct input_splits splits;
    struct buf out = BUF_INIT;
    input_splits_init(&splits);
    ck_assert_int_eq(input_plan(&ctx, 0, &splits, NULL), 0);
    for (size_t i = 0; i < splits.count; i++)
        read_split(&ctx, &splits.at[i], &out);
    ck_assert(slice_eq(buf_slice(&out), want));
    input_splits_close(&splits);
    buf_close(&out);
}

/* Splits of any size, down to one byte, part the lines among them. */
START_TEST(test_splits)
{
    struct rand_gen r;
    struct buf text = BUF_INIT;
    struct buf want = BUF_INIT;
    setup();
    rand_init(&r, test_seed());
    for (int i = 0; i < 60; i++) {
        random_text(&r, &text);
        store(path, text.data, text.len);
        model_lines(buf_slice(&text), &want);
        check_read(1 << 20, buf_slice(&want));
        /* Each piece has a reader, and that a megabyte: not too many. */
        if (text.len < 20000)
            check_read(1 + rand_below(&r, 50), buf_slice(&want));
        check_read(1000 + text.len / 300 + rand_below(&r, 100000),
                   buf_slice(&want));
    }
    buf_close(&text);
    buf_close(&want);
    world_free(world);
}

END_TEST

static void gzip(struct slice in, struct buf *out)
{
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)in.data,
                  .avail_in = (unsigned)in.len};
    ck_assert_int_eq(deflateInit2(&z, 1, Z_DEFLATED, 31, 8, 0), Z_OK);
    z.avail_out = (unsigned)deflateBound(&z, in.len);
    z.next_out = (unsigned char *)buf_reserve(out, z.avail_out);
    ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    buf_extend(out, z.total_out);
    deflateEnd(&z);
}

static void zstd(struct slice in, struct buf *out)
{
    size_t bound = ZSTD_compressBound(in.len);
    size_t n =
        ZSTD_compress(buf_reserve(out, bound), bound, in.data, in.len, 1);
    ck_assert(!ZSTD_isError(n));
    buf_extend(out, n);
}

/* Packed text, in one member or several, is read like plain text. */
/* Some pieces of two files on machines a, b and c. */
static void some_pieces(struct input_splits *s)
{
    static const struct {
        const char *path;
        uint64_t begin, end;
        const char *machines;
    } pieces[] = {
        {"x", 0, 100, "ab"},   {"x", 100, 200, "bc"}, {"x", 200, 300, "ca"},
        {"x", 300, 400, "ab"}, {"y", 0, 100, "ab"},   {"y", 100, 150, "ab"},
        {"y", 160, 170, "ab"}, {"z", 0, 0, "ab"},     {"z", 0, 0, "ab"},
    };

    input_splits_init(s);
    for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
        struct input_split *n = input_splits_add(s, 0, pieces[i].path);
        n->begin = pieces[i].begin;
        n->end = pieces[i].end;
        n->bytes = n->end > n->begin ? n->end - n->begin : 10;
        for (const char *m = pieces[i].machines; *m; m++)
            input_split_place(n, (char[]){*m, 0});
    }
}

/* Neighbours in a file are joined while they are small enough and a machine has
 * them all; pieces of other files, gaps and whole files are left alone. */
START_TEST(test_joined)
{
    static const struct {
        uint64_t bytes;
        const char *want;
    } cases[] = {
        {0, "x0-100ab x100-200bc x200-300ca x300-400ab y0-100ab y100-150ab "
            "y160-170ab z0-0ab z0-0ab "},
        {200, "x0-200b x200-400a y0-150ab y160-170ab z0-0ab z0-0ab "},
        {178, "x0-200b x200-400a y0-150ab y160-170ab z0-0ab z0-0ab "},
        {177, "x0-100ab x100-200bc x200-300ca x300-400ab y0-150ab y160-170ab "
              "z0-0ab z0-0ab "},
        {1000, "x0-200b x200-400a y0-150ab y160-170ab z0-0ab z0-0ab "},
    };

    struct buf got = BUF_INIT;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct input_splits s;
        some_pieces(&s);
        input_splits_join(&s, cases[i].bytes);
        buf_clear(&got);
        for (size_t k = 0; k < s.count; k++) {
            const struct input_split *at = &s.at[k];
            buf_printf(&got, "%s%u-%u", at->path, (unsigned)at->begin,
                       (unsigned)at->end);
            for (size_t m = 0; m < INPUT_MACHINES_MAX && at->machines[m]; m++)
                buf_append_str(&got, at->machines[m]);
            buf_append_byte(&got, ' ');
        }
        ck_assert_str_eq(buf_cstr(&got), cases[i].want);
        input_splits_close(&s);
    }
    buf_close(&got);
}

END_TEST

START_TEST(test_packed)
{
    struct rand_gen r;
    struct buf text = BUF_INIT;
    struct buf want = BUF_INIT;
    struct buf compressed = BUF_INIT;
    setup();
    rand_init(&r, test_seed());
    for (int i = 0; i < 20; i++) {
        size_t cut;
        random_text(&r, &text);
        model_lines(buf_slice(&text), &want);
        cut = rand_below(&r, text.len + 1);
        buf_clear(&compressed);
        (i & 1 ? gzip : zstd)(slice_make(text.data, cut), &compressed);
        (i & 1 ? gzip : zstd)(slice_make(text.data + cut, text.len - cut),
                              &compressed);
        store(path, compressed.data, compressed.len);
        check_read(10, buf_slice(&want));
    }
    buf_close(&text);
    buf_close(&want);
    buf_close(&compressed);
    world_free(world);
}

END_TEST

/* Packed text that is cut or damaged is an error that names file and place. */
START_TEST(test_damaged_compression)
{
    struct rand_gen r;
    struct buf text = BUF_INIT;
    setup();
    rand_init(&r, test_seed());
    for (int i = 0; i < 2000; i++)
        buf_printf(&text, "line %d %x\n", i, (unsigned)rand_u64(&r));
    for (int i = 0; i < 40; i++) {
        struct buf compressed = BUF_INIT;
        struct input_split split = {
            .path = path, .compression = i & 1 ? BYTES_GZIP : BYTES_ZSTD};
        struct mr_spec spec = {.kind = MR_SPEC_FILE, .path = path};
        struct input_context ctx = {.files = {.world = world}, .specs = &spec};
        struct input_reader *reader;
        struct mr_record record;
        struct err err = ERR_INIT;
        bool more = true;
        int rc;
        (i & 1 ? gzip : zstd)(buf_slice(&text), &compressed);
        compressed.len = 20 + rand_below(&r, compressed.len - 20);
        store(path, compressed.data, compressed.len);
        rc = input_open(&ctx, &split, &reader, &err);
        while (rc == 0 && more)
            rc = reader->next(reader, &record, &more, &err);
        ck_assert_int_eq(rc, ERR_CORRUPT);
        ck_assert_ptr_nonnull(strstr(err.text, path));
        input_reader_close(reader);
        buf_close(&compressed);
    }
    buf_close(&text);
    world_free(world);
}

END_TEST

/* Patterns find what a shell finds, less hidden files; a directory stands for
 * its files. */
START_TEST(test_globs)
{
    static const char *const names[] = {"a.txt", "b.txt", ".hidden", "_SUCCESS",
                                        "c.log"};
    char dir[300];
    char pattern[400];
    char **found;
    size_t count;
    setup();
    snprintf(dir, sizeof(dir), "%s", path);
    ck_assert_int_eq(world_mkdir(world, dir, NULL), 0);
    for (size_t i = 0; i < 5; i++) {
        snprintf(pattern, sizeof(pattern), "%s/%s", dir, names[i]);
        store(pattern, "x", 1);
    }
    snprintf(pattern, sizeof(pattern), "%s/*.t?t", dir);
    ck_assert_int_eq(glob_files(&(struct job_files){.world = world}, pattern,
                                &found, &count, NULL),
                     0);
    ck_assert_uint_eq(count, 2);
    ck_assert_ptr_nonnull(strstr(found[1], "/b.txt"));
    world_names_free(found, count);
    ck_assert_int_eq(glob_files(&(struct job_files){.world = world}, dir,
                                &found, &count, NULL),
                     0);
    ck_assert_uint_eq(count, 3);
    world_names_free(found, count);
    snprintf(pattern, sizeof(pattern), "%s/../i[nm]/_S*", dir);
    ck_assert_int_eq(glob_files(&(struct job_files){.world = world}, pattern,
                                &found, &count, NULL),
                     0);
    ck_assert_uint_eq(count, 1);
    world_names_free(found, count);
    ck_assert_int_eq(glob_files(&(struct job_files){.world = world},
                                "/nowhere/*", &found, &count, NULL),
                     0);
    ck_assert_uint_eq(count, 0);
    world_names_free(found, count);
    world_free(world);
}

END_TEST

TEST_MAIN("input",
          test_splits,
          test_joined,
          test_packed,
          test_damaged_compression,
          test_globs)
