/* A filter is said not to read a family only where it plainly keeps its cells
 * out before anything can be told of them. */
#include <string.h>

#include "bigtable/row/filter.h"
#include "tests/lib/check_main.h"

static struct quarry_filter *family(const char *re)
{
    return filter_new_regex(FILTER_FAMILY_REGEX, slice_str(re));
}

static struct quarry_filter *column(const char *name)
{
    return filter_new_range(FILTER_COLUMN_RANGE, slice_str(name),
                            FILTER_UNBOUNDED, SLICE_EMPTY, FILTER_UNBOUNDED,
                            SLICE_EMPTY);
}

static struct quarry_filter *
both(enum filter_kind kind, struct quarry_filter *a, struct quarry_filter *b)
{
    struct quarry_filter *parts[2] = {a, b};
    return filter_new_parts(kind, parts, 2);
}

static void expect(struct quarry_filter *f, bool a, bool b)
{
    ck_assert_int_eq(filter_check(f, NULL), 0);
    ck_assert_int_eq(filter_reads_family(f, SLICE_LIT("a")), a);
    ck_assert_int_eq(filter_reads_family(f, SLICE_LIT("b")), b);
    filter_unref(f);
}

/* Leaves that name families keep others out; all else reads all. */
START_TEST(test_leaves)
{
    ck_assert(filter_reads_family(NULL, SLICE_LIT("a")));
    expect(family("a"), true, false);
    expect(family("a|b"), true, true);
    expect(column("b"), false, true);
    expect(filter_new(FILTER_BLOCK_ALL), false, false);
    expect(filter_new(FILTER_PASS_ALL), true, true);
    expect(filter_new_count(FILTER_ROW_LIMIT, 1), true, true);
}

END_TEST

/* A chain reads what each of its parts reads; an interleave what any does. */
START_TEST(test_combined)
{
    expect(both(FILTER_CHAIN, family("a"),
                filter_new_count(FILTER_COLUMN_LIMIT, 1)),
           true, false);
    expect(both(FILTER_CHAIN, filter_new(FILTER_STRIP_VALUE), column("a")),
           true, false);
    expect(both(FILTER_CHAIN, family("a"), column("b")), false, false);
    expect(both(FILTER_INTERLEAVE, column("a"), column("b")), true, true);
    expect(both(FILTER_INTERLEAVE, column("a"), family("a")), true, false);
}

END_TEST

/* A filter whose result depends on other cells before they are kept out reads
 * them: a limit of cells in a row, a sink, a condition. */
START_TEST(test_tell_tales)
{
    struct quarry_filter *condition[3] = {family("b"), column("a"), NULL};
    expect(
        both(FILTER_CHAIN, filter_new_count(FILTER_ROW_LIMIT, 1), family("a")),
        true, true);
    expect(
        both(FILTER_CHAIN, family("a"), filter_new_count(FILTER_ROW_LIMIT, 1)),
        true, false);
    expect(both(FILTER_CHAIN, filter_new(FILTER_SINK),
                filter_new(FILTER_BLOCK_ALL)),
           true, true);
    expect(both(FILTER_CHAIN,
                both(FILTER_INTERLEAVE, filter_new(FILTER_SINK), family("a")),
                family("a")),
           true, true);
    expect(filter_new_parts(FILTER_CONDITION, condition, 3), true, true);
}

END_TEST

TEST_MAIN("filter_families", test_leaves, test_combined, test_tell_tales)
