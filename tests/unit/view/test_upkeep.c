/* A view is what its program makes of the table now, after any writes,
 * overwrites, deletions and expiries, in batches of any size, told once, twice
 * or together, and over losses of power at any moment: random programs of all
 * kinds of tables against a run over all rows. When the rows are gone, the view
 * keeps nothing. In the simulated world. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "bigtable/view/view_core.h"
#include "bigtable/view/view_keys.h"
#include "bigtable/view/view_txn.h"
#include "tests/lib/check_main.h"

enum {
    ROWS = 60,
    ROUNDS = 10,
    TABLES_MAX = 6,
};

#define SECOND_US UINT64_C(1000000)

/* %K: an index; %N: an int; %W: a string. */
static const struct {
    const char *declaration;
    const char *emit;
} kinds[] = {
    {"table sum[k: string] of int", "[%K] <- %N"},
    {"table sum of int", " <- %N"},
    {"table sum[k: string] of float", "[%K] <- float(%N) / 3.0"},
    {"table sum[k: string] of { a: int, b: time }", "[%K] <- {%N, time(%N)}"},
    {"table sum of { a: int, b: float }", " <- {%N, float(%N) * 0.5}"},
    {"table sum of map[string] of int", " <- {%W: %N}"},
    {"table collection[k: string] of string", "[%K] <- %W"},
    {"table collection of int", " <- %N"},
    {"table maximum(3) of string weight int", " <- %W weight %N"},
    {"table minimum(2)[k: string] of int weight float",
     "[%K] <- %N weight float(%N)"},
    {"table maximum(0)[k: string] of int weight int", "[%K] <- 1 weight %N"},
    {"table top(3) of string weight int", " <- %W weight %N"},
    {"table top(2)[k: string] of string weight int", "[%K] <- %W weight 1"},
    {"table unique(6)[k: string] of int", "[%K] <- %N"},
    {"table unique(1000) of string", " <- %W"},
    {"table quantile(4)[k: string] of int", "[%K] <- %N"},
    {"table set(5)[k: string] of string", "[%K] <- %W"},
    {"table sample(3)[k: string] of int", "[%K] <- %N"},
    {"table weightedsample(2) of string weight int", " <- %W weight %N"},
    {"table distinctsample(4) of int weight int", " <- %N weight 1"},
    {"table inversehistogram(6) of string weight int", " <- %W weight 1"},
    {"table bootstrapsum(3)[k: string] of int weight fingerprint",
     "[%K] <- %N weight fingerprintof(%W)"},
    {"table mrcounter of int", " <- %N"},
    {"table text of string", " <- %W"},
};

static struct err err;

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

struct run {
    struct world *world;
    struct rand_gen rand;
    struct buf program;
    struct quarry *quarry;
    struct quarry_table *table;
    struct view_core view;
    bool dirty[ROWS]; /* To be told. */
    bool made;        /* Table and view are there. */
};

/* --- random programs ----------------------------------------------------- */

static void put_emit(struct run *r, const char *text)
{
    static const char *const indices[] = {"w", "string(n % 3)", "\"all\""};
    const char *index = indices[rand_below(&r->rand, 3)];
    for (; *text; text++) {
        if (*text != '%')
            buf_append_byte(&r->program, *text);
        else if (*++text == 'K')
            buf_append_str(&r->program, index);
        else
            buf_append_str(&r->program, *text == 'N' ? "n" : "w");
    }
}

static void draw_program(struct run *r)
{
    size_t count = 1 + rand_below(&r->rand, TABLES_MAX);
    size_t chosen[TABLES_MAX];

    buf_clear(&r->program);
    buf_append_str(&r->program, "r: Row = input;\n");
    for (size_t i = 0; i < count; i++) {
        chosen[i] = rand_below(&r->rand, ARRAY_LEN(kinds));
        buf_printf(&r->program, "t%zu: %s;\n", i, kinds[chosen[i]].declaration);
    }
    buf_append_str(&r->program, "add: function(n: int, w: string) {\n");
    for (size_t i = 0; i < count; i++) {
        buf_printf(&r->program, "  emit t%zu", i);
        put_emit(r, kinds[chosen[i]].emit);
        buf_append_str(&r->program, ";\n");
    }
    buf_append_str(&r->program,
                   "};\n"
                   "versions := lookup(r.column, \"h:v\", new(array of Cell, "
                   "0, {0T, B\"\"}));\n"
                   "for (i := 0; i < len(versions); i++)\n"
                   "  add(i, string(versions[i].value));\n"
                   "g := cell(r, \"g:x\");\n"
                   "if (def(g)) add(1, \"g\");\n");
    if (rand_one_in(&r->rand, 2))
        buf_append_str(&r->program,
                       "n: int = int(string(cell(r, \"f:n\")), 10);\n"
                       "assert(n != 13, \"thirteen\");\n"
                       "add(n, string(cell(r, \"f:w\")));\n");
    else
        buf_append_str(&r->program, "for (i := 0; i < len(r.column); i++)\n"
                                    "  add(i, string(len(r.column)));\n");
}

/* --- the store ----------------------------------------------------------- */

static bool open_store(struct run *r)
{
    const struct quarry_options o = {.world = r->world, .background_tasks = 1};
    const struct quarry_family_spec f[] = {
        {"f", ""},
        {"g", "ttl=90s"},
        {"h", "gc=(versions=2 && ttl=40s) || versions=4 || ttl=200s"}};
    return quarry_open("file:/q", &o, &r->quarry, &err) == 0 &&
           (r->made ||
            (quarry_table_create(r->quarry, "t", f, 3, NULL, 0, &err) == 0 &&
             view_state_create(r->quarry, "v", &err) == 0)) &&
           (r->made = true) &&
           quarry_table_open(r->quarry, "t", &r->table, &err) == 0 &&
           view_core_open(r->quarry, "v", "t", buf_slice(&r->program), &r->view,
                          &err) == 0;
}

static void close_store(struct run *r)
{
    view_core_close(&r->view);
    if (r->table)
        quarry_table_close(r->table);
    quarry_close(r->quarry);
    r->table = NULL;
    r->quarry = NULL;
}

static void crash(struct run *r)
{
    close_store(r);
    sim_power_on(r->world);
    ck_assert_msg(open_store(r), "%s", err.text);
}

static struct slice row_name(size_t row, char text[16])
{
    snprintf(text, 16, "r%02u", (unsigned)row % 1000);
    return slice_str(text);
}

/* --- writes -------------------------------------------------------------- */

static void draw_set(struct run *r, struct quarry_mutation *m)
{
    static const char *const words[] = {"ant", "bee", "cat", "dog",
                                        "eel", "fox", "",    "13"};
    char number[16];
    const char *word = words[rand_below(&r->rand, ARRAY_LEN(words))];
    int64_t at = QUARRY_NOW;
    snprintf(number, sizeof(number), "%d", (int)rand_below(&r->rand, 20) - 3);
    if (rand_one_in(&r->rand, 3))
        at = view_core_now_us(&r->view) -
             (int64_t)rand_below(&r->rand, 100 * SECOND_US);
    switch (rand_below(&r->rand, 4)) {
    case 0:
        quarry_mutation_set(m, "f", SLICE_LIT("n"), at, slice_str(number));
        break;
    case 1:
        quarry_mutation_set(m, "f", SLICE_LIT("w"), at, slice_str(word));
        break;
    case 2:
        quarry_mutation_set(m, "g", SLICE_LIT("x"), at, slice_str(word));
        break;
    default: quarry_mutation_set(m, "h", SLICE_LIT("v"), at, slice_str(word));
    }
}

static void draw_delete(struct run *r, struct quarry_mutation *m)
{
    int64_t now = view_core_now_us(&r->view);
    switch (rand_below(&r->rand, 4)) {
    case 0: quarry_mutation_delete_row(m); break;
    case 1: quarry_mutation_delete_family(m, "h"); break;
    case 2:
        quarry_mutation_delete_cells(m, "h", SLICE_LIT("v"),
                                     now - (int64_t)(30 * SECOND_US), now);
        break;
    default: quarry_mutation_delete_cells(m, "f", SLICE_LIT("n"), 0, 0);
    }
}

/* True unless the power is lost. */
static bool write_some(struct run *r)
{
    size_t count = 1 + rand_below(&r->rand, ROWS);
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        size_t row = rand_below(&r->rand, ROWS);
        char name[16];
        struct quarry_mutation *m = quarry_mutation_new(row_name(row, name));
        if (rand_one_in(&r->rand, 5))
            draw_delete(r, m);
        else
            for (size_t k = 1 + rand_below(&r->rand, 4); k > 0; k--)
                draw_set(r, m);
        r->dirty[row] = true;
        rc = quarry_apply(r->table, m, NULL, &err);
        quarry_mutation_free(m);
    }
    return rc == 0;
}

/* Tell some of the changed rows, or all, and at times others. */
static bool tell(struct run *r, bool all)
{
    char names[ROWS + 4][16];
    struct slice keys[ROWS + 4];
    size_t rows[ROWS + 4];
    size_t count = 0;
    for (size_t i = 0; i < ROWS; i++)
        if (r->dirty[i] && (all || rand_one_in(&r->rand, 2)))
            rows[count++] = i;
    for (size_t i = rand_below(&r->rand, 4); i > 0; i--)
        rows[count++] = rand_below(&r->rand, ROWS);
    for (size_t i = 0; i < count; i++)
        keys[i] = row_name(rows[i], names[i]);
    if (view_apply(&r->view, keys, count, &err))
        return false;
    for (size_t i = 0; i < count; i++)
        r->dirty[rows[i]] = false;
    return true;
}

static bool expire(struct run *r)
{
    int64_t next;
    return view_expire(&r->view, view_core_now_us(&r->view), &next, &err) == 0;
}

/* --- the outcome --------------------------------------------------------- */

/* Written beside the view's own code: a run over all rows. */
static bool expected_text(struct run *r, struct buf *out)
{
    struct quarry_scanner *s;
    const struct quarry_row *row;
    struct saw_run *run;
    struct err ignored;
    OK(view_program_run(&r->view.program, 0, &run, &err));
    OK(quarry_scan(r->table, NULL, &s, &err));
    for (;;) {
        struct saw_cell cells[64];
        struct saw_row saw;
        OK(quarry_scanner_next(s, &row, &err));
        if (!row)
            break;
        ck_assert_uint_le(row->cell_count, ARRAY_LEN(cells));
        for (size_t i = 0; i < row->cell_count; i++)
            cells[i] = (struct saw_cell){
                row->cells[i].family, row->cells[i].qualifier,
                row->cells[i].timestamp_us, row->cells[i].value};
        saw = (struct saw_row){row->key, cells, row->cell_count};
        err_init(&ignored);
        if (saw_run_row(run, &saw, &ignored) != 0)
            continue; /* Its emits before the failure stay. */
    }
    quarry_scanner_close(s);
    saw_run_print(run, out);
    saw_run_free(run);
    return true;
}

static void check_equal(struct run *r, int round)
{
    struct buf want = BUF_INIT;
    struct buf have = BUF_INIT;
    struct saw_run *run;
    expected_text(r, &want);
    OK(view_program_run(&r->view.program, 0, &run, &err));
    OK(view_load(&r->view, run, &err));
    saw_run_print(run, &have);
    saw_run_free(run);
    if (getenv("QUARRY_VIEW_PRINT"))
        fprintf(stderr, "round %d: %zu bytes\n%s", round, want.len,
                buf_cstr(&want));
    ck_assert_msg(slice_eq(buf_slice(&want), buf_slice(&have)),
                  "round %d\n%s\nwant\n%s\nhave\n%s", round,
                  buf_cstr(&r->program), buf_cstr(&want), buf_cstr(&have));
    buf_close(&want);
    buf_close(&have);
}

static int refuse_row(void *ctx,
                      struct slice key,
                      struct slice value,
                      bool *stop,
                      struct err *e)
{
    (void)ctx;
    (void)value;
    (void)stop;
    return err_set(e, ERR_INVALID, "left: %c", *key.data);
}

static int check_nothing_left(struct view_txn *t, void *ctx, struct err *e)
{
    const char *kinds_left = "rgcne";
    (void)ctx;
    ck_assert_uint_eq(t->meta.rows, 0);
    ck_assert_uint_eq(t->meta.groups, 0);
    ck_assert_uint_eq(t->meta.failed, 0);
    for (; *kinds_left; kinds_left++) {
        int rc = view_txn_scan(t, slice_make(kinds_left, 1), SLICE_EMPTY,
                               refuse_row, NULL, e);
        if (rc)
            return rc;
    }
    return 0;
}

static void drop_all(struct run *r)
{
    for (size_t i = 0; i < ROWS; i++) {
        char name[16];
        struct quarry_mutation *m = quarry_mutation_new(row_name(i, name));
        quarry_mutation_delete_row(m);
        OK(quarry_apply(r->table, m, NULL, &err));
        quarry_mutation_free(m);
        r->dirty[i] = true;
    }
    ck_assert_msg(tell(r, true), "%s", err.text);
    OK(view_txn_look(&r->view, check_nothing_left, NULL, &err));
}

/* --- rounds -------------------------------------------------------------- */

static bool do_round(struct run *r)
{
    if (!write_some(r) || !tell(r, false) || !write_some(r))
        return false;
    world_sleep_us(r->world, rand_below(&r->rand, 60) * SECOND_US);
    return tell(r, true) && expire(r);
}

static void story(void *arg)
{
    struct run *r = arg;
    ck_assert_msg(open_store(r), "%s", err.text);
    for (int round = 0; round < ROUNDS; round++) {
        bool cut = rand_one_in(&r->rand, 3);
        if (cut)
            sim_power_off_at_op(r->world, 1 + rand_below(&r->rand, 600));
        while (!do_round(r)) {
            ck_assert_msg(sim_is_off(r->world), "%s", err.text);
            crash(r);
        }
        sim_power_off_at_op(r->world, 0);
        ck_assert_msg(tell(r, true) && expire(r), "%s", err.text);
        check_equal(r, round);
    }
    drop_all(r);
    check_equal(r, ROUNDS);
    close_store(r);
}

static void run_seed(uint64_t seed)
{
    struct run r = {.world =
                        sim_world_new(&(struct sim_options){.seed = seed})};
    rand_init(&r.rand, seed);
    draw_program(&r);
    sim_run(r.world, story, &r);
    world_free(r.world);
    buf_close(&r.program);
}

START_TEST(test_a_view_equals_a_run_over_all_rows)
{
    const char *only = getenv("QUARRY_VIEW_SEED");
    const char *count = getenv("QUARRY_VIEW_SEEDS");
    uint64_t seeds = count ? strtoull(count, NULL, 10) : 5;
    if (only) {
        run_seed(strtoull(only, NULL, 10));
        return;
    }
    for (uint64_t i = 0; i < seeds; i++)
        run_seed(test_seed() * 1000 + i);
}

END_TEST

TEST_MAIN("upkeep", test_a_view_equals_a_run_over_all_rows)
