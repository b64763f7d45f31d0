/* HTML of archived pages: every kind of link, and every byte beside links. */
#include <string.h>

#include "base/core/panic.h"
#include "mapreduce/warc/html_token.h"
#include "tests/lib/check_main.h"
#include "web/replay/html_rewriter.h"

static const char page[] = "http://example.com/dir/page.html";

/* @html of `page`, rewritten; owned. */
static char *rewritten(const char *html, const char *insert)
{
    struct link_rewriter links;
    struct byte_sink out = {.pending = BUF_INIT};
    struct html_rewrite_options opts = {.links = &links,
                                        .head_insert = slice_str(insert)};
    link_rewriter_init(&links, "/web/", SLICE_LIT("20140126200624"),
                       slice_str(page));
    html_rewrite(&opts, slice_str(html), &out);
    link_rewriter_close(&links);
    return buf_take(&out.pending);
}

static void check(const char *html, const char *want)
{
    char *got = rewritten(html, "");
    ck_assert_str_eq(got ? got : "", want);
    mem_free(got);
}

#define W "/web/20140126200624"

START_TEST(test_links)
{
    check("<a href=\"http://other.com/x\">",
          "<a href=\"" W "mp_/http://other.com/x\">");
    check("<a HREF='/x?a=1&amp;b=2#f'>",
          "<a HREF='" W "mp_/http://example.com/x?a=1&amp;b=2#f'>");
    check("<a href=x.html>y</a>",
          "<a href=\"" W "mp_/http://example.com/dir/x.html\">y</a>");
    check("<a href=\"../up\">", "<a href=\"" W "mp_/http://example.com/up\">");
    check("<a href=\"//cdn.net/a\">", "<a href=\"" W "mp_/http://cdn.net/a\">");
    check("<a href=\"?q=1\">",
          "<a href=\"" W "mp_/http://example.com/dir/page.html?q=1\">");
    check("<a href = \"  http://b.c/ \">",
          "<a href = \"" W "mp_/http://b.c/\">");
    check("<a href=\"ht\ntp://b.c/\">", "<a href=\"" W "mp_/http://b.c/\">");
    check("<a href=\"https://b.c/\">", "<a href=\"" W "mp_/https://b.c/\">");
}

END_TEST

START_TEST(test_not_links)
{
    static const char *const same[] = {
        "<a href=\"#top\">",
        "<a href=\"javascript:f('/x')\">",
        "<a href=\"mailto:a@b.c\">",
        "<img src=\"data:image/png;base64,AA\">",
        "<a href=\"about:blank\">",
        "<a href=\"\">",
        "<a name=\"/x\">",
        "<a href>",
        "<p title=\"http://x.y/\">",
        "<a onclick=\"go('http://x.y/')\">",
        "<a href=\"{{url}}\">",
        "<!-- <a href=\"/x\"> -->",
        "<script>\"<a href='/x'>\"</script>",
        "<textarea><a href=\"/x\"></textarea>",
        "a < b <3 <a href=\"/never closed",
        "<title><a href=/x></title>",
        "<![if IE]><!doctype html><?php ?>",
        "<a href=\"tel:1\">x</a\n>",
    };
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
        check(same[i], same[i]);
}

END_TEST

START_TEST(test_uses)
{
    check("<img src=a.png>",
          "<img src=\"" W "im_/http://example.com/dir/a.png\">");
    check("<script src=/a.js></script>",
          "<script src=\"" W "js_/http://example.com/a.js\"></script>");
    check("<iframe src='/f'></iframe>",
          "<iframe src='" W "if_/http://example.com/f'></iframe>");
    check("<frame src='/f'>", "<frame src='" W "fr_/http://example.com/f'>");
    check("<link rel=stylesheet href='/s.css'>",
          "<link rel=stylesheet href='" W "cs_/http://example.com/s.css'>");
    check("<link rel='preload' as=script href='/s'>",
          "<link rel='preload' as=script href='" W
          "js_/http://example.com/s'>");
    check("<link rel='shortcut icon' href='/s'>",
          "<link rel='shortcut icon' href='" W "im_/http://example.com/s'>");
    check("<video poster=/p src=/v>",
          "<video poster=\"" W "im_/http://example.com/p\" src=\"" W
          "oe_/http://example.com/v\">");
    check("<object data=/o>",
          "<object data=\"" W "oe_/http://example.com/o\">");
    check("<form action=/s><button formaction=/t>",
          "<form action=\"" W "mp_/http://example.com/s\"><button "
          "formaction=\"" W "mp_/http://example.com/t\">");
    check("<body background=/b>",
          "<body background=\"" W "im_/http://example.com/b\">");
    check("<svg><image xlink:href=/i /><use href=\"#a\"/></svg>",
          "<svg><image xlink:href=\"" W
          "im_/http://example.com/i\" /><use href=\"#a\"/></svg>");
    check("<div data-src=\"http://a.b/c\" data-x=\"y\">",
          "<div data-src=\"" W "mp_/http://a.b/c\" data-x=\"y\">");
}

END_TEST

START_TEST(test_srcset)
{
    check("<img srcset=\"/a.png 1x, /b.png 2x\">",
          "<img srcset=\"" W "im_/http://example.com/a.png 1x, " W
          "im_/http://example.com/b.png 2x\">");
    check("<img srcset='a.png,b.png 100w'>",
          "<img srcset='" W "im_/http://example.com/dir/a.png,b.png 100w'>");
    check("<source srcset=' /a , /b 2x,'>",
          "<source srcset=' " W "im_/http://example.com/a , " W
          "im_/http://example.com/b 2x,'>");
    check("<img srcset='data:x,y 1x, /b 2x'>",
          "<img srcset='data:x,y 1x, " W "im_/http://example.com/b 2x'>");
}

END_TEST

START_TEST(test_meta)
{
    check("<meta http-equiv=\"refresh\" content=\"5; URL=/x\">",
          "<meta http-equiv=\"refresh\" content=\"5; URL=" W
          "mp_/http://example.com/x\">");
    check("<meta content=\"0;url='http://a.b/'\" http-equiv=refresh>",
          "<meta content=\"0;url='" W "mp_/http://a.b/'\" http-equiv=refresh>");
    check("<meta http-equiv=Content-Security-Policy content=\"x\">",
          "<meta _http-equiv=Content-Security-Policy content=\"x\">");
    check("<meta name=referrer content=no-referrer>",
          "<meta name=referrer _content=no-referrer>");
    check("<meta name=description content=\"http://a.b/\">",
          "<meta name=description content=\"http://a.b/\">");
}

END_TEST

START_TEST(test_base)
{
    check("<base href=\"http://cdn.net/b/\"><img src=i.png>"
          "<base href=\"http://never/\"><img src=j.png>",
          "<base href=\"" W "mp_/http://cdn.net/b/\"><img src=\"" W
          "im_/http://cdn.net/b/i.png\"><base href=\"" W
          "mp_/http://never/\"><img src=\"" W "im_/http://cdn.net/b/j.png\">");
    check("<base href='/x/'><img src=i>",
          "<base href='" W "mp_/http://example.com/x/'><img src=\"" W
          "im_/http://example.com/x/i\">");
    check("<base target=_top>", "<base target=\"_self\">");
}

END_TEST

START_TEST(test_style)
{
    check("<p style=\"background:url(/i.png)\">",
          "<p style=\"background:url(" W "oe_/http://example.com/i.png)\">");
    check("<p style=\"background:url(&quot;/i.png&quot;)\">",
          "<p style=\"background:url(&quot;" W
          "oe_/http://example.com/i.png&quot;)\">");
    check("<style>@import '/a.css'; b{c:url(d)}</style>",
          "<style>@import '" W "cs_/http://example.com/a.css'; b{c:url(" W
          "oe_/http://example.com/dir/d)}</style>");
}

END_TEST

START_TEST(test_put_aside)
{
    check("<script src=/a integrity=\"sha256-x\" crossorigin nonce=1>",
          "<script src=\"" W
          "js_/http://example.com/a\" _integrity=\"sha256-x\" _crossorigin "
          "_nonce=1>");
}

END_TEST

/* Links that are written so that a reader would not see them. */
START_TEST(test_references)
{
    check("<a href=\"&#104;ttp:&#x2F;&#x2f;a.b/\">",
          "<a href=\"" W "mp_/http://a.b/\">");
    check("<a href=\"https&colon;&sol;&sol;a.b/\">",
          "<a href=\"" W "mp_/https://a.b/\">");
    check("<a href=\"/x&#34;y&amp;&eacute;&#233;\">",
          "<a href=\"" W "mp_/http://example.com/x&#34;y&amp;&eacute;&#233;\""
          ">");
    check("<a href=/x\"y>",
          "<a href=\"" W "mp_/http://example.com/x&quot;y\">");
}

END_TEST

START_TEST(test_head)
{
    static const struct {
        const char *html;
        const char *want;
    } cases[] = {
        {"<!doctype html><html><head a=b><title>", "<!doctype html><html><head "
                                                   "a=b>INSERT<title>"},
        {"<html>\n<body>x", "<html>\nINSERT<body>x"},
        {"\xef\xbb\xbf<p>x", "\xef\xbb\xbfINSERT<p>x"},
        {"x", "INSERTx"},
        {"<!-- a --> <script>b</script>",
         "<!-- a --> INSERT<script>b</script>"},
        {"<head></head><head></head>", "<head>INSERT</head><head></head>"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *got = rewritten(cases[i].html, "INSERT");
        ck_assert_str_eq(got, cases[i].want);
        mem_free(got);
    }
}

END_TEST

/* A script ends at its end tag, but not inside of <!-- <script> -->. */
START_TEST(test_raw)
{
    check("<script>a</scripty></script ><a href=/x>",
          "<script>a</scripty></script ><a href=\"" W
          "mp_/http://example.com/x\">");
    check("<script><!-- <script> </script> <a href=/y> --></script><a "
          "href=/x>",
          "<script><!-- <script> </script> <a href=/y> --></script><a "
          "href=\"" W "mp_/http://example.com/x\">");
    check("<style>a</STYLE><b cite=/x>",
          "<style>a</STYLE><b cite=\"" W "mp_/http://example.com/x\">");
}

END_TEST

/* The tokens' bytes are the input, whatever it is. */
START_TEST(test_tokens_are_the_input)
{
    static const char bytes[] = "<>/='\"!-- aScript\n\0style";
    unsigned long long seed = test_seed();
    for (int round = 0; round < 20000; round++) {
        char text[64];
        struct html_tokens tokens = {.html = {text, 0}, .raw = SLICE_EMPTY};
        struct html_token token;
        size_t n = (size_t)(seed % sizeof(text));
        size_t at = 0;
        for (size_t i = 0; i < n; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            text[i] = bytes[(seed >> 33) % (sizeof(bytes) - 1)];
        }
        seed += 7;
        tokens.html.len = n;
        while (html_token_next(&tokens, &token)) {
            ck_assert_ptr_eq(token.bytes.data, text + at);
            ck_assert_uint_gt(token.bytes.len, 0);
            at += token.bytes.len;
        }
        ck_assert_uint_eq(at, n);
    }
}

END_TEST

static int count_piece(void *ctx, struct slice piece, struct err *err)
{
    size_t *most = ctx;
    (void)err;
    if (piece.len > *most)
        *most = piece.len;
    return 0;
}

/* A large page is written in pieces. */
START_TEST(test_pieces)
{
    struct link_rewriter links;
    size_t most = 0;
    struct byte_sink out = {
        .pending = BUF_INIT, .write = count_piece, .ctx = &most};
    struct html_rewrite_options opts = {.links = &links,
                                        .head_insert = SLICE_EMPTY};
    struct buf html = BUF_INIT;
    for (int i = 0; i < 100000; i++)
        buf_append_str(&html, "<a href=/x>some text</a>\n");
    buf_append_fill(&html, 'x', 1 << 20);
    link_rewriter_init(&links, "/web/", SLICE_LIT("20140126200624"),
                       slice_str(page));
    html_rewrite(&opts, buf_slice(&html), &out);
    ck_assert_int_eq(byte_sink_finish(&out), 0);
    ck_assert_uint_gt(most, 0);
    ck_assert_uint_lt(most, 2 * BYTE_SINK_PIECE_BYTES);
    ck_assert_uint_lt(out.pending.cap, 8 * BYTE_SINK_PIECE_BYTES);
    link_rewriter_close(&links);
    buf_close(&out.pending);
    buf_close(&html);
}

END_TEST

TEST_MAIN("html_rewriter",
          test_links,
          test_not_links,
          test_uses,
          test_srcset,
          test_meta,
          test_base,
          test_style,
          test_put_aside,
          test_references,
          test_head,
          test_raw,
          test_tokens_are_the_input,
          test_pieces)
