/* Tables: any split of the values over any tree of workers gives what one pass
 * gives. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/sawzall-lite/table_fixture.h"

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
                          d.kind->name, (long long)d.param, want, got);
            free(want);
            free(got);
        }
    }
}

END_TEST

/* Values [begin, end) in parts, each a table that the first absorbs; after that
 * all memory is counted where it is. */
static char *
by_parts(struct rand_gen *r, const struct saw_table_decl *d, size_t end)
{
    struct saw_table_budget here = {.bytes_max = SIZE_MAX};
    struct saw_table_budget there = {.bytes_max = SIZE_MAX};
    struct saw_table *t = saw_table_new(d, &here);
    struct saw_table *part = saw_table_new(d, &there);
    struct buf out = BUF_INIT;
    for (size_t at = 0; at < end;) {
        size_t n = 1 + rand_below(r, end - at);
        for (; n > 0; n--)
            put(part, &values[at++]);
        ck_assert_int_eq(saw_table_absorb(t, part, NULL), 0);
        ck_assert_uint_eq(there.bytes, 0);
        ck_assert_uint_eq(saw_table_key_count(part), 0);
    }
    saw_table_print(t, &out);
    saw_table_free(part);
    saw_table_free(t);
    ck_assert_uint_eq(here.bytes, 0);
    return buf_take(&out);
}

/* Tables that absorb others have what one would have that was given all. */
START_TEST(test_absorbed_parts_equal_one_pass)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int round = 0; round < 60; round++) {
        size_t n = rand_below(&r, 500);
        tuple_weights = round % 3 == 2;
        draw(&r, n, 1 + rand_below(&r, 20), 1 + rand_below(&r, 60));
        for (size_t k = 0; k < ARRAY_LEN(exact_kinds); k++) {
            struct saw_table_decl d =
                declare(exact_kinds[k].kind, exact_kinds[k].param);
            char *want;
            char *got;
            if (tuple_weights && !kind_is(&d, "top") && !kind_is(&d, "maximum"))
                continue;
            want = one_pass(&d, 0, n);
            got = by_parts(&r, &d, n);
            ck_assert_msg(strcmp(want, got) == 0, "%s(%lld):\n%s---\n%s",
                          d.kind->name, (long long)d.param, want, got);
            free(want);
            free(got);
        }
    }
    tuple_weights = false;
}

END_TEST

/* Ints and weights that come without a datum count as those that have one. */
START_TEST(test_short_ways)
{
    static const char *const kinds[] = {"sum", "mrcounter", "top"};
    struct rand_gen r;
    rand_init(&r, test_seed());
    draw(&r, 500, 5, 40);
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        struct saw_table_decl d = declare(kinds[k], k == 2 ? 6 : 0);
        struct saw_table *t = saw_table_new(&d, NULL);
        struct buf out = BUF_INIT;
        char *want = one_pass(&d, 0, 500);
        ck_assert(saw_table_takes_ints(&d) == (k < 2));
        ck_assert(saw_table_takes_weights(&d) == (k == 2));
        for (size_t i = 0; i < 500; i++) {
            struct buf key = BUF_INIT;
            struct buf element = BUF_INIT;
            int rc;
            if (d.index_count)
                saw_datum_put_int(&key, values[i].key);
            saw_datum_put_int(&element, values[i].element);
            if (i % 5 == 0) /* Both ways meet in one table. */
                put(t, &values[i]);
            else if (k == 2) {
                rc = saw_table_emit_weight(t, buf_slice(&key),
                                           buf_slice(&element),
                                           values[i].weight, NULL);
                ck_assert_int_eq(rc, 0);
            } else {
                rc = saw_table_emit_int(t, buf_slice(&key), values[i].element,
                                        NULL);
                ck_assert_int_eq(rc, 0);
            }
            buf_close(&key);
            buf_close(&element);
        }
        saw_table_print(t, &out);
        ck_assert_str_eq(want, buf_cstr(&out));
        free(want);
        buf_close(&out);
        saw_table_free(t);
    }
}

END_TEST

/* Large sets of unique, whose hashes are placed in groups, count every value
 * once, whenever they are looked at, encoded, merged or absorbed. */
START_TEST(test_large_unique)
{
    struct saw_table_decl d = declare("unique", 1000000);
    struct saw_table *t = saw_table_new(&d, NULL);
    struct saw_table *other = saw_table_new(&d, NULL);
    for (int64_t i = 0; i < 30000; i++) {
        const struct value v = {.key = 1, .element = i / 2};
        put(i % 3 ? t : other, &v);
        if (i % 4999 == 0 || i == 29999) {
            struct buf out = BUF_INIT;
            struct buf state = BUF_INIT;
            char want[64];
            if (i % 2)
                ck_assert_int_eq(saw_table_absorb(t, other, NULL), 0);
            saw_table_encode(other, &state);
            merge_state(t, &state);
            saw_table_print(t, &out);
            snprintf(want, sizeof(want), "t[1] = %lld\n", (long long)i / 2 + 1);
            ck_assert_str_eq(buf_cstr(&out), want);
            buf_close(&out);
            buf_close(&state);
        }
    }
    saw_table_free(t);
    saw_table_free(other);
}

END_TEST

/* The same where weights are tuples, for the kinds that take them. */
START_TEST(test_any_split_of_tuple_weights)
{
    static const struct saw_kind_param {
        const char *kind;
        int64_t param;
    } kinds[] = {{"top", 6},
                 {"maximum", 5},
                 {"distinctsample", 5},
                 {"inversehistogram", 5}};
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
        if (kind_is(&d, "collection") || kind_is(&d, "text") ||
            kind_is(&d, "recordio")) {
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
    struct saw_table_decl d = {.name = "t", .kind = kind_named("sum")};
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
    struct saw_table_decl d = {.name = "t", .kind = kind_named("sum")};
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

TEST_MAIN("table_merge",
          test_any_split_equals_one_pass,
          test_absorbed_parts_equal_one_pass,
          test_short_ways,
          test_large_unique,
          test_any_split_of_tuple_weights,
          test_any_order_equals_any_other,
          test_float_sums_do_not_depend_on_order,
          test_sums_of_maps)
