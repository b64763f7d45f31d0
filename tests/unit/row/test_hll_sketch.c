/* Sketches are, byte for byte, those that ZetaSketch makes of the same values,
 * whatever the order in which they came; what is no sketch is refused. The
 * expected bytes and hashes were made by ZetaSketch 0.1.0. */
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/fingerprint.h"
#include "base/core/rand.h"
#include "bigtable/row/hll_sketch.h"
#include "tests/lib/check_main.h"

static uint64_t fnv(struct slice s)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < s.len; i++)
        h = (h ^ (unsigned char)s.data[i]) * UINT64_C(0x100000001b3);
    return h;
}

static void expect_hex(struct hll_sketch *s, const char *hex)
{
    struct buf out = BUF_INIT;
    struct buf text = BUF_INIT;
    hll_sketch_put(s, &out);
    for (size_t i = 0; i < out.len; i++)
        buf_printf(&text, "%02x", (unsigned char)out.data[i]);
    ck_assert_str_eq(buf_cstr(&text), hex);
    ck_assert(hll_sketch_check(buf_slice(&out), s->values));
    buf_close(&out);
    buf_close(&text);
}

/* Bytes of every length class hash as Fingerprint2011 does. */
START_TEST(test_fingerprints)
{
    static const struct {
        size_t len;
        uint64_t hash;
    } expected[] = {
        {0, 0x23ad7c904aa665e3},   {1, 0x3c29cb100fc25eba},
        {7, 0xf3dae44f6d01e3d6},   {8, 0xd4bf9259b86b934f},
        {9, 0x80713daac3808cce},   {16, 0x51cef3aaf3ae97c2},
        {31, 0xc3880ccb27d78ac7},  {32, 0x29862a2f2e0d370f},
        {33, 0xe42f7de7cf0d2959},  {40, 0x7ba30b1da5252ba3},
        {63, 0xd2604653e5c2ceb3},  {64, 0xdc74c4112b5c8ae0},
        {65, 0x809c9e0eae2fb938},  {100, 0xeaed38c16530d442},
        {128, 0x908e4364a4739bc7}, {129, 0x76c49fa8a3ac5221},
        {200, 0x2c88acd4c549829a},
    };

    char bytes[200];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(i * 7 + 3);
    for (size_t i = 0; i < ARRAY_LEN(expected); i++)
        ck_assert_uint_eq(fingerprint2011(slice_make(bytes, expected[i].len)),
                          expected[i].hash);
    ck_assert_uint_eq(fingerprint2011_int64(42), 0x583b2b9df8e0eb60);
    ck_assert_uint_eq(fingerprint2011_int64(-15), 0x539414f287f11e37);
}

END_TEST

START_TEST(test_few_values)
{
    struct hll_sketch s;
    hll_sketch_init(&s, HLL_INTEGERS);
    hll_sketch_add(&s, fingerprint2011_int64(42));
    expect_hex(&s, "087010011802200882070b1001180f20143203b28716");
    for (int i = 0; i < 5; i++)
        hll_sketch_add(&s, fingerprint2011_int64(i));
    expect_hex(&s, "08701006180220088207191006180f20143211b28716faf40af62aec84"
                   "0c8877ebfea101");
    hll_sketch_close(&s);
    hll_sketch_init(&s, HLL_BYTES);
    hll_sketch_add(&s, fingerprint2011(SLICE_LIT("foo")));
    expect_hex(&s, "087010011802200b82070b1001180f20143203cb9734");
    hll_sketch_close(&s);
}

END_TEST

static void add_many(struct hll_sketch *s, int64_t count, bool squares)
{
    for (int64_t i = 0; i < count; i++)
        hll_sketch_add(s, fingerprint2011_int64(squares ? i * i : i * 3));
}

/* Sparse and dense, added and merged in both directions. */
START_TEST(test_many_values)
{
    static const struct {
        int64_t count;
        size_t bytes;
        uint64_t sum;
        size_t merged_bytes;
        uint64_t merged_sum;
    } expected[] = {
        {1000, 1934, 0x0d37da54da0c58a3, 3621, 0x6a5109fd5c7c6e6b},
        {5000, 7872, 0x6bde39abbece402e, 13265, 0x83e96a606d7522c9},
        {9000, 12277, 0x5b15085dd82ab264, 20490, 0xe99e233b9be5ba52},
        {12000, 15143, 0x64739406e5212233, 32791, 0x25f3ca04b8c3b031},
        {20000, 22271, 0x468f00ae31666d7b, 32791, 0xa36783e06aa3b8b5},
        {100000, 32791, 0xb3f5ceda74acedc5, 32791, 0x5a32906e843ee120},
    };

    for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
        struct hll_sketch squares;
        struct hll_sketch thirds;
        struct buf a = BUF_INIT;
        struct buf b = BUF_INIT;
        hll_sketch_init(&squares, HLL_INTEGERS);
        hll_sketch_init(&thirds, HLL_INTEGERS);
        add_many(&squares, expected[i].count, true);
        add_many(&thirds, expected[i].count, false);
        hll_sketch_put(&squares, &a);
        hll_sketch_put(&thirds, &b);
        ck_assert_uint_eq(a.len, expected[i].bytes);
        ck_assert_uint_eq(fnv(buf_slice(&a)), expected[i].sum);
        ck_assert(hll_sketch_merge(&thirds, buf_slice(&a)));
        ck_assert(hll_sketch_merge(&squares, buf_slice(&b)));
        buf_clear(&a);
        buf_clear(&b);
        hll_sketch_put(&squares, &a);
        hll_sketch_put(&thirds, &b);
        ck_assert(slice_eq(buf_slice(&a), buf_slice(&b)));
        ck_assert_uint_eq(a.len, expected[i].merged_bytes);
        ck_assert_uint_eq(fnv(buf_slice(&a)), expected[i].merged_sum);
        hll_sketch_close(&squares);
        hll_sketch_close(&thirds);
        buf_close(&a);
        buf_close(&b);
    }
}

END_TEST

/* Any bytes: a sketch that is cut or changed is refused, or is one of
 * the same bounds, and a refused one changes nothing. */
START_TEST(test_damaged_sketches)
{
    struct rand_gen r;
    struct buf good = BUF_INIT;
    struct hll_sketch s;
    rand_init(&r, test_seed());
    hll_sketch_init(&s, HLL_INTEGERS);
    add_many(&s, 300, true);
    hll_sketch_put(&s, &good);
    ck_assert(!hll_sketch_check(buf_slice(&good), HLL_BYTES));
    for (size_t cut = 0; cut < good.len; cut++)
        ck_assert(!hll_sketch_check(slice_make(good.data, cut), HLL_INTEGERS));
    for (int i = 0; i < 20000; i++) {
        struct buf bad = BUF_INIT;
        struct hll_sketch to;
        buf_append_slice(&bad, buf_slice(&good));
        bad.data[rand_below(&r, bad.len)] = (char)rand_below(&r, 256);
        hll_sketch_init(&to, HLL_INTEGERS);
        if (hll_sketch_merge(&to, buf_slice(&bad)))
            ck_assert_uint_le(to.sparse_count, bad.len);
        else
            ck_assert_uint_eq(to.sparse_count + to.added, 0);
        hll_sketch_close(&to);
        buf_close(&bad);
    }
    hll_sketch_close(&s);
    buf_close(&good);
}

END_TEST

TEST_MAIN("hll_sketch",
          test_fingerprints,
          test_few_values,
          test_many_values,
          test_damaged_sketches)
