/* How long a table keeps its changes: by age, by bytes, from the day they are
 * turned on, beyond the rows that are dropped; how they are told where a row is
 * larger than memory, or nobody writes; and that a replay which fills memtables
 * loses nothing. In the simulated world. */
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "bigtable/quarry.h"
#include "tests/lib/check_main.h"

static struct err err;

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

struct changed_table {
    struct world *world;
    struct quarry *q;
    struct quarry_table *t;
};

static int open_store(struct changed_table *r)
{
    const struct quarry_options o = {.world = r->world, .background_tasks = 1};
    int rc = quarry_open("file:/q", &o, &r->q, &err);
    if (rc == 0)
        rc = quarry_table_open(r->q, "t", &r->t, &err);
    return rc;
}

/* @changes: the setting; NULL: none. */
static void create_table(struct changed_table *r, const char *changes)
{
    const struct quarry_options o = {.world = r->world, .background_tasks = 1};
    const struct quarry_family_spec f[] = {{"a", ""}, {"b", "group=g"}};
    const struct quarry_group_spec g = {"g", ""};
    OK(quarry_open("file:/q", &o, &r->q, &err));
    OK(quarry_table_create_with_changes(r->q, "t", f, 2, &g, 1, changes, &err));
    OK(quarry_table_open(r->q, "t", &r->t, &err));
}

static void close_store(struct changed_table *r)
{
    quarry_table_close(r->t);
    quarry_close(r->q);
}

static struct changed_table *world_begin(void)
{
    struct changed_table *r = mem_zalloc(1, sizeof(*r));
    r->world = sim_world_new(&(struct sim_options){.seed = test_seed()});
    return r;
}

static void world_end(struct changed_table *r)
{
    world_free(r->world);
    mem_free(r);
}

static void run_alone(void (*fn)(void *arg))
{
    struct changed_table *r = world_begin();
    sim_run(r->world, fn, r);
    world_end(r);
}

/* --- one row with more than memory holds at once ------------------------- */

static void write_large_row(void *arg)
{
    static char value[16 << 10];
    struct changed_table *r = arg;
    const struct quarry_write_options o = {.durability = QUARRY_LOGGED};
    const struct quarry_changes_options from = {.since_us =
                                                    QUARRY_CHANGES_OLDEST};
    const struct quarry_change *list;
    struct quarry_changes *c;
    size_t next = 0;
    size_t count;
    create_table(r, "7d");
    memset(value, 'v', sizeof(value));
    for (size_t i = 0; i < 1500; i++) {
        struct quarry_mutation *m = quarry_mutation_new(SLICE_LIT("hot"));
        for (size_t k = 0; k < 1 + i % 2; k++)
            quarry_mutation_set(m, k ? "b" : "a", SLICE_LIT("q"), (int64_t)i,
                                slice_make(value, sizeof(value)));
        OK(quarry_apply(r->t, m, &o, &err));
        quarry_mutation_free(m);
    }
    OK(quarry_table_compact(r->q, "t", &err));
    OK(quarry_changes_open(r->t, &from, &c, &err));
    do {
        OK(quarry_changes_next(c, 0, &list, &count, &err));
        for (size_t i = 0; i < count; i++, next++) {
            ck_assert_uint_eq(list[i].entry_count, 1 + next % 2);
            ck_assert_int_eq(list[i].entries[0].timestamp_us, (int64_t)next);
        }
    } while (count);
    ck_assert_uint_eq(next, 1500);
    quarry_changes_close(c);
    close_store(r);
}

START_TEST(test_a_row_may_be_larger_than_memory)
{
    run_alone(write_large_row);
}

END_TEST

/* --- a replay that fills memtables --------------------------------------- */

enum {
    REPLAYED = 60,
    REPLAYED_BYTES = 40000
};

static void open_two_groups(struct changed_table *r, bool fresh)
{
    const struct quarry_options o = {.world = r->world, .background_tasks = 1};
    const struct quarry_family_spec f[] = {{"a", "group=x"}, {"b", "group=g"}};
    const struct quarry_group_spec g[] = {{"x", "memtable=1MiB"},
                                          {"g", "memtable=64MiB"}};
    OK(quarry_open("file:/q", &o, &r->q, &err));
    if (fresh)
        OK(quarry_table_create(r->q, "t", f, 2, g, 2, &err));
    OK(quarry_table_open(r->q, "t", &r->t, &err));
}

/* One group is flushed far beyond the other. */
static void fill_one_group(void *arg)
{
    static char value[REPLAYED_BYTES];
    const struct quarry_alter small = {QUARRY_UPDATE_GROUP, "g",
                                       "memtable=1MiB"};
    struct changed_table *r = arg;
    open_two_groups(r, true);
    memset(value, 'v', sizeof(value));
    for (int i = 0; i < REPLAYED; i++) {
        struct quarry_mutation *m = quarry_mutation_new(SLICE_LIT("row"));
        quarry_mutation_set(m, i < REPLAYED / 2 ? "b" : "a", SLICE_LIT("q"), i,
                            slice_make(value, sizeof(value)));
        if (i == REPLAYED - 1)
            quarry_mutation_set(m, "b", SLICE_LIT("last"), 1, SLICE_LIT("x"));
        OK(quarry_apply(r->t, m, NULL, &err));
        quarry_mutation_free(m);
    }
    world_sleep_us(r->world, 5000000); /* For the flush of the first. */
    OK(quarry_table_alter(r->q, "t", &small, 1, &err));
    sim_power_off(r->world);
    close_store(r);
}

static void open_and_cut(void *arg)
{
    struct changed_table *r = arg;
    open_two_groups(r, false);
    world_sleep_us(r->world, 5000000); /* For the flushes. */
    sim_power_off(r->world);
    close_store(r);
}

static void count_cells(void *arg)
{
    struct changed_table *r = arg;
    struct quarry_row *row;
    open_two_groups(r, false);
    OK(quarry_read_row(r->t, SLICE_LIT("row"), NULL, &row, &err));
    ck_assert_ptr_nonnull(row);
    ck_assert_uint_eq(row->cell_count, REPLAYED + 1);
    quarry_row_free(row);
    close_store(r);
}

START_TEST(test_a_replay_that_fills_memtables_loses_nothing)
{
    struct changed_table *r = world_begin();
    sim_run(r->world, fill_one_group, r);
    for (int i = 0; i < 2; i++) {
        sim_power_on(r->world);
        sim_run(r->world, open_and_cut, r);
    }
    sim_power_on(r->world);
    sim_run(r->world, count_cells, r);
    world_end(r);
}

END_TEST

/* --- how long they are kept ---------------------------------------------- */

static void
write_row(struct changed_table *r, const char *row, const char *value)
{
    struct quarry_mutation *m = quarry_mutation_new(slice_str(row));
    quarry_mutation_set(m, "a", SLICE_LIT("q"), QUARRY_NOW, slice_str(value));
    OK(quarry_apply(r->t, m, NULL, &err));
    quarry_mutation_free(m);
}

/* The values of all changes since @us, separated by blanks. */
static int values_since(struct changed_table *r, int64_t us, struct buf *out)
{
    const struct quarry_changes_options o = {.since_us = us};
    const struct quarry_change *list;
    struct quarry_changes *c;
    size_t count = 1;
    int rc = quarry_changes_open(r->t, &o, &c, &err);
    buf_clear(out);
    while (rc == 0 && count) {
        rc = quarry_changes_next(c, 0, &list, &count, &err);
        for (size_t i = 0; rc == 0 && i < count; i++)
            buf_printf(out, "%.*s ", (int)list[i].entries[0].value.len,
                       list[i].entries[0].value.data);
    }
    quarry_changes_close(c);
    return rc;
}

#define HOUR_US (INT64_C(3600) * 1000000)

static void keep_for_an_hour(void *arg)
{
    struct changed_table *r = arg;
    struct buf values = BUF_INIT;
    int64_t begin_us;
    int64_t later_us;
    create_table(r, "1h");
    begin_us = (int64_t)world_now_us(r->world);
    write_row(r, "a", "one");
    world_sleep_us(r->world, HOUR_US / 2);
    later_us = (int64_t)world_now_us(r->world);
    write_row(r, "a", "two");
    OK(quarry_table_compact(r->q, "t", &err));
    write_row(r, "a", "three");
    OK(values_since(r, begin_us, &values));
    ck_assert_str_eq(buf_cstr(&values), "one two three ");
    OK(values_since(r, later_us, &values));
    ck_assert_str_eq(buf_cstr(&values), "two three ");
    OK(values_since(r, (int64_t)world_now_us(r->world) + 1, &values));
    ck_assert_str_eq(buf_cstr(&values), "");
    /* Too old: the next compaction removes them. */
    world_sleep_us(r->world, 2 * HOUR_US);
    OK(quarry_table_compact(r->q, "t", &err));
    write_row(r, "b", "four");
    ck_assert_int_eq(values_since(r, begin_us, &values), ERR_EXHAUSTED);
    ck_assert_ptr_nonnull(strstr(err.hint, "from"));
    OK(values_since(r, QUARRY_CHANGES_OLDEST, &values));
    ck_assert_str_eq(buf_cstr(&values), "four ");
    buf_close(&values);
    close_store(r);
}

static void keep_few_bytes(void *arg)
{
    struct changed_table *r = arg;
    struct buf values = BUF_INIT;
    create_table(r, "7d,max=1");
    write_row(r, "a", "one");
    OK(quarry_table_compact(r->q, "t", &err));
    write_row(r, "a", "two");
    OK(quarry_table_compact(r->q, "t", &err));
    write_row(r, "a", "three");
    OK(values_since(r, QUARRY_CHANGES_OLDEST, &values));
    ck_assert_str_eq(buf_cstr(&values), "three ");
    close_store(r);
    OK(open_store(r));
    OK(values_since(r, QUARRY_CHANGES_OLDEST, &values));
    ck_assert_str_eq(buf_cstr(&values), "three ");
    buf_close(&values);
    close_store(r);
}

static void turn_on_and_off(void *arg)
{
    struct changed_table *r = arg;
    const struct quarry_alter on = {QUARRY_SET_CHANGES, "2h", ""};
    const struct quarry_alter off = {QUARRY_SET_CHANGES, "off", ""};
    struct buf values = BUF_INIT;
    create_table(r, NULL);
    write_row(r, "a", "one");
    ck_assert_int_eq(values_since(r, 0, &values), ERR_UNSUPPORTED);
    OK(quarry_table_alter(r->q, "t", &on, 1, &err));
    write_row(r, "a", "two");
    OK(quarry_table_compact(r->q, "t", &err));
    OK(values_since(r, QUARRY_CHANGES_OLDEST, &values));
    ck_assert_str_eq(buf_cstr(&values), "two ");
    close_store(r);
    OK(open_store(r));
    write_row(r, "a", "three");
    OK(values_since(r, QUARRY_CHANGES_OLDEST, &values));
    ck_assert_str_eq(buf_cstr(&values), "two three ");
    OK(quarry_table_alter(r->q, "t", &off, 1, &err));
    ck_assert_int_eq(values_since(r, 0, &values), ERR_UNSUPPORTED);
    write_row(r, "a", "four");
    OK(quarry_table_alter(r->q, "t", &on, 1, &err));
    write_row(r, "a", "five");
    OK(values_since(r, QUARRY_CHANGES_OLDEST, &values));
    ck_assert_str_eq(buf_cstr(&values), "five ");
    buf_close(&values);
    close_store(r);
}

/* Rows that are dropped take their cells along, and not their changes. */
static void drop_rows(void *arg)
{
    struct changed_table *r = arg;
    struct buf values = BUF_INIT;
    create_table(r, "7d");
    write_row(r, "a", "one");
    OK(quarry_flush(r->q, &err));
    write_row(r, "b", "two");
    OK(quarry_table_drop_rows(r->q, "t", SLICE_EMPTY, SLICE_EMPTY, &err));
    write_row(r, "c", "three");
    OK(values_since(r, QUARRY_CHANGES_OLDEST, &values));
    ck_assert_str_eq(buf_cstr(&values), "one two three ");
    buf_close(&values);
    close_store(r);
}

/* The watermark of a table that nobody writes to follows the clock. */
static void wait_idle(void *arg)
{
    struct changed_table *r = arg;
    const struct quarry_change *list;
    struct quarry_changes *c;
    size_t count;
    int64_t begin_us;
    create_table(r, "7d");
    write_row(r, "a", "one");
    OK(quarry_changes_open(r->t, NULL, &c, &err));
    begin_us = (int64_t)world_now_us(r->world);
    OK(quarry_changes_next(c, 5000000, &list, &count, &err));
    ck_assert_uint_eq(count, 0);
    ck_assert_int_ge((int64_t)world_now_us(r->world) - begin_us, 5000000);
    ck_assert_int_ge(quarry_changes_watermark(c), begin_us + 4000000);
    write_row(r, "a", "two");
    OK(quarry_changes_next(c, 5000000, &list, &count, &err));
    ck_assert_uint_eq(count, 1);
    ck_assert_int_gt(list[0].commit_us, begin_us + 4000000);
    quarry_changes_close(c);
    close_store(r);
}

START_TEST(test_changes_go_when_they_are_too_old)
{
    run_alone(keep_for_an_hour);
}

END_TEST

START_TEST(test_changes_go_when_they_are_too_many)
{
    run_alone(keep_few_bytes);
}

END_TEST

START_TEST(test_a_table_begins_and_ends_to_keep_changes)
{
    run_alone(turn_on_and_off);
}

END_TEST

START_TEST(test_dropped_rows_leave_their_changes)
{
    run_alone(drop_rows);
}

END_TEST

START_TEST(test_the_watermark_of_an_idle_table_rises)
{
    run_alone(wait_idle);
}

END_TEST

TEST_MAIN("changes_kept",
          test_a_row_may_be_larger_than_memory,
          test_a_replay_that_fills_memtables_loses_nothing,
          test_changes_go_when_they_are_too_old,
          test_changes_go_when_they_are_too_many,
          test_a_table_begins_and_ends_to_keep_changes,
          test_dropped_rows_leave_their_changes,
          test_the_watermark_of_an_idle_table_rises)
