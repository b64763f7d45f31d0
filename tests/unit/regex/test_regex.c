/* Patterns match what RE2 says they match, hostile ones cost little, and broken
 * ones are explained. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/core/buf.h"
#include "base/core/macros.h"
#include "base/regex/regex.h"
#include "tests/lib/check_main.h"

/* --- Helpers ------------------------------------------------------------- */

static struct regex *must_compile(const char *pattern,
                                  enum regex_encoding encoding)
{
    struct err err = ERR_INIT;
    struct regex *r;
    ck_assert_msg(regex_new(slice_str(pattern), encoding, &r, &err) == 0, "%s",
                  err.text);
    return r;
}

/* --- Tests --------------------------------------------------------------- */

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

/* Within a budget a search finds what it finds without; one whose automaton
 * explodes is given up unless the budget bears it; what is left shrinks. */
START_TEST(test_within)
{
    static const char *const patterns[] = {"a+b",
                                           "(a|b)*a(a|b){9}c",
                                           "((.*)(a))*x",
                                           "b((.*)(a)(.*))a$",
                                           "^(a?){20}b+",
                                           "[ab]{3,7}(c|$)",
                                           "",
                                           "(x)?(a)|b"};
    char text[5000];
    unsigned seed = 1;

    for (size_t i = 0; i < sizeof(text); i++) {
        seed = seed * 1103515245 + 12345;
        text[i] = seed >> 16 & 1 ? 'a' : 'b';
    }
    for (size_t k = 0; k < sizeof(patterns) / sizeof(patterns[0]); k++) {
        struct regex *r = must_compile(patterns[k], REGEX_UTF8);
        for (size_t n = 0; n <= sizeof(text); n = n * 3 + 1) {
            struct slice s = slice_make(text, n);
            struct slice a[8];
            struct slice b[8];
            size_t want = (size_t)regex_group_count(r) + 1;
            uint64_t steps = UINT64_C(1) << 40;
            bool found = regex_search(r, s, n / 4, a, want);
            ck_assert_int_eq(regex_search_within(r, s, n / 4, b, want, &steps),
                             found ? REGEX_FOUND : REGEX_ABSENT);
            ck_assert_uint_lt(steps, UINT64_C(1) << 40);
            for (size_t g = 0; found && g < want; g++)
                ck_assert(a[g].data == b[g].data && a[g].len == b[g].len);
            ck_assert_int_eq(regex_search_within(r, s, n / 4, NULL, 0, &steps),
                             found ? REGEX_FOUND : REGEX_ABSENT);
            steps = 1;
            ck_assert_int_eq(regex_search_within(r, s, n / 4, b, want, &steps),
                             REGEX_TOO_DEAR);
        }
        regex_free(r);
    }
}

END_TEST

/* A megabyte under an exploding pattern is given up at once. */
START_TEST(test_too_dear)
{
    struct regex *r = must_compile("(a|b)*a(a|b){300}c", REGEX_UTF8);
    struct buf b = BUF_INIT;
    unsigned seed = 1;
    uint64_t steps = 10000000;
    clock_t begin = clock();

    for (int i = 0; i < 1000000; i++) {
        seed = seed * 1103515245 + 12345;
        buf_append_byte(&b, seed >> 16 & 1 ? 'a' : 'b');
    }
    ck_assert_int_eq(regex_search_within(r, buf_slice(&b), 0, NULL, 0, &steps),
                     REGEX_TOO_DEAR);
    ck_assert_int_lt((clock() - begin) / CLOCKS_PER_SEC, 5);
    ck_assert_uint_gt(regex_compile_steps(r), 10000);
    buf_close(&b);
    regex_free(r);
}

END_TEST

/* Patterns that are only text find what the automaton of the same pattern
 * finds, at every start, searched or matched as a whole. */
START_TEST(test_literals)
{
    unsigned seed = 7;

    for (int round = 0; round < 3000; round++) {
        char pattern[16];
        char wrapped[32];
        char text[24];
        size_t n = 0;
        size_t len;
        struct regex *a;
        struct regex *b;
        seed = seed * 1103515245 + 12345;
        if (seed >> 16 & 1)
            pattern[n++] = '^';
        for (unsigned k = seed >> 17 & 3; k-- > 0;)
            pattern[n++] = "ab"[seed >> (20 + k) & 1];
        if (seed >> 25 & 1)
            pattern[n++] = '$';
        pattern[n] = '\0';
        snprintf(wrapped, sizeof(wrapped), "(?:%s)", pattern);
        seed = seed * 1103515245 + 12345;
        len = seed >> 16 & 7;
        for (size_t k = 0; k < len; k++)
            text[k] = "ab"[seed >> (19 + k) & 1];
        a = must_compile(pattern, round & 1 ? REGEX_UTF8 : REGEX_BYTES);
        b = must_compile(wrapped, round & 1 ? REGEX_UTF8 : REGEX_BYTES);
        for (size_t start = 0; start <= len + 1; start++) {
            struct slice t = slice_make(text, len);
            struct slice g[2];
            struct slice h[2];
            bool found = regex_search(a, t, start, g, 2);
            ck_assert_int_eq(found, regex_search(b, t, start, h, 2));
            ck_assert_int_eq(found, regex_search(a, t, start, NULL, 0));
            if (found)
                ck_assert(g[0].data == h[0].data && g[0].len == h[0].len &&
                          !g[1].data);
            ck_assert_int_eq(regex_full_match(a, t), regex_full_match(b, t));
        }
        regex_free(a);
        regex_free(b);
    }
}

END_TEST

TEST_MAIN("regex",
          test_matching,
          test_encodings,
          test_hostile_pattern,
          test_refused,
          test_within,
          test_too_dear,
          test_literals)
