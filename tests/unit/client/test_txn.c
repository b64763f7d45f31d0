/* Transactions: what interleaved ones see and do to each other, anomaly by
 * anomaly; what a client that dies at any step leaves behind; what is kept for
 * older snapshots. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/fault.h"
#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "bigtable/quarry_txn.h"
#include "bigtable/txn/txn.h"
#include "tests/lib/check_main.h"
#include "tests/unit/client/test_target.h"

static struct err err;
static struct quarry *q;
static struct quarry_table *table;
static struct quarry_table *other;
static char target[300];

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)
#define FAILS(call, code)                                                      \
    do {                                                                       \
        int fails_rc = (call);                                                 \
        ck_assert_msg(fails_rc == (code), "%s is %s (%s), not %s", #call,      \
                      err_name(fails_rc), err.text, err_name(code));           \
    } while (0)

/* --- fixture ------------------------------------------------------------- */

static void reopen(void)
{
    quarry_table_close(table);
    quarry_table_close(other);
    quarry_close(q);
    OK(test_open(target, NULL, &q, &err));
    OK(quarry_table_open(q, "t", &table, &err));
    OK(quarry_table_open(q, "o", &other, &err));
}

static void start(void)
{
    static const struct quarry_family_spec families[] = {{"f", "versions=1"},
                                                         {"g", ""}};
    err_init(&err);
    test_new_target(target, sizeof(target));
    OK(test_open(target, NULL, &q, &err));
    OK(quarry_table_create(q, "t", families, 2, NULL, 0, &err));
    OK(quarry_table_create(q, "o", families, 2, NULL, 0, &err));
    OK(quarry_table_enable_transactions(q, "t", &err));
    OK(quarry_table_enable_transactions(q, "o", &err));
    OK(quarry_table_open(q, "t", &table, &err));
    OK(quarry_table_open(q, "o", &other, &err));
}

static void finish(void)
{
    fault_disarm_all();
    quarry_table_close(table);
    quarry_table_close(other);
    quarry_close(q);
}

/* --- helpers ------------------------------------------------------------- */

static const struct quarry_txn_options serializable = {.serializable = true};

static struct quarry_txn *begin(const struct quarry_txn_options *opts)
{
    struct quarry_txn *t;
    OK(quarry_txn_begin(q, opts, &t, &err));
    return t;
}

static void put_in(struct quarry_txn *t,
                   struct quarry_table *to,
                   const char *row,
                   const char *value)
{
    OK(quarry_txn_put(t, to, slice_str(row), "f", SLICE_LIT("q"),
                      slice_str(value), &err));
}

static void put(struct quarry_txn *t, const char *row, const char *value)
{
    put_in(t, table, row, value);
}

static void expect_in(struct quarry_txn *t,
                      struct quarry_table *from,
                      const char *row,
                      const char *value)
{
    struct buf b = BUF_INIT;
    bool found;
    OK(quarry_txn_get(t, from, slice_str(row), "f", SLICE_LIT("q"), &b, &found,
                      &err));
    ck_assert_msg(found == (value != NULL), "%s %s", row,
                  found ? "is there" : "is not there");
    if (value)
        ck_assert_str_eq(buf_cstr(&b), value);
    buf_close(&b);
}

static void expect(struct quarry_txn *t, const char *row, const char *value)
{
    expect_in(t, table, row, value);
}

static int end(struct quarry_txn *t)
{
    int rc = quarry_txn_commit(t, NULL, &err);
    quarry_txn_close(t);
    return rc;
}

static void set_up(const char *row, const char *value)
{
    struct quarry_txn *t = begin(NULL);
    put(t, row, value);
    OK(end(t));
}

static void expect_now(const char *row, const char *value)
{
    struct quarry_txn *t = begin(NULL);
    expect(t, row, value);
    OK(end(t));
}

static void plain_expect(const char *row, const char *value)
{
    struct buf b = BUF_INIT;
    bool found;
    OK(quarry_get(table, slice_str(row), "f", SLICE_LIT("q"), &b, &found,
                  &err));
    ck_assert_int_eq(found, value != NULL);
    if (value)
        ck_assert_str_eq(buf_cstr(&b), value);
    buf_close(&b);
}

/* The rows that a scan of @t finds, as "a=1 b=2 ". */
static void expect_scan(struct quarry_txn *t, const char *expected)
{
    struct quarry_txn_scanner *s;
    const struct quarry_row *row;
    struct buf text = BUF_INIT;
    OK(quarry_txn_scan(t, table, SLICE_EMPTY, SLICE_EMPTY, &s, &err));
    for (;;) {
        OK(quarry_txn_scanner_next(s, &row, &err));
        if (!row)
            break;
        buf_printf(&text, "%.*s=%.*s ", SLICE_ARG(row->key),
                   SLICE_ARG(row->cells[0].value));
    }
    quarry_txn_scanner_close(s);
    ck_assert_str_eq(buf_cstr(&text), expected);
    buf_close(&text);
}

/* --- one transaction ----------------------------------------------------- */

/* Writes of several rows and tables are seen by their own transaction, by no
 * other before the commit, and by all that begin after it. */
START_TEST(test_commit_is_seen_as_a_whole)
{
    struct quarry_txn *a;
    struct quarry_txn *b;
    start();
    a = begin(NULL);
    put(a, "x", "1");
    put_in(a, other, "y", "2");
    expect(a, "x", "1");
    b = begin(NULL);
    expect(b, "x", NULL);
    plain_expect("x", NULL);
    OK(end(a));
    expect(b, "x", NULL);
    expect_in(b, other, "y", NULL);
    OK(end(b));
    b = begin(NULL);
    expect(b, "x", "1");
    expect_in(b, other, "y", "2");
    OK(end(b));
    plain_expect("x", "1");
    finish();
}

END_TEST

/* A transaction that is closed without a commit, or has failed, has done
 * nothing; one that has ended takes no more calls. */
START_TEST(test_rollback_leaves_nothing)
{
    struct quarry_txn *t;
    start();
    t = begin(NULL);
    put(t, "x", "1");
    quarry_txn_close(t);
    expect_now("x", NULL);
    t = begin(NULL);
    OK(quarry_txn_commit(t, NULL, &err));
    FAILS(quarry_txn_commit(t, NULL, &err), ERR_CLOSED);
    FAILS(quarry_txn_delete(t, table, SLICE_LIT("x"), NULL, SLICE_EMPTY, &err),
          ERR_CLOSED);
    quarry_txn_close(t);
    finish();
}

END_TEST

/* Calls that cannot be kept are refused with a sentence. */
START_TEST(test_refusals)
{
    static const struct quarry_family_spec families[] = {{"f", ""}};
    static const struct quarry_family_spec hidden[] = {{".txn.lock", ""}};
    const struct quarry_txn_options reads = {.read_only = true};
    struct quarry_table *plain;
    struct quarry_txn *t;
    struct quarry_mutation *m = quarry_mutation_new(SLICE_LIT("x"));
    start();
    OK(quarry_table_create(q, "plain", families, 1, NULL, 0, &err));
    OK(quarry_table_open(q, "plain", &plain, &err));
    t = begin(NULL);
    FAILS(quarry_txn_put(t, plain, SLICE_LIT("x"), "f", SLICE_EMPTY,
                         SLICE_EMPTY, &err),
          ERR_UNSUPPORTED);
    FAILS(quarry_txn_put(t, table, SLICE_LIT("x"), "no", SLICE_EMPTY,
                         SLICE_EMPTY, &err),
          ERR_NOTFOUND);
    ck_assert(strstr(err.text, ".txn") == NULL);
    FAILS(quarry_txn_put(t, table, SLICE_LIT("x"), ".txn.lock", SLICE_EMPTY,
                         SLICE_EMPTY, &err),
          ERR_INVALID);
    quarry_mutation_set(m, "f", SLICE_LIT("q"), 5, SLICE_LIT("v"));
    FAILS(quarry_txn_apply(t, table, m, &err), ERR_UNSUPPORTED);
    quarry_mutation_free(m);
    OK(end(t));
    t = begin(&reads);
    FAILS(quarry_txn_put(t, table, SLICE_LIT("x"), "f", SLICE_EMPTY,
                         SLICE_EMPTY, &err),
          ERR_DENIED);
    OK(end(t));
    FAILS(quarry_table_enable_transactions(q, "t", &err), ERR_EXISTS);
    FAILS(quarry_table_create(q, "h", hidden, 1, NULL, 0, &err), ERR_INVALID);
    quarry_table_close(plain);
    finish();
}

END_TEST

/* Hidden families are in no listing and no plain read, and a plain deletion of
 * a row spares them. */
START_TEST(test_hidden_families_are_hidden)
{
    const struct quarry_alter drop = {QUARRY_DROP_FAMILY, ".txn.lock", NULL};
    struct quarry_table_info *info;
    struct quarry_mutation *m = quarry_mutation_new(SLICE_LIT("x"));
    struct quarry_row *row;
    struct quarry_txn *t;
    bool matched = true;
    start();
    set_up("x", "1");
    OK(quarry_table_describe(q, "t", &info, &err));
    ck_assert_uint_eq(info->family_count, 2);
    ck_assert_uint_eq(info->group_count, 1);
    ck_assert(info->transactions);
    quarry_table_info_free(info);
    OK(quarry_read_row(table, SLICE_LIT("x"), NULL, &row, &err));
    ck_assert_uint_eq(row->cell_count, 1);
    quarry_row_free(row);
    FAILS(quarry_table_alter(q, "t", &drop, 1, &err), ERR_INVALID);
    t = begin(NULL);
    put(t, "x", "2");
    quarry_mutation_delete_row(m);
    OK(quarry_apply(table, m, NULL, &err));
    OK(quarry_read_row(table, SLICE_LIT("x"), NULL, &row, &err));
    ck_assert_ptr_null(row);
    quarry_mutation_reset(m, SLICE_LIT("x"));
    quarry_mutation_set(m, "f", SLICE_LIT("q"), 1, SLICE_LIT("v"));
    OK(quarry_check_and_mutate(table, SLICE_LIT("x"), NULL, m, NULL, NULL,
                               &matched, &err));
    ck_assert(!matched); /* The row does not exist for its users. */
    set_up("x", "3");
    FAILS(end(t), ERR_CONFLICT); /* The record of the commit is still there. */
    quarry_mutation_free(m);
    finish();
}

END_TEST

/* --- anomalies ----------------------------------------------------------- */

/* Lost update: of two that read and write the same row the second fails. */
START_TEST(test_lost_update)
{
    struct quarry_txn *a;
    struct quarry_txn *b;
    start();
    set_up("x", "1");
    a = begin(NULL);
    b = begin(NULL);
    expect(a, "x", "1");
    expect(b, "x", "1");
    put(a, "x", "2");
    put(b, "x", "3");
    OK(end(a));
    FAILS(end(b), ERR_CONFLICT);
    expect_now("x", "2");
    finish();
}

END_TEST

/* Read skew: a transaction sees both rows as of its start, whatever is
 * committed between its reads; overwritten and deleted cells included. */
START_TEST(test_read_skew)
{
    struct quarry_txn *a;
    struct quarry_txn *b;
    start();
    set_up("x", "1");
    set_up("y", "1");
    set_up("z", "1");
    a = begin(NULL);
    expect(a, "x", "1");
    b = begin(NULL);
    put(b, "x", "2");
    put(b, "y", "2");
    OK(quarry_txn_delete(b, table, SLICE_LIT("z"), "f", SLICE_LIT("q"), &err));
    OK(end(b));
    expect(a, "y", "1");
    expect(a, "z", "1");
    expect_scan(a, "x=1 y=1 z=1 ");
    if (!test_cluster())
        OK(quarry_table_compact(q, "t", &err));
    expect(a, "y", "1");
    expect(a, "z", "1");
    OK(end(a));
    a = begin(NULL);
    expect_scan(a, "x=2 y=2 ");
    OK(end(a));
    plain_expect("z", NULL);
    finish();
}

END_TEST

/* Write skew: two that each read what the other writes both commit under
 * snapshot isolation; of serialisable ones the second does not. */
START_TEST(test_write_skew)
{
    struct quarry_txn *a;
    struct quarry_txn *b;
    start();
    for (int i = 0; i < 2; i++) {
        const struct quarry_txn_options *o = i ? &serializable : NULL;
        set_up("x", "1");
        set_up("y", "1");
        a = begin(o);
        b = begin(o);
        expect(a, "x", "1");
        expect(b, "y", "1");
        put(a, "y", "0");
        put(b, "x", "0");
        OK(end(a));
        if (i)
            FAILS(end(b), ERR_CONFLICT);
        else
            OK(end(b));
    }
    expect_now("x", "1");
    finish();
}

END_TEST

/* Phantoms: a snapshot's scan does not change; a serialisable transaction that
 * wrote by what it scanned fails when a row has appeared in the range. */
START_TEST(test_phantom)
{
    struct quarry_txn *a;
    start();
    set_up("b", "1");
    a = begin(&serializable);
    expect_scan(a, "b=1 ");
    set_up("c", "1");
    expect_scan(a, "b=1 ");
    put(a, "z", "one row");
    FAILS(end(a), ERR_CONFLICT);
    a = begin(NULL);
    expect_scan(a, "b=1 c=1 ");
    set_up("d", "1");
    put(a, "z", "two rows");
    OK(end(a));
    finish();
}

END_TEST

/* A serialisable transaction that read a row that was not there fails when the
 * row has appeared; one that has written nothing never fails. */
START_TEST(test_absent_row_is_read)
{
    struct quarry_txn *a;
    start();
    a = begin(&serializable);
    expect(a, "x", NULL);
    set_up("x", "1");
    put(a, "y", "1");
    FAILS(end(a), ERR_CONFLICT);
    a = begin(&serializable);
    expect(a, "x", "1");
    set_up("x", "2");
    OK(end(a));
    finish();
}

END_TEST

/* A scan shows what the transaction wrote, between what is stored. */
START_TEST(test_scan_of_own_writes)
{
    struct quarry_txn *t;
    start();
    set_up("b", "1");
    set_up("d", "1");
    t = begin(NULL);
    put(t, "a", "0");
    put(t, "c", "0");
    put(t, "d", "2");
    put(t, "e", "0");
    OK(quarry_txn_delete(t, table, SLICE_LIT("b"), NULL, SLICE_EMPTY, &err));
    expect_scan(t, "a=0 c=0 d=2 e=0 ");
    OK(end(t));
    t = begin(NULL);
    expect_scan(t, "a=0 c=0 d=2 e=0 ");
    OK(end(t));
    finish();
}

END_TEST

/* A deleted row that is written again: each snapshot sees its own time. */
START_TEST(test_snapshots_of_deletions)
{
    struct quarry_txn *at[5];
    struct quarry_txn *t;
    start();
    at[0] = begin(NULL);
    set_up("x", "1");
    at[1] = begin(NULL);
    set_up("x", "2");
    at[2] = begin(NULL);
    t = begin(NULL);
    OK(quarry_txn_delete(t, table, SLICE_LIT("x"), NULL, SLICE_EMPTY, &err));
    OK(end(t));
    at[3] = begin(NULL);
    t = begin(NULL);
    OK(quarry_txn_delete(t, table, SLICE_LIT("x"), "f", SLICE_LIT("q"), &err));
    put(t, "x", "3");
    OK(end(t));
    at[4] = begin(NULL);
    expect(at[0], "x", NULL);
    expect(at[1], "x", "1");
    expect(at[2], "x", "2");
    expect(at[3], "x", NULL);
    expect(at[4], "x", "3");
    expect_scan(at[1], "x=1 ");
    expect_scan(at[3], "");
    for (int i = 0; i < 5; i++)
        OK(end(at[i]));
    finish();
}

END_TEST

/* --- clients that die ---------------------------------------------------- */

/* A client dies at each step of a commit of three rows: the next reader sees
 * all of it or nothing, at once and after a restart. */
START_TEST(test_crash_at_each_step)
{
    const struct quarry_txn_options short_lease = {.lease_us = 1};
    unsigned seen[2] = {0, 0};
    bool crashed = true;
    start();
    for (uint64_t n = 1; crashed; n++) {
        struct quarry_txn *t;
        char value[20];
        struct buf got = BUF_INIT;
        bool found;
        bool made;
        snprintf(value, sizeof(value), "%d", (int)n);
        t = begin(&short_lease);
        put(t, "x", value);
        put(t, "y", value);
        put_in(t, other, "z", value);
        fault_arm("txn.crash", n, 1);
        (void)!quarry_txn_commit(t, NULL, &err);
        crashed = fault_disarm("txn.crash") > 0;
        quarry_txn_close(t);
        if (n % 2)
            reopen();
        t = begin(NULL);
        OK(quarry_txn_get(t, table, SLICE_LIT("y"), "f", SLICE_LIT("q"), &got,
                          &found, &err));
        made = found && strcmp(buf_cstr(&got), value) == 0;
        buf_close(&got);
        seen[made]++;
        ck_assert(crashed || made);
        if (made) {
            expect(t, "x", value);
            expect_in(t, other, "z", value);
        }
        OK(end(t));
        t = begin(NULL); /* And the rows can be written. */
        put(t, "x", "0");
        put(t, "y", "0");
        put_in(t, other, "z", "0");
        OK(end(t));
    }
    ck_assert_uint_ge(seen[0], 4);
    ck_assert_uint_ge(seen[1], 3);
    finish();
}

END_TEST

/* The oracle took 10 s to answer: the lease of a lock is no longer for it, so
 * the lock of a client that died is rolled back when its lease is over. */
START_TEST(test_lease_after_a_slow_start)
{
    const struct quarry_txn_options short_lease = {.lease_us = 1};
    struct quarry_txn *t;
    start();
    t = begin(&short_lease);
    t->begun_ns -= UINT64_C(10000000000);
    put(t, "x", "1");
    put(t, "y", "1");
    fault_arm("txn.crash", 2, 1);
    ck_assert_int_ne(quarry_txn_commit(t, NULL, &err), 0);
    ck_assert_uint_eq(fault_disarm("txn.crash"), 1);
    quarry_txn_close(t);
    t = begin(NULL);
    put(t, "x", "2");
    OK(end(t));
    set_up("y", "2");
    t = begin(NULL);
    expect(t, "x", "2");
    OK(end(t));
    finish();
}

END_TEST

/* --- plain reads --------------------------------------------------------- */

/* Each way of reading a row of @t, for plain_value(). */
enum plain_way {
    BY_GET,
    BY_ROW,
    BY_ROWS,
    BY_SCAN,
    BY_LIMITED_SCAN,
    BY_ASYNC,
    BY_INCREMENT,
    PLAIN_WAYS
};

struct plain_answer {
    int rc;
    int value;
    atomic_bool done;
};

/* A value has no zero behind it. */
static int number_of(struct slice value)
{
    int n = 0;
    for (size_t i = 0; i < value.len; i++) {
        ck_assert(value.data[i] >= '0' && value.data[i] <= '9');
        n = n * 10 + (value.data[i] - '0');
    }
    return n;
}

static int int_of(const struct quarry_row *row)
{
    for (size_t i = 0; row && i < row->cell_count; i++)
        if (slice_eq_str(row->cells[i].qualifier, "q"))
            return number_of(row->cells[i].value);
    return 0;
}

static void
take_answer(void *arg, int rc, struct quarry_row *row, const struct err *e)
{
    struct plain_answer *a = arg;
    (void)e;
    a->rc = rc;
    a->value = int_of(row);
    quarry_row_free(row);
    atomic_store(&a->done, true);
}

static int value_by_scan(struct quarry_table *t, const char *row, bool limited)
{
    struct slice key = slice_str(row);
    const struct quarry_range from = {key, SLICE_EMPTY};
    const struct quarry_read_options one = {.keys = &key, .key_count = 1};
    const struct quarry_read_options first = {
        .ranges = &from, .range_count = 1, .row_limit = 1};
    const struct quarry_row *found;
    struct quarry_scanner *s;
    int value;
    OK(quarry_scan(t, limited ? &first : &one, &s, &err));
    OK(quarry_scanner_next(s, &found, &err));
    value = found && slice_eq(found->key, key) ? int_of(found) : 0;
    quarry_scanner_close(s);
    return value;
}

/* The number in @row of @t as a plain read sees it; 0: none. */
static int
plain_value(struct quarry_table *t, const char *name, enum plain_way way)
{
    static const struct quarry_rmw_rule add = {
        .family = "g", .qualifier = {"q", 1}, .append = {"", 0}};
    struct slice row = slice_str(name);
    struct plain_answer answer = {.rc = 0};
    struct quarry_row *found = NULL;
    struct buf b = BUF_INIT;
    bool there;
    switch (way) {
    case BY_GET:
        OK(quarry_get(t, row, "f", SLICE_LIT("q"), &b, &there, &err));
        answer.value = there ? atoi(buf_cstr(&b)) : 0;
        buf_close(&b);
        break;
    case BY_INCREMENT: /* It looks at the row before it changes it. */
        OK(quarry_read_modify_write(t, row, &add, 1, NULL, NULL, &err));
        OK(quarry_read_row(t, row, NULL, &found, &err));
        answer.value = int_of(found);
        break;
    case BY_ROW:
        OK(quarry_read_row(t, row, NULL, &found, &err));
        answer.value = int_of(found);
        break;
    case BY_ROWS:
        OK(quarry_read_rows(t, &row, 1, NULL, &found, &err));
        answer.value = int_of(found);
        break;
    case BY_SCAN:
    case BY_LIMITED_SCAN:
        answer.value = value_by_scan(t, name, way == BY_LIMITED_SCAN);
        break;
    case BY_ASYNC:
        quarry_read_row_async(t, row, NULL, take_answer, &answer);
        quarry_drain(q);
        ck_assert(atomic_load(&answer.done));
        OK(answer.rc);
        break;
    case PLAIN_WAYS: ck_abort();
    }
    quarry_row_free(found);
    return answer.value;
}

/* A client dies at each step of a commit of three rows: plain reads of every
 * kind see all of it or nothing, whichever row they look at first. */
START_TEST(test_plain_reads_see_whole_transactions)
{
    static const char *const names[] = {"x", "y", "z"};
    unsigned seen[2] = {0, 0};
    bool crashed;
    start();
    for (int way = 0; way < PLAIN_WAYS; way++) {
        crashed = true;
        for (int n = 1; crashed; n++) {
            struct quarry_txn *t = begin(NULL);
            struct quarry_mutation *m;
            char value[20];
            int made;
            snprintf(value, sizeof(value), "%d", 1000 * (way + 1) + n);
            put(t, "x", value);
            put(t, "y", value);
            put_in(t, other, "z", value);
            fault_arm("txn.crash", (uint64_t)n, 1);
            (void)!quarry_txn_commit(t, NULL, &err);
            crashed = fault_disarm("txn.crash") > 0;
            quarry_txn_close(t);
            if (n % 3 == 0)
                reopen();
            made = plain_value(n % 2 ? other : table, names[n % 2 ? 2 : 1],
                               (enum plain_way)way) == atoi(value);
            seen[made]++;
            for (int i = 0; i < 3; i++)
                ck_assert_msg(
                    (plain_value(i == 2 ? other : table, names[i],
                                 (enum plain_way)way) == atoi(value)) == made,
                    "way %d, step %d: row %s is %s", way, n, names[i],
                    made ? "not seen" : "seen");
            ck_assert(crashed || made);
            for (int i = 0; i < 3; i++) { /* The locks go with the cells. */
                m = quarry_mutation_new(slice_str(names[i]));
                quarry_mutation_delete_cells(m, ".txn.lock", SLICE_LIT("l"), 0,
                                             0);
                OK(quarry_apply(i == 2 ? other : table, m, NULL, &err));
                quarry_mutation_free(m);
            }
        }
    }
    ck_assert_uint_ge(seen[0], 4 * PLAIN_WAYS);
    ck_assert_uint_ge(seen[1], 4 * PLAIN_WAYS);
    finish();
}

END_TEST

/* Rows of @t that have a lock or a status, which no cell that is free has. */
static unsigned count_left(struct quarry_table *t)
{
    static const char *const families[] = {".txn.lock"};
    struct quarry_filter *f = quarry_filter_value_range(
        QUARRY_OPEN, SLICE_EMPTY, QUARRY_UNBOUNDED, SLICE_EMPTY);
    const struct quarry_read_options read = {
        .families = families, .family_count = 1, .filter = f};
    const struct quarry_row *row;
    struct quarry_scanner *s;
    unsigned n = 0;
    OK(quarry_scan(t, &read, &s, &err));
    while (quarry_scanner_next(s, &row, &err) == 0 && row)
        n++;
    quarry_scanner_close(s);
    quarry_filter_free(f);
    return n;
}

/* A client dies at each step of a commit: a sweep leaves neither lock nor
 * status, and all of the transaction or nothing. A transaction that is under
 * way keeps its locks, and the statuses that its rows need. */
START_TEST(test_sweep_finishes_what_is_left)
{
    const struct quarry_txn_options short_lease = {.lease_us = 1};
    struct quarry_txn_sweep found;
    unsigned kept = 0;
    bool crashed = true;
    start();
    for (int n = 1; crashed; n++) {
        struct quarry_txn *t = begin(&short_lease);
        char value[20];
        int seen = 0;
        snprintf(value, sizeof(value), "%d", n);
        put(t, "x", value);
        put_in(t, other, "y", value);
        put(t, "z", value);
        fault_arm("txn.crash", (uint64_t)n, 1);
        (void)!quarry_txn_commit(t, NULL, &err);
        crashed = fault_disarm("txn.crash") > 0;
        quarry_txn_close(t);
        OK(quarry_txn_sweep(q, NULL, &found, &err));
        ck_assert_uint_eq(found.resolved, found.locks);
        /* The client might ask for its status still. */
        ck_assert_uint_eq(found.statuses, 0);
        kept += count_left(table) + count_left(other);
        fault_arm("txn.all_are_over", 1, 1);
        OK(quarry_txn_sweep(q, NULL, &found, &err));
        fault_disarm("txn.all_are_over");
        ck_assert_uint_eq(found.locks, 0);
        ck_assert_uint_eq(count_left(table) + count_left(other), 0);
        seen += plain_value(table, "x", BY_GET) == n;
        seen += plain_value(other, "y", BY_GET) == n;
        seen += plain_value(table, "z", BY_GET) == n;
        ck_assert_msg(seen == 0 || seen == 3, "step %d: %d of 3 rows", n, seen);
        ck_assert(crashed || seen == 3);
    }
    ck_assert_uint_ge(kept, 2); /* Of dead ones behind the primary's commit. */
    {                           /* One that is alive. */
        struct quarry_txn *t = begin(NULL);
        put(t, "x", "1");
        put(t, "y", "1");
        fault_arm("txn.crash", 3, 1); /* Both are locked. */
        (void)!quarry_txn_commit(t, NULL, &err);
        OK(quarry_txn_sweep(q, NULL, &found, &err));
        ck_assert_uint_eq(found.locks, 2);
        ck_assert_uint_eq(found.resolved, 0);
        ck_assert_uint_eq(count_left(table), 2);
        quarry_txn_close(t);
    }
    finish();
}

END_TEST

/* A reader does not wait for the lock of a client that is alive, and that
 * client's commit comes after the reader's snapshot. */
START_TEST(test_reader_does_not_wait)
{
    const struct quarry_txn_options long_lease = {.lease_us = 600000000};
    struct quarry_txn *a;
    struct quarry_txn *b;
    start();
    set_up("x", "1");
    set_up("y", "1");
    a = begin(&long_lease);
    put(a, "x", "2");
    put(a, "y", "2");
    fault_arm("txn.crash", 3, 1); /* Both rows are locked. */
    FAILS(quarry_txn_commit(a, NULL, &err), ERR_UNAVAILABLE);
    fault_disarm_all();
    quarry_txn_close(a);
    b = begin(NULL);
    expect(b, "y", "1");
    expect(b, "x", "1");
    expect_scan(b, "x=1 y=1 ");
    OK(end(b));
    b = begin(NULL);
    put(b, "x", "3");
    FAILS(end(b), ERR_CONFLICT);
    finish();
}

END_TEST

/* --- ends ---------------------------------------------------------------- */

/* A deadline and a flag end a transaction, and nothing of it is done. */
START_TEST(test_deadline_and_cancel)
{
    static quarry_flag cancel;
    const struct quarry_txn_options brief = {.timeout_us = 1};
    const struct quarry_txn_options flagged = {.cancel = &cancel};
    struct quarry_txn *t;
    struct world *w = world_real_new();
    start();
    t = begin(&brief);
    world_sleep_us(w, 1000);
    FAILS(quarry_txn_commit(t, NULL, &err), ERR_DEADLINE);
    quarry_txn_close(t);
    t = begin(&flagged);
    put(t, "x", "1");
    cancel = true;
    FAILS(end(t), ERR_CANCELLED);
    expect_now("x", NULL);
    world_free(w);
    finish();
}

END_TEST

static int add_one(struct quarry_txn *t, void *ctx, struct err *e)
{
    struct buf b = BUF_INIT;
    char text[20];
    bool found;
    int rc = quarry_txn_get(t, table, SLICE_LIT("n"), "f", SLICE_LIT("q"), &b,
                            &found, e);
    int n = found ? atoi(buf_cstr(&b)) : 0;
    (void)ctx;
    snprintf(text, sizeof(text), "%d", n + 1);
    if (rc == 0)
        rc = quarry_txn_put(t, table, SLICE_LIT("n"), "f", SLICE_LIT("q"),
                            slice_str(text), e);
    buf_close(&b);
    return rc;
}

enum {
    THREADS = 4,
    ROUNDS = 25
};

static void add_many(void *arg)
{
    int *failures = arg;
    for (int i = 0; i < ROUNDS; i++) {
        struct err e = ERR_INIT;
        if (quarry_txn_run(q, NULL, add_one, NULL, &e)) {
            fprintf(stderr, "%s\n", e.text);
            (*failures)++;
        }
    }
}

/* Threads that run the same function again on conflicts lose no update. */
START_TEST(test_run_again)
{
    struct world *w = world_real_new();
    struct task *tasks[THREADS];
    int failures[THREADS] = {0};
    char text[20];
    start();
    for (int i = 0; i < THREADS; i++)
        tasks[i] = task_start(w, "test", add_many, &failures[i]);
    for (int i = 0; i < THREADS; i++) {
        task_join(tasks[i]);
        ck_assert_int_eq(failures[i], 0);
    }
    snprintf(text, sizeof(text), "%d", THREADS * ROUNDS);
    expect_now("n", text);
    finish();
    world_free(w);
}

END_TEST

/* Timestamps rise over restarts, in batches of any size. */
START_TEST(test_timestamps_rise)
{
    int64_t last = 0;
    start();
    for (int i = 0; i < 20; i++) {
        uint32_t count = i % 3 ? 1 : 50000;
        int64_t first;
        OK(quarry_timestamps(q, count, &first, &err));
        ck_assert_int_gt(first, last);
        last = first + count - 1;
        if (i % 5 == 4)
            reopen();
    }
    finish();
}

END_TEST

TEST_MAIN("txn",
          test_commit_is_seen_as_a_whole,
          test_rollback_leaves_nothing,
          test_refusals,
          test_hidden_families_are_hidden,
          test_lost_update,
          test_read_skew,
          test_write_skew,
          test_phantom,
          test_absent_row_is_read,
          test_scan_of_own_writes,
          test_snapshots_of_deletions,
          test_crash_at_each_step,
          test_lease_after_a_slow_start,
          test_plain_reads_see_whole_transactions,
          test_sweep_finishes_what_is_left,
          test_reader_does_not_wait,
          test_deadline_and_cancel,
          test_run_again,
          test_timestamps_rise)
