/* A clock that was hours ahead for a while, and is right again, costs nothing
 * but the stamps of cells that were written meanwhile. */
#include <string.h>

#include "base/core/fault.h"
#include "base/core/panic.h"
#include "base/replica/replica.h" /* Links what the cell needs. */
#include "base/runtime/fiber.h"
#include "bigtable/client/quarry.h"
#include "bigtable/master/master.h"
#include "chubby-lite/chubby.h"
#include "gfs-lite/gfs.h"
#include "tests/lib/check_main.h"
#include "tests/sim/cell.h"
#include "tests/sim/storm.h"
#include "tests/sim/tables_cell.h"
#include "tests/sim/tables_health.h"

#define AHEAD_US   (INT64_C(5) * 3600 * 1000000)
#define CALL_US    (60 * SECOND_US)
#define SERVICE_US (60 * SECOND_US)

#define BUG_BY_CLOCK "master.order_by_clock"

enum {
    TABLET_SERVERS = 3
};

/* --- fixture ------------------------------------------------------------- */

static struct storm storm;
static struct sim_cell *cell;
static struct tables_cell *tables;
static struct quarry *quarry;
static struct quarry_table *table;

static void open_table(void)
{
    struct err err = ERR_INIT;
    ck_assert_msg(tables_cell_open(tables, sim_director(storm.sim), CALL_US,
                                   &quarry, &err) == 0,
                  "%s", err.text);
    ck_assert_msg(quarry_table_open(quarry, "t", &table, &err) == 0, "%s",
                  err.text);
}

static void close_table(void)
{
    quarry_table_close(table);
    quarry_close(quarry);
}

static void make_table(void)
{
    struct err err = ERR_INIT;
    const struct quarry_family_spec families[] = {{"a", "versions=1"}};
    ck_assert_int_eq(tables_cell_open(tables, sim_director(storm.sim), CALL_US,
                                      &quarry, &err),
                     0);
    ck_assert_msg(
        quarry_table_create(quarry, "t", families, 1, NULL, 0, &err) == 0, "%s",
        err.text);
    quarry_close(quarry);
}

static void begin_cell(void)
{
    const struct sim_cell_options o = {
        .lock_servers = 1, .namenodes = 1, .chunk_servers = 3};
    cell = sim_cell_new(storm.sim, &o);
    tables = tables_cell_new(cell, 1, TABLET_SERVERS);
    sim_cell_boot(cell);
    storm_sleep_us(3 * SECOND_US);
    tables_cell_boot(tables);
    (void)tables_await_true(tables, SERVICE_US);
    make_table();
    open_table();
}

static void end_cell(void)
{
    close_table();
    tables_cell_stop(tables);
    sim_cell_stop(cell);
}

static void play(void (*story)(void *))
{
    storm = (struct storm){.scenario = "clocks", .seed = test_seed()};
    storm.sim = sim_cluster_new(storm.seed);
    storm_running = &storm;
    sim_cluster_run(storm.sim, story, NULL);
    tables_cell_free(tables);
    sim_cell_free(cell);
    sim_cluster_free(storm.sim);
    storm_running = NULL;
}

/* --- helpers ------------------------------------------------------------- */

static void set_clocks(struct tables_server *all, unsigned count, int64_t us)
{
    for (unsigned i = 0; i < count; i++)
        sim_set_clock(all[i].world, us, 0);
}

static void crash(struct tables_server *s)
{
    sim_crash(s->world, SIM_CRASH_POWER);
    sim_await_end(s->world);
}

static void put(const char *row, const char *value)
{
    struct quarry_mutation *m = quarry_mutation_new(slice_str(row));
    struct err err = ERR_INIT;
    quarry_mutation_set(m, "a", SLICE_LIT("q"), QUARRY_NOW, slice_str(value));
    ck_assert_msg(quarry_apply(table, m, NULL, &err) == 0, "%s", err.text);
    quarry_mutation_free(m);
}

static void expect(const char *row, const char *value)
{
    const struct quarry_read_options o = {.versions = 1};
    struct quarry_row *r;
    struct err err = ERR_INIT;
    ck_assert_msg(quarry_read_row(table, slice_str(row), &o, &r, &err) == 0,
                  "%s", err.text);
    ck_assert_ptr_nonnull(r);
    ck_assert_uint_eq(r->cell_count, 1);
    ck_assert_msg(slice_eq_str(r->cells[0].value, value), "%s: %.*s, not %s",
                  row, SLICE_ARG(r->cells[0].value), value);
    quarry_row_free(r);
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

static void restart_all(void)
{
    if (sim_is_up(tables->masters[0].world))
        crash(&tables->masters[0]);
    sim_boot_again(tables->masters[0].world);
    for (unsigned i = 0; i < TABLET_SERVERS; i++) {
        if (sim_is_up(tables->tablets[i].world))
            crash(&tables->tablets[i]);
        sim_boot_again(tables->tablets[i].world);
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

TEST_MAIN("clocks",
          test_a_masters_clock_takes_no_tablet_away,
          test_records_stamped_in_the_future_are_repaired)
