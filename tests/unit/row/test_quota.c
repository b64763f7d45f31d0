/* Quotas are read as people write them, and written as they are read. */
#include <string.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
#include "bigtable/row/quota.h"
#include "tests/lib/check_main.h"

/* Each word changes its quota alone; none takes it away. */
START_TEST(test_words)
{
    struct quarry_quota q = {.stored_bytes = 0};
    ck_assert(quota_is_none(&q));
    ck_assert_int_eq(quota_parse(SLICE_LIT("stored=10GiB"), &q, NULL), 0);
    ck_assert_uint_eq(q.stored_bytes, UINT64_C(10) << 30);
    ck_assert(!quota_is_none(&q));
    ck_assert(!quota_has_rate(&q));
    ck_assert_int_eq(quota_parse(SLICE_LIT("memory=1MiB"), &q, NULL), 0);
    ck_assert_int_eq(quota_parse(SLICE_LIT("reads=500"), &q, NULL), 0);
    ck_assert_int_eq(quota_parse(SLICE_LIT("writes=20/s"), &q, NULL), 0);
    ck_assert_int_eq(quota_parse(SLICE_LIT("bytes=2MiB/s"), &q, NULL), 0);
    ck_assert_uint_eq(q.memory_bytes, 1 << 20);
    ck_assert_uint_eq(q.reads_per_s, 500);
    ck_assert_uint_eq(q.writes_per_s, 20);
    ck_assert_uint_eq(q.bytes_per_s, 2 << 20);
    ck_assert(quota_has_rate(&q));
    ck_assert_int_eq(quota_parse(SLICE_LIT("stored=none"), &q, NULL), 0);
    ck_assert_uint_eq(q.stored_bytes, 0);
    ck_assert_uint_eq(q.reads_per_s, 500);
}

END_TEST

/* A word that is no quota is refused and changes nothing. */
START_TEST(test_malformed)
{
    static const char *const bad[] = {
        "",         "stored", "stored=",    "reads=1k", "size=1",  "writes=-1",
        "reads=/s", "=1",     "stored=1/s", "bytes=x",  "reads=1 "};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct quarry_quota q = {.stored_bytes = 7};
        struct err err = ERR_INIT;
        ck_assert_msg(quota_parse(slice_str(bad[i]), &q, &err) == ERR_INVALID,
                      "%s", bad[i]);
        ck_assert_uint_eq(q.stored_bytes, 7);
        ck_assert_uint_eq(q.reads_per_s + q.bytes_per_s + q.writes_per_s, 0);
    }
}

END_TEST

/* A value reads back as it was written, as far as sizes are not rounded. */
START_TEST(test_round_trip)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int round = 0; round < 2000; round++) {
        size_t i = rand_below(&r, QUOTA_COUNT);
        uint64_t value = rand_below(&r, 1000);
        struct quarry_quota q = {.stored_bytes = 0};
        struct buf word = BUF_INIT;
        buf_printf(&word, "%s=", quota_name(i));
        if (quota_is_bytes(i))
            value <<= 10 * rand_below(&r, 4);
        quota_put_value(i, value, &word);
        ck_assert_int_eq(quota_parse(buf_slice(&word), &q, NULL), 0);
        ck_assert_msg(*quota_field(&q, i) == value, "%s", buf_cstr(&word));
        buf_close(&word);
    }
}

END_TEST

TEST_MAIN("quota", test_words, test_malformed, test_round_trip)
