/* Whatever operation on files fails, once: after the next open a snapshot and a
 * table made of one are there whole or not at all, a load has been taken whole
 * or not at all, and the table itself is what it was. In the simulated world.
 */
#include <stdio.h>
#include <string.h>

#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "bigtable/client/bulk_load.h"
#include "bigtable/quarry.h"
#include "tests/lib/check_main.h"

enum {
    ROWS = 10,
    LOADED = 20 /* Rows of the load, behind the others. */
};

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

struct run_state {
    struct world *world;
    uint64_t fail_at;
    bool failed;
    struct quarry *q;
};

static struct err err;

static struct slice row_name(char room[16], size_t row)
{
    return slice_make(room,
                      (size_t)snprintf(room, 16, "row%03u", (unsigned)row));
}

static void open_store(struct run_state *r)
{
    const struct quarry_options o = {.world = r->world, .background_tasks = 1};
    OK(quarry_open("file:/q", &o, &r->q, &err));
}

static void fill(struct run_state *r)
{
    const struct quarry_family_spec f[2] = {{"f", ""}, {"g", "group=other"}};
    const struct quarry_group_spec g[1] = {{"other", ""}};
    struct quarry_table *t;
    char a[16];
    OK(quarry_table_create(r->q, "t", f, 2, g, 1, &err));
    OK(quarry_table_open(r->q, "t", &t, &err));
    for (size_t i = 0; i < ROWS; i++) {
        struct quarry_mutation *m = quarry_mutation_new(row_name(a, i));
        quarry_mutation_set(m, "f", SLICE_LIT("q"), 1, row_name(a, i));
        quarry_mutation_set(m, "g", SLICE_LIT("q"), 1, row_name(a, i));
        OK(quarry_apply(t, m, NULL, &err));
        quarry_mutation_free(m);
    }
    quarry_table_close(t);
    OK(quarry_table_split(r->q, "t", row_name(a, ROWS / 2), &err));
}

static int
next_cell(void *ctx, struct quarry_bulk_cell *c, bool *more, struct err *e)
{
    static char a[16];
    size_t *n = ctx;
    struct slice row;
    (void)e;
    *more = *n < (size_t)2 * LOADED;
    row = row_name(a, ROWS + *n / 2);
    *c = (struct quarry_bulk_cell){row, *n % 2 ? "g" : "f", SLICE_LIT("q"), 1,
                                   row};
    ++*n;
    return 0;
}

/* All of it, each step whatever became of the one before. */
static void work(struct run_state *r)
{
    size_t n = 0;
    r->failed |= quarry_table_snapshot(r->q, "t", "s", 0, NULL) != 0;
    r->failed |=
        quarry_bulk_load(r->q, "t", "l", next_cell, &n, NULL, NULL) != 0;
    r->failed |= quarry_snapshot_restore(r->q, "s", "old", NULL) != 0;
    r->failed |= quarry_table_clone(r->q, "t", "new", NULL) != 0;
    r->failed |= quarry_table_snapshot(r->q, "t", "gone", 0, NULL) != 0;
    r->failed |= quarry_snapshot_drop(r->q, "gone", NULL) != 0;
}

/* Rows of @name, which are whole and in order; the table is there. */
static size_t count_rows(struct run_state *r, const char *name)
{
    struct quarry_table *t;
    struct quarry_scanner *s;
    const struct quarry_row *row;
    size_t n = 0;
    OK(quarry_table_open(r->q, name, &t, &err));
    OK(quarry_scan(t, NULL, &s, &err));
    for (;;) {
        char a[16];
        OK(quarry_scanner_next(s, &row, &err));
        if (!row)
            break;
        ck_assert_uint_eq(row->cell_count, 2);
        ck_assert(slice_eq(row->key, row_name(a, n)));
        ck_assert(slice_eq(row->cells[1].value, row->key));
        n++;
    }
    quarry_scanner_close(s);
    quarry_table_close(t);
    return n;
}

static bool has_table(struct run_state *r, const char *name)
{
    struct quarry_table *t;
    if (quarry_table_open(r->q, name, &t, NULL))
        return false;
    quarry_table_close(t);
    return true;
}

static void check(struct run_state *r)
{
    struct quarry_snapshots *s;
    size_t now = count_rows(r, "t");
    ck_assert(now == ROWS || now == ROWS + LOADED);
    if (has_table(r, "old"))
        ck_assert_uint_eq(count_rows(r, "old"), ROWS);
    if (has_table(r, "new")) {
        size_t n = count_rows(r, "new");
        ck_assert(n == ROWS || n == ROWS + LOADED);
    }
    OK(quarry_snapshot_list(r->q, &s, &err));
    for (size_t i = 0; i < s->count; i++) {
        size_t rows;
        OK(quarry_snapshot_restore(r->q, s->list[i].name, "try", &err));
        rows = count_rows(r, "try");
        ck_assert(rows == ROWS || (rows == ROWS + LOADED &&
                                   strcmp(s->list[i].name, "gone") == 0));
        OK(quarry_table_drop(r->q, "try", &err));
    }
    quarry_snapshots_free(s);
}

static void run_all(void *arg)
{
    struct run_state *r = arg;
    open_store(r);
    fill(r);
    sim_fail_at_op(r->world, r->fail_at);
    work(r);
    sim_fail_at_op(r->world, 0);
    quarry_close(r->q);
    open_store(r);
    check(r);
    /* And what failed can be done now, or is done. */
    if (!r->failed) {
        ck_assert_uint_eq(count_rows(r, "t"), ROWS + LOADED);
        ck_assert_uint_eq(count_rows(r, "old"), ROWS);
        ck_assert_uint_eq(count_rows(r, "new"), ROWS + LOADED);
    }
    quarry_close(r->q);
}

static bool run(uint64_t fail_at)
{
    struct run_state r = {.fail_at = fail_at};
    r.world = sim_world_new(&(struct sim_options){.seed = test_seed()});
    sim_run(r.world, run_all, &r);
    world_free(r.world);
    return r.failed;
}

START_TEST(test_every_operation_fails_once)
{
    uint64_t failures = 0;
    ck_assert(!run(0));
    for (uint64_t n = 1; n < 40 || run(n); n++) {
        failures += n < 40 ? run(n) : 1;
        ck_assert_uint_lt(n, 5000);
    }
    ck_assert_uint_gt(failures, 30);
}

END_TEST

TEST_MAIN("keep_faults", test_every_operation_fails_once)
