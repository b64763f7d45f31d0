/* Patterns match what RE2 says they match, hostile ones cost little, and broken
 * ones are explained. */
#include <string.h>

#include "base/core/buf.h"
#include "base/core/macros.h"
#include "base/regex/regex.h"
#include "tests/lib/check_main.h"

/* --- Helpers ------------------------------------------------------------ */

static struct regex *must_compile(const char *pattern,
                                  enum regex_encoding encoding)
{
    struct err err = ERR_INIT;
    struct regex *r;
    ck_assert_msg(regex_new(slice_str(pattern), encoding, &r, &err) == 0, "%s",
                  err.text);
    return r;
}

/* --- Tests -------------------------------------------------------------- */

/* A full match takes all of the text, a search any part, with groups. */
START_TEST(test_matching)
{
    struct regex *r = must_compile("(a+)(b)?(c*)", REGEX_UTF8);
    struct slice text = SLICE_LIT("xxaacx");
    struct slice g[4];
    ck_assert_int_eq(regex_group_count(r), 3);
    ck_assert(!regex_full_match(r, text));
    ck_assert(regex_full_match(r, SLICE_LIT("aabccc")));
    ck_assert(regex_search(r, text, 0, g, 4));
    ck_assert(slice_eq_str(g[0], "aac") && g[0].data == text.data + 2);
    ck_assert(slice_eq_str(g[1], "aa"));
    ck_assert_ptr_null(g[2].data); /* Took no part. */
    ck_assert(slice_eq_str(g[3], "c"));
    ck_assert(regex_search(r, text, 3, g, 1));
    ck_assert(slice_eq_str(g[0], "ac"));
    ck_assert(!regex_search(r, text, 5, NULL, 0));
    ck_assert(!regex_search(r, SLICE_EMPTY, 0, NULL, 0));
    regex_free(r);
}

END_TEST

/* A dot is a character in one encoding and a byte in the other; zero bytes and
 * bytes that are no UTF-8 are text like any other. */
START_TEST(test_encodings)
{
    struct regex *utf8 = must_compile("a.b", REGEX_UTF8);
    struct regex *bytes = must_compile("a.b", REGEX_BYTES);
    struct regex *any = must_compile("(?s).*", REGEX_BYTES);
    ck_assert(regex_full_match(utf8, SLICE_LIT("a\xc3\xa9"
                                               "b")));
    ck_assert(!regex_full_match(bytes, SLICE_LIT("a\xc3\xa9"
                                                 "b")));
    ck_assert(regex_full_match(bytes, SLICE_LIT("a\xff"
                                                "b")));
    ck_assert(regex_full_match(bytes, SLICE_LIT("a\0b")));
    ck_assert(regex_full_match(any, SLICE_LIT("\xff\0\n\x80")));
    regex_free(utf8);
    regex_free(bytes);
    regex_free(any);
}

END_TEST

/* A pattern that takes others exponential time takes this one linear time. */
START_TEST(test_hostile_pattern)
{
    struct regex *r = must_compile("(a+)+$", REGEX_BYTES);
    struct buf text = BUF_INIT;
    buf_append_fill(&text, 'a', 200000);
    buf_append_byte(&text, 'b');
    ck_assert(!regex_full_match(r, buf_slice(&text)));
    buf_close(&text);
    regex_free(r);
}

END_TEST

/* Broken and oversized patterns are refused with a reason. */
START_TEST(test_refused)
{
    static const char *const patterns[] = {
        "(", "a**b(", "[z-a]", "(?=x)", "\\1", "((((a{1000}){1000}){1000}))"};
    for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
        struct err err = ERR_INIT;
        struct regex *r = NULL;
        ck_assert_msg(regex_new(slice_str(patterns[i]), REGEX_UTF8, &r, &err) ==
                          ERR_INVALID,
                      "%s", patterns[i]);
        ck_assert(strlen(err.text) > 0);
        ck_assert_ptr_null(r);
    }
}

END_TEST

TEST_MAIN("regex",
          test_matching,
          test_encodings,
          test_hostile_pattern,
          test_refused)
