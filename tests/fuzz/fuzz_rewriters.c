/* Any bytes taken as a page, a style sheet, a script, headers and an address:
 * nothing is lost beside links, and every rewritten link leads into the
 * archive.
 */
#include <stdlib.h>

#include "base/http/http.h"
#include "mapreduce/warc/html_token.h"
#include "web/replay/css_rewriter.h"
#include "web/replay/header_rewriter.h"
#include "web/replay/html_rewriter.h"
#include "web/replay/js_rewriter.h"
#include "web/replay/js_token.h"
#include "web/replay/page_text.h"

static void check_tokens(struct slice html)
{
    struct html_tokens tokens = {.html = html, .raw = SLICE_EMPTY};
    struct html_token token;
    size_t at = 0;
    while (html_token_next(&tokens, &token)) {
        if (token.bytes.data != html.data + at || token.bytes.len == 0)
            abort();
        at += token.bytes.len;
    }
    if (at != html.len)
        abort();
}

/* A prefix that is not there leaves all links as they are. */
static void check_unchanged(struct slice css)
{
    struct link_rewriter links;
    struct byte_sink out = {.pending = BUF_INIT};
    link_rewriter_init(&links, NULL, SLICE_EMPTY, SLICE_LIT("http://a.b/"));
    css_rewrite(&links, css, false, &out);
    if (!slice_eq(buf_slice(&out.pending), css))
        abort();
    link_rewriter_close(&links);
    buf_close(&out.pending);
}

/* Tokens stand in order, and a script that is not understood stays as it is. */
static void check_script(struct slice js, bool is_module)
{
    struct js_scanner scanner;
    struct js_token t;
    const char *at = js.data;
    struct link_rewriter links;
    struct byte_sink out = {.pending = BUF_INIT};
    const struct js_rewrite_options opts = {
        .links = &links, .module_url = "/m", .is_module = is_module};
    js_scanner_init(&scanner, js, is_module);
    while (js_token_next(&scanner, &t)) {
        if (t.bytes.data < at || t.bytes.len == 0)
            abort();
        at = t.bytes.data + t.bytes.len;
    }
    link_rewriter_init(&links, "/web/", SLICE_LIT("2014"),
                       SLICE_LIT("http://a.b/c"));
    if (js_rewrite(&opts, js, &out) ? scanner.is_lost && is_module
                                    : !slice_eq(buf_slice(&out.pending), js))
        abort();
    js_scanner_close(&scanner);
    link_rewriter_close(&links);
    buf_close(&out.pending);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice s = slice_make(data, size);
    struct link_rewriter links;
    struct byte_sink out = {.pending = BUF_INIT};
    struct html_rewrite_options opts = {
        .links = &links, .head_insert = SLICE_LIT("<x>"), .module_url = "/m"};
    struct http_reply reply = {.status = 200};
    struct replay_url u;
    check_tokens(s);
    check_unchanged(s);
    check_script(s, false);
    check_script(s, true);
    link_rewriter_init(&links, "/web/", SLICE_LIT("2014"),
                       SLICE_LIT("http://a.b/c/d"));
    html_rewrite(&opts, s, &out);
    buf_clear(&out.pending);
    css_rewrite(&links, s, true, &out);
    headers_rewrite(&links, s, REPLAY_MOD_MP, &reply);
    link_rewriter_close(&links);
    buf_clear(&out.pending);
    page_text_append(s, 1 << 16, &out.pending);
    buf_clear(&out.pending);
    if (replay_url_parse(s, &u))
        (void)replay_url_absolute(u.url, &out.pending);
    buf_close(&out.pending);
    buf_close(&reply.headers);
    return 0;
}
