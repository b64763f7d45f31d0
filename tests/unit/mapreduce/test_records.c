/* Record files give back what was written, and never anything else. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "mapreduce/mapreduce.h"
#include "mapreduce/records/files.h"
#include "mapreduce/records/record_reader.h"
#include "mapreduce/records/record_writer.h"
#include "tests/lib/check_main.h"

static char path[300];

static struct world *setup_world(void)
{
    snprintf(path, sizeof(path), "%s/f.rec", test_tmpdir());
    return world_real_new();
}

/* The record number i of a file made with @seed: keys share beginnings. */
static void
make_record(uint64_t seed, uint64_t i, struct buf *key, struct buf *value)
{
    struct rand_gen r;
    rand_init(&r, seed + i);
    buf_clear(key);
    buf_clear(value);
    buf_printf(key, "com.example.www/%llu/", (unsigned long long)(i / 7));
    buf_append_fill(key, (char)rand_u64(&r), rand_below(&r, 40));
    for (size_t n = rand_below(&r, rand_one_in(&r, 50) ? 300000 : 300); n; n--)
        buf_append_byte(value, (char)(rand_u64(&r) & 15));
}

static void
write_file(struct world *w, uint64_t seed, uint64_t count, int level)
{
    struct record_writer out;
    struct buf key = BUF_INIT;
    struct buf value = BUF_INIT;
    ck_assert_int_eq(record_writer_open(&out, &(struct job_files){.world = w},
                                        path, level, NULL),
                     0);
    for (uint64_t i = 0; i < count; i++) {
        make_record(seed, i, &key, &value);
        record_writer_add(&out, buf_slice(&key), buf_slice(&value));
    }
    ck_assert_int_eq(record_writer_finish(&out, true, NULL), 0);
    record_writer_close(&out);
    buf_close(&key);
    buf_close(&value);
}

/* Read to the end or the first error; returns its code. Every record read must
 * be the one written. */
static int
read_file(struct world *w, uint64_t seed, uint64_t *count, struct err *err)
{
    struct record_reader in;
    struct buf key = BUF_INIT;
    struct buf value = BUF_INIT;
    struct slice k;
    struct slice v;
    bool more = true;
    int rc =
        record_reader_open(&in, &(struct job_files){.world = w}, path, err);
    *count = 0;
    while (rc == 0) {
        rc = record_reader_next(&in, &k, &v, &more, err);
        if (rc || !more)
            break;
        make_record(seed, (*count)++, &key, &value);
        ck_assert(slice_eq(k, buf_slice(&key)));
        ck_assert(slice_eq(v, buf_slice(&value)));
    }
    record_reader_close(&in);
    buf_close(&key);
    buf_close(&value);
    return rc;
}

/* Written pairs are read back, in order, at every level of compression. */
START_TEST(test_round_trip)
{
    struct world *w = setup_world();
    uint64_t seed = test_seed();
    static const uint64_t counts[] = {0, 1, 2, 100, 5000};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        for (int level = 0; level < 4; level += 3) {
            uint64_t count;
            struct err err = ERR_INIT;
            write_file(w, seed, counts[i], level);
            ck_assert_msg(read_file(w, seed, &count, &err) == 0, "%s",
                          err.text);
            ck_assert_uint_eq(count, counts[i]);
        }
    world_free(w);
}

END_TEST

/* Reading by runs of blocks gives every record once. */
START_TEST(test_blocks_cover_the_file)
{
    struct world *w = setup_world();
    struct record_reader in;
    size_t cursor = 0;
    uint64_t at = 8;
    uint64_t bytes;
    uint64_t records;
    uint64_t total = 0;
    write_file(w, 7, 3000, 1);
    ck_assert_int_eq(
        record_reader_open(&in, &(struct job_files){.world = w}, path, NULL),
        0);
    while (record_reader_block(&in, &cursor, &bytes, &records)) {
        struct slice k;
        struct slice v;
        bool more = true;
        uint64_t n = 0;
        record_reader_limit(&in, at, at + bytes);
        while (record_reader_next(&in, &k, &v, &more, NULL) == 0 && more)
            n++;
        ck_assert_uint_eq(n, records);
        total += n;
        at += bytes;
    }
    ck_assert_uint_eq(total, 3000);
    ck_assert_uint_gt(in.block_count, 3);
    record_reader_close(&in);
    world_free(w);
}

END_TEST

static size_t load(char **bytes)
{
    FILE *f = fopen(path, "rb");
    size_t n;
    *bytes = malloc(4 << 20);
    n = fread(*bytes, 1, 4 << 20, f);
    fclose(f);
    return n;
}

static void store(const char *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    ck_assert_uint_eq(fwrite(bytes, 1, n, f), n);
    fclose(f);
}

/* One changed byte anywhere is an error that names the file, never a wrong
 * record and never a missing one. */
START_TEST(test_damaged_byte)
{
    struct world *w = setup_world();
    struct rand_gen r;
    char *bytes;
    size_t n;
    rand_init(&r, test_seed());
    write_file(w, 11, 400, 1);
    n = load(&bytes);
    for (int i = 0; i < 400; i++) {
        struct err err = ERR_INIT;
        uint64_t count;
        size_t at = i < 60 ? n - 1 - (size_t)i : rand_below(&r, n);
        char old = bytes[at];
        bytes[at] = (char)(old ^ (1 << rand_below(&r, 8)));
        store(bytes, n);
        ck_assert_int_eq(read_file(w, 11, &count, &err), ERR_CORRUPT);
        ck_assert_ptr_nonnull(strstr(err.text, path));
        bytes[at] = old;
    }
    free(bytes);
    world_free(w);
}

END_TEST

/* A file cut anywhere says that it was. */
START_TEST(test_cut_file)
{
    struct world *w = setup_world();
    struct rand_gen r;
    char *bytes;
    size_t n;
    rand_init(&r, test_seed());
    write_file(w, 13, 300, 1);
    n = load(&bytes);
    for (int i = 0; i < 200; i++) {
        struct err err = ERR_INIT;
        uint64_t count;
        store(bytes, i < 50 ? (size_t)i : rand_below(&r, n));
        ck_assert_int_eq(read_file(w, 13, &count, &err), ERR_CORRUPT);
    }
    free(bytes);
    world_free(w);
}

END_TEST

TEST_MAIN("records",
          test_round_trip,
          test_blocks_cover_the_file,
          test_damaged_byte,
          test_cut_file)
