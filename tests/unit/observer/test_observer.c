/* Observers: each change has its effect once, wherever a run dies; cycles are
 * refused; a row that fails is put aside with its reason, and tried again on
 * request; nothing is written that was not declared.
 */
#include <stdio.h>
#include <string.h>

#include "base/core/fault.h"
#include "base/runtime/world.h"
#include "bigtable/quarry_observer.h"
#include "tests/lib/check_main.h"
#include "tests/unit/client/test_target.h"

static struct err err;
static struct quarry *q;
static struct quarry_table *pages;
static char target[300];

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)
#define FAILS(call, code)                                                      \
    do {                                                                       \
        int fails_rc = (call);                                                 \
        ck_assert_msg(fails_rc == (code), "%s is %s (%s), not %s", #call,      \
                      err_name(fails_rc), err.text, err_name(code));           \
    } while (0)

static void make_table(const char *name, bool changes)
{
    static const struct quarry_family_spec families[] = {{"f", "versions=1"},
                                                         {"g", "versions=1"}};
    OK(quarry_table_create_with_changes(q, name, families, 2, NULL, 0,
                                        changes ? "7d" : NULL, &err));
    OK(quarry_table_enable_transactions(q, name, &err));
}

static void start(void)
{
    err_init(&err);
    test_new_target(target, sizeof(target));
    OK(test_open(target, NULL, &q, &err));
    make_table("pages", true);
    make_table("sums", true);
    OK(quarry_table_open(q, "pages", &pages, &err));
}

static void finish(void)
{
    fault_disarm_all();
    quarry_table_close(pages);
    quarry_close(q);
}

/* --- helpers ------------------------------------------------------------- */

static int create(const char *name,
                  const char *table,
                  const char *column,
                  const char *writes)
{
    const struct quarry_observer_spec spec = {.name = name,
                                              .table = table,
                                              .columns = &column,
                                              .column_count = 1,
                                              .writes = &writes,
                                              .write_count = 1};
    return quarry_observer_create(q, &spec, &err);
}

static void write_page(const char *row, const char *column, const char *value)
{
    struct quarry_mutation *m = quarry_mutation_new(slice_str(row));
    quarry_mutation_set(m, "f", slice_str(column), QUARRY_NOW,
                        slice_str(value));
    OK(quarry_apply(pages, m, NULL, &err));
    quarry_mutation_free(m);
}

static int run(const char *name, quarry_observer_fn fn)
{
    const struct quarry_observer_run_options o = {.until_caught_up = true};
    return quarry_observer_run(q, name, fn, NULL, &o, &err);
}

static unsigned number(const char *table, const char *row, const char *family)
{
    struct quarry_table *t;
    struct buf value = BUF_INIT;
    bool found;
    unsigned n = 0;
    OK(quarry_table_open(q, table, &t, &err));
    OK(quarry_get(t, slice_str(row), family, SLICE_LIT("n"), &value, &found,
                  &err));
    if (found)
        n = (unsigned)(unsigned char)value.data[0];
    buf_close(&value);
    quarry_table_close(t);
    return n;
}

/* --- observers ----------------------------------------------------------- */

static int write_number(struct quarry_observation *o,
                        const char *table,
                        unsigned n,
                        const char *family,
                        struct err *e)
{
    char byte = (char)n;
    struct quarry_mutation *m = quarry_mutation_new(o->row);
    int rc;
    quarry_mutation_set(m, family, SLICE_LIT("n"), QUARRY_NOW,
                        slice_make(&byte, 1));
    rc = quarry_observer_write(o, table, m, e);
    quarry_mutation_free(m);
    return rc;
}

/* Adds the number of changes of each row up: not idempotent on purpose. */
static int add_up(struct quarry_observation *o, void *ctx, struct err *e)
{
    struct quarry_table *sums;
    struct buf value = BUF_INIT;
    bool found = false;
    unsigned n = 0;
    int rc = quarry_table_open(q, "sums", &sums, e);
    (void)ctx;
    if (rc)
        return rc;
    rc = quarry_txn_get(o->txn, sums, o->row, "f", SLICE_LIT("n"), &value,
                        &found, e);
    if (rc == 0 && found)
        n = (unsigned)(unsigned char)value.data[0];
    if (rc == 0)
        rc = write_number(o, "sums", n + (unsigned)o->change_count, "f", e);
    quarry_table_close(sums);
    buf_close(&value);
    return rc;
}

/* Copies a sum to another family: watches what add_up() writes. */
static int copy_sum(struct quarry_observation *o, void *ctx, struct err *e)
{
    (void)ctx;
    return o->cells
               ? write_number(o, "sums",
                              (unsigned char)o->cells->cells[0].value.data[0],
                              "g", e)
               : 0;
}

static bool row_is_bad = true;

static int fail_on_bad(struct quarry_observation *o, void *ctx, struct err *e)
{
    int rc = add_up(o, ctx, e);
    if (rc == 0 && row_is_bad && slice_eq_str(o->row, "bad"))
        rc = err_set(e, ERR_INVALID, "this row is bad");
    return rc;
}

static int
write_elsewhere(struct quarry_observation *o, void *ctx, struct err *e)
{
    (void)ctx;
    return write_number(o, "pages", 1, "f", e);
}

/* --- tests --------------------------------------------------------------- */

/* The sums are right after a crash at each step, before and after commits. */
START_TEST(test_once_over_crashes)
{
    unsigned written = 0;
    start();
    OK(create("sum", "pages", "f:text", "sums:f"));
    for (uint64_t step = 1; step <= 4; step++) {
        write_page("a", "text", "1");
        write_page("a", "text", "2");
        write_page("a", "other", "unwatched");
        written += 2;
        fault_arm("observer.crash", step, 1);
        OK(run("sum", add_up));
        fault_disarm("observer.crash");
        ck_assert_uint_eq(number("sums", "a", "f"), written);
    }
    finish();
}

END_TEST

/* A chain of two works; what would trigger itself, directly or by another, is
 * refused and leaves no record. */
START_TEST(test_chain_and_cycles)
{
    start();
    FAILS(create("self", "pages", "f:text", "pages:f"), ERR_INVALID);
    FAILS(create("self", "pages", "f", "pages:f:text"), ERR_INVALID);
    OK(create("sum", "pages", "f:text", "sums:f:n"));
    OK(create("copy", "sums", "f:n", "sums:g"));
    FAILS(create("back", "sums", "g", "pages:f:text"), ERR_INVALID);
    ck_assert_msg(strstr(err.text, "back <- ") && strstr(err.text, "sum"), "%s",
                  err.text);
    OK(create("side", "sums", "g", "pages:f:elsewhere"));
    write_page("a", "text", "1");
    OK(run("sum", add_up));
    OK(run("copy", copy_sum));
    ck_assert_uint_eq(number("sums", "a", "g"), 1);
    OK(quarry_observer_drop(q, "side", &err));
    FAILS(quarry_observer_drop(q, "side", &err), ERR_NOTFOUND);
    finish();
}

END_TEST

/* A row that fails is put aside, with nothing of it written, and the others are
 * dealt with; it is tried again on request. */
START_TEST(test_row_is_put_aside)
{
    struct quarry_observer_letter *list;
    size_t n;
    const struct slice bad = SLICE_LIT("bad");
    const struct slice good = SLICE_LIT("good");
    start();
    OK(create("sum", "pages", "f:text", "sums:f"));
    write_page("good", "text", "1");
    write_page("bad", "text", "1");
    write_page("later", "text", "1");
    OK(run("sum", fail_on_bad));
    ck_assert_uint_eq(number("sums", "good", "f"), 1);
    ck_assert_uint_eq(number("sums", "later", "f"), 1);
    ck_assert_uint_eq(number("sums", "bad", "f"), 0);
    OK(quarry_observer_log(q, "sum", &list, &n, &err));
    ck_assert_uint_eq(n, 1);
    ck_assert(slice_eq_str(list[0].row, "bad"));
    ck_assert_str_eq(list[0].error, "this row is bad");
    quarry_observer_letters_free(list, n);
    FAILS(quarry_observer_retry(q, "sum", &good, &err), ERR_NOTFOUND);
    OK(quarry_observer_retry(q, "sum", &bad, &err));
    row_is_bad = false;
    OK(run("sum", fail_on_bad));
    OK(quarry_observer_log(q, "sum", &list, &n, &err));
    ck_assert_uint_eq(n, 0);
    quarry_observer_letters_free(list, n);
    finish();
}

END_TEST

/* Writes that were not declared are refused. */
START_TEST(test_undeclared_write)
{
    struct quarry_observer_letter *list;
    size_t n;
    start();
    OK(create("sum", "pages", "f:text", "sums:f"));
    write_page("a", "text", "1");
    OK(run("sum", write_elsewhere));
    OK(quarry_observer_log(q, "sum", &list, &n, &err));
    ck_assert_uint_eq(n, 1);
    ck_assert_ptr_nonnull(strstr(list[0].error, "does not say that it writes"));
    quarry_observer_letters_free(list, n);
    finish();
}

END_TEST

TEST_MAIN("observer",
          test_once_over_crashes,
          test_chain_and_cycles,
          test_row_is_put_aside,
          test_undeclared_write)
