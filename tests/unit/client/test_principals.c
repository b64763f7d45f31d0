/* A client whose calls are made on behalf of others: views of it share what it
 * knows, and nothing that one of them may see goes to another. */
#include "bigtable/quarry_access.h"
#include "tests/unit/client/fake_cluster.h"

static struct err err;

#define OK(call)      ck_assert_msg((call) == 0, "%s", err.text)
#define REFUSED(call) expect_refused(call)

/* --- Fixture ------------------------------------------------------------- */

enum {
    CALLS = 600,
    SERVERS = 3
};

/* A principal, and what it has open. */
struct user {
    struct quarry *quarry;
    struct quarry_table *table;
};

static struct fake *fake;
static struct quarry *quarry;
static struct quarry_table *table;
static struct user alice;
static struct user mallory;

struct call {
    char row[16];
    bool by_mallory;
    atomic_int ended; /* Times it called back. */
    int code;
    size_t cells;
};

static struct call calls[CALLS];

static void user_open(struct user *u, const char *name)
{
    OK(quarry_as(quarry, name, &u->quarry, &err));
    OK(quarry_table_open(u->quarry, "t", &u->table, &err));
}

static void user_close(struct user *u)
{
    quarry_table_close(u->table);
    quarry_close(u->quarry);
}

static void begin(void)
{
    static const struct quarry_family_spec family = {"a", ""};
    const struct quarry_options o = {.timeout_us = 30000000};
    fake = fake_new(SERVERS);
    OK(quarry_open(fake_target(fake), &o, &quarry, &err));
    OK(quarry_table_create(quarry, "t", &family, 1, NULL, 0, &err));
    OK(quarry_table_open(quarry, "t", &table, &err));
    user_open(&alice, "alice");
    user_open(&mallory, FAKE_REFUSED);
    memset(calls, 0, sizeof(calls));
    for (int i = 0; i < CALLS; i++) {
        snprintf(calls[i].row, sizeof(calls[i].row), "r%03d", i);
        calls[i].by_mallory = i % 3 == 0;
    }
    for (int i = 100; i < CALLS; i += 100)
        fake_split(fake, "t", slice_str(calls[i].row));
}

static void end(void)
{
    user_close(&alice);
    user_close(&mallory);
    quarry_table_close(table);
    quarry_close(quarry);
    fake_free(fake);
}

/* --- Helpers ------------------------------------------------------------- */

static void expect_refused(int rc)
{
    ck_assert_msg(rc == ERR_DENIED, "%d: %s", rc, err.text);
    ck_assert_msg(strstr(err.text, FAKE_REFUSED " may not") != NULL, "%s",
                  err.text);
}

static struct quarry_mutation *set(const char *row)
{
    struct quarry_mutation *m = quarry_mutation_new(slice_str(row));
    quarry_mutation_set(m, "a", SLICE_LIT("q"), 1000, SLICE_LIT("1"));
    return m;
}

static int scan_once(struct user *u)
{
    struct quarry_scanner *s;
    const struct quarry_row *row;
    int rc = quarry_scan(u->table, NULL, &s, &err);
    if (rc)
        return rc;
    rc = quarry_scanner_next(s, &row, &err);
    quarry_scanner_close(s);
    return rc;
}

/* Every way to a row, and to its table. */
static void try_all(struct user *u, void (*expect)(int rc))
{
    struct quarry_mutation *m = set("row");
    struct quarry_mutation *const ms[] = {m};
    const struct quarry_rmw_rule rule = {
        .family = "a", .qualifier = SLICE_LIT("n"), .increment = 1};
    struct slice key = SLICE_LIT("row");
    struct quarry_table_info *info = NULL;
    struct quarry_row *row = NULL;
    struct slice *keys = NULL;
    struct buf value = BUF_INIT;
    int codes[1];
    size_t count;
    bool any;
    expect(quarry_apply(u->table, m, NULL, &err));
    expect(quarry_apply_batch(u->table, ms, 1, NULL, &count, &err));
    err.code = quarry_apply_each(u->table, ms, 1, NULL, codes, &err);
    expect(err.code ? err.code : codes[0]);
    expect(quarry_check_and_mutate(u->table, key, NULL, m, NULL, NULL, &any,
                                   &err));
    expect(quarry_read_modify_write(u->table, key, &rule, 1, NULL, NULL, &err));
    expect(quarry_get(u->table, key, "a", SLICE_LIT("q"), &value, &any, &err));
    expect(quarry_read_row(u->table, key, NULL, &row, &err));
    quarry_row_free(row);
    row = NULL;
    expect(quarry_read_rows(u->table, &key, 1, NULL, &row, &err));
    quarry_row_free(row);
    expect(scan_once(u));
    expect(quarry_table_split_points(u->table, 100, &keys, &count, &err));
    mem_free(keys);
    expect(quarry_table_describe(u->quarry, "t", &info, &err));
    quarry_table_info_free(info);
    expect(quarry_table_compact(u->quarry, "t", &err));
    buf_close(&value);
    quarry_mutation_free(m);
}

static void expect_done(int rc)
{
    OK(rc);
}

static void on_written(void *arg, int code, const struct err *e)
{
    struct call *c = arg;
    (void)e;
    c->code = code;
    c->ended++;
}

static void
on_read(void *arg, int code, struct quarry_row *row, const struct err *e)
{
    struct call *c = arg;
    c->cells = row ? row->cell_count : 0;
    quarry_row_free(row);
    on_written(arg, code, e);
}

static void expect_each_its_own(size_t cells)
{
    for (int i = 0; i < CALLS; i++) {
        ck_assert_int_eq(calls[i].ended, 1);
        ck_assert_int_eq(calls[i].code, calls[i].by_mallory ? ERR_DENIED : 0);
        ck_assert_uint_eq(calls[i].cells, calls[i].by_mallory ? 0 : cells);
        calls[i].ended = 0;
    }
}

static uint64_t counter(const char *name)
{
    struct quarry_counter all[QUARRY_COUNTERS_MAX];
    size_t n = quarry_counters(quarry, all);
    for (size_t i = 0; i < n; i++)
        if (strcmp(all[i].name, name) == 0)
            return all[i].value;
    ck_abort_msg("no counter %s", name);
    return 0;
}

/* --- Tests --------------------------------------------------------------- */

/* Each way to a row is refused to whom it is to be refused, and to nobody else:
 * also after others have been there, whose locations and tables are known. */
START_TEST(test_every_way)
{
    begin();
    try_all(&alice, expect_done);
    try_all(&mallory, expect_refused);
    try_all(&alice, expect_done);
    end();
}

END_TEST

/* Calls that wait together go in calls of their principals: who is refused
 * takes nobody with him, and gets nothing of what they get. */
START_TEST(test_crowds_are_kept_apart)
{
    begin();
    for (int i = 0; i < CALLS; i++) {
        struct quarry_mutation *m = set(calls[i].row);
        quarry_apply_async(calls[i].by_mallory ? mallory.table : alice.table, m,
                           NULL, on_written, &calls[i]);
        quarry_mutation_free(m);
    }
    quarry_drain(quarry);
    expect_each_its_own(0);
    for (int i = 0; i < CALLS; i++)
        quarry_read_row_async(calls[i].by_mallory ? mallory.table : alice.table,
                              slice_str(calls[i].row), NULL, on_read,
                              &calls[i]);
    quarry_drain(quarry);
    expect_each_its_own(1);
    /* A refused call is tried alone, for its own error; the others are not. */
    ck_assert_uint_lt(atomic_load(&fake->each_calls), CALLS);
    end();
}

END_TEST

/* A view may be closed while its calls are under way: it waits for them, not
 * for those of others. */
START_TEST(test_closing)
{
    begin();
    for (int i = 0; i < CALLS; i++)
        quarry_read_row_async(calls[i].by_mallory ? mallory.table : alice.table,
                              slice_str(calls[i].row), NULL, on_read,
                              &calls[i]);
    user_close(&mallory);
    user_open(&mallory, FAKE_REFUSED);
    quarry_drain(quarry);
    expect_each_its_own(0);
    end();
}

END_TEST

/* Views have the connections and locations of their client: another one costs
 * no look-up. */
START_TEST(test_views_share)
{
    struct user carol;
    struct quarry *nobody;
    uint64_t before;
    begin();
    OK(scan_once(&alice));
    before = atomic_load(&fake->metadata_reads);
    user_open(&carol, "carol");
    OK(scan_once(&carol));
    ck_assert_uint_eq(atomic_load(&fake->metadata_reads), before);
    ck_assert_uint_gt(counter("server_calls"), 0);
    ck_assert_int_eq(quarry_as(quarry, "no name", &nobody, &err), ERR_INVALID);
    user_close(&carol);
    end();
}

END_TEST

static bool has_row(const char *key)
{
    struct quarry_row *row = NULL;
    bool found;
    OK(quarry_read_row(table, slice_str(key), NULL, &row, &err));
    found = row != NULL;
    quarry_row_free(row);
    return found;
}

static void write_row(struct quarry_table *t, const char *key)
{
    struct quarry_mutation *m = set(key);
    OK(quarry_apply(t, m, NULL, &err));
    quarry_mutation_free(m);
}

/* Changes of a view, and of its client and other views, are told apart: the
 * server takes none of them for another that was made before. */
START_TEST(test_changes_are_not_anothers)
{
    struct user bob;
    begin();
    user_open(&bob, "bob");
    for (int i = 0; i < 60; i++) {
        struct quarry_table *const tables[] = {alice.table, table, bob.table};
        write_row(tables[i % 3], calls[i].row);
        ck_assert_msg(has_row(calls[i].row), "row %d was not written", i);
    }
    user_close(&bob);
    end();
}

END_TEST

/* A view may be made while changes of its client are under way, and neither
 * takes the numbers of the other for its own. */
START_TEST(test_views_among_changes)
{
    struct user bob;
    begin();
    for (int i = 0; i < CALLS; i++) {
        struct quarry_mutation *m = set(calls[i].row);
        quarry_apply_async(i % 2 ? table : alice.table, m, NULL, on_written,
                           &calls[i]);
        quarry_mutation_free(m);
        if (i % 50 == 0) {
            user_open(&bob, "bob");
            write_row(bob.table, "bob's");
            user_close(&bob);
        }
    }
    quarry_drain(quarry);
    for (int i = 0; i < CALLS; i++)
        ck_assert_msg(calls[i].code == 0 && has_row(calls[i].row), "row %d", i);
    end();
}

END_TEST

TEST_MAIN("principals",
          test_changes_are_not_anothers,
          test_views_among_changes,
          test_every_way,
          test_crowds_are_kept_apart,
          test_closing,
          test_views_share)
