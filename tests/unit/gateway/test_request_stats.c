/* Request statistics of ReadRows: rows and cells seen and returned are those of
 * the engine's own record of the same scan, also backwards, of a point read and
 * of none; they come last and only to those who ask.
 */
#include <stdio.h>

#include "base/core/panic.h"
#include "tests/unit/gateway/fixture.h"

#define ROWS 300

struct stats {
    bool told;
    uint64_t rows_seen, rows_returned, cells_seen, cells_returned;
    uint64_t latency_ns;
};

/* --- Helpers ------------------------------------------------------------- */

static uint64_t integer_of(struct slice message, unsigned number)
{
    struct cursor c = cursor_make(message);
    struct pb_field f;
    while (pb_next(&c, &f))
        if (f.number == number)
            return f.integer;
    return 0;
}

/* Every row has two cells, and every tenth also the column "hit"; of the first
 * column one version is older, and beyond the family's limit. */
static void write_rows(void)
{
    struct buf b = BUF_INIT;
    pb_put_bytes(&b, 1, SLICE_LIT(TABLE));
    for (int i = 0; i < ROWS; i++) {
        size_t entry = pb_open(&b, 2);
        char row[16];
        snprintf(row, sizeof(row), "%03d", i);
        pb_put_bytes(&b, 1, slice_str(row));
        for (int version = 1; version <= 3; version++)
            put_set(&b, 2, "f", "q", version * 1000, SLICE_LIT("v"));
        put_set(&b, 2, "g", i % 10 ? "miss" : "hit", 1000, SLICE_LIT("v"));
        pb_close(&b, entry);
    }
    ck_assert_int_eq(call(DATA "MutateRows", &b), GRPC_OK);
}

/* The statistics of the last reply, which end it. */
static struct stats stats_of_reply(void)
{
    struct stats s = {.told = false};
    struct slice message;
    size_t at = 0;
    while (grpc_reply_next(&reply, &at, &message)) {
        struct slice full = pb_find(pb_find(message, 3), 1);
        struct slice part = pb_find(full, 1);
        struct slice latency = pb_find(pb_find(full, 2), 1);
        ck_assert(!s.told);
        if (full.len == 0)
            continue;
        s = (struct stats){.told = true,
                           .rows_seen = integer_of(part, 1),
                           .rows_returned = integer_of(part, 2),
                           .cells_seen = integer_of(part, 3),
                           .cells_returned = integer_of(part, 4),
                           .latency_ns = integer_of(latency, 1) * 1000000000 +
                                         integer_of(latency, 2)};
    }
    return s;
}

/* Ask for rows of [@start, @end) with cells of columns @column; NULL: all. */
static struct stats ask(const char *start,
                        const char *end,
                        const char *column,
                        bool reversed,
                        int view)
{
    struct buf b = read_request();
    if (start) {
        size_t rows = pb_open(&b, 2);
        size_t range = pb_open(&b, 2);
        pb_put_bytes(&b, 1, slice_str(start));
        pb_put_bytes(&b, 3, slice_str(end));
        pb_close(&b, range);
        pb_close(&b, rows);
    }
    if (column) {
        size_t filter = pb_open(&b, 3);
        pb_put_bytes(&b, 6, slice_str(column));
        pb_close(&b, filter);
    }
    if (view)
        pb_put_integer(&b, 6, view);
    if (reversed)
        pb_put_integer(&b, 7, 1);
    ck_assert_int_eq(call(DATA "ReadRows", &b), GRPC_OK);
    return stats_of_reply();
}

/* The engine's record of the same scan. */
static struct quarry_explain_counts
explain(const char *start, const char *end, const char *column)
{
    struct quarry_table *t;
    struct quarry_scanner *s;
    const struct quarry_row *row;
    struct quarry_explain_counts counts;
    struct quarry_range range = {.start = SLICE_EMPTY};
    struct quarry_read_options o = {.ranges = &range, .range_count = 1};
    struct quarry_filter *filter = NULL;
    struct err err = ERR_INIT;
    if (start)
        range = (struct quarry_range){slice_str(start), slice_str(end)};
    o.explain = quarry_explain_new();
    if (column)
        filter = quarry_filter_qualifier_regex(slice_str(column));
    o.filter = filter;
    ck_assert_int_eq(quarry_table_open(quarry, "inst.t", &t, &err), 0);
    ck_assert_int_eq(quarry_scan(t, &o, &s, &err), 0);
    do
        ck_assert_int_eq(quarry_scanner_next(s, &row, &err), 0);
    while (row);
    quarry_scanner_close(s);
    quarry_explain_total(o.explain, &counts);
    quarry_filter_free(filter);
    quarry_explain_free(o.explain);
    quarry_table_close(t);
    return counts;
}

static void
expect(const char *start, const char *end, const char *column, bool reversed)
{
    struct quarry_explain_counts c = explain(start, end, column);
    struct stats s = ask(start, end, column, reversed, 2);
    ck_assert(s.told);
    ck_assert_uint_eq(s.rows_seen, c.rows_examined);
    ck_assert_uint_eq(s.rows_returned, c.rows_returned);
    ck_assert_uint_eq(s.cells_seen, c.entries_shown);
    ck_assert_uint_eq(s.cells_returned, c.cells_returned);
}

/* --- Tests --------------------------------------------------------------- */

static void run_stats(void *arg)
{
    struct stats s;
    (void)arg;
    open_all();
    ck_assert_int_eq(create_table("t"), GRPC_OK);
    write_rows();
    for (int reversed = 0; reversed < 2; reversed++) {
        expect(NULL, NULL, NULL, reversed);
        expect(NULL, NULL, "hit", reversed);
        expect("100", "150", "hit", reversed);
        expect("100", "150", "none", reversed);
        expect("x", "y", NULL, reversed);
        /* In numbers, so that both are not wrong in the same way. */
        s = ask("100", "150", "hit", reversed, 2);
        ck_assert_uint_eq(s.rows_seen, 50);
        ck_assert_uint_eq(s.rows_returned, 5);
        ck_assert_uint_ge(s.cells_seen, 50); /* Those shown to the filter. */
        ck_assert_uint_eq(s.cells_returned, 5);
        s = ask("100", "150", NULL, reversed, 2);
        ck_assert_uint_eq(s.rows_seen, 50);
        ck_assert_uint_eq(s.rows_returned, 50);
        ck_assert_uint_eq(s.cells_seen, 150);
        ck_assert_uint_eq(s.cells_returned, 150);
    }
    ck_assert(!ask(NULL, NULL, NULL, false, 0).told);
    ck_assert(!ask(NULL, NULL, NULL, false, 1).told);
    close_all();
}

START_TEST(test_stats)
{
    run(run_stats);
}

END_TEST

static void run_one_row(void *arg)
{
    struct buf b;
    struct stats s;
    size_t rows;
    (void)arg;
    open_all();
    ck_assert_int_eq(create_table("t"), GRPC_OK);
    write_rows();
    b = read_request();
    rows = pb_open(&b, 2);
    pb_put_bytes(&b, 1, SLICE_LIT("120"));
    pb_close(&b, rows);
    pb_put_integer(&b, 6, 2);
    ck_assert_int_eq(call(DATA "ReadRows", &b), GRPC_OK);
    s = stats_of_reply();
    ck_assert(s.told);
    ck_assert_uint_eq(s.rows_seen, 1);
    ck_assert_uint_eq(s.rows_returned, 1);
    ck_assert_uint_eq(s.cells_seen, 3);
    ck_assert_uint_eq(s.cells_returned, 3);
    close_all();
}

START_TEST(test_one_row)
{
    run(run_one_row);
}

END_TEST

TEST_MAIN("request_stats", test_stats, test_one_row)
