/* Reads of the past against an obvious model: what a scan said then. Rows are
 * written, deleted, dropped, loaded by nobody else, flushed, compacted, split,
 * reopened and collected, and as of any moment that is kept the table is what
 * it was. In the simulated world. */
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "bigtable/quarry.h"
#include "tests/lib/check_main.h"

enum {
    ROWS = 7,
    MOMENTS_MAX = 400
};

#define MINUTE_US INT64_C(60000000)

static struct err err;

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

struct moment {
    int64_t us;
    struct buf rows; /* As text. */
};

struct past_run {
    struct world *world;
    struct rand_gen rand;
    struct quarry *q;
    struct quarry_table *t;
    struct moment moments[MOMENTS_MAX];
    size_t moment_count;
    size_t steps;
    int64_t kept_us;   /* Moments of before may be gone. */
    size_t seen_count; /* Moments that were compared. */
    const char *changes;
};

static int64_t now_us(const struct past_run *r)
{
    return (int64_t)world_now_us(r->world);
}

/* Time passes between moments, so that each has one of its own. */
static void tick(struct past_run *r)
{
    world_sleep_us(r->world, 1 + rand_below(&r->rand, 2000000));
}

static void past_open(struct past_run *r)
{
    const struct quarry_options o = {.world = r->world, .background_tasks = 1};
    OK(quarry_open("file:/q", &o, &r->q, &err));
    OK(quarry_table_open(r->q, "t", &r->t, &err));
}

static void past_close(struct past_run *r)
{
    quarry_table_close(r->t);
    quarry_close(r->q);
    r->t = NULL;
    r->q = NULL;
}

static void past_create(struct past_run *r)
{
    const struct quarry_options o = {.world = r->world, .background_tasks = 1};
    const struct quarry_family_spec f[] = {
        {"a", "versions=2"}, {"b", "group=g"}, {"c", "ttl=20m"}};
    const struct quarry_group_spec g = {"g", ""};
    OK(quarry_open("file:/q", &o, &r->q, &err));
    OK(quarry_table_create_with_changes(r->q, "t", f, 3, &g, 1, r->changes,
                                        &err));
    OK(quarry_table_open(r->q, "t", &r->t, &err));
}

/* --- reading ------------------------------------------------------------- */

static void row_text(const struct quarry_row *row, struct buf *out)
{
    buf_append_slice(out, row->key);
    for (size_t i = 0; i < row->cell_count; i++)
        buf_printf(out, " %.*s:%.*s@%lld=%.*s", SLICE_ARG(row->cells[i].family),
                   SLICE_ARG(row->cells[i].qualifier),
                   (long long)row->cells[i].timestamp_us,
                   SLICE_ARG(row->cells[i].value));
    buf_append_byte(out, '\n');
}

/* All rows as of @us; 0: now. */
static int rows_at(struct past_run *r, int64_t us, struct buf *out)
{
    const struct quarry_read_options o = {.as_of_us = us};
    const struct quarry_row *row = NULL;
    struct quarry_scanner *s;
    int rc = quarry_scan(r->t, &o, &s, &err);
    buf_clear(out);
    while (rc == 0) {
        rc = quarry_scanner_next(s, &row, &err);
        if (rc || !row)
            break;
        row_text(row, out);
    }
    quarry_scanner_close(s);
    return rc;
}

/* One row at a time, as get does. */
static int each_row_at(struct past_run *r, int64_t us, struct buf *out)
{
    int rc = 0;
    buf_clear(out);
    for (char name = 'a'; rc == 0 && name < 'a' + ROWS; name++) {
        const struct quarry_read_options o = {.as_of_us = us};
        struct quarry_row *row = NULL;
        rc = quarry_read_row(r->t, slice_make(&name, 1), &o, &row, &err);
        if (rc == 0 && row)
            row_text(row, out);
        quarry_row_free(row);
    }
    return rc;
}

static void keep_moment(struct past_run *r)
{
    struct moment *m = &r->moments[r->moment_count];
    if (r->moment_count == MOMENTS_MAX)
        return;
    tick(r);
    OK(rows_at(r, 0, &m->rows));
    m->us = now_us(r);
    r->moment_count++;
    tick(r);
}

static void compare_moment(struct past_run *r)
{
    struct buf rows = BUF_INIT;
    struct moment *m;
    int rc;
    if (r->moment_count == 0)
        return;
    m = &r->moments[rand_below(&r->rand, r->moment_count)];
    rc = rand_one_in(&r->rand, 2) ? rows_at(r, m->us, &rows)
                                  : each_row_at(r, m->us, &rows);
    if (rc == ERR_EXHAUSTED && m->us < now_us(r) - r->kept_us) {
        ck_assert_ptr_nonnull(strstr(err.hint, "earliest"));
    } else {
        ck_assert_msg(rc == 0, "%s", err.text);
        ck_assert_str_eq(buf_cstr(&rows), buf_cstr(&m->rows));
        r->seen_count++;
    }
    buf_close(&rows);
}

/* --- steps --------------------------------------------------------------- */

static void put_entry(struct past_run *r, struct quarry_mutation *m)
{
    static const char *const families[] = {"a", "b", "c"};
    static const char *const qualifiers[] = {"", "p", "pq"};
    const char *family = families[rand_below(&r->rand, 3)];
    struct slice q = slice_str(qualifiers[rand_below(&r->rand, 3)]);
    int64_t us = rand_one_in(&r->rand, 2)
                     ? QUARRY_NOW
                     : (int64_t)rand_below(&r->rand, 4) * 1000;
    char value[24];
    snprintf(value, sizeof(value), "%llu",
             (unsigned long long)rand_below(&r->rand, 1000));
    switch (rand_below(&r->rand, 12)) {
    case 0: quarry_mutation_delete_row(m); break;
    case 1: quarry_mutation_delete_family(m, family); break;
    case 2: quarry_mutation_delete_cells(m, family, q, 0, 0); break;
    case 3: quarry_mutation_delete_cells(m, family, q, 0, 2000); break;
    default: quarry_mutation_set(m, family, q, us, slice_str(value)); break;
    }
}

static void put_row(struct past_run *r)
{
    char name = (char)('a' + rand_below(&r->rand, ROWS));
    struct quarry_mutation *m = quarry_mutation_new(slice_make(&name, 1));
    size_t count = 1 + rand_below(&r->rand, 4);
    for (size_t i = 0; i < count; i++)
        put_entry(r, m);
    OK(quarry_apply(r->t, m, NULL, &err));
    quarry_mutation_free(m);
}

static void split_or_drop(struct past_run *r)
{
    char from = (char)('b' + rand_below(&r->rand, ROWS - 2));
    char to = (char)(from + 1);
    if (rand_one_in(&r->rand, 3))
        OK(quarry_table_drop_rows(r->q, "t", slice_make(&from, 1),
                                  slice_make(&to, 1), &err));
    else
        OK(quarry_table_split(r->q, "t", slice_make(&from, 1), &err));
}

static void past_step(struct past_run *r)
{
    switch (rand_below(&r->rand, 16)) {
    case 0: OK(quarry_flush(r->q, &err)); break;
    case 1: OK(quarry_table_compact(r->q, "t", &err)); break;
    case 2:
        if (rand_one_in(&r->rand, 4))
            split_or_drop(r);
        break;
    case 3:
        if (rand_one_in(&r->rand, 2)) {
            past_close(r);
            past_open(r);
        }
        break;
    case 4:
        world_sleep_us(r->world, rand_below(&r->rand, 6 * MINUTE_US));
        break;
    case 5:
    case 6: keep_moment(r); break;
    case 7:
    case 8: compare_moment(r); break;
    default: put_row(r); break;
    }
}

static void past_work(void *arg)
{
    struct past_run *r = arg;
    past_create(r);
    for (size_t i = 0; i < r->steps; i++)
        past_step(r);
    for (size_t i = 0; i < r->moment_count; i++)
        compare_moment(r);
    past_close(r);
}

static void run_past(uint64_t seed, size_t steps, const char *changes)
{
    struct past_run *r = mem_zalloc(1, sizeof(*r));
    r->steps = steps;
    r->changes = changes;
    r->kept_us = strcmp(changes, "1h") == 0 ? 60 * MINUTE_US : INT64_MAX / 4;
    rand_init(&r->rand, seed);
    r->world = sim_world_new(&(struct sim_options){.seed = seed});
    sim_run(r->world, past_work, r);
    world_free(r->world);
    ck_assert_uint_gt(r->seen_count, 0);
    for (size_t i = 0; i < r->moment_count; i++)
        buf_close(&r->moments[i].rows);
    mem_free(r);
}

START_TEST(test_the_past_is_what_it_was)
{
    for (uint64_t i = 0; i < 10; i++)
        run_past(test_seed() + i, 250, "7d");
}

END_TEST

/* The floor moves while older moments are asked for. */
START_TEST(test_the_past_is_right_or_not_kept)
{
    for (uint64_t i = 0; i < 6; i++)
        run_past(test_seed() + 100 + i, 500, "1h");
}

END_TEST

/* --- single cases -------------------------------------------------------- */

static void set_cell(struct past_run *r, const char *value, int64_t us)
{
    struct quarry_mutation *m = quarry_mutation_new(SLICE_LIT("row"));
    quarry_mutation_set(m, "b", SLICE_LIT("q"), us, slice_str(value));
    OK(quarry_apply(r->t, m, NULL, &err));
    quarry_mutation_free(m);
    tick(r);
}

static void expect_rows(struct past_run *r, int64_t us, const char *rows)
{
    struct buf got = BUF_INIT;
    OK(rows_at(r, us, &got));
    ck_assert_str_eq(buf_cstr(&got), rows);
    buf_close(&got);
}

/* A table that keeps no changes has its old cells, and no deleted ones. */
static void read_without_changes(void *arg)
{
    const struct quarry_alter on = {QUARRY_SET_CHANGES, "1h", ""};
    struct past_run *r = arg;
    struct buf got = BUF_INIT;
    struct quarry_mutation *m;
    int64_t then_us;
    r->changes = NULL;
    past_create(r);
    tick(r);
    set_cell(r, "one", 1000);
    set_cell(r, "two", 2000);
    expect_rows(r, 1000, "row b:q@1000=one\n");
    expect_rows(r, 999, "");
    m = quarry_mutation_new(SLICE_LIT("row"));
    quarry_mutation_delete_row(m);
    OK(quarry_apply(r->t, m, NULL, &err));
    quarry_mutation_free(m);
    tick(r);
    expect_rows(r, 1000, "");
    ck_assert_int_eq(rows_at(r, -5, &got), ERR_INVALID);
    /* Since it keeps changes, it says what it cannot know. */
    then_us = now_us(r);
    tick(r);
    OK(quarry_table_alter(r->q, "t", &on, 1, &err));
    ck_assert_int_eq(rows_at(r, then_us, &got), ERR_EXHAUSTED);
    ck_assert_ptr_nonnull(strstr(err.hint, "earliest"));
    tick(r);
    expect_rows(r, now_us(r) - 1, "");
    ck_assert_int_eq(rows_at(r, now_us(r) + MINUTE_US, &got), ERR_INVALID);
    buf_close(&got);
    past_close(r);
}

static void run_alone(void (*fn)(void *arg))
{
    struct past_run *r = mem_zalloc(1, sizeof(*r));
    rand_init(&r->rand, test_seed());
    r->world = sim_world_new(&(struct sim_options){.seed = test_seed()});
    sim_run(r->world, fn, r);
    world_free(r->world);
    mem_free(r);
}

START_TEST(test_a_table_without_changes_has_old_cells_alone)
{
    run_alone(read_without_changes);
}

END_TEST

/* Few bytes may be kept: what is older is refused, and never wrong. */
static void read_with_few_bytes(void *arg)
{
    struct past_run *r = arg;
    struct buf got = BUF_INIT;
    int64_t first_us;
    int64_t last_us;
    r->changes = "7d,max=1";
    past_create(r);
    set_cell(r, "one", 1000);
    first_us = now_us(r);
    tick(r);
    set_cell(r, "two", 1000);
    OK(quarry_table_compact(r->q, "t", &err));
    tick(r);
    last_us = now_us(r);
    tick(r);
    set_cell(r, "three", 1000);
    OK(quarry_flush(r->q, &err));
    expect_rows(r, last_us, "row b:q@1000=two\n");
    ck_assert_int_eq(rows_at(r, first_us, &got), ERR_EXHAUSTED);
    OK(quarry_table_compact(r->q, "t", &err));
    ck_assert_int_eq(rows_at(r, last_us, &got), ERR_EXHAUSTED);
    tick(r);
    expect_rows(r, now_us(r) - 1, "row b:q@1000=three\n");
    buf_close(&got);
    past_close(r);
}

START_TEST(test_the_past_goes_when_it_is_too_large)
{
    run_alone(read_with_few_bytes);
}

END_TEST

TEST_MAIN("as_of",
          test_the_past_is_what_it_was,
          test_the_past_is_right_or_not_kept,
          test_a_table_without_changes_has_old_cells_alone,
          test_the_past_goes_when_it_is_too_large)
