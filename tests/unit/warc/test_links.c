/* Links, texts and what a page says of itself are found by HTML's rules, in
 * time proportional to the page. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "mapreduce/warc/links.h"
#include "tests/lib/check_main.h"

/* --- Fixture ------------------------------------------------------------- */

static struct html_page page;

static void note_link(void *ctx, const struct html_link *l)
{
    struct buf *b = ctx;
    buf_printf(b, "%.*s=%.*s%s%s|", SLICE_ARG(l->href), SLICE_ARG(l->text),
               l->nofollow ? "!" : "", l->is_area ? "@" : "");
}

static void scan(struct slice html, struct buf *out)
{
    static struct html_scanner *s;
    if (!s)
        s = html_scanner_new();
    out->len = 0;
    html_scan(s, html, note_link, out, &page);
}

static void expect(const char *html, const char *links)
{
    struct buf b = BUF_INIT;
    scan(slice_str(html), &b);
    ck_assert_msg(strcmp(buf_cstr(&b), links) == 0, "%s: %s", html, b.data);
    buf_close(&b);
}

/* --- Tests --------------------------------------------------------------- */

/* Anchors with all ways to write an attribute and all ways to end. */
START_TEST(test_links)
{
    expect("<a href=x>t</a>", "x=t|");
    expect("<A HREF='x y'>t</A>", "x y=t|");
    expect("<a class=c href = \"x\" id=i>t</a>", "x=t|");
    expect("<a href=x>one<a href=y>two</a>", "x=one|y=two|");
    expect("<a href=x>to the end", "x=to the end|");
    expect("<a name=x>no</a><a href>empty</a>", "=empty|");
    expect("<a href=x><b>bold</b> and\n <i>it</i></a>", "x=bold and it|");
    expect("<a href=x><img src=i alt='A B'></a>", "x=A B|");
    expect("<a href=x><img src=i alt=no>text</a>", "x=text|");
    expect("<a href=x/>t</a>", "x/=t|");
    expect("<a href=x href=y>t</a>", "x=t|");
    expect("<a href=' \n x \t'>t</a>", "x=t|");
    expect("<a href=x rel='me nofollow'>t</a>", "x=t!|");
    expect("<area href=x alt=t>", "x=t@|");
    expect("<abbr href=x>t</abbr>", "");
    expect("<a\nhref=x>t</a\n>", "x=t|");
    expect("<a title='>' href=x>t</a>", "x=t|");
    expect("<p don't><a href=x>it's</a>", "x=it's|");
    expect("a < b <a href=x>1 < 2</a>", "x=1 < 2|");
}

END_TEST

/* Nothing is found in comments, scripts, styles and text fields, and what never
 * ends swallows the rest. */
START_TEST(test_hidden)
{
    expect("<!-- <a href=x>t</a> --><a href=y>u</a>", "y=u|");
    expect("<!--><a href=y>u</a>", "y=u|");
    expect("<!-- a --!><a href=y>u</a>", "y=u|");
    expect("<!-- <a href=x>t</a>", "");
    expect("<!doctype html><a href=y>u</a>", "y=u|");
    expect("<?php > <a href=y>u</a>", "y=u|");
    expect("</ x><a href=y>u</a>", "y=u|");
    expect("<script>'<a href=x>'</script><a href=y>u</a>", "y=u|");
    expect("<script>'</scripts><a href=x>'</SCRIPT ><a href=y>u</a>", "y=u|");
    expect("<style><a href=x></style><a href=y>u</a>", "y=u|");
    expect("<textarea><a href=x></textarea><a href=y>u</a>", "y=u|");
    expect("<title><a href=x></title><a href=y>u</a>", "y=u|");
    expect("<script><a href=x>", "");
    expect("<a href='x>t</a>", "");
    expect("<a href=x", "x=|");
    expect("<", "");
    expect("", "");
}

END_TEST

/* References are decoded, old charsets become UTF-8, long texts are cut. */
START_TEST(test_text)
{
    struct buf b = BUF_INIT;
    struct buf html = BUF_INIT;
    expect("<a href='?a=1&amp;b=2&copy=3'>x &lt;&#65;&#x42;&eacute;&nbsp;y</a>",
           "?a=1&b=2&copy=3=x <AB\xc3\xa9 y|");
    expect("<a href=x>caf\xe9 \x93q\x94</a>",
           "x=caf\xc3\xa9 \xe2\x80\x9cq\xe2\x80\x9d|");
    expect("<a href=x>caf\xc3\xa9</a>", "x=caf\xc3\xa9|");
    expect("<a href=x>&unknown; &#0; &#xd800; &#99999999; & &;</a>",
           "x=&unknown; \xef\xbf\xbd \xef\xbf\xbd \xef\xbf\xbd & &;|");
    expect("<a href=x> \n a \t  b </a>", "x=a b|");
    buf_append_str(&html, "<a href=x>");
    buf_append_fill(&html, 'y', 5000);
    scan(buf_slice(&html), &b);
    ck_assert_uint_le(b.len, LINKS_TEXT_BYTES_MAX + 4);
    ck_assert_uint_ge(b.len, LINKS_TEXT_BYTES_MAX - 8);
    buf_close(&b);
    buf_close(&html);
}

END_TEST

/* Title, language, charset, base, robots and counts. */
START_TEST(test_page)
{
    expect("<html lang=\"de-AT\"><head><title> A\n&amp; B </title>"
           "<base href='http://b/'><meta charset=\"Latin1\">"
           "<meta name=robots content='noindex, nofollow'>"
           "<link rel=canonical href='/c'><link rel=stylesheet href=s>"
           "<link rel='alternate stylesheet' href=s>"
           "<script src=a></script><script>b</script>"
           "<img src=1><img src=2><iframe src=f><a href=no></iframe>"
           "<frame src=g><title>second</title><base href=no>",
           "");
    ck_assert(slice_eq_str(page.title, "A & B"));
    ck_assert(slice_eq_str(page.lang, "de-AT"));
    ck_assert(slice_eq_str(page.base, "http://b/"));
    ck_assert(slice_eq_str(page.charset, "Latin1"));
    ck_assert(slice_eq_str(page.robots, "noindex, nofollow"));
    ck_assert(slice_eq_str(page.canonical, "/c"));
    ck_assert_uint_eq(page.style_count, 2);
    ck_assert_uint_eq(page.script_count, 1);
    ck_assert_uint_eq(page.image_count, 2);
    ck_assert_uint_eq(page.frame_count, 2);
    expect("<meta http-equiv=Content-Type content='text/html; charset=koi8-r'>"
           "<meta http-equiv=content-language content=ru>",
           "");
    ck_assert(slice_eq_str(page.charset, "koi8-r"));
    ck_assert(slice_eq_str(page.lang, "ru"));
    expect("\xef\xbb\xbf<meta charset=latin1>", "");
    ck_assert(slice_eq_str(page.charset, "utf-8"));
}

END_TEST

/* A page is HTML by its type, or by its first bytes when the type is missing.
 */
START_TEST(test_is_html)
{
    ck_assert(html_is(slice_str("text/html"), SLICE_EMPTY));
    ck_assert(html_is(slice_str("application/xhtml+xml"), SLICE_EMPTY));
    ck_assert(html_is(SLICE_EMPTY, slice_str(" <!DOCTYPE html>")));
    ck_assert(
        html_is(slice_str("application/octet-stream"), slice_str("<HTML>")));
    ck_assert(!html_is(slice_str("image/png"), slice_str("<html>")));
    ck_assert(!html_is(slice_str("text/plain"), slice_str("<html>")));
    ck_assert(!html_is(SLICE_EMPTY, slice_str("plain")));
}

END_TEST

/* Pages made to cost time: each of these is read once, not once a tag. */
START_TEST(test_hostile_pages_are_linear)
{
    static const char *const pieces[] = {
        "<",       "<a href=",   "<!--",       "<a href='",  "<script>",
        "<a ",     "</",         "<a href=x>", "&",          "&#",
        "<title>", "<a href=x/", "\"'",        "<img alt='", "<meta content=",
    };
    struct buf b = BUF_INIT;
    struct buf html = BUF_INIT;
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        html.len = 0;
        while (html.len < 2 << 20)
            buf_append_str(&html, pieces[i]);
        scan(buf_slice(&html), &b);
    }
    buf_close(&b);
    buf_close(&html);
}

END_TEST

TEST_MAIN("links",
          test_links,
          test_hidden,
          test_text,
          test_page,
          test_is_html,
          test_hostile_pages_are_linear)
