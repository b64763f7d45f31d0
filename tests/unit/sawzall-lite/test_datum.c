/* Data: bytes that keep the order, the sums and the text of values, and that
 * nobody can break a reader with. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/rand.h"
#include "sawzall-lite/values/datum.h"
#include "tests/lib/check_main.h"

static const char *text_of(struct slice d, struct buf *b)
{
    buf_clear(b);
    saw_datum_print(d, b);
    return buf_cstr(b);
}

static int sign(int v)
{
    return (v > 0) - (v < 0);
}

/* Numbers compare as bytes like they compare as numbers, at the extremes too.
 */
START_TEST(test_numbers_keep_order)
{
    static const int64_t ints[] = {INT64_MIN, -4097, -1,  0,
                                   1,         255,   256, INT64_MAX};
    static const double floats[] = {-INFINITY, -1e300, -1, -1e-310, 0,
                                    1e-310,    0.5,    1,  1e300,   INFINITY};
    for (size_t i = 0; i < 8; i++) {
        for (size_t k = 0; k < 8; k++) {
            struct buf a = BUF_INIT;
            struct buf b = BUF_INIT;
            saw_datum_put_int(&a, ints[i]);
            saw_datum_put_int(&b, ints[k]);
            ck_assert_int_eq(sign(slice_cmp(buf_slice(&a), buf_slice(&b))),
                             (ints[i] > ints[k]) - (ints[i] < ints[k]));
            ck_assert_int_eq(saw_datum_int(buf_slice(&a)), ints[i]);
            buf_close(&a);
            buf_close(&b);
        }
    }
    for (size_t i = 0; i < 10; i++) {
        for (size_t k = 0; k < 10; k++) {
            struct buf a = BUF_INIT;
            struct buf b = BUF_INIT;
            saw_datum_put_float(&a, floats[i]);
            saw_datum_put_float(&b, floats[k]);
            ck_assert_int_eq(sign(slice_cmp(buf_slice(&a), buf_slice(&b))),
                             (floats[i] > floats[k]) - (floats[i] < floats[k]));
            ck_assert(saw_datum_float(buf_slice(&a)) == floats[i]);
            buf_close(&a);
            buf_close(&b);
        }
    }
}

END_TEST

/* NaN sorts before every number and comes back as NaN. */
START_TEST(test_nan_is_smallest)
{
    struct buf nan_bytes = BUF_INIT;
    struct buf least = BUF_INIT;
    saw_datum_put_float(&nan_bytes, (double)NAN);
    saw_datum_put_float(&least, -INFINITY);
    ck_assert(slice_cmp(buf_slice(&nan_bytes), buf_slice(&least)) < 0);
    ck_assert(isnan(saw_datum_float(buf_slice(&nan_bytes))));
    buf_close(&nan_bytes);
    buf_close(&least);
}

END_TEST

/* Texts of any bytes compare like their bytes, alone and with data behind, and
 * come back. */
START_TEST(test_texts_keep_order)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int round = 0; round < 20000; round++) {
        char x[6];
        char y[6];
        size_t nx = rand_below(&r, 6);
        size_t ny = rand_below(&r, 6);
        struct buf a = BUF_INIT;
        struct buf b = BUF_INIT;
        struct buf back = BUF_INIT;
        static const char alphabet[] = {0, 1, 'a', (char)0xff};
        for (size_t i = 0; i < nx; i++)
            x[i] = alphabet[rand_below(&r, 4)];
        for (size_t i = 0; i < ny; i++)
            y[i] = alphabet[rand_below(&r, 4)];
        saw_datum_put_text(&a, SAW_DATUM_BYTES, slice_make(x, nx));
        saw_datum_put_text(&b, SAW_DATUM_BYTES, slice_make(y, ny));
        ck_assert(saw_datum_valid(buf_slice(&a)));
        saw_datum_text(buf_slice(&a), &back);
        ck_assert(slice_eq(buf_slice(&back), slice_make(x, nx)));
        /* Whatever follows must not change the order of unequal ones. */
        saw_datum_put_int(&a, (int64_t)rand_u64(&r));
        saw_datum_put_int(&b, (int64_t)rand_u64(&r));
        if (!slice_eq(slice_make(x, nx), slice_make(y, ny)))
            ck_assert_int_eq(
                sign(slice_cmp(buf_slice(&a), buf_slice(&b))),
                sign(slice_cmp(slice_make(x, nx), slice_make(y, ny))));
        buf_close(&a);
        buf_close(&b);
        buf_close(&back);
    }
}

END_TEST

static void put_pair(struct buf *b, const char *key, int64_t value)
{
    saw_datum_put_text(b, SAW_DATUM_STRING, slice_str(key));
    saw_datum_put_int(b, value);
}

/* Maps add entry by entry, tuples field by field; unlike things refuse. */
START_TEST(test_addition)
{
    struct buf a = BUF_INIT;
    struct buf b = BUF_INIT;
    struct buf sum = BUF_INIT;
    struct buf text = BUF_INIT;

    saw_datum_put_open(&a, SAW_DATUM_MAP);
    put_pair(&a, "x", 1);
    put_pair(&a, "y", 2);
    saw_datum_put_end(&a);
    saw_datum_put_open(&b, SAW_DATUM_MAP);
    put_pair(&b, "w", 5);
    put_pair(&b, "y", 40);
    put_pair(&b, "z", 3);
    saw_datum_put_end(&b);
    ck_assert(saw_datum_add(buf_slice(&a), buf_slice(&b), &sum));
    ck_assert(saw_datum_valid(buf_slice(&sum)));
    ck_assert_str_eq(text_of(buf_slice(&sum), &text),
                     "{ w: 5, x: 1, y: 42, z: 3 }");

    buf_clear(&b);
    saw_datum_put_int(&b, 1);
    buf_clear(&sum);
    ck_assert(!saw_datum_add(buf_slice(&a), buf_slice(&b), &sum));
    ck_assert_uint_eq(sum.len, 0);

    buf_clear(&a);
    saw_datum_put_int(&a, INT64_MAX);
    ck_assert(saw_datum_add(buf_slice(&a), buf_slice(&b), &sum));
    ck_assert_int_eq(saw_datum_int(buf_slice(&sum)), INT64_MIN);

    buf_clear(&a);
    saw_datum_put_text(&a, SAW_DATUM_STRING, SLICE_LIT("a"));
    ck_assert(!saw_datum_add(buf_slice(&a), buf_slice(&a), &sum));
    buf_close(&a);
    buf_close(&b);
    buf_close(&sum);
    buf_close(&text);
}

END_TEST

/* Results print as the published interpreter prints them. */
START_TEST(test_printing)
{
    struct buf b = BUF_INIT;
    struct buf text = BUF_INIT;
    saw_datum_put_open(&b, SAW_DATUM_TUPLE);
    saw_datum_put_float(&b, 6.0);
    saw_datum_put_text(&b, SAW_DATUM_STRING, SLICE_LIT("a\"b"));
    saw_datum_put_bool(&b, true);
    saw_datum_put_open(&b, SAW_DATUM_ARRAY);
    saw_datum_put_int(&b, -1);
    saw_datum_put_word(&b, SAW_DATUM_TIME, 7);
    saw_datum_put_end(&b);
    saw_datum_put_open(&b, SAW_DATUM_MAP);
    saw_datum_put_end(&b);
    saw_datum_put_end(&b);
    ck_assert_str_eq(text_of(buf_slice(&b), &text),
                     "6, a\"b, true, { -1, 7 }, {:}");
    buf_close(&b);
    buf_close(&text);
}

END_TEST

/* Random bytes, and valid ones cut or flipped, are refused or valid, never
 * more. */
START_TEST(test_hostile_bytes)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int round = 0; round < 200000; round++) {
        static const char likely[] = {1, 0, 0x10, 0x11, 0x16, 0x20, 0x21, 0x22};
        char bytes[24];
        struct slice s = slice_make(bytes, rand_below(&r, sizeof(bytes)));
        for (size_t i = 0; i < s.len; i++)
            bytes[i] = rand_one_in(&r, 3) ? (char)rand_u64(&r)
                                          : likely[rand_below(&r, 8)];
        if (saw_datum_valid(s)) {
            struct buf b = BUF_INIT;
            saw_datum_print(s, &b);
            if (saw_datum_add(s, s, &b))
                ck_assert(b.len > 0);
            buf_close(&b);
        }
    }
}

END_TEST

/* Nesting is bounded. */
START_TEST(test_depth_is_bounded)
{
    static char deep[100000];
    memset(deep, SAW_DATUM_ARRAY, sizeof(deep));
    memset(deep + sizeof(deep) / 2, SAW_DATUM_END, sizeof(deep) / 2);
    ck_assert(!saw_datum_valid(slice_make(deep, sizeof(deep))));
    memset(deep, SAW_DATUM_ARRAY, 100);
    memset(deep + 100, SAW_DATUM_END, 100);
    ck_assert(saw_datum_valid(slice_make(deep, 200)));
}

END_TEST

TEST_MAIN("datum",
          test_numbers_keep_order,
          test_nan_is_smallest,
          test_texts_keep_order,
          test_addition,
          test_printing,
          test_hostile_bytes,
          test_depth_is_bounded)
