/* On well-formed pages drawn at random, the scanner finds the links that
 * libxml2's HTML parser finds, with the same text. */
#include <libxml/HTMLparser.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
#include "mapreduce/warc/links.h"
#include "tests/lib/check_main.h"

/* --- Pages --------------------------------------------------------------- */

static void words(struct buf *b, struct rand_gen *r)
{
    static const char *const list[] = {
        "the",       "quick",
        "&amp;",     "brown&nbsp;fox",
        "&lt;b&gt;", "&eacute;t&eacute;",
        "\xc3\xa9",  "&#8364;",
        "jumps",     "over",
        "1 &gt; 0",  "it's",
        "\"so\"",
    };
    size_t n = 1 + rand_below(r, 6);
    for (size_t i = 0; i < n; i++)
        buf_printf(b, "%s%s", i ? " " : "",
                   list[rand_below(r, sizeof(list) / sizeof(list[0]))]);
}

static void link(struct buf *b, struct rand_gen *r)
{
    static const char *const tags[] = {"b", "i", "span", "em"};
    const char *tag = tags[rand_below(r, 4)];
    buf_printf(b, "<a class='c' href=\"/p%d?x=1&amp;y=%d\">",
               (int)rand_below(r, 100), (int)rand_below(r, 100));
    if (rand_one_in(r, 3))
        buf_printf(b, "<%s>", tag);
    else
        tag = NULL;
    words(b, r);
    if (tag)
        buf_printf(b, "</%s>", tag);
    buf_append_str(b, "</a>");
}

static void make_page(struct buf *b, struct rand_gen *r)
{
    b->len = 0;
    buf_append_str(b, "<!DOCTYPE html><html><head><meta charset=\"utf-8\">"
                      "<title>t</title></head><body>\n");
    for (int i = 0; i < 60; i++) {
        switch (rand_below(r, 7)) {
        case 0: buf_append_str(b, "<!-- <a href='no'>no</a> -->"); break;
        case 1:
            buf_append_str(b, "<script>var s = \"<a href='no'>\";</script>");
            break;
        case 2: buf_append_str(b, "<p title='a > b'>text</p>"); break;
        case 3: buf_append_str(b, "<img src=\"i.png\" alt=\"x\">"); break;
        default:
            buf_append_str(b, "<div>");
            link(b, r);
            buf_append_str(b, "</div>\n");
            break;
        }
    }
    buf_append_str(b, "</body></html>");
}

/* --- Both sides ---------------------------------------------------------- */

static void collapse(struct buf *out, const char *s)
{
    size_t start = out->len;
    for (; *s; s++) {
        bool blank = strchr(" \t\r\n", *s) != NULL;
        /* A no-break space is a blank to us. */
        if ((unsigned char)s[0] == 0xc2 && (unsigned char)s[1] == 0xa0) {
            blank = true;
            s++;
        }
        if (!blank)
            buf_append_byte(out, *s);
        else if (out->len > start && out->data[out->len - 1] != ' ')
            buf_append_byte(out, ' ');
    }
    while (out->len > start && out->data[out->len - 1] == ' ')
        out->len--;
}

static void walk(xmlNode *n, struct buf *out)
{
    for (; n; n = n->next) {
        xmlChar *href = n->type == XML_ELEMENT_NODE &&
                                strcmp((const char *)n->name, "a") == 0
                            ? xmlGetProp(n, (const xmlChar *)"href")
                            : NULL;
        if (href) {
            xmlChar *text = xmlNodeGetContent(n);
            buf_printf(out, "%s=", (const char *)href);
            collapse(out, (const char *)text);
            buf_append_byte(out, '|');
            xmlFree(text);
            xmlFree(href);
        }
        walk(n->children, out);
    }
}

static void note_link(void *ctx, const struct html_link *l)
{
    buf_printf(ctx, "%.*s=%.*s|", SLICE_ARG(l->href), SLICE_ARG(l->text));
}

/* The property itself, over many pages. */
START_TEST(test_same_as_libxml2)
{
    struct rand_gen r;
    struct html_scanner *s = html_scanner_new();
    struct html_page info;
    struct buf html = BUF_INIT;
    struct buf ours = BUF_INIT;
    struct buf theirs = BUF_INIT;
    rand_init(&r, test_seed());
    for (int i = 0; i < 300; i++) {
        htmlDocPtr doc;
        make_page(&html, &r);
        ours.len = theirs.len = 0;
        html_scan(s, buf_slice(&html), note_link, &ours, &info);
        doc = htmlReadMemory(html.data, (int)html.len, NULL, "utf-8",
                             HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING |
                                 HTML_PARSE_RECOVER);
        ck_assert_ptr_nonnull(doc);
        walk(xmlDocGetRootElement(doc), &theirs);
        xmlFreeDoc(doc);
        ck_assert_str_eq(buf_cstr(&ours), buf_cstr(&theirs));
        ck_assert_uint_gt(info.link_count, 5);
    }
    html_scanner_free(s);
    buf_close(&html);
    buf_close(&ours);
    buf_close(&theirs);
    xmlCleanupParser();
}

END_TEST

TEST_MAIN("links beside libxml2", test_same_as_libxml2)
