/* The codec reads back all that it writes, and survives bytes it never
 * wrote. */
#include <stdlib.h>
#include <string.h>

#include "base/core/rand.h"
#include "base/rpc/codec.h"
#include "tests/lib/check_main.h"

/* Every integer at the border of an encoding comes back, and nothing is left.
 */
START_TEST(test_integers_round_trip)
{
    static const uint64_t edges[] = {
        0,     1,          127,        128,       255,        256,       65535,
        65536, UINT32_MAX, 1ull << 32, INT64_MAX, 1ull << 63, UINT64_MAX};
    struct buf b = BUF_INIT;
    for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++) {
        struct codec_reader r;
        buf_clear(&b);
        codec_put_u64(&b, edges[i]);
        codec_put_i64(&b, (int64_t)edges[i]);
        codec_put_i64(&b, -(int64_t)(edges[i] / 2) - 1);
        r = codec_reader_make(buf_slice(&b));
        ck_assert_uint_eq(codec_get_u64(&r), edges[i]);
        ck_assert_int_eq(codec_get_i64(&r), (int64_t)edges[i]);
        ck_assert_int_eq(codec_get_i64(&r), -(int64_t)(edges[i] / 2) - 1);
        ck_assert(codec_done(&r));
    }
    buf_close(&b);
}

END_TEST

/* A message with every type reads back, and one skip consumes all of it. */
START_TEST(test_all_types_round_trip_and_skip)
{
    struct buf b = BUF_INIT;
    struct codec_reader r;
    static char big[70000];

    memset(big, 'x', sizeof(big));
    codec_put_array(&b, 8);
    codec_put_nil(&b);
    codec_put_bool(&b, true);
    buf_append(&b, "\xcb\xbf\xe0\0\0\0\0\0", 9); /* -0.5 */
    codec_put_str(&b, SLICE_LIT("text"));
    codec_put_bin(&b, slice_make(big, 300));
    codec_put_bin(&b, slice_make(big, sizeof(big)));
    buf_append(&b, "\x81", 1); /* A map of one. */
    codec_put_u64(&b, 7);
    codec_put_array(&b, 20);
    for (int i = 0; i < 20; i++)
        codec_put_i64(&b, -i);
    codec_put_bin(&b, SLICE_EMPTY);

    r = codec_reader_make(buf_slice(&b));
    codec_skip(&r);
    ck_assert(codec_done(&r));

    r = codec_reader_make(buf_slice(&b));
    ck_assert_uint_eq(codec_get_array(&r), 8);
    ck_assert_int_eq(codec_peek(&r), CODEC_NIL);
    codec_skip(&r);
    ck_assert(codec_get_bool(&r));
    ck_assert(codec_get_double(&r) == -0.5);
    ck_assert(slice_eq_str(codec_get_bytes(&r), "text"));
    ck_assert_uint_eq(codec_get_bytes(&r).len, 300);
    ck_assert_uint_eq(codec_get_bytes(&r).len, sizeof(big));
    ck_assert_uint_eq(codec_get_map(&r), 1);
    ck_assert_uint_eq(codec_get_u64(&r), 7);
    ck_assert_uint_eq(codec_get_array(&r), 20);
    for (int i = 0; i < 20; i++)
        ck_assert_int_eq(codec_get_i64(&r), -i);
    ck_assert_uint_eq(codec_get_bytes(&r).len, 0);
    ck_assert(codec_done(&r));
    buf_close(&b);
}

END_TEST

/* Six bytes that announce four billion values allocate and read nothing. */
START_TEST(test_hostile_length_is_refused)
{
    static const char *const hostile[] = {
        "\xdd\xff\xff\xff\xff\xc0", "\xdf\x7f\xff\xff\xff\xc0",
        "\xdb\xff\xff\xff\xff\xc0", "\xc6\xff\xff\xff\xf0\xc0"};
    for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
        struct codec_reader r = codec_reader_make(slice_make(hostile[i], 6));
        codec_skip(&r);
        ck_assert(r.bad);
        ck_assert_uint_eq(codec_get_u64(&r), 0);
    }
}

END_TEST

/* Nesting is followed to its limit, and one deeper is refused. */
START_TEST(test_nesting_is_bounded)
{
    char deep[CODEC_DEPTH_MAX + 1];
    struct codec_reader r;

    memset(deep, 0x91, sizeof(deep));
    deep[CODEC_DEPTH_MAX - 1] = 0;
    r = codec_reader_make(slice_make(deep, CODEC_DEPTH_MAX));
    codec_skip(&r);
    ck_assert(codec_done(&r));
    deep[CODEC_DEPTH_MAX - 1] = (char)0x91;
    deep[CODEC_DEPTH_MAX] = 0;
    r = codec_reader_make(slice_make(deep, sizeof(deep)));
    codec_skip(&r);
    ck_assert(r.bad);
}

END_TEST

/* Random bytes, read in random ways, never reach past their end (ASan). */
START_TEST(test_random_bytes_stay_in_bounds)
{
    struct rand_gen g;
    rand_init(&g, test_seed());
    for (int round = 0; round < 20000; round++) {
        size_t len = rand_below(&g, 40);
        char *p = malloc(len ? len : 1);
        struct codec_reader r;
        for (size_t i = 0; i < len; i++)
            p[i] = (char)rand_u64(&g);
        r = codec_reader_make(slice_make(p, len));
        for (int i = 0; i < 8; i++) {
            switch (rand_below(&g, 8)) {
            case 0: (void)codec_get_bool(&r); break;
            case 1: (void)codec_get_u64(&r); break;
            case 2: (void)codec_get_i64(&r); break;
            case 3: (void)codec_get_double(&r); break;
            case 4: (void)codec_get_bytes(&r); break;
            case 5: (void)codec_get_array(&r); break;
            case 6: (void)codec_get_map(&r); break;
            default: codec_skip(&r); break;
            }
        }
        ck_assert(r.p <= r.end);
        free(p);
    }
}

END_TEST

TEST_MAIN("codec",
          test_integers_round_trip,
          test_all_types_round_trip_and_skip,
          test_hostile_length_is_refused,
          test_nesting_is_bounded,
          test_random_bytes_stay_in_bounds)
