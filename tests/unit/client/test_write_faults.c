/* Whatever operation on files fails, once, a write whose call returned 0 is
 * there after the next open, and one that returned an error is not, unless the
 * error says that this is unknown. In the simulated world; with the power cut
 * behind the failure, and on disks that fill up. */
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "bigtable/quarry.h"
#include "tests/lib/check_main.h"

enum {
    WRITES = 12,
    VALUE_BYTES = 3000
};

struct run_state {
    struct world *world;
    uint64_t fail_at;    /* The operation that fails; 0: none. */
    uint64_t disk_bytes; /* Of a disk that fills up; 0: endless. */
    bool power_cut;
    bool synced;
    int codes[WRITES];
    size_t failures;
    size_t unknown;
    struct quarry *q;
    struct quarry_table *t;
};

static struct err err;

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

static struct slice row_name(char room[16], size_t row)
{
    return slice_make(room,
                      (size_t)snprintf(room, 16, "row%03u", (unsigned)row));
}

static int write_row(struct run_state *r, size_t i, bool synced)
{
    static char value[VALUE_BYTES];
    const struct quarry_write_options o = {
        .durability = synced ? QUARRY_SYNCED : QUARRY_LOGGED};
    struct quarry_mutation *m;
    char room[16];
    int rc;
    memset(value, 'a' + (int)i, sizeof(value));
    m = quarry_mutation_new(row_name(room, i));
    quarry_mutation_set(m, "f", SLICE_LIT("q"), 1,
                        slice_make(value, sizeof(value)));
    rc = quarry_apply(r->t, m, &o, NULL);
    quarry_mutation_free(m);
    return rc;
}

static void open_store(struct run_state *r, bool fresh)
{
    const struct quarry_options o = {.world = r->world, .background_tasks = 1};
    const struct quarry_family_spec f = {"f", ""};
    OK(quarry_open("file:/q", &o, &r->q, &err));
    if (fresh)
        OK(quarry_table_create(r->q, "t", &f, 1, NULL, 0, &err));
    OK(quarry_table_open(r->q, "t", &r->t, &err));
}

static void close_store(struct run_state *r)
{
    quarry_table_close(r->t);
    quarry_close(r->q);
}

static bool is_there(struct run_state *r, size_t i)
{
    struct buf value = BUF_INIT;
    char room[16];
    bool there;
    OK(quarry_get(r->t, row_name(room, i), "f", SLICE_LIT("q"), &value, &there,
                  &err));
    buf_close(&value);
    return there;
}

static void write_all(void *arg)
{
    struct run_state *r = arg;
    open_store(r, true);
    OK(write_row(r, WRITES, true));
    close_store(r);
    open_store(r, false); /* So that the log begins another segment. */
    sim_fail_at_op(r->world, r->fail_at);
    sim_set_disk_bytes(r->world, r->disk_bytes);
    for (size_t i = 0; i < WRITES; i++) {
        r->codes[i] = write_row(r, i, r->synced || i % 3 == 2);
        r->failures += r->codes[i] != 0;
        r->unknown += r->codes[i] == ERR_UNKNOWN_OUTCOME;
        /* A failed write is not visible while the store is open. */
        ck_assert(r->codes[i] == 0 || !is_there(r, i));
    }
    if (r->power_cut)
        sim_power_off(r->world);
    sim_fail_at_op(r->world, 0);
    close_store(r);
}

static void read_all(void *arg)
{
    struct run_state *r = arg;
    sim_set_disk_bytes(r->world, 0);
    open_store(r, false);
    for (size_t i = 0; i < WRITES; i++) {
        bool there = is_there(r, i);
        bool lasts = !r->power_cut || r->synced || i % 3 == 2;
        ck_assert_msg(r->codes[i] == 0 || r->codes[i] == ERR_UNKNOWN_OUTCOME ||
                          !there,
                      "operation %d, write %zu: %s, and it is there",
                      (int)r->fail_at, i, err_name(r->codes[i]));
        ck_assert_msg(r->codes[i] || there || !lasts,
                      "operation %d, write %zu is lost", (int)r->fail_at, i);
    }
    ck_assert(is_there(r, WRITES));
    OK(write_row(r, WRITES + 1, true));
    close_store(r);
    /* Later, too, remains of the failure are not reported as a loss. */
    open_store(r, false);
    ck_assert(is_there(r, WRITES + 1));
    close_store(r);
}

static void run_once(struct run_state *r, uint64_t seed)
{
    r->world = sim_world_new(&(struct sim_options){.seed = seed});
    sim_run(r->world, write_all, r);
    if (r->power_cut)
        sim_power_on(r->world);
    sim_run(r->world, read_all, r);
    world_free(r->world);
}

START_TEST(test_an_operation_fails)
{
    size_t failures = 0;
    size_t unknown = 0;
    for (int way = 0; way < 4; way++) {
        for (uint64_t n = 1; n <= 60; n++) {
            struct run_state r = {
                .fail_at = n, .power_cut = way % 2, .synced = way / 2};
            run_once(&r, test_seed() + n);
            failures += r.failures;
            unknown += r.unknown;
        }
    }
    ck_assert_uint_gt(failures, 0);
    ck_assert_uint_gt(unknown, 0);
    ck_assert_uint_lt(unknown, failures);
}

END_TEST

START_TEST(test_the_disk_is_full)
{
    size_t failures = 0;
    for (int way = 0; way < 4; way++) {
        for (uint64_t n = 1; n <= 40; n++) {
            struct run_state r = {.disk_bytes = 4096 + n * 1500,
                                  .power_cut = way % 2,
                                  .synced = way / 2};
            run_once(&r, test_seed() + n);
            failures += r.failures;
        }
    }
    ck_assert_uint_gt(failures, 0);
}

END_TEST

/* --- snapshots ----------------------------------------------------------- */

static void snapshot_and_drop(void *arg)
{
    struct run_state *r = arg;
    open_store(r, true);
    for (size_t i = 0; i < WRITES; i++)
        OK(write_row(r, i, true));
    OK(quarry_flush(r->q, &err));
    sim_fail_at_op(r->world, r->fail_at);
    r->codes[0] = quarry_table_snapshot(r->q, "t", "s", 0, NULL);
    sim_fail_at_op(r->world, 0);
    /* The table's files go with it, unless the snapshot holds them. */
    OK(quarry_table_drop(r->q, "t", &err));
    if (r->power_cut)
        sim_power_off(r->world);
    close_store(r);
}

static void expect_snapshot(void *arg)
{
    struct run_state *r = arg;
    const struct quarry_options o = {.world = r->world, .background_tasks = 1};
    struct quarry_snapshots *s;
    OK(quarry_open("file:/q", &o, &r->q, &err));
    OK(quarry_snapshot_list(r->q, &s, &err));
    ck_assert(r->codes[0] == ERR_UNKNOWN_OUTCOME ||
              s->count == (r->codes[0] == 0));
    for (size_t i = 0; i < s->count; i++) {
        OK(quarry_snapshot_restore(r->q, s->list[i].name, "back", &err));
        OK(quarry_table_open(r->q, "back", &r->t, &err));
        for (size_t k = 0; k < WRITES; k++)
            ck_assert(is_there(r, k));
        quarry_table_close(r->t);
    }
    quarry_snapshots_free(s);
    quarry_close(r->q);
}

/* A snapshot whose call failed is either not there, or its files are. */
START_TEST(test_snapshots_keep_their_files)
{
    for (int way = 0; way < 2; way++) {
        for (uint64_t n = 1; n <= 16; n++) {
            struct run_state r = {.fail_at = n, .power_cut = way};
            r.world =
                sim_world_new(&(struct sim_options){.seed = test_seed() + n});
            sim_run(r.world, snapshot_and_drop, &r);
            if (r.power_cut)
                sim_power_on(r.world);
            sim_run(r.world, expect_snapshot, &r);
            world_free(r.world);
        }
    }
}

END_TEST

TEST_MAIN("faults of writes",
          test_an_operation_fails,
          test_the_disk_is_full,
          test_snapshots_keep_their_files)
