/* Tables: each kind gives what a plain model gives, within the error it states.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/sawzall-lite/table_fixture.h"

static void expect(const struct saw_table_decl *d, size_t n, const char *want)
{
    char *got = one_pass(d, 0, n);
    ck_assert_str_eq(got, want);
    free(got);
}

/* Small cases worked out by hand. */
START_TEST(test_known_results)
{
    struct saw_table_decl d;
    values[0] = (struct value){1, 10, 5, 1};
    values[1] = (struct value){2, 20, 7, 2};
    values[2] = (struct value){1, 30, 9, 3};
    values[3] = (struct value){1, 10, 1, 4};

    d = declare("sum", 0);
    expect(&d, 4, "t[1] = 50\nt[2] = 20\n");
    d.index_count = 0;
    expect(&d, 4, "t[] = 70\n");
    expect(&d, 0, "");
    d = declare("collection", 0);
    expect(&d, 4, "t[1] = 10\nt[1] = 30\nt[1] = 10\nt[2] = 20\n");
    d = declare("maximum", 2);
    expect(&d, 4, "t[1] = 30, 9\nt[1] = 10, 5\nt[2] = 20, 7\n");
    d = declare("minimum", 1);
    expect(&d, 4, "t[1] = 10, 1\nt[2] = 20, 7\n");
    d = declare("top", 1);
    expect(&d, 4, "t[1] = 30, 9, 0\nt[2] = 20, 7, 0\n");
    d = declare("top", 2);
    expect(&d, 4, "t[1] = 30, 9, 0\nt[1] = 10, 6, 0\nt[2] = 20, 7, 0\n");
    d = declare("unique", 10);
    expect(&d, 4, "t[1] = 2\nt[2] = 1\n");
    d = declare("set", 1);
    expect(&d, 4, "t[2] = 20\n");
    d = declare("set", 2);
    expect(&d, 4, "t[1] = 10\nt[1] = 30\nt[2] = 20\n");
    d = declare("quantile", 3);
    expect(&d, 4,
           "t[1] = 10\nt[1] = 10\nt[1] = 30\n"
           "t[2] = 20\nt[2] = 20\nt[2] = 20\n");
    d = declare("inversehistogram", 10);
    expect(&d, 4,
           "t[1] = 0, 2\nt[1] = 6, 0.5\nt[1] = 9, 0.5\n"
           "t[2] = 0, 1\nt[2] = 7, 1\n");
}

END_TEST

/* A table that keeps nothing prints the keys it met. */
START_TEST(test_tables_of_nothing_print_their_keys)
{
    struct saw_table_decl d;
    values[0] = (struct value){1, 10, 5, 1};
    values[1] = (struct value){2, 20, 7, 2};

    d = declare("maximum", 0);
    expect(&d, 2, "t[1] = \nt[2] = \n");
    d = declare("minimum", 0);
    expect(&d, 2, "t[1] = \nt[2] = \n");
    d = declare("sample", 0);
    expect(&d, 2, "t[1] = \nt[2] = \n");
    d = declare("distinctsample", 0);
    expect(&d, 2, "t[1] = \nt[2] = \n");
    d = declare("set", 0);
    expect(&d, 2, "");
}

END_TEST

/* Zeros beside weights that are tuples have their shape. */
START_TEST(test_zeros_have_the_shape_of_the_weight)
{
    struct saw_table_decl d;
    values[0] = (struct value){1, 10, 5, 1};

    tuple_weights = true;
    d = declare("top", 1);
    expect(&d, 1, "t[1] = 10, 5, { 1, 0.5 }, 0, { 0, 0 }\n");
    d = declare("inversehistogram", 2);
    expect(&d, 1,
           "t[1] = 0, { 0, 0 }, 1\n"
           "t[1] = 5, { 1, 0.5 }, 1\n");
    tuple_weights = false;
}

END_TEST

/* Keys come out ascending: numbers by value, texts bytewise. */
START_TEST(test_keys_ascend)
{
    struct saw_table_decl d = {
        .name = "t", .kind = kind_named("sum"), .index_count = 2};
    struct saw_table *t = saw_table_new(&d, NULL);
    struct buf out = BUF_INIT;
    static const int64_t numbers[] = {10, -3, 9};
    static const char *const words[] = {"b", "a", "ab"};
    for (int i = 0; i < 9; i++) {
        struct buf key = BUF_INIT;
        struct buf one = BUF_INIT;
        saw_datum_put_int(&key, numbers[i / 3]);
        saw_datum_put_text(&key, SAW_DATUM_STRING, slice_str(words[i % 3]));
        saw_datum_put_int(&one, 1);
        ck_assert_int_eq(saw_table_emit(t, buf_slice(&key), buf_slice(&one),
                                        SLICE_EMPTY, 0, NULL),
                         0);
        buf_close(&key);
        buf_close(&one);
    }
    saw_table_print(t, &out);
    ck_assert_str_eq(buf_cstr(&out),
                     "t[-3, a] = 1\nt[-3, ab] = 1\nt[-3, b] = 1\n"
                     "t[9, a] = 1\nt[9, ab] = 1\nt[9, b] = 1\n"
                     "t[10, a] = 1\nt[10, ab] = 1\nt[10, b] = 1\n");
    ck_assert_uint_eq(saw_table_key_count(t), 9);
    buf_close(&out);
    saw_table_free(t);
}

END_TEST

struct lines {
    int64_t v[4096];
    double error;
    size_t count;
};

static void
on_table(void *ctx, const char *name, const char *const *columns, size_t count)
{
    (void)ctx;
    ck_assert_str_eq(name, "t");
    ck_assert(count > 0 && columns[0][0]);
}

static bool
on_line(void *ctx, const struct slice *v, const bool *numeric, size_t count)
{
    struct lines *l = ctx;
    char text[64];
    ck_assert(numeric[0]);
    snprintf(text, sizeof(text), "%.*s", SLICE_ARG(v[0]));
    l->v[l->count++] = atoll(text);
    snprintf(text, sizeof(text), "%.*s", SLICE_ARG(v[count - 1]));
    l->error = atof(text);
    return true;
}

static void results_of(struct saw_table *t, struct lines *l)
{
    struct saw_result_sink sink = {l, on_table, on_line};
    l->count = 0;
    saw_table_results(t, &sink);
}

static int by_int(const void *a, const void *b)
{
    const int64_t *x = a;
    const int64_t *y = b;
    return (*x > *y) - (*x < *y);
}

/* Ranks of quantiles over far more values than are kept stay within the bound
 * that quantile.c states, however the values were split. */
START_TEST(test_quantile_error_is_bounded)
{
    enum {
        N = VALUE_COUNT_MAX,
        Q = 11
    };

    static int64_t sorted[N];
    struct saw_table_decl d = {
        .name = "t", .kind = kind_named("quantile"), .param = Q};
    struct rand_gen r;
    double bound = (double)N * log2(2.0 * N / 4096) / 4096;
    rand_init(&r, test_seed());
    for (int shape = 0; shape < 3; shape++) {
        static struct lines l;
        struct buf state = BUF_INIT;
        struct saw_table *t = saw_table_new(&d, NULL);
        for (size_t i = 0; i < N; i++) {
            values[i].element = shape == 0   ? (int64_t)rand_below(&r, 1u << 30)
                                : shape == 1 ? (int64_t)i
                                             : (int64_t)(N - i);
            sorted[i] = values[i].element;
        }
        qsort(sorted, N, sizeof(sorted[0]), by_int);
        tree_state(&r, &d, 0, N, &state);
        merge_state(t, &state);
        results_of(t, &l);
        ck_assert_uint_eq(l.count, Q);
        ck_assert_int_eq(l.v[0], sorted[0]);
        ck_assert_int_eq(l.v[Q - 1], sorted[N - 1]);
        for (size_t i = 1; i + 1 < Q; i++) {
            double want = (double)N * (double)i / (Q - 1);
            size_t low = 0;
            while (low < N && sorted[low] < l.v[i])
                low++;
            ck_assert_msg(fabs((double)low - want) <= bound,
                          "quantile %zu: rank %zu, wanted %.0f +- %.0f", i, low,
                          want, bound);
        }
        saw_table_free(t);
        buf_close(&state);
    }
}

END_TEST

/* Beyond the exact range, top still finds what is heavy, and the deviation it
 * prints is true. */
START_TEST(test_top_error_is_bounded)
{
    enum {
        DISTINCT = 400000
    };
    struct saw_table_decl d = declare("top", 10);
    struct saw_table *t;
    struct rand_gen r;
    static struct lines l;
    struct buf out = BUF_INIT;
    d.index_count = 0;
    t = saw_table_new(&d, NULL);
    rand_init(&r, test_seed());
    for (size_t i = 0; i < DISTINCT; i++) {
        struct value v = {0, (int64_t)i + 100, 1, 0};
        put(t, &v);
        /* Ten heavy ones, value k of weight about 20,000 + 2,000 k. */
        v.element = (int64_t)rand_below(&r, 10);
        v.weight = rand_below(&r, 20) < 10 + (uint64_t)v.element ? 1 : 0;
        if (v.weight)
            put(t, &v);
    }
    results_of(t, &l);
    ck_assert_uint_eq(l.count, 10);
    qsort(l.v, 10, sizeof(l.v[0]), by_int);
    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(l.v[i], i);
    ck_assert(l.error > 0);
    ck_assert(l.error <= 2.0 * DISTINCT / 65536);
    buf_close(&out);
    saw_table_free(t);
}

END_TEST

/* The estimate of many distinct values is within four standard errors. */
START_TEST(test_unique_estimate)
{
    struct saw_table_decl d = {
        .name = "t", .kind = kind_named("unique"), .param = 1000};
    struct saw_table *t = saw_table_new(&d, NULL);
    static struct lines l;
    for (int64_t i = 0; i < 200000; i++) {
        struct value v = {0, i % 100000, 0, 0};
        put(t, &v);
    }
    results_of(t, &l);
    ck_assert_msg(fabs((double)l.v[0] - 100000) < 4 * 100000 / sqrt(998),
                  "%lld", (long long)l.v[0]);
    saw_table_free(t);
}

END_TEST

/* Each value has the same chance to be sampled. */
START_TEST(test_sample_is_fair)
{
    enum {
        N = 20,
        ROUNDS = 4000,
        TAKEN = 5
    };

    int hits[N] = {0};
    struct saw_table_decl d = {
        .name = "t", .kind = kind_named("sample"), .param = TAKEN};
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int round = 0; round < ROUNDS; round++) {
        struct saw_table *t = saw_table_new(&d, NULL);
        static struct lines l;
        ck_assert(saw_table_wants_origin(t));
        for (int64_t i = 0; i < N; i++) {
            struct value v = {0, i, 0, rand_u64(&r)};
            put(t, &v);
        }
        results_of(t, &l);
        ck_assert_uint_eq(l.count, TAKEN);
        for (size_t i = 0; i < TAKEN; i++)
            hits[l.v[i]]++;
        saw_table_free(t);
    }
    for (int i = 0; i < N; i++) /* 1,000 expected, deviation 27. */
        ck_assert_msg(abs(hits[i] - 1000) < 160, "%d: %d", i, hits[i]);
}

END_TEST

/* A value of twice the weight is first twice as often. */
START_TEST(test_weighted_sample_follows_weights)
{
    enum {
        ROUNDS = 6000
    };

    int heavy = 0;
    struct saw_table_decl d = {.name = "t",
                               .kind = kind_named("weightedsample"),
                               .param = 1,
                               .weighted = true};
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int round = 0; round < ROUNDS; round++) {
        struct saw_table *t = saw_table_new(&d, NULL);
        static struct lines l;
        for (int64_t i = 0; i < 3; i++) {
            struct value v = {0, i, i, rand_u64(&r)};
            put(t, &v);
        }
        results_of(t, &l);
        ck_assert_uint_eq(l.count, 1);
        ck_assert_int_ne(l.v[0], 0); /* Weight 0 is never taken. */
        heavy += l.v[0] == 2;
        saw_table_free(t);
    }
    ck_assert_msg(abs(heavy - ROUNDS * 2 / 3) < 200, "%d", heavy);
}

END_TEST

TEST_MAIN("table_results",
          test_known_results,
          test_tables_of_nothing_print_their_keys,
          test_zeros_have_the_shape_of_the_weight,
          test_keys_ascend,
          test_quantile_error_is_bounded,
          test_top_error_is_bounded,
          test_unique_estimate,
          test_sample_is_fair,
          test_weighted_sample_follows_weights)
