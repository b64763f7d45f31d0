/* Addresses of the archive, and dates in them. */
#include <string.h>

#include "mapreduce/warc/date.h"
#include "tests/lib/check_main.h"
#include "web/replay/replay_url.h"

START_TEST(test_parse)
{
    static const struct {
        const char *text;
        const char *date;
        const char *mod;
        const char *url;
        bool star, prefix;
    } cases[] = {
        {"20140126200624/http://a.b/", "20140126200624", "", "http://a.b/", 0,
         0},
        {"2014im_/http://a.b/?x=/y", "2014", "im_", "http://a.b/?x=/y", 0, 0},
        {"id_/http://a.b/", "", "id_", "http://a.b/", 0, 0},
        {"2014zz_/a.b", "2014", "oe_", "a.b", 0, 0},
        {"http://a.b/", "", "", "http://a.b/", 0, 0},
        {"a.b/2014/c", "", "", "a.b/2014/c", 0, 0},
        {"*/http://a.b/", "", "", "http://a.b/", 1, 0},
        {"2014*/http://a.b/c*", "2014", "", "http://a.b/c", 1, 1},
        {"201401262006241/x", "", "", "201401262006241/x", 0, 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct replay_url u;
        ck_assert(replay_url_parse(slice_str(cases[i].text), &u));
        ck_assert(slice_eq_str(u.date, cases[i].date));
        ck_assert_str_eq(replay_mod_name(u.mod), cases[i].mod);
        ck_assert(slice_eq_str(u.url, cases[i].url));
        ck_assert_int_eq(u.has_star, cases[i].star);
        ck_assert_int_eq(u.is_prefix, cases[i].prefix);
    }
    struct replay_url none;
    ck_assert(!replay_url_parse(SLICE_LIT("2014/"), &none));
    ck_assert(!replay_url_parse(SLICE_LIT(""), &none));
}

END_TEST

START_TEST(test_absolute)
{
    static const char *const cases[][2] = {
        {"a.b", "http://a.b/"},
        {"a.b/c?d", "http://a.b/c?d"},
        {"http:/a.b/", "http://a.b/"},
        {"https:/a.b", "https://a.b/"},
        {"http://A.b:80/", "http://a.b/"},
        {"a.b:8080/", "http://a.b:8080/"},
        {"//a.b/", "http://a.b/"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buf out = BUF_INIT;
        ck_assert(replay_url_absolute(slice_str(cases[i][0]), &out));
        ck_assert_str_eq(buf_cstr(&out), cases[i][1]);
        buf_close(&out);
    }
}

END_TEST

/* A date that is cut short is the end of its period. */
START_TEST(test_dates)
{
    static const char *const cases[][2] = {
        {"20140126200624", "20140126200624"}, {"2014", "20141231235959"},
        {"201402", "20140228235959"},         {"20140126", "20140126235959"},
        {"2014012620", "20140126205959"},     {"20141", "20141231235959"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[DATE_TEXT_BYTES];
        int64_t us;
        ck_assert(replay_date_parse(slice_str(cases[i][0]), &us));
        date_format_14(us, text);
        ck_assert_str_eq(text, cases[i][1]);
    }
    int64_t us;
    ck_assert(!replay_date_parse(SLICE_LIT(""), &us));
    ck_assert(!replay_date_parse(SLICE_LIT("201x"), &us));
    ck_assert(!replay_date_parse(SLICE_LIT("20141340"), &us));
}

END_TEST

TEST_MAIN("replay_url", test_parse, test_absolute, test_dates)
