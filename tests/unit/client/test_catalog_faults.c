/* Whatever operation on files fails, once or from there on, a change of tables
 * or snapshots whose call returned 0 is there after the next open, and one that
 * returned an error is not, unless the error says that this is unknown. In the
 * simulated world; with the power cut behind the failure, and on disks that
 * fill up. */
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "bigtable/client/bulk_load.h"
#include "bigtable/quarry.h"
#include "tests/lib/check_main.h"

enum action {
    ACTION_CREATE,
    ACTION_DROP,
    ACTION_ALTER,
    ACTION_SNAPSHOT,
    ACTION_DROP_SNAPSHOT,
    ACTION_CLONE,
    ACTION_RESTORE,
    ACTION_LOAD,
    ACTION_COUNT
};

enum way {
    WAY_FAIL_ONCE,
    WAY_FAIL_AND_POWER_CUT,
    WAY_POWER_OFF, /* Everything fails from the operation on. */
    WAY_DISK_FULL,
};

enum {
    ROWS = 10,
    OPS_MAX = 45
};

struct run_state {
    struct world *world;
    enum action action;
    enum way way;
    uint64_t n; /* The operation that fails, or a measure of the room. */
    int rc;
};

static struct err err;
static struct quarry *q;

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

static void open_store(struct run_state *r)
{
    const struct quarry_options o = {.world = r->world, .background_tasks = 1};
    OK(quarry_open("file:/q", &o, &q, &err));
}

static void write_rows(void)
{
    struct quarry_table *t;
    OK(quarry_table_open(q, "t", &t, &err));
    for (int i = 0; i < ROWS; i++) {
        char row[16];
        struct quarry_mutation *m;
        snprintf(row, sizeof(row), "row%d", i);
        m = quarry_mutation_new(slice_str(row));
        quarry_mutation_set(m, "f", SLICE_LIT("q"), 1, SLICE_LIT("value"));
        OK(quarry_apply(t, m, NULL, &err));
        quarry_mutation_free(m);
    }
    quarry_table_close(t);
}

static int
next_cell(void *ctx, struct quarry_bulk_cell *c, bool *more, struct err *e)
{
    bool *given = ctx;
    (void)e;
    *more = !*given;
    *given = true;
    *c = (struct quarry_bulk_cell){SLICE_LIT("loaded"), "f", SLICE_LIT("q"), 1,
                                   SLICE_LIT("value")};
    return 0;
}

static int act(enum action action, struct err *e)
{
    const struct quarry_family_spec f = {"f", ""};
    const struct quarry_alter alter = {QUARRY_ADD_FAMILY, "g", ""};
    bool given = false;
    switch (action) {
    case ACTION_CREATE: return quarry_table_create(q, "new", &f, 1, NULL, 0, e);
    case ACTION_DROP: return quarry_table_drop(q, "other", e);
    case ACTION_ALTER: return quarry_table_alter(q, "t", &alter, 1, e);
    case ACTION_SNAPSHOT: return quarry_table_snapshot(q, "t", "new", 0, e);
    case ACTION_DROP_SNAPSHOT: return quarry_snapshot_drop(q, "old", e);
    case ACTION_CLONE: return quarry_table_clone(q, "t", "new", e);
    case ACTION_RESTORE: return quarry_snapshot_restore(q, "old", "new", e);
    case ACTION_LOAD:
        return quarry_bulk_load(q, "t", "load", next_cell, &given, NULL, e);
    case ACTION_COUNT: break;
    }
    return 0;
}

static bool has_table(const char *name)
{
    struct quarry_table *t;
    int rc = quarry_table_open(q, name, &t, &err);
    ck_assert(rc == 0 || rc == ERR_NOTFOUND);
    if (rc == 0)
        quarry_table_close(t);
    return rc == 0;
}

static bool has_snapshot(const char *name)
{
    struct quarry_snapshots *s;
    bool found = false;
    OK(quarry_snapshot_list(q, &s, &err));
    for (size_t i = 0; i < s->count; i++)
        found |= strcmp(s->list[i].name, name) == 0;
    quarry_snapshots_free(s);
    return found;
}

static bool has_row(const char *table, const char *row)
{
    struct buf value = BUF_INIT;
    struct quarry_table *t;
    bool found;
    OK(quarry_table_open(q, table, &t, &err));
    OK(quarry_get(t, slice_str(row), "f", SLICE_LIT("q"), &value, &found,
                  &err));
    quarry_table_close(t);
    buf_close(&value);
    return found;
}

static size_t family_count(void)
{
    struct quarry_table_info *info;
    size_t count;
    OK(quarry_table_describe(q, "t", &info, &err));
    count = info->family_count;
    quarry_table_info_free(info);
    return count;
}

static bool is_done(enum action action)
{
    switch (action) {
    case ACTION_CREATE:
    case ACTION_CLONE:
    case ACTION_RESTORE: return has_table("new");
    case ACTION_DROP: return !has_table("other");
    case ACTION_ALTER: return family_count() == 2;
    case ACTION_SNAPSHOT: return has_snapshot("new");
    case ACTION_DROP_SNAPSHOT: return !has_snapshot("old");
    case ACTION_LOAD: return has_row("t", "loaded");
    case ACTION_COUNT: break;
    }
    return false;
}

static void change(void *arg)
{
    struct run_state *r = arg;
    const struct quarry_family_spec f = {"f", ""};
    open_store(r);
    OK(quarry_table_create(q, "t", &f, 1, NULL, 0, &err));
    OK(quarry_table_create(q, "other", &f, 1, NULL, 0, &err));
    write_rows();
    OK(quarry_table_snapshot(q, "t", "old", 0, &err));
    write_rows();
    if (r->way == WAY_POWER_OFF)
        sim_power_off_at_op(r->world, r->n);
    else if (r->way == WAY_DISK_FULL)
        sim_set_disk_bytes(r->world, sim_disk_bytes(r->world) + r->n * 30);
    else
        sim_fail_at_op(r->world, r->n);
    r->rc = act(r->action, NULL);
    sim_fail_at_op(r->world, 0);
    sim_set_disk_bytes(r->world, 0);
    if (r->way == WAY_FAIL_AND_POWER_CUT)
        sim_power_off(r->world);
    quarry_close(q);
}

static void look(void *arg)
{
    struct run_state *r = arg;
    bool done;
    open_store(r);
    done = is_done(r->action);
    ck_assert_msg(r->rc == ERR_UNKNOWN_OUTCOME || done == (r->rc == 0),
                  "action %d, way %d, %d: %s, and it is %s", (int)r->action,
                  (int)r->way, (int)r->n, err_name(r->rc),
                  done ? "there" : "not there");
    for (int i = 0; i < ROWS; i++) {
        char row[16];
        snprintf(row, sizeof(row), "row%d", i);
        ck_assert(has_row("t", row));
        ck_assert(!done ||
                  (r->action != ACTION_CLONE && r->action != ACTION_RESTORE) ||
                  has_row("new", row));
    }
    if (has_snapshot("new"))
        OK(quarry_snapshot_restore(q, "new", "again", &err));
    quarry_close(q);
    /* And it stays so. */
    open_store(r);
    ck_assert(is_done(r->action) == done);
    quarry_close(q);
}

static void run_once(struct run_state *r)
{
    r->world = sim_world_new(&(struct sim_options){.seed = test_seed() + r->n});
    sim_run(r->world, change, r);
    if (r->way == WAY_POWER_OFF || r->way == WAY_FAIL_AND_POWER_CUT)
        sim_power_on(r->world);
    sim_run(r->world, look, r);
    world_free(r->world);
}

static void sweep(enum way way)
{
    size_t failures = 0;
    size_t unknown = 0;
    for (int action = 0; action < ACTION_COUNT; action++)
        for (uint64_t n = 1; n <= OPS_MAX; n += n < 16 ? 1 : 5) {
            struct run_state r = {
                .action = (enum action)action, .way = way, .n = n};
            run_once(&r);
            failures += r.rc != 0;
            unknown += r.rc == ERR_UNKNOWN_OUTCOME;
        }
    ck_assert_uint_gt(failures, 20);
    ck_assert_uint_lt(unknown, failures);
}

START_TEST(test_an_operation_fails)
{
    sweep(WAY_FAIL_ONCE);
}

END_TEST

START_TEST(test_an_operation_fails_and_the_power)
{
    sweep(WAY_FAIL_AND_POWER_CUT);
}

END_TEST

START_TEST(test_the_power_fails)
{
    sweep(WAY_POWER_OFF);
}

END_TEST

START_TEST(test_the_disk_is_full)
{
    sweep(WAY_DISK_FULL);
}

END_TEST

TEST_MAIN("faults of changes of tables",
          test_an_operation_fails,
          test_an_operation_fails_and_the_power,
          test_the_power_fails,
          test_the_disk_is_full)
