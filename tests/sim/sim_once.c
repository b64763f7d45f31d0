/* A change whose answer was lost is made once, whatever became of its tablet
 * before the library asks again. */
#include "tests/sim/tables_story.h"

/* For the call to be made, and its answer to be on its way. */
#define SENT_US (SECOND_US / 2)
/* How long a tablet server is silent before the library asks again. */
#define SILENT_US (20 * SECOND_US)

/* A client on a machine of its own, which makes one change. */
struct writer {
    struct world *machine;
    void (*change)(struct quarry_table *t);
    bool opened;
    bool go;
    bool done;
};

static void write_once(void *arg)
{
    struct writer *w = arg;
    struct quarry *q;
    struct quarry_table *t;
    struct quarry_row *row;
    struct err err = ERR_INIT;
    ck_assert_int_eq(
        tables_cell_open(tables, w->machine, 200 * SECOND_US, &q, &err), 0);
    ck_assert_int_eq(quarry_table_open(q, "t", &t, &err), 0);
    /* It knows where the row is. */
    ck_assert_int_eq(quarry_read_row(t, SLICE_LIT("r"), NULL, &row, &err), 0);
    quarry_row_free(row);
    w->opened = true;
    while (!w->go)
        world_sleep_us(w->machine, 1000);
    w->change(t);
    w->done = true;
    quarry_table_close(t);
    quarry_close(q);
}

static void delete_row(struct quarry_table *t)
{
    struct quarry_mutation *m = quarry_mutation_new(SLICE_LIT("r"));
    struct err err = ERR_INIT;
    quarry_mutation_delete_row(m);
    ck_assert_msg(quarry_apply(t, m, NULL, &err) == 0, "%s", err.text);
    quarry_mutation_free(m);
}

/* One of a batch. */
static void set_row(struct quarry_table *t)
{
    struct quarry_mutation *m[2] = {quarry_mutation_new(SLICE_LIT("q")),
                                    quarry_mutation_new(SLICE_LIT("r"))};
    struct err err = ERR_INIT;
    for (int i = 0; i < 2; i++)
        quarry_mutation_set(m[i], "a", SLICE_LIT("q"), QUARRY_NOW,
                            SLICE_LIT("early"));
    ck_assert_msg(quarry_apply_batch(t, m, 2, NULL, NULL, &err) == 0, "%s",
                  err.text);
    for (int i = 0; i < 2; i++)
        quarry_mutation_free(m[i]);
}

static void check_and_delete(struct quarry_table *t)
{
    struct quarry_mutation *m = quarry_mutation_new(SLICE_LIT("r"));
    struct err err = ERR_INIT;
    bool matched = false;
    quarry_mutation_delete_row(m);
    ck_assert_msg(quarry_check_and_mutate(t, SLICE_LIT("r"), NULL, m, NULL,
                                          NULL, &matched, &err) == 0,
                  "%s", err.text);
    ck_assert(matched);
    quarry_mutation_free(m);
}

static void append_early(struct quarry_table *t)
{
    const struct quarry_rmw_rule rule = {.kind = QUARRY_RMW_APPEND,
                                         .family = "a",
                                         .qualifier = SLICE_LIT("q"),
                                         .append = SLICE_LIT("+")};
    struct quarry_row *row = NULL;
    struct err err = ERR_INIT;
    ck_assert_msg(quarry_read_modify_write(t, SLICE_LIT("r"), &rule, 1, NULL,
                                           &row, &err) == 0,
                  "%s", err.text);
    ck_assert(slice_eq_str(row->cells[0].value, "old+"));
    quarry_row_free(row);
}

/* Let no answer of a tablet server reach @w. */
static void cut_answers(struct writer *w, bool cut)
{
    for (unsigned i = 0; i < TABLET_SERVERS; i++)
        sim_set_link(storm.sim, tables->tablets[i].world, w->machine,
                     &(struct sim_link){.cut = cut});
}

static void lose_answer(void (*change)(struct quarry_table *t),
                        void (*upheaval)(void),
                        unsigned number)
{
    char name[16];
    struct writer w = {.change = change};
    snprintf(name, sizeof(name), "w%u", number);
    w.machine = sim_machine_new(storm.sim, name,
                                &(struct sim_options){.network_us = 300});
    put("r", "old");
    sim_boot(w.machine, write_once, &w);
    while (!w.opened)
        storm_sleep_us(1000);
    cut_answers(&w, true);
    w.go = true;
    storm_sleep_us(SENT_US);
    put("r", "late");
    upheaval();
    storm_sleep_us(SILENT_US);
    ck_assert(!w.done);
    cut_answers(&w, false);
    while (!w.done)
        storm_sleep_us(SECOND_US / 10);
    expect("r", "late");
    sim_await_end(w.machine);
}

static void (*const changes[])(struct quarry_table *t) = {
    delete_row, set_row, check_and_delete, append_early};
static void (*const upheavals[])(void) = {nothing, split, leave_in_order,
                                          wait_for_merge, lose_power};

static void lose_answers(void *arg)
{
    unsigned number = 0;
    (void)arg;
    begin_cell();
    for (size_t u = 0; u < ARRAY_LEN(upheavals); u++)
        for (size_t c = 0; c < ARRAY_LEN(changes); c++)
            lose_answer(changes[c], upheavals[u], number++);
    end_cell();
}

START_TEST(test_a_change_is_made_once)
{
    play(lose_answers);
}

END_TEST

TEST_MAIN("once", test_a_change_is_made_once)
