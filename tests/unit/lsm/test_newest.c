/* The newest cell of a column, where rows are written over and over with times
 * that rise: tables that hold older cells alone are not read for it.
 */
#include "base/core/hash.h"
#include "base/core/rand.h"
#include "tests/unit/lsm/group_fixture.h"

/* --- Helpers ------------------------------------------------------------- */

enum {
    ROWS = 6,
    STEPS = 3000,
    ENTRIES_MAX = STEPS
};

struct entry {
    int row;
    int64_t time;
    uint64_t sequence;
    enum entry_kind kind;
};

/* All entries, in the order of their numbers. */
struct history {
    struct entry entries[ENTRIES_MAX];
    size_t count;
};

static void row_name(char name[16], int row)
{
    snprintf(name, 16, "row%02d", row);
}

static void put_entry(struct fixture *f, const struct entry *e)
{
    struct buf key = BUF_INIT;
    char name[16];
    char value[32];
    int len = snprintf(value, sizeof(value), "%" PRIu64, e->sequence);
    row_name(name, e->row);
    fixture_key(&key, name, "c", e->time, e->sequence, e->kind);
    lsm_insert(f->lsm, buf_slice(&key), slice_make(value, (size_t)len));
    buf_close(&key);
}

static void flush(struct fixture *f, uint64_t sequence)
{
    lsm_freeze(f->lsm, sequence);
    OK(lsm_flush(f->lsm, err));
}

/* The number of the entry that is the newest cell of @row; 0: it has none. */
static uint64_t
get(struct fixture *f, int row, uint64_t sequence_max, enum lsm_found *found)
{
    struct lsm_snapshot *s = lsm_snapshot_new(f->lsm);
    struct buf r = BUF_INIT;
    struct buf c = BUF_INIT;
    struct buf value = BUF_INIT;
    char name[16];
    int64_t time;
    uint64_t n;
    row_name(name, row);
    cell_key_append_row(&r, slice_str(name));
    cell_key_append_column(&c, slice_str(name), 1, SLICE_LIT("c"));
    OK(lsm_get_newest(s, buf_slice(&r), buf_slice(&c),
                      hash64_slice(buf_slice(&c)), sequence_max, found, &value,
                      &time, err));
    n = value.len ? strtoull(buf_cstr(&value), NULL, 10) : 0;
    lsm_snapshot_free(s);
    buf_close(&r);
    buf_close(&c);
    buf_close(&value);
    return n;
}

/* The first entry of the row in the order of keys: the latest time, and of that
 * the highest number. NULL: none. */
static const struct entry *
first_entry(const struct history *h, int row, uint64_t sequence_max)
{
    const struct entry *first = NULL;
    for (size_t i = 0; i < h->count; i++) {
        const struct entry *e = &h->entries[i];
        if (e->row == row && e->sequence <= sequence_max &&
            (!first || e->time >= first->time))
            first = e;
    }
    return first;
}

static void check_row(struct fixture *f,
                      const struct history *h,
                      int row,
                      uint64_t sequence_max,
                      size_t *count)
{
    const struct entry *want = first_entry(h, row, sequence_max);
    enum lsm_found found;
    uint64_t n = get(f, row, sequence_max, &found);
    if (found == LSM_COMPLEX)
        return; /* An iterator is asked. */
    ck_assert_uint_eq(n, want ? want->sequence : 0);
    ck_assert_int_eq(found, want ? LSM_FOUND : LSM_ABSENT);
    ck_assert(!want || want->kind == ENTRY_PUT);
    ++*count;
}

/* One step of a history in which @delete_one_in is a deletion. */
static void
step(struct fixture *f, struct history *h, struct rand_gen *r, uint64_t rarely)
{
    uint64_t sequence = h->count + 1;
    bool deletes = rand_one_in(r, rarely);
    struct entry *e = &h->entries[h->count++];
    /* Times rise, but those of neighbouring tables overlap. */
    *e = (struct entry){
        .row = (int)rand_below(r, ROWS),
        .time = (int64_t)(sequence + rand_below(r, 30)),
        .sequence = sequence,
        .kind = deletes ? ENTRY_DELETE_COLUMN : ENTRY_PUT,
    };
    if (deletes)
        e->time = INT64_MAX;
    put_entry(f, e);
    if (rand_one_in(r, 20))
        flush(f, sequence);
}

/* --- Tests --------------------------------------------------------------- */

/* Whatever is flushed and merged, a point read finds the entry that a look at
 * all of them finds, at any number. */
START_TEST(test_the_newest_of_what_rises)
{
    struct fixture *f = malloc(sizeof(*f));
    struct history *h = mem_zalloc(1, sizeof(*h));
    struct rand_gen r;
    size_t simple = 0;
    rand_init(&r, test_seed());
    fixture_init(f);
    fixture_open(f);
    for (int i = 0; i < STEPS; i++) {
        bool did;
        /* In the first half nothing is deleted. */
        step(f, h, &r, i < STEPS / 2 ? UINT64_MAX : 200);
        if (rand_one_in(&r, 200))
            OK(lsm_compact(f->lsm, &did, err));
        for (int k = 0; k < 2; k++)
            check_row(f, h, (int)rand_below(&r, ROWS),
                      k ? UINT64_MAX : rand_below(&r, h->count + 1), &simple);
    }
    ck_assert_uint_gt(simple, STEPS / 2);
    mem_free(h);
    fixture_free(f);
}

END_TEST

/* Blocks that are looked at for the newest cell of row 0. */
static uint64_t blocks_read(struct fixture *f, uint64_t want)
{
    struct block_cache_stats before;
    struct block_cache_stats after;
    enum lsm_found found;
    block_cache_stats(f->cache, &before);
    ck_assert_uint_eq(get(f, 0, UINT64_MAX, &found), want);
    ck_assert_int_eq(found, LSM_FOUND);
    block_cache_stats(f->cache, &after);
    return after.hits + after.misses - before.hits - before.misses;
}

/* The row lies in three tables: the last one written is read alone if its cell
 * is the newest, and others if they may hold a newer one. */
START_TEST(test_tables_of_older_cells_are_not_read)
{
    struct fixture *f = malloc(sizeof(*f));
    struct entry e = {.row = 0, .kind = ENTRY_PUT};
    uint64_t one = 0;
    fixture_init(f);
    fixture_open(f);
    for (e.sequence = 1; e.sequence <= 3; e.sequence++) {
        e.time = 100 * (int64_t)e.sequence;
        put_entry(f, &e);
        flush(f, e.sequence);
        if (e.sequence == 1)
            one = blocks_read(f, 1);
    }
    ck_assert_uint_gt(one, 0);
    ck_assert_uint_eq(blocks_read(f, 3), one);
    e.time = 150;
    put_entry(f, &e);
    flush(f, 4);
    ck_assert_uint_eq(blocks_read(f, 3), 2 * one);
    e = (struct entry){0, 300, 5, ENTRY_PUT}; /* The same time again. */
    put_entry(f, &e);
    flush(f, 5);
    ck_assert_uint_eq(blocks_read(f, 5), 2 * one);
    fixture_free(f);
}

END_TEST

TEST_MAIN("newest",
          test_the_newest_of_what_rises,
          test_tables_of_older_cells_are_not_read)
