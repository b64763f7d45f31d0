/* Background work: what is to do is done, whichever task finds it. */
#include <stdio.h>

#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "bigtable/lsm/compaction_choice.h" /* TIER_RUNS_MAX */
#include "bigtable/lsm/lsm.h"
#include "bigtable/row/mutation.h"
#include "bigtable/sstable/block_cache.h"
#include "bigtable/sstable/chunk_pool.h"
#include "bigtable/store/store.h"
#include "bigtable/tablet/tablet.h"
#include "tests/lib/check_main.h"

/* --- Fixture ------------------------------------------------------------- */

#define SEEDS 20
/* Of the virtual time that a store is left alone. */
#define LONG_US UINT64_C(60000000)

static struct err err;
static struct world *world;
static struct store *store;
static struct table_part *table;

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

static void open_store_with(uint64_t split_bytes)
{
    const struct store_options opts = {.memtable_bytes = 1 << 20,
                                       .cache_bytes = 1 << 20,
                                       .split_bytes = split_bytes,
                                       .background_tasks = 2};
    struct schema *s = schema_new();
    OK(store_open(world, "/s", &opts, &store, &err));
    OK(schema_add_family(s, "f", "versions=1", &err));
    OK(store_create_table(store, "t", s, &err));
    OK(store_find_table(store, "t", &table, &err));
    schema_free(s);
}

static void open_store(void)
{
    open_store_with(0);
}

static void close_store(void)
{
    table_part_unref(table);
    store_close(store);
}

/* --- Helpers ------------------------------------------------------------- */

static void write_row(void)
{
    const struct quarry_mutation *list[1];
    struct quarry_mutation m;
    mutation_init(&m, SLICE_LIT("row"));
    mutation_set(&m, SLICE_LIT("f"), SLICE_LIT("q"), 1, SLICE_LIT("value"));
    list[0] = &m;
    OK(write_apply(&store->env, table, list, 1, WRITE_LOGGED, 1, NULL, NULL,
                   &err));
    mutation_close(&m);
}

/* The bytes that merging would read, of all groups. */
static uint64_t compaction_debt(void)
{
    struct table_part_view *v = table_part_get_view(table);
    uint64_t debt = 0;
    for (size_t i = 0; i < v->tablet_count; i++)
        for (size_t g = 0; g < atomic_load(&v->tablets[i]->group_count); g++)
            debt += lsm_compaction_debt(v->tablets[i]->groups[g]->lsm);
    table_part_view_unref(v);
    return debt;
}

static void run_simulated(void (*fn)(void *), uint64_t seed)
{
    const struct sim_options so = {
        .seed = seed, .write_us = 5, .sync_us = 50, .name_us = 5};
    world = sim_world_new(&so);
    sim_run(world, fn, NULL);
    world_free(world);
}

/* --- Tests --------------------------------------------------------------- */

static void flush_until_a_merge_is_due(void *arg)
{
    (void)arg;
    open_store();
    for (int i = 0; i < TIER_RUNS_MAX; i++) {
        write_row();
        OK(store_flush(store, &err));
    }
    world_sleep_us(world, LONG_US);
    ck_assert_uint_eq(compaction_debt(), 0);
    ck_assert_uint_eq(store->background.compaction_count, 1);
    close_store();
}

/* The flush that makes a merge due may be made by the task that only flushes:
 * the other one learns of it, though nobody writes any more. */
START_TEST(test_a_merge_that_the_last_flush_made_due_is_made)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        run_simulated(flush_until_a_merge_is_due, test_seed() + seed);
}

END_TEST

enum {
    SPLIT_BYTES = 64 << 10,
    FILL_BYTES = 2 << 20,
    FILL_VALUE = 1000
};

static void write_random_row(struct rand_gen *r)
{
    const struct quarry_mutation *list[1];
    struct quarry_mutation m;
    char name[32];
    char value[FILL_VALUE];
    snprintf(name, sizeof(name), "row%08x", (unsigned)rand_u64(r));
    for (size_t i = 0; i < sizeof(value); i++)
        value[i] = (char)rand_u64(r);
    mutation_init(&m, slice_str(name));
    mutation_set(&m, SLICE_LIT("f"), SLICE_LIT("q"), 1,
                 slice_make(value, sizeof(value)));
    list[0] = &m;
    OK(write_apply(&store->env, table, list, 1, WRITE_LOGGED, 1, NULL, NULL,
                   &err));
    mutation_close(&m);
}

static void write_much(void)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int i = 0; i < FILL_BYTES / 4 / FILL_VALUE; i++)
        write_random_row(&r);
}

/* Memory freed by a flush and a drop is held for a while, and then by nobody.
 */
static void flush_and_drop(void *arg)
{
    (void)arg;
    open_store();
    write_much();
    OK(store_flush(store, &err));
    ck_assert_uint_eq(store->background.release_count, 0);
    world_sleep_us(world, LONG_US);
    ck_assert_uint_eq(store->background.release_count, 1);
    ck_assert_uint_ge(store->background.released_bytes, CHUNK_BYTES);
    /* And no task looks again while nothing is freed. */
    world_sleep_us(world, LONG_US);
    ck_assert_uint_eq(store->background.release_count, 1);
    write_much();
    OK(store_drop_table(store, "t", &err));
    table_part_unref(table);
    world_sleep_us(world, LONG_US);
    ck_assert_uint_eq(store->background.release_count, 2);
    ck_assert_uint_eq(chunk_pool_out(block_cache_chunks(store->cache)), 0);
    ck_assert_uint_ge(store->background.released_bytes, 2 * CHUNK_BYTES);
    store_close(store);
}

START_TEST(test_memory_goes_back_to_the_system)
{
    run_simulated(flush_and_drop, test_seed());
}

END_TEST

/* --- Splits -------------------------------------------------------------- */

/* A table that is filled in one go, whose files all cross each other's cuts, is
 * cut into tablets of the size wanted, without anybody doing more. */
static void fill_and_wait(void *arg)
{
    struct table_part_view *v;
    struct rand_gen r;
    (void)arg;
    open_store_with(SPLIT_BYTES);
    rand_init(&r, test_seed());
    for (int i = 0; i < FILL_BYTES / FILL_VALUE; i++)
        write_random_row(&r);
    OK(store_flush(store, &err));
    world_sleep_us(world, LONG_US);
    v = table_part_get_view(table);
    ck_assert_uint_ge(v->tablet_count, FILL_BYTES / SPLIT_BYTES);
    ck_assert_uint_le(v->tablet_count, 4 * FILL_BYTES / SPLIT_BYTES);
    table_part_view_unref(v);
    close_store();
}

START_TEST(test_large_tablets_are_split)
{
    run_simulated(fill_and_wait, test_seed());
}

END_TEST

/* Cells of one row, each of FILL_VALUE random bytes. */
static void write_wide_row(size_t cells)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (size_t i = 0; i < cells; i++) {
        const struct quarry_mutation *list[1];
        struct quarry_mutation m;
        char name[32];
        char value[FILL_VALUE];
        snprintf(name, sizeof(name), "q%08zu", i);
        for (size_t k = 0; k < sizeof(value); k++)
            value[k] = (char)rand_u64(&r);
        mutation_init(&m, SLICE_LIT("row"));
        mutation_set(&m, SLICE_LIT("f"), slice_str(name), 1,
                     slice_make(value, sizeof(value)));
        list[0] = &m;
        OK(write_apply(&store->env, table, list, 1, WRITE_LOGGED, 1, NULL, NULL,
                       &err));
        mutation_close(&m);
    }
    OK(store_flush(store, &err));
}

static void widen_and_wait(void *arg)
{
    struct table_part_view *v;
    (void)arg;
    open_store_with(SPLIT_BYTES);
    write_wide_row(SPLIT_BYTES / FILL_VALUE / 2);
    world_sleep_us(world, LONG_US);
    v = table_part_get_view(table);
    ck_assert_uint_eq(atomic_load(&v->tablets[0]->unsplittable_bytes), 0);
    table_part_view_unref(v);
    write_wide_row(4 * SPLIT_BYTES / FILL_VALUE);
    world_sleep_us(world, LONG_US);
    v = table_part_get_view(table);
    /* It was cut before the row, where there is nothing. */
    ck_assert_uint_eq(v->tablet_count, 2);
    ck_assert_uint_eq(atomic_load(&v->tablets[0]->unsplittable_bytes), 0);
    ck_assert_uint_ge(atomic_load(&v->tablets[1]->unsplittable_bytes),
                      3 * SPLIT_BYTES);
    table_part_view_unref(v);
    close_store();
}

/* A tablet that is too large and has one row says that it cannot be split. */
START_TEST(test_a_large_row_is_told)
{
    run_simulated(widen_and_wait, test_seed());
}

END_TEST

TEST_MAIN("background",
          test_a_large_row_is_told,
          test_a_merge_that_the_last_flush_made_due_is_made,
          test_memory_goes_back_to_the_system,
          test_large_tablets_are_split)
