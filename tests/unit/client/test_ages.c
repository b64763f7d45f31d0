/* A clock that is a day ahead for a while takes no cells away: neither reads
 * nor compactions find them old. Cells that are old go. In the simulated world.
 */
#include <string.h>

#include "base/core/buf.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "base/sim/sim_cluster.h"
#include "bigtable/quarry.h"
#include "tests/lib/check_main.h"

#define SECOND_US INT64_C(1000000)
#define HOUR_US   (3600 * SECOND_US)
#define DAY_US    (24 * HOUR_US)

static struct err err;
static struct world *world;
static struct quarry *q;
static struct quarry_table *t;

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

static void open_store(void)
{
    const struct quarry_options o = {.world = world, .background_tasks = 1};
    OK(quarry_open("file:/q", &o, &q, &err));
}

static void put(const char *row)
{
    struct quarry_mutation *m = quarry_mutation_new(slice_str(row));
    quarry_mutation_set(m, "f", SLICE_LIT("q"), QUARRY_NOW, SLICE_LIT("v"));
    OK(quarry_apply(t, m, NULL, &err));
    quarry_mutation_free(m);
}

/* By a look-up of the cell, and by a scan. */
static bool has(const char *row)
{
    struct buf value = BUF_INIT;
    struct quarry_scanner *s;
    const struct quarry_row *r;
    bool found;
    bool scanned = false;
    OK(quarry_get(t, slice_str(row), "f", SLICE_LIT("q"), &value, &found,
                  &err));
    OK(quarry_scan(t, NULL, &s, &err));
    for (;;) {
        OK(quarry_scanner_next(s, &r, &err));
        if (!r)
            break;
        scanned |= slice_eq_str(r->key, row);
    }
    quarry_scanner_close(s);
    buf_close(&value);
    ck_assert(found == scanned);
    return found;
}

static void clock_ahead_and_back(void *arg)
{
    const struct quarry_family_spec f = {"f", "ttl=2h"};
    (void)arg;
    open_store();
    OK(quarry_table_create(q, "t", &f, 1, NULL, 0, &err));
    OK(quarry_table_open(q, "t", &t, &err));
    put("before");
    sim_set_clock(world, DAY_US, 0);
    put("meanwhile");
    ck_assert(has("before"));
    ck_assert(has("meanwhile"));
    OK(quarry_table_compact(q, "t", &err));
    ck_assert(has("before"));
    world_sleep_us(world, 600 * SECOND_US);
    OK(quarry_table_compact(q, "t", &err));
    sim_set_clock(world, 0, 0);
    ck_assert(has("before"));
    ck_assert(has("meanwhile"));
    OK(quarry_table_compact(q, "t", &err));
    ck_assert(has("before"));
    /* Two hours later it is old. */
    world_sleep_us(world, (uint64_t)(2 * HOUR_US));
    ck_assert(!has("before"));
    OK(quarry_table_compact(q, "t", &err));
    quarry_table_close(t);
    quarry_close(q);
}

START_TEST(test_a_clock_ahead_and_back)
{
    world = sim_world_new(&(struct sim_options){.seed = test_seed()});
    sim_run(world, clock_ahead_and_back, NULL);
    world_free(world);
}

END_TEST

TEST_MAIN("ages", test_a_clock_ahead_and_back)
