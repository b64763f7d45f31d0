/* Power is lost at every sync and at random writes of a busy store: afterwards
 * every acknowledged mutation is there, and none is half there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "bigtable/quarry.h"
#include "tests/lib/check_main.h"

/* --- Workload ------------------------------------------------------------ */

/* Each writer owns rows of its own and counts up in them: one mutation sets the
 * same number in two families that are stored apart. */
enum {
    WRITERS = 3,
    ROWS = 4,
    STEPS = 24,
    VALUE_BYTES = 6000
};

struct row_state {
    unsigned attempted; /* The highest number written, */
    unsigned acked;     /* and the highest acknowledged as synced. */
    bool maybe_dropped; /* A deletion of the row was attempted: */
    unsigned dropped;   /* it may be gone if it shows no number above. */
};

struct workload {
    struct world *world;
    uint64_t seed;
    struct quarry *quarry;
    struct quarry_table *table;
    struct row_state rows[WRITERS][ROWS];
    bool created; /* The table was, and that was acknowledged. */
    bool finished;
    int rc; /* Of opening after the crash. */
    struct err err;
    bool verify_only;
};

struct writer {
    struct workload *load;
    int index;
};

static const struct quarry_options options = {
    .memtable_bytes = 256 << 10,
    .cache_bytes = 1 << 20,
    .split_bytes = 96 << 10,
    .background_tasks = 2,
};

static void row_name(char name[32], int writer, int row)
{
    /* Spread over the tablets: the row comes first. */
    snprintf(name, 32, "r%d-%d", row, writer);
}

static int write_number(struct workload *l,
                        int writer,
                        int row,
                        unsigned number,
                        const struct quarry_write_options *opts)
{
    char name[32];
    char value[VALUE_BYTES];
    struct quarry_mutation *m;
    int rc;
    row_name(name, writer, row);
    memset(value, 'x', sizeof(value));
    snprintf(value, sizeof(value), "%u", number);
    m = quarry_mutation_new(slice_str(name));
    if (number % 5 == 0)
        quarry_mutation_delete_row(m);
    quarry_mutation_set(m, "a", SLICE_LIT("n"), 1,
                        slice_make(value, sizeof(value)));
    quarry_mutation_set(m, "b", SLICE_LIT("n"), 1,
                        slice_make(value, sizeof(value)));
    rc = quarry_apply(l->table, m, opts, NULL);
    quarry_mutation_free(m);
    return rc;
}

static void write_rows(void *arg)
{
    struct writer *w = arg;
    struct workload *l = w->load;
    struct rand_gen r;
    rand_init(&r, l->seed * 31 + (uint64_t)w->index);
    for (int i = 0; i < STEPS; i++) {
        struct quarry_write_options opts = {rand_one_in(&r, 3) ? QUARRY_LOGGED
                                                               : QUARRY_SYNCED};
        int row = (int)rand_below(&r, ROWS);
        struct row_state *s = &l->rows[w->index][row];
        s->attempted++;
        if (write_number(l, w->index, row, s->attempted, &opts))
            return; /* The power is gone. */
        if (opts.durability == QUARRY_SYNCED)
            s->acked = s->attempted;
        if (rand_one_in(&r, 4))
            world_sleep_us(l->world, 100);
    }
}

/* Maintenance beside the writers. */
static void maintain(void *arg)
{
    struct workload *l = arg;
    struct rand_gen r;
    rand_init(&r, l->seed * 17);
    for (int i = 0; i < 6; i++) {
        char name[32];
        int rc = 0;
        world_sleep_us(l->world, 500);
        row_name(name, (int)rand_below(&r, WRITERS), (int)rand_below(&r, ROWS));
        switch (rand_below(&r, 5)) {
        case 0: rc = quarry_flush(l->quarry, NULL); break;
        case 1: rc = quarry_table_compact(l->quarry, "t", NULL); break;
        case 2:
            rc = quarry_table_split(l->quarry, "t", slice_str(name), NULL);
            break;
        case 3: {
            const struct quarry_alter add = {QUARRY_ADD_FAMILY, "c", ""};
            const struct quarry_alter drop = {QUARRY_DROP_FAMILY, "c", ""};
            rc = quarry_table_alter(l->quarry, "t", i % 2 ? &drop : &add, 1,
                                    NULL);
            break;
        }
        default:
            rc = quarry_table_drop_rows(l->quarry, "t", SLICE_LIT("x"),
                                        SLICE_LIT("y"), NULL);
        }
        if (rc && sim_is_off(l->world))
            return;
    }
}

static int create(struct workload *l)
{
    static const struct quarry_family_spec families[] = {{"a", "group=one"},
                                                         {"b", "group=two"}};
    static const struct quarry_group_spec groups[] = {
        {"one", "memtable=64KiB,block=4KiB"},
        {"two", "memtable=64KiB,block=4KiB,compression=none"}};
    int rc = quarry_table_create(l->quarry, "t", families, 2, groups, 2, NULL);
    if (rc == 0)
        l->created = true;
    return rc == ERR_EXISTS ? 0 : rc;
}

static void work(void *arg)
{
    struct workload *l = arg;
    struct writer writers[WRITERS];
    struct task *tasks[WRITERS + 1];
    struct quarry_options opts = options;
    opts.world = l->world;
    if (quarry_open("file:/db", &opts, &l->quarry, NULL))
        return;
    if (create(l) == 0 &&
        quarry_table_open(l->quarry, "t", &l->table, NULL) == 0) {
        for (int i = 0; i < WRITERS; i++) {
            writers[i] = (struct writer){l, i};
            tasks[i] = task_start(l->world, "writer", write_rows, &writers[i]);
        }
        tasks[WRITERS] = task_start(l->world, "maintain", maintain, l);
        for (int i = 0; i <= WRITERS; i++)
            task_join(tasks[i]);
        quarry_table_close(l->table);
    }
    quarry_close(l->quarry);
    l->finished = true;
}

/* --- Verification -------------------------------------------------------- */

/* The number a row shows in @family; 0 when there is none. */
static unsigned shown(struct workload *l, const char *row, const char *family)
{
    struct buf value = BUF_INIT;
    struct err err = ERR_INIT;
    unsigned n = 0;
    bool found;
    ck_assert_msg(quarry_get(l->table, slice_str(row), family, SLICE_LIT("n"),
                             &value, &found, &err) == 0,
                  "%s", err.text);
    if (found) {
        ck_assert_uint_eq(value.len, VALUE_BYTES);
        n = (unsigned)strtoul(buf_cstr(&value), NULL, 10);
    }
    buf_close(&value);
    return n;
}

static void verify_rows(struct workload *l)
{
    for (int w = 0; w < WRITERS; w++)
        for (int r = 0; r < ROWS; r++) {
            const struct row_state *s = &l->rows[w][r];
            char name[32];
            unsigned a;
            row_name(name, w, r);
            a = shown(l, name, "a");
            ck_assert_msg(a == shown(l, name, "b"), "row %s is half there",
                          name);
            ck_assert_msg(a >= s->acked,
                          "row %s: %u was acknowledged, %u found", name,
                          s->acked, a);
            ck_assert_msg(a <= s->attempted, "row %s: %u was never written",
                          name, a);
        }
}

/* Open what the crash left, look at it, write more, and look again. */
static void verify(void *arg)
{
    struct workload *l = arg;
    struct quarry_options opts = options;
    opts.world = l->world;
    for (int round = 0; round < 2; round++) {
        l->rc = quarry_open("file:/db", &opts, &l->quarry, &l->err);
        ck_assert_msg(l->rc == 0, "%s", l->err.text);
        l->rc = quarry_table_open(l->quarry, "t", &l->table, &l->err);
        ck_assert_msg(l->rc == 0 || !l->created, "%s", l->err.text);
        if (l->rc == 0) {
            verify_rows(l);
            for (int w = 0; w < WRITERS; w++) {
                struct row_state *s = &l->rows[w][0];
                unsigned n = ++s->attempted;
                ck_assert_int_eq(write_number(l, w, 0, n, NULL), 0);
                s->acked = n;
            }
            verify_rows(l);
            quarry_table_close(l->table);
        }
        quarry_close(l->quarry);
    }
}

/* --- Sweeps -------------------------------------------------------------- */

typedef void (*cut_fn)(struct world *w, uint64_t n);

/* One workload with the power cut at the @n-th event; false when it ended
 * before that. */
static bool crash_once(uint64_t seed, cut_fn cut, uint64_t n)
{
    const struct sim_options so = {
        .seed = seed + n, .write_us = 5, .sync_us = 50, .name_us = 5};
    struct workload l = {.seed = seed};
    bool off;
    l.world = sim_world_new(&so);
    cut(l.world, n);
    sim_run(l.world, work, &l);
    off = sim_is_off(l.world);
    sim_power_on(l.world);
    sim_run(l.world, verify, &l);
    world_free(l.world);
    return off;
}

/* --- Tests --------------------------------------------------------------- */

/* The power goes at the first, second, third … sync of the same workload. */
START_TEST(test_power_lost_at_every_sync)
{
    uint64_t seed = test_seed();
    uint64_t n = 1;
    while (crash_once(seed, sim_power_off_at_sync, n))
        n++;
    printf("%llu syncs\n", (unsigned long long)n - 1);
    ck_assert_uint_gt(n, 50);
}

END_TEST

/* The power goes at random writes and operations of other workloads. */
START_TEST(test_power_lost_at_random_operations)
{
    uint64_t seed = test_seed();
    struct rand_gen r;
    rand_init(&r, seed);
    for (int i = 0; i < 60; i++) {
        uint64_t n = 1 + rand_below(&r, 400);
        crash_once(seed + 1000 + (uint64_t)i,
                   i % 2 ? sim_power_off_at_write : sim_power_off_at_op, n);
    }
}

END_TEST

TEST_MAIN("crash_engine",
          test_power_lost_at_every_sync,
          test_power_lost_at_random_operations)
