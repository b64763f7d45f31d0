/* Style sheets of archived pages. */
#include "tests/lib/check_main.h"
#include "web/replay/css_rewriter.h"

#define W "/web/20140126200624"

static void check(const char *css, const char *want)
{
    struct link_rewriter links;
    struct byte_sink out = {.pending = BUF_INIT};
    link_rewriter_init(&links, "/web/", SLICE_LIT("20140126200624"),
                       SLICE_LIT("http://example.com/css/a.css"));
    css_rewrite(&links, slice_str(css), false, &out);
    ck_assert_str_eq(buf_cstr(&out.pending), want);
    link_rewriter_close(&links);
    buf_close(&out.pending);
}

START_TEST(test_urls)
{
    check("a{b:url(x.png)}", "a{b:url(" W "oe_/http://example.com/css/x.png)}");
    check("a{b:URL( \"../x.png\" )}",
          "a{b:URL( \"" W "oe_/http://example.com/x.png\" )}");
    check("url('http://c.d/')url(//e.f/g)",
          "url('" W "oe_/http://c.d/')url(" W "oe_/http://e.f/g)");
    check("url(a\\)b.png)", "url(" W "oe_/http://example.com/css/a\\)b.png)");
}

END_TEST

START_TEST(test_imports)
{
    check("@import \"b.css\" print;",
          "@import \"" W "cs_/http://example.com/css/b.css\" print;");
    check("@IMPORT url(/b.css);",
          "@IMPORT url(" W "cs_/http://example.com/b.css);");
    check("@import url( '/b.css' ) screen;",
          "@import url( '" W "cs_/http://example.com/b.css' ) screen;");
}

END_TEST

START_TEST(test_not_urls)
{
    static const char *const same[] = {
        "/* url(x) @import 'y' */",
        "a{content:\"url(x)\"}",
        "xurl(y)",
        "url(data:image/png;base64,AA)",
        "url(#a)",
        "url()",
        "url(\"\")",
        "/* never ended url(x)",
        "a:'\\'url(x)'",
        "\\",
        "@import",
        "url(",
    };
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
        check(same[i], same[i]);
}

END_TEST

/* A base with brackets and quotes in it ends no url(). */
START_TEST(test_hostile_base)
{
    struct link_rewriter links;
    struct byte_sink out = {.pending = BUF_INIT};
    link_rewriter_init(&links, "/web/", SLICE_LIT("2014"),
                       SLICE_LIT("http://a.b/x)\"'<\\/c"));
    css_rewrite(&links, SLICE_LIT("url(d)"), false, &out);
    ck_assert_str_eq(buf_cstr(&out.pending),
                     "url(/web/2014oe_/http://a.b/x%29%22%27%3C%5C/d)");
    link_rewriter_close(&links);
    buf_close(&out.pending);
}

END_TEST

TEST_MAIN("css_rewriter",
          test_urls,
          test_imports,
          test_not_urls,
          test_hostile_base)
