/* Exactly the digits 0 to 9, a to f and A to F have values. */
#include <string.h>

#include "base/core/hex.h"
#include "tests/lib/check_main.h"

START_TEST(test_all_bytes)
{
    static const char digits[] = "0123456789abcdefABCDEF";
    int sum = 0;
    for (int c = 0; c < 256; c++) {
        const char *at = c ? strchr(digits, c) : NULL;
        int value = at ? (int)(at - digits) : -1;
        if (value > 15)
            value -= 6;
        ck_assert_int_eq(hex_value((char)c), value);
        sum += value >= 0;
    }
    ck_assert_int_eq(sum, 22);
}

END_TEST

START_TEST(test_bytes)
{
    unsigned char out[2] = {0};
    ck_assert(hex_decode("fF00", 2, out));
    ck_assert_uint_eq(out[0], 255);
    ck_assert_uint_eq(out[1], 0);
    ck_assert(!hex_decode("0g00", 2, out));
    ck_assert(!hex_decode("00 0", 2, out));
}

END_TEST

TEST_MAIN("hex", test_all_bytes, test_bytes)
