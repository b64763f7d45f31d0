/* Cells of aggregates against an obvious model: whatever is added, merged,
 * deleted, flushed, compacted, split, restored or opened again, a read gives
 * the fold of the operands that no deletion came after; each counts once. In
 * the simulated world. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/fingerprint.h"
#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "bigtable/quarry.h"
#include "bigtable/row/hll_sketch.h"
#include "tests/lib/check_main.h"

enum {
    ROWS = 3,
    FAMILIES = 5,
    COLUMNS = 2,
    TIMES = 4,
    STEPS = 700,
    VERSIONS = 2, /* That the last family keeps. */
};

static struct err err;

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

static const struct quarry_family_spec specs[FAMILIES] = {
    {"sum", "aggregate=sum"},
    {"min", "aggregate=min,group=g"},
    {"max", "aggregate=max"},
    {"hll", "aggregate=hll,group=g"},
    {"two", "aggregate=sum,versions=2"},
};
static const char *const rows[ROWS] = {"a", "ab", "b"};
static const char *const columns[COLUMNS] = {"", "q"};

/* A cell of the model; of a sketch: the values in it, each a bit. */
struct model_cell {
    bool there;
    int64_t number;
    uint64_t values;
    uint64_t added;
};

struct run_state {
    struct world *world;
    struct rand_gen rand;
    struct quarry *q;
    struct quarry_table *t;
    struct model_cell cells[ROWS][FAMILIES][COLUMNS][TIMES];
};

/* --- the store ----------------------------------------------------------- */

static void open_store(struct run_state *r)
{
    const struct quarry_options o = {.world = r->world, .background_tasks = 1};
    OK(quarry_open("file:/q", &o, &r->q, &err));
}

static void reopen(struct run_state *r)
{
    quarry_table_close(r->t);
    quarry_close(r->q);
    open_store(r);
    OK(quarry_table_open(r->q, "t", &r->t, &err));
}

/* The table is what a snapshot of it restores. */
static void restore(struct run_state *r)
{
    OK(quarry_table_snapshot(r->q, "t", "s", 0, &err));
    OK(quarry_snapshot_restore(r->q, "s", "copy", &err));
    OK(quarry_snapshot_drop(r->q, "s", &err));
    quarry_table_close(r->t);
    OK(quarry_table_drop(r->q, "t", &err));
    OK(quarry_table_snapshot(r->q, "copy", "s", 0, &err));
    OK(quarry_snapshot_restore(r->q, "s", "t", &err));
    OK(quarry_snapshot_drop(r->q, "s", &err));
    OK(quarry_table_drop(r->q, "copy", &err));
    OK(quarry_table_open(r->q, "t", &r->t, &err));
}

/* --- operations ---------------------------------------------------------- */

static void fold(struct model_cell *c, int family, const struct model_cell *in)
{
    struct model_cell was = *c;
    *c = *in;
    c->there = true;
    if (!was.there)
        return;
    c->values |= was.values;
    c->added += was.added;
    if (family == 1)
        c->number = was.number < in->number ? was.number : in->number;
    else if (family == 2)
        c->number = was.number > in->number ? was.number : in->number;
    else
        c->number = (int64_t)((uint64_t)was.number + (uint64_t)in->number);
}

static void put_state(const struct model_cell *c, int family, struct buf *out)
{
    struct hll_sketch s;
    buf_clear(out);
    if (family != 3) {
        buf_put_be64(out, (uint64_t)c->number);
        return;
    }
    hll_sketch_init(&s, HLL_INTEGERS);
    for (int i = 0; i < 64; i++)
        if (c->values >> i & 1)
            hll_sketch_add(&s, fingerprint2011_int64(i));
    s.added = c->added;
    hll_sketch_put(&s, out);
    hll_sketch_close(&s);
}

static int64_t some_number(struct run_state *r)
{
    return rand_one_in(&r->rand, 20) ? INT64_MAX
                                     : (int64_t)rand_below(&r->rand, 200) - 100;
}

static void
write_operand(struct run_state *r, struct quarry_mutation *m, int row)
{
    int f = (int)rand_below(&r->rand, FAMILIES);
    int c = (int)rand_below(&r->rand, COLUMNS);
    int time = (int)rand_below(&r->rand, TIMES);
    struct slice column = slice_str(columns[c]);
    struct model_cell in = {.number = some_number(r), .added = 1};
    uint64_t bit = rand_below(&r->rand, 64);
    struct buf state = BUF_INIT;
    in.values = UINT64_C(1) << bit;
    if (rand_one_in(&r->rand, 3)) {
        in.values |= UINT64_C(5) << rand_below(&r->rand, 60);
        in.added = rand_below(&r->rand, 1000);
        put_state(&in, f, &state);
        quarry_mutation_merge(m, specs[f].name, column, time * 1000,
                              buf_slice(&state));
    } else {
        quarry_mutation_add(m, specs[f].name, column, time * 1000,
                            f == 3 ? (int64_t)bit : in.number);
    }
    buf_close(&state);
    fold(&r->cells[row][f][c][time], f, &in);
}

static void
forget(struct run_state *r, int row, int family, int column, int from, int to)
{
    for (int f = 0; f < FAMILIES; f++)
        for (int c = 0; c < COLUMNS; c++)
            for (int time = from; time < to; time++)
                if ((family < 0 || f == family) && (column < 0 || c == column))
                    r->cells[row][f][c][time] = (struct model_cell){0};
}

static void
write_deletion(struct run_state *r, struct quarry_mutation *m, int row)
{
    int f = (int)rand_below(&r->rand, FAMILIES);
    int c = (int)rand_below(&r->rand, COLUMNS);
    int from = (int)rand_below(&r->rand, TIMES);
    int to = from + 1 + (int)rand_below(&r->rand, TIMES - (uint64_t)from);
    uint64_t kind = rand_below(&r->rand, 12);
    if (f == 4 && kind >= 3) /* Versions that it counts are not uncovered. */
        kind = 2;
    if (kind == 0) {
        quarry_mutation_delete_row(m);
        forget(r, row, -1, -1, 0, TIMES);
    } else if (kind == 1) {
        quarry_mutation_delete_family(m, specs[f].name);
        forget(r, row, f, -1, 0, TIMES);
    } else if (kind == 2) {
        quarry_mutation_delete_cells(m, specs[f].name, slice_str(columns[c]), 0,
                                     0);
        forget(r, row, f, c, 0, TIMES);
    } else {
        bool single = kind > 6;
        to = single ? from + 1 : to;
        quarry_mutation_delete_cells(m, specs[f].name, slice_str(columns[c]),
                                     from * 1000,
                                     single ? from * 1000 + 1 : to * 1000);
        forget(r, row, f, c, from, to);
    }
}

static void write_some(struct run_state *r)
{
    int row = (int)rand_below(&r->rand, ROWS);
    struct quarry_mutation *m = quarry_mutation_new(slice_str(rows[row]));
    size_t count = 1 + rand_below(&r->rand, 5);
    for (size_t i = 0; i < count; i++) {
        if (rand_one_in(&r->rand, 7))
            write_deletion(r, m, row);
        else
            write_operand(r, m, row);
    }
    OK(quarry_apply(r->t, m, NULL, &err));
    quarry_mutation_free(m);
}

/* --- expectations -------------------------------------------------------- */

/* The cells of @row within [from, to) times, newest first. */
static size_t expect_cells(struct run_state *r,
                           int row,
                           int from,
                           int to,
                           const struct quarry_row *got)
{
    struct buf state = BUF_INIT;
    size_t n = 0;
    for (int f = 0; f < FAMILIES; f++)
        for (int c = 0; c < COLUMNS; c++) {
            int shown = 0;
            for (int time = TIMES - 1; time >= 0; time--) {
                const struct model_cell *cell = &r->cells[row][f][c][time];
                const struct quarry_cell *is;
                if (!cell->there || (f == 4 && ++shown > VERSIONS) ||
                    time < from || time >= to)
                    continue;
                ck_assert_ptr_nonnull(got);
                ck_assert_uint_lt(n, got->cell_count);
                is = &got->cells[n++];
                put_state(cell, f, &state);
                ck_assert(slice_eq_str(is->family, specs[f].name));
                ck_assert(slice_eq_str(is->qualifier, columns[c]));
                ck_assert_int_eq(is->timestamp_us, time * 1000);
                ck_assert_msg(slice_eq(is->value, buf_slice(&state)),
                              "%s at %d", specs[f].name, time);
            }
        }
    ck_assert_uint_eq(got ? got->cell_count : 0, n);
    buf_close(&state);
    return n;
}

static void expect_scan(struct run_state *r, int from, int to)
{
    const struct quarry_read_options o = {.time_min_us = from * 1000,
                                          .time_max_us = to * 1000};
    const struct quarry_row *got = NULL;
    struct quarry_scanner *s;
    OK(quarry_scan(r->t, &o, &s, &err));
    OK(quarry_scanner_next(s, &got, &err));
    for (int row = 0; row < ROWS; row++) {
        bool of_row = got && slice_eq_str(got->key, rows[row]);
        expect_cells(r, row, from, to, of_row ? got : NULL);
        if (of_row)
            OK(quarry_scanner_next(s, &got, &err));
    }
    ck_assert_ptr_null(got);
    quarry_scanner_close(s);
}

/* The newest cell of each column, as point reads and as scans find it. */
static void expect_newest(struct run_state *r)
{
    struct buf state = BUF_INIT;
    struct buf value = BUF_INIT;
    for (int i = 0; i < ROWS * FAMILIES * COLUMNS; i++) {
        int row = i % ROWS;
        int f = i / ROWS % FAMILIES;
        int c = i / ROWS / FAMILIES;
        int time = TIMES - 1;
        bool found;
        while (time >= 0 && !r->cells[row][f][c][time].there)
            time--;
        buf_clear(&value);
        OK(quarry_get(r->t, slice_str(rows[row]), specs[f].name,
                      slice_str(columns[c]), &value, &found, &err));
        ck_assert(found == (time >= 0));
        if (!found)
            continue;
        put_state(&r->cells[row][f][c][time], f, &state);
        ck_assert(slice_eq(buf_slice(&value), buf_slice(&state)));
    }
    buf_close(&value);
    buf_close(&state);
}

static void run_model(void *arg)
{
    struct run_state *r = arg;
    const struct quarry_group_spec g = {"g", ""};
    open_store(r);
    OK(quarry_table_create(r->q, "t", specs, FAMILIES, &g, 1, &err));
    OK(quarry_table_open(r->q, "t", &r->t, &err));
    for (int i = 0; i < STEPS; i++) {
        uint64_t step = rand_below(&r->rand, 40);
        if (step == 0)
            OK(quarry_flush(r->q, &err));
        else if (step == 1)
            OK(quarry_table_compact(r->q, "t", &err));
        else if (step == 2)
            reopen(r);
        else if (step == 3 && rand_one_in(&r->rand, 4))
            restore(r);
        else if (step == 4 && i > STEPS / 2 &&
                 quarry_table_split(r->q, "t", SLICE_LIT("ab"), &err))
            ck_assert_int_eq(err.code, ERR_INVALID); /* It was already. */
        else if (step > 30)
            expect_scan(r, 0, TIMES);
        else if (step > 28)
            expect_scan(r, 1, 3);
        else if (step > 25)
            expect_newest(r);
        else
            write_some(r);
    }
    OK(quarry_table_compact(r->q, "t", &err));
    expect_scan(r, 0, TIMES);
    quarry_table_close(r->t);
    quarry_close(r->q);
}

/* A read gives the fold of all that was written since the last deletion. */
START_TEST(test_model)
{
    for (uint64_t seed = 0; seed < 6; seed++) {
        struct run_state *r = calloc(1, sizeof(*r));
        r->world =
            sim_world_new(&(struct sim_options){.seed = test_seed() + seed});
        rand_init(&r->rand, test_seed() + seed);
        sim_run(r->world, run_model, r);
        world_free(r->world);
        free(r);
    }
}

END_TEST

static int apply_one(struct run_state *r, struct quarry_mutation *m)
{
    int rc = quarry_apply(r->t, m, NULL, &err);
    quarry_mutation_free(m);
    return rc;
}

static void run_refused(void *arg)
{
    struct run_state *r = arg;
    const struct quarry_family_spec f[] = {
        {"n", "aggregate=sum"}, {"u", "aggregate=hll"}, {"plain", ""}};
    const struct quarry_family_spec bad = {"x", "aggregate=avg"};
    const struct quarry_alter other = {
        .kind = QUARRY_UPDATE_FAMILY, .name = "n", .options = "aggregate=max"};
    const struct quarry_alter rule = {
        .kind = QUARRY_UPDATE_FAMILY, .name = "n", .options = "versions=1"};
    struct quarry_mutation *m;
    struct quarry_table_info *info;
    open_store(r);
    ck_assert_int_eq(quarry_table_create(r->q, "x", &bad, 1, NULL, 0, &err),
                     ERR_INVALID);
    OK(quarry_table_create(r->q, "t", f, 3, NULL, 0, &err));
    OK(quarry_table_open(r->q, "t", &r->t, &err));
    m = quarry_mutation_new(SLICE_LIT("r"));
    quarry_mutation_set(m, "n", SLICE_LIT("q"), 0, SLICE_LIT("12345678"));
    ck_assert_int_eq(apply_one(r, m), ERR_INVALID);
    m = quarry_mutation_new(SLICE_LIT("r"));
    quarry_mutation_add(m, "plain", SLICE_LIT("q"), 0, 1);
    ck_assert_int_eq(apply_one(r, m), ERR_INVALID);
    m = quarry_mutation_new(SLICE_LIT("r"));
    quarry_mutation_merge(m, "n", SLICE_LIT("q"), 0, SLICE_LIT("1234567"));
    ck_assert_int_eq(apply_one(r, m), ERR_INVALID);
    m = quarry_mutation_new(SLICE_LIT("r"));
    quarry_mutation_merge(m, "u", SLICE_LIT("q"), 0, SLICE_LIT("12345678"));
    ck_assert_int_eq(apply_one(r, m), ERR_INVALID);
    m = quarry_mutation_new(SLICE_LIT("r"));
    quarry_mutation_add_bytes(m, "u", SLICE_LIT("q"), 0, SLICE_LIT("foo"));
    ck_assert_int_eq(apply_one(r, m), ERR_INVALID);
    ck_assert_int_eq(quarry_table_alter(r->q, "t", &other, 1, &err),
                     ERR_UNSUPPORTED);
    OK(quarry_table_alter(r->q, "t", &rule, 1, &err));
    OK(quarry_table_describe(r->q, "t", &info, &err));
    ck_assert_str_eq(info->families[0].aggregate, "sum");
    ck_assert_str_eq(info->families[2].aggregate, "");
    quarry_table_info_free(info);
    quarry_table_close(r->t);
    quarry_close(r->q);
}

/* Cells of an aggregate are not set, others are not added to, and an aggregate
 * stays what it was created as. */
START_TEST(test_refused)
{
    struct run_state r = {
        .world = sim_world_new(&(struct sim_options){.seed = test_seed()})};
    sim_run(r.world, run_refused, &r);
    world_free(r.world);
}

END_TEST

TEST_MAIN("aggregates", test_model, test_refused)
