/* A clock that was hours ahead for a while, and is right again, costs nothing
 * but the stamps of cells that were written meanwhile. */
#include "base/core/fault.h"
#include "tests/sim/tables_story.h"

#define AHEAD_US (INT64_C(5) * 3600 * 1000000)

#define BUG_BY_CLOCK "master.order_by_clock"

static void set_clocks(struct tables_server *all, unsigned count, int64_t us)
{
    for (unsigned i = 0; i < count; i++)
        sim_set_clock(all[i].world, us, 0);
}

/* --- METADATA ------------------------------------------------------------ */

/* All tablets move while the master's clock is ahead, and once more when it is
 * right: first one server is left, then another. */
static void move_ahead_and_back(void)
{
    for (unsigned i = 0; i < 2; i++) {
        set_clocks(tables->masters, 1, i ? 0 : AHEAD_US);
        for (unsigned k = 0; k < TABLET_SERVERS; k++)
            if (k != i && sim_is_up(tables->tablets[k].world))
                crash(&tables->tablets[k]);
        if (!sim_is_up(tables->tablets[i].world))
            sim_boot_again(tables->tablets[i].world);
        storm_sleep_us(30 * SECOND_US);
    }
}

static void move_tablets(void *arg)
{
    bool was_by_clock = arg != NULL;
    begin_cell();
    put("r", "before");
    close_table();
    if (was_by_clock)
        fault_arm(BUG_BY_CLOCK, 1, UINT64_MAX);
    move_ahead_and_back();
    if (was_by_clock)
        ck_assert_uint_gt(fault_disarm(BUG_BY_CLOCK), 0);
    restart_all();
    (void)tables_await_true(tables, SERVICE_US);
    open_table();
    expect("r", "before");
    end_cell();
}

static void move_tablets_of_old(void *arg)
{
    (void)arg;
    move_tablets(&storm);
}

/* Tablets that a master with a clock ahead has placed are served when it is
 * right again. */
START_TEST(test_a_masters_clock_takes_no_tablet_away)
{
    play(move_tablets);
}

END_TEST

/* So are those of a cluster whose records older versions stamped by clocks. */
START_TEST(test_records_stamped_in_the_future_are_repaired)
{
    play(move_tablets_of_old);
}

END_TEST

/* --- rows ---------------------------------------------------------------- */

static void check_and_put(const char *row, const char *value)
{
    struct quarry_mutation *m = quarry_mutation_new(slice_str(row));
    struct err err = ERR_INIT;
    bool matched = false;
    quarry_mutation_set(m, "a", SLICE_LIT("q"), QUARRY_NOW, slice_str(value));
    ck_assert_msg(quarry_check_and_mutate(table, slice_str(row), NULL, m, NULL,
                                          NULL, &matched, &err) == 0,
                  "%s", err.text);
    ck_assert(matched);
    quarry_mutation_free(m);
}

static void append(const char *row, const char *value)
{
    const struct quarry_rmw_rule rule = {.kind = QUARRY_RMW_APPEND,
                                         .family = "a",
                                         .qualifier = SLICE_LIT("q"),
                                         .append = slice_str(value)};
    struct err err = ERR_INIT;
    ck_assert_msg(quarry_read_modify_write(table, slice_str(row), &rule, 1,
                                           NULL, NULL, &err) == 0,
                  "%s", err.text);
}

static void (*const upheavals[])(void) = {nothing, split, leave_in_order,
                                          wait_for_merge, lose_power};

static void write_ahead_and_back(void *arg)
{
    (void)arg;
    begin_cell();
    set_clocks(tables->tablets, TABLET_SERVERS, AHEAD_US);
    put("a", "ahead");
    put("b", "ahead");
    put("z", "ahead");
    append("n", "ahead");
    set_clocks(tables->tablets, TABLET_SERVERS, 0);
    for (size_t i = 0; i < ARRAY_LEN(upheavals); i++) {
        char value[16];
        snprintf(value, sizeof(value), "after %zu", i);
        upheavals[i]();
        put("a", value);
        expect("a", value);
        check_and_put("b", value);
        expect("b", value);
        put("z", value);
        expect("z", value);
        put("n", value);
        expect("n", value);
    }
    end_cell();
}

/* Cells stamped while a server's clock was ahead do not hide later writes,
 * whichever server has the tablet then. */
START_TEST(test_stamps_of_a_tablet_never_go_back)
{
    play(write_ahead_and_back);
}

END_TEST

TEST_MAIN("clocks",
          test_stamps_of_a_tablet_never_go_back,
          test_a_masters_clock_takes_no_tablet_away,
          test_records_stamped_in_the_future_are_repaired)
