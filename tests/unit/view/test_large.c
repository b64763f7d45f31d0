/* Groups of thousands of rows, whose trees have all levels, are right after
 * rows come, change and go; and a view that is built while rows are written is
 * what a run over all rows gives. In the simulated world. */
#include <stdio.h>

#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "bigtable/view/view_core.h"
#include "tests/lib/check_main.h"

enum {
    ROWS = 9000, /* More than 32 * 16 * 16: three levels. */
};

static const char program[] = "r: Row = input;\n"
                              "best: table maximum(3) of string weight int;\n"
                              "seen: table set(5)[k: int] of int;\n"
                              "n: int = int(string(cell(r, \"f:n\")), 10);\n"
                              "emit best <- string(r.key) weight n;\n"
                              "emit seen[n % 3] <- n / 1000;\n";

static struct err err;

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

static struct slice large_row(size_t i, char text[16])
{
    snprintf(text, 16, "r%05u", (unsigned)i % 100000);
    return slice_str(text);
}

static void put_rows(struct quarry_table *t,
                     struct rand_gen *rand,
                     size_t begin,
                     size_t end)
{
    const struct quarry_write_options o = {.durability = QUARRY_LOGGED};
    for (size_t i = begin; i < end; i++) {
        char name[16];
        char number[24];
        struct quarry_mutation *m = quarry_mutation_new(large_row(i, name));
        snprintf(number, sizeof(number), "%u",
                 (unsigned)rand_below(rand, 100000));
        if (rand_one_in(rand, 20) && begin != 0)
            quarry_mutation_delete_row(m);
        else
            quarry_mutation_set(m, "f", SLICE_LIT("n"), QUARRY_NOW,
                                slice_str(number));
        OK(quarry_apply(t, m, &o, &err));
        quarry_mutation_free(m);
    }
}

static void tell_rows(struct view_core *v, size_t begin, size_t end)
{
    struct slice keys[400];
    char names[400][16];
    ck_assert_uint_le(end - begin, ARRAY_LEN(keys));
    for (size_t i = begin; i < end; i++)
        keys[i - begin] = large_row(i, names[i - begin]);
    OK(view_apply(v, keys, end - begin, &err));
}

static void compare(struct view_core *v)
{
    struct buf want = BUF_INIT;
    struct buf have = BUF_INIT;
    struct saw_run *run;
    OK(view_program_run(&v->program, 0, &run, &err));
    OK(quarry_run_program(v->source.table, NULL, run, NULL, &err));
    saw_run_print(run, &want);
    OK(view_load(v, run, &err));
    saw_run_print(run, &have);
    ck_assert_uint_gt(want.len, 30);
    ck_assert_msg(slice_eq(buf_slice(&want), buf_slice(&have)),
                  "want\n%s\nhave\n%s", buf_cstr(&want), buf_cstr(&have));
    saw_run_free(run);
    buf_close(&want);
    buf_close(&have);
}

static void story(void *arg)
{
    const struct quarry_options o = {.world = arg, .background_tasks = 1};
    const struct quarry_family_spec f = {"f", "versions=1"};
    struct quarry *q;
    struct quarry_table *t;
    struct view_core v;
    struct rand_gen rand;
    bool ready = false;

    rand_init(&rand, test_seed());
    OK(quarry_open("file:/q", &o, &q, &err));
    OK(quarry_table_create(q, "t", &f, 1, NULL, 0, &err));
    OK(view_state_create(q, "v", &err));
    OK(quarry_table_open(q, "t", &t, &err));
    OK(view_core_open(q, "v", "t", slice_str(program), &v, &err));
    put_rows(t, &rand, 0, ROWS);
    for (int step = 0; !ready; step++) {
        OK(view_build_step(&v, &ready, &err));
        if (step < 3) { /* Rows behind and before the build. */
            put_rows(t, &rand, 100, 200);
            put_rows(t, &rand, ROWS - 100, ROWS);
        }
    }
    tell_rows(&v, 100, 200);
    tell_rows(&v, ROWS - 100, ROWS);
    compare(&v);
    for (size_t i = 1; i < 4; i++) {
        put_rows(t, &rand, i * 2000, i * 2000 + 300);
        tell_rows(&v, i * 2000, i * 2000 + 300);
        compare(&v);
    }
    /* Nobody reports these. */
    OK(quarry_table_drop_rows(q, "t", SLICE_LIT("r01"), SLICE_LIT("r08"),
                              &err));
    OK(view_build_begin(&v, &err));
    for (ready = false; !ready;)
        OK(view_build_step(&v, &ready, &err));
    compare(&v);
    view_core_close(&v);
    quarry_table_close(t);
    quarry_close(q);
}

START_TEST(test_groups_of_thousands_of_rows)
{
    struct world *w = sim_world_new(&(struct sim_options){.seed = test_seed()});
    sim_run(w, story, w);
    world_free(w);
}

END_TEST

TEST_MAIN("large", test_groups_of_thousands_of_rows)
