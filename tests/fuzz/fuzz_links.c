/* Any bytes taken as a page: links and texts are bounded, valid UTF-8 where
 * that is promised, and every link resolves and is keyed without harm. */
#include <stdlib.h>

#include "mapreduce/warc/html_text.h"
#include "mapreduce/warc/links.h"
#include "mapreduce/warc/surt.h"
#include "mapreduce/warc/url.h"

struct sink {
    struct url base;
    struct buf a;
    struct buf b;
};

static void check_text(struct slice s)
{
    /* Old charsets become up to three bytes a byte. */
    if (s.len > 3 * LINKS_TEXT_BYTES_MAX || !html_text_is_utf8(s, NULL))
        abort();
}

static void on_link(void *ctx, const struct html_link *link)
{
    struct sink *s = ctx;
    check_text(link->text);
    s->a.len = s->b.len = 0;
    url_resolve(&s->base, link->href, &s->a);
    if (url_normalise(buf_slice(&s->a), &s->b)) {
        struct buf again = BUF_INIT;
        if (!url_normalise(buf_slice(&s->b), &again) ||
            !slice_eq(buf_slice(&again), buf_slice(&s->b)))
            abort();
        again.len = 0;
        url_row_key(buf_slice(&s->b), &again);
        if (url_key_host(buf_slice(&again)).len > again.len)
            abort();
        buf_close(&again);
    }
    s->b.len = 0;
    surt_key(link->href, &s->b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct html_scanner *scanner;
    static struct sink sink;
    struct html_page page;
    if (!scanner)
        scanner = html_scanner_new();
    url_split(SLICE_LIT("http://a.example/b/c?d"), &sink.base);
    html_scan(scanner, slice_make(data, size), on_link, &sink, &page);
    check_text(page.title);
    check_text(page.lang);
    check_text(page.charset);
    check_text(page.robots);
    return 0;
}
