/* Tables: budgets are kept, and no state from outside does harm. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/sawzall-lite/table_fixture.h"

/* A full budget refuses new keys and keeps the old ones; sums continue. */
START_TEST(test_budget_is_kept)
{
    struct saw_table_budget budget = {0, 100000};
    struct saw_table_decl d = declare("sum", 0);
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
 * never crashes and never takes much memory for few bytes. */
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
    struct saw_table_decl a = declare("top", 5);
    struct saw_table_decl b = declare("top", 6);
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

/* Every kind is found by its name and has the number that states of tables
 * have had since their first version; no other name is found. */
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
        ck_assert_uint_eq(t->number, i + 1);
        ck_assert_ptr_eq(saw_table_traits_at(i), t);
    }
    ck_assert_ptr_null(saw_table_traits_at(ARRAY_LEN(names)));
    ck_assert_ptr_null(saw_table_traits_find(SLICE_LIT("summ")));
    ck_assert_ptr_null(saw_table_traits_find(SLICE_EMPTY));
}

END_TEST

TEST_MAIN("table_bounds",
          test_budget_is_kept,
          test_memory_is_counted_exactly,
          test_hostile_states,
          test_state_of_another_declaration,
          test_traits)
