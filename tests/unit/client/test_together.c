/* Asynchronous calls of single rows go together, and each has the outcome that
 * it would have had alone. */
#include "tests/unit/client/fake_cluster.h"

static struct err err;

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

/* --- Fixture ------------------------------------------------------------- */

enum {
    CALLS = 600,
    SERVERS = 3,
    ODD = 50 /* One call in fifty fails. */
};

static struct fake *fake;
static struct quarry *quarry;
static struct quarry_table *table;

struct call {
    char row[16];
    atomic_int ended; /* Times it called back. */
    int code;
    char text[256];
    struct quarry_row *found;
};

static struct call calls[CALLS];

static void begin(void)
{
    static const struct quarry_family_spec families[] = {{"a", ""}, {"b", ""}};
    const struct quarry_options o = {.timeout_us = 30000000};
    fake = fake_new(SERVERS);
    OK(quarry_open(fake_target(fake), &o, &quarry, &err));
    OK(quarry_table_create(quarry, "t", families, 2, NULL, 0, &err));
    OK(quarry_table_open(quarry, "t", &table, &err));
    memset(calls, 0, sizeof(calls));
    for (int i = 0; i < CALLS; i++)
        snprintf(calls[i].row, sizeof(calls[i].row), "r%03d", i);
    for (int i = 100; i < CALLS; i += 100)
        fake_split(fake, "t", slice_str(calls[i].row));
}

static void end(void)
{
    for (int i = 0; i < CALLS; i++)
        quarry_row_free(calls[i].found);
    quarry_table_close(table);
    quarry_close(quarry);
    fake_free(fake);
}

/* --- Helpers ------------------------------------------------------------- */

static bool is_odd(int i)
{
    return i % ODD == ODD - 1;
}

static void take(struct call *c, int code, const struct err *e)
{
    c->code = code;
    if (code)
        snprintf(c->text, sizeof(c->text), "%.255s", e->text);
    c->ended++;
}

static void on_written(void *arg, int code, const struct err *e)
{
    take(arg, code, e);
}

static void
on_read(void *arg, int code, struct quarry_row *row, const struct err *e)
{
    struct call *c = arg;
    c->found = row;
    take(c, code, e);
}

/* The odd ones are of a family that there is none of. */
static void write_all(void)
{
    for (int i = 0; i < CALLS; i++) {
        struct quarry_mutation *m =
            quarry_mutation_new(slice_str(calls[i].row));
        quarry_mutation_set(m, is_odd(i) ? "none" : "a", SLICE_LIT("q"),
                            QUARRY_NOW, slice_str(calls[i].row));
        quarry_apply_async(table, m, NULL, on_written, &calls[i]);
        quarry_mutation_free(m);
    }
    quarry_drain(quarry);
}

static void read_all(void)
{
    const struct quarry_read_options o = {.versions = 0};
    for (int i = 0; i < CALLS; i++) {
        calls[i].ended = 0;
        calls[i].code = 0;
        quarry_read_row_async(table,
                              is_odd(i) ? SLICE_EMPTY : slice_str(calls[i].row),
                              &o, on_read, &calls[i]);
    }
    quarry_drain(quarry);
}

/* All ended once; those that are not odd well, the others for their own reason.
 */
static void expect_outcomes(int code, const char *why)
{
    for (int i = 0; i < CALLS; i++) {
        ck_assert_int_eq(calls[i].ended, 1);
        ck_assert_msg(calls[i].code == (is_odd(i) ? code : 0), "%s: %d %s",
                      calls[i].row, calls[i].code, calls[i].text);
        if (is_odd(i))
            ck_assert_msg(strstr(calls[i].text, why) != NULL, "%s",
                          calls[i].text);
    }
}

/* Each row has its one cell, of one time: a write that was tried again, with
 * others or alone, is the same write. */
static void expect_rows(void)
{
    for (int i = 0; i < CALLS; i++) {
        if (is_odd(i)) {
            ck_assert_ptr_null(calls[i].found);
            continue;
        }
        ck_assert_ptr_nonnull(calls[i].found);
        ck_assert(slice_eq_str(calls[i].found->key, calls[i].row));
        ck_assert_uint_eq(calls[i].found->cell_count, 1);
    }
}

/* --- Tests --------------------------------------------------------------- */

/* One mistake among many is one call's failure, with its own text; the others
 * are made. */
START_TEST(test_mistakes_are_their_own)
{
    begin();
    write_all();
    expect_outcomes(ERR_NOTFOUND, "none");
    read_all();
    expect_outcomes(ERR_INVALID, "row");
    expect_rows();
    end();
}

END_TEST

/* Tablets move and calls are refused meanwhile: what failed with others is made
 * by itself, once. */
START_TEST(test_trouble)
{
    begin();
    atomic_store(&fake->faults.refuse, 7);
    write_all();
    expect_outcomes(ERR_NOTFOUND, "none");
    for (int i = 0; i < CALLS; i += 60)
        fake_move(fake, "t", slice_str(calls[i].row));
    atomic_store(&fake->faults.move_on_read, 3);
    fake->each_bytes = 500;
    read_all();
    expect_outcomes(ERR_INVALID, "row");
    expect_rows();
    end();
}

END_TEST

TEST_MAIN("together", test_mistakes_are_their_own, test_trouble)
