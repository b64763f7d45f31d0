/* Integers written as bytes are read back, and damage never leads past the end.
 */
#include <stdlib.h>
#include <string.h>

#include "base/core/coding.h"
#include "base/core/macros.h"
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "tests/lib/check_main.h"

/* A sequence of all kinds reads back in order, and cut anywhere it is bad. */
START_TEST(test_round_trip)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int i = 0; i < 2000; i++) {
        uint64_t v = rand_u64(&r) >> rand_below(&r, 64);
        int64_t z = (int64_t)rand_u64(&r) >> rand_below(&r, 64);
        struct buf b = BUF_INIT;
        struct cursor c;
        struct slice whole;
        char *copy;
        size_t cut;
        buf_put_u8(&b, (uint8_t)v);
        buf_put_le32(&b, (uint32_t)v);
        buf_put_le64(&b, v);
        buf_put_be64(&b, v);
        buf_put_varint(&b, v);
        buf_put_zigzag(&b, z);
        buf_put_double(&b, 1.5);
        buf_put_lslice(&b, SLICE_LIT("bytes"));
        c = cursor_make(buf_slice(&b));
        ck_assert_uint_eq(cursor_u8(&c), (uint8_t)v);
        ck_assert_uint_eq(cursor_le32(&c), (uint32_t)v);
        ck_assert_uint_eq(cursor_le64(&c), v);
        ck_assert_uint_eq(cursor_be64(&c), v);
        ck_assert_uint_eq(cursor_varint(&c), v);
        ck_assert_int_eq(cursor_zigzag(&c), z);
        ck_assert(cursor_double(&c) == 1.5);
        ck_assert(slice_eq(cursor_lslice(&c), SLICE_LIT("bytes")));
        ck_assert(!c.bad && cursor_left(&c) == 0);
        /* On memory of exactly that size, so that a sanitizer sees any step
         * past its end. */
        cut = rand_below(&r, b.len);
        copy = malloc(cut ? cut : 1);
        memcpy(copy, b.data, cut);
        whole = slice_make(copy, cut);
        c = cursor_make(whole);
        cursor_u8(&c);
        cursor_le32(&c);
        cursor_le64(&c);
        cursor_be64(&c);
        cursor_varint(&c);
        cursor_zigzag(&c);
        cursor_double(&c);
        ck_assert_uint_eq(cursor_lslice(&c).len, 0);
        ck_assert(c.bad);
        ck_assert_uint_eq(cursor_varint(&c), 0);
        free(copy);
        buf_close(&b);
    }
}

END_TEST

/* Varints: their lengths, their limits, and what is over 64 bits. */
START_TEST(test_varints)
{
    static const struct {
        uint64_t v;
        size_t bytes;
    } cases[] = {{0, 1},     {127, 1},        {128, 2},       {16383, 2},
                 {16384, 3}, {UINT32_MAX, 5}, {INT64_MAX, 9}, {UINT64_MAX, 10}};

    static const char over[] = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02";
    static const char endless[] =
        "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff";
    uint64_t v;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char p[VARINT64_BYTES_MAX];
        ck_assert_uint_eq((size_t)(put_varint(p, cases[i].v) - p),
                          cases[i].bytes);
        ck_assert_uint_eq(varint_bytes(cases[i].v), cases[i].bytes);
        ck_assert_ptr_eq(get_varint(p, p + cases[i].bytes, &v),
                         p + cases[i].bytes);
        ck_assert_uint_eq(v, cases[i].v);
        ck_assert_ptr_null(get_varint(p, p + cases[i].bytes - 1, &v));
    }
    ck_assert_ptr_null(get_varint(over, over + 10, &v));
    ck_assert_ptr_null(get_varint(endless, endless + 12, &v));
}

END_TEST

/* A count of things that cannot be there is refused before anybody believes it.
 */
START_TEST(test_counts)
{
    struct buf b = BUF_INIT;
    struct cursor c;
    buf_put_varint(&b, 4);
    buf_append_fill(&b, 'x', 8);
    c = cursor_make(buf_slice(&b));
    ck_assert_uint_eq(cursor_count(&c, 2), 4);
    c = cursor_make(buf_slice(&b));
    ck_assert_uint_eq(cursor_count(&c, 3), 0);
    ck_assert(c.bad);
    buf_clear(&b);
    buf_put_varint(&b, UINT64_MAX);
    c = cursor_make(buf_slice(&b));
    ck_assert_uint_eq(cursor_count(&c, 1), 0);
    ck_assert(c.bad);
    c = cursor_make(buf_slice(&b));
    ck_assert_uint_eq(cursor_lslice(&c).len, 0);
    ck_assert(c.bad);
    buf_close(&b);
}

END_TEST

/* Strings come back as they were, a missing one as missing; a cut one is bad.
 */
START_TEST(test_texts)
{
    static const char *const texts[] = {"", NULL, "row", NULL};
    struct buf b = BUF_INIT;
    struct cursor c;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        buf_put_text(&b, texts[i]);
    c = cursor_make(buf_slice(&b));
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        char *s = cursor_text(&c);
        ck_assert(!s == !texts[i]);
        if (s)
            ck_assert_str_eq(s, texts[i]);
        mem_free(s);
    }
    ck_assert(!c.bad);
    ck_assert_uint_eq(cursor_left(&c), 0);
    c = cursor_make(slice_make(b.data + 3, 4)); /* "row" without its end. */
    ck_assert_ptr_null(cursor_text(&c));
    ck_assert(c.bad);
    buf_close(&b);
}

END_TEST

TEST_MAIN("coding", test_round_trip, test_varints, test_counts, test_texts)
