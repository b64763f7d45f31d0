/* A group shows what was inserted, whatever flushes and compactions do below.
 */
#include "base/core/coding.h"
#include "base/core/hash.h"
#include "base/core/rand.h"
#include "tests/unit/lsm/group_fixture.h"

/* --- model: all entries, sorted ------------------------------------------ */

struct entry {
    struct slice key;
    struct slice value;
};

struct model {
    struct entry *items;
    size_t count;
    size_t cap;
};

static int compare_entries(const void *a, const void *b)
{
    return slice_cmp(((const struct entry *)a)->key,
                     ((const struct entry *)b)->key);
}

static void model_add(struct model *m, struct slice key, struct slice value)
{
    if (m->count == m->cap) {
        m->cap = m->cap ? m->cap * 2 : 64;
        m->items = mem_realloc(m->items, m->cap * sizeof(*m->items));
    }
    m->items[m->count++] = (struct entry){fixture_dup(key), fixture_dup(value)};
}

static void model_close(struct model *m)
{
    for (size_t i = 0; i < m->count; i++) {
        mem_free((char *)(uintptr_t)m->items[i].key.data);
        mem_free((char *)(uintptr_t)m->items[i].value.data);
    }
    mem_free(m->items);
}

static size_t model_find(const struct model *m, struct slice key)
{
    size_t i = 0;
    while (i < m->count && slice_cmp(m->items[i].key, key) < 0)
        i++;
    return i;
}

/* --- helpers ------------------------------------------------------------- */

/* From @from on, at most @max entries: the iterator and the model agree. */
static void compare_from(struct lsm_snapshot *s,
                         const struct model *m,
                         const struct lsm_read_options *opts,
                         struct slice from,
                         size_t max)
{
    struct lsm_iter *it;
    size_t i = model_find(m, from);
    OK(lsm_iter_new(s, opts, &it, err));
    OK(lsm_iter_seek(it, from, err));
    for (; max > 0; max--) {
        while (i < m->count &&
               cell_key_sequence(m->items[i].key) > opts->sequence_max)
            i++;
        ck_assert_int_eq(lsm_iter_valid(it), i < m->count);
        if (i == m->count)
            break;
        ck_assert(slice_eq(lsm_iter_key(it), m->items[i].key));
        ck_assert(slice_eq(lsm_iter_value(it), m->items[i].value));
        OK(lsm_iter_next(it, err));
        i++;
    }
    lsm_iter_free(it);
}

/* The newest cell of a column, by the model. */
static const struct entry *
model_newest(const struct model *m, struct slice column, uint64_t sequence_max)
{
    for (size_t i = model_find(m, column);
         i < m->count && slice_starts_with(m->items[i].key, column); i++)
        if (cell_key_sequence(m->items[i].key) <= sequence_max)
            return &m->items[i];
    return NULL;
}

static void compare_get(struct lsm_snapshot *s,
                        const struct model *m,
                        const char *row,
                        const char *column,
                        uint64_t sequence_max)
{
    struct buf r = BUF_INIT;
    struct buf c = BUF_INIT;
    struct buf value = BUF_INIT;
    enum lsm_found found;
    const struct entry *want;
    int64_t time;
    cell_key_append_row(&r, slice_str(row));
    cell_key_append_column(&c, slice_str(row), 1, slice_str(column));
    OK(lsm_get_newest(s, buf_slice(&r), buf_slice(&c),
                      hash64_slice(buf_slice(&c)), sequence_max, &found, &value,
                      &time, err));
    want = model_newest(m, buf_slice(&c), sequence_max);
    if (found == LSM_FOUND) {
        ck_assert(want != NULL);
        ck_assert(slice_eq(buf_slice(&value), want->value));
        ck_assert_int_eq(time, cell_key_timestamp(want->key));
    } else {
        ck_assert_uint_eq(value.len, 0);
        if (found == LSM_ABSENT)
            ck_assert(want == NULL);
    }
    buf_close(&r);
    buf_close(&c);
    buf_close(&value);
}

static void random_value(struct rand_gen *r, struct buf *out)
{
    size_t len = rand_one_in(r, 50) ? rand_below(r, 5000) : rand_below(r, 60);
    buf_clear(out);
    for (size_t i = 0; i < len; i++)
        buf_append_byte(out, (char)('a' + rand_below(r, 4)));
}

/* Mostly an entry, now and then a deletion. */
static enum entry_kind random_kind(struct rand_gen *r)
{
    if (rand_one_in(r, 40))
        return ENTRY_DELETE_ROW;
    if (rand_one_in(r, 40))
        return ENTRY_DELETE_FAMILY;
    return rand_one_in(r, 40) ? ENTRY_DELETE_COLUMN : ENTRY_PUT;
}

/* --- tests --------------------------------------------------------------- */

/* Insertion, freezing, flushing, compaction, reopening in any order: scans,
 * seeks, probes and point reads at any sequence number agree with a sorted
 * list. */
static void random_history(enum compression compression,
                           enum bloom_kind bloom,
                           bool in_memory,
                           unsigned long long seed)
{
    struct fixture *f = malloc(sizeof(*f));
    struct model m = {0};
    struct rand_gen r;
    struct buf key = BUF_INIT;
    struct buf value = BUF_INIT;
    uint64_t sequence = 0;
    uint64_t durable = 0;
    rand_init(&r, seed);
    fixture_init(f);
    f->options.group.compression = compression;
    f->options.group.bloom = bloom;
    f->options.group.in_memory = in_memory;
    fixture_open(f);
    for (int step = 0; step < 1500; step++) {
        char row[16];
        char column[16];
        snprintf(row, sizeof(row), "r%03d", (int)rand_below(&r, 60));
        snprintf(column, sizeof(column), "c%d", (int)rand_below(&r, 3));
        switch (rand_below(&r, 30)) {
        case 0: lsm_freeze(f->lsm, sequence); break;
        case 1:
            if (rand_one_in(&r, 3)) {
                lsm_freeze(f->lsm, sequence);
                OK(lsm_flush(f->lsm, err));
                ck_assert_uint_eq(f->flushed_sequence, sequence);
                durable = sequence;
            }
            break;
        case 2: {
            bool did;
            OK(lsm_compact(f->lsm, &did, err));
            break;
        }
        case 3:
            if (rand_one_in(&r, 20))
                OK(lsm_compact_major(f->lsm, err));
            break;
        case 4:
            if (rand_one_in(&r, 4) && durable == sequence) {
                lsm_close(f->lsm);
                fixture_open(f);
            }
            break;
        case 5: {
            struct lsm_snapshot *s = lsm_snapshot_new(f->lsm);
            struct lsm_read_options opts = {
                .sequence_max = rand_one_in(&r, 2)
                                    ? UINT64_MAX
                                    : rand_below(&r, sequence + 1),
                .scan = rand_one_in(&r, 2)};
            compare_from(s, &m, &opts, SLICE_EMPTY, SIZE_MAX);
            fixture_key(&key, row, column, INT64_MAX, 0, ENTRY_PUT);
            compare_from(s, &m, &opts, buf_slice(&key), 10);
            compare_get(s, &m, row, column, opts.sequence_max);
            lsm_snapshot_free(s);
            break;
        }
        default: {
            enum entry_kind kind = random_kind(&r);
            random_value(&r, &value);
            fixture_key(&key, row, column,
                        kind == ENTRY_PUT ? (int64_t)rand_below(&r, 100)
                                          : INT64_MAX,
                        ++sequence, kind);
            lsm_insert(f->lsm, buf_slice(&key), buf_slice(&value));
            model_add(&m, buf_slice(&key), buf_slice(&value));
            qsort(m.items, m.count, sizeof(*m.items), compare_entries);
        }
        }
    }
    for (int i = 0; i < 60; i++) {
        struct lsm_snapshot *s = lsm_snapshot_new(f->lsm);
        struct lsm_read_options opts = {.sequence_max = UINT64_MAX};
        struct buf row_key = BUF_INIT;
        struct lsm_iter *it;
        char row[16];
        size_t at;
        snprintf(row, sizeof(row), "r%03d", i);
        cell_key_append_row(&row_key, slice_str(row));
        opts.probe_row = buf_slice(&row_key);
        OK(lsm_iter_new(s, &opts, &it, err));
        OK(lsm_iter_seek(it, opts.probe_row, err));
        for (at = model_find(&m, opts.probe_row);
             at < m.count && slice_starts_with(m.items[at].key, opts.probe_row);
             at++) {
            ck_assert(lsm_iter_valid(it));
            ck_assert(slice_eq(lsm_iter_key(it), m.items[at].key));
            OK(lsm_iter_next(it, err));
        }
        lsm_iter_free(it);
        for (int c = 0; c < 3; c++) {
            char column[16];
            snprintf(column, sizeof(column), "c%d", c);
            compare_get(s, &m, row, column, UINT64_MAX);
        }
        lsm_snapshot_free(s);
        buf_close(&row_key);
    }
    model_close(&m);
    buf_close(&key);
    buf_close(&value);
    fixture_free(f);
}

START_TEST(test_random_history_plain)
{
    random_history(COMPRESSION_NONE, BLOOM_ROW_COLUMN, false, test_seed());
}

END_TEST

START_TEST(test_random_history_zstd)
{
    random_history(COMPRESSION_ZSTD, BLOOM_ROW, false, test_seed() + 1);
}

END_TEST

START_TEST(test_random_history_in_memory)
{
    random_history(COMPRESSION_ZSTD, BLOOM_NONE, true, test_seed() + 2);
}

END_TEST

static void insert_rows(struct fixture *f, int first, int count, size_t size)
{
    struct buf key = BUF_INIT;
    char *value = calloc(1, size + 1);
    for (int i = first; i < first + count; i++) {
        char row[16];
        snprintf(row, sizeof(row), "row%06d", i);
        fixture_key(&key, row, "c", 7, (uint64_t)i + 1, ENTRY_PUT);
        lsm_insert(f->lsm, buf_slice(&key), slice_make(value, size));
    }
    free(value);
    buf_close(&key);
}

static void check_row_is_there(struct fixture *f, int i)
{
    struct lsm_snapshot *s = lsm_snapshot_new(f->lsm);
    struct buf key = BUF_INIT;
    struct buf column = BUF_INIT;
    struct buf value = BUF_INIT;
    enum lsm_found found;
    int64_t time;
    char row[16];
    snprintf(row, sizeof(row), "row%06d", i);
    cell_key_append_row(&key, slice_str(row));
    cell_key_append_column(&column, slice_str(row), 1, SLICE_LIT("c"));
    OK(lsm_get_newest(s, buf_slice(&key), buf_slice(&column),
                      hash64_slice(buf_slice(&column)), UINT64_MAX, &found,
                      &value, &time, err));
    ck_assert_int_eq(found, LSM_FOUND);
    ck_assert_uint_eq(value.len, 500);
    lsm_snapshot_free(s);
    buf_close(&key);
    buf_close(&column);
    buf_close(&value);
}

/* Bytes of the SSTables of a group after @count more rows are flushed. */
static uint64_t bytes_with(struct fixture *f, int first, int count)
{
    struct lsm_stats before;
    struct lsm_stats after;
    lsm_stats(f->lsm, &before);
    insert_rows(f, first, count, 500);
    lsm_freeze(f->lsm, (uint64_t)(first + count));
    OK(lsm_flush(f->lsm, err));
    lsm_stats(f->lsm, &after);
    return after.table_bytes - before.table_bytes;
}

/* Options that are set hold for the next file a flush or a compaction begins,
 * and files of both kinds are read together. */
START_TEST(test_options_are_set_while_open)
{
    struct fixture *f = malloc(sizeof(*f));
    struct group_options options;
    struct lsm_stats stats;
    fixture_init(f);
    f->options.group.compression = COMPRESSION_NONE;
    fixture_open(f);
    options = f->options.group;
    ck_assert_uint_gt(bytes_with(f, 0, 200), 100000);
    options.compression = COMPRESSION_ZSTD;
    options.memtable_bytes = 1 << 20;
    lsm_set_options(f->lsm, &options);
    ck_assert_uint_lt(bytes_with(f, 200, 200), 20000);
    options.compression = COMPRESSION_NONE;
    options.bloom = BLOOM_NONE;
    lsm_set_options(f->lsm, &options);
    ck_assert_uint_gt(bytes_with(f, 400, 200), 100000);
    for (int i = 0; i < 600; i += 37)
        check_row_is_there(f, i);
    options.compression = COMPRESSION_ZSTD;
    lsm_set_options(f->lsm, &options);
    OK(lsm_compact_major(f->lsm, err));
    lsm_stats(f->lsm, &stats);
    ck_assert_uint_lt(stats.table_bytes, 60000);
    for (int i = 0; i < 600; i += 37)
        check_row_is_there(f, i);
    fixture_free(f);
}

END_TEST

/* Rows that come in order are written once: no compaction has anything to do,
 * and all tables are of one run. */
START_TEST(test_sequential_fill_is_never_rewritten)
{
    struct fixture *f = malloc(sizeof(*f));
    struct lsm_stats stats;
    bool did;
    fixture_init(f);
    fixture_open(f);
    for (int i = 0; i < 40; i++) {
        insert_rows(f, i * 100, 100, 20);
        lsm_freeze(f->lsm, (uint64_t)(i + 1) * 100);
        OK(lsm_flush(f->lsm, err));
        ck_assert_uint_eq(lsm_compaction_debt(f->lsm), 0);
        OK(lsm_compact(f->lsm, &did, err));
        ck_assert(!did);
    }
    lsm_stats(f->lsm, &stats);
    ck_assert_uint_eq(stats.table_count, 40);
    ck_assert_uint_eq(stats.run_count, 1);
    ck_assert_uint_eq(stats.compacted_bytes, 0);
    fixture_free(f);
}

END_TEST

/* A commit that fails changes nothing: the data stay readable, a later flush
 * works, and no file is left over. */
START_TEST(test_failed_commit_changes_nothing)
{
    struct fixture *f = malloc(sizeof(*f));
    struct lsm_stats stats;
    struct err why = ERR_INIT;
    char **names;
    size_t count;
    fixture_init(f);
    fixture_open(f);
    insert_rows(f, 0, 100, 20);
    lsm_freeze(f->lsm, 100);
    f->fail_commits = 1;
    ck_assert_int_eq(lsm_flush(f->lsm, &why), ERR_IO);
    lsm_stats(f->lsm, &stats);
    ck_assert_uint_eq(stats.table_count, 0);
    OK(fs_list(f->fs, "t", &names, &count, err));
    ck_assert_uint_eq(count, 0);
    fs_names_free(names, count);
    ck_assert_uint_gt(lsm_frozen_memory(f->lsm), 0);
    OK(lsm_flush(f->lsm, err));
    ck_assert_uint_eq(lsm_frozen_memory(f->lsm), 0);
    lsm_stats(f->lsm, &stats);
    ck_assert_uint_eq(stats.entry_count, 100);
    fixture_free(f);
}

END_TEST

/* A snapshot keeps the tables it was taken over, and their files, until it is
 * given back. */
START_TEST(test_snapshot_keeps_its_tables)
{
    struct fixture *f = malloc(sizeof(*f));
    struct lsm_read_options opts = {.sequence_max = UINT64_MAX};
    struct lsm_snapshot *s;
    struct lsm_iter *it;
    int seen = 0;
    fixture_init(f);
    fixture_open(f);
    for (int i = 0; i < 3; i++) {
        insert_rows(f, 0, 100, 20);
        lsm_freeze(f->lsm, 100);
        OK(lsm_flush(f->lsm, err));
    }
    s = lsm_snapshot_new(f->lsm);
    OK(lsm_compact_major(f->lsm, err));
    ck_assert_uint_eq(f->unlinked, 0);
    OK(lsm_iter_new(s, &opts, &it, err));
    OK(lsm_iter_seek(it, SLICE_EMPTY, err));
    for (; lsm_iter_valid(it); seen++)
        OK(lsm_iter_next(it, err));
    ck_assert_int_eq(seen, 300); /* The same keys three times, from 3 runs. */
    lsm_iter_free(it);
    lsm_snapshot_free(s);
    ck_assert_uint_eq(f->unlinked, 3);
    fixture_free(f);
}

END_TEST

/* A group with bounds sees its part of a shared table alone, and keeps only
 * that part when it compacts. */
START_TEST(test_bounds_clip_shared_tables)
{
    struct fixture *f = malloc(sizeof(*f));
    struct lsm_read_options opts = {.sequence_max = UINT64_MAX};
    struct buf lower = BUF_INIT;
    struct buf upper = BUF_INIT;
    struct lsm_stats stats;
    fixture_init(f);
    fixture_open(f);
    insert_rows(f, 0, 1000, 100);
    lsm_freeze(f->lsm, 1000);
    OK(lsm_flush(f->lsm, err));
    lsm_close(f->lsm);
    cell_key_append_row(&lower, SLICE_LIT("row000200"));
    cell_key_append_row(&upper, SLICE_LIT("row000500"));
    f->options.lower = buf_slice(&lower);
    f->options.upper = buf_slice(&upper);
    fixture_open(f);
    for (int round = 0; round < 2; round++) {
        struct lsm_snapshot *s = lsm_snapshot_new(f->lsm);
        struct lsm_iter *it;
        int seen = 0;
        OK(lsm_iter_new(s, &opts, &it, err));
        OK(lsm_iter_seek(it, SLICE_EMPTY, err));
        for (; lsm_iter_valid(it); seen++) {
            ck_assert(slice_cmp(lsm_iter_key(it), buf_slice(&lower)) >= 0);
            ck_assert(slice_cmp(lsm_iter_key(it), buf_slice(&upper)) < 0);
            OK(lsm_iter_next(it, err));
        }
        ck_assert_int_eq(seen, 300);
        lsm_iter_free(it);
        lsm_snapshot_free(s);
        OK(lsm_compact_major(f->lsm, err));
    }
    lsm_stats(f->lsm, &stats);
    ck_assert_uint_eq(stats.entry_count, 300);
    buf_close(&lower);
    buf_close(&upper);
    fixture_free(f);
}

END_TEST

/* Split points are encoded rows, ascend, and cut into pieces of which none is
 * more than twice its share. */
START_TEST(test_split_points_are_even)
{
    struct fixture *f = malloc(sizeof(*f));
    struct buf keys = BUF_INIT;
    struct cursor c;
    size_t count;
    int last = 0;
    fixture_init(f);
    fixture_open(f);
    insert_rows(f, 0, 10000, 100);
    lsm_freeze(f->lsm, 10000);
    OK(lsm_flush(f->lsm, err));
    OK(lsm_split_points(f->lsm, 8, &keys, &count, err));
    ck_assert_uint_eq(count, 7);
    c = cursor_make(buf_slice(&keys));
    for (size_t i = 0; i <= count; i++) {
        struct slice k = i < count ? cursor_lslice(&c) : SLICE_EMPTY;
        int at = 10000;
        if (i < count) {
            char digits[8] = "000000";
            ck_assert_uint_eq(cell_key_row_length(k), k.len);
            ck_assert_uint_ge(k.len, 5);
            memcpy(digits, k.data + 3, MIN_OF(k.len - 5, (size_t)6));
            at = atoi(digits);
        }
        ck_assert_int_gt(at, last);
        ck_assert_int_le(at - last, 2 * 10000 / 8);
        last = at;
    }
    ck_assert(!c.bad);
    buf_close(&keys);
    fixture_free(f);
}

END_TEST

static bool drop_odd(void *ctx, struct slice key, struct slice value)
{
    (void)ctx;
    (void)value;
    return cell_key_sequence(key) % 2 == 0;
}

static struct lsm_filter *odd_filter(void *ctx, struct lsm *lsm)
{
    static struct lsm_filter filter = {.keep = drop_odd};
    (void)ctx;
    (void)lsm;
    return &filter;
}

/* Entries that the owner's filter rejects do not reach the table, even if that
 * leaves nothing. */
START_TEST(test_filter_drops)
{
    struct fixture *f = malloc(sizeof(*f));
    struct lsm_stats stats;
    fixture_init(f);
    f->options.hooks.new_filter = odd_filter;
    fixture_open(f);
    insert_rows(f, 0, 100, 10);
    lsm_freeze(f->lsm, 100);
    OK(lsm_flush(f->lsm, err));
    lsm_stats(f->lsm, &stats);
    ck_assert_uint_eq(stats.entry_count, 50);
    insert_rows(f, 200, 1, 10);
    lsm_freeze(f->lsm, 201);
    OK(lsm_flush(f->lsm, err));
    ck_assert_uint_eq(f->flushed_sequence, 201);
    lsm_stats(f->lsm, &stats);
    ck_assert_uint_eq(stats.entry_count, 50);
    fixture_free(f);
}

END_TEST

/* Tables and memtable when the owner was told of the flush. */
static struct lsm_stats told_stats;

static void note_flushed(void *ctx, uint64_t sequence)
{
    struct fixture *f = ctx;
    ck_assert_uint_eq(sequence, f->flushed_sequence);
    lsm_stats(f->lsm, &told_stats);
}

/* The owner is told that a flush ended once its tables are seen: a caller that
 * waits for the flush finds them, and no memtable. */
START_TEST(test_flush_is_told_when_it_is_seen)
{
    struct fixture *f = malloc(sizeof(*f));
    bool did;
    fixture_init(f);
    f->options.hooks.flushed = note_flushed;
    fixture_open(f);
    for (int round = 1; round <= 2; round++) {
        told_stats = (struct lsm_stats){.table_count = 0};
        insert_rows(f, round * 1000, 100, 10);
        lsm_freeze(f->lsm, (uint64_t)round * 1000 + 100);
        OK(lsm_flush(f->lsm, err));
        ck_assert_uint_eq(told_stats.table_count, (uint64_t)round);
        ck_assert_uint_eq(told_stats.entry_count, (uint64_t)round * 100);
        ck_assert_uint_eq(told_stats.memtable_bytes, 0);
    }
    told_stats = (struct lsm_stats){.table_count = 77};
    OK(lsm_compact_major(f->lsm, err));
    OK(lsm_compact(f->lsm, &did, err));
    ck_assert_uint_eq(told_stats.table_count, 77); /* No flush. */
    fixture_free(f);
}

END_TEST

/* A cancelled group refuses to compact and stays whole. */
START_TEST(test_cancel_stops_compactions)
{
    struct fixture *f = malloc(sizeof(*f));
    struct err why = ERR_INIT;
    bool did;
    fixture_init(f);
    fixture_open(f);
    insert_rows(f, 0, 100, 10);
    lsm_freeze(f->lsm, 100);
    lsm_cancel(f->lsm);
    ck_assert_int_eq(lsm_flush(f->lsm, &why), ERR_CANCELLED);
    ck_assert_int_eq(lsm_compact(f->lsm, &did, &why), ERR_CANCELLED);
    ck_assert_int_eq(lsm_compact_major(f->lsm, &why), ERR_CANCELLED);
    fixture_free(f);
}

END_TEST

/* A list of tables that cannot be true is refused with what is wrong. */
START_TEST(test_wrong_lists_are_refused)
{
    struct fixture *f = malloc(sizeof(*f));
    struct err why = ERR_INIT;
    struct lsm *other;
    fixture_init(f);
    fixture_open(f);
    for (int i = 0; i < 2; i++) {
        insert_rows(f, 0, 100, 20 + (size_t)i);
        lsm_freeze(f->lsm, 100);
        OK(lsm_flush(f->lsm, err));
    }
    ck_assert_uint_eq(f->table_count, 2);
    f->tables[0].run = f->tables[1].run;
    ck_assert_int_eq(lsm_open(&f->options, f->tables, 2, &other, &why),
                     ERR_CORRUPT);
    ck_assert(strstr(why.text, "overlap") != NULL);
    f->tables[0].entry_count++;
    ck_assert_int_eq(lsm_open(&f->options, f->tables, 2, &other, &why),
                     ERR_CORRUPT);
    ck_assert(strstr(why.text, "t/00000") != NULL);
    f->tables[0].number = 999;
    ck_assert_int_eq(lsm_open(&f->options, f->tables, 2, &other, &why),
                     ERR_NOTFOUND);
    fixture_free(f);
}

END_TEST

TEST_MAIN("group",
          test_random_history_plain,
          test_random_history_zstd,
          test_random_history_in_memory,
          test_options_are_set_while_open,
          test_sequential_fill_is_never_rewritten,
          test_failed_commit_changes_nothing,
          test_snapshot_keeps_its_tables,
          test_bounds_clip_shared_tables,
          test_split_points_are_even,
          test_filter_drops,
          test_flush_is_told_when_it_is_seen,
          test_cancel_stops_compactions,
          test_wrong_lists_are_refused)
