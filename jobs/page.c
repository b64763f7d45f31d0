/* Pages out of archives and Webtables: head and body taken apart, text made
 * UTF-8, links made absolute, so that jobs see one form of a page. */
#include "jobs/page.h"

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "bigtable/quarry.h"
#include "mapreduce/warc/archive_reader.h"
#include "mapreduce/warc/archived_http.h"
#include "mapreduce/warc/charset.h"
#include "mapreduce/warc/links.h"
#include "mapreduce/warc/url.h"

/* A longer body is cut: no page has as much text. */
#define BODY_BYTES_MAX ((size_t)64 << 20)

struct page_reader {
    struct http_decoder *decoder;
    struct html_scanner *scanner;
    struct charset_decoder *charsets;
    struct http_message message;
    struct buf uri;
    struct buf key;
    /* Of page_links: links wait for the end of the page, when <base> is known:
     * href and text of each, with their lengths. */
    struct buf hrefs;
    struct buf link;
    struct buf base;
    struct buf target_uri;
    struct buf target_key;
};

struct page_reader *page_reader_new(void)
{
    struct page_reader *r = mem_zalloc(1, sizeof(*r));
    r->decoder = http_decoder_new();
    r->scanner = html_scanner_new();
    r->charsets = charset_decoder_new();
    return r;
}

void page_reader_free(struct page_reader *r)
{
    if (!r)
        return;
    http_decoder_free(r->decoder);
    html_scanner_free(r->scanner);
    charset_decoder_free(r->charsets);
    buf_close(&r->link);
    buf_close(&r->uri);
    buf_close(&r->key);
    buf_close(&r->hrefs);
    buf_close(&r->base);
    buf_close(&r->target_uri);
    buf_close(&r->target_key);
    mem_free(r);
}

bool row_column(const struct quarry_row *row,
                const char *family,
                const char *qualifier,
                struct slice *value)
{
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct quarry_cell *c = &row->cells[i];
        if (slice_eq_str(c->family, family) &&
            slice_eq_str(c->qualifier, qualifier)) {
            *value = c->value;
            return true;
        }
    }
    return false;
}

/* Determine the type of the body, and make it UTF-8 if it is text. */
static void
find_kind(struct page_reader *r, struct page *p, struct slice content_type)
{
    struct slice type = http_media_type(content_type);
    p->html = html_is(type, p->body);
    p->text = p->html || http_slice_is(type, "text/plain");
    if (p->text)
        p->body = charset_decode(r->charsets, http_charset(content_type),
                                 p->html, p->body);
}

/* A row is a page if it was captured, not if it is only linked to. */
static bool
read_row(struct page_reader *r, const struct quarry_row *row, struct page *out)
{
    struct slice type = SLICE_EMPTY;
    bool has_uri = row_column(row, "http", "url", &out->uri);
    bool has_body = row_column(row, "contents", "", &out->body);
    out->key = row->key;
    (void)row_column(row, "http", "content-type", &type);
    (void)row_column(row, "language", "", &out->language);
    if (has_body)
        find_kind(r, out, type);
    return has_uri || has_body;
}

static bool read_response(struct page_reader *r,
                          const struct warc_record *w,
                          struct page *out)
{
    struct slice type = SLICE_EMPTY;
    struct slice payload;
    if (!http_parse(w->block, &r->message) || r->message.is_request)
        return false;
    http_decode(r->decoder, &r->message, BODY_BYTES_MAX, &payload, &out->body);
    (void)http_header(&r->message, "content-type", &type);
    (void)http_header(&r->message, "content-language", &out->language);
    find_kind(r, out, type);
    return true;
}

static bool read_archive(struct page_reader *r,
                         const struct warc_record *w,
                         struct page *out)
{
    buf_clear(&r->uri);
    buf_clear(&r->key);
    if (!url_normalise(w->uri, &r->uri) ||
        !url_row_key(buf_slice(&r->uri), &r->key))
        return false;
    out->uri = buf_slice(&r->uri);
    out->key = buf_slice(&r->key);
    switch (w->type) {
    case WARC_RESPONSE: return read_response(r, w, out);
    case WARC_RESOURCE:
    case WARC_CONVERSION:
        out->body = w->block;
        find_kind(r, out, w->content_type);
        return true;
    case WARC_OTHER:
    case WARC_INFO:
    case WARC_REQUEST:
    case WARC_METADATA:
    case WARC_REVISIT:
    case WARC_CONTINUATION: break;
    }
    return false;
}

bool page_read(struct page_reader *r,
               const struct mr_record *record,
               struct page *out)
{
    PRE(r != NULL);
    *out = (struct page){.key = SLICE_EMPTY,
                         .uri = SLICE_EMPTY,
                         .body = SLICE_EMPTY,
                         .language = SLICE_EMPTY};
    if (record->row)
        return read_row(r, record->row, out);
    if (record->warc)
        return read_archive(r, record->warc, out);
    return false;
}

/* --- links --------------------------------------------------------------- */

static void keep_link(void *ctx, const struct html_link *link)
{
    struct page_reader *r = ctx;
    buf_put_lslice(&r->hrefs, charset_link(r->charsets, link->href, &r->link));
    buf_put_lslice(&r->hrefs, link->text);
}

/* The base of relative links: the page's URI, or its <base>. */
static void
find_base(struct page_reader *r, const struct page *page, struct slice base)
{
    struct url from;
    buf_clear(&r->base);
    if (base.len == 0) {
        buf_append_slice(&r->base, page->uri);
        return;
    }
    url_split(page->uri, &from);
    url_resolve(&from, base, &r->base);
}

static bool target_key(struct page_reader *r, struct slice href)
{
    struct url base;
    url_split(buf_slice(&r->base), &base);
    buf_clear(&r->target_uri);
    buf_clear(&r->target_key);
    url_resolve(&base, href, &r->target_uri);
    return url_key(buf_slice(&r->target_uri), &r->target_key);
}

/* Only pages are worth an edge: not "mailto:" or "javascript:". */
static bool is_page_link(struct slice uri)
{
    return slice_starts_with(uri, SLICE_LIT("http:")) ||
           slice_starts_with(uri, SLICE_LIT("https:"));
}

void page_anchors(struct page_reader *r,
                  const struct page *page,
                  void (*fn)(void *ctx, struct slice target, struct slice text),
                  void *ctx)
{
    struct html_page info;
    struct cursor c;
    if (!page->html || page->uri.len == 0)
        return;
    buf_clear(&r->hrefs);
    html_scan(r->scanner, page->body, keep_link, r, &info);
    find_base(r, page, info.base);
    c = cursor_make(buf_slice(&r->hrefs));
    while (cursor_left(&c) > 0) {
        struct slice href = cursor_lslice(&c);
        struct slice text = cursor_lslice(&c);
        if (target_key(r, href) && is_page_link(buf_slice(&r->target_uri)))
            fn(ctx, buf_slice(&r->target_key), text);
    }
}

struct link_call {
    void (*fn)(void *ctx, struct slice target);
    void *ctx;
};

static void call_for_target(void *ctx, struct slice target, struct slice text)
{
    const struct link_call *call = ctx;
    (void)text;
    call->fn(call->ctx, target);
}

void page_links(struct page_reader *r,
                const struct page *page,
                void (*fn)(void *ctx, struct slice target),
                void *ctx)
{
    struct link_call call = {fn, ctx};
    page_anchors(r, page, call_for_target, &call);
}

/* --- words --------------------------------------------------------------- */

/* Longer runs are data, not words. */
#define WORD_BYTES_MAX 64

struct words {
    char word[WORD_BYTES_MAX];
    size_t len; /* May count beyond the array: then it is no word. */
    void (*fn)(void *ctx, struct slice word);
    void *ctx;
};

static void word_flush(struct words *w)
{
    if (w->len > 0 && w->len <= WORD_BYTES_MAX)
        w->fn(w->ctx, slice_make(w->word, w->len));
    w->len = 0;
}

static bool is_word_byte(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c >= 0x80;
}

static void word_byte(struct words *w, char c)
{
    unsigned char b = (unsigned char)c;
    if (b >= 'A' && b <= 'Z')
        b |= 0x20;
    if (!is_word_byte(b)) {
        word_flush(w);
        return;
    }
    if (w->len < WORD_BYTES_MAX)
        w->word[w->len] = (char)b;
    w->len++;
}

/* Does @s begin with the letters of @name, in any case? */
static bool starts_with_name(struct slice s, const char *name)
{
    size_t n = strlen(name);
    if (s.len < n)
        return false;
    for (size_t i = 0; i < n; i++)
        if ((s.data[i] | 0x20) != name[i])
            return false;
    return true;
}

/* The number of bytes up to and including the first @end at or after @from; all
 * of @s when there is none. */
static size_t skip_behind(struct slice s, size_t from, const char *end)
{
    size_t n = strlen(end);
    for (size_t i = from; i + n <= s.len; i++)
        if (memcmp(s.data + i, end, n) == 0)
            return i + n;
    return s.len;
}

/* The end of a script or style: its end tag, in any case. */
static size_t skip_raw(struct slice s, const char *name)
{
    for (size_t i = 0; i + 2 < s.len; i++)
        if (s.data[i] == '<' && s.data[i + 1] == '/' &&
            starts_with_name(slice_sub(s, i + 2, s.len), name))
            return skip_behind(s, i, ">");
    return s.len;
}

/* Bytes of the tag, comment or raw element that begins at s.data[0], '<'. */
static size_t markup_bytes(struct slice s)
{
    struct slice name = slice_sub(s, 1, s.len);
    if (slice_starts_with(s, SLICE_LIT("<!--")))
        return skip_behind(s, 4, "-->");
    if (starts_with_name(name, "script"))
        return skip_raw(s, "script");
    if (starts_with_name(name, "style"))
        return skip_raw(s, "style");
    if (name.len > 0 &&
        (name.data[0] == '/' || name.data[0] == '!' || name.data[0] == '?' ||
         is_word_byte((unsigned char)(name.data[0] | 0x20))))
        return skip_behind(s, 1, ">");
    return 1;
}

/* Length of a reference such as "&eacute;". */
static size_t reference_bytes(struct slice s)
{
    enum {
        LONGEST = 12
    };

    for (size_t i = 1; i < s.len && i < LONGEST; i++)
        if (s.data[i] == ';')
            return i + 1;
    return 1;
}

void page_words(struct slice text,
                bool html,
                void (*fn)(void *ctx, struct slice word),
                void *ctx)
{
    PRE(fn != NULL);
    struct words w = {.len = 0, .fn = fn, .ctx = ctx};
    size_t i = 0;
    while (i < text.len) {
        struct slice rest = slice_sub(text, i, text.len);
        char c = text.data[i];
        if (html && (c == '<' || c == '&')) {
            word_flush(&w);
            i += c == '<' ? markup_bytes(rest) : reference_bytes(rest);
        } else {
            word_byte(&w, c);
            i++;
        }
    }
    word_flush(&w);
}
