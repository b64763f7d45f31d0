/* Batches of changes: each change is read as it was put, whatever kind of entry
 * comes first, with an origin and without. */
#include <string.h>

#include "base/core/buf.h"
#include "bigtable/changes/change_batch.h"
#include "tests/lib/check_main.h"

static const enum quarry_change_kind kinds[] = {
    QUARRY_CHANGE_SET,           QUARRY_CHANGE_DELETE_CELLS,
    QUARRY_CHANGE_DELETE_FAMILY, QUARRY_CHANGE_DELETE_ROW,
    QUARRY_CHANGE_ADD,           QUARRY_CHANGE_MERGE};

enum {
    KINDS = sizeof(kinds) / sizeof(kinds[0])
};

static struct quarry_change_entry entry_of(enum quarry_change_kind kind)
{
    struct quarry_change_entry e = {.kind = kind};
    if (kind != QUARRY_CHANGE_DELETE_ROW)
        e.family = SLICE_LIT("f");
    if (kind == QUARRY_CHANGE_DELETE_ROW || kind == QUARRY_CHANGE_DELETE_FAMILY)
        return e;
    e.qualifier = SLICE_LIT("q");
    e.timestamp_us = -5;
    if (kind == QUARRY_CHANGE_DELETE_CELLS)
        e.max_us = INT64_MAX;
    else
        e.value = SLICE_LIT("value");
    return e;
}

static void expect_entry(const struct quarry_change_entry *a,
                         const struct quarry_change_entry *b)
{
    ck_assert_int_eq(a->kind, b->kind);
    ck_assert(slice_eq(a->family, b->family));
    ck_assert(slice_eq(a->qualifier, b->qualifier));
    ck_assert_int_eq(a->timestamp_us, b->timestamp_us);
    ck_assert_int_eq(a->max_us, b->max_us);
    ck_assert(slice_eq(a->value, b->value));
}

static void expect_read(size_t first, uint64_t site)
{
    struct quarry_change_entry entries[KINDS];
    const struct quarry_change c = {.row = SLICE_LIT("row"),
                                    .commit_us = 7,
                                    .sequence = 9,
                                    .entries = entries,
                                    .entry_count = KINDS,
                                    .origin = {site, site ? 3 : 0, site}};
    struct quarry_change read;
    struct buf batch = BUF_INIT;
    struct buf ops = BUF_INIT;
    struct cursor at;
    for (size_t i = 0; i < KINDS; i++)
        entries[i] = entry_of(kinds[(first + i) % KINDS]);
    change_batch_put(&batch, &c);
    change_batch_put(&batch, &c);
    at = cursor_make(buf_slice(&batch));
    for (int n = 0; n < 2; n++) {
        ck_assert(change_batch_next(&at, &ops, &read));
        ck_assert(slice_eq(read.row, c.row));
        ck_assert_int_eq(read.commit_us, c.commit_us);
        ck_assert_uint_eq(read.sequence, c.sequence);
        ck_assert_uint_eq(read.origin.site, c.origin.site);
        ck_assert_int_eq(read.origin.us, c.origin.us);
        ck_assert_uint_eq(read.origin.sequence, c.origin.sequence);
        ck_assert_uint_eq(read.entry_count, KINDS);
        for (size_t i = 0; i < KINDS; i++)
            expect_entry(&read.entries[i], &entries[i]);
    }
    ck_assert(!change_batch_next(&at, &ops, &read));
    ck_assert(!at.bad);
    buf_close(&batch);
    buf_close(&ops);
}

START_TEST(test_round_trip)
{
    for (size_t first = 0; first < KINDS; first++) {
        expect_read(first, 0);
        expect_read(first, 12345);
    }
}

END_TEST

TEST_MAIN("change_batch", test_round_trip)
