/* Tables give back what was written, skip what is not there, and turn any
 * damage into an error. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/hash.h"
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/crypt/keyring.h"
#include "base/runtime/world.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/sstable/block_cache.h"
#include "bigtable/sstable/properties.h"
#include "bigtable/sstable/sstable_format.h"
#include "bigtable/sstable/sstable_reader.h"
#include "bigtable/sstable/sstable_writer.h"
#include "bigtable/sstable/verify.h"
#include "gfs-lite/fs.h"
#include "tests/lib/check_main.h"

/* --- fixture ------------------------------------------------------------- */

static struct world *world;
static struct fs *fs;
static struct block_cache *cache;

static void set_up(void)
{
    world = world_real_new();
    ck_assert_int_eq(fs_local_open(world, test_tmpdir(), &fs, NULL), 0);
    cache = block_cache_new(1 << 20);
}

/* From here on, files are encrypted. */
static struct keyring *encrypt(void)
{
    struct keyring *k = keyring_new_ephemeral(world);
    fs_set_keyring(fs, k);
    keyring_unref(k);
    return k;
}

static void tear_down(void)
{
    block_cache_free(cache);
    fs_close(fs);
    world_free(world);
}

struct entry {
    struct buf key;
    struct buf value;
};

/* @count cells in @rows rows, sorted, with values of which every 100th is
 * large. */
static struct entry *make_entries(struct rand_gen *r, size_t count, int rows)
{
    struct entry *e = calloc(count, sizeof(*e));
    for (size_t i = 0; i < count; i++) {
        char row[16];
        char column[16];
        int at = (int)(i * (size_t)rows / count);
        size_t len =
            i % 100 == 99 ? 20000 + rand_below(r, 50000) : rand_below(r, 100);
        struct cell_key k;
        snprintf(row, sizeof(row), "row%06d", at * 2);
        snprintf(column, sizeof(column), "%06d", (int)i);
        k = (struct cell_key){.row = slice_str(row),
                              .qualifier = slice_str(column),
                              .timestamp_us = (int64_t)i,
                              .sequence = i + 1,
                              .family = (family_id)(at % 2 + 1),
                              .kind = ENTRY_PUT};
        cell_key_append(&e[i].key, &k);
        for (size_t b = 0; b < len; b++)
            buf_append_byte(&e[i].value, (char)('a' + rand_below(r, 8)));
    }
    return e;
}

/* The only cell of the row @i. */
static void set_key_of_row(struct entry *e, int i)
{
    char row[16];
    struct cell_key k;
    snprintf(row, sizeof(row), "%06d", i);
    k = (struct cell_key){.row = slice_str(row),
                          .qualifier = SLICE_LIT("q"),
                          .sequence = 1,
                          .family = 1,
                          .kind = ENTRY_PUT};
    cell_key_append(&e->key, &k);
}

static void free_entries(struct entry *e, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        buf_close(&e[i].key);
        buf_close(&e[i].value);
    }
    free(e);
}

static void write_table(const char *path,
                        const struct group_options *group,
                        const struct entry *e,
                        size_t count)
{
    struct sstable_writer *w;
    ck_assert_int_eq(sstable_writer_open(fs, path, group, 0, false, &w, NULL),
                     0);
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(sstable_writer_add(w, buf_slice(&e[i].key),
                                            buf_slice(&e[i].value), NULL),
                         0);
    ck_assert_int_eq(sstable_writer_finish(w, NULL), 0);
    ck_assert_uint_eq(sstable_writer_properties(w)->entry_count, count);
    sstable_writer_free(w);
}

static void walk(struct sstable_iter *it,
                 struct sstable_reader *r,
                 enum sstable_read_mode mode,
                 const struct entry *e,
                 size_t from,
                 size_t to,
                 size_t count)
{
    sstable_iter_open(it, r, mode);
    ck_assert_int_eq(sstable_iter_seek(it, buf_slice(&e[from].key), NULL), 0);
    for (size_t i = from; i < to; i++) {
        ck_assert_msg(sstable_iter_valid(it),
                      "mode %d: entry %zu of [%zu, %zu)", (int)mode, i, from,
                      to);
        ck_assert(slice_eq(sstable_iter_key(it), buf_slice(&e[i].key)));
        ck_assert(slice_eq(sstable_iter_value(it), buf_slice(&e[i].value)));
        ck_assert_int_eq(sstable_iter_next(it, NULL), 0);
    }
    ck_assert_int_eq(sstable_iter_valid(it), to < count);
}

static void check_walk(struct sstable_reader *r,
                       enum sstable_read_mode mode,
                       const struct entry *e,
                       size_t from,
                       size_t to,
                       size_t count)
{
    struct sstable_iter it;
    sstable_iter_init(&it);
    walk(&it, r, mode, e, from, to, count);
    sstable_iter_close(&it);
}

/* An iterator may read one table in one way, and the next in another. */
static void
check_other_ways(struct sstable_reader *r, const struct entry *e, size_t count)
{
    static const enum sstable_read_mode modes[] = {
        SSTABLE_READ_SCAN,  SSTABLE_READ_ONCE,  SSTABLE_READ_SCAN,
        SSTABLE_READ_POINT, SSTABLE_READ_POINT, SSTABLE_READ_ONCE,
        SSTABLE_READ_ONCE,  SSTABLE_READ_POINT, SSTABLE_READ_SCAN,
    };
    struct sstable_iter it;
    sstable_iter_init(&it);
    for (size_t i = 0; i < ARRAY_LEN(modes); i++)
        walk(&it, r, modes[i], e, 0, count, count);
    sstable_iter_close(&it);
}

static void check_probes(struct sstable_reader *r,
                         const struct entry *e,
                         size_t count,
                         bool filtered)
{
    size_t passed = 0;
    for (size_t i = 0; i < count; i++) {
        struct slice key = buf_slice(&e[i].key);
        struct slice row = slice_sub(key, 0, cell_key_row_length(key));
        struct slice column = slice_sub(key, 0, cell_key_column_length(key));
        struct sstable_probe p = {row, hash64_slice(row), hash64_slice(row),
                                  NULL};
        bool maybe;
        ck_assert_int_eq(sstable_reader_probe(r, &p, &maybe, NULL), 0);
        ck_assert(maybe);
        p = (struct sstable_probe){column, hash64_slice(row),
                                   hash64_slice(column), NULL};
        ck_assert_int_eq(sstable_reader_probe(r, &p, &maybe, NULL), 0);
        ck_assert(maybe);
    }
    for (int i = 0; i < 1000; i++) {
        struct buf absent = BUF_INIT;
        char row[16];
        struct sstable_probe p;
        bool maybe;
        snprintf(row, sizeof(row), "row%06d", i * 2 + 1);
        cell_key_append_row(&absent, slice_str(row));
        p = (struct sstable_probe){buf_slice(&absent),
                                   hash64_slice(buf_slice(&absent)),
                                   hash64_slice(buf_slice(&absent)), NULL};
        ck_assert_int_eq(sstable_reader_probe(r, &p, &maybe, NULL), 0);
        passed += maybe;
        buf_close(&absent);
    }
    if (filtered)
        ck_assert_uint_lt(passed, 50);
}

/* --- round trips --------------------------------------------------------- */

/* Whatever the options, every entry is found by seek in every mode of reading,
 * walks are complete, filters never deny one, and the checker agrees. */
static void round_trip(const struct group_options *group, size_t count)
{
    struct sstable_reader_options opts = {.cache = cache,
                                          .in_memory = group->in_memory};
    struct sstable_reader *r;
    struct rand_gen rand;
    uint64_t found;
    struct entry *e;
    struct err why = ERR_INIT;
    rand_init(&rand, test_seed());
    e = make_entries(&rand, count, 700);
    write_table("a.sst", group, e, count);
    ck_assert_int_eq(sstable_reader_open(fs, "a.sst", &opts, &r, NULL), 0);
    check_walk(r, SSTABLE_READ_POINT, e, 0, count, count);
    check_walk(r, SSTABLE_READ_SCAN, e, 0, count, count);
    check_walk(r, SSTABLE_READ_ONCE, e, 0, count, count);
    check_other_ways(r, e, count);
    for (int i = 0; i < 300; i++) {
        size_t from = rand_below(&rand, count);
        size_t to = from + rand_below(&rand, 40);
        to = MIN_OF(to, count);
        check_walk(r, (enum sstable_read_mode)rand_below(&rand, 3), e, from, to,
                   count);
    }
    check_probes(r, e, count, group->bloom != BLOOM_NONE);
    ck_assert_msg(sstable_verify(r, &found, &why) == 0, "%s", why.text);
    ck_assert_uint_eq(found, count);
    sstable_reader_unref(r);
    ck_assert_int_eq(fs_remove(fs, "a.sst", NULL), 0);
    free_entries(e, count);
}

static void all_round_trips(size_t kinds)
{
    static const uint32_t blocks[] = {8192, 512, 65536};
    for (size_t i = 0; i < kinds; i++) {
        struct group_options group;
        group_options_default(&group);
        group.block_bytes = blocks[i];
        group.compression = COMPRESSION_NONE;
        group.bloom = BLOOM_ROW;
        round_trip(&group, 9000); /* Some windows of those read once. */
        group.compression = COMPRESSION_ZSTD;
        group.dictionary = false;
        group.bloom = BLOOM_ROW_COLUMN;
        round_trip(&group, 3000);
        group.dictionary = true;
        group.bloom = BLOOM_NONE;
        round_trip(&group, 3000);
        group.in_memory = true;
        round_trip(&group, 1000);
        round_trip(&group, 1);
    }
}

START_TEST(test_round_trips)
{
    set_up();
    all_round_trips(3);
    tear_down();
}

END_TEST

START_TEST(test_round_trips_encrypted)
{
    set_up();
    encrypt();
    all_round_trips(1);
    tear_down();
}

END_TEST

/* Nothing of an encrypted table can be read in its file; what is in one that is
 * not can. Without a key, and with another one, the reader says so. */
START_TEST(test_encrypted_table_says_nothing)
{
    struct sstable_reader_options opts;
    struct group_options group;
    struct err why = ERR_INIT;
    struct sstable_reader *r;
    struct rand_gen rand;
    struct entry *e;
    set_up();
    opts = (struct sstable_reader_options){.cache = cache};
    rand_init(&rand, test_seed());
    e = make_entries(&rand, 60, 30);
    group_options_default(&group);
    group.compression = COMPRESSION_NONE;
    for (int encrypted = 0; encrypted < 2; encrypted++) {
        struct buf bytes = BUF_INIT;
        bool found = false;
        if (encrypted)
            encrypt();
        write_table("a.sst", &group, e, 60);
        ck_assert_int_eq(fs_read_all(fs, "a.sst", 1 << 20, &bytes, NULL), 0);
        for (size_t i = 0; i + 6 < bytes.len; i++)
            found |= memcmp(bytes.data + i, "row000", 6) == 0;
        ck_assert_int_eq(found, !encrypted);
        if (!encrypted)
            ck_assert_int_eq(fs_remove(fs, "a.sst", NULL), 0);
        buf_close(&bytes);
    }
    ck_assert_int_eq(sstable_reader_open(fs, "a.sst", &opts, &r, NULL), 0);
    sstable_reader_unref(r);
    encrypt();
    ck_assert_int_eq(sstable_reader_open(fs, "a.sst", &opts, &r, &why),
                     ERR_CORRUPT);
    ck_assert(strstr(why.text, "data key") != NULL);
    fs_set_keyring(fs, NULL);
    ck_assert_int_eq(sstable_reader_open(fs, "a.sst", &opts, &r, &why),
                     ERR_DENIED);
    ck_assert(strstr(why.text, "a.sst") != NULL);
    free_entries(e, 60);
    tear_down();
}

END_TEST

/* Blocks that repeat each other's text get a dictionary, and shrink by it. */
START_TEST(test_dictionary_pays_on_like_blocks)
{
    enum {
        WORDS = 400,
        CELLS = 6000
    };
    struct group_options group;
    struct rand_gen rand;
    char(*words)[40] = malloc(WORDS * sizeof(*words));
    struct fs_info with;
    struct fs_info without;
    struct entry *e = calloc(CELLS, sizeof(*e));
    set_up();
    rand_init(&rand, test_seed());
    for (int i = 0; i < WORDS; i++)
        for (int k = 0; k < 40; k++)
            words[i][k] = (char)('!' + rand_below(&rand, 90));
    for (int i = 0; i < CELLS; i++) {
        set_key_of_row(&e[i], i);
        for (int w = 0; w < 25; w++)
            buf_append(&e[i].value, words[rand_below(&rand, WORDS)], 40);
    }
    group_options_default(&group);
    group.block_bytes = 8192;
    write_table("with.sst", &group, e, CELLS);
    group.dictionary = false;
    write_table("without.sst", &group, e, CELLS);
    ck_assert_int_eq(fs_stat(fs, "with.sst", &with, NULL), 0);
    ck_assert_int_eq(fs_stat(fs, "without.sst", &without, NULL), 0);
    ck_assert_uint_lt(with.size_bytes, without.size_bytes / 2);
    free(words);
    free_entries(e, CELLS);
    tear_down();
}

END_TEST

/* A long stretch that does not compress costs what follows it no more than a
 * few blocks' compression. */
START_TEST(test_soft_blocks_behind_hard_ones_shrink)
{
    enum {
        CELLS = 2000,
        VALUE_BYTES = 1000,
        HARD_BYTES = CELLS / 2 * VALUE_BYTES
    };
    struct group_options group;
    struct rand_gen rand;
    struct fs_info file;
    struct sstable_reader_options opts;
    struct sstable_reader *r;
    struct entry *e = calloc(CELLS, sizeof(*e));
    set_up();
    opts = (struct sstable_reader_options){.cache = cache};
    rand_init(&rand, test_seed());
    for (int i = 0; i < CELLS; i++) {
        set_key_of_row(&e[i], i);
        for (int b = 0; b < VALUE_BYTES; b++)
            buf_append_byte(&e[i].value, i < CELLS / 2
                                             ? (char)rand_below(&rand, 256)
                                             : (char)('a' + i % 20));
    }
    group_options_default(&group);
    group.block_bytes = 8192;
    group.dictionary = false;
    write_table("mixed.sst", &group, e, CELLS);
    ck_assert_int_eq(fs_stat(fs, "mixed.sst", &file, NULL), 0);
    ck_assert_uint_gt(file.size_bytes, HARD_BYTES);
    ck_assert_uint_lt(file.size_bytes, HARD_BYTES + HARD_BYTES / 3);
    ck_assert_int_eq(sstable_reader_open(fs, "mixed.sst", &opts, &r, NULL), 0);
    check_walk(r, SSTABLE_READ_SCAN, e, 0, CELLS, CELLS);
    sstable_reader_unref(r);
    free_entries(e, CELLS);
    tear_down();
}

END_TEST

/* --- damage -------------------------------------------------------------- */

/* Read a file that may be damaged: an error, or exactly the entries. */
static void read_damaged(const char *path,
                         const struct entry *e,
                         size_t count,
                         enum sstable_read_mode mode)
{
    struct sstable_reader_options opts = {.cache = cache};
    struct err why = ERR_INIT;
    struct sstable_reader *r;
    struct sstable_iter it;
    size_t i = 0;
    int rc = sstable_reader_open(fs, path, &opts, &r, &why);
    if (rc) {
        ck_assert(rc == ERR_CORRUPT || rc == ERR_UNSUPPORTED);
        ck_assert(strstr(why.text, path) != NULL);
        return;
    }
    sstable_iter_init(&it);
    sstable_iter_open(&it, r, mode);
    rc = sstable_iter_seek(&it, SLICE_EMPTY, &why);
    while (!rc && sstable_iter_valid(&it)) {
        ck_assert_uint_lt(i, count);
        ck_assert(slice_eq(sstable_iter_key(&it), buf_slice(&e[i].key)));
        ck_assert(slice_eq(sstable_iter_value(&it), buf_slice(&e[i].value)));
        i++;
        rc = sstable_iter_next(&it, &why);
    }
    if (rc) {
        ck_assert_int_eq(rc, ERR_CORRUPT);
        ck_assert(strstr(why.text, path) != NULL);
        ck_assert(strstr(why.text, "block at ") != NULL);
    } else {
        ck_assert_uint_eq(i, count);
    }
    sstable_iter_close(&it);
    sstable_reader_unref(r);
}

static void replace_file(const char *path, struct slice bytes)
{
    struct fs_write_options opts = {.mode = FS_WRITE_LOG};
    struct fs_writer *w;
    ck_assert_int_eq(fs_create(fs, path, &opts, &w, NULL), 0);
    ck_assert_int_eq(fs_writer_append(w, bytes.data, bytes.len, NULL), 0);
    fs_writer_close(w);
}

/* Every byte of a small table, flipped in one bit and in all: never wrong data,
 * never a crash, and the message names the file. */
START_TEST(test_every_flipped_byte)
{
    enum {
        CELLS = 24 /* Several blocks. */
    };
    struct group_options group;
    struct buf bytes = BUF_INIT;
    struct rand_gen rand;
    struct entry *e;
    set_up();
    rand_init(&rand, test_seed());
    e = make_entries(&rand, CELLS, CELLS / 2);
    group_options_default(&group);
    group.block_bytes = 512;
    for (int kind = 0; kind < 3; kind++) {
        bool zstd = kind % 2;
        if (kind == 2)
            encrypt();
        group.compression = zstd ? COMPRESSION_ZSTD : COMPRESSION_NONE;
        write_table("a.sst", &group, e, CELLS);
        buf_clear(&bytes);
        ck_assert_int_eq(fs_read_all(fs, "a.sst", 1 << 20, &bytes, NULL), 0);
        ck_assert_uint_gt(bytes.len, 2 * group.block_bytes);
        for (size_t i = 0; i < bytes.len; i++) {
            char good = bytes.data[i];
            bytes.data[i] ^= (char)(i % 2 ? 0xff : 1 << i % 8);
            replace_file("b.sst", buf_slice(&bytes));
            read_damaged("b.sst", e, CELLS, (enum sstable_read_mode)(i % 3));
            bytes.data[i] = good;
        }
        ck_assert_int_eq(fs_remove(fs, "a.sst", NULL), 0);
    }
    buf_close(&bytes);
    free_entries(e, CELLS);
    tear_down();
}

END_TEST

/* Damage that has a right checksum, as a forger makes it: the tags tell. */
START_TEST(test_forged_checksum)
{
    struct group_options group;
    struct buf bytes = BUF_INIT;
    struct rand_gen rand;
    struct entry *e;
    char *crc;
    set_up();
    encrypt();
    rand_init(&rand, test_seed());
    e = make_entries(&rand, 5, 5);
    group_options_default(&group);
    write_table("a.sst", &group, e, 5);
    ck_assert_int_eq(fs_read_all(fs, "a.sst", 1 << 20, &bytes, NULL), 0);
    crc = bytes.data + bytes.len - SSTABLE_FOOTER_BYTES;
    for (size_t bit = 0; bit < FOOTER_CRC_AT * 8; bit++) {
        crc[bit / 8] ^= (char)(1 << bit % 8);
        put_le32(crc + FOOTER_CRC_AT, crc32c(crc, FOOTER_CRC_AT));
        replace_file("b.sst", buf_slice(&bytes));
        read_damaged("b.sst", NULL, 0, SSTABLE_READ_POINT);
        crc[bit / 8] ^= (char)(1 << bit % 8);
    }
    buf_close(&bytes);
    free_entries(e, 5);
    tear_down();
}

END_TEST

/* A table cut at any length is refused. */
START_TEST(test_every_truncation)
{
    struct group_options group;
    struct buf bytes = BUF_INIT;
    struct sstable_reader_options opts;
    struct rand_gen rand;
    struct entry *e;
    set_up();
    opts = (struct sstable_reader_options){.cache = cache};
    rand_init(&rand, test_seed());
    e = make_entries(&rand, 60, 30);
    group_options_default(&group);
    write_table("a.sst", &group, e, 60);
    ck_assert_int_eq(fs_read_all(fs, "a.sst", 1 << 20, &bytes, NULL), 0);
    for (size_t len = 0; len < bytes.len; len++) {
        struct sstable_reader *r;
        replace_file("b.sst", slice_sub(buf_slice(&bytes), 0, len));
        ck_assert_int_eq(sstable_reader_open(fs, "b.sst", &opts, &r, NULL),
                         ERR_CORRUPT);
    }
    buf_close(&bytes);
    free_entries(e, 60);
    tear_down();
}

END_TEST

/* A later format is named as such, with what to do about it. */
START_TEST(test_newer_version_is_unsupported)
{
    struct group_options group;
    struct buf bytes = BUF_INIT;
    struct sstable_reader_options opts;
    struct err why = ERR_INIT;
    struct sstable_footer footer;
    struct sstable_reader *r;
    struct rand_gen rand;
    struct entry *e;
    char *tail;
    set_up();
    opts = (struct sstable_reader_options){.cache = cache};
    rand_init(&rand, test_seed());
    e = make_entries(&rand, 5, 5);
    group_options_default(&group);
    write_table("a.sst", &group, e, 5);
    ck_assert_int_eq(fs_read_all(fs, "a.sst", 1 << 20, &bytes, NULL), 0);
    tail = bytes.data + bytes.len - SSTABLE_FOOTER_BYTES;
    ck_assert_int_eq(sstable_footer_parse(tail, bytes.len, &footer, NULL), 0);
    put_le32(tail + FOOTER_VERSION_AT, SSTABLE_VERSION_SEALED + 1);
    put_le32(tail + FOOTER_CRC_AT, crc32c(tail, FOOTER_CRC_AT));
    replace_file("b.sst", buf_slice(&bytes));
    ck_assert_int_eq(sstable_reader_open(fs, "b.sst", &opts, &r, &why),
                     ERR_UNSUPPORTED);
    ck_assert(strstr(why.text, "b.sst") != NULL);
    ck_assert(why.hint[0] != '\0');
    buf_close(&bytes);
    free_entries(e, 5);
    tear_down();
}

END_TEST

/* A writer that is given up leaves no file. */
START_TEST(test_unfinished_table_is_removed)
{
    struct group_options group;
    struct sstable_writer *w;
    struct fs_info info;
    set_up();
    group_options_default(&group);
    ck_assert_int_eq(
        sstable_writer_open(fs, "x/a.sst", &group, 0, false, &w, NULL), 0);
    sstable_writer_free(w);
    ck_assert_int_eq(fs_stat(fs, "x/a.sst", &info, NULL), ERR_NOTFOUND);
    tear_down();
}

END_TEST

/* Does a descriptor of this process lead to the file @name? */
static bool has_open(const char *name)
{
    DIR *d = opendir("/proc/self/fd");
    const struct dirent *e;
    bool found = false;
    ck_assert_ptr_nonnull(d);
    while ((e = readdir(d))) {
        char path[512];
        ssize_t n = readlinkat(dirfd(d), e->d_name, path, sizeof(path) - 1);
        path[MAX_OF(n, 0)] = '\0';
        found |= strstr(path, name) != NULL;
    }
    closedir(d);
    return found;
}

/* A finished table has no writer any more, even before that is freed: a file of
 * a cluster is read by the short way only once its writer has closed it. */
START_TEST(test_finished_table_is_closed)
{
    struct group_options group;
    struct sstable_writer *w;
    struct entry e = {0};
    set_up();
    group_options_default(&group);
    set_key_of_row(&e, 1);
    ck_assert_int_eq(
        sstable_writer_open(fs, "a.sst", &group, 0, false, &w, NULL), 0);
    ck_assert_int_eq(
        sstable_writer_add(w, buf_slice(&e.key), SLICE_EMPTY, NULL), 0);
    ck_assert(has_open("a.sst"));
    ck_assert_int_eq(sstable_writer_finish(w, NULL), 0);
    ck_assert(!has_open("a.sst"));
    sstable_writer_free(w);
    buf_close(&e.key);
    tear_down();
}

END_TEST

/* One huge value costs its readers a block of its own, and its neighbours
 * nothing. */
START_TEST(test_huge_value_stands_alone)
{
    enum {
        HUGE_BYTES = 5 << 20
    };
    struct sstable_reader_options opts;
    struct group_options group;
    struct entry e[3] = {0};
    struct sstable_reader *r;
    set_up();
    opts = (struct sstable_reader_options){.cache = cache};
    group_options_default(&group);
    for (int i = 0; i < 3; i++) {
        char row[2] = {(char)('a' + i), 0};
        struct cell_key k = {.row = slice_str(row),
                             .qualifier = SLICE_LIT("q"),
                             .sequence = 1,
                             .family = 1,
                             .kind = ENTRY_PUT};
        cell_key_append(&e[i].key, &k);
        buf_append_fill(&e[i].value, 'x', i == 1 ? HUGE_BYTES : 10);
    }
    write_table("a.sst", &group, e, 3);
    ck_assert_int_eq(sstable_reader_open(fs, "a.sst", &opts, &r, NULL), 0);
    ck_assert_uint_eq(sstable_reader_properties(r)->block_count, 3);
    check_walk(r, SSTABLE_READ_POINT, e, 0, 3, 3);
    check_walk(r, SSTABLE_READ_SCAN, e, 0, 3, 3);
    check_walk(r, SSTABLE_READ_ONCE, e, 0, 3, 3);
    sstable_reader_unref(r);
    for (int i = 0; i < 3; i++) {
        buf_close(&e[i].key);
        buf_close(&e[i].value);
    }
    tear_down();
}

END_TEST

TEST_MAIN("table",
          test_round_trips,
          test_round_trips_encrypted,
          test_encrypted_table_says_nothing,
          test_forged_checksum,
          test_dictionary_pays_on_like_blocks,
          test_soft_blocks_behind_hard_ones_shrink,
          test_every_flipped_byte,
          test_every_truncation,
          test_newer_version_is_unsupported,
          test_unfinished_table_is_removed,
          test_finished_table_is_closed,
          test_huge_value_stands_alone)
