/* Dates of all precisions and forms come to the right microsecond, and back. */
#include <time.h>

#include "base/core/rand.h"
#include "mapreduce/warc/date.h"
#include "tests/lib/check_main.h"

static void expect(const char *text, int64_t us, int64_t span)
{
    int64_t got = -1;
    int64_t got_span = -1;
    ck_assert_msg(date_parse_span(slice_str(text), &got, &got_span), "%s",
                  text);
    ck_assert_msg(got == us, "%s: %lld", text, (long long)got);
    ck_assert_msg(got_span == span, "%s: span %lld", text, (long long)got_span);
}

static void refuse(const char *text)
{
    int64_t us;
    ck_assert_msg(!date_parse(slice_str(text), &us), "%s", text);
}

/* Every precision the standard allows, and every liberty writers take. */
START_TEST(test_forms)
{
    const int64_t s = 1000000;
    const int64_t t = INT64_C(1390766784) * s; /* 2014-01-26T20:06:24Z */
    expect("2014-01-26T20:06:24Z", t, s);
    expect("2014-01-26T20:06:24", t, s);
    expect("2014-01-26 20:06:24", t, s);
    expect("2014-01-26T21:06:24+01:00", t, s);
    expect("2014-01-26T18:36:24-0130", t, s);
    expect("2014-01-26T20:06:24.5Z", t + 500000, 100000);
    expect("2014-01-26T20:06:24.123456Z", t + 123456, 1);
    expect("2014-01-26T20:06:24.123456789Z", t + 123456, 1);
    expect("2014-01-26T20:06Z", t - 24 * s, 60 * s);
    expect("2014-01-26", INT64_C(1390694400) * s, 86400 * s);
    expect("2014-01", INT64_C(1388534400) * s, INT64_C(31) * 86400 * s);
    expect("2014", INT64_C(1388534400) * s, INT64_C(366) * 86400 * s);
    expect("20140126200624", t, s);
    expect("201401262006", t - 24 * s, 60 * s);
    expect("20140126200624123", t + 123000, 1000);
    expect("1969-12-31T23:59:59Z", -s, s);
    expect("2016-02-29", INT64_C(1456704000) * s, 86400 * s);
    expect("2016-12-31T23:59:60Z", INT64_C(1483228800) * s, s);
    refuse("");
    refuse("x");
    refuse("2014-13-01");
    refuse("2015-02-29");
    refuse("2014-01-26T24:00:00Z");
    refuse("2014-01-26T20:06:24.Z");
    refuse("2014-01-26T20:06:24Zx");
    refuse("null");
    refuse("0000");
    refuse("20141326");
}

END_TEST

/* HTTP's three forms, and that of access logs. */
START_TEST(test_http_and_logs)
{
    const int64_t t = INT64_C(784111777000000);
    int64_t us = 0;
    static const char *const forms[] = {
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "06 nov 1994 08:49:37",
    };
    for (size_t i = 0; i < 4; i++) {
        us = 0;
        ck_assert_msg(date_parse_http(slice_str(forms[i]), &us), "%s",
                      forms[i]);
        ck_assert_msg(us == t, "%s", forms[i]);
    }
    ck_assert(!date_parse_http(slice_str("soon"), &us));
    ck_assert(!date_parse_http(slice_str(""), &us));
    ck_assert(date_parse_log(slice_str("06/Nov/1994:09:49:37 +0100"), &us));
    ck_assert_int_eq(us, t);
    ck_assert(!date_parse_log(slice_str("06/Xxx/1994:09:49:37 +0100"), &us));
}

END_TEST

/* A formatted date parses to the same, and agrees with the C library. */
START_TEST(test_there_and_back)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int i = 0; i < 20000; i++) {
        int64_t us = (int64_t)rand_below(&r, INT64_C(300000000000) * 1000000) -
                     INT64_C(60000000000) * 1000000;
        time_t s;
        struct tm tm;
        char text[DATE_TEXT_BYTES];
        char want[DATE_TEXT_BYTES];
        int64_t back;
        if (i % 2)
            us -= us % 1000000;
        date_format(us, text);
        if (us < INT64_C(253402300800000000) &&
            us >= INT64_C(-62135596800000000)) {
            ck_assert_msg(date_parse(slice_str(text), &back), "%s", text);
            ck_assert_int_eq(back, us);
            ck_assert_uint_eq(date_format_us(us, text), 27);
            ck_assert(date_parse(slice_str(text), &back) && back == us);
        }
        s = (time_t)(us / 1000000 - (us % 1000000 < 0));
        gmtime_r(&s, &tm);
        if (tm.tm_year + 1900 < 1000 || tm.tm_year + 1900 > 9999)
            continue;
        strftime(want, sizeof(want), "%Y%m%d%H%M%S", &tm);
        date_format_14(us, text);
        ck_assert_str_eq(text, want);
    }
}

END_TEST

TEST_MAIN("date", test_forms, test_http_and_logs, test_there_and_back)
