/* Splits and drops of ranges: the tablets of a table cover all rows without gap
 * or overlap, and each row is what was written last, or gone if it was dropped.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "bigtable/read/scan.h"
#include "bigtable/row/mutation.h"
#include "bigtable/store/maintain.h"
#include "bigtable/store/split.h"
#include "bigtable/store/store.h"
#include "bigtable/tablet/tablet.h"
#include "tests/lib/check_main.h"

/* --- Fixture ------------------------------------------------------------- */

enum {
    ROWS = 200,
    STEPS = 400
};

static struct err err;
static struct world *world;
static struct store *store;
static struct table_part *table;
static char dir[300];
static unsigned model[ROWS]; /* Number written last; 0: none. */

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

static void open_all(void)
{
    const struct store_options opts = {.memtable_bytes = 4 << 20,
                                       .cache_bytes = 4 << 20};
    OK(store_open(world, dir, &opts, &store, &err));
}

static void close_all(void)
{
    table_part_unref(table);
    store_close(store);
}

static void setup(void)
{
    struct schema *s = schema_new();
    world = world_real_new();
    snprintf(dir, sizeof(dir), "%s/s", test_tmpdir());
    memset(model, 0, sizeof(model));
    open_all();
    OK(schema_add_family(s, "f", "versions=1", &err));
    OK(store_create_table(store, "t", s, &err));
    OK(store_find_table(store, "t", &table, &err));
    schema_free(s);
}

static struct slice name_of(char room[16], size_t row)
{
    return slice_make(room,
                      (size_t)snprintf(room, 16, "row%03u", (unsigned)row));
}

/* --- Operations ---------------------------------------------------------- */

static void write_row(size_t row, unsigned n)
{
    const struct quarry_mutation *list[1];
    struct quarry_mutation m;
    char name[16];
    char value[32];
    snprintf(value, sizeof(value), "%u", n);
    mutation_init(&m, name_of(name, row));
    mutation_set(&m, SLICE_LIT("f"), SLICE_LIT("q"), 1, slice_str(value));
    list[0] = &m;
    OK(write_apply(&store->env, table, list, 1, WRITE_LOGGED, 1, NULL, NULL,
                   &err));
    mutation_close(&m);
    model[row] = n;
}

static void drop_some(struct rand_gen *r)
{
    size_t first = rand_below(r, ROWS);
    size_t end = first + 1 + rand_below(r, 30);
    char a[16];
    char b[16];
    OK(drop_rows(store, table, name_of(a, first),
                 end < ROWS ? name_of(b, end) : SLICE_EMPTY, &err));
    for (size_t i = first; i < end && i < ROWS; i++)
        model[i] = 0;
}

static void change(struct rand_gen *r, unsigned n)
{
    char name[16];
    switch (rand_below(r, 12)) {
    case 0:
        OK(split_at(store, table, name_of(name, rand_below(r, ROWS)), &err));
        break;
    case 1: drop_some(r); break;
    case 2:
        if (rand_one_in(r, 4))
            OK(compact_table(store, table, SLICE_EMPTY, SLICE_EMPTY, &err));
        break;
    case 3:
        if (rand_one_in(r, 8)) {
            close_all();
            open_all();
            OK(store_find_table(store, "t", &table, &err));
        }
        break;
    default: write_row(rand_below(r, ROWS), n); break;
    }
}

/* --- Expectations -------------------------------------------------------- */

static void check_cover(void)
{
    struct table_part_view *v = table_part_get_view(table);
    ck_assert_uint_eq(v->tablets[0]->start.len, 0);
    for (size_t i = 0; i < v->tablet_count; i++) {
        const struct tablet *t = v->tablets[i];
        if (i + 1 == v->tablet_count) {
            ck_assert_uint_eq(t->end.len, 0);
            break;
        }
        ck_assert(slice_cmp(buf_slice(&t->start), buf_slice(&t->end)) < 0);
        ck_assert(
            slice_eq(buf_slice(&t->end), buf_slice(&v->tablets[i + 1]->start)));
    }
    table_part_view_unref(v);
}

static void check_rows(void)
{
    struct buf value = BUF_INIT;
    for (size_t i = 0; i < ROWS; i++) {
        char name[16];
        char want[32];
        int64_t time;
        bool found;
        buf_clear(&value);
        OK(read_cell(table, name_of(name, i), SLICE_LIT("f"), SLICE_LIT("q"),
                     &value, &time, &found, &err));
        ck_assert_int_eq(found, model[i] != 0);
        snprintf(want, sizeof(want), "%u", model[i]);
        ck_assert(!found || slice_eq_str(buf_slice(&value), want));
    }
    buf_close(&value);
}

/* --- Tests --------------------------------------------------------------- */

/* Whatever is written, split, dropped, compacted and reopened. */
START_TEST(test_random_splits)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    setup();
    for (unsigned i = 1; i <= STEPS; i++) {
        change(&r, i);
        check_cover();
        if (i % 20 == 0)
            check_rows();
    }
    check_rows();
    close_all();
    world_free(world);
}

END_TEST

/* A split where there is a cut changes nothing, and readers of the tablet that
 * was split finish on it. */
START_TEST(test_split_twice)
{
    struct table_part_view *before;
    struct table_part_view *after;
    setup();
    for (unsigned i = 0; i < ROWS; i++)
        write_row(i, i + 1);
    before = table_part_get_view(table);
    ck_assert_uint_eq(before->tablet_count, 1);
    for (int i = 0; i < 2; i++) {
        OK(split_at(store, table, SLICE_LIT("row100"), &err));
        after = table_part_get_view(table);
        ck_assert_uint_eq(after->tablet_count, 2);
        table_part_view_unref(after);
    }
    {
        struct read_spec spec = {.spans = NULL};
        const struct quarry_row *row;
        struct scan *scan;
        size_t count = 0;
        OK(scan_new(before, &spec, 1, &scan, &err));
        for (;;) {
            OK(scan_next(scan, &row, &err));
            if (!row)
                break;
            count++;
        }
        ck_assert_uint_eq(count, ROWS);
        scan_free(scan);
        read_spec_close(&spec);
    }
    table_part_view_unref(before);
    check_rows();
    close_all();
    world_free(world);
}

END_TEST

/* Mistakes are told, and change nothing. */
START_TEST(test_mistakes)
{
    setup();
    write_row(5, 1);
    ck_assert_int_ne(split_at(store, table, SLICE_EMPTY, &err), 0);
    ck_assert_int_eq(
        drop_rows(store, table, SLICE_LIT("b"), SLICE_LIT("a"), &err),
        ERR_INVALID);
    ck_assert_str_eq(err.text, "the range of rows is empty");
    check_cover();
    check_rows();
    close_all();
    world_free(world);
}

END_TEST

/* Names of the files in @tables. */
static size_t list_tables(const char *tables, char ***names)
{
    size_t count = 0;
    OK(world_list(world, tables, names, &count, &err));
    return count;
}

static int try_to_open(void)
{
    const struct store_options opts = {.memtable_bytes = 4 << 20,
                                       .cache_bytes = 4 << 20};
    int rc = store_open(world, dir, &opts, &store, &err);
    if (rc == 0)
        store_close(store);
    return rc;
}

/* A tablet that cannot be opened is an error, whichever it is and whatever
 * others there are, and the files of those stay. */
START_TEST(test_a_tablet_that_is_lost_is_an_error)
{
    char tables[320];
    char away[640];
    char path[640];
    char name[16];
    char **names = NULL;
    size_t count;
    setup();
    OK(split_at(store, table, name_of(name, 100), &err));
    OK(split_at(store, table, name_of(name, 50), &err));
    OK(split_at(store, table, name_of(name, 150), &err));
    for (size_t row = 10; row < ROWS; row += 50)
        write_row(row, 1);
    OK(store_flush(store, &err));
    close_all();
    snprintf(tables, sizeof(tables), "%s/tables", dir);
    count = list_tables(tables, &names);
    ck_assert_uint_eq(count, 4);
    for (size_t i = 0; i < count; i++) {
        snprintf(path, sizeof(path), "%s/%s", tables, names[i]);
        snprintf(away, sizeof(away), "%s/%s.away", test_tmpdir(), names[i]);
        OK(world_rename(world, path, away, &err));
        ck_assert_int_ne(try_to_open(), 0);
        OK(world_rename(world, away, path, &err));
    }
    world_names_free(names, count);
    open_all();
    OK(store_find_table(store, "t", &table, &err));
    check_rows();
    close_all();
    world_free(world);
}

END_TEST

static size_t files_of(const struct tablet *t)
{
    size_t count = 0;
    for (size_t i = 0; i < atomic_load(&t->group_count); i++) {
        struct lsm_stats stats;
        lsm_stats(t->groups[i]->lsm, &stats);
        count += stats.table_count;
    }
    return count;
}

/* A compaction of a range rewrites the tablets that hold its rows alone. */
START_TEST(test_compaction_of_a_range)
{
    struct table_part_view *v;
    setup();
    OK(split_at(store, table, SLICE_LIT("row100"), &err));
    v = table_part_get_view(table);
    ck_assert_uint_eq(v->tablet_count, 2);
    for (unsigned i = 1; i <= 3; i++) {
        write_row(1, i);
        write_row(101, i);
        for (size_t k = 0; k < 2; k++)
            OK(flush_tablet(store, v->tablets[k], &err));
    }
    ck_assert_uint_eq(files_of(v->tablets[0]), 3);
    OK(compact_table(store, table, SLICE_LIT("row100"), SLICE_EMPTY, &err));
    ck_assert_uint_eq(files_of(v->tablets[0]), 3);
    ck_assert_uint_eq(files_of(v->tablets[1]), 1);
    OK(compact_table(store, table, SLICE_EMPTY, SLICE_LIT("row100"), &err));
    ck_assert_uint_eq(files_of(v->tablets[0]), 1);
    table_part_view_unref(v);
    check_rows();
    close_all();
    world_free(world);
}

END_TEST

TEST_MAIN("split",
          test_compaction_of_a_range,
          test_random_splits,
          test_split_twice,
          test_mistakes,
          test_a_tablet_that_is_lost_is_an_error)
