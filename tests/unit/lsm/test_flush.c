/* How tables are written by minor compactions, and when memory comes back. */
#include <string.h>

#include "base/core/rand.h"
#include "bigtable/sstable/chunk_pool.h"
#include "tests/unit/lsm/group_fixture.h"

enum {
    ROWS = 400,
    VALUE_BYTES = 500
};

static uint64_t sequence;

/* Rows from the @first on, of letters of which @same are one and the rest
 * random, which only the usual compression makes smaller. */
static void
insert_rows(struct fixture *f, int first, size_t same, struct rand_gen *r)
{
    struct buf key = BUF_INIT;
    char value[VALUE_BYTES];
    for (int i = first; i < first + ROWS; i++) {
        char row[16];
        snprintf(row, sizeof(row), "row%06d", i);
        for (size_t b = 0; b < sizeof(value); b++)
            value[b] = b < same ? 'z' : (char)('a' + rand_below(r, 8));
        fixture_key(&key, row, "c", 7, ++sequence, ENTRY_PUT);
        lsm_insert(f->lsm, buf_slice(&key), slice_make(value, sizeof(value)));
    }
    buf_close(&key);
}

/* The same, flushed. Returns the bytes that took. */
static uint64_t
flush_alike(struct fixture *f, int first, size_t same, struct rand_gen *r)
{
    struct lsm_stats before;
    struct lsm_stats after;
    lsm_stats(f->lsm, &before);
    insert_rows(f, first, same, r);
    lsm_freeze(f->lsm, sequence);
    OK(lsm_flush(f->lsm, err));
    lsm_stats(f->lsm, &after);
    return after.flushed_bytes - before.flushed_bytes;
}

static uint64_t flush_rows(struct fixture *f, int first, struct rand_gen *r)
{
    return flush_alike(f, first, 0, r);
}

static void init_compressed(struct fixture *f)
{
    fixture_init(f);
    f->options.group.compression = COMPRESSION_ZSTD;
    f->options.group.level = 3;
    f->options.group.block_bytes = 8192;
}

static void open_compressed(struct fixture *f)
{
    init_compressed(f);
    fixture_open(f);
}

/* Tables of rows in order, which stay, are compressed as well as the group
 * wants; those that lie above others quickly, until they are merged. */
START_TEST(test_what_stays_is_compressed_well)
{
    const uint64_t raw = (uint64_t)ROWS * VALUE_BYTES;
    struct fixture *f = malloc(sizeof(*f));
    struct lsm_stats stats;
    struct rand_gen r;
    open_compressed(f);
    rand_init(&r, test_seed());
    ck_assert_uint_lt(flush_rows(f, 0, &r), raw / 2);
    ck_assert_uint_lt(flush_rows(f, ROWS, &r), raw / 2);
    ck_assert_uint_gt(flush_rows(f, ROWS / 2, &r), raw * 3 / 4);
    ck_assert_uint_lt(flush_rows(f, 2 * ROWS, &r), raw / 2);
    OK(lsm_compact_major(f->lsm, err));
    lsm_stats(f->lsm, &stats);
    ck_assert_uint_eq(stats.run_count, 1);
    ck_assert_uint_lt(stats.table_bytes, raw * 4 / 2);
    fixture_free(f);
}

END_TEST

/* Of what is soon merged a quarter is not worth the time, half of it is. */
START_TEST(test_what_does_not_stay_must_shrink_much)
{
    const uint64_t raw = (uint64_t)ROWS * VALUE_BYTES;
    struct fixture *f = malloc(sizeof(*f));
    struct rand_gen r;
    open_compressed(f);
    rand_init(&r, test_seed());
    ck_assert_uint_lt(flush_alike(f, 0, VALUE_BYTES / 4, &r), raw / 2);
    ck_assert_uint_gt(flush_alike(f, 0, VALUE_BYTES / 4, &r), raw);
    ck_assert_uint_lt(flush_alike(f, 0, VALUE_BYTES / 2, &r), raw * 3 / 5);
    OK(lsm_compact_major(f->lsm, err));
    fixture_free(f);
}

END_TEST

/* A filter that flushes what the memtable has when a merge begins. */
struct flusher {
    struct lsm_filter base;
    struct fixture *f;
    bool ready;
    size_t before; /* Chunks that were out before it, */
    size_t after;  /* and then. */
};

static void begin_by_flush(void *ctx, bool to_bottom)
{
    struct flusher *x = ctx;
    struct chunk_pool *pool = block_cache_chunks(x->f->cache);
    (void)to_bottom;
    if (!x->ready)
        return;
    x->ready = false; /* The flush begins, too. */
    x->before = chunk_pool_out(pool);
    lsm_freeze(x->f->lsm, sequence);
    OK(lsm_flush(x->f->lsm, err));
    x->after = chunk_pool_out(pool);
}

static bool keep_all(void *ctx, struct slice key, struct slice value)
{
    (void)ctx;
    (void)key;
    (void)value;
    return true;
}

static struct flusher *flusher;

static struct lsm_filter *new_flusher(void *ctx, struct lsm *l)
{
    (void)l;
    (void)ctx;
    return &flusher->base;
}

/* While tables are merged, memtables that are flushed give their memory back:
 * those that fill meanwhile would take new. */
START_TEST(test_a_merge_keeps_no_memtable)
{
    struct fixture *f = malloc(sizeof(*f));
    struct flusher x = {
        .base = {.ctx = &x, .begin = begin_by_flush, .keep = keep_all}, .f = f};
    struct rand_gen r;
    fixture_init(f);
    f->options.hooks.new_filter = new_flusher;
    flusher = &x;
    fixture_open(f);
    rand_init(&r, test_seed());
    flush_rows(f, 0, &r);
    flush_rows(f, 0, &r);
    /* A memtable's first blocks are small and of no pool. */
    for (int i = 0; i < 20; i++)
        insert_rows(f, i * ROWS, 0, &r);
    x.ready = true;
    OK(lsm_compact_major(f->lsm, err));
    ck_assert(!x.ready);
    ck_assert_uint_gt(x.before, 0);
    ck_assert_uint_eq(x.after, 0);
    fixture_free(f);
}

END_TEST

/* A filter that keeps the newest entry of each row. */
static struct buf kept_row;

static void begin_with_no_row(void *ctx, bool to_bottom)
{
    (void)ctx;
    (void)to_bottom;
    buf_clear(&kept_row);
}

static bool keep_newest(void *ctx, struct slice key, struct slice value)
{
    struct slice row = slice_sub(key, 0, cell_key_row_length(key));
    (void)ctx;
    (void)value;
    if (slice_eq(row, buf_slice(&kept_row)))
        return false;
    buf_clear(&kept_row);
    buf_append_slice(&kept_row, row);
    return true;
}

static struct lsm_filter newest = {.begin = begin_with_no_row,
                                   .keep = keep_newest};

static struct lsm_filter *new_newest(void *ctx, struct lsm *l)
{
    (void)ctx;
    (void)l;
    return &newest;
}

/* Nine flushes, each of the same 3,200 rows, merged; returns the bytes of the
 * table they become, for each row. @memtable_rows: that a memtable may hold. */
static uint64_t
merge_the_same(bool newest_only, uint64_t memtable_rows, bool major)
{
    const int parts = 8;
    struct fixture *f = malloc(sizeof(*f));
    struct lsm_stats stats;
    struct rand_gen r;
    bool did = true;
    init_compressed(f);
    f->options.group.dictionary = true;
    f->options.group.memtable_bytes = memtable_rows * VALUE_BYTES;
    if (newest_only)
        f->options.hooks.new_filter = new_newest;
    fixture_open(f);
    rand_init(&r, test_seed());
    for (int i = 0; i < 9; i++) {
        for (int part = 0; part < parts; part++)
            insert_rows(f, part * ROWS, 0, &r);
        lsm_freeze(f->lsm, sequence);
        OK(lsm_flush(f->lsm, err));
    }
    if (major)
        OK(lsm_compact_major(f->lsm, err));
    else
        OK(lsm_compact(f->lsm, &did, err));
    ck_assert(did);
    lsm_stats(f->lsm, &stats);
    ck_assert_uint_eq(stats.run_count, 1);
    fixture_free(f);
    buf_close(&kept_row);
    return stats.table_bytes / (ROWS * (uint64_t)parts);
}

/* A merge that keeps a ninth makes what a flush does, and is merged again with
 * the next ones: it is written like them. One that keeps all, makes more than a
 * memtable holds, or is to last, is compressed well. */
START_TEST(test_merges_that_keep_little_are_hurried)
{
    const uint64_t well = VALUE_BYTES / 2;
    ck_assert_uint_gt(merge_the_same(true, 6400, false), VALUE_BYTES * 3 / 4);
    ck_assert_uint_lt(merge_the_same(true, 1600, false), well);
    ck_assert_uint_lt(merge_the_same(true, 6400, true), well);
    ck_assert_uint_lt(merge_the_same(false, 64000, false), 9 * well);
}

END_TEST

TEST_MAIN("flush",
          test_what_stays_is_compressed_well,
          test_what_does_not_stay_must_shrink_much,
          test_merges_that_keep_little_are_hurried,
          test_a_merge_keeps_no_memtable)
