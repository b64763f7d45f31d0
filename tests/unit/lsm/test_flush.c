/* How tables are written by minor compactions. */
#include <string.h>

#include "base/core/rand.h"
#include "tests/unit/lsm/group_fixture.h"

enum {
    ROWS = 400,
    VALUE_BYTES = 500
};

/* Rows of random letters, which only the usual compression makes smaller, from
 * the @first on; flushed. Returns the bytes that took. */
static uint64_t flush_rows(struct fixture *f, int first, struct rand_gen *r)
{
    static uint64_t sequence;
    struct lsm_stats before;
    struct lsm_stats after;
    struct buf key = BUF_INIT;
    char value[VALUE_BYTES];
    lsm_stats(f->lsm, &before);
    for (int i = first; i < first + ROWS; i++) {
        char row[16];
        snprintf(row, sizeof(row), "row%06d", i);
        for (size_t b = 0; b < sizeof(value); b++)
            value[b] = (char)('a' + rand_below(r, 8));
        fixture_key(&key, row, "c", 7, ++sequence, ENTRY_PUT);
        lsm_insert(f->lsm, buf_slice(&key), slice_make(value, sizeof(value)));
    }
    buf_close(&key);
    lsm_freeze(f->lsm, sequence);
    OK(lsm_flush(f->lsm, err));
    lsm_stats(f->lsm, &after);
    return after.flushed_bytes - before.flushed_bytes;
}

/* Tables of rows in order, which stay, are compressed as well as the group
 * wants; those that lie above others quickly, until they are merged. */
START_TEST(test_what_stays_is_compressed_well)
{
    const uint64_t raw = (uint64_t)ROWS * VALUE_BYTES;
    struct fixture *f = malloc(sizeof(*f));
    struct lsm_stats stats;
    struct rand_gen r;
    fixture_init(f);
    f->options.group.compression = COMPRESSION_ZSTD;
    f->options.group.level = 3;
    f->options.group.block_bytes = 8192;
    fixture_open(f);
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

TEST_MAIN("flush", test_what_stays_is_compressed_well)
