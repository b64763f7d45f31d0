/* Indexes beside concurrent writers: unique ones over races and dead writers,
 * building while rows are written, and what is refused. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/core/fault.h"
#include "base/core/rand.h"
#include "bigtable/client/bulk_load.h"
#include "bigtable/quarry_index.h"
#include "tests/lib/check_main.h"
#include "tests/unit/client/test_target.h"

static struct err err;
static struct quarry *q;
static struct quarry_table *table;
static char target[300];

#define OK(call) ck_assert_msg((call) == 0, "%s: %s", #call, err.text)
#define FAILS(call, code)                                                      \
    do {                                                                       \
        int fails_rc = (call);                                                 \
        ck_assert_msg(fails_rc == (code), "%s is %s (%s), not %s", #call,      \
                      err_name(fails_rc), err.text, err_name(code));           \
    } while (0)

static void start(void)
{
    static const struct quarry_family_spec families[] = {{"f", "versions=1"},
                                                         {"old", "ttl=1h"}};
    err_init(&err);
    test_new_target(target, sizeof(target));
    OK(test_open(target, NULL, &q, &err));
    OK(quarry_table_create(q, "t", families, 2, NULL, 0, &err));
    OK(quarry_table_open(q, "t", &table, &err));
}

static void finish(void)
{
    fault_disarm_all();
    quarry_table_close(table);
    quarry_close(q);
}

static int create(const char *name, const char *a, const char *b, bool unique)
{
    const struct quarry_index_column columns[] = {{"f", slice_str(a)},
                                                  {"f", slice_str(b ? b : "")}};
    const struct quarry_index_spec spec = {.table = "t",
                                           .name = name,
                                           .columns = columns,
                                           .column_count = b ? 2 : 1,
                                           .unique = unique};
    return quarry_index_create(q, &spec, NULL, NULL, &err);
}

static int put(const char *row, const char *column, const char *value)
{
    struct quarry_mutation *m = quarry_mutation_new(slice_str(row));
    struct err why = ERR_INIT;
    int rc;
    quarry_mutation_set(m, "f", slice_str(column), QUARRY_NOW,
                        slice_str(value));
    rc = quarry_apply(table, m, NULL, &why);
    quarry_mutation_free(m);
    return rc;
}

/* The keys of the rows that index @name finds, with commas. */
static const char *find(const char *name, const char *value)
{
    static char out[500];
    const struct slice equal[] = {slice_str(value)};
    const struct quarry_index_query query = {
        .index = name, .equal = equal, .equal_count = 1};
    struct quarry_scanner *rows;
    const struct quarry_row *row;
    size_t n = 0;
    out[0] = '\0';
    OK(quarry_index_scan(table, &query, NULL, &rows, &err));
    for (;;) {
        OK(quarry_scanner_next(rows, &row, &err));
        if (!row)
            break;
        n += (size_t)snprintf(out + n, sizeof(out) - n, "%s%.*s", n ? "," : "",
                              SLICE_ARG(row->key));
    }
    quarry_scanner_close(rows);
    return out;
}

static struct quarry_index_report check(const char *name, bool mend)
{
    struct quarry_index_report r;
    OK(quarry_index_check(q, "t", name, mend, &r, NULL, NULL, &err));
    ck_assert_msg(r.missing == 0, "%s: %llu missing", name,
                  (unsigned long long)r.missing);
    return r;
}

/* A value of a unique index is one row's, and free again when that one has
 * another. */
START_TEST(test_unique)
{
    start();
    OK(create("u", "a", NULL, true));
    OK(put("r1", "a", "x"));
    FAILS(put("r2", "a", "x"), ERR_EXISTS);
    OK(put("r1", "a", "x"));
    OK(put("r1", "a", "y"));
    OK(put("r2", "a", "x"));
    FAILS(put("r1", "a", "x"), ERR_EXISTS);
    ck_assert_str_eq(find("u", "x"), "r2");
    ck_assert_str_eq(find("u", "y"), "r1");
    finish();
}

END_TEST

/* A row without all columns of a unique index is like no other. */
START_TEST(test_unique_of_two_columns)
{
    start();
    OK(create("u", "a", "b", true));
    OK(put("r1", "a", "x"));
    OK(put("r2", "a", "x"));
    OK(put("r1", "b", "1"));
    FAILS(put("r2", "b", "1"), ERR_EXISTS);
    OK(put("r2", "b", "2"));
    ck_assert_str_eq(find("u", "x"), "r1,r2");
    ck_assert_int_eq((int)check("u", true).rows, 2);
    finish();
}

END_TEST

/* Values that a writer claimed before it died are free after a while; the row
 * that it was about to write has them not. */
START_TEST(test_claims_of_the_dead)
{
    start();
    OK(create("u", "a", NULL, true));
    for (uint64_t step = 1; step <= 4; step++) {
        char value[16];
        int rc;
        snprintf(value, sizeof(value), "v%d", (int)step);
        fault_arm("index.crash", step, UINT64_MAX / 2);
        rc = put("r1", "a", value);
        fault_disarm_all();
        rc = rc ? put("r2", "a", value) : ERR_EXISTS;
        ck_assert_msg(rc == 0 || rc == ERR_EXISTS, "%s", err_name(rc));
        ck_assert_str_eq(find("u", value), rc ? "r1" : "r2");
        (void)check("u", false);
    }
    ck_assert_int_eq((int)check("u", true).rows, 2);
    ck_assert_int_eq((int)check("u", false).stale, 0);
    finish();
}

END_TEST

/* --- beside each other --------------------------------------------------- */

enum {
    THREADS = 4,
    WRITES = 120,
    ROWS = 6,
    VALUES = 5,
};

static atomic_int taken;

/* Rows and values are few, so that writers meet all the time. */
static void *write_some(void *arg)
{
    struct rand_gen g;
    rand_init(&g, (uint64_t)(uintptr_t)arg);
    for (int i = 0; i < WRITES; i++) {
        char row[16];
        char value[16];
        int rc;
        snprintf(row, sizeof(row), "r%d", (int)rand_below(&g, ROWS));
        snprintf(value, sizeof(value), "v%d", (int)rand_below(&g, VALUES));
        if (rand_one_in(&g, 5)) {
            struct quarry_mutation *m = quarry_mutation_new(slice_str(row));
            struct err why = ERR_INIT;
            quarry_mutation_delete_row(m);
            rc = quarry_apply(table, m, NULL, &why);
            quarry_mutation_free(m);
        } else {
            rc = put(row, "a", value);
        }
        if (rc == ERR_EXISTS)
            atomic_fetch_add(&taken, 1);
        else if (rc)
            return (void *)(uintptr_t)1;
    }
    return NULL;
}

static void write_beside(const char *index, bool unique, bool create_later)
{
    pthread_t threads[THREADS];
    void *failed;
    atomic_store(&taken, 0);
    if (!create_later)
        OK(create(index, "a", NULL, unique));
    for (uintptr_t i = 0; i < THREADS; i++)
        ck_assert_int_eq(
            pthread_create(&threads[i], NULL, write_some, (void *)(i + 1)), 0);
    if (create_later)
        OK(create(index, "a", NULL, unique));
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &failed);
        ck_assert_ptr_null(failed);
    }
}

/* Each look-up gives what a scan of all rows would. */
static void expect_as_scanned(const char *index, bool unique)
{
    for (int v = 0; v < VALUES; v++) {
        char value[16];
        char expected[100] = "";
        size_t n = 0;
        int rows = 0;
        snprintf(value, sizeof(value), "v%d", v);
        for (int r = 0; r < ROWS; r++) {
            struct buf b = BUF_INIT;
            char row[16];
            bool found;
            snprintf(row, sizeof(row), "r%d", r);
            OK(quarry_get(table, slice_str(row), "f", SLICE_LIT("a"), &b,
                          &found, &err));
            if (found && strcmp(buf_cstr(&b), value) == 0)
                n += (size_t)snprintf(expected + n, sizeof(expected) - n,
                                      "%s%s", rows++ ? "," : "", row);
            buf_close(&b);
        }
        ck_assert_str_eq(find(index, value), expected);
        ck_assert(!unique || rows <= 1);
    }
}

/* Writers of the same rows leave what one after the other would. */
START_TEST(test_writers)
{
    start();
    write_beside("i", false, false);
    expect_as_scanned("i", false);
    ck_assert_int_eq((int)check("i", false).stale, 0);
    finish();
}

END_TEST

/* No two rows get one value, however their writers race. */
START_TEST(test_writers_of_a_unique_one)
{
    start();
    write_beside("u", true, false);
    expect_as_scanned("u", true);
    ck_assert_int_gt(atomic_load(&taken), 0);
    (void)check("u", true);
    ck_assert_int_eq((int)check("u", false).stale, 0);
    finish();
}

END_TEST

/* An index that is made while rows are written has all of them. */
START_TEST(test_built_beside_writers)
{
    start();
    for (int i = 0; i < 3000; i++) {
        char row[16];
        snprintf(row, sizeof(row), "old%d", i);
        OK(put(row, "a", i % 2 ? "odd" : "even"));
    }
    write_beside("i", false, true);
    expect_as_scanned("i", false);
    ck_assert_int_ge((int)check("i", true).rows, 3000);
    ck_assert_int_eq((int)check("i", false).stale, 0);
    finish();
}

END_TEST

/* Rows with the same values keep a unique index from being made; when they
 * differ, the same call continues. */
START_TEST(test_built_unique)
{
    start();
    OK(put("r1", "a", "x"));
    OK(put("r2", "a", "x"));
    FAILS(create("u", "a", NULL, true), ERR_EXISTS);
    ck_assert_ptr_nonnull(strstr(err.text, "r1"));
    ck_assert_ptr_nonnull(strstr(err.text, "r2"));
    OK(put("r2", "a", "y"));
    OK(create("u", "a", NULL, true));
    ck_assert_str_eq(find("u", "x"), "r1");
    finish();
}

END_TEST

static bool stop_now(void *ctx, uint64_t rows)
{
    (void)rows;
    return *(bool *)ctx;
}

/* A build that was stopped keeps what is written meanwhile, is not looked up,
 * and continues after the store was opened again. */
START_TEST(test_build_goes_on)
{
    const struct quarry_index_column a = {"f", SLICE_LIT("a")};
    const struct quarry_index_spec spec = {
        .table = "t", .name = "i", .columns = &a, .column_count = 1};
    const struct quarry_index_query query = {.column = &a};
    struct quarry_scanner *rows;
    bool more = false;
    start();
    for (int i = 0; i < 1200; i++) {
        char row[16];
        snprintf(row, sizeof(row), "old%d", i);
        OK(put(row, "a", "x"));
    }
    FAILS(quarry_index_create(q, &spec, stop_now, &more, &err), ERR_CANCELLED);
    FAILS(quarry_index_scan(table, &query, NULL, &rows, &err), ERR_UNSUPPORTED);
    OK(put("old7", "a", "y"));
    quarry_table_close(table);
    quarry_close(q);
    OK(test_open(target, NULL, &q, &err));
    OK(quarry_table_open(q, "t", &table, &err));
    OK(quarry_index_create(q, &spec, NULL, NULL, &err));
    ck_assert_str_eq(find("i", "y"), "old7");
    ck_assert_int_eq((int)check("i", true).rows, 1200);
    OK(quarry_index_rebuild(q, "t", "i", NULL, NULL, &err));
    ck_assert_int_eq((int)check("i", false).entries, 1200);
    finish();
}

END_TEST

/* Calls that would not keep an index are refused, and copies have none. */
START_TEST(test_refused)
{
    const struct quarry_alter drop = {QUARRY_DROP_FAMILY, "f", ""};
    const struct quarry_alter rule = {QUARRY_UPDATE_FAMILY, "f", "versions=2"};
    const struct quarry_index_column aged[] = {{"f", SLICE_LIT("a")},
                                               {"old", SLICE_LIT("a")}};
    const struct quarry_index_spec two = {
        .table = "t", .name = "two", .columns = aged, .column_count = 2};
    struct quarry_index_list *list;
    struct buf ticket = BUF_INIT;
    char **names;
    size_t count;
    start();
    OK(create("i", "a", NULL, false));
    FAILS(quarry_table_alter(q, "t", &drop, 1, &err), ERR_UNSUPPORTED);
    FAILS(quarry_table_alter(q, "t", &rule, 1, &err), ERR_UNSUPPORTED);
    FAILS(quarry_index_create(q, &two, NULL, NULL, &err), ERR_UNSUPPORTED);
    FAILS(quarry_bulk_begin(q, "t", "load", &ticket, &err), ERR_UNSUPPORTED);
    FAILS(create("i", "b", NULL, false), ERR_EXISTS);
    FAILS(create("bad.name", "b", NULL, false), ERR_INVALID);
    OK(put("r1", "a", "x"));
    OK(quarry_table_clone(q, "t", "copy", &err));
    OK(quarry_index_list(q, "copy", &list, &err));
    ck_assert_int_eq((int)list->count, 0);
    quarry_index_list_free(list);
    OK(quarry_table_list(q, &names, &count, &err));
    ck_assert_int_eq((int)count, 2); /* Entries have no listed table. */
    quarry_names_free(names, count);
    OK(quarry_index_drop(q, "t", "i", &err));
    OK(quarry_table_alter(q, "t", &rule, 1, &err));
    OK(put("r1", "a", "y"));
    buf_close(&ticket);
    finish();
}

END_TEST

/* The asynchronous call keeps them, too. */
static void note_outcome(void *arg, int code, const struct err *e)
{
    (void)e;
    *(int *)arg = code;
}

START_TEST(test_asynchronous)
{
    struct quarry_mutation *m = quarry_mutation_new(SLICE_LIT("r1"));
    int code = 1;
    start();
    OK(create("i", "a", NULL, false));
    quarry_mutation_set(m, "f", SLICE_LIT("a"), QUARRY_NOW, SLICE_LIT("x"));
    quarry_apply_async(table, m, NULL, note_outcome, &code);
    quarry_drain(q);
    ck_assert_int_eq(code, 0);
    ck_assert_str_eq(find("i", "x"), "r1");
    quarry_mutation_free(m);
    finish();
}

END_TEST

TEST_MAIN("index",
          test_unique,
          test_unique_of_two_columns,
          test_claims_of_the_dead,
          test_writers,
          test_writers_of_a_unique_one,
          test_built_beside_writers,
          test_built_unique,
          test_build_goes_on,
          test_refused,
          test_asynchronous)
