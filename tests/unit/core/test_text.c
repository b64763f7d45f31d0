/* Text is parsed as people mean it or refused with a reason, and printed
 * values read back as the same value. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/macros.h"
#include "base/core/rand.h"
#include "base/core/text.h"
#include "tests/lib/check_main.h"

/* --- Helpers ------------------------------------------------------------- */

static uint64_t bytes_of(const char *s)
{
    struct err err = ERR_INIT;
    uint64_t v = 0;
    ck_assert_msg(text_parse_bytes(slice_str(s), &v, &err) == 0, "%s",
                  err.text);
    return v;
}

static uint64_t duration_of(const char *s)
{
    struct err err = ERR_INIT;
    uint64_t v = 0;
    ck_assert_msg(text_parse_duration(slice_str(s), &v, &err) == 0, "%s",
                  err.text);
    return v;
}

static int64_t time_of(const char *s)
{
    struct err err = ERR_INIT;
    int64_t v = 0;
    ck_assert_msg(text_parse_time(slice_str(s), &v, &err) == 0, "%s", err.text);
    return v;
}

/* --- Tests --------------------------------------------------------------- */

/* Whole numbers are taken to their limits and not one past them. */
START_TEST(test_integers)
{
    static const char *const not_u64[] = {
        "", "-1", "+1", " 1", "1 ", "1x", "18446744073709551616", "0x10"};
    static const char *const not_i64[] = {
        "", "-", "9223372036854775808", "-9223372036854775809", "--1", "1.0"};
    struct err err = ERR_INIT;
    uint64_t u = 7;
    int64_t i = 7;
    for (size_t k = 0; k < ARRAY_LEN(not_u64); k++)
        ck_assert_int_eq(text_parse_u64(slice_str(not_u64[k]), &u, &err),
                         ERR_INVALID);
    for (size_t k = 0; k < ARRAY_LEN(not_i64); k++)
        ck_assert_int_eq(text_parse_i64(slice_str(not_i64[k]), &i, &err),
                         ERR_INVALID);
    ck_assert(u == 7 && i == 7);
    ck_assert_int_eq(
        text_parse_u64(SLICE_LIT("18446744073709551615"), &u, &err), 0);
    ck_assert(u == UINT64_MAX);
    ck_assert_int_eq(
        text_parse_i64(SLICE_LIT("-9223372036854775808"), &i, &err), 0);
    ck_assert(i == INT64_MIN);
    ck_assert_int_eq(text_parse_u64(SLICE_LIT("twelve"), &u, &err),
                     ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(err.text, "\"twelve\""));
}

END_TEST

/* Sizes in all their spellings. */
START_TEST(test_sizes)
{
    static const char *const wrong[] = {
        "",      "KiB", "-1", "1 ",    "1 2",
        "64KiX", "1.",  ".5", "64  k", "99999999999999999999"};
    struct err err = ERR_INIT;
    uint64_t v;
    ck_assert_uint_eq(bytes_of("0"), 0);
    ck_assert_uint_eq(bytes_of("4096"), 4096);
    ck_assert_uint_eq(bytes_of("64KiB"), 65536);
    ck_assert_uint_eq(bytes_of("64k"), 65536);
    ck_assert_uint_eq(bytes_of("64 kib"), 65536);
    ck_assert_uint_eq(bytes_of("10MB"), 10000000);
    ck_assert_uint_eq(bytes_of("1.5GiB"), UINT64_C(3) << 29);
    ck_assert_uint_eq(bytes_of("15E"), UINT64_C(15) << 60);
    for (size_t k = 0; k < ARRAY_LEN(wrong); k++)
        ck_assert_msg(text_parse_bytes(slice_str(wrong[k]), &v, &err) ==
                          ERR_INVALID,
                      "%s", wrong[k]);
}

END_TEST

/* A size printed for people reads back within 5 %, exactly when round. */
START_TEST(test_sizes_round_trip)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {{0, "0 B"},           {1023, "1023 B"},
                 {1024, "1 KiB"},      {65536, "64 KiB"},
                 {1536, "1.5 KiB"},    {UINT64_C(3) << 29, "1.5 GiB"},
                 {1048575, "1.0 MiB"}, {UINT64_MAX, "16.0 EiB"}};
    struct buf b = BUF_INIT;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        buf_clear(&b);
        text_put_bytes(&b, cases[i].bytes);
        ck_assert_str_eq(buf_cstr(&b), cases[i].text);
    }
    for (uint64_t v = 1; v < UINT64_MAX / 3; v = v * 3 + 1) {
        double back;
        buf_clear(&b);
        text_put_bytes(&b, v);
        back = (double)bytes_of(buf_cstr(&b));
        ck_assert(fabs(back - (double)v) <= 0.05 * (double)v);
    }
    buf_close(&b);
}

END_TEST

/* Durations with one unit or several. */
START_TEST(test_durations)
{
    static const char *const wrong[] = {"",    "5",   "5x",           "h",
                                        "1h ", "-1s", "99999999999w", "1.s"};

    static const struct {
        uint64_t us;
        const char *text;
    } prints[] = {{0, "0us"},
                  {850, "850us"},
                  {12500, "12.5ms"},
                  {3250000, "3.25s"},
                  {125000000, "2m05s"},
                  {UINT64_C(11520000000), "3h12m"},
                  {UINT64_C(352800000000), "4d02h"}};
    struct err err = ERR_INIT;
    struct buf b = BUF_INIT;
    uint64_t v;
    ck_assert_uint_eq(duration_of("0"), 0);
    ck_assert_uint_eq(duration_of("7d"), UINT64_C(604800000000));
    ck_assert_uint_eq(duration_of("1h30m"), UINT64_C(5400000000));
    ck_assert_uint_eq(duration_of("250ms"), 250000);
    ck_assert_uint_eq(duration_of("0.5s"), 500000);
    for (size_t k = 0; k < ARRAY_LEN(wrong); k++)
        ck_assert_msg(text_parse_duration(slice_str(wrong[k]), &v, &err) ==
                          ERR_INVALID,
                      "%s", wrong[k]);
    for (size_t i = 0; i < ARRAY_LEN(prints); i++) {
        buf_clear(&b);
        text_put_duration(&b, prints[i].us);
        ck_assert_str_eq(buf_cstr(&b), prints[i].text);
    }
    buf_close(&b);
}

END_TEST

/* Known instants, in the forms accepted. */
START_TEST(test_times)
{
    static const char *const wrong[] = {"",
                                        "2024",
                                        "2024-13-01",
                                        "2024-02-30",
                                        "2023-02-29",
                                        "2024-1-1",
                                        "2024-01-01T",
                                        "2024-01-01T25:00:00Z",
                                        "2024-01-01T00:00:00",
                                        "2024-01-01T00:00:00.Z",
                                        "@",
                                        "@x",
                                        "2024-01-01Z",
                                        "@99999999999999999"};
    struct err err = ERR_INIT;
    int64_t v;
    ck_assert_int_eq(time_of("1970-01-01"), 0);
    ck_assert_int_eq(time_of("1970-01-01T00:00:00.000001Z"), 1);
    ck_assert_int_eq(time_of("1969-12-31T23:59:59.5Z"), -500000);
    ck_assert_int_eq(time_of("2000-02-29 12:00:00+02:00"),
                     INT64_C(951818400000000));
    ck_assert_int_eq(time_of("2024-01-31T12:00Z"), INT64_C(1706702400000000));
    ck_assert_int_eq(time_of("@1700000000.25"), INT64_C(1700000000250000));
    ck_assert_int_eq(time_of("@-0.5"), -500000);
    for (size_t k = 0; k < ARRAY_LEN(wrong); k++)
        ck_assert_msg(text_parse_time(slice_str(wrong[k]), &v, &err) ==
                          ERR_INVALID,
                      "%s", wrong[k]);
}

END_TEST

/* Any instant printed reads back as itself. */
START_TEST(test_times_round_trip)
{
    struct rand_gen r;
    struct buf b = BUF_INIT;
    rand_init(&r, test_seed());
    for (int i = 0; i < 20000; i++) {
        int64_t want = (int64_t)rand_u64(&r) >> rand_below(&r, 64);
        buf_clear(&b);
        text_put_time(&b, want);
        ck_assert_msg(time_of(buf_cstr(&b)) == want, "%lld %s", (long long)want,
                      buf_cstr(&b));
    }
    buf_close(&b);
}

END_TEST

/* Days count on by one over 800 years, through every kind of leap year. */
START_TEST(test_calendar)
{
    int64_t year;
    unsigned month;
    unsigned day;
    for (int64_t days = -200000; days < 100000; days++) {
        text_date_from_days(days, &year, &month, &day);
        if (text_days_from_date(year, month, day) != days)
            ck_abort_msg("day %lld", (long long)days);
    }
    text_date_from_days(11016, &year, &month, &day);
    ck_assert(year == 2000 && month == 2 && day == 29);
}

END_TEST

/* Every code point survives; what is no UTF-8 is told apart. */
START_TEST(test_utf8)
{
    static const char *const bad[] = {"\x80",         "\xc0\x80",
                                      "\xed\xa0\x80", "\xf4\x90\x80\x80",
                                      "\xe2\x82",     "a\xff"};
    char p[4];
    for (uint32_t code = 0; code <= 0x10ffff; code++) {
        bool surrogate = code >= 0xd800 && code <= 0xdfff;
        uint32_t back;
        size_t n = utf8_encode(p, code);
        if (utf8_decode(p, p + n, &back) != n ||
            !utf8_valid(slice_make(p, n)) ||
            back != (surrogate ? UTF8_REPLACEMENT : code))
            ck_abort_msg("U+%04x", code);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        ck_assert_msg(!utf8_valid(slice_str(bad[i])), "%zu", i);
    ck_assert_uint_eq(utf8_columns(slice_str("a\xe6\xbc\xa2"
                                             "e\xcc\x81")),
                      4);
}

END_TEST

/* Any bytes escaped are printable UTF-8 and read back as the same bytes. */
START_TEST(test_escapes_round_trip)
{
    struct rand_gen r;
    struct buf b = BUF_INIT;
    struct buf back = BUF_INIT;
    struct err err = ERR_INIT;
    char bytes[40];
    rand_init(&r, test_seed());
    for (int i = 0; i < 20000; i++) {
        size_t len = rand_below(&r, sizeof(bytes));
        for (size_t k = 0; k < len; k++)
            bytes[k] = (char)(rand_u64(&r) >> rand_below(&r, 8));
        buf_clear(&b);
        buf_clear(&back);
        text_put_escaped(&b, slice_make(bytes, len), '"');
        ck_assert(utf8_valid(buf_slice(&b)));
        ck_assert_int_eq(text_unescape(buf_slice(&b), &back, &err), 0);
        ck_assert(slice_eq(buf_slice(&back), slice_make(bytes, len)));
    }
    ck_assert_int_eq(text_unescape(SLICE_LIT("ab\\q"), &back, &err),
                     ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(err.text, "byte 2"));
    ck_assert_int_eq(text_unescape(SLICE_LIT("\\x4"), &back, &err),
                     ERR_INVALID);
    ck_assert_int_eq(text_unescape(SLICE_LIT("\\u00g9"), &back, &err),
                     ERR_INVALID);
    ck_assert_int_eq(text_unescape(SLICE_LIT("\\"), &back, &err), ERR_INVALID);
    buf_clear(&back);
    ck_assert_int_eq(text_unescape(SLICE_LIT("\\u00e9\\u0041"), &back, &err),
                     0);
    ck_assert_str_eq(buf_cstr(&back), "\xc3\xa9"
                                      "A");
    buf_close(&b);
    buf_close(&back);
}

END_TEST

/* JSON strings and CSV fields keep to their grammars. */
START_TEST(test_json_and_csv)
{
    struct buf b = BUF_INIT;
    text_put_json(&b, SLICE_LIT("a\"\\\n\r\t\x01\xff\xc3\xa9"));
    ck_assert_str_eq(buf_cstr(&b),
                     "\"a\\\"\\\\\\n\\r\\t\\u0001\xef\xbf\xbd\xc3\xa9\"");
    buf_clear(&b);
    text_put_csv(&b, SLICE_LIT("plain"));
    buf_append_byte(&b, ',');
    text_put_csv(&b, SLICE_LIT("a \"b\", c"));
    ck_assert_str_eq(buf_cstr(&b), "plain,\"a \"\"b\"\", c\"");
    buf_clear(&b);
    text_put_count(&b, 1234567);
    buf_append_byte(&b, ' ');
    text_put_count(&b, 12);
    ck_assert_str_eq(buf_cstr(&b), "1,234,567 12");
    buf_close(&b);
}

END_TEST

/* A slip of the finger finds the name meant; something else finds none. */
START_TEST(test_nearest_name)
{
    static const char *const names[] = {"versions", "limit", "prefix", "start"};
    ck_assert_str_eq(text_nearest(SLICE_LIT("verison"), names, 4), "versions");
    ck_assert_str_eq(text_nearest(SLICE_LIT("limt"), names, 4), "limit");
    ck_assert_str_eq(text_nearest(SLICE_LIT("satrt"), names, 4), "start");
    ck_assert_ptr_null(text_nearest(SLICE_LIT("output"), names, 4));
    ck_assert_ptr_null(text_nearest(SLICE_LIT(""), names, 4));
}

END_TEST

TEST_MAIN("text",
          test_integers,
          test_sizes,
          test_sizes_round_trip,
          test_durations,
          test_times,
          test_times_round_trip,
          test_calendar,
          test_utf8,
          test_escapes_round_trip,
          test_json_and_csv,
          test_nearest_name)
