/* Headers of archived answers. */
#include <string.h>

#include "base/http/http.h"
#include "tests/lib/check_main.h"
#include "web/replay/header_rewriter.h"

/* The value of @name in @reply, or NULL. */
static const char *value_of(const struct http_reply *reply, const char *name)
{
    const char *p = reply->headers.data;
    const char *end = p + reply->headers.len;
    while (p && p < end) {
        const char *value = p + strlen(p) + 1;
        if (strcmp(p, name) == 0)
            return value;
        p = value + strlen(value) + 1;
    }
    return NULL;
}

static void rewrite(const char *head, struct http_reply *reply)
{
    struct link_rewriter links;
    *reply = (struct http_reply){.status = 200};
    link_rewriter_init(&links, "/web/", SLICE_LIT("2014"),
                       SLICE_LIT("http://a.b/c/d"));
    headers_rewrite(&links, slice_str(head), REPLAY_MOD_MP, reply);
    link_rewriter_close(&links);
}

START_TEST(test_rules)
{
    struct http_reply r;
    rewrite("HTTP/1.1 302 Found\r\nLocation: ../x y\xe9\r\n"
            "Set-Cookie: a=b; Path=/\r\nContent-Security-Policy: x\r\n"
            "Strict-Transport-Security: y\r\nContent-Encoding: gzip\r\n"
            "Content-Language: de\r\nContent-Type: text/html\r\n"
            "Refresh: 3; url=/z\r\n"
            "Link: <s.css>; rel=preload, </t>; rel=next\r\nBad Name: 1\r\n"
            "Cache-Control: public\r\nX-Frame-Options: DENY",
            &r);
    ck_assert_str_eq(value_of(&r, "Location"),
                     "/web/2014mp_/http://a.b/x%20y%E9");
    ck_assert_str_eq(value_of(&r, "X-Archive-Orig-Set-Cookie"), "a=b; Path=/");
    ck_assert_str_eq(value_of(&r, "Refresh"),
                     "3; url=/web/2014mp_/http://a.b/z");
    ck_assert_str_eq(value_of(&r, "X-Archive-Orig-Link"),
                     "</web/2014oe_/http://a.b/c/s.css>; rel=preload, "
                     "</web/2014oe_/http://a.b/t>; rel=next");
    ck_assert_str_eq(value_of(&r, "Content-Language"), "de");
    ck_assert_ptr_null(value_of(&r, "Set-Cookie"));
    ck_assert_ptr_null(value_of(&r, "Content-Security-Policy"));
    ck_assert_ptr_null(value_of(&r, "Strict-Transport-Security"));
    ck_assert_ptr_null(value_of(&r, "Content-Encoding"));
    ck_assert_ptr_null(value_of(&r, "Content-Type"));
    ck_assert_ptr_null(value_of(&r, "Cache-Control"));
    ck_assert_ptr_null(value_of(&r, "X-Frame-Options"));
    buf_close(&r.headers);
}

END_TEST

/* Any number of headers fits in a connection. */
START_TEST(test_bounded)
{
    struct buf head = BUF_INIT;
    struct http_reply r;
    buf_append_str(&head, "HTTP/1.1 200 OK\r\n");
    for (int i = 0; i < 200; i++) {
        buf_printf(&head, "X-%d: ", i);
        buf_append_fill(&head, 'a', 300);
        buf_append_str(&head, "\r\n");
    }
    rewrite(buf_cstr(&head), &r);
    ck_assert_uint_gt(r.headers.len, HEADER_BYTES_MAX / 2);
    ck_assert_uint_le(r.headers.len, HEADER_BYTES_MAX + 400);
    buf_close(&r.headers);
    buf_close(&head);
}

END_TEST

TEST_MAIN("header_rewriter", test_rules, test_bounded)
