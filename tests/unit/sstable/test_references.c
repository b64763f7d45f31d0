/* Blocks that refer to others: the finder against what was planted, tables
 * against what was written, and references that are damaged. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/crypt/keyring.h"
#include "base/runtime/world.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/row/schema.h"
#include "bigtable/sstable/block_cache.h"
#include "bigtable/sstable/reference_finder.h"
#include "bigtable/sstable/sstable_reader.h"
#include "bigtable/sstable/sstable_writer.h"
#include "bigtable/sstable/verify.h"
#include "gfs-lite/fs.h"
#include "tests/lib/check_main.h"

#define PAGE_COUNT 90
#define HOST_COUNT 9
#define PAGE_BYTES ((size_t)70 << 10)

static struct world *world;
static struct fs *fs;
static struct block_cache *cache;
static struct rand_gen rand_gen;
static struct buf pages[PAGE_COUNT];

static void append_noise(struct buf *out, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        buf_append_byte(out, (char)('a' + rand_below(&rand_gen, 26)));
}

/* Pages of hosts in turn: each is its host's frame with a few words of its own,
 * so that what is alike lies far apart. */
static void make_pages(void)
{
    struct buf frames[HOST_COUNT] = {BUF_INIT};
    for (int i = 0; i < HOST_COUNT; i++)
        append_noise(&frames[i], PAGE_BYTES);
    for (int i = 0; i < PAGE_COUNT; i++) {
        const struct buf *frame = &frames[i % HOST_COUNT];
        size_t at = rand_below(&rand_gen, PAGE_BYTES);
        buf_clear(&pages[i]);
        buf_append(&pages[i], frame->data, at);
        append_noise(&pages[i], 100);
        buf_append(&pages[i], frame->data + at, frame->len - at);
    }
    for (int i = 0; i < HOST_COUNT; i++)
        buf_close(&frames[i]);
}

static void set_up(size_t cache_bytes)
{
    rand_init(&rand_gen, test_seed());
    world = world_real_new();
    ck_assert_int_eq(fs_local_open(world, test_tmpdir(), &fs, NULL), 0);
    cache = block_cache_new(cache_bytes);
    make_pages();
}

static void tear_down(void)
{
    for (int i = 0; i < PAGE_COUNT; i++)
        buf_close(&pages[i]);
    block_cache_free(cache);
    fs_close(fs);
    world_free(world);
}

/* --- the finder ---------------------------------------------------------- */

START_TEST(test_finder_finds_the_host)
{
    struct reference_finder *f = reference_finder_new();
    set_up(1 << 20);
    for (int i = 0; i < PAGE_COUNT; i++) {
        struct slice page = buf_slice(&pages[i]);
        const struct reference *r = reference_finder_search(f, page);
        struct block_handle h = {(uint64_t)i, 1, (uint32_t)page.len};
        ck_assert_int_eq(r != NULL, i >= HOST_COUNT);
        if (r)
            ck_assert_uint_eq(r->handle.offset % HOST_COUNT,
                              (uint64_t)i % HOST_COUNT);
        reference_finder_keep(f, page, &h);
    }
    reference_finder_free(f);
    tear_down();
}

END_TEST

/* Forgotten blocks, and those too large for the block, are not offered. */
START_TEST(test_finder_forgets_and_limits)
{
    struct reference_finder *f = reference_finder_new();
    struct block_handle h = {7, 1, 1};
    struct buf large = BUF_INIT;
    struct buf other = BUF_INIT;
    set_up(1 << 20);
    append_noise(&large, REFERENCE_BYTES_USUAL + 1);
    buf_append_slice(&other, buf_slice(&large));
    ck_assert_ptr_null(reference_finder_search(f, buf_slice(&large)));
    reference_finder_keep(f, buf_slice(&large), &h);
    ck_assert_ptr_nonnull(reference_finder_search(f, buf_slice(&large)));
    buf_truncate(&other, REFERENCE_BYTES_USUAL);
    ck_assert_ptr_null(reference_finder_search(f, buf_slice(&other)));

    append_noise(&other, REFERENCE_BYTES_MAX);
    ck_assert_ptr_nonnull(reference_finder_search(f, buf_slice(&other)));
    reference_finder_keep(f, buf_slice(&other), &h); /* Too large to keep. */
    buf_clear(&other);
    for (size_t kept = 0; kept <= REFERENCE_KEPT_BYTES_MAX; kept += 1 << 20) {
        buf_clear(&other);
        append_noise(&other, 1 << 20);
        (void)reference_finder_search(f, buf_slice(&other));
        reference_finder_keep(f, buf_slice(&other), &h);
    }
    ck_assert_ptr_null(reference_finder_search(f, buf_slice(&large)));
    buf_close(&large);
    buf_close(&other);
    reference_finder_free(f);
    tear_down();
}

END_TEST

/* --- tables -------------------------------------------------------------- */

static void key_of_page(int i, struct buf *key)
{
    char row[16];
    struct cell_key k;
    snprintf(row, sizeof(row), "page%06d", i);
    k = (struct cell_key){.row = slice_str(row),
                          .qualifier = SLICE_LIT("q"),
                          .sequence = 1,
                          .family = 1,
                          .kind = ENTRY_PUT};
    buf_clear(key);
    cell_key_append(key, &k);
}

/* Returns the bytes of the file. */
static uint64_t write_pages(const char *path, bool refer)
{
    struct group_options group;
    struct sstable_writer *w;
    struct buf key = BUF_INIT;
    uint64_t bytes;
    group_options_default(&group);
    group.dictionary = false;
    ck_assert_int_eq(sstable_writer_open(fs, path, &group, 0, false, &w, NULL),
                     0);
    if (refer)
        sstable_writer_refer(w);
    for (int i = 0; i < PAGE_COUNT; i++) {
        key_of_page(i, &key);
        ck_assert_int_eq(
            sstable_writer_add(w, buf_slice(&key), buf_slice(&pages[i]), NULL),
            0);
    }
    ck_assert_int_eq(sstable_writer_finish(w, NULL), 0);
    bytes = sstable_writer_file_bytes(w);
    sstable_writer_free(w);
    buf_close(&key);
    return bytes;
}

static void check_page(struct sstable_iter *it, int i)
{
    struct buf key = BUF_INIT;
    key_of_page(i, &key);
    ck_assert(sstable_iter_valid(it));
    ck_assert(slice_eq(sstable_iter_key(it), buf_slice(&key)));
    ck_assert(slice_eq(sstable_iter_value(it), buf_slice(&pages[i])));
    buf_close(&key);
}

static void check_pages(const char *path)
{
    struct sstable_reader_options opts = {.cache = cache};
    struct sstable_reader *r;
    struct sstable_iter it;
    struct buf key = BUF_INIT;
    struct err why = ERR_INIT;
    uint64_t count;
    ck_assert_int_eq(sstable_reader_open(fs, path, &opts, &r, NULL), 0);
    sstable_iter_init(&it);
    for (int mode = 0; mode < 3; mode++) {
        sstable_iter_open(&it, r, (enum sstable_read_mode)mode);
        ck_assert_int_eq(sstable_iter_seek(&it, SLICE_EMPTY, NULL), 0);
        for (int i = 0; i < PAGE_COUNT; i++) {
            check_page(&it, i);
            ck_assert_int_eq(sstable_iter_next(&it, NULL), 0);
        }
        ck_assert(!sstable_iter_valid(&it));
    }
    for (int n = 0; n < 200; n++) {
        int i = (int)rand_below(&rand_gen, PAGE_COUNT);
        sstable_iter_open(&it, r,
                          (enum sstable_read_mode)rand_below(&rand_gen, 3));
        key_of_page(i, &key);
        ck_assert_int_eq(sstable_iter_seek(&it, buf_slice(&key), NULL), 0);
        check_page(&it, i);
    }
    sstable_iter_close(&it);
    ck_assert_msg(sstable_verify(r, &count, &why) == 0, "%s", why.text);
    ck_assert_uint_eq(count, PAGE_COUNT);
    sstable_reader_unref(r);
    buf_close(&key);
}

/* Pages that are alike at any distance share their text, and read the same. */
START_TEST(test_references_pay_and_read_back)
{
    set_up(4 << 20);
    ck_assert_uint_lt(write_pages("with.sst", true) * 4,
                      write_pages("without.sst", false));
    check_pages("with.sst");
    check_pages("without.sst");
    tear_down();
}

END_TEST

/* A cache that keeps nothing. */
START_TEST(test_references_pay_without_a_cache)
{
    set_up(0);
    write_pages("with.sst", true);
    check_pages("with.sst");
    tear_down();
}

END_TEST

START_TEST(test_references_in_encrypted_tables)
{
    struct keyring *k;
    set_up(4 << 20);
    k = keyring_new_ephemeral(world);
    fs_set_keyring(fs, k);
    keyring_unref(k);
    write_pages("sealed.sst", true);
    check_pages("sealed.sst");
    tear_down();
}

END_TEST

/* --- damage -------------------------------------------------------------- */

struct block_list {
    const char *file;
    struct block_handle referring[PAGE_COUNT];
    struct block_handle alone[PAGE_COUNT];
    size_t referring_count;
    size_t alone_count;
};

static void
list_block(void *arg, struct slice separator, const struct block_handle *h)
{
    struct block_list *l = arg;
    (void)separator;
    if (l->file[h->offset + h->stored_bytes] == BLOCK_ZSTD_REFERENCE)
        l->referring[l->referring_count++] = *h;
    else
        l->alone[l->alone_count++] = *h;
}

static void
list_blocks(const char *path, const char *file, struct block_list *l)
{
    struct sstable_reader_options opts = {.cache = cache};
    struct sstable_reader *r;
    *l = (struct block_list){.file = file};
    ck_assert_int_eq(sstable_reader_open(fs, path, &opts, &r, NULL), 0);
    ck_assert_int_eq(sstable_reader_each_block(r, list_block, l, NULL), 0);
    sstable_reader_unref(r);
}

static void read_file(const char *path, struct buf *out)
{
    struct fs_reader *f;
    size_t got;
    ck_assert_int_eq(fs_open(fs, path, &f, NULL), 0);
    ck_assert_int_eq(fs_read_at(f, 0, buf_extend(out, fs_reader_size(f)),
                                fs_reader_size(f), &got, NULL),
                     0);
    ck_assert_uint_eq(got, out->len);
    fs_reader_close(f);
}

/* Does reading all of @file fail with ERR_CORRUPT and @text? */
static void check_refused(const struct buf *file, const char *text)
{
    struct fs_write_options wo = {.mode = FS_WRITE_LOG};
    struct sstable_reader_options opts = {.cache = cache};
    struct err why = ERR_INIT;
    struct sstable_reader *r;
    struct fs_writer *w;
    uint64_t count;
    ck_assert_int_eq(fs_create(fs, "bad.sst", &wo, &w, NULL), 0);
    ck_assert_int_eq(fs_writer_append(w, file->data, file->len, NULL), 0);
    fs_writer_close(w);
    ck_assert_int_eq(sstable_reader_open(fs, "bad.sst", &opts, &r, NULL), 0);
    ck_assert_int_eq(sstable_verify(r, &count, &why), ERR_CORRUPT);
    ck_assert_msg(strstr(why.text, text) != NULL, "%s", why.text);
    ck_assert_ptr_nonnull(strstr(why.text, "bad.sst"));
    sstable_reader_unref(r);
}

/* Let the block @h begin with the handle @to, in the room of the one it has,
 * and check sums be right. */
static bool point_block_at(struct buf *file,
                           const struct block_handle *h,
                           const struct block_handle *to)
{
    char room[BLOCK_HANDLE_BYTES_MAX];
    size_t len = (size_t)(block_handle_put(room, to) - room);
    char *p = file->data + h->offset;
    struct cursor c = cursor_make(slice_make(p, h->stored_bytes));
    struct block_handle was;
    block_handle_get(&c, file->len, &was);
    ck_assert(!c.bad);
    if ((size_t)(c.p - p) != len)
        return false;
    memcpy(p, room, len);
    block_trailer_put(p + h->stored_bytes, BLOCK_ZSTD_REFERENCE,
                      crc32c(p, h->stored_bytes));
    return true;
}

/* A reference to a block that has one itself, to the block itself, to one
 * behind it, and to one that is no block are errors; so is one to another
 * block, whose text is not what it was. */
START_TEST(test_damaged_references)
{
    struct buf good = BUF_INIT;
    struct buf bad = BUF_INIT;
    struct block_list l;
    struct block_handle to;
    size_t tried = 0;
    set_up(0);
    write_pages("good.sst", true);
    read_file("good.sst", &good);
    list_blocks("good.sst", good.data, &l);
    ck_assert_uint_gt(l.alone_count, 3);
    ck_assert_uint_gt(l.referring_count, PAGE_COUNT / 4);
    for (size_t i = 1; i < l.referring_count; i++) {
        const struct block_handle *h = &l.referring[i];
        buf_clear(&bad);
        buf_append_slice(&bad, buf_slice(&good));
        if (point_block_at(&bad, h, &l.referring[i - 1])) {
            check_refused(&bad, "a reference to a block with a reference");
            tried++;
        }
        if (point_block_at(&bad, h, h)) {
            check_refused(&bad, "malformed reference");
            tried++;
        }
        to = l.alone[1];
        to.offset++;
        if (point_block_at(&bad, h, &to)) {
            check_refused(&bad, "");
            tried++;
        }
    }
    ck_assert_uint_gt(tried, 3);
    buf_close(&good);
    buf_close(&bad);
    tear_down();
}

END_TEST

TEST_MAIN("references",
          test_finder_finds_the_host,
          test_finder_forgets_and_limits,
          test_references_pay_and_read_back,
          test_references_pay_without_a_cache,
          test_references_in_encrypted_tables,
          test_damaged_references)
