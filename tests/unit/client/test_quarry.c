/* The C library on one directory: what a user's first program does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "bigtable/quarry.h"
#include "tests/lib/check_main.h"
#include "tests/unit/client/test_target.h"

/* --- Fixture ------------------------------------------------------------- */

static struct err err;
static char target[512];

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

static struct quarry *open_store(void)
{
    struct quarry *q;
    OK(test_open(target, NULL, &q, &err));
    return q;
}

static struct quarry *new_store(void)
{
    test_new_target(target, sizeof(target));
    return open_store();
}

static struct quarry_table *new_table(struct quarry *q)
{
    static const struct quarry_family_spec families[] = {
        {"anchor", ""}, {"contents", "versions=3,group=pages"}};
    static const struct quarry_group_spec groups[] = {{"pages", "block=8KiB"}};
    struct quarry_table *t;
    OK(quarry_table_create(q, "webtable", families, 2, groups, 1, &err));
    OK(quarry_table_open(q, "webtable", &t, &err));
    return t;
}

static void set(struct quarry_table *t,
                const char *row,
                const char *family,
                const char *qualifier,
                int64_t time,
                const char *value)
{
    struct quarry_mutation *m = quarry_mutation_new(slice_str(row));
    quarry_mutation_set(m, family, slice_str(qualifier), time,
                        slice_str(value));
    OK(quarry_apply(t, m, NULL, &err));
    quarry_mutation_free(m);
}

/* All cells of all rows, "row family:qualifier@time=value\n" each. */
static char *dump(struct quarry_table *t, const struct quarry_read_options *o)
{
    struct quarry_scanner *s;
    const struct quarry_row *row;
    struct buf out = BUF_INIT;
    OK(quarry_scan(t, o, &s, &err));
    for (;;) {
        OK(quarry_scanner_next(s, &row, &err));
        if (!row)
            break;
        for (size_t i = 0; i < row->cell_count; i++) {
            const struct quarry_cell *c = &row->cells[i];
            buf_printf(&out, "%.*s %.*s:%.*s@%lld=%.*s\n", SLICE_ARG(row->key),
                       SLICE_ARG(c->family), SLICE_ARG(c->qualifier),
                       (long long)c->timestamp_us, SLICE_ARG(c->value));
        }
    }
    quarry_scanner_close(s);
    return buf_take(&out);
}

static void expect(struct quarry_table *t,
                   const struct quarry_read_options *o,
                   const char *want)
{
    char *got = dump(t, o);
    ck_assert_str_eq(got, want);
    free(got);
}

/* --- Tests --------------------------------------------------------------- */

/* The paper's example: what is set is read, after reopening too. */
START_TEST(test_set_get_reopen)
{
    struct quarry *q = new_store();
    struct quarry_table *t = new_table(q);
    struct buf value = BUF_INIT;
    bool found;
    const char *all = "com.cnn.www anchor:com.c-span.www@9=CNN\n"
                      "com.cnn.www contents:@6=<html>c\n"
                      "com.cnn.www contents:@5=<html>b\n"
                      "com.cnn.www contents:@3=<html>a\n"
                      "org.w3 anchor:x@1=y\n";
    set(t, "com.cnn.www", "contents", "", 3, "<html>a");
    set(t, "com.cnn.www", "contents", "", 5, "<html>b");
    set(t, "com.cnn.www", "contents", "", 6, "<html>c");
    set(t, "com.cnn.www", "anchor", "com.c-span.www", 9, "CNN");
    set(t, "org.w3", "anchor", "x", 1, "y");
    for (int round = 0; round < 3; round++) {
        expect(t, NULL, all);
        OK(quarry_get(t, SLICE_LIT("com.cnn.www"), "contents", SLICE_EMPTY,
                      &value, &found, &err));
        ck_assert(found);
        ck_assert_str_eq(buf_cstr(&value), "<html>c");
        OK(quarry_get(t, SLICE_LIT("com.cnn"), "contents", SLICE_EMPTY, &value,
                      &found, &err));
        ck_assert(!found);
        if (round == 1)
            OK(quarry_flush(q, &err));
        quarry_table_close(t);
        quarry_close(q);
        q = open_store();
        OK(quarry_table_open(q, "webtable", &t, &err));
    }
    buf_close(&value);
    quarry_table_close(t);
    quarry_close(q);
}

END_TEST

/* Bytes of the SSTables that @rows more rows of 1,000 equal bytes take. */
static uint64_t bytes_with(struct quarry *q, struct quarry_table *t, int rows)
{
    static int next;
    struct quarry_mutation *m = quarry_mutation_new(SLICE_LIT("x"));
    struct quarry_table_info *info;
    char value[1000];
    uint64_t before = 0;
    uint64_t after = 0;
    memset(value, 'v', sizeof(value));
    OK(quarry_table_describe(q, "webtable", &info, &err));
    before = info->groups[1].table_bytes;
    quarry_table_info_free(info);
    for (int i = 0; i < rows; i++) {
        char row[16];
        snprintf(row, sizeof(row), "%08d", next++);
        quarry_mutation_reset(m, slice_str(row));
        quarry_mutation_set(m, "contents", SLICE_EMPTY, 1,
                            slice_make(value, sizeof(value)));
        OK(quarry_apply(t, m, &(struct quarry_write_options){QUARRY_LOGGED},
                        &err));
    }
    quarry_mutation_free(m);
    OK(quarry_flush(q, &err));
    OK(quarry_table_describe(q, "webtable", &info, &err));
    after = info->groups[1].table_bytes;
    quarry_table_info_free(info);
    return after - before;
}

/* A changed option of a group holds for the next SSTable, without a reopen.
 */
START_TEST(test_update_group_holds_at_once)
{
    static const struct quarry_alter none = {QUARRY_UPDATE_GROUP, "pages",
                                             "compression=none"};
    static const struct quarry_alter zstd = {QUARRY_UPDATE_GROUP, "pages",
                                             "compression=zstd"};
    struct quarry *q = new_store();
    struct quarry_table *t = new_table(q);
    ck_assert_uint_lt(bytes_with(q, t, 200), 40000);
    OK(quarry_table_alter(q, "webtable", &none, 1, &err));
    ck_assert_uint_gt(bytes_with(q, t, 200), 200000);
    OK(quarry_table_alter(q, "webtable", &zstd, 1, &err));
    ck_assert_uint_lt(bytes_with(q, t, 200), 40000);
    quarry_table_close(t);
    quarry_close(q);
}

END_TEST

TEST_MAIN("quarry", test_set_get_reopen, test_update_group_holds_at_once)
