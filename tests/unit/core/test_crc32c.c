/* CRC32C agrees with published vectors, and its fast path with its slow one. */
#include <stdlib.h>
#include <string.h>

#include "base/core/crc32c.h"
#include "base/core/rand.h"
#include "tests/lib/check_main.h"

/* The check value of the CRC catalogue, and RFC 3720 appendix B.4. */
START_TEST(test_known_values)
{
    char zeros[32] = {0};
    char ones[32];
    memset(ones, 0xff, sizeof(ones));
    ck_assert_uint_eq(crc32c("123456789", 9), 0xe3069283u);
    ck_assert_uint_eq(crc32c(zeros, 32), 0x8a9136aau);
    ck_assert_uint_eq(crc32c(ones, 32), 0x62a8ab43u);
    ck_assert_uint_eq(crc32c_extend_portable(0, "123456789", 9), 0xe3069283u);
}

END_TEST

/* Any length and alignment, whole or cut anywhere, gives one value. */
START_TEST(test_fast_equals_portable)
{
    enum {
        BYTES = 60000
    };
    struct rand_gen r;
    char *p = malloc(BYTES);
    rand_init(&r, test_seed());
    for (size_t i = 0; i < BYTES; i++)
        p[i] = (char)rand_u64(&r);
    for (int i = 0; i < 300; i++) {
        size_t at = rand_below(&r, 100);
        size_t len = rand_below(&r, BYTES - at);
        size_t cut = rand_below(&r, len + 1);
        uint32_t want = crc32c_extend_portable(0, p + at, len);
        ck_assert_uint_eq(crc32c(p + at, len), want);
        ck_assert_uint_eq(
            crc32c_extend(crc32c(p + at, cut), p + at + cut, len - cut), want);
        ck_assert_uint_eq(crc32c_join(crc32c(p + at, cut),
                                      crc32c(p + at + cut, len - cut),
                                      len - cut),
                          want);
    }
    free(p);
}

END_TEST

/* A copy of any length and alignment has the bytes, no others, and their
 * checksum behind that of any others. */
START_TEST(test_copy)
{
    enum {
        BYTES = 70000
    };
    struct rand_gen r;
    char *from = malloc(BYTES);
    char *to = malloc(BYTES);
    rand_init(&r, test_seed());
    for (size_t i = 0; i < BYTES; i++)
        from[i] = (char)rand_u64(&r);
    for (int i = 0; i < 300; i++) {
        size_t at = rand_below(&r, 100);
        size_t begin = 1 + rand_below(&r, 100);
        size_t len = rand_below(&r, i % 2 ? 3000 : BYTES - at - begin);
        char after = (char)i;
        uint32_t crc;
        to[begin - 1] = after;
        to[begin + len] = after;
        crc = i % 3 ? (uint32_t)rand_u64(&r) : 0;
        ck_assert_uint_eq(crc32c_extend_copy(crc, to + begin, from + at, len),
                          crc32c_extend_portable(crc, from + at, len));
        ck_assert_int_eq(memcmp(to + begin, from + at, len), 0);
        ck_assert_int_eq(to[begin - 1], after);
        ck_assert_int_eq(to[begin + len], after);
    }
    free(from);
    free(to);
}

END_TEST

TEST_MAIN("crc32c", test_known_values, test_fast_equals_portable, test_copy)
