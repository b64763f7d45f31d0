/* The rule with the longest key decides, at the dates it is for; lists that are
 * none are refused with their line. */
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
#include "mapreduce/warc/date.h"
#include "mapreduce/warc/surt.h"
#include "tests/lib/check_main.h"
#include "web/policy/archive_policy.h"

/* The reason for which the capture is not shown, or NULL. Owned. */
static char *
verdict(const struct archive_policy *p, const char *url, const char *date)
{
    struct buf surt = BUF_INIT;
    struct archive_subject s = {.robots = SLICE_EMPTY, .head = SLICE_EMPTY};
    struct slice reason;
    char *text = NULL;
    surt_key(slice_str(url), &surt);
    s.surt = buf_slice(&surt);
    ck_assert(date_parse(slice_str(date), &s.time_us));
    if (!archive_policy_allows(p, &s, &reason))
        text = strndup(reason.data, reason.len);
    buf_close(&surt);
    return text;
}

static void shows(const struct archive_policy *p, const char *url)
{
    char *why = verdict(p, url, "20150101000000");
    ck_assert_msg(why == NULL, "%s: %s", url, why);
}

static void
hides(const struct archive_policy *p, const char *url, const char *reason)
{
    char *why = verdict(p, url, "20150101000000");
    ck_assert_msg(why != NULL, "%s is shown", url);
    ck_assert_str_eq(why, reason);
    free(why);
}

/* URLs, beginnings, hosts, domains, keys; www, case and scheme make no
 * difference, and names end where names end. */
START_TEST(test_patterns)
{
    struct archive_policy *p = archive_policy_new();
    ck_assert_int_eq(
        archive_policy_read(p,
                            SLICE_LIT("# comment\n\n"
                                      "block http://a.example/page one\n"
                                      "block https://www.a.example/dir/* two\n"
                                      "allow http://a.example/dir/free/*\n"
                                      "block b.example three words here\n"
                                      "block *.c.example\r\n"
                                      "block org,archive)/secret four"),
                            "list", NULL),
        0);
    hides(p, "http://a.example/page", "one");
    hides(p, "https://www.A.example/Page#x", "one");
    shows(p, "http://a.example/page2");
    shows(p, "http://a.example/page/x");
    hides(p, "http://a.example/dir/x?y=1", "two");
    shows(p, "http://a.example/dir");
    shows(p, "http://a.example/directory");
    shows(p, "http://a.example/dir/free/x");
    hides(p, "http://b.example/", "three words here");
    hides(p, "http://b.example/any", "three words here");
    shows(p, "http://sub.b.example/");
    shows(p, "http://bb.example/");
    hides(p, "http://c.example/", "it is not shown here");
    hides(p, "http://deep.sub.c.example:8080/x", "it is not shown here");
    shows(p, "http://cc.example/");
    hides(p, "http://archive.org/secret/x", "four");
    shows(p, "http://archive.org/open");
    archive_policy_free(p);
}

END_TEST

/* Dates cut short mean all of their period; the last of equal keys decides. */
START_TEST(test_dates)
{
    struct archive_policy *p = archive_policy_new();
    char *why;
    ck_assert_int_eq(
        archive_policy_read(
            p,
            SLICE_LIT("block a.example from=2014 to=201502 early\n"
                      "block a.example from=2016 late\n"
                      "allow a.example from=20160301 to=20160301\n"),
            "list", NULL),
        0);
    static const char *const dates[][2] = {
        {"20131231235959", NULL},    {"20140101000000", "early"},
        {"20150228235959", "early"}, {"20150301000000", NULL},
        {"20160101000000", "late"},  {"20160301120000", NULL},
        {"20160302000000", "late"}};
    for (size_t i = 0; i < sizeof(dates) / sizeof(*dates); i++) {
        why = verdict(p, "http://a.example/x", dates[i][0]);
        ck_assert_msg((why == NULL) == (dates[i][1] == NULL), "%s",
                      dates[i][0]);
        if (why)
            ck_assert_str_eq(why, dates[i][1]);
        free(why);
    }
    archive_policy_free(p);
}

END_TEST

/* noarchive counts where it is honoured, unless a rule allows the capture. */
START_TEST(test_noarchive)
{
    struct archive_policy *p = archive_policy_new();
    struct archive_subject s = {.surt = SLICE_LIT("example,a)/x"),
                                .robots = SLICE_LIT("index, NoArchive"),
                                .head = SLICE_EMPTY};
    struct slice reason;
    ck_assert(archive_policy_allows(p, &s, &reason));
    archive_policy_honour_noarchive(p);
    ck_assert(!archive_policy_allows(p, &s, &reason));
    ck_assert_uint_gt(reason.len, 0);
    s.robots = SLICE_LIT("noindex");
    ck_assert(archive_policy_allows(p, &s, &reason));
    s.head =
        SLICE_LIT("HTTP/1.1 200 OK\r\nX-Robots-Tag: noindex, noarchive\r\n");
    ck_assert(!archive_policy_allows(p, &s, &reason));
    s.head = SLICE_LIT("HTTP/1.1 200 OK\r\nX-Robots-Tag: bot: noarchive\r\n");
    ck_assert(archive_policy_allows(p, &s, &reason));
    s.robots = SLICE_LIT("none");
    ck_assert_int_eq(archive_policy_read(
                         p, SLICE_LIT("allow http://a.example/*"), "l", NULL),
                     0);
    ck_assert(archive_policy_allows(p, &s, &reason));
    archive_policy_free(p);
}

END_TEST

/* A line that is no rule is named; any bytes are read without harm. */
START_TEST(test_bad_lists)
{
    static const char *const lines[] = {"deny a.example",         "block",
                                        "block http://",          "block *.",
                                        "block a.example from=x", "allow a/b"};
    struct rand_gen r;
    struct err err = ERR_INIT;
    struct archive_policy *p = archive_policy_new();
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        struct buf b = BUF_INIT;
        buf_printf(&b, "block b.example\n%s\n", lines[i]);
        ck_assert_int_eq(archive_policy_read(p, buf_slice(&b), "list", &err),
                         ERR_INVALID);
        ck_assert_msg(strstr(err.text, "list: line 2") != NULL, "%s", err.text);
        buf_close(&b);
    }
    rand_init(&r, test_seed());
    for (int i = 0; i < 3000; i++) {
        char text[60];
        size_t n = rand_below(&r, sizeof(text));
        for (size_t k = 0; k < n; k++)
            text[k] = "block allow http://a.e,)/*from=2014\n\t\xff"[rand_below(
                &r, 37)];
        if (archive_policy_read(p, slice_make(text, n), "list", NULL))
            continue;
    }
    archive_policy_free(p);
}

END_TEST

TEST_MAIN("archive_policy",
          test_patterns,
          test_dates,
          test_noarchive,
          test_bad_lists)
