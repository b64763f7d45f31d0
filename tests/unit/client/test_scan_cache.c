/* Reads of single rows and cells, which the scan cache answers, never differ
 * from scans of ranges, which do not use it. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "tests/lib/check_main.h"

/* --- Fixture ------------------------------------------------------------- */

enum {
    ROWS = 6,
    COLUMNS = 3,
    FAMILIES = 3,
    OPEN_SCANS = 3,
    NAME_BYTES = 24
};

static const char *const family_names[FAMILIES] = {"all", "two", "far"};

static struct err err;

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

struct run {
    struct rand_gen rand;
    struct quarry *quarry;
    struct quarry_table *table;
    char target[512];
    unsigned value;
    /* Begun at the same moment, one through the cache and one past it. */
    struct quarry_scanner *through[OPEN_SCANS];
    struct quarry_scanner *past[OPEN_SCANS];
};

static void open_run(struct run *r)
{
    const struct quarry_options opts = {.memtable_bytes = 4 << 20,
                                        .cache_bytes = 4 << 20};
    OK(quarry_open(r->target, &opts, &r->quarry, &err));
}

static void start_run(struct run *r, uint64_t seed)
{
    static const struct quarry_family_spec families[] = {
        {"all", ""}, {"two", "versions=2"}, {"far", "group=other"}};
    static const struct quarry_group_spec groups[] = {
        {"default", "block=1KiB,memtable=64KiB"},
        {"other", "block=1KiB,compression=none,memtable=64KiB"}};
    memset(r, 0, sizeof(*r));
    rand_init(&r->rand, seed);
    snprintf(r->target, sizeof(r->target), "file:%s/s%llu", test_tmpdir(),
             (unsigned long long)seed);
    open_run(r);
    OK(quarry_table_create(r->quarry, "t", families, 3, groups, 2, &err));
    OK(quarry_table_open(r->quarry, "t", &r->table, &err));
}

static uint64_t counter(struct quarry *q, const char *name)
{
    struct quarry_counter all[QUARRY_COUNTERS_MAX];
    size_t count = quarry_counters(q, all);
    for (size_t i = 0; i < count; i++)
        if (!strcmp(all[i].name, name))
            return all[i].value;
    ck_abort_msg("no counter %s", name);
    return 0;
}

/* --- Helpers ------------------------------------------------------------- */

static struct slice row_name(char room[NAME_BYTES], uint64_t i)
{
    return slice_make(room, (size_t)snprintf(room, NAME_BYTES, "row%llu",
                                             (unsigned long long)i));
}

static struct slice random_row(struct run *r, char room[NAME_BYTES])
{
    /* The first rows are hot. */
    uint64_t n = rand_below(&r->rand, ROWS);
    return row_name(room, rand_below(&r->rand, n + 1));
}

static struct slice random_column(struct run *r)
{
    static const char *const names[COLUMNS] = {"", "q", "z"};
    return slice_str(names[rand_below(&r->rand, COLUMNS)]);
}

static void dump_row(const struct quarry_row *row, struct buf *out)
{
    for (size_t i = 0; row && i < row->cell_count; i++) {
        const struct quarry_cell *c = &row->cells[i];
        buf_printf(out, "%.*s %.*s:%.*s @%lld = %.*s\n", SLICE_ARG(row->key),
                   SLICE_ARG(c->family), SLICE_ARG(c->qualifier),
                   (long long)c->timestamp_us, SLICE_ARG(c->value));
    }
}

static void dump_scan(struct quarry_scanner *s, struct buf *out)
{
    const struct quarry_row *row;
    do {
        OK(quarry_scanner_next(s, &row, &err));
        dump_row(row, out);
    } while (row);
    quarry_scanner_close(s);
}

/* The row by a scan of a range that holds nothing else. */
static void dump_range(struct run *r,
                       struct slice row,
                       struct quarry_read_options opts,
                       struct buf *out)
{
    char end[NAME_BYTES + 1];
    struct quarry_range range = {row, {end, row.len + 1}};
    struct quarry_scanner *s;
    memcpy(end, row.data, row.len);
    end[row.len] = '\0';
    opts.ranges = &range;
    opts.range_count = 1;
    OK(quarry_scan(r->table, &opts, &s, &err));
    dump_scan(s, out);
}

static void check_same(struct buf *got, struct buf *want)
{
    ck_assert_str_eq(buf_cstr(got), buf_cstr(want));
    buf_close(got);
    buf_close(want);
}

/* --- Operations ---------------------------------------------------------- */

static void change(struct run *r, struct quarry_mutation *m)
{
    const char *family = family_names[rand_below(&r->rand, FAMILIES)];
    struct slice column = random_column(r);
    int64_t time = 1 + (int64_t)rand_below(&r->rand, 5);
    static char large[70000];
    char value[32];
    struct slice v;
    switch (rand_below(&r->rand, 12)) {
    case 0: quarry_mutation_delete_row(m); return;
    case 1: quarry_mutation_delete_family(m, family); return;
    case 2: quarry_mutation_delete_cells(m, family, column, 0, 0); return;
    case 3:
        quarry_mutation_delete_cells(m, family, column, time, time + 2);
        return;
    default: break;
    }
    v = slice_make(value,
                   (size_t)snprintf(value, sizeof(value), "v%u", r->value++));
    if (rand_one_in(&r->rand, 60)) {
        /* Too large to be kept. */
        memset(large, 'x', sizeof(large));
        memcpy(large, v.data, v.len);
        v = slice_make(large, sizeof(large));
    }
    quarry_mutation_set(m, family, column, time, v);
}

static void write_row(struct run *r)
{
    static const struct quarry_write_options opts = {QUARRY_LOGGED};
    char name[NAME_BYTES];
    struct quarry_mutation *m = quarry_mutation_new(random_row(r, name));
    for (size_t n = 1 + rand_below(&r->rand, 3); n > 0; n--)
        change(r, m);
    OK(quarry_apply(r->table, m, &opts, &err));
    quarry_mutation_free(m);
}

static void read_row(struct run *r)
{
    char name[NAME_BYTES];
    const char *families[] = {family_names[rand_below(&r->rand, FAMILIES)]};
    struct slice row = random_row(r, name);
    struct quarry_read_options opts = {.versions =
                                           (uint32_t)rand_below(&r->rand, 3)};
    struct buf got = BUF_INIT;
    struct buf want = BUF_INIT;
    struct quarry_row *found;
    if (rand_one_in(&r->rand, 3)) {
        opts.families = families;
        opts.family_count = 1;
    }
    if (rand_one_in(&r->rand, 3)) {
        opts.time_min_us = 1;
        opts.time_max_us = 2 + (int64_t)rand_below(&r->rand, 4);
    }
    OK(quarry_read_row(r->table, row, &opts, &found, &err));
    dump_row(found, &got);
    quarry_row_free(found);
    dump_range(r, row, opts, &want);
    check_same(&got, &want);
}

static void read_value(struct run *r)
{
    char name[NAME_BYTES];
    const char *family = family_names[rand_below(&r->rand, FAMILIES)];
    struct slice row = random_row(r, name);
    struct slice column = random_column(r);
    struct quarry_read_options opts = {.families = &family, .family_count = 1};
    char end[NAME_BYTES + 1];
    struct quarry_range range = {row, {end, row.len + 1}};
    const struct quarry_row *all;
    struct quarry_scanner *s;
    struct buf value = BUF_INIT;
    struct slice want = SLICE_EMPTY;
    bool expected = false;
    bool found;
    memcpy(end, row.data, row.len);
    end[row.len] = '\0';
    opts.ranges = &range;
    opts.range_count = 1;
    OK(quarry_get(r->table, row, family, column, &value, &found, &err));
    OK(quarry_scan(r->table, &opts, &s, &err));
    OK(quarry_scanner_next(s, &all, &err));
    for (size_t i = 0; all && i < all->cell_count && !expected; i++)
        if (slice_eq(all->cells[i].qualifier, column)) {
            want = all->cells[i].value;
            expected = true;
        }
    ck_assert_int_eq(found, expected);
    ck_assert(!found || slice_eq(buf_slice(&value), want));
    quarry_scanner_close(s);
    buf_close(&value);
}

/* Begin two scans of the rows as they are now, or end two begun earlier: by
 * names, through the cache, and by range. */
static void scan_rows(struct run *r)
{
    size_t i = rand_below(&r->rand, OPEN_SCANS);
    char names[ROWS][NAME_BYTES];
    struct slice keys[ROWS];
    struct quarry_read_options by_name = {.keys = keys, .key_count = ROWS};
    struct buf got = BUF_INIT;
    struct buf want = BUF_INIT;
    if (!r->through[i]) {
        for (uint64_t k = 0; k < ROWS; k++)
            keys[k] = row_name(names[k], k);
        OK(quarry_scan(r->table, &by_name, &r->through[i], &err));
        OK(quarry_scan(r->table, NULL, &r->past[i], &err));
        return;
    }
    dump_scan(r->through[i], &got);
    dump_scan(r->past[i], &want);
    r->through[i] = r->past[i] = NULL;
    check_same(&got, &want);
}

static void end_scans(struct run *r)
{
    for (size_t i = 0; i < OPEN_SCANS; i++) {
        quarry_scanner_close(r->through[i]);
        quarry_scanner_close(r->past[i]);
        r->through[i] = r->past[i] = NULL;
    }
}

static void alter(struct run *r)
{
    static const struct quarry_alter three = {QUARRY_UPDATE_FAMILY, "two",
                                              "versions=3"};
    static const struct quarry_alter one = {QUARRY_UPDATE_FAMILY, "two",
                                            "versions=1"};
    static const struct quarry_alter again[] = {
        {QUARRY_DROP_FAMILY, "far", NULL},
        {QUARRY_ADD_FAMILY, "far", "group=other"}};
    switch (rand_below(&r->rand, 3)) {
    case 0: OK(quarry_table_alter(r->quarry, "t", &three, 1, &err)); break;
    case 1: OK(quarry_table_alter(r->quarry, "t", &one, 1, &err)); break;
    default: OK(quarry_table_alter(r->quarry, "t", again, 2, &err)); break;
    }
}

static void maintain(struct run *r)
{
    char a[NAME_BYTES];
    char b[NAME_BYTES];
    struct slice start = random_row(r, a);
    struct slice end = random_row(r, b);
    switch (rand_below(&r->rand, 8)) {
    case 0: OK(quarry_flush(r->quarry, &err)); break;
    case 1: OK(quarry_table_compact(r->quarry, "t", &err)); break;
    case 2: OK(quarry_table_split(r->quarry, "t", start, &err)); break;
    case 3:
        if (slice_cmp(start, end) < 0)
            OK(quarry_table_drop_rows(r->quarry, "t", start, end, &err));
        break;
    case 4:
    case 5: alter(r); break;
    default: break;
    }
}

static void reopen(struct run *r)
{
    end_scans(r);
    quarry_table_close(r->table);
    quarry_close(r->quarry);
    open_run(r);
    OK(quarry_table_open(r->quarry, "t", &r->table, &err));
}

static uint64_t one_seed(uint64_t seed, int steps)
{
    struct run r;
    uint64_t hits = 0;
    start_run(&r, seed);
    for (int i = 0; i < steps; i++) {
        if (rand_one_in(&r.rand, 3))
            write_row(&r);
        for (int k = 0; k < 4; k++) {
            read_row(&r);
            read_value(&r);
        }
        scan_rows(&r);
        if (rand_one_in(&r.rand, 20))
            maintain(&r);
        if (rand_one_in(&r.rand, 200)) {
            hits += counter(r.quarry, "scan_cache_hits");
            reopen(&r);
        }
    }
    hits += counter(r.quarry, "scan_cache_hits");
    ck_assert_uint_gt(counter(r.quarry, "scan_cache_outdated"), 0);
    end_scans(&r);
    quarry_table_close(r.table);
    quarry_close(r.quarry);
    return hits;
}

/* --- Many threads -------------------------------------------------------- */

enum {
    WRITERS = 2,
    READERS = 2,
    ROUNDS = 1500
};

struct shared {
    struct quarry *quarry;
    struct quarry_table *table;
    struct world *world;
    atomic_int next;
    atomic_int failures;
    atomic_int writing;
    atomic_uint acknowledged[ROWS]; /* Each row has one writer. */
};

static void write_number(struct shared *s, unsigned row, unsigned n)
{
    static const struct quarry_write_options opts = {QUARRY_LOGGED};
    char name[NAME_BYTES];
    char text[16];
    struct slice value =
        slice_make(text, (size_t)snprintf(text, sizeof(text), "%08u", n));
    struct quarry_mutation *m = quarry_mutation_new(row_name(name, row));
    if (n % 7 == 0)
        quarry_mutation_delete_row(m);
    quarry_mutation_set(m, "all", SLICE_LIT("n"), 1, value);
    quarry_mutation_set(m, "far", SLICE_LIT("n"), 1, value);
    if (quarry_apply(s->table, m, &opts, NULL))
        s->failures++;
    quarry_mutation_free(m);
    atomic_store(&s->acknowledged[row], n);
}

/* The number in @value is at least @low. */
static void check_number(struct shared *s, struct slice value, unsigned low)
{
    char text[16] = "";
    if (value.len != 8) {
        s->failures++;
        return;
    }
    memcpy(text, value.data, 8);
    if (strtoul(text, NULL, 10) < low)
        s->failures++;
}

static void read_number(struct shared *s, unsigned row, struct buf *value)
{
    char name[NAME_BYTES];
    unsigned low = atomic_load(&s->acknowledged[row]);
    bool found;
    if (low == 0)
        return;
    if (quarry_get(s->table, row_name(name, row), "far", SLICE_LIT("n"), value,
                   &found, NULL) ||
        !found)
        s->failures++;
    else
        check_number(s, buf_slice(value), low);
}

static void read_both(struct shared *s, unsigned row)
{
    char name[NAME_BYTES];
    unsigned low = atomic_load(&s->acknowledged[row]);
    struct quarry_row *found;
    if (low == 0)
        return;
    if (quarry_read_row(s->table, row_name(name, row), NULL, &found, NULL)) {
        s->failures++;
        return;
    }
    if (!found || found->cell_count != 2 ||
        !slice_eq(found->cells[0].value, found->cells[1].value))
        s->failures++;
    else
        check_number(s, found->cells[0].value, low);
    quarry_row_free(found);
}

static void write_numbers(struct shared *s, unsigned self)
{
    for (unsigned i = 1; i <= ROUNDS; i++) {
        for (unsigned row = self; row < ROWS; row += WRITERS)
            if (row < 2 || i % 16 == 0) /* Some rows rest now and then. */
                write_number(s, row, i);
        if (self == 0 && i % 300 == 0 && quarry_flush(s->quarry, NULL))
            s->failures++;
        if (self == 1 && i % 500 == 0 &&
            quarry_table_split(s->quarry, "t",
                               i % 1000 ? SLICE_LIT("row2") : SLICE_LIT("row4"),
                               NULL))
            s->failures++;
    }
    s->writing--;
}

static void take_part(void *arg)
{
    struct shared *s = arg;
    unsigned self = (unsigned)atomic_fetch_add(&s->next, 1);
    struct buf value = BUF_INIT;
    if (self < WRITERS) {
        write_numbers(s, self);
        return;
    }
    for (unsigned i = 0; s->writing > 0; i++) {
        unsigned row = i / 2 % ROWS;
        if (i % 2)
            read_both(s, row);
        else
            read_number(s, row, &value);
    }
    buf_close(&value);
}

/* --- Tests --------------------------------------------------------------- */

/* Whatever is written, deleted, dropped, altered, split, flushed or compacted
 * in between, a row read through the cache is the row that a scan finds; so is
 * one that is read as of an earlier moment. */
START_TEST(test_cache_is_not_seen)
{
    uint64_t seed = test_seed();
    uint64_t hits = 0;
    for (uint64_t i = 0; i < 4; i++)
        hits += one_seed(seed + i, 600);
    ck_assert_uint_gt(hits, 4000); /* It was asked, and did answer. */
}

END_TEST

/* Cells that a rule collected and a compaction dropped do not come back from
 * the cache when the rule is loosened. */
START_TEST(test_loosened_rule)
{
    static const struct quarry_alter one = {QUARRY_UPDATE_FAMILY, "two",
                                            "versions=1"};
    static const struct quarry_alter three = {QUARRY_UPDATE_FAMILY, "two",
                                              "versions=3"};
    struct quarry_mutation *m = quarry_mutation_new(SLICE_LIT("row0"));
    struct quarry_read_options all = {.versions = 0};
    struct buf want = BUF_INIT;
    struct buf got = BUF_INIT;
    struct quarry_row *row;
    struct run r;
    start_run(&r, 99);
    OK(quarry_table_alter(r.quarry, "t", &one, 1, &err));
    for (int64_t time = 1; time <= 3; time++)
        quarry_mutation_set(m, "two", SLICE_LIT("q"), time, SLICE_LIT("v"));
    OK(quarry_apply(r.table, m, NULL, &err));
    quarry_mutation_free(m);
    for (int i = 0; i < 4; i++) {
        OK(quarry_read_row(r.table, SLICE_LIT("row0"), &all, &row, &err));
        ck_assert_uint_eq(row->cell_count, 1);
        quarry_row_free(row);
    }
    ck_assert_uint_gt(counter(r.quarry, "scan_cache_hits"), 0);
    OK(quarry_table_compact(r.quarry, "t", &err));
    OK(quarry_table_alter(r.quarry, "t", &three, 1, &err));
    OK(quarry_read_row(r.table, SLICE_LIT("row0"), &all, &row, &err));
    dump_row(row, &got);
    quarry_row_free(row);
    dump_range(&r, SLICE_LIT("row0"), all, &want);
    check_same(&got, &want);
    quarry_table_close(r.table);
    quarry_close(r.quarry);
}

END_TEST

/* Under concurrent writers a reader never sees less than what was acknowledged
 * before it began, nor half a row. */
START_TEST(test_concurrent_writers)
{
    static const struct quarry_family_spec families[] = {
        {"all", "versions=1"}, {"far", "versions=1,group=other"}};
    static const struct quarry_group_spec groups[] = {
        {"default", "memtable=64KiB"}, {"other", "memtable=64KiB"}};
    const struct quarry_options opts = {.memtable_bytes = 4 << 20};
    struct task *tasks[WRITERS + READERS];
    struct shared s;
    char target[300];
    memset(&s, 0, sizeof(s));
    snprintf(target, sizeof(target), "file:%s/c", test_tmpdir());
    OK(quarry_open(target, &opts, &s.quarry, &err));
    OK(quarry_table_create(s.quarry, "t", families, 2, groups, 2, &err));
    OK(quarry_table_open(s.quarry, "t", &s.table, &err));
    s.world = world_real_new();
    s.writing = WRITERS;
    for (int i = 0; i < WRITERS + READERS; i++)
        tasks[i] = task_start(s.world, "test", take_part, &s);
    for (int i = 0; i < WRITERS + READERS; i++)
        task_join(tasks[i]);
    ck_assert_int_eq(s.failures, 0);
    ck_assert_uint_gt(counter(s.quarry, "scan_cache_hits"), 0);
    world_free(s.world);
    quarry_table_close(s.table);
    quarry_close(s.quarry);
}

END_TEST

/* A scan of everything, by range or by names, leaves alone what is read often;
 * the cache keeps to its bytes; switched off, it keeps nothing. */
START_TEST(test_scans_and_bounds)
{
    const struct quarry_options small = {.cache_bytes = 4 << 20,
                                         .scan_cache_bytes = 256 << 10};
    const struct quarry_options off = {.scan_cache_off = true};
    static const struct quarry_family_spec family = {"f", ""};
    struct buf value = BUF_INIT;
    struct quarry_mutation *m = quarry_mutation_new(SLICE_LIT("x"));
    char text[500];
    char target[300];
    char name[NAME_BYTES];
    struct quarry_table *t;
    struct quarry *q;
    uint64_t hits;
    bool found;
    memset(text, 'v', sizeof(text));
    snprintf(target, sizeof(target), "file:%s/b", test_tmpdir());
    OK(quarry_open(target, &small, &q, &err));
    OK(quarry_table_create(q, "t", &family, 1, NULL, 0, &err));
    OK(quarry_table_open(q, "t", &t, &err));
    for (uint64_t i = 0; i < 4000; i++) {
        quarry_mutation_reset(m, row_name(name, i));
        quarry_mutation_set(m, "f", SLICE_LIT("q"), 1,
                            slice_make(text, sizeof(text)));
        OK(quarry_apply(t, m, &(struct quarry_write_options){QUARRY_DEFERRED},
                        &err));
    }
    quarry_mutation_free(m);
    for (int k = 0; k < 10; k++) /* Hot. */
        for (uint64_t i = 0; i < 50; i++)
            OK(quarry_get(t, row_name(name, i), "f", SLICE_LIT("q"), &value,
                          &found, &err));
    ck_assert_uint_ge(counter(q, "scan_cache_entries"), 45);
    for (uint64_t i = 0; i < 4000; i++) /* Once each. */
        OK(quarry_get(t, row_name(name, i), "f", SLICE_LIT("q"), &value, &found,
                      &err));
    hits = counter(q, "scan_cache_hits");
    for (uint64_t i = 0; i < 50; i++)
        OK(quarry_get(t, row_name(name, i), "f", SLICE_LIT("q"), &value, &found,
                      &err));
    ck_assert_uint_ge(counter(q, "scan_cache_hits"), hits + 40);
    for (int k = 0; k < 3; k++) /* More than there is room for. */
        for (uint64_t i = 0; i < 1200; i++)
            for (int again = 0; again < 2; again++)
                OK(quarry_get(t, row_name(name, i), "f", SLICE_LIT("q"), &value,
                              &found, &err));
    ck_assert_uint_gt(counter(q, "scan_cache_evicted"), 0);
    ck_assert_uint_le(counter(q, "scan_cache_bytes"), 256 << 10);
    quarry_table_close(t);
    quarry_close(q);
    OK(quarry_open(target, &off, &q, &err));
    OK(quarry_table_open(q, "t", &t, &err));
    for (int k = 0; k < 5; k++)
        OK(quarry_get(t, SLICE_LIT("row1"), "f", SLICE_LIT("q"), &value, &found,
                      &err));
    ck_assert(found);
    ck_assert_uint_eq(counter(q, "scan_cache_hits"), 0);
    ck_assert_uint_eq(counter(q, "scan_cache_capacity"), 0);
    quarry_table_close(t);
    quarry_close(q);
    buf_close(&value);
}

END_TEST

TEST_MAIN("scan_cache",
          test_cache_is_not_seen,
          test_loosened_rule,
          test_concurrent_writers,
          test_scans_and_bounds)
