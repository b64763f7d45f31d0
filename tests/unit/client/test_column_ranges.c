/* Reads of some columns of a wide row jump over the others, and checks of
 * single cells read nothing else: both give what a reader of the whole row
 * finds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "bigtable/quarry.h"
#include "tests/lib/check_main.h"
#include "tests/unit/client/test_target.h"

enum {
    COLUMNS = 60,
    ROUNDS = 60,
    READS = 25
};

static struct err err;
static const char *const families[] = {"a", "b", "c"};

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

/* --- Fixture ------------------------------------------------------------- */

struct wide {
    struct quarry *quarry;
    struct quarry_table *table;
};

static void wide_open(struct wide *w)
{
    static const struct quarry_family_spec specs[] = {
        {"a", "versions=1"}, {"b", "group=y"}, {"c", "versions=2"}};
    static const struct quarry_group_spec groups[] = {{"y", "memtable=64KiB"}};
    char target[300];
    test_new_target(target, sizeof(target));
    OK(test_open(target, NULL, &w->quarry, &err));
    OK(quarry_table_create(w->quarry, "t", specs, 3, groups, 1, &err));
    OK(quarry_table_open(w->quarry, "t", &w->table, &err));
}

static void wide_close(struct wide *w)
{
    quarry_table_close(w->table);
    quarry_close(w->quarry);
}

/* --- Helpers ------------------------------------------------------------- */

static const char *random_family(void)
{
    return families[(size_t)rand() % 3];
}

/* Zero bytes are escaped in keys. */
static struct slice random_column(char room[8])
{
    int n = rand() % COLUMNS;
    int len = snprintf(room, 8, "c%02d", n);
    if (n % 5 == 0)
        room[1] = '\0';
    return slice_make(room, (size_t)len);
}

static void change_row(struct wide *w)
{
    struct quarry_mutation *m = quarry_mutation_new(SLICE_LIT("row"));
    int count = 1 + rand() % 20;
    for (int i = 0; i < count; i++) {
        char room[8];
        struct slice q = random_column(room);
        const char *family = random_family();
        if (rand() % 60 == 0)
            quarry_mutation_delete_row(m);
        else if (rand() % 30 == 0)
            quarry_mutation_delete_family(m, family);
        else if (rand() % 5 == 0)
            quarry_mutation_delete_cells(m, family, q, 0, 0);
        else
            quarry_mutation_set(m, family, q, 1 + rand() % 5,
                                slice_make(room, (size_t)(rand() % 3)));
    }
    OK(quarry_apply(w->table, m, NULL, &err));
    quarry_mutation_free(m);
}

struct range {
    const char *family;
    char start[8];
    char end[8];
    struct slice from;
    struct slice to;
    enum quarry_bound from_kind;
    enum quarry_bound to_kind;
};

static void random_range(struct range *r)
{
    static const enum quarry_bound kinds[] = {QUARRY_CLOSED, QUARRY_OPEN,
                                              QUARRY_UNBOUNDED};

    r->family = random_family();
    r->from = random_column(r->start);
    r->to = random_column(r->end);
    r->from_kind = kinds[(size_t)rand() % 3];
    r->to_kind = kinds[(size_t)rand() % 3];
    if (rand() % 2 || slice_cmp(r->from, r->to) >= 0) { /* One column. */
        memcpy(r->end, r->start, sizeof(r->end));
        r->to = slice_make(r->end, r->from.len);
        r->from_kind = r->to_kind = QUARRY_CLOSED;
    }
}

static bool is_inside(const struct range *r, const struct quarry_cell *c)
{
    int from = slice_cmp(c->qualifier, r->from);
    int to = slice_cmp(c->qualifier, r->to);
    if (!slice_eq_str(c->family, r->family))
        return false;
    return (r->from_kind == QUARRY_UNBOUNDED || from > 0 ||
            (from == 0 && r->from_kind == QUARRY_CLOSED)) &&
           (r->to_kind == QUARRY_UNBOUNDED || to < 0 ||
            (to == 0 && r->to_kind == QUARRY_CLOSED));
}

static struct quarry_filter *filter_of(const struct range *r)
{
    return quarry_filter_column_range(r->family, r->from_kind, r->from,
                                      r->to_kind, r->to);
}

/* --- Expectations -------------------------------------------------------- */

/* The cells of @all in the ranges, once for each, are those of @some. */
static void expect_cells(const struct quarry_row *all,
                         const struct range *ranges,
                         size_t count,
                         const struct quarry_row *some)
{
    size_t at = 0;
    for (size_t i = 0; all && i < all->cell_count; i++)
        for (size_t k = 0; k < count; k++) {
            const struct quarry_cell *want = &all->cells[i];
            if (!is_inside(&ranges[k], want))
                continue;
            ck_assert_msg(some && at < some->cell_count, "a cell is missing");
            ck_assert(slice_eq(some->cells[at].family, want->family));
            ck_assert(slice_eq(some->cells[at].qualifier, want->qualifier));
            ck_assert(slice_eq(some->cells[at].value, want->value));
            ck_assert_int_eq(some->cells[at].timestamp_us, want->timestamp_us);
            at++;
        }
    ck_assert_uint_eq(some ? some->cell_count : 0, at);
}

static void read_ranges(struct wide *w, const struct quarry_row *all)
{
    struct range ranges[6];
    struct quarry_filter *parts[6];
    struct quarry_row *some;
    struct quarry_read_options read = {.filter = NULL};
    struct quarry_filter *f;
    size_t count = 1 + (size_t)rand() % 6;
    for (size_t i = 0; i < count; i++) {
        random_range(&ranges[i]);
        parts[i] = filter_of(&ranges[i]);
    }
    f = count == 1 ? parts[0] : quarry_filter_interleave(parts, count);
    if (rand() % 2) {
        struct quarry_filter *links[2] = {
            quarry_filter_timestamp_range(0, INT64_MAX), f};
        f = quarry_filter_chain(links, 2);
    }
    read.filter = f;
    OK(quarry_read_row(w->table, SLICE_LIT("row"), &read, &some, &err));
    expect_cells(all, ranges, count, some);
    quarry_row_free(some);
    quarry_filter_free(f);
}

/* Is the newest cell of one of two columns, of families a and c, between two
 * values? */
static void check_cells(struct wide *w, const struct quarry_row *all)
{
    char room[2][8];
    struct slice q[2] = {random_column(room[0]), random_column(room[1])};
    static const char *const of[2] = {"a", "c"};
    struct quarry_filter *parts[2];
    struct quarry_filter *f;
    struct quarry_mutation *m = quarry_mutation_new(SLICE_LIT("row"));
    bool want = false;
    bool matched = false;
    for (size_t i = 0; i < 2; i++) {
        struct quarry_filter *links[3] = {
            quarry_filter_column_range(of[i], QUARRY_CLOSED, q[i],
                                       QUARRY_CLOSED, q[i]),
            quarry_filter_cells_per_column_limit(1),
            quarry_filter_value_range(QUARRY_OPEN, SLICE_EMPTY, QUARRY_CLOSED,
                                      SLICE_LIT("c0"))};
        parts[i] = quarry_filter_chain(links, 3);
        for (size_t k = 0; all && k < all->cell_count; k++) {
            const struct quarry_cell *c = &all->cells[k];
            if (!slice_eq_str(c->family, of[i]) ||
                !slice_eq(c->qualifier, q[i]))
                continue;
            want = want || (c->value.len > 0 &&
                            slice_cmp(c->value, SLICE_LIT("c0")) <= 0);
            break;
        }
    }
    f = quarry_filter_interleave(parts, 2);
    quarry_mutation_set(m, "b", SLICE_LIT("checked"), 7, SLICE_EMPTY);
    OK(quarry_check_and_mutate(w->table, SLICE_LIT("row"), f, m, NULL, NULL,
                               &matched, &err));
    ck_assert_int_eq(matched, want);
    quarry_mutation_free(m);
    quarry_filter_free(f);
}

/* --- Tests --------------------------------------------------------------- */

/* A read of some columns finds what a read of the row has of them, whatever was
 * set and deleted, in memory and in files; a check by cells agrees with it. */
START_TEST(test_some_of_all)
{
    struct wide w;
    srand((unsigned)test_seed());
    wide_open(&w);
    for (int i = 0; i < ROUNDS; i++) {
        struct quarry_row *all;
        change_row(&w);
        if (rand() % 10 == 0)
            OK(quarry_table_compact(w.quarry, "t", &err));
        OK(quarry_read_row(w.table, SLICE_LIT("row"), NULL, &all, &err));
        for (int k = 0; k < READS; k++)
            read_ranges(&w, all);
        check_cells(&w, all);
        quarry_row_free(all);
    }
    wide_close(&w);
}

END_TEST

/* A check answers as a read by the same filter does, also of families whose
 * cells are folded and of one that is not there. */
START_TEST(test_checks_are_reads)
{
    static const struct quarry_family_spec specs[] = {{"a", "versions=1"},
                                                      {"s", "aggregate=sum"}};
    static const char *const asked[] = {"a", "s", "nope"};
    char target[300];
    struct wide w;
    test_new_target(target, sizeof(target));
    OK(test_open(target, NULL, &w.quarry, &err));
    OK(quarry_table_create(w.quarry, "t", specs, 2, NULL, 0, &err));
    OK(quarry_table_open(w.quarry, "t", &w.table, &err));
    for (int sum = 0; sum < 4; sum++) {
        struct quarry_mutation *m = quarry_mutation_new(SLICE_LIT("row"));
        quarry_mutation_add(m, "s", SLICE_LIT("q"), 7, 1);
        quarry_mutation_set(m, "a", SLICE_LIT("q"), 7, SLICE_LIT("v"));
        OK(quarry_apply(w.table, m, NULL, &err));
        quarry_mutation_free(m);
        for (size_t i = 0; i < 3 * 5; i++) {
            /* The sum is its eight bytes, the greatest first. */
            char low[8] = {0};
            struct quarry_read_options read = {.filter = NULL};
            struct quarry_row *row;
            struct quarry_filter *links[3];
            struct quarry_filter *f;
            bool matched;
            low[7] = (char)(i / 3);
            links[0] = quarry_filter_column_range(asked[i % 3], QUARRY_CLOSED,
                                                  SLICE_LIT("q"), QUARRY_CLOSED,
                                                  SLICE_LIT("q"));
            links[1] = quarry_filter_cells_per_column_limit(1);
            links[2] =
                quarry_filter_value_range(QUARRY_CLOSED, slice_make(low, 8),
                                          QUARRY_UNBOUNDED, SLICE_EMPTY);
            f = quarry_filter_chain(links, 3);
            read.filter = f;
            OK(quarry_read_row(w.table, SLICE_LIT("row"), &read, &row, &err));
            m = quarry_mutation_new(SLICE_LIT("row"));
            quarry_mutation_set(m, "a", SLICE_LIT("other"), 7, SLICE_EMPTY);
            OK(quarry_check_and_mutate(w.table, SLICE_LIT("row"), f, m, NULL,
                                       NULL, &matched, &err));
            ck_assert_msg(matched == (row != NULL), "%s, at least %zu, of %d",
                          asked[i % 3], i / 3, sum + 1);
            quarry_mutation_free(m);
            quarry_row_free(row);
            quarry_filter_free(f);
        }
    }
    wide_close(&w);
}

END_TEST

TEST_MAIN("column_ranges", test_some_of_all, test_checks_are_reads)
