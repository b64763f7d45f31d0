/* The choice of compactions, by cases and by simulated loads. */
#include <stdio.h>
#include <stdlib.h>

#include "base/core/macros.h"
#include "base/core/rand.h"
#include "bigtable/lsm/compaction_choice.h"
#include "tests/lib/check_main.h"

#define MB         ((uint64_t)1 << 20)
#define BASE_BYTES (32 * MB)

/* --- cases --------------------------------------------------------------- */

/* Sizes of runs in MB, newest first, ended by 0, and the window expected. */
static const struct {
    uint64_t mb[32];
    size_t first;
    size_t count;
} cases[] = {
    {{0}, 0, 0},
    {{64, 0}, 0, 0},
    {{64, 64, 64, 64, 64, 64, 64, 0}, 0, 0},
    /* Eight of a size become one, a larger one below stays out. */
    {{64, 64, 64, 64, 64, 64, 64, 64, 0}, 0, 8},
    {{64, 60, 70, 64, 64, 64, 64, 64, 512, 0}, 0, 8},
    /* Late: all of the tier go. */
    {{64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 512, 0}, 0, 10},
    /* Small ones between large ones go along. */
    {{64, 1, 64, 64, 2, 64, 64, 64, 1, 64, 512, 0}, 0, 10},
    /* A deeper tier. */
    {{64, 512, 512, 512, 512, 512, 512, 512, 512, 9000, 0}, 1, 8},
    /* The oldest is rewritten when twice its size lies above it. */
    {{512, 512, 512, 0}, 0, 3},
    {{512, 512, 520, 0}, 0, 0},
    {{64, 64, 0}, 0, 0},
    /* Two runs are left alone however they compare. */
    {{4096, 1, 0}, 0, 0},
};

/* Each case of the table gives its window. */
START_TEST(test_cases)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct choice_run runs[32] = {{0}};
        struct compaction_choice c;
        size_t count = 0;
        while (cases[i].mb[count]) {
            runs[count].number = (uint32_t)(100 - count);
            runs[count].bytes = cases[i].mb[count] * MB;
            count++;
        }
        c = choose_compaction(runs, count, BASE_BYTES);
        ck_assert_msg(c.count == cases[i].count &&
                          (c.count == 0 || c.first == cases[i].first),
                      "case %zu: [%zu, +%zu)", i, c.first, c.count);
    }
}

END_TEST

/* --- where a flush goes -------------------------------------------------- */

static struct choice_run one_table_run(struct choice_table *t,
                                       uint32_t number,
                                       const char *a,
                                       const char *b)
{
    *t = (struct choice_table){MB, slice_str(a), slice_str(b)};
    return (struct choice_run){
        .number = number, .tables = t, .table_count = 1, .bytes = MB};
}

/* A table joins the oldest run it can reach without passing an overlap, never
 * past runs that are being compacted, and never one of them. */
START_TEST(test_flush_run)
{
    struct choice_table t[3];
    struct choice_run runs[3] = {
        one_table_run(&t[0], 9, "m", "p"),
        one_table_run(&t[1], 5, "a", "c"),
        one_table_run(&t[2], 2, "x", "z"),
    };

    struct {
        const char *first;
        const char *last;
        uint32_t busy_min;
        uint32_t busy_max;
        uint32_t want;
    } table[] = {
        {"d", "e", 1, 0, 2},  /* Nothing in the way: the oldest. */
        {"x", "x", 1, 0, 5},  /* Over run 2. */
        {"b", "b", 1, 0, 9},  /* Over run 5. */
        {"n", "n", 1, 0, 10}, /* Over the newest: a new run. */
        {"c", "m", 1, 0, 10}, /* Bounds count. */
        {"q", "w", 1, 0, 2},  {"d", "e", 5, 5, 9},  /* Run 5 is busy. */
        {"d", "e", 2, 2, 5},  {"d", "e", 2, 9, 10}, /* All are. */
        {"d", "e", 5, 9, 10},
    };

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        uint32_t got = choose_flush_run(runs, 3, slice_str(table[i].first),
                                        slice_str(table[i].last),
                                        table[i].busy_min, table[i].busy_max);
        ck_assert_msg(got == table[i].want, "case %zu: run %u", i, got);
    }
    ck_assert_uint_eq(
        choose_flush_run(NULL, 0, SLICE_LIT("a"), SLICE_LIT("b"), 1, 0), 1);
}

END_TEST

/* --- simulated loads ----------------------------------------------------- */

struct load {
    struct choice_run runs[64]; /* Newest first. */
    size_t count;
    uint64_t flushed;
    uint64_t compacted;
    size_t most;
};

/* Flush @bytes over all rows, then compact until nothing is due. @overwrites:
 * a merge of all ends at the size of the largest. */
static void flush_one(struct load *l, uint64_t bytes, uint64_t all_rows_bytes)
{
    struct compaction_choice c;
    memmove(l->runs + 1, l->runs, l->count * sizeof(l->runs[0]));
    l->runs[0] = (struct choice_run){.bytes = bytes};
    l->count++;
    l->flushed += bytes;
    if (l->count > l->most)
        l->most = l->count;
    while ((c = choose_compaction(l->runs, l->count, BASE_BYTES)).count > 0) {
        uint64_t out = MIN_OF(c.bytes, all_rows_bytes);
        ck_assert_uint_ge(c.count, 2);
        l->compacted += out;
        l->runs[c.first].bytes = out;
        memmove(l->runs + c.first + 1, l->runs + c.first + c.count,
                (l->count - c.first - c.count) * sizeof(l->runs[0]));
        l->count -= c.count - 1;
    }
}

/* 1 GB of new rows in memtables of 64 MB: log, flush and compaction together
 * write at most three times the data. */
START_TEST(test_write_amplification_of_a_fill)
{
    struct load l = {.count = 0};
    for (int i = 0; i < 16; i++)
        flush_one(&l, 64 * MB, UINT64_MAX);
    ck_assert_uint_le(l.compacted, l.flushed);
    ck_assert_uint_le(l.most, RUNS_MAX);
}

END_TEST

/* However much is written, in whatever sizes, runs stay bounded, an entry is
 * rewritten about logarithmically often, and overwrites do not pile up. */
START_TEST(test_long_loads_stay_bounded)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int kind = 0; kind < 3; kind++) {
        struct load l = {.count = 0};
        uint64_t live = kind == 2 ? 4096 * MB : UINT64_MAX;
        uint64_t held = 0;
        for (int i = 0; i < 3000; i++)
            flush_one(&l, kind == 0 ? 64 * MB : (1 + rand_below(&r, 64)) * MB,
                      live);
        for (size_t i = 0; i < l.count; i++)
            held += l.runs[i].bytes;
        ck_assert_uint_le(l.most, RUNS_MAX + 1);
        ck_assert_uint_le(l.compacted, 8 * l.flushed);
        if (kind == 2)
            ck_assert_uint_le(held, 4 * live);
    }
}

END_TEST

TEST_MAIN("compaction_choice",
          test_cases,
          test_flush_run,
          test_write_amplification_of_a_fill,
          test_long_loads_stay_bounded)
