/* Reads of single rows and cells of a cluster: many in one call, or many users'
 * in one, each with its own outcome, whatever becomes of the others. */
#include "base/core/rand.h"
#include "tests/unit/client/fake_cluster.h"

static struct err err;

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

/* --- Fixture ------------------------------------------------------------- */

enum {
    ROWS = 400,
    SERVERS = 3
};

static struct fake *fake;
static struct quarry *quarry;
static struct quarry_table *table;
static bool present[ROWS]; /* The model: such a row's value is its number. */

static const char *name_of(int i, char row[16])
{
    snprintf(row, 16, "r%03d", i);
    return row;
}

static void on_filled(void *arg, int code, const struct err *e)
{
    (void)arg;
    ck_assert_msg(code == 0, "%s", e->text);
}

/* Every third row is not there. */
static void begin(uint64_t timeout_us)
{
    static const struct quarry_family_spec families[] = {{"a", ""}, {"b", ""}};
    const struct quarry_options o = {.timeout_us = timeout_us};
    char row[16];
    fake = fake_new(SERVERS);
    OK(quarry_open(fake_target(fake), &o, &quarry, &err));
    OK(quarry_table_create(quarry, "t", families, 2, NULL, 0, &err));
    OK(quarry_table_open(quarry, "t", &table, &err));
    for (int i = 0; i < ROWS; i++) {
        struct quarry_mutation *m;
        present[i] = i % 3 > 0;
        if (!present[i])
            continue;
        m = quarry_mutation_new(slice_str(name_of(i, row)));
        quarry_mutation_set(m, "a", SLICE_LIT("q"), 1000, slice_str(row + 1));
        quarry_apply_async(table, m, NULL, on_filled, NULL);
        quarry_mutation_free(m);
    }
    quarry_drain(quarry);
}

static void end(void)
{
    quarry_table_close(table);
    quarry_close(quarry);
    fake_free(fake);
}

static uint64_t counter(const char *name)
{
    struct quarry_counter c[QUARRY_COUNTERS_MAX];
    size_t n = quarry_counters(quarry, c);
    for (size_t i = 0; i < n; i++)
        if (strcmp(c[i].name, name) == 0)
            return c[i].value;
    ck_abort_msg("no counter %s", name);
    return 0;
}

/* @row is what the model has at @i. */
static void expect_row(int i, const struct quarry_row *row)
{
    char name[16];
    if (!present[i]) {
        ck_assert_ptr_null(row);
        return;
    }
    ck_assert_ptr_nonnull(row);
    ck_assert(slice_eq_str(row->key, name_of(i, name)));
    ck_assert_uint_eq(row->cell_count, 1);
    ck_assert(slice_eq_str(row->cells[0].value, name + 1));
}

static void split_at(int i)
{
    char row[16];
    fake_split(fake, "t", slice_str(name_of(i, row)));
}

/* --- Many rows at once --------------------------------------------------- */

struct asked {
    size_t count;
    int rows[ROWS];
    char names[ROWS][16];
    struct slice keys[ROWS];
    struct quarry_row *got[ROWS];
};

static void ask(struct asked *a, struct rand_gen *r)
{
    a->count = rand_below(r, rand_one_in(r, 2) ? 20 : ROWS + 1);
    for (size_t i = 0; i < a->count; i++) {
        a->rows[i] = (int)rand_below(r, ROWS);
        a->keys[i] = slice_str(name_of(a->rows[i], a->names[i]));
    }
}

static void trouble(struct rand_gen *r)
{
    char row[16];
    if (rand_one_in(r, 3))
        atomic_store(&fake->faults.refuse, (int)rand_below(r, 3));
    if (rand_one_in(r, 3))
        atomic_store(&fake->faults.move_on_read, (int)rand_below(r, 4));
    if (rand_one_in(r, 6))
        fake_move(fake, "t", slice_str(name_of((int)rand_below(r, ROWS), row)));
    fake->each_bytes = rand_one_in(r, 3) ? rand_below(r, 2000) : 0;
}

/* Rows asked for in any order, some twice, come as the model has them, while
 * tablets move and calls are refused or have no room for all. */
START_TEST(test_rows_are_those_of_a_model)
{
    const char *family = "a";
    const struct quarry_read_options o = {
        .families = &family, .family_count = 1, .versions = 1};
    struct asked *a = mem_zalloc(1, sizeof(*a));
    struct rand_gen r;
    rand_init(&r, test_seed());
    begin(30000000);
    for (int i = 50; i < ROWS; i += 50)
        split_at(i);
    for (int round = 0; round < 60; round++) {
        trouble(&r);
        ask(a, &r);
        OK(quarry_read_rows(table, a->keys, a->count,
                            rand_one_in(&r, 2) ? &o : NULL, a->got, &err));
        for (size_t i = 0; i < a->count; i++) {
            expect_row(a->rows[i], a->got[i]);
            quarry_row_free(a->got[i]);
        }
    }
    mem_free(a);
    end();
}

END_TEST

/* All rows of one server take one call, however many tablets they are in. */
START_TEST(test_rows_of_a_server_take_one_call)
{
    struct asked *a = mem_zalloc(1, sizeof(*a));
    uint64_t before;
    begin(30000000);
    for (int i = 0; i < 200; i++) {
        a->rows[i] = i;
        a->keys[i] = slice_str(name_of(i, a->names[i]));
    }
    for (int turn = 0; turn < 2; turn++) {
        before = atomic_load(&fake->each_calls);
        OK(quarry_read_rows(table, a->keys, 200, NULL, a->got, &err));
        for (size_t i = 0; i < 200; i++) {
            expect_row(a->rows[i], a->got[i]);
            quarry_row_free(a->got[i]);
        }
    }
    ck_assert_uint_eq(atomic_load(&fake->each_calls) - before, 1);
    mem_free(a);
    end();
}

END_TEST

/* A row that may not be read fails the call with its reason, and no row of it
 * is left to the caller. */
START_TEST(test_rows_fail_with_one)
{
    struct slice keys[] = {SLICE_LIT("r001"), SLICE_LIT("x"),
                           SLICE_LIT("r002")};
    struct quarry_row *rows[3];
    begin(30000000);
    fake->denied = 'x';
    ck_assert_int_eq(quarry_read_rows(table, keys, 3, NULL, rows, &err),
                     ERR_DENIED);
    ck_assert_str_eq(err.text, "not row x");
    for (int i = 0; i < 3; i++)
        ck_assert_ptr_null(rows[i]);
    keys[1] = SLICE_EMPTY;
    ck_assert_int_eq(quarry_read_rows(table, keys, 3, NULL, rows, &err),
                     ERR_INVALID);
    OK(quarry_read_rows(table, keys, 0, NULL, rows, &err));
    end();
}

END_TEST

/* --- Many users ---------------------------------------------------------- */

struct outcome {
    int row; /* Negative: one that is denied. */
    int code;
    struct quarry_row *got;
    char text[64];
};

static void
on_row(void *arg, int code, struct quarry_row *row, const struct err *e)
{
    struct outcome *o = arg;
    o->code = code;
    o->got = row;
    if (code)
        snprintf(o->text, sizeof(o->text), "%.60s", e->text);
}

/* Reads of many that are under way at once go together: while tablets move and
 * calls are refused, each has its own outcome, refusals of its row among them.
 */
START_TEST(test_reads_share_calls)
{
    static struct outcome outcomes[900];
    struct rand_gen r;
    char row[32];
    rand_init(&r, test_seed());
    begin(30000000);
    split_at(ROWS / 2);
    fake->denied = 'x';
    for (int i = 0; i < 900; i++) {
        struct outcome *o = &outcomes[i];
        if (i % 100 == 0)
            trouble(&r);
        o->row = i % 70 == 69 ? -1 : (int)rand_below(&r, ROWS);
        snprintf(row, sizeof(row), "x%03d", i);
        if (o->row >= 0)
            name_of(o->row, row);
        quarry_read_row_async(table, slice_str(row), NULL, on_row, o);
    }
    quarry_drain(quarry);
    ck_assert_uint_gt(counter("reads_shared"), 0);
    for (int i = 0; i < 900; i++) {
        struct outcome *o = &outcomes[i];
        snprintf(row, sizeof(row), "not row x%03d", i);
        ck_assert_msg(o->code == (o->row < 0 ? ERR_DENIED : 0), "%s", o->text);
        if (o->row < 0)
            ck_assert_str_eq(o->text, row);
        else
            expect_row(o->row, o->got);
        quarry_row_free(o->got);
    }
    end();
}

END_TEST

/* A call that is answered too late fails those whose time it was, and not those
 * who came later and waited for it. */
START_TEST(test_late_calls_fail_nobody_else)
{
    static struct outcome outcomes[40];
    char row[16];
    begin(2000000);
    fake->late_us = 3000000;
    atomic_store(&fake->faults.late, 2);
    for (int i = 0; i < 40; i++) {
        outcomes[i].row = i;
        quarry_read_row_async(table, slice_str(name_of(i, row)), NULL, on_row,
                              &outcomes[i]);
        if (i < 2) /* Each in a call of its own. */
            while (atomic_load(&fake->faults.late) > 1 - i)
                world_sleep_us(fake->world, 1000);
        if (i == 1)
            world_sleep_us(fake->world, 1000000);
    }
    quarry_drain(quarry);
    for (int i = 0; i < 40; i++) {
        ck_assert_int_eq(outcomes[i].code, i < 2 ? ERR_DEADLINE : 0);
        if (i >= 2)
            expect_row(i, outcomes[i].got);
        quarry_row_free(outcomes[i].got);
    }
    end();
}

END_TEST

TEST_MAIN("single_rows",
          test_rows_are_those_of_a_model,
          test_rows_of_a_server_take_one_call,
          test_rows_fail_with_one,
          test_reads_share_calls,
          test_late_calls_fail_nobody_else)
