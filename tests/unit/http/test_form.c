/* Forms, paths and cookies are decoded whole or refused. */
#include <string.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
#include "base/http/http_form.h"
#include "tests/lib/check_main.h"

static int parse(const char *text, struct http_form *out)
{
    return http_form_parse(slice_str(text), out, NULL);
}

/* Names and values are decoded; the first of a name counts. */
START_TEST(test_fields)
{
    struct http_form f;
    ck_assert_int_eq(parse("a=1&b=x+y%20z&a=2&empty=&bare&&%C3%A9=%26", &f), 0);
    ck_assert_str_eq(http_form_get(&f, "a"), "1");
    ck_assert_str_eq(http_form_get(&f, "b"), "x y z");
    ck_assert_str_eq(http_form_get(&f, "empty"), "");
    ck_assert_str_eq(http_form_get(&f, "bare"), "");
    ck_assert_str_eq(http_form_get(&f, "\xc3\xa9"), "&");
    ck_assert_ptr_null(http_form_get(&f, "c"));
    ck_assert_uint_eq(f.count, 6);
    http_form_close(&f);
}

END_TEST

/* Broken escapes, NUL, and bytes that are not UTF-8 are refused. */
START_TEST(test_malformed)
{
    static const char *const bad[] = {
        "a=%",   "a=%4",   "a=%zz", "%00=1",   "a=%00",      "a=%ff",
        "a=%c3", "a=\xff", "%",     "a=1&b=%", "a=%ed%a0%80"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct http_form f;
        ck_assert_msg(parse(bad[i], &f) == ERR_INVALID, "%s", bad[i]);
        http_form_close(&f);
    }
}

END_TEST

/* As many fields as fit are taken, and one more is refused. */
START_TEST(test_most_fields)
{
    struct buf b = BUF_INIT;
    struct http_form f;
    for (size_t i = 0; i < HTTP_FIELDS_MAX; i++)
        buf_printf(&b, "%sa%zu", i ? "&" : "", i);
    ck_assert_int_eq(parse(buf_cstr(&b), &f), 0);
    ck_assert_uint_eq(f.count, HTTP_FIELDS_MAX);
    http_form_close(&f);
    buf_append_str(&b, "&x");
    ck_assert_int_eq(parse(buf_cstr(&b), &f), ERR_TOOBIG);
    http_form_close(&f);
    buf_close(&b);
}

END_TEST

static void expect_path(const char *path, const char *joined)
{
    struct http_segments s;
    struct buf b = BUF_INIT;
    ck_assert_int_eq(http_segments_parse(slice_str(path), &s, NULL), 0);
    for (size_t i = 0; i < s.count; i++)
        buf_printf(&b, "[%s]", s.at[i]);
    ck_assert_str_eq(buf_cstr(&b), joined);
    buf_close(&b);
    http_segments_close(&s);
}

/* A path is cut at its slashes before its parts are decoded. */
START_TEST(test_paths)
{
    struct http_segments s;
    expect_path("/", "");
    expect_path("/tables/a%2Fb", "[tables][a/b]");
    expect_path("/a+b/", "[a+b][]");
    expect_path("//x", "[][x]");
    ck_assert_int_eq(http_segments_parse(SLICE_LIT("x"), &s, NULL),
                     ERR_INVALID);
    http_segments_close(&s);
    ck_assert_int_eq(http_segments_parse(SLICE_LIT("/a%2"), &s, NULL),
                     ERR_INVALID);
    http_segments_close(&s);
    ck_assert_int_eq(
        http_segments_parse(SLICE_LIT("/1/2/3/4/5/6/7/8/9/a/b/c/d/e/f/g/h"), &s,
                            NULL),
        ERR_TOOBIG);
    http_segments_close(&s);
}

END_TEST

/* A cookie is found by its whole name. */
START_TEST(test_cookies)
{
    static const char cookies[] = "xa=0; a=1;b=2 ; a=3; c";
    ck_assert(slice_eq_str(http_cookie(cookies, "a"), "1"));
    ck_assert(slice_eq_str(http_cookie(cookies, "b"), "2"));
    ck_assert_uint_eq(http_cookie(cookies, "c").len, 0);
    ck_assert_uint_eq(http_cookie(cookies, "d").len, 0);
    ck_assert_uint_eq(http_cookie(NULL, "a").len, 0);
}

END_TEST

/* Any bytes are decoded or refused, within the memory for them (ASan). */
START_TEST(test_any_bytes)
{
    static const char letters[] = "%&=+/;aF0\xc3\xa9";
    struct rand_gen r;
    rand_init(&r, 7);
    for (int i = 0; i < 20000; i++) {
        char text[64];
        size_t len = rand_below(&r, sizeof(text));
        struct http_form f;
        struct http_segments s;
        for (size_t k = 0; k < len; k++)
            text[k] = letters[rand_below(&r, sizeof(letters) - 1)];
        (void)!http_form_parse(slice_make(text, len), &f, NULL);
        http_form_close(&f);
        (void)!http_segments_parse(slice_make(text, len), &s, NULL);
        http_segments_close(&s);
    }
}

END_TEST

TEST_MAIN("form",
          test_fields,
          test_malformed,
          test_most_fields,
          test_paths,
          test_cookies,
          test_any_bytes)
