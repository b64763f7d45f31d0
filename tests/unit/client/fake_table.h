/* A table `t`, of families a and b, on a cluster in this process, and what its
 * tests write into it and expect there.
 *
 * Cells written here are in a:q, with timestamp 1000.
 */
#ifndef TESTS_UNIT_CLIENT_FAKE_TABLE_H
#define TESTS_UNIT_CLIENT_FAKE_TABLE_H

#include "tests/unit/client/fake_cluster.h"

static struct err err;

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

static struct fake *fake;
static struct quarry *quarry;
static struct quarry_table *table;

static inline void begin(unsigned servers)
{
    static const struct quarry_family_spec families[] = {{"a", ""}, {"b", ""}};
    const struct quarry_options o = {.timeout_us = 5000000};
    fake = fake_new(servers);
    OK(quarry_open(fake_target(fake), &o, &quarry, &err));
    OK(quarry_table_create(quarry, "t", families, 2, NULL, 0, &err));
    OK(quarry_table_open(quarry, "t", &table, &err));
}

static inline void end(void)
{
    quarry_table_close(table);
    quarry_close(quarry);
    fake_free(fake);
}

static inline uint64_t counter(struct quarry *q, const char *name)
{
    struct quarry_counter c[QUARRY_COUNTERS_MAX];
    size_t n = quarry_counters(q, c);
    for (size_t i = 0; i < n; i++)
        if (strcmp(c[i].name, name) == 0)
            return c[i].value;
    ck_abort_msg("no counter %s", name);
    return 0;
}

static inline int set(const char *row, const char *value)
{
    struct quarry_mutation *m = quarry_mutation_new(slice_str(row));
    int rc;
    quarry_mutation_set(m, "a", SLICE_LIT("q"), 1000, slice_str(value));
    rc = quarry_apply(table, m, NULL, &err);
    quarry_mutation_free(m);
    return rc;
}

static inline void expect_value(const char *row, const char *value)
{
    struct buf got = BUF_INIT;
    bool found;
    OK(quarry_get(table, slice_str(row), "a", SLICE_LIT("q"), &got, &found,
                  &err));
    ck_assert(found == (value != NULL));
    if (value)
        ck_assert_str_eq(buf_cstr(&got), value);
    buf_close(&got);
}

/* Rows "r000".. with their number as the value. */
static inline void fill(int count)
{
    struct quarry_mutation **m = mem_zalloc((size_t)count, sizeof(*m));
    char row[16];
    for (int i = 0; i < count; i++) {
        snprintf(row, sizeof(row), "r%03d", i);
        m[i] = quarry_mutation_new(slice_str(row));
        quarry_mutation_set(m[i], "a", SLICE_LIT("q"), 1000,
                            slice_str(row + 1));
    }
    OK(quarry_apply_batch(table, m, (size_t)count, NULL, NULL, &err));
    for (int i = 0; i < count; i++)
        quarry_mutation_free(m[i]);
    mem_free(m);
}

/* A scan as @o says gives rows @first..@end, each once, in order. */
static inline void
expect_rows(const struct quarry_read_options *o, int first, int end_)
{
    const struct quarry_row *row;
    struct quarry_scanner *s;
    char want[16];
    int i = first;
    OK(quarry_scan(table, o, &s, &err));
    for (;; i++) {
        OK(quarry_scanner_next(s, &row, &err));
        if (!row)
            break;
        snprintf(want, sizeof(want), "r%03d", i);
        ck_assert_msg(slice_eq_str(row->key, want), "%.*s, not %s",
                      SLICE_ARG(row->key), want);
        ck_assert(slice_eq_str(row->cells[0].value, want + 1));
    }
    ck_assert_int_eq(i, end_);
    quarry_scanner_close(s);
}

#endif /* TESTS_UNIT_CLIENT_FAKE_TABLE_H */
