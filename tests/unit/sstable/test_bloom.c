/* A filter knows everything that was added, and little else. */
#include "base/core/rand.h"
#include "bigtable/sstable/bloom.h"
#include "tests/lib/check_main.h"

/* No false no, at any size; about 1 % false yes at 10 bits a key. */
START_TEST(test_added_are_found)
{
    struct rand_gen r;
    unsigned long long seed = test_seed();
    for (size_t count = 1; count <= 100000; count *= 10) {
        struct bloom_builder b;
        struct buf filter = BUF_INIT;
        size_t wrong = 0;
        rand_init(&r, seed);
        bloom_builder_init(&b);
        for (size_t i = 0; i < count; i++)
            bloom_builder_add(&b, rand_u64(&r));
        bloom_builder_finish(&b, 10, &filter);
        ck_assert_uint_eq(bloom_builder_count(&b), 0);
        rand_init(&r, seed);
        for (size_t i = 0; i < count; i++)
            ck_assert(bloom_may_contain(buf_slice(&filter), rand_u64(&r)));
        for (size_t i = 0; i < 10000; i++)
            wrong += bloom_may_contain(buf_slice(&filter), rand_u64(&r));
        if (count >= 1000)
            ck_assert_uint_lt(wrong, 200);
        bloom_builder_close(&b);
        buf_close(&filter);
    }
}

END_TEST

/* A filter of a wrong length says yes: a read is slow, not wrong. */
START_TEST(test_malformed_filter_says_yes)
{
    char zeros[130] = {0};
    ck_assert(bloom_may_contain(SLICE_EMPTY, 7));
    ck_assert(bloom_may_contain(slice_make(zeros, 64), 7));
    ck_assert(bloom_may_contain(slice_make(zeros, 130), 7));
    zeros[64] = 100; /* Probes beyond any writer's. */
    ck_assert(!bloom_may_contain(slice_make(zeros, 65), 7));
}

END_TEST

TEST_MAIN("bloom", test_added_are_found, test_malformed_filter_says_yes)
