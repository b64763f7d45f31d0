/* Tables: any split of the values over any tree of workers gives what one pass
 * gives, each kind gives what a plain model gives, and no state from outside
 * does harm. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/core/rand.h"
#include "sawzall-lite/sawzall.h"
#include "sawzall-lite/tables/datum.h"
#include "sawzall-lite/tables/table.h"
#include "tests/lib/check_main.h"

/* --- Fixture -------------------------------------------------------------- */

struct value {
    int64_t key;
    int64_t element;
    int64_t weight;
    uint64_t origin;
};

enum {
    VALUE_COUNT_MAX = 100000
};

static struct value values[VALUE_COUNT_MAX];

static struct saw_table_decl declare(enum saw_table_kind kind, int64_t param)
{
    const struct saw_table_traits *traits = saw_table_traits(kind);
    return (struct saw_table_decl){
        .name = "t",
        .kind = kind,
        .param = param,
        .index_count = traits->indexed ? 1 : 0,
        .weighted = traits->weight != SAW_TABLE_NEVER,
    };
}

/* Weights are tuples { weight, { key, 0.5 } }. */
static bool tuple_weights;

static void put_weight(struct buf *weight, const struct value *v)
{
    if (!tuple_weights) {
        saw_datum_put_int(weight, v->weight);
        return;
    }
    saw_datum_put_open(weight, SAW_DATUM_TUPLE);
    saw_datum_put_int(weight, v->weight);
    saw_datum_put_open(weight, SAW_DATUM_TUPLE);
    saw_datum_put_int(weight, v->key);
    saw_datum_put_float(weight, 0.5);
    saw_datum_put_end(weight);
    saw_datum_put_end(weight);
}

static void put(struct saw_table *t, const struct value *v)
{
    const struct saw_table_decl *d = saw_table_decl(t);
    struct buf key = BUF_INIT;
    struct buf element = BUF_INIT;
    struct buf weight = BUF_INIT;
    if (d->index_count)
        saw_datum_put_int(&key, v->key);
    saw_datum_put_int(&element, v->element);
    if (d->kind == SAW_TABLE_BOOTSTRAPSUM)
        saw_datum_put_word(&weight, SAW_DATUM_FINGERPRINT, (uint64_t)v->weight);
    else if (d->weighted)
        put_weight(&weight, v);
    ck_assert_int_eq(saw_table_emit(t, buf_slice(&key), buf_slice(&element),
                                    buf_slice(&weight), v->origin, NULL),
                     0);
    buf_close(&key);
    buf_close(&element);
    buf_close(&weight);
}

static void draw(struct rand_gen *r, size_t n, uint64_t keys, uint64_t elements)
{
    for (size_t i = 0; i < n; i++)
        values[i] = (struct value){
            .key = (int64_t)rand_below(r, keys),
            .element = (int64_t)rand_below(r, elements) - 5,
            .weight = (int64_t)rand_below(r, 30),
            .origin = rand_u64(r),
        };
}

/* The printed results of values [begin, end) put in one table. */
static char *one_pass(const struct saw_table_decl *d, size_t begin, size_t end)
{
    struct saw_table *t = saw_table_new(d, NULL);
    struct buf out = BUF_INIT;
    for (size_t i = begin; i < end; i++)
        put(t, &values[i]);
    saw_table_print(t, &out);
    saw_table_free(t);
    return buf_take(&out);
}

static void merge_state(struct saw_table *t, const struct buf *state)
{
    struct cursor c = cursor_make(buf_slice(state));
    ck_assert_int_eq(saw_table_merge(t, &c, NULL), 0);
    ck_assert(c.p == c.end);
}

/* The state of values [begin, end) by a random tree of workers. */
static void tree_state(struct rand_gen *r,
                       const struct saw_table_decl *d,
                       size_t begin,
                       size_t end,
                       struct buf *state)
{
    struct saw_table *t = saw_table_new(d, NULL);
    size_t at = begin;
    while (at < end) {
        size_t n = 1 + rand_below(r, end - at);
        struct buf part = BUF_INIT;
        if (n < 40 || rand_one_in(r, 3)) {
            for (size_t i = at; i < at + n; i++)
                put(t, &values[i]);
        } else {
            tree_state(r, d, at, at + n, &part);
            merge_state(t, &part);
        }
        buf_close(&part);
        at += n;
    }
    saw_table_encode(t, state);
    saw_table_free(t);
}

static char *by_tree(struct rand_gen *r,
                     const struct saw_table_decl *d,
                     size_t begin,
                     size_t end)
{
    struct buf state = BUF_INIT;
    struct buf out = BUF_INIT;
    struct saw_table *t = saw_table_new(d, NULL);
    tree_state(r, d, begin, end, &state);
    merge_state(t, &state);
    saw_table_print(t, &out);
    saw_table_free(t);
    buf_close(&state);
    return buf_take(&out);
}

static const struct {
    enum saw_table_kind kind;
    int64_t param;
} exact_kinds[] = {
    {SAW_TABLE_SUM, 0},
    {SAW_TABLE_MRCOUNTER, 0},
    {SAW_TABLE_MAXIMUM, 5},
    {SAW_TABLE_MAXIMUM, 0},
    {SAW_TABLE_MINIMUM, 7},
    {SAW_TABLE_TOP, 6},
    {SAW_TABLE_UNIQUE, 4},
    {SAW_TABLE_UNIQUE, 1000},
    {SAW_TABLE_SET, 3},
    {SAW_TABLE_SET, 40},
    {SAW_TABLE_SAMPLE, 6},
    {SAW_TABLE_WEIGHTEDSAMPLE, 6},
    {SAW_TABLE_DISTINCTSAMPLE, 5},
    {SAW_TABLE_INVERSEHISTOGRAM, 1000},
    {SAW_TABLE_INVERSEHISTOGRAM, 5},
    {SAW_TABLE_BOOTSTRAPSUM, 4},
    {SAW_TABLE_QUANTILE, 5},
    {SAW_TABLE_COLLECTION, 0},
    {SAW_TABLE_TEXT, 0},
    {SAW_TABLE_RECORDIO, 1},
};

/* --- Any split ------------------------------------------------------------ */

/* Every kind gives the same results by random trees of workers as in one pass.
 */
START_TEST(test_any_split_equals_one_pass)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int round = 0; round < 30; round++) {
        size_t n = rand_below(&r, 600);
        draw(&r, n, 1 + rand_below(&r, 20), 1 + rand_below(&r, 60));
        for (size_t k = 0; k < ARRAY_LEN(exact_kinds); k++) {
            struct saw_table_decl d =
                declare(exact_kinds[k].kind, exact_kinds[k].param);
            char *want = one_pass(&d, 0, n);
            char *got = by_tree(&r, &d, 0, n);
            ck_assert_msg(strcmp(want, got) == 0, "%s(%lld):\n%s---\n%s",
                          saw_table_traits(d.kind)->name, (long long)d.param,
                          want, got);
            free(want);
            free(got);
        }
    }
}

END_TEST

/* The same where weights are tuples, for the kinds that take them. */
START_TEST(test_any_split_of_tuple_weights)
{
    static const struct saw_kind_param {
        enum saw_table_kind kind;
        int64_t param;
    } kinds[] = {{SAW_TABLE_TOP, 6},
                 {SAW_TABLE_MAXIMUM, 5},
                 {SAW_TABLE_DISTINCTSAMPLE, 5},
                 {SAW_TABLE_INVERSEHISTOGRAM, 5}};
    struct rand_gen r;
    rand_init(&r, test_seed());
    tuple_weights = true;
    for (int round = 0; round < 20; round++) {
        size_t n = rand_below(&r, 400);
        draw(&r, n, 1 + rand_below(&r, 5), 1 + rand_below(&r, 60));
        for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
            struct saw_table_decl d = declare(kinds[k].kind, kinds[k].param);
            char *want = one_pass(&d, 0, n);
            char *got = by_tree(&r, &d, 0, n);
            ck_assert_str_eq(want, got);
            free(want);
            free(got);
        }
    }
    tuple_weights = false;
}

END_TEST

/* The order of values changes nothing but a collection. */
START_TEST(test_any_order_equals_any_other)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    draw(&r, 500, 7, 40);
    for (size_t k = 0; k < ARRAY_LEN(exact_kinds); k++) {
        struct saw_table_decl d =
            declare(exact_kinds[k].kind, exact_kinds[k].param);
        char *want = one_pass(&d, 0, 500);
        char *got;
        if (d.kind == SAW_TABLE_COLLECTION || d.kind == SAW_TABLE_TEXT ||
            d.kind == SAW_TABLE_RECORDIO) {
            free(want);
            continue;
        }
        for (size_t i = 499; i > 0; i--) {
            size_t other = rand_below(&r, i + 1);
            struct value swap = values[i];
            values[i] = values[other];
            values[other] = swap;
        }
        got = one_pass(&d, 0, 500);
        ck_assert_str_eq(want, got);
        free(want);
        free(got);
    }
}

END_TEST

/* Floats of very different size sum to the same digits in any order. */
START_TEST(test_float_sums_do_not_depend_on_order)
{
    enum {
        N = 5000
    };

    static double v[N];
    struct saw_table_decl d = {.name = "t", .kind = SAW_TABLE_SUM};
    struct rand_gen r;
    char *want = NULL;
    rand_init(&r, test_seed());
    for (size_t i = 0; i < N; i++)
        v[i] = (rand_double(&r) - 0.5) * pow(10, (double)rand_below(&r, 18));
    for (int round = 0; round < 10; round++) {
        struct saw_table *t = saw_table_new(&d, NULL);
        struct buf out = BUF_INIT;
        for (size_t i = 0; i < N; i++) {
            struct buf e = BUF_INIT;
            size_t other = i + rand_below(&r, N - i);
            double swap = v[i];
            v[i] = v[other];
            v[other] = swap;
            saw_datum_put_float(&e, v[i]);
            ck_assert_int_eq(saw_table_emit(t, SLICE_EMPTY, buf_slice(&e),
                                            SLICE_EMPTY, 0, NULL),
                             0);
            buf_close(&e);
        }
        saw_table_print(t, &out);
        if (!want)
            want = strdup(buf_cstr(&out));
        ck_assert_str_eq(want, buf_cstr(&out));
        buf_close(&out);
        saw_table_free(t);
    }
    free(want);
}

END_TEST

/* Sums of maps of maps: one pass, parts and a plain model agree. */
START_TEST(test_sums_of_maps)
{
    enum {
        N = 400,
        OUTER = 6,
        INNER = 4
    };
    struct saw_table_decl d = {.name = "t", .kind = SAW_TABLE_SUM};
    int64_t model[OUTER][INNER] = {{0}};
    bool seen[OUTER][INNER] = {{false}};
    struct saw_table *whole = saw_table_new(&d, NULL);
    struct saw_table *merged = saw_table_new(&d, NULL);
    struct buf a = BUF_INIT;
    struct buf b = BUF_INIT;
    struct buf want = BUF_INIT;
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int i = 0; i < N; i++) {
        struct saw_table *part = saw_table_new(&d, NULL);
        struct buf e = BUF_INIT;
        struct buf state = BUF_INIT;
        int64_t x = (int64_t)rand_below(&r, OUTER);
        int64_t y = (int64_t)rand_below(&r, INNER);
        saw_datum_put_open(&e, SAW_DATUM_MAP);
        saw_datum_put_int(&e, x);
        saw_datum_put_open(&e, SAW_DATUM_MAP);
        saw_datum_put_int(&e, y);
        saw_datum_put_int(&e, i);
        saw_datum_put_end(&e);
        saw_datum_put_end(&e);
        model[x][y] += i;
        seen[x][y] = true;
        ck_assert_int_eq(saw_table_emit(whole, SLICE_EMPTY, buf_slice(&e),
                                        SLICE_EMPTY, 0, NULL),
                         0);
        ck_assert_int_eq(saw_table_emit(part, SLICE_EMPTY, buf_slice(&e),
                                        SLICE_EMPTY, 0, NULL),
                         0);
        saw_table_encode(part, &state);
        merge_state(merged, &state);
        saw_table_free(part);
        buf_close(&e);
        buf_close(&state);
    }
    buf_append_str(&want, "t[] = { ");
    for (int x = 0; x < OUTER; x++) {
        const char *before = "";
        buf_printf(&want, "%s%d: { ", x ? " }, " : "", x);
        for (int y = 0; y < INNER; y++) {
            if (!seen[x][y])
                continue;
            buf_printf(&want, "%s%d: %lld", before, y, (long long)model[x][y]);
            before = ", ";
        }
    }
    buf_append_str(&want, " } }\n");
    saw_table_print(whole, &a);
    saw_table_print(merged, &b);
    ck_assert_str_eq(buf_cstr(&a), buf_cstr(&want));
    ck_assert_str_eq(buf_cstr(&b), buf_cstr(&want));
    saw_table_free(whole);
    saw_table_free(merged);
    buf_close(&a);
    buf_close(&b);
    buf_close(&want);
}

END_TEST

/* --- Models --------------------------------------------------------------- */

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

    d = declare(SAW_TABLE_SUM, 0);
    expect(&d, 4, "t[1] = 50\nt[2] = 20\n");
    d.index_count = 0;
    expect(&d, 4, "t[] = 70\n");
    expect(&d, 0, "");
    d = declare(SAW_TABLE_COLLECTION, 0);
    expect(&d, 4, "t[1] = 10\nt[1] = 30\nt[1] = 10\nt[2] = 20\n");
    d = declare(SAW_TABLE_MAXIMUM, 2);
    expect(&d, 4, "t[1] = 30, 9\nt[1] = 10, 5\nt[2] = 20, 7\n");
    d = declare(SAW_TABLE_MINIMUM, 1);
    expect(&d, 4, "t[1] = 10, 1\nt[2] = 20, 7\n");
    d = declare(SAW_TABLE_TOP, 1);
    expect(&d, 4, "t[1] = 30, 9, 0\nt[2] = 20, 7, 0\n");
    d = declare(SAW_TABLE_TOP, 2);
    expect(&d, 4, "t[1] = 30, 9, 0\nt[1] = 10, 6, 0\nt[2] = 20, 7, 0\n");
    d = declare(SAW_TABLE_UNIQUE, 10);
    expect(&d, 4, "t[1] = 2\nt[2] = 1\n");
    d = declare(SAW_TABLE_SET, 1);
    expect(&d, 4, "t[2] = 20\n");
    d = declare(SAW_TABLE_SET, 2);
    expect(&d, 4, "t[1] = 10\nt[1] = 30\nt[2] = 20\n");
    d = declare(SAW_TABLE_QUANTILE, 3);
    expect(&d, 4,
           "t[1] = 10\nt[1] = 10\nt[1] = 30\n"
           "t[2] = 20\nt[2] = 20\nt[2] = 20\n");
    d = declare(SAW_TABLE_INVERSEHISTOGRAM, 10);
    expect(&d, 4,
           "t[1] = 0, 2\nt[1] = 6, 0.5\nt[1] = 9, 0.5\n"
           "t[2] = 0, 1\nt[2] = 7, 1\n");
}

END_TEST

/* Keys come out ascending: numbers by value, texts bytewise. */
START_TEST(test_keys_ascend)
{
    struct saw_table_decl d = {
        .name = "t", .kind = SAW_TABLE_SUM, .index_count = 2};
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

static void
on_line(void *ctx, const struct slice *v, const bool *numeric, size_t count)
{
    struct lines *l = ctx;
    char text[64];
    ck_assert(numeric[0]);
    snprintf(text, sizeof(text), "%.*s", SLICE_ARG(v[0]));
    l->v[l->count++] = atoll(text);
    snprintf(text, sizeof(text), "%.*s", SLICE_ARG(v[count - 1]));
    l->error = atof(text);
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
        .name = "t", .kind = SAW_TABLE_QUANTILE, .param = Q};
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
    struct saw_table_decl d = declare(SAW_TABLE_TOP, 10);
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
        .name = "t", .kind = SAW_TABLE_UNIQUE, .param = 1000};
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
        .name = "t", .kind = SAW_TABLE_SAMPLE, .param = TAKEN};
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
                               .kind = SAW_TABLE_WEIGHTEDSAMPLE,
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

/* --- Bounds --------------------------------------------------------------- */

/* A full budget refuses new keys, keeps what there is, and sums go on. */
START_TEST(test_budget_is_kept)
{
    struct saw_table_budget budget = {0, 100000};
    struct saw_table_decl d = declare(SAW_TABLE_SUM, 0);
    struct saw_table *t = saw_table_new(&d, &budget);
    struct buf key = BUF_INIT;
    struct buf one = BUF_INIT;
    struct err err = ERR_INIT;
    int64_t i = 0;
    int rc = 0;
    saw_datum_put_int(&one, 1);
    for (; rc == 0 && i < 100000; i++) {
        buf_clear(&key);
        saw_datum_put_int(&key, i);
        rc = saw_table_emit(t, buf_slice(&key), buf_slice(&one), SLICE_EMPTY, 0,
                            &err);
    }
    ck_assert_int_eq(rc, ERR_EXHAUSTED);
    ck_assert(strstr(err.text, "table t"));
    ck_assert_uint_eq(saw_table_key_count(t), (size_t)i - 1);
    ck_assert(budget.bytes < 400000);
    buf_clear(&key);
    saw_datum_put_int(&key, 0);
    ck_assert_int_eq(saw_table_emit(t, buf_slice(&key), buf_slice(&one),
                                    SLICE_EMPTY, 0, NULL),
                     0);
    saw_table_clear(t);
    ck_assert_uint_eq(budget.bytes, 0);
    buf_close(&key);
    buf_close(&one);
    saw_table_free(t);
}

END_TEST

/* Clearing and freeing give back every byte, of every kind. */
START_TEST(test_memory_is_counted_exactly)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    draw(&r, 3000, 5, 500);
    for (size_t k = 0; k < ARRAY_LEN(exact_kinds); k++) {
        struct saw_table_budget budget = {0, SIZE_MAX};
        struct saw_table_decl d =
            declare(exact_kinds[k].kind, exact_kinds[k].param);
        struct saw_table *t = saw_table_new(&d, &budget);
        for (size_t i = 0; i < 3000; i++)
            put(t, &values[i]);
        ck_assert(budget.bytes > 0);
        saw_table_clear(t);
        ck_assert_uint_eq(budget.bytes, 0);
        put(t, &values[0]);
        ck_assert_uint_eq(saw_table_key_count(t), 1);
        saw_table_free(t);
        ck_assert_uint_eq(budget.bytes, 0);
    }
}

END_TEST

/* A state with any byte changed, or cut anywhere, is refused or merges; it
 * never crashes and never makes much of little. */
START_TEST(test_hostile_states)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    draw(&r, 60, 3, 20);
    for (size_t k = 0; k < ARRAY_LEN(exact_kinds); k++) {
        struct saw_table_decl d =
            declare(exact_kinds[k].kind, exact_kinds[k].param);
        struct buf state = BUF_INIT;
        tree_state(&r, &d, 0, 60, &state);
        for (int round = 0; round < 200; round++) {
            struct saw_table_budget budget = {0, SIZE_MAX};
            struct saw_table *t = saw_table_new(&d, &budget);
            struct buf bad = BUF_INIT;
            struct buf out = BUF_INIT;
            struct cursor c;
            buf_append_slice(&bad, buf_slice(&state));
            if (rand_one_in(&r, 2))
                buf_truncate(&bad, rand_below(&r, bad.len + 1));
            for (uint64_t n = rand_below(&r, 4); n > 0 && bad.len > 0; n--)
                bad.data[rand_below(&r, bad.len)] = (char)rand_u64(&r);
            c = cursor_make(buf_slice(&bad));
            (void)!saw_table_merge(t, &c, NULL);
            ck_assert(budget.bytes < 4000000);
            saw_table_print(t, &out);
            buf_clear(&out);
            saw_table_encode(t, &out);
            saw_table_free(t);
            buf_close(&bad);
            buf_close(&out);
        }
        buf_close(&state);
    }
}

END_TEST

/* The state of another declaration is refused as such. */
START_TEST(test_state_of_another_declaration)
{
    struct saw_table_decl a = declare(SAW_TABLE_TOP, 5);
    struct saw_table_decl b = declare(SAW_TABLE_TOP, 6);
    struct saw_table *from = saw_table_new(&a, NULL);
    struct saw_table *to = saw_table_new(&b, NULL);
    struct buf state = BUF_INIT;
    struct cursor c;
    saw_table_encode(from, &state);
    c = cursor_make(buf_slice(&state));
    ck_assert_int_eq(saw_table_merge(to, &c, NULL), ERR_INVALID);
    buf_close(&state);
    saw_table_free(from);
    saw_table_free(to);
}

END_TEST

/* Every kind is found by its name, and nothing else is. */
START_TEST(test_traits)
{
    static const char *const names[] = {"collection",
                                        "sum",
                                        "maximum",
                                        "minimum",
                                        "top",
                                        "unique",
                                        "quantile",
                                        "set",
                                        "sample",
                                        "weightedsample",
                                        "distinctsample",
                                        "inversehistogram",
                                        "bootstrapsum",
                                        "mrcounter",
                                        "text",
                                        "recordio"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const struct saw_table_traits *t =
            saw_table_traits_find(slice_str(names[i]));
        ck_assert_ptr_nonnull(t);
        ck_assert_ptr_eq(saw_table_traits(t->kind), t);
    }
    ck_assert_ptr_null(saw_table_traits_find(SLICE_LIT("summ")));
    ck_assert_ptr_null(saw_table_traits_find(SLICE_EMPTY));
}

END_TEST

TEST_MAIN("table",
          test_any_split_equals_one_pass,
          test_any_split_of_tuple_weights,
          test_any_order_equals_any_other,
          test_float_sums_do_not_depend_on_order,
          test_sums_of_maps,
          test_known_results,
          test_keys_ascend,
          test_quantile_error_is_bounded,
          test_top_error_is_bounded,
          test_unique_estimate,
          test_sample_is_fair,
          test_weighted_sample_follows_weights,
          test_budget_is_kept,
          test_memory_is_counted_exactly,
          test_hostile_states,
          test_state_of_another_declaration,
          test_traits)
