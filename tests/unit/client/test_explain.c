/* An explained scan tells what happened: its counters hold together, and
 * agree with rows counted by hand, with the indexes of the SSTables, and with
 * scans that have one stage of its filter. */
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/hash.h"
#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/row/explain.h"
#include "bigtable/sstable/block_cache.h"
#include "bigtable/sstable/sstable_reader.h"
#include "gfs-lite/fs.h"
#include "tests/lib/check_main.h"

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

static struct err err;

static const char *const family_names[] = {"a", "b", "far"};

struct fixture {
    char dir[300];
    struct quarry *quarry;
    struct quarry_table *table;
    struct rand_gen rand;
};

static void open_fixture(struct fixture *f, uint64_t seed)
{
    static const struct quarry_family_spec families[] = {
        {"a", "versions=3"}, {"b", ""}, {"far", "group=other"}};
    static const struct quarry_group_spec groups[] = {
        {"default", "block=1KiB"}, {"other", "block=1KiB,compression=none"}};
    const struct quarry_options o = {.background_tasks = 1};
    char target[320];
    snprintf(f->dir, sizeof(f->dir), "%s/store", test_tmpdir());
    snprintf(target, sizeof(target), "file:%s", f->dir);
    rand_init(&f->rand, seed);
    OK(quarry_open(target, &o, &f->quarry, &err));
    OK(quarry_table_create(f->quarry, "t", families, 3, groups, 2, &err));
    OK(quarry_table_open(f->quarry, "t", &f->table, &err));
}

static void close_fixture(struct fixture *f)
{
    quarry_table_close(f->table);
    quarry_close(f->quarry);
}

static struct slice row_name(char room[16], unsigned i)
{
    return slice_make(room, (size_t)snprintf(room, 16, "row%05u", i));
}

static void put_cell(struct fixture *f,
                     unsigned row,
                     const char *family,
                     const char *qualifier,
                     int64_t time_us)
{
    char name[16];
    char value[64];
    struct quarry_mutation *m = quarry_mutation_new(row_name(name, row));
    snprintf(value, sizeof(value), "value %u of %u",
             (unsigned)rand_below(&f->rand, 10), row);
    quarry_mutation_set(m, family, slice_str(qualifier), time_us,
                        slice_str(value));
    OK(quarry_apply(f->table, m, NULL, &err));
    quarry_mutation_free(m);
}

/* Cells [from, to) of family @family, of one file once it is flushed. */
static void put_rows(struct fixture *f,
                     const char *family,
                     unsigned from,
                     unsigned to,
                     int64_t time_us)
{
    for (unsigned i = from; i < to; i++)
        put_cell(f, i, family, "q", time_us);
}

static void flush_all(struct fixture *f)
{
    OK(quarry_flush(f->quarry, &err));
}

struct seen {
    uint64_t rows;
    uint64_t cells;
    uint64_t bytes;
    uint64_t hash;
};

static void see_row(struct seen *s, const struct quarry_row *row)
{
    s->rows++;
    s->bytes += row->key.len;
    s->hash = s->hash * 31 + hash64_slice(row->key);
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct quarry_cell *c = &row->cells[i];
        s->cells++;
        s->bytes += c->family.len + c->qualifier.len + c->value.len;
        s->hash = s->hash * 31 + hash64_slice(c->value);
    }
}

static struct seen scan_all(struct fixture *f,
                            const struct quarry_read_options *o)
{
    struct quarry_scanner *scanner;
    const struct quarry_row *row;
    struct seen s = {.rows = 0};
    OK(quarry_scan(f->table, o, &scanner, &err));
    for (;;) {
        OK(quarry_scanner_next(scanner, &row, &err));
        if (!row)
            break;
        see_row(&s, row);
    }
    quarry_scanner_close(scanner);
    return s;
}

/* The same rows as without; *@out are the counters of the tablets. */
static struct seen scan_explained(struct fixture *f,
                                  struct quarry_read_options o,
                                  struct quarry_explain **explain,
                                  struct quarry_explain_counts *out)
{
    struct seen plain = scan_all(f, &o);
    struct seen seen;
    *explain = o.explain = quarry_explain_new();
    seen = scan_all(f, &o);
    ck_assert(memcmp(&plain, &seen, sizeof(seen)) == 0);
    quarry_explain_total(*explain, out);
    return seen;
}

/* INV-1 to INV-5 of explain_counts.h. */
static void check_invariants(const struct quarry_explain_counts *c)
{
    ck_assert_uint_eq(c->files_considered,
                      c->files_opened + c->files_by_family +
                          c->files_by_key_range + c->files_by_bloom_filter +
                          c->files_by_time + c->files_by_sequence +
                          c->files_not_needed);
    ck_assert_uint_eq(c->blocks_read,
                      c->blocks_from_block_cache + c->blocks_from_memory +
                          c->blocks_from_page_cache + c->blocks_from_disk +
                          c->blocks_from_remote);
    ck_assert_uint_eq(c->entries_read, c->entries_from_memtables +
                                           c->entries_from_files +
                                           c->entries_from_scan_cache);
    ck_assert_uint_eq(c->entries_read,
                      c->entries_shown + c->entries_hidden +
                          c->entries_deletions + c->entries_expired +
                          c->entries_foreign + c->entries_stepped_over);
    ck_assert_uint_le(c->cells_returned, c->entries_shown);
    ck_assert_uint_le(c->rows_returned, c->rows_examined);
    ck_assert_uint_eq(c->reads_made, c->reads_from_page_cache +
                                         c->reads_from_disk +
                                         c->reads_from_remote);
    ck_assert_uint_le(c->read_ahead_used_bytes, c->read_ahead_bytes);
}

static void check_sum(const struct quarry_explain *e,
                      const struct quarry_explain_counts *total)
{
    uint64_t files = 0;
    uint64_t rows = 0;
    for (size_t i = 0; i < e->tablet_count; i++) {
        check_invariants(&e->tablets[i]->counts);
        files += e->tablets[i]->counts.files_considered;
        rows += e->tablets[i]->counts.rows_returned;
    }
    ck_assert_uint_eq(files, total->files_considered);
    ck_assert_uint_eq(rows, total->rows_returned);
}

/* --- random scans -------------------------------------------------------- */

static void change_some(struct fixture *f)
{
    for (unsigned i = 0; i < 150; i++) {
        unsigned row = (unsigned)rand_below(&f->rand, 300);
        char name[16];
        struct quarry_mutation *m;
        if (!rand_one_in(&f->rand, 8)) {
            put_cell(f, row, family_names[rand_below(&f->rand, 3)],
                     rand_one_in(&f->rand, 2) ? "p" : "q",
                     (int64_t)rand_below(&f->rand, 1000) * 1000);
            continue;
        }
        m = quarry_mutation_new(row_name(name, row));
        if (rand_one_in(&f->rand, 2))
            quarry_mutation_delete_row(m);
        else
            quarry_mutation_delete_family(m, "a");
        OK(quarry_apply(f->table, m, NULL, &err));
        quarry_mutation_free(m);
    }
}

static struct quarry_filter *random_filter(struct fixture *f)
{
    struct quarry_filter *parts[2];
    switch (rand_below(&f->rand, 4)) {
    case 0: return NULL;
    case 1: return quarry_filter_value_regex(slice_str("value [0-4].*"));
    case 2:
        parts[0] = quarry_filter_row_regex(slice_str(".*[02468]"));
        parts[1] = quarry_filter_cells_per_column_limit(1);
        return quarry_filter_chain(parts, 2);
    default:
        parts[0] = quarry_filter_cells_per_row_limit(2);
        parts[1] = quarry_filter_family_regex(slice_str("a|far"));
        return quarry_filter_chain(parts, 2);
    }
}

static void scan_at_random(struct fixture *f)
{
    char a[16];
    char b[16];
    unsigned from = (unsigned)rand_below(&f->rand, 300);
    const struct quarry_range range = {
        row_name(a, from),
        row_name(b, from + 1 + (unsigned)rand_below(&f->rand, 100))};
    const struct slice key = range.start;
    struct quarry_filter *filter = random_filter(f);
    struct quarry_read_options o = {
        .filter = filter,
        .families = &family_names[rand_below(&f->rand, 3)],
        .family_count = rand_one_in(&f->rand, 3),
        .versions = (uint32_t)rand_below(&f->rand, 2),
        .row_limit = rand_one_in(&f->rand, 4) ? 5 : 0,
        .keys_only = rand_one_in(&f->rand, 5),
        .read_ahead_off = rand_one_in(&f->rand, 2),
    };
    struct quarry_explain_counts total;
    struct quarry_explain *e;
    struct seen seen;
    if (rand_one_in(&f->rand, 3)) {
        o.ranges = &range;
        o.range_count = 1;
    } else if (rand_one_in(&f->rand, 3)) {
        o.keys = &key;
        o.key_count = 1;
    }
    if (rand_one_in(&f->rand, 4)) {
        o.time_min_us = 100000;
        o.time_max_us = 600000;
    }
    seen = scan_explained(f, o, &e, &total);
    check_invariants(&total);
    check_sum(e, &total);
    ck_assert_uint_eq(total.rows_returned, seen.rows);
    ck_assert_uint_eq(total.cells_returned, seen.cells);
    ck_assert_uint_eq(total.bytes_returned, seen.bytes);
    if (e->stage_count && e->tablet_count)
        ck_assert_uint_eq(e->stages[0].cells_out, seen.cells);
    quarry_explain_free(e);
    quarry_filter_free(filter);
}

/* Random scans of random tables: rows are those of a plain scan, and counters
 * hold together. */
START_TEST(test_counters_hold)
{
    struct fixture f;
    open_fixture(&f, test_seed());
    for (unsigned i = 0; i < 12; i++) {
        char name[16];
        change_some(&f);
        if (rand_one_in(&f.rand, 2))
            flush_all(&f);
        if (i == 6)
            OK(quarry_table_split(f.quarry, "t", row_name(name, 150), &err));
        for (unsigned k = 0; k < 25; k++)
            scan_at_random(&f);
    }
    close_fixture(&f);
}

END_TEST

/* --- the files' own indexes ---------------------------------------------- */

/* The range of encoded keys that is scanned; blocks with keys of it. */
struct wanted {
    struct buf lower;
    struct buf upper;
    struct buf last; /* Separator of the block before. */
    uint64_t blocks;
    uint64_t all;
};

static void
count_block(void *arg, struct slice separator, const struct block_handle *h)
{
    struct wanted *w = arg;
    (void)h;
    w->all++;
    w->blocks += slice_cmp(separator, buf_slice(&w->lower)) >= 0 &&
                 (w->last.len == 0 ||
                  slice_cmp(buf_slice(&w->last), buf_slice(&w->upper)) < 0);
    buf_clear(&w->last);
    buf_append_slice(&w->last, separator);
}

static void count_blocks(struct fixture *f, uint64_t number, struct wanted *w)
{
    struct world *world = world_real_new();
    struct block_cache *cache = block_cache_new(1 << 20);
    const struct sstable_reader_options o = {.cache = cache};
    struct sstable_reader *r;
    struct fs *fs;
    char path[64];
    snprintf(path, sizeof(path), "tables/%06u.sst", (unsigned)number);
    OK(fs_local_open(world, f->dir, &fs, &err));
    OK(sstable_reader_open(fs, path, &o, &r, &err));
    w->blocks = w->all = 0;
    buf_clear(&w->last);
    OK(sstable_reader_each_block(r, count_block, w, &err));
    sstable_reader_unref(r);
    fs_close(fs);
    block_cache_free(cache);
    world_free(world);
}

static void
compare_blocks(struct fixture *f, const struct quarry_range *range, bool all)
{
    struct wanted w = {.all = 0};
    struct quarry_explain_counts total;
    struct quarry_explain *e;
    const struct quarry_read_options o = {.ranges = range,
                                          .range_count = range != NULL};
    uint64_t sum = 0;
    if (range) {
        cell_key_append_row(&w.lower, range->start);
        cell_key_append_row(&w.upper, range->end);
    }
    (void)scan_explained(f, o, &e, &total);
    ck_assert_uint_eq(e->tablet_count, 1);
    ck_assert_uint_eq(total.files_considered, 4);
    for (size_t i = 0; i < e->tablets[0]->file_count; i++) {
        const struct explain_file *file = e->tablets[0]->files[i];
        count_blocks(f, file->number, &w);
        sum += file->blocks;
        if (all) {
            ck_assert_uint_eq(file->blocks, w.all);
        } else if (file->blocks) {
            /* A separator may be above the last key of its block, and the
             * entry behind the range is looked at. */
            ck_assert_uint_le(file->blocks, w.blocks + 1);
            ck_assert_uint_ge(file->blocks + 1, w.blocks);
        } else {
            ck_assert(file->fate != EXPLAIN_FILE_OPENED);
        }
    }
    ck_assert_uint_eq(sum, total.blocks_read);
    ck_assert_uint_gt(sum, 0);
    quarry_explain_free(e);
    buf_close(&w.lower);
    buf_close(&w.upper);
    buf_close(&w.last);
}

/* Blocks counted by a scan are those that the indexes of the files name. */
START_TEST(test_blocks_are_those_of_the_indexes)
{
    struct fixture f;
    char a[16];
    char b[16];
    open_fixture(&f, 1);
    put_rows(&f, "a", 0, 800, 1000);
    put_rows(&f, "far", 0, 500, 1000);
    flush_all(&f);
    put_rows(&f, "a", 400, 900, 2000);
    put_rows(&f, "far", 200, 900, 2000);
    flush_all(&f);
    compare_blocks(&f, NULL, true);
    for (unsigned i = 0; i < 20; i++) {
        unsigned from = (unsigned)rand_below(&f.rand, 800);
        const struct quarry_range range = {row_name(a, from),
                                           row_name(b, from + 1 + 10 * i)};
        compare_blocks(&f, &range, false);
    }
    close_fixture(&f);
}

END_TEST

/* --- files --------------------------------------------------------------- */

static struct quarry_explain_counts
count_files(struct fixture *f, const struct quarry_read_options *o)
{
    struct quarry_explain_counts c;
    struct quarry_explain *e;
    (void)scan_explained(f, *o, &e, &c);
    check_invariants(&c);
    ck_assert_uint_eq(c.files_considered, 3);
    quarry_explain_free(e);
    return c;
}

/* Each reason to skip a file is told by itself. */
START_TEST(test_reasons_to_skip_files)
{
    static const char *const far[] = {"far"};
    static const char *const near[] = {"a"};
    struct quarry_read_options o = {.families = near, .family_count = 1};
    struct quarry_explain_counts c;
    struct quarry_range range = {SLICE_EMPTY, SLICE_EMPTY};
    struct slice key;
    struct fixture f;
    char a[16];
    open_fixture(&f, 2);
    put_rows(&f, "far", 0, 100, 1000);
    put_rows(&f, "a", 0, 100, 1000);
    flush_all(&f);
    for (unsigned i = 100; i < 200; i += 2)
        put_cell(&f, i, "a", "q", 500000);
    flush_all(&f);

    c = count_files(&f, &o);
    ck_assert_uint_eq(c.files_opened, 2);
    ck_assert_uint_eq(c.files_by_family, 1);
    o.families = far;
    c = count_files(&f, &o);
    ck_assert_uint_eq(c.files_opened, 1);
    ck_assert_uint_eq(c.files_by_family, 2);
    o.families = near;

    o.time_min_us = 400000;
    o.time_max_us = 600000;
    c = count_files(&f, &o);
    ck_assert_uint_eq(c.files_opened, 1);
    ck_assert_uint_eq(c.files_by_time, 1);
    o.time_min_us = o.time_max_us = 0;

    key = row_name(a, 151); /* In the range of the second file alone. */
    o.keys = &key;
    o.key_count = 1;
    c = count_files(&f, &o);
    ck_assert_uint_eq(c.files_opened, 0);
    ck_assert_uint_eq(c.files_by_bloom_filter, 1);
    ck_assert_uint_eq(c.files_by_key_range, 1);
    ck_assert_uint_eq(c.index_filters_asked, 1);
    ck_assert_uint_eq(c.index_filters_negative, 1);
    o.key_count = 0;

    range.start = row_name(a, 120);
    o.ranges = &range;
    o.range_count = 1;
    c = count_files(&f, &o);
    ck_assert_uint_eq(c.files_opened, 1);
    ck_assert_uint_eq(c.files_by_key_range, 1);
    close_fixture(&f);
}

END_TEST

/* A second scan finds in the block cache what the first one read. */
START_TEST(test_places_of_blocks)
{
    struct quarry_explain_counts c;
    struct quarry_explain *e;
    struct fixture f;
    char a[16];
    struct slice key = row_name(a, 50);
    const struct quarry_read_options o = {.keys = &key, .key_count = 1};
    open_fixture(&f, 3);
    put_rows(&f, "a", 0, 100, 1000);
    (void)scan_explained(&f, o, &e, &c);
    ck_assert_uint_eq(c.blocks_read, 0);
    ck_assert_uint_eq(c.entries_from_memtables + c.entries_from_scan_cache,
                      c.entries_read);
    quarry_explain_free(e);
    flush_all(&f);
    key = row_name(a, 51);
    (void)scan_explained(&f, o, &e, &c); /* It scans without first. */
    ck_assert_uint_le(c.blocks_read, 1);
    ck_assert_uint_eq(c.blocks_read, c.blocks_from_block_cache);
    ck_assert_uint_eq(c.reads_made, 0);
    quarry_explain_free(e);
    close_fixture(&f);
}

END_TEST

/* --- stages -------------------------------------------------------------- */

static uint64_t cells_with(struct fixture *f, struct quarry_filter *filter)
{
    const struct quarry_read_options o = {.filter = filter};
    struct seen s = scan_all(f, &o);
    quarry_filter_free(filter);
    return s.cells;
}

static struct quarry_filter *small_values(void)
{
    return quarry_filter_value_regex(slice_str("value [0-4].*"));
}

static struct quarry_filter *even_values(void)
{
    return quarry_filter_value_regex(slice_str("value [02468].*"));
}

/* Cells in and out of each node are those of a scan with that node alone. */
START_TEST(test_stages)
{
    struct quarry_filter *branches[] = {small_values(), even_values()};
    struct quarry_filter *links[] = {small_values(),
                                     quarry_filter_interleave(branches, 2),
                                     quarry_filter_cells_per_row_limit(1)};
    struct quarry_filter *filter = quarry_filter_chain(links, 3);
    const struct quarry_read_options o = {.filter = filter};
    const struct explain_stage *s;
    struct quarry_explain_counts c;
    struct quarry_explain *e;
    struct fixture f;
    struct seen seen;
    uint64_t small, both;
    open_fixture(&f, 4);
    put_rows(&f, "a", 0, 400, 1000);
    put_rows(&f, "far", 0, 400, 1000);
    seen = scan_explained(&f, o, &e, &c);
    small = cells_with(&f, small_values());
    branches[0] = small_values();
    branches[1] = even_values();
    both = cells_with(&f, quarry_filter_chain(branches, 2));
    s = e->stages;
    ck_assert_uint_eq(e->stage_count, 6);
    ck_assert_uint_eq(s[0].cells_in, 800); /* The chain. */
    ck_assert_uint_eq(s[0].rows_in, 400);
    ck_assert_uint_eq(s[0].cells_out, seen.cells);
    ck_assert_uint_eq(s[0].rows_out, seen.rows);
    ck_assert_uint_eq(s[1].cells_in, 800);
    ck_assert_uint_eq(s[1].cells_out, small);
    ck_assert_uint_eq(s[2].cells_in, small); /* The interleave. */
    ck_assert_uint_eq(s[2].cells_out, small + both);
    ck_assert_uint_eq(s[3].cells_out, small);
    ck_assert_uint_eq(s[4].cells_in, small);
    ck_assert_uint_eq(s[4].cells_out, both);
    ck_assert_uint_eq(s[5].cells_in, small + both);
    ck_assert_uint_eq(s[5].cells_out, seen.rows);
    ck_assert_uint_eq(s[3].depth, 2);
    quarry_explain_free(e);
    quarry_filter_free(filter);
    close_fixture(&f);
}

END_TEST

/* A program is the last stage; its fuel is counted. */
START_TEST(test_program)
{
    static const char text[] =
        "r: Row = input; if (match(\"7$\", string(r.key))) emit keep <- r;";
    const struct quarry_read_options o = {.program = text,
                                          .program_len = sizeof(text) - 1};
    struct quarry_explain_counts c;
    struct quarry_explain *e;
    struct fixture f;
    struct seen seen;
    open_fixture(&f, 5);
    put_rows(&f, "a", 0, 100, 1000);
    seen = scan_explained(&f, o, &e, &c);
    ck_assert_uint_eq(seen.rows, 10);
    ck_assert_uint_eq(e->stage_count, 1);
    ck_assert_uint_eq(e->stages[0].rows_in, 100);
    ck_assert_uint_eq(e->stages[0].rows_out, 10);
    ck_assert_uint_eq(c.rows_examined, 100);
    ck_assert_uint_eq(c.rows_returned, 10);
    ck_assert_uint_gt(c.program_fuel, 100);
    quarry_explain_free(e);
    close_fixture(&f);
}

END_TEST

/* Several scans add up in one record; the text has its main figures. */
START_TEST(test_scans_add_up)
{
    struct quarry_explain *e = quarry_explain_new();
    const struct quarry_read_options o = {.explain = e};
    struct quarry_explain_counts c;
    struct buf text = BUF_INIT;
    struct fixture f;
    open_fixture(&f, 6);
    put_rows(&f, "a", 0, 1500, 1000);
    (void)scan_all(&f, &o);
    (void)scan_all(&f, &o);
    quarry_explain_total(e, &c);
    check_invariants(&c);
    ck_assert_uint_eq(c.rows_returned, 3000);
    ck_assert_uint_eq(e->tablet_count, 1);
    quarry_explain_text(e, &text);
    ck_assert_msg(strstr(buf_cstr(&text), "3,000 examined, 3,000 returned"),
                  "%s", buf_cstr(&text));
    buf_close(&text);
    quarry_explain_free(e);
    close_fixture(&f);
}

END_TEST

TEST_MAIN("explain",
          test_counters_hold,
          test_blocks_are_those_of_the_indexes,
          test_reasons_to_skip_files,
          test_places_of_blocks,
          test_stages,
          test_program,
          test_scans_add_up)
