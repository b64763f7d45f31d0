/* Times: zones with their history, gaps and overlaps of clocks, the calendar,
 * and text in both directions. */
#include <time.h>

#include "base/core/rand.h"
#include "sawzall-lite/builtins/civil.h"
#include "sawzall-lite/builtins/private.h"
#include "sawzall-lite/builtins/time.h"
#include "sawzall-lite/builtins/zone.h"
#include "tests/unit/sawzall-lite/builtin_call.h"

#define EQ(got, want) ck_assert_str_eq((got), (want))

static uint64_t at(struct host *h, const char *text)
{
    uint64_t t;
    ck_assert_msg(saw_time_parse(&h->ctx, slice_str(text), SLICE_EMPTY, &t),
                  "%s", text);
    return t;
}

static const char *show(struct host *h, uint64_t t, const char *tz)
{
    buf_clear(&h->text);
    ck_assert(saw_time_print(&h->ctx, t, slice_str(tz), &h->text));
    return buf_cstr(&h->text);
}

/* The calendar agrees with the C library for 3,000 years, day by day. */
START_TEST(test_civil_agrees_with_libc)
{
    for (int64_t day = -400000; day < 700000; day += 7) {
        time_t t = (time_t)(day * 86400 + 3661);
        struct saw_civil c;
        struct tm tm;
        gmtime_r(&t, &tm);
        saw_civil_from_seconds(t, &c);
        ck_assert_int_eq(c.year, tm.tm_year + 1900);
        ck_assert_int_eq(c.month, tm.tm_mon);
        ck_assert_int_eq(c.day, tm.tm_mday);
        ck_assert_int_eq(c.weekday, tm.tm_wday);
        ck_assert_int_eq(c.year_day, tm.tm_yday);
        ck_assert_int_eq(c.hour * 3600 + c.minute * 60 + c.second, 3661);
        ck_assert_int_eq(saw_civil_seconds(&c), t);
    }
}

END_TEST

/* The zones built in agree with the system's zone files, hour by hour. */
START_TEST(test_built_in_zones_agree_with_files)
{
    static const char *const pairs[][2] = {
        {"PST8PDT", "America/Los_Angeles"},
        {"EST5EDT", "America/New_York"},
        {"CST6CDT", "America/Chicago"},
        {"MST7MDT", "America/Denver"},
    };
    struct host h;
    host_init(&h);
    for (size_t i = 0; i < 4; i++) {
        struct saw_zone_use ours;
        struct saw_zone_use file;
        ck_assert(saw_zone_find(&h.ctx, slice_str(pairs[i][0]), &ours));
        if (!saw_zone_find(&h.ctx, slice_str(pairs[i][1]), &file)) {
            printf("SKIPPED: no zone files on this system\n");
            break;
        }
        /* From 1970 to 2100; 29 hours pass through each hour of the day. */
        for (int64_t t = 3600 * 24; t < INT64_C(4102444800); t += 3600 * 29) {
            struct saw_zone_offset a = saw_zone_at(&ours, t);
            struct saw_zone_offset b = saw_zone_at(&file, t);
            ck_assert_msg(a.seconds == b.seconds && a.dst == b.dst &&
                              strcmp(a.name, b.name) == 0,
                          "%s at %lld: %d %s, file says %d %s", pairs[i][0],
                          (long long)t, a.seconds, a.name, b.seconds, b.name);
        }
    }
    host_close(&h);
}

END_TEST

/* Zones from files agree with the C library's, at random times. */
START_TEST(test_zone_files_agree_with_libc)
{
    static const char *const names[] = {"Europe/Paris",
                                        "Asia/Kolkata",
                                        "Australia/Lord_Howe",
                                        "America/Sao_Paulo",
                                        "Africa/Casablanca",
                                        "Asia/Tehran",
                                        "UTC"};
    struct host h;
    struct rand_gen r;
    struct saw_zone_use use;
    rand_init(&r, test_seed());
    host_init(&h);
    if (!saw_zone_find(&h.ctx, SLICE_LIT("Europe/Paris"), &use)) {
        printf("SKIPPED: no zone files on this system\n");
        host_close(&h);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        ck_assert(saw_zone_find(&h.ctx, slice_str(names[i]), &use));
        setenv("TZ", names[i], 1);
        tzset();
        for (int k = 0; k < 3000; k++) {
            time_t t = (time_t)rand_below(&r, UINT64_C(4000000000));
            struct saw_civil c;
            struct tm tm;
            struct saw_zone_offset o = saw_zone_at(&use, t);
            saw_civil_from_seconds(t + o.seconds, &c);
            localtime_r(&t, &tm);
            ck_assert_int_eq(c.hour, tm.tm_hour);
            ck_assert_int_eq(c.minute, tm.tm_min);
            ck_assert_int_eq(c.day, tm.tm_mday);
            ck_assert_int_eq(o.dst, tm.tm_isdst > 0);
        }
    }
    host_close(&h);
}

END_TEST

/* Clocks that skip an hour, and that show one twice. */
START_TEST(test_gap_and_overlap)
{
    struct host h;
    host_init(&h);
    /* 2005-04-03 2:30 does not exist: an hour later. */
    EQ(show(&h, at(&h, "Sun Apr 3 02:30:00 2005"), ""),
       "Sun Apr  3 03:30:00 PDT 2005");
    EQ(show(&h, at(&h, "Sun Apr 3 01:59:59 2005"), ""),
       "Sun Apr  3 01:59:59 PST 2005");
    EQ(show(&h, at(&h, "Sun Apr 3 03:00:00 2005"), ""),
       "Sun Apr  3 03:00:00 PDT 2005");
    /* 2005-10-30 1:30 came twice: winter time, unless the text has PDT. */
    EQ(show(&h, at(&h, "Sun Oct 30 01:30:00 2005"), ""),
       "Sun Oct 30 01:30:00 PST 2005");
    EQ(show(&h, at(&h, "Sun Oct 30 01:30:00 PDT 2005"), ""),
       "Sun Oct 30 01:30:00 PDT 2005");
    ck_assert_uint_eq(at(&h, "Sun Oct 30 01:30:00 PST 2005") -
                          at(&h, "Sun Oct 30 01:30:00 PDT 2005"),
                      3600u * 1000000);
    /* Truncation stays in the hour that it was. */
    EQ(CALL(&h, "trunctohour", a_time(at(&h, "Sun Oct 30 01:30:00 PDT 2005"))),
       "1130659200000000T");
    EQ(CALL(&h, "trunctohour", a_time(at(&h, "Sun Oct 30 01:30:00 PST 2005"))),
       "1130662800000000T");
    /* A day across the change has 23 or 25 hours. */
    EQ(show(&h,
            (uint64_t)atoll(
                CALL(&h, "addday", a_time(at(&h, "Sat Apr 2 12:00:00 2005")))),
            ""),
       "Sun Apr  3 12:00:00 PDT 2005");
    host_close(&h);
}

END_TEST

START_TEST(test_fields)
{
    struct host h;
    uint64_t t;
    host_init(&h);
    t = at(&h, "Tue Feb 29 23:59:58 GMT 2000") + 123456;
#define GMT a_str(&h, "GMT")
    EQ(CALL(&h, "yearof", a_time(t), GMT), "2000");
    EQ(CALL(&h, "monthof", a_time(t), GMT), "2");
    EQ(CALL(&h, "dayofmonth", a_time(t), GMT), "29");
    EQ(CALL(&h, "dayofyear", a_time(t), GMT), "60");
    EQ(CALL(&h, "dayofweek", a_time(t), GMT), "2");
    EQ(CALL(&h, "hourof", a_time(t), GMT), "23");
    EQ(CALL(&h, "hourof", a_time(t)), "15");
    EQ(CALL(&h, "minuteof", a_time(t), GMT), "59");
    EQ(CALL(&h, "secondof", a_time(t), GMT), "58");
    EQ(CALL(&h, "dayofweek", a_time(at(&h, "Sun Feb 27 12:00:00 GMT 2000")),
            GMT),
       "7");
    EQ(CALL(&h, "hourof", a_time(t), a_str(&h, "Mars/Olympus")),
       "undef: hourof: invalid time or time zone \"Mars/Olympus\"");
    EQ(CALL(&h, "hourof", a_time(UINT64_MAX)),
       "undef: hourof: invalid time or time zone \"\"");
    EQ(CALL(&h, "hourof", a_time(0), a_str(&h, "../../etc/passwd")),
       "undef: hourof: invalid time or time zone \"../../etc/passwd\"");
    host_close(&h);
}

END_TEST

static const char *
step(struct host *h, const char *name, const char *from, int64_t n)
{
    uint64_t t = at(h, from);
    const char *got = CALL(h, name, a_time(t), a_int(n), a_str(h, "GMT"));
    char *end;
    uint64_t to = strtoull(got, &end, 10);
    return *end == 'T' ? show(h, to, "GMT") : got;
}

/* Months and years carry over like the calendar does. */
START_TEST(test_calendar_steps)
{
    struct host h;
    host_init(&h);
    EQ(step(&h, "addmonth", "31 Jan 2001 10:00:00 GMT", 1),
       "Sat Mar  3 10:00:00 GMT 2001");
    EQ(step(&h, "addmonth", "15 Jan 2001 10:00:00 GMT", -13),
       "Wed Dec 15 10:00:00 GMT 1999");
    EQ(step(&h, "addyear", "29 Feb 2000 00:00:00 GMT", 1),
       "Thu Mar  1 00:00:00 GMT 2001");
    EQ(step(&h, "addweek", "29 Dec 2000 00:00:00 GMT", 1),
       "Fri Jan  5 00:00:00 GMT 2001");
    EQ(step(&h, "addday", "1 Jan 1970 00:00:00 GMT", -1),
       "undef: addday: the result is out of range");
    EQ(step(&h, "addyear", "1 Jan 1970 00:00:00 GMT", INT64_MAX),
       "undef: addyear: the result is out of range");
    host_close(&h);
}

END_TEST

START_TEST(test_truncation)
{
    struct host h;
    uint64_t t;
    host_init(&h);
    t = at(&h, "Tue Jul 20 11:44:46 PDT 2004") + 999999;
#define TRUNC(name) show(&h, strtoull(CALL(&h, name, a_time(t)), NULL, 10), "")
    EQ(TRUNC("trunctosecond"), "Tue Jul 20 11:44:46 PDT 2004");
    EQ(TRUNC("trunctominute"), "Tue Jul 20 11:44:00 PDT 2004");
    EQ(TRUNC("trunctohour"), "Tue Jul 20 11:00:00 PDT 2004");
    EQ(TRUNC("trunctoday"), "Tue Jul 20 00:00:00 PDT 2004");
    EQ(TRUNC("trunctomonth"), "Thu Jul  1 00:00:00 PDT 2004");
    EQ(TRUNC("trunctoyear"), "Thu Jan  1 00:00:00 PST 2004");
    host_close(&h);
}

END_TEST

/* Every accepted form reads as the same moment; others are refused. */
START_TEST(test_parsing)
{
    static const char *const same[] = {
        "Tue Apr 15 14:49:59 PDT 2003", "Tue Apr 15 14:49:59 2003",
        "Apr 15 14:49:59 2003",         "Tue, 15 Apr 2003 14:49:59",
        "15 Apr 2003 14:49:59 PDT",     "tue 15 apr 2003 14:49:59 -0700",
        "15 Apr 2003 21:49:59 GMT",     "15 Apr 2003 21:49:59 Z",
        "15 Apr 2003 23:19:59 +0130",   "15 Apr 2003 14:49:59 PST8PDT",
    };
    static const char *const bad[] = {"",
                                      "now",
                                      "15 Apr 2003",
                                      "1 2 3 4 5 6 7",
                                      "15 Foo 2003 14:49:59",
                                      "15 Apr 3 14:49:59",
                                      "15 Apr 2003 14:49:59 Nowhere/Land"};
    struct host h;
    uint64_t t;
    host_init(&h);
    for (size_t i = 0; i < ARRAY_LEN(same); i++)
        ck_assert_msg(at(&h, same[i]) == UINT64_C(1050443399000000), "%s: %llu",
                      same[i], (unsigned long long)at(&h, same[i]));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        ck_assert_msg(
            !saw_time_parse(&h.ctx, slice_str(bad[i]), SLICE_EMPTY, &t), "%s",
            bad[i]);
    ck_assert_uint_eq(at(&h, "1 Jan 70 00:00:00.25 GMT"), 250000);
    ck_assert_uint_eq(at(&h, "1 Jan 1970 00:00:00.0000005 GMT"), 1);
    ck_assert_uint_eq(at(&h, "1 Jan 1970 00:00:00.9999999 GMT"), 1000000);
    host_close(&h);
}

END_TEST

/* A printed time reads back, in every zone and at every time of year. */
START_TEST(test_print_and_parse_round_trip)
{
    struct host h;
    struct rand_gen r;
    rand_init(&r, test_seed());
    host_init(&h);
    for (int i = 0; i < 20000; i++) {
        static const char *const zones[] = {"", "GMT", "EST", "MDT", "CST6CDT"};
        uint64_t t = rand_below(&r, UINT64_C(4000000000)) * 1000000;
        const char *text = show(&h, t, zones[rand_below(&r, 5)]);
        ck_assert_msg(at(&h, text) == t, "%s", text);
    }
    host_close(&h);
}

END_TEST

/* formattime agrees with strftime, verb by verb. */
START_TEST(test_format_agrees_with_strftime)
{
    static const char verbs[] = "aAbBcCdDeFgGhHIjklmMnpPrRSstTuUVwWxXyYzZ%";
    struct host h;
    struct rand_gen r;
    rand_init(&r, test_seed());
    host_init(&h);
    setenv("TZ", "UTC0", 1);
    tzset();
    for (int i = 0; i < 3000; i++) {
        time_t t = (time_t)rand_below(&r, UINT64_C(8000000000));
        struct tm tm;
        gmtime_r(&t, &tm);
        for (const char *v = verbs; *v; v++) {
            char verb[3] = {'%', *v, 0};
            char want[100] = "";
            struct buf got = BUF_INIT;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            strftime(want, sizeof(want), verb, &tm);
#pragma GCC diagnostic pop
            ck_assert(saw_time_format(&h.ctx, slice_str(verb),
                                      (uint64_t)t * 1000000, SLICE_LIT("GMT"),
                                      &got));
            ck_assert_msg(strcmp(buf_cstr(&got), want) == 0,
                          "%s of %lld: %s %s", verb, (long long)t,
                          buf_cstr(&got), want);
            buf_close(&got);
        }
    }
    host_close(&h);
}

END_TEST

/* Zone files that are cut or changed anywhere are refused or harmless. */
START_TEST(test_hostile_zone_files)
{
    struct host h;
    struct buf file = BUF_INIT;
    struct rand_gen r;
    rand_init(&r, test_seed());
    host_init(&h);
    if (host_read(NULL, SLICE_LIT("/usr/share/zoneinfo/Europe/Paris"), &file,
                  NULL) != 0)
        printf("SKIPPED: no zone files on this system\n");
    for (int i = 0; i < 3000 && file.len; i++) {
        struct buf bad = BUF_INIT;
        struct saw_zone *z;
        buf_append_slice(&bad, buf_slice(&file));
        if (rand_one_in(&r, 2))
            buf_truncate(&bad, rand_below(&r, bad.len));
        for (uint64_t n = rand_below(&r, 6); n > 0 && bad.len; n--)
            bad.data[rand_below(&r, MIN_OF(bad.len, (size_t)400))] =
                (char)rand_u64(&r);
        z = saw_zone_parse(SLICE_LIT("x"), buf_slice(&bad));
        if (z) {
            struct saw_zone_use use = {.zone = z, .named_dst = -1};
            saw_zone_to_utc(&use, (int64_t)rand_below(&r, 1u << 31), 0);
        }
        saw_zones_free(z);
        buf_close(&bad);
    }
    buf_close(&file);
    host_close(&h);
}

END_TEST

TEST_MAIN("builtin_time",
          test_civil_agrees_with_libc,
          test_built_in_zones_agree_with_files,
          test_zone_files_agree_with_libc,
          test_gap_and_overlap,
          test_fields,
          test_calendar_steps,
          test_truncation,
          test_parsing,
          test_print_and_parse_round_trip,
          test_format_agrees_with_strftime,
          test_hostile_zone_files)
