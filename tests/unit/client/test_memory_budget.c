/* The memory of memtables is counted as it is held, so that thousands of tables
 * with a few rows each take little, and all together keep to the budget. */
#include <stdio.h>
#include <string.h>

#include "base/core/rand.h"
#include "bigtable/quarry.h"
#include "tests/lib/check_main.h"

enum {
    TABLES = 60,
    BUDGET_BYTES = 1 << 20,
    VALUE_BYTES = 300
};

static struct err err;

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

static struct quarry *quarry;
static struct quarry_table *tables[TABLES];

static void begin(void)
{
    static const struct quarry_family_spec family = {"f", "versions=1"};
    const struct quarry_options o = {.memtable_bytes = BUDGET_BYTES};
    char target[512];
    snprintf(target, sizeof(target), "file:%s/store", test_tmpdir());
    OK(quarry_open(target, &o, &quarry, &err));
    for (int i = 0; i < TABLES; i++) {
        char name[16];
        snprintf(name, sizeof(name), "t%d", i);
        OK(quarry_table_create(quarry, name, &family, 1, NULL, 0, &err));
        OK(quarry_table_open(quarry, name, &tables[i], &err));
    }
}

static void end(void)
{
    for (int i = 0; i < TABLES; i++)
        quarry_table_close(tables[i]);
    quarry_close(quarry);
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

static void put_row(int table, int row)
{
    char name[16];
    char value[VALUE_BYTES];
    struct quarry_mutation *m;
    snprintf(name, sizeof(name), "row%06d", row);
    memset(value, 'v', sizeof(value));
    m = quarry_mutation_new(slice_str(name));
    quarry_mutation_set(m, "f", SLICE_LIT("q"), QUARRY_NOW,
                        slice_make(value, sizeof(value)));
    OK(quarry_apply(tables[table], m, NULL, &err));
    quarry_mutation_free(m);
}

/* One row in each of many tables takes some kilobytes a table. */
START_TEST(test_a_row_takes_little)
{
    begin();
    for (int i = 0; i < TABLES; i++)
        put_row(i, i);
    ck_assert_uint_ge(counter("memtable_bytes"), TABLES * VALUE_BYTES);
    ck_assert_uint_le(counter("memtable_bytes"), TABLES * 8192);
    ck_assert_uint_eq(counter("flushes"), 0);
    end();
}

END_TEST

/* Whatever is written to which tables, memtables hold what the budget says, and
 * a little for the writes that are under way. */
START_TEST(test_many_tables_keep_to_the_budget)
{
    struct rand_gen r;
    uint64_t most = 0;
    begin();
    rand_init(&r, test_seed());
    for (int i = 0; i < 12000; i++) {
        put_row((int)rand_below(&r, TABLES), i);
        if (i % 16 == 0)
            most = MAX_OF(most, counter("memtable_bytes"));
    }
    ck_assert_uint_gt(most, BUDGET_BYTES / 2);
    ck_assert_uint_le(most, BUDGET_BYTES + BUDGET_BYTES / 4);
    ck_assert_uint_gt(counter("flushes"), 0);
    end();
}

END_TEST

TEST_MAIN("memory_budget",
          test_a_row_takes_little,
          test_many_tables_keep_to_the_budget)
