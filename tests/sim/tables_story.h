/* Short stories of a cell with tables: one table, `t`, with the family a, of
 * which one version is kept.
 *
 * Threads: one.
 */
#ifndef TESTS_SIM_TABLES_STORY_H
#define TESTS_SIM_TABLES_STORY_H

#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/replica/replica.h" /* Links what the cell needs. */
#include "base/runtime/fiber.h"
#include "bigtable/master/master.h"
#include "bigtable/quarry.h"
#include "chubby-lite/chubby.h"
#include "gfs-lite/gfs.h"
#include "tests/lib/check_main.h"
#include "tests/sim/cell.h"
#include "tests/sim/storm.h"
#include "tests/sim/tables_cell.h"
#include "tests/sim/tables_health.h"

#define CALL_US    (60 * SECOND_US)
#define SERVICE_US (60 * SECOND_US)

enum {
    TABLET_SERVERS = 3
};

/* --- fixture ------------------------------------------------------------- */

static struct storm storm;
static struct sim_cell *cell;
static struct tables_cell *tables;
static struct quarry *quarry;
static struct quarry_table *table;

static inline void open_table(void)
{
    struct err err = ERR_INIT;
    ck_assert_msg(tables_cell_open(tables, sim_director(storm.sim), CALL_US,
                                   &quarry, &err) == 0,
                  "%s", err.text);
    ck_assert_msg(quarry_table_open(quarry, "t", &table, &err) == 0, "%s",
                  err.text);
}

static inline void close_table(void)
{
    quarry_table_close(table);
    quarry_close(quarry);
}

static inline void make_table(void)
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

static inline void begin_cell(void)
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

static inline void end_cell(void)
{
    close_table();
    tables_cell_stop(tables);
    sim_cell_stop(cell);
}

static inline void play(void (*story)(void *))
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

static inline void crash(struct tables_server *s)
{
    sim_crash(s->world, SIM_CRASH_POWER);
    sim_await_end(s->world);
}

static inline void put(const char *row, const char *value)
{
    struct quarry_mutation *m = quarry_mutation_new(slice_str(row));
    struct err err = ERR_INIT;
    quarry_mutation_set(m, "a", SLICE_LIT("q"), QUARRY_NOW, slice_str(value));
    ck_assert_msg(quarry_apply(table, m, NULL, &err) == 0, "%s", err.text);
    quarry_mutation_free(m);
}

static inline void expect(const char *row, const char *value)
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

static inline void restart_all(void)
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

static inline void nothing(void)
{
}

static inline void lose_power(void)
{
    restart_all();
    (void)tables_await_true(tables, SERVICE_US);
}

static inline void leave_in_order(void)
{
    for (unsigned i = 0; i < TABLET_SERVERS; i++) {
        sim_stop(tables->tablets[i].world);
        storm_sleep_us(10 * SECOND_US);
        sim_boot_again(tables->tablets[i].world);
        (void)tables_await_true(tables, SERVICE_US);
    }
}

static inline void split(void)
{
    const struct slice at = SLICE_LIT("m");
    struct err err = ERR_INIT;
    ck_assert_msg(quarry_table_split(quarry, "t", at, &err) == 0, "%s",
                  err.text);
    (void)tables_await_true(tables, SERVICE_US);
}

static inline void wait_for_merge(void)
{
    storm_sleep_us(40 * SECOND_US);
    (void)tables_await_true(tables, SERVICE_US);
}

#endif /* TESTS_SIM_TABLES_STORY_H */
