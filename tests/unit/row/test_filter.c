/* Filters do what google.bigtable.v2.RowFilter says, cell by cell or row by
 * row, before and after their wire format. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/coding.h"
#include "base/core/rand.h"
#include "bigtable/row/filter.h"
#include "bigtable/row/filter_run.h"
#include "tests/lib/check_main.h"

/* --- Fixture: one row of nine cells -------------------------------------- */

static const char family_a[] = "A";
static const char family_b[] = "B";
static struct err err;

#define TEXT(s)                                                                \
    {                                                                          \
        s, sizeof(s) - 1                                                       \
    }
#define CELL(f, q, t, v)                                                       \
    {                                                                          \
        {f, 1}, TEXT(q), (t), TEXT(v), TEXT("")                                \
    }

static const struct quarry_cell cells[] = {
    CELL(family_a, "A", 10, "w"), CELL(family_a, "A", 5, "x"),
    CELL(family_a, "B", 4, "y"),  CELL(family_a, "C", 9, "z"),
    CELL(family_a, "C", 8, "y"),  CELL(family_a, "C", 7, "x"),
    CELL(family_b, "A", 3, "w"),  CELL(family_b, "B", 2, "x"),
    CELL(family_b, "B", 1, "z"),
};

enum {
    CELLS = sizeof(cells) / sizeof(cells[0])
};

/* "A:A@10=w/label " for each cell @f lets through row "row". */
static char *apply(struct quarry_filter *f)
{
    static char text[65536];
    struct quarry_cell kept[CELLS];
    struct quarry_row row = {SLICE_LIT("row"), kept, 0};
    struct filter_run *run;
    size_t len = 0;
    text[0] = '\0';
    ck_assert_msg(filter_run_new(f, &run, &err) == 0, "%s", err.text);
    if (filter_run_row(run, row.key))
        for (size_t i = 0; i < CELLS; i++) {
            struct quarry_cell c = cells[i];
            if (filter_run_cell(run, &c) == FILTER_PASS)
                kept[row.cell_count++] = c;
        }
    ck_assert_msg(filter_run_finish(run, &row, &err) == 0, "%s", err.text);
    for (size_t i = 0; i < row.cell_count; i++) {
        const struct quarry_cell *c = &row.cells[i];
        len += (size_t)snprintf(text + len, sizeof(text) - len,
                                "%.*s%.*s%lld%.*s%s%.*s ", SLICE_ARG(c->family),
                                SLICE_ARG(c->qualifier),
                                (long long)c->timestamp_us, SLICE_ARG(c->value),
                                c->label.len ? "/" : "", SLICE_ARG(c->label));
    }
    filter_run_free(run);
    return text;
}

/* @f gives @want, itself and after its bytes; it is freed. */
static void expect(struct quarry_filter *f, const char *want)
{
    struct buf bytes = BUF_INIT;
    struct quarry_filter *again;
    ck_assert_str_eq(apply(f), want);
    filter_encode(f, &bytes);
    ck_assert_msg(filter_decode(buf_slice(&bytes), &again, &err) == 0, "%s",
                  err.text);
    ck_assert_str_eq(apply(again), want);
    filter_unref(again);
    filter_unref(f);
    buf_close(&bytes);
}

static struct quarry_filter *re(enum filter_kind kind, const char *pattern)
{
    return filter_new_regex(kind, slice_str(pattern));
}

static struct quarry_filter *
two(enum filter_kind kind, struct quarry_filter *a, struct quarry_filter *b)
{
    struct quarry_filter *parts[2] = {a, b};
    return filter_new_parts(kind, parts, 2);
}

static struct quarry_filter *condition(struct quarry_filter *p,
                                       struct quarry_filter *t,
                                       struct quarry_filter *f)
{
    struct quarry_filter *parts[3] = {p, t, f};
    return filter_new_parts(FILTER_CONDITION, parts, 3);
}

static struct quarry_filter *range(enum filter_bound a,
                                   const char *start,
                                   enum filter_bound b,
                                   const char *end)
{
    return filter_new_range(FILTER_COLUMN_RANGE, SLICE_LIT("A"), a,
                            slice_str(start), b, slice_str(end));
}

static struct quarry_filter *values(enum filter_bound a,
                                    const char *start,
                                    enum filter_bound b,
                                    const char *end)
{
    return filter_new_range(FILTER_VALUE_RANGE, SLICE_EMPTY, a,
                            slice_str(start), b, slice_str(end));
}

#define ALL "AA10w AA5x AB4y AC9z AC8y AC7x BA3w BB2x BB1z "

/* --- Tests --------------------------------------------------------------- */

/* Each leaf alone. */
START_TEST(test_leaves)
{
    expect(filter_new(FILTER_PASS_ALL), ALL);
    expect(filter_new(FILTER_BLOCK_ALL), "");
    expect(filter_new_bitmask(SLICE_LIT("\2")), "AA10w AC9z BA3w BB1z ");
    expect(filter_new_bitmask(SLICE_LIT("\2\2")), "");
    expect(re(FILTER_ROW_REGEX, "r.w"), ALL);
    expect(re(FILTER_ROW_REGEX, "ro"), "");
    expect(re(FILTER_FAMILY_REGEX, "B"), "BA3w BB2x BB1z ");
    expect(re(FILTER_QUALIFIER_REGEX, "[AB]"),
           "AA10w AA5x AB4y BA3w BB2x BB1z ");
    expect(re(FILTER_VALUE_REGEX, "[yz]"), "AB4y AC9z AC8y BB1z ");
    expect(range(FILTER_CLOSED, "A", FILTER_OPEN, "C"), "AA10w AA5x AB4y ");
    expect(range(FILTER_OPEN, "A", FILTER_UNBOUNDED, ""),
           "AB4y AC9z AC8y AC7x ");
    expect(values(FILTER_CLOSED, "y", FILTER_CLOSED, "z"),
           "AB4y AC9z AC8y BB1z ");
    expect(values(FILTER_UNBOUNDED, "", FILTER_OPEN, "x"), "AA10w BA3w ");
    expect(filter_new_times(4, 9), "AA5x AB4y AC8y AC7x ");
    expect(filter_new_times(8, 0), "AA10w AC9z AC8y ");
    expect(filter_new_count(FILTER_ROW_OFFSET, 7), "BB2x BB1z ");
    expect(filter_new_count(FILTER_ROW_OFFSET, 0), ALL);
    expect(filter_new_count(FILTER_ROW_LIMIT, 2), "AA10w AA5x ");
    expect(filter_new_count(FILTER_COLUMN_LIMIT, 1),
           "AA10w AB4y AC9z BA3w BB2x ");
    expect(filter_new(FILTER_STRIP_VALUE),
           "AA10 AA5 AB4 AC9 AC8 AC7 BA3 BB2 BB1 ");
    expect(two(FILTER_CHAIN, re(FILTER_VALUE_REGEX, "w"),
               filter_new_label(SLICE_LIT("l-1"))),
           "AA10w/l-1 BA3w/l-1 ");
}

END_TEST

/* A chain applies its links in order; an interleave merges, with copies. */
START_TEST(test_combinations)
{
    expect(two(FILTER_CHAIN, re(FILTER_QUALIFIER_REGEX, "C"),
               filter_new_count(FILTER_COLUMN_LIMIT, 2)),
           "AC9z AC8y ");
    expect(two(FILTER_CHAIN, filter_new_count(FILTER_ROW_LIMIT, 3),
               re(FILTER_VALUE_REGEX, "y")),
           "AB4y ");
    expect(two(FILTER_INTERLEAVE, re(FILTER_QUALIFIER_REGEX, "B"),
               re(FILTER_VALUE_REGEX, "[wy]")),
           "AA10w AB4y AB4y AC8y BA3w BB2x BB1z ");
    expect(two(FILTER_CHAIN,
               two(FILTER_INTERLEAVE, filter_new(FILTER_PASS_ALL),
                   filter_new(FILTER_PASS_ALL)),
               filter_new_count(FILTER_COLUMN_LIMIT, 2)),
           "AA10w AA10w AB4y AB4y AC9z AC9z BA3w BA3w BB2x BB2x ");
    expect(condition(re(FILTER_VALUE_REGEX, "z"), re(FILTER_FAMILY_REGEX, "B"),
                     NULL),
           "BA3w BB2x BB1z ");
    expect(condition(re(FILTER_VALUE_REGEX, "q"), re(FILTER_FAMILY_REGEX, "B"),
                     filter_new_count(FILTER_ROW_LIMIT, 1)),
           "AA10w ");
    expect(condition(re(FILTER_VALUE_REGEX, "q"), NULL, NULL), "");
}

END_TEST

/* The documentation's example of a sink: what reaches it is in the result,
 * whatever comes later. */
START_TEST(test_sink)
{
    struct quarry_filter *links[3] = {
        re(FILTER_FAMILY_REGEX, "B"),
        two(FILTER_INTERLEAVE, filter_new(FILTER_PASS_ALL),
            two(FILTER_CHAIN, filter_new_label(SLICE_LIT("foo")),
                filter_new(FILTER_SINK))),
        re(FILTER_QUALIFIER_REGEX, "B")};
    expect(filter_new_parts(FILTER_CHAIN, links, 3),
           "BA3w/foo BB2x BB2x/foo BB1z BB1z/foo ");
}

END_TEST

static void expect_mistake(struct quarry_filter *f, const char *text)
{
    ck_assert_int_ne(filter_check(f, &err), 0);
    ck_assert_str_eq(err.text, text);
    filter_unref(f);
}

/* Mistakes are found where they are, and named. */
START_TEST(test_mistakes)
{
    struct quarry_filter *deep;
    expect_mistake(filter_new_count(FILTER_ROW_OFFSET, -1),
                   "filter: cells_per_row_offset_filter: -1 must be at least "
                   "0 and fit into 32 bits");
    expect_mistake(filter_new_count(FILTER_COLUMN_LIMIT, 0),
                   "filter: cells_per_column_limit_filter: 0 must be at least "
                   "1 and fit into 32 bits");
    expect_mistake(filter_new_sample(1.0), "filter: row_sample_filter: the "
                                           "probability 1 must be above 0 and "
                                           "below 1");
    expect_mistake(filter_new_label(SLICE_LIT("Foo")),
                   "filter: apply_label_transformer: a label is 1 to 15 of "
                   "a-z, 0-9 and '-'");
    expect_mistake(two(FILTER_CHAIN, filter_new_label(SLICE_LIT("a")),
                       filter_new_label(SLICE_LIT("b"))),
                   "filter: chain: more than one apply_label_transformer");
    expect_mistake(condition(filter_new(FILTER_SINK), NULL, NULL),
                   "filter: sink: not allowed in the predicate of a condition");
    expect_mistake(range(FILTER_OPEN, "b", FILTER_OPEN, "b"),
                   "filter: column_range_filter: the range is empty");
    expect_mistake(filter_new_parts(FILTER_CHAIN, NULL, 0),
                   "filter: chain: a part is missing");
    ck_assert_int_eq(filter_check(deep = re(FILTER_VALUE_REGEX, "a(b"), &err),
                     ERR_INVALID);
    ck_assert(strstr(err.text, "value_regex_filter"));
    filter_unref(deep);
    deep = filter_new(FILTER_PASS_ALL);
    for (int i = 0; i < 100000; i++)
        deep = filter_new_parts(FILTER_CHAIN, &deep, 1);
    expect_mistake(deep, "filter: chain: more than 32 levels or 4096 parts");
}

END_TEST

/* A filter that doubles the cells thirty times is stopped. */
START_TEST(test_multiplication_is_bounded)
{
    struct quarry_filter *f = filter_new(FILTER_PASS_ALL);
    struct quarry_cell copy[CELLS];
    struct quarry_row row = {SLICE_LIT("row"), copy, CELLS};
    struct filter_run *run;
    memcpy(copy, cells, sizeof(copy));
    for (int i = 0; i < 9; i++) {
        struct quarry_filter *doubled[4];
        for (int k = 0; k < 4; k++)
            doubled[k] = two(FILTER_INTERLEAVE, filter_new(FILTER_PASS_ALL),
                             filter_new(FILTER_PASS_ALL));
        struct quarry_filter *links[2] = {
            f, filter_new_parts(FILTER_CHAIN, doubled, 4)};
        f = filter_new_parts(FILTER_CHAIN, links, 2);
    }
    ck_assert_int_eq(filter_run_new(f, &run, &err), 0);
    filter_run_row(run, row.key);
    ck_assert_int_eq(filter_run_finish(run, &row, &err), ERR_TOOBIG);
    ck_assert_str_eq(err.text, "the filter makes more than 1048576 copies of "
                               "the cells of row \"row\"");
    filter_run_free(run);
    filter_unref(f);
}

END_TEST

/* A sample takes about its share of rows, and the same ones each time. */
START_TEST(test_sample)
{
    struct quarry_filter *f = filter_new_sample(0.25);
    struct filter_run *run;
    int taken = 0;
    ck_assert_int_eq(filter_run_new(f, &run, &err), 0);
    for (int i = 0; i < 10000; i++) {
        char key[32];
        snprintf(key, sizeof(key), "row%d", i);
        bool in = filter_run_row(run, slice_str(key));
        ck_assert_int_eq(in, filter_run_row(run, slice_str(key)));
        taken += in;
    }
    ck_assert_int_gt(taken, 2300);
    ck_assert_int_lt(taken, 2700);
    filter_run_free(run);
    filter_unref(f);
}

END_TEST

/* Bytes that are no filter give an error. */
START_TEST(test_damaged_bytes)
{
    struct quarry_filter *f =
        two(FILTER_CHAIN,
            condition(re(FILTER_VALUE_REGEX, "z"),
                      range(FILTER_OPEN, "A", FILTER_CLOSED, "B"),
                      filter_new_times(1, 2)),
            filter_new_sample(0.5));
    struct buf bytes = BUF_INIT;
    struct rand_gen r;
    filter_encode(f, &bytes);
    rand_init(&r, test_seed());
    for (int i = 0; i < 20000; i++) {
        size_t at = rand_below(&r, bytes.len);
        char old = bytes.data[at];
        struct quarry_filter *d;
        bytes.data[at] = (char)rand_u64(&r);
        if (filter_decode(slice_sub(buf_slice(&bytes), 0,
                                    rand_one_in(&r, 2)
                                        ? bytes.len
                                        : rand_below(&r, bytes.len)),
                          &d, &err) == 0)
            filter_unref(d);
        bytes.data[at] = old;
    }
    buf_close(&bytes);
    filter_unref(f);
}

END_TEST

/* A field's number has 29 bits: larger ones are not taken for their low bits.
 */
START_TEST(test_a_wrapped_field_number)
{
    struct quarry_filter *f = filter_new_times(1, 2);
    struct buf good = BUF_INIT;
    struct buf bad = BUF_INIT;
    struct cursor c;
    uint64_t tag;
    struct quarry_filter *d;
    filter_encode(f, &good);
    c = cursor_make(buf_slice(&good));
    tag = cursor_varint(&c);
    buf_put_varint(&bad, tag | UINT64_C(1) << 35);
    buf_append(&bad, c.p, cursor_left(&c));
    ck_assert_int_eq(filter_decode(buf_slice(&good), &d, &err), 0);
    filter_unref(d);
    ck_assert_int_eq(filter_decode(buf_slice(&bad), &d, &err), ERR_CORRUPT);
    buf_close(&good);
    buf_close(&bad);
    filter_unref(f);
}

END_TEST

/* A message that sets nothing passes all cells, alone and as a part: Beam sends
 * one for "no filter", other clients begin chains with one.
 */
START_TEST(test_an_empty_message_passes_all)
{
    struct slice parts = SLICE_LIT("\x0a\x04\x0a\x00\x0a\x00");
    struct quarry_filter *alone;
    struct quarry_filter *chain;
    ck_assert_int_eq(filter_decode(SLICE_EMPTY, &alone, &err), 0);
    ck_assert_int_eq(alone->kind, FILTER_PASS_ALL);
    ck_assert_int_eq(filter_decode(parts, &chain, &err), 0);
    ck_assert_int_eq(chain->kind, FILTER_CHAIN);
    ck_assert_int_eq(chain->parts[1]->kind, FILTER_PASS_ALL);
    filter_unref(alone);
    filter_unref(chain);
}

END_TEST

TEST_MAIN("filter",
          test_an_empty_message_passes_all,
          test_a_wrapped_field_number,
          test_leaves,
          test_combinations,
          test_sink,
          test_mistakes,
          test_multiplication_is_bounded,
          test_sample,
          test_damaged_bytes)
