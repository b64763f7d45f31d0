/* Requests by other methods as URLs: the answers are those that pywb's
 * MethodQueryCanonicalizer gives. */
#include <string.h>

#include "mapreduce/warc/json_query.h"
#include "mapreduce/warc/method_query.h"
#include "mapreduce/warc/surt.h"
#include "tests/lib/check_main.h"

struct request {
    const char *type;
    const char *body;
    const char *query;
};

static const char form[] = "application/x-www-form-urlencoded";
static const char json[] = "application/json";

/* Append the query of a POST. */
static void put_query(const char *type, struct slice body, struct buf *out)
{
    method_query_put(SLICE_LIT("POST"), slice_str(type), body, out);
}

START_TEST(test_bodies)
{
    static const struct request cases[] = {
        {form, "a=b+c&d=%C3%A9%20%26", "a=b c&d=\xc3\xa9 &"},
        {form, "a=%FF%zz%4", "a=\xef\xbf\xbd%zz%4"},
        {"application/x-www-form-urlencoded; charset=utf-8", "a=1", "a=1"},
        {form, "a=\xff", "__wb_post_data=YT3/"},
        {json, "{\"a\": {\"b\": 1, \"c\": [2, true, null]}, \"d\": \"x y/\"}",
         "b=1&c=2&c.2_=true&c.3_=null&d=x+y%2F"},
        {json, "[{\"a\": 1.50}, {\"a\": 1e3, \"b\": {}}, 5]",
         "a=1.5&a.2_=1000"},
        {json, "{\"\\u00e9\": \"\\ud83d\\ude00\\n\", \"\": 1}",
         "%C3%A9=%F0%9F%98%80%0A"},
        {json,
         "{\"a\": -0, \"b\": 0.1, \"c\": 1e-7, \"d\": 12345678901234567890}",
         "a=0&b=0.1&c=1e-07&d=12345678901234567890"},
        {json, "{\"a\": 1", ""},
        {json, "{\"a\": 01}", ""},
        {json, "{\"a\": \"\\ud800\"}", ""},
        {json, "5", ""},
        {"text/plain;charset=UTF-8", "{\"a\": [[1]]}", "a=1"},
        {"text/plain", "hello", "__wb_post_data=aGVsbG8="},
        {"", "hello", "__wb_post_data=aGVsbG8="},
        {"multipart/form-data; boundary=X",
         "--X\r\nContent-Disposition: form-data; name=\"a b\"\r\n\r\n1 2\r\n"
         "--X\r\nContent-Disposition: form-data; name=\"f\"; "
         "filename=\"n\"\r\nContent-Type: a/b\r\n\r\n\r\nx\r\n--X--\r\n",
         "a+b=1+2&f=%0D%0Ax"},
        {"multipart/form-data", "x", "__wb_post_data=eA=="},
        {form, "", ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buf out = BUF_INIT;
        put_query(cases[i].type, slice_str(cases[i].body), &out);
        ck_assert_str_eq(buf_cstr(&out), cases[i].query);
        buf_close(&out);
    }
}

END_TEST

START_TEST(test_urls)
{
    struct buf out = BUF_INIT;
    struct buf key = BUF_INIT;
    method_query_url(SLICE_LIT("http://a.b/c"), SLICE_LIT("POST"),
                     SLICE_LIT("d=[e]"), &out);
    ck_assert_str_eq(buf_cstr(&out), "http://a.b/c?__wb_method=POST&d=[e]");
    surt_key(buf_slice(&out), &key);
    ck_assert_str_eq(buf_cstr(&key), "b,a)/c?__wb_method=post&d=[e]");
    ck_assert(slice_eq_str(method_query_of(buf_slice(&key)), "post"));
    buf_clear(&out);
    method_query_url(SLICE_LIT("http://a.b/c?d"), SLICE_LIT("DELETE"),
                     SLICE_EMPTY, &out);
    ck_assert_str_eq(buf_cstr(&out), "http://a.b/c?d&__wb_method=DELETE");
    ck_assert(slice_eq_str(method_query_of(buf_slice(&out)), "DELETE"));
    ck_assert_uint_eq(
        method_query_of(SLICE_LIT("http://a/?x__wb_method=P")).len, 0);
    ck_assert(!method_is_other(SLICE_LIT("GET")));
    ck_assert(method_is_other(SLICE_LIT("HEAD")));
    buf_close(&out);
    buf_close(&key);
}

END_TEST

/* Queries end after METHOD_QUERY_MAX characters; nesting without end is none.
 */
START_TEST(test_bounds)
{
    struct buf body = BUF_INIT;
    struct buf out = BUF_INIT;
    for (int i = 0; i < 5000; i++)
        buf_append_str(&body, "\xc3\xa9");
    put_query(form, buf_slice(&body), &out);
    ck_assert_uint_eq(out.len, 2 * METHOD_QUERY_MAX);
    buf_clear(&out);
    put_query("image/png", buf_slice(&body), &out);
    ck_assert_uint_eq(out.len, METHOD_QUERY_MAX);
    buf_clear(&out);
    buf_clear(&body);
    for (int i = 0; i < 100000; i++)
        buf_append_byte(&body, '[');
    ck_assert(!json_query_put(buf_slice(&body), 10, &out));
    buf_clear(&body);
    buf_append_str(&body, "{\"a\": [1");
    for (int i = 0; i < 100000; i++)
        buf_append_str(&body, ",1");
    buf_append_str(&body, "]}");
    put_query(json, buf_slice(&body), &out);
    ck_assert_uint_eq(out.len, METHOD_QUERY_MAX);
    buf_close(&body);
    buf_close(&out);
}

END_TEST

TEST_MAIN("method_query", test_bodies, test_urls, test_bounds)
