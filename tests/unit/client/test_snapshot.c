/* A snapshot is what its table was when it was taken, whatever is done to the
 * table afterwards; tables made of it, and clones, are like it at first and
 * then go their own ways; what no table and no snapshot names any more is gone.
 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
#include "bigtable/quarry.h"
#include "tests/lib/check_main.h"
#include "tests/unit/client/test_target.h"

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

enum {
    ROWS = 60,
    TABLES = 5,   /* Slots for tables, */
    SNAPSHOTS = 4 /* and for snapshots. */
};

/* The expected contents: numbers of rows, 0 for none. */
struct model {
    bool there;
    unsigned rows[ROWS];
};

static struct err err;
static char target[400];
static struct quarry *q;
static struct model tables[TABLES];
static struct model snapshots[SNAPSHOTS];

static const char *name_of(const char *kind, size_t i)
{
    static char rooms[2][32];
    static int next;
    next = !next;
    snprintf(rooms[next], sizeof(rooms[next]), "%s%zu", kind, i);
    return rooms[next];
}

static struct slice row_name(char room[16], size_t row)
{
    return slice_make(room,
                      (size_t)snprintf(room, 16, "row%03u", (unsigned)row));
}

/* Small memtables: there are many files. */
static void open_store(void)
{
    const struct quarry_options o = {.memtable_bytes = 4 << 20,
                                     .cache_bytes = 4 << 20};
    OK(test_open(target, &o, &q, &err));
}

static void drop_all_snapshots(void)
{
    struct quarry_snapshots *s;
    OK(quarry_snapshot_list(q, &s, &err));
    for (size_t i = 0; i < s->count; i++)
        OK(quarry_snapshot_drop(q, s->list[i].name, &err));
    quarry_snapshots_free(s);
}

static void setup(void)
{
    test_new_target(target, sizeof(target));
    memset(tables, 0, sizeof(tables));
    memset(snapshots, 0, sizeof(snapshots));
    open_store();
    drop_all_snapshots();
}

static void teardown(void)
{
    quarry_close(q);
}

/* --- operations ---------------------------------------------------------- */

static void create(size_t i)
{
    const struct quarry_family_spec f[2] = {{"f", "versions=1"},
                                            {"g", "versions=1,group=other"}};
    const struct quarry_group_spec g[1] = {{"other", ""}};
    OK(quarry_table_create(q, name_of("t", i), f, 2, g, 1, &err));
    tables[i] = (struct model){.there = true};
}

/* Both families are of one mutation: none is seen without the other. */
static void write_row(size_t i, size_t row, unsigned n)
{
    char room[16];
    char value[16];
    struct quarry_table *t;
    struct quarry_mutation *m = quarry_mutation_new(row_name(room, row));
    snprintf(value, sizeof(value), "%u", n);
    if (n == 0) {
        quarry_mutation_delete_row(m);
    } else {
        quarry_mutation_set(m, "f", SLICE_LIT("q"), 1, slice_str(value));
        quarry_mutation_set(m, "g", SLICE_LIT("q"), 1, slice_str(value));
    }
    OK(quarry_table_open(q, name_of("t", i), &t, &err));
    OK(quarry_apply(t, m, NULL, &err));
    quarry_table_close(t);
    quarry_mutation_free(m);
    tables[i].rows[row] = n;
}

/* No NUL ends what a row lends. */
static unsigned number_in(struct slice s)
{
    char text[16];
    ck_assert_uint_lt(s.len, sizeof(text));
    snprintf(text, sizeof(text), "%.*s", SLICE_ARG(s));
    return (unsigned)strtoul(text, NULL, 10);
}

static void check_table(size_t i)
{
    struct quarry_table *t;
    struct quarry_scanner *s;
    const struct quarry_row *row;
    unsigned found[ROWS] = {0};
    unsigned r;
    OK(quarry_table_open(q, name_of("t", i), &t, &err));
    OK(quarry_scan(t, NULL, &s, &err));
    for (;;) {
        OK(quarry_scanner_next(s, &row, &err));
        if (!row)
            break;
        ck_assert_uint_eq(row->cell_count, 2);
        ck_assert(slice_eq(row->cells[0].value, row->cells[1].value));
        r = number_in(slice_sub(row->key, 3, row->key.len));
        ck_assert_uint_lt(r, ROWS);
        found[r] = number_in(row->cells[0].value);
    }
    quarry_scanner_close(s);
    quarry_table_close(t);
    for (r = 0; r < ROWS; r++)
        ck_assert_msg(found[r] == tables[i].rows[r],
                      "table %zu row %u is %u, should be %u", i, r, found[r],
                      tables[i].rows[r]);
}

static size_t
any(struct rand_gen *r, const struct model *m, size_t n, bool there)
{
    size_t i = rand_below(r, n);
    for (size_t k = 0; k < n; k++, i = (i + 1) % n)
        if (m[i].there == there)
            return i;
    return n;
}

static void take(size_t from, size_t to)
{
    if (from == TABLES || to == SNAPSHOTS)
        return;
    OK(quarry_table_snapshot(q, name_of("t", from), name_of("s", to), 0, &err));
    snapshots[to] = tables[from];
}

static void restore(size_t from, size_t to)
{
    if (from == SNAPSHOTS || to == TABLES)
        return;
    OK(quarry_snapshot_restore(q, name_of("s", from), name_of("t", to), &err));
    tables[to] = snapshots[from];
    check_table(to);
}

static void clone(size_t from, size_t to)
{
    if (from == TABLES || to == TABLES)
        return;
    OK(quarry_table_clone(q, name_of("t", from), name_of("t", to), &err));
    tables[to] = tables[from];
    check_table(to);
}

static void drop_one(struct rand_gen *r)
{
    size_t i = any(r, snapshots, SNAPSHOTS, true);
    if (i < SNAPSHOTS && rand_one_in(r, 2)) {
        OK(quarry_snapshot_drop(q, name_of("s", i), &err));
        snapshots[i].there = false;
        return;
    }
    i = any(r, tables, TABLES, true);
    if (i < TABLES) {
        OK(quarry_table_drop(q, name_of("t", i), &err));
        tables[i].there = false;
    }
}

static void upkeep(struct rand_gen *r, size_t i)
{
    char room[16];
    if (rand_one_in(r, 2))
        OK(quarry_table_split(q, name_of("t", i),
                              row_name(room, rand_below(r, ROWS)), &err));
    else if (rand_one_in(r, 2))
        OK(quarry_table_compact(q, name_of("t", i), &err));
    else if (!test_cluster()) {
        quarry_close(q);
        open_store();
    }
}

static void step(struct rand_gen *r, unsigned n)
{
    size_t i = any(r, tables, TABLES, true);
    if (i == TABLES) {
        create(0);
        return;
    }
    switch (rand_below(r, 30)) {
    case 0: take(i, any(r, snapshots, SNAPSHOTS, false)); break;
    case 1:
        restore(any(r, snapshots, SNAPSHOTS, true),
                any(r, tables, TABLES, false));
        break;
    case 2: clone(i, any(r, tables, TABLES, false)); break;
    case 3: drop_one(r); break;
    case 4: upkeep(r, i); break;
    default: write_row(i, rand_below(r, ROWS), rand_one_in(r, 6) ? 0 : n);
    }
}

/* --- files --------------------------------------------------------------- */

static size_t table_files(void)
{
    char path[450];
    size_t n = 0;
    DIR *d;
    snprintf(path, sizeof(path), "%s/tables", target + strlen("file:"));
    d = opendir(path);
    if (!d)
        return 0;
    for (const struct dirent *e = readdir(d); e; e = readdir(d))
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

START_TEST(test_snapshots_are_what_tables_were)
{
    struct rand_gen r;
    unsigned steps = test_cluster() ? 150 : 700;
    setup();
    rand_init(&r, test_seed());
    for (unsigned n = 1; n <= steps; n++)
        step(&r, n);
    for (size_t i = 0; i < TABLES; i++)
        if (tables[i].there)
            check_table(i);
    for (size_t i = 0; i < TABLES; i++)
        if (tables[i].there)
            OK(quarry_table_drop(q, name_of("t", i), &err));
    memset(tables, 0, sizeof(tables));
    /* Now nothing holds their files but they. */
    for (size_t i = 0; i < SNAPSHOTS; i++)
        if (snapshots[i].there)
            restore(i, 0), OK(quarry_table_drop(q, "t0", &err));
    drop_all_snapshots();
    if (!test_cluster())
        ck_assert_uint_eq(table_files(), 0);
    teardown();
}

END_TEST

START_TEST(test_what_a_snapshot_says)
{
    struct quarry_snapshots *s;
    struct quarry_table_info *info;
    setup();
    create(0);
    write_row(0, 1, 7);
    OK(quarry_table_split(q, "t0", SLICE_LIT("m"), &err));
    take(0, 0);
    OK(quarry_snapshot_list(q, &s, &err));
    ck_assert_uint_eq(s->count, 1);
    ck_assert_str_eq(s->list[0].name, "s0");
    ck_assert_str_eq(s->list[0].table, "t0");
    ck_assert_uint_eq(s->list[0].tablet_count, 2);
    ck_assert(s->list[0].file_count >= 2 && s->list[0].bytes > 0);
    ck_assert(s->list[0].created_us > 0 && s->list[0].expires_us == 0);
    quarry_snapshots_free(s);
    OK(quarry_snapshot_describe(q, "s0", &info, &err));
    ck_assert_uint_eq(info->family_count, 2);
    ck_assert_uint_eq(info->tablet_count, 2);
    ck_assert(slice_eq(info->tablets[1].start, SLICE_LIT("m")));
    quarry_table_info_free(info);
    teardown();
}

END_TEST

START_TEST(test_mistakes_are_told)
{
    setup();
    create(0);
    take(0, 0);
    ck_assert_int_eq(quarry_table_snapshot(q, "t0", "s0", 0, &err), ERR_EXISTS);
    ck_assert_int_eq(quarry_table_snapshot(q, "no", "s1", 0, &err),
                     ERR_NOTFOUND);
    ck_assert_int_eq(quarry_table_snapshot(q, "t0", "a/b", 0, &err),
                     ERR_INVALID);
    ck_assert_int_eq(quarry_table_snapshot(q, "t0", "..", 0, &err),
                     ERR_INVALID);
    ck_assert_int_eq(quarry_snapshot_restore(q, "s0", "t0", &err), ERR_EXISTS);
    ck_assert_int_eq(quarry_snapshot_restore(q, "s9", "t1", &err),
                     ERR_NOTFOUND);
    ck_assert_int_eq(quarry_snapshot_drop(q, "s9", &err), ERR_NOTFOUND);
    ck_assert_int_eq(quarry_table_clone(q, "t0", "t0", &err), ERR_EXISTS);
    ck_assert_int_eq(quarry_table_clone(q, "t9", "t1", &err), ERR_NOTFOUND);
    teardown();
}

END_TEST

START_TEST(test_a_snapshot_expires)
{
    struct quarry_snapshots *s;
    setup();
    create(0);
    write_row(0, 1, 7);
    OK(quarry_table_snapshot(q, "t0", "s0", 1, &err));
    for (size_t left = 1; left > 0;) {
        OK(quarry_snapshot_list(q, &s, &err));
        left = s->count;
        quarry_snapshots_free(s);
    }
    ck_assert_int_eq(quarry_snapshot_restore(q, "s0", "t1", &err),
                     ERR_NOTFOUND);
    teardown();
}

END_TEST

TEST_MAIN("snapshot",
          test_snapshots_are_what_tables_were,
          test_what_a_snapshot_says,
          test_mistakes_are_told,
          test_a_snapshot_expires)
