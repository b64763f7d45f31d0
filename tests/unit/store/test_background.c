/* Background work: what is to do is done, whichever task finds it. */
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "bigtable/lsm/compaction_choice.h" /* TIER_RUNS_MAX */
#include "bigtable/lsm/lsm.h"
#include "bigtable/row/mutation.h"
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

static void open_store(void)
{
    const struct store_options opts = {.memtable_bytes = 1 << 20,
                                       .cache_bytes = 1 << 20,
                                       .background_tasks = 2};
    struct schema *s = schema_new();
    OK(store_open(world, "/s", &opts, &store, &err));
    OK(schema_add_family(s, "f", "versions=1", &err));
    OK(store_create_table(store, "t", s, &err));
    OK(store_find_table(store, "t", &table, &err));
    schema_free(s);
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
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        const struct sim_options so = {.seed = test_seed() + seed,
                                       .write_us = 5,
                                       .sync_us = 50,
                                       .name_us = 5};
        world = sim_world_new(&so);
        sim_run(world, flush_until_a_merge_is_due, NULL);
        world_free(world);
    }
}

END_TEST

TEST_MAIN("background", test_a_merge_that_the_last_flush_made_due_is_made)
