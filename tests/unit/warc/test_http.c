/* HTTP messages are understood as crawlers store them, and bodies come out as
 * they were before any coding, within the limit given. */
#include <zlib.h>

#include "mapreduce/warc/archived_http.h"
#include "tests/unit/warc/archive_build.h"

static struct http_message message;

static void expect_parse(const char *text, int status, const char *body)
{
    ck_assert_msg(http_parse(slice_str(text), &message), "%s", text);
    ck_assert_msg(message.status == status, "%s: %d", text, message.status);
    ck_assert_msg(slice_eq_str(message.raw_body, body), "%s: %.*s", text,
                  SLICE_ARG(message.raw_body));
}

/* Start lines and line ends of all kinds part head from body. */
START_TEST(test_heads)
{
    struct slice v;
    expect_parse("HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody", 200, "body");
    expect_parse("HTTP/1.1 200 OK\nA: b\n\nbody", 200, "body");
    expect_parse("HTTP/1.0 302\r\r\nA: b\r\r\n\r\r\nbody", 302, "body");
    expect_parse("HTTP/2 204\r\n\r\n", 204, "");
    expect_parse("http/1.1 404 Not Found\r\n\r\nx", 404, "x");
    expect_parse("HTTP/1.1  200   Many  blanks\r\n\r\nx", 200, "x");
    expect_parse("HTTP/1.1 200 OK\r\nno colon\r\n: no name\r\nSp ace: v\r\n"
                 "A : b\r\n folded\r\n\r\nx",
                 200, "x");
    ck_assert(http_header(&message, "sp ace", &v) && slice_eq_str(v, "v"));
    ck_assert(http_header(&message, "a", &v) && slice_eq_str(v, "b"));
    expect_parse(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nA: b\r\n\r\nx", 200,
        "x");
    expect_parse("HTTP/1.1 200 OK\r\nA: b", 200, "");
    ck_assert(http_header(&message, "a", &v) && slice_eq_str(v, "b"));
    ck_assert(http_parse(slice_str("GET /a b HTTP/1.1\r\nHost: x\r\n\r\n"),
                         &message));
    ck_assert(message.is_request && slice_eq_str(message.target, "/a b"));
    ck_assert(!http_parse(slice_str("<html>"), &message));
    ck_assert(slice_eq_str(message.raw_body, "<html>"));
    ck_assert(!http_parse(SLICE_EMPTY, &message));
    expect_parse("HTTP/1.1 200 OK\r\nX-Crawler-Content-Encoding: gzip\r\n\r\nx",
                 200, "x");
    ck_assert(http_header(&message, "content-encoding", &v));
}

END_TEST

static void
expect_body(struct slice text, const char *want, unsigned flags, size_t most)
{
    static struct http_decoder *d;
    struct slice payload;
    struct slice body;
    unsigned got;
    if (!d)
        d = http_decoder_new();
    ck_assert(http_parse(text, &message));
    got = http_decode(d, &message, most, &payload, &body);
    ck_assert_msg(slice_eq_str(body, want), "%.*s: %.*s", SLICE_ARG(text),
                  SLICE_ARG(body));
    ck_assert_msg(got == flags, "%.*s: flags %x", SLICE_ARG(text), got);
}

#define OK_CHUNKED "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

/* Chunks are joined when they are chunks, and left alone when they are not. */
START_TEST(test_chunks)
{
    const size_t most = 1000;
    expect_body(SLICE_LIT(OK_CHUNKED "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: r\r\n"
                                     "\r\n"),
                "abcde", HTTP_DECHUNKED, most);
    expect_body(SLICE_LIT(OK_CHUNKED "3\nabc\n0\n\n"), "abc", HTTP_DECHUNKED,
                most);
    expect_body(SLICE_LIT(OK_CHUNKED "plain text"), "plain text",
                HTTP_CHUNK_LIE, most);
    expect_body(SLICE_LIT(OK_CHUNKED "3\r\nabc\r\n9\r\nde"), "abcde",
                HTTP_DECHUNKED | HTTP_CUT, most);
    expect_body(SLICE_LIT(OK_CHUNKED "3\r\nabc\r\nrest of it"), "abcrest of it",
                HTTP_DECHUNKED | HTTP_CHUNK_LIE, most);
    expect_body(SLICE_LIT(OK_CHUNKED "fffffffffffffffff\r\nabc"),
                "fffffffffffffffff\r\nabc", HTTP_CHUNK_LIE, most);
    /* Nothing says so, but it is. */
    expect_body(SLICE_LIT("HTTP/1.1 200 OK\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
                "abc", HTTP_DECHUNKED, most);
    expect_body(SLICE_LIT("HTTP/1.1 200 OK\r\n\r\n3\r\nabcdef"), "3\r\nabcdef",
                0, most);
    expect_body(SLICE_LIT(OK_CHUNKED "5\r\nabcde\r\n0\r\n\r\n"), "abc",
                HTTP_DECHUNKED, 3);
}

END_TEST

static struct buf coded(const char *coding, struct slice body)
{
    struct buf b = BUF_INIT;
    buf_printf(&b, "HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\n\r\n", coding);
    buf_append_slice(&b, body);
    return b;
}

/* A body that would fill the memory stops at the limit. */
START_TEST(test_bombs)
{
    struct buf zeros = BUF_INIT;
    struct buf packed = BUF_INIT;
    struct buf twice = BUF_INIT;
    struct buf m;
    struct http_decoder *d = http_decoder_new();
    struct slice payload;
    struct slice body;
    buf_append_fill(&zeros, '0', 30 << 20);
    add_gzip(&packed, buf_slice(&zeros));
    add_gzip(&twice, buf_slice(&packed));
    m = coded("gzip, gzip", buf_slice(&twice));
    ck_assert_uint_lt(m.len, 2000);
    ck_assert(http_parse(buf_slice(&m), &message));
    ck_assert(http_decode(d, &message, 1 << 20, &payload, &body) &
              HTTP_TOO_BIG);
    ck_assert_uint_eq(body.len, 1 << 20);
    http_decoder_free(d);
    buf_close(&zeros);
    buf_close(&packed);
    buf_close(&twice);
    buf_close(&m);
}

END_TEST

/* Headers lie: a coding that is not there, one nobody knows, none at all. */
START_TEST(test_codings_that_lie)
{
    struct buf m = coded("gzip", SLICE_LIT("plain"));
    expect_body(buf_slice(&m), "plain", HTTP_CODING_LIE, 1000);
    buf_close(&m);
    m = coded("br", SLICE_LIT("plain text, not brotli at all"));
    expect_body(buf_slice(&m), "plain text, not brotli at all", HTTP_CODING_LIE,
                1000);
    buf_close(&m);
    m = coded("deflate", SLICE_LIT("<html> plain"));
    expect_body(buf_slice(&m), "<html> plain", HTTP_CODING_LIE, 1000);
    buf_close(&m);
    m = coded("identity, none", SLICE_LIT("plain"));
    expect_body(buf_slice(&m), "plain", 0, 1000);
    buf_close(&m);
    m = coded("rot13", SLICE_LIT("cynva"));
    expect_body(buf_slice(&m), "cynva", HTTP_UNKNOWN_CODING, 1000);
    buf_close(&m);
    m = coded("gzip", SLICE_EMPTY);
    expect_body(buf_slice(&m), "", 0, 1000);
    buf_close(&m);
}

END_TEST

/* Media types and charsets come out of every spelling. */
START_TEST(test_media_types)
{
    ck_assert(slice_eq_str(http_media_type(slice_str(" text/html ; charset=x")),
                           "text/html"));
    ck_assert(slice_eq_str(http_charset(slice_str("a/b; Charset=\"utf-8\"")),
                           "utf-8"));
    ck_assert(slice_eq_str(http_charset(slice_str("a/b;charset=x;y=z")), "x"));
    ck_assert_uint_eq(http_charset(slice_str("a/b")).len, 0);
    ck_assert(http_slice_is(slice_str("TeXt"), "text"));
    ck_assert(!http_slice_is(slice_str("TeX"), "text"));
    ck_assert(!http_slice_is(slice_str("TeXts"), "text"));
}

END_TEST

TEST_MAIN("http",
          test_heads,
          test_chunks,
          test_bombs,
          test_codings_that_lie,
          test_media_types)
