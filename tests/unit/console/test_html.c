/* The writer of HTML writes text, for any bytes; paths find their pages, and
 * documents are shown. */
#include <string.h>

#include "base/core/rand.h"
#include "base/http/http_form.h"
#include "cli/console/assets.h"
#include "cli/console/page_frame.h"
#include "cli/console/page_renderers.h"
#include "cli/console/page_table.h"
#include "tests/lib/check_main.h"

static const struct html_view view = {.cluster = "c<1>",
                                      .node = "n1",
                                      .path = "/",
                                      .query = "a=\"b\"",
                                      .title = "T&T",
                                      .viewer = "",
                                      .form_token = "secret"};
static struct buf out;
static struct html h = {&out, &view};

static const char *written(void)
{
    return buf_cstr(&out);
}

static void expect_text(struct slice text, const char *html)
{
    buf_clear(&out);
    html_text(&h, text);
    ck_assert_str_eq(written(), html);
}

/* The five characters of markup, controls and bytes that are not UTF-8. */
START_TEST(test_escaping)
{
    expect_text(SLICE_LIT("<a href=\"x\">&'"),
                "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
    expect_text(SLICE_LIT("\x01\x7f\xff\0 \n\xc3\xa9"),
                "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd \n\xc3\xa9");
    buf_clear(&out);
    html_attr(&h, "title", "\"><script>");
    ck_assert_str_eq(written(), " title=\"&quot;&gt;&lt;script&gt;\"");
    buf_clear(&out);
    html_attr(&h, "title", NULL);
    ck_assert_str_eq(written(), " title=\"\"");
    buf_close(&out);
}

END_TEST

/* No bytes make a tag or end an attribute. */
START_TEST(test_any_bytes)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int i = 0; i < 5000; i++) {
        char text[40];
        size_t len = rand_below(&r, sizeof(text));
        for (size_t k = 0; k < len; k++)
            text[k] = (char)(rand_one_in(&r, 2) ? "<>\"'&"[rand_below(&r, 5)]
                                                : (char)rand_u64(&r));
        buf_clear(&out);
        html_text(&h, slice_make(text, len));
        ck_assert_uint_eq(strcspn(written(), "<>\"'"), out.len);
    }
    buf_close(&out);
}

END_TEST

/* Parts of a URL are percent-encoded; a name that looks like a twin's is not
 * taken for one. */
START_TEST(test_urls)
{
    html_url(&h, "href", "/tables/{}?from={}", "a/b?c&\"<", "x y\xc3\xa9");
    ck_assert_str_eq(written(),
                     " href=\"/tables/a%2Fb%3Fc%26%22%3C?from=x%20y%C3%A9\"");
    buf_clear(&out);
    html_url_put(&out, "/tables/{}", "t.json");
    ck_assert_str_eq(written(), "/tables/t%2Ejson");
    buf_clear(&out);
    html_url_put(&out, "/tables/{}", "t.x");
    ck_assert_str_eq(written(), "/tables/t.x");
    buf_close(&out);
}

END_TEST

static bool find(const char *path, struct page_match *m, struct buf *title)
{
    static struct http_segments s;
    bool found;
    http_segments_close(&s);
    ck_assert_int_eq(http_segments_parse(slice_str(path), &s, NULL), 0);
    found = page_find(&s, m);
    buf_clear(title);
    if (found)
        page_title(m, title);
    return found;
}

/* Paths find their pages and give parameters; others find none. */
START_TEST(test_pages)
{
    struct page_match m;
    struct buf title = BUF_INIT;
    ck_assert(find("/", &m, &title));
    ck_assert_str_eq(m.page->subject, "overview");
    ck_assert(find("/tables/a%2Fb", &m, &title));
    ck_assert_str_eq(m.page->subject, "table");
    ck_assert_uint_eq(m.count, 1);
    ck_assert_str_eq(m.params[0].name, "name");
    ck_assert_str_eq(m.params[0].value, "a/b");
    ck_assert_str_eq(buf_cstr(&title), "Table a/b");
    ck_assert(!find("/tables/", &m, &title));
    ck_assert(!find("/tables/a/b/c", &m, &title));
    ck_assert(!find("/nothing", &m, &title));
    ck_assert_ptr_nonnull(page_of_subject("nodes"));
    ck_assert_ptr_null(page_of_subject("nothing"));
    buf_close(&title);
}

END_TEST

/* Every page can be made of a document without anything, and of one whose
 * fields are all of the wrong type. */
START_TEST(test_poor_documents)
{
    for (const struct console_page *p = console_pages; p->path; p++) {
        json_t *empty = json_object();
        buf_clear(&out);
        page_frame(&h, p->menu, p->subject, p->render, empty);
        ck_assert_ptr_nonnull(strstr(written(), "</html>"));
        ck_assert_ptr_nonnull(strstr(written(), "T&amp;T"));
        ck_assert_ptr_nonnull(strstr(written(), "c&lt;1&gt;"));
        json_decref(empty);
    }
    buf_close(&out);
}

END_TEST

/* Style and script are built in. */
START_TEST(test_assets)
{
    const struct console_asset *a =
        console_asset_find(SLICE_LIT("console.css"));
    ck_assert_ptr_nonnull(a);
    ck_assert_str_eq(a->type, "text/css; charset=utf-8");
    ck_assert_uint_gt(a->len, 0);
    ck_assert_ptr_null(console_asset_find(SLICE_LIT("../console.css")));
}

END_TEST

TEST_MAIN("html",
          test_escaping,
          test_any_bytes,
          test_urls,
          test_pages,
          test_poor_documents,
          test_assets)
