/* Reads the tags of a page once, front to back.
 *
 * The tokenizer follows HTML 5 where it matters for finding tags: quotes count
 * only after '=', comments end at "-->", script and style end at their own end
 * tag, an unfinished construct swallows the rest. Each byte is examined a
 * bounded number of times.
 */
#include "mapreduce/warc/links.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "mapreduce/warc/archived_http.h"
#include "mapreduce/warc/html_text.h"

struct html_scanner {
    const char *p; /* Next byte. */
    const char *end;
    html_link_cb on_link;
    void *ctx;
    struct html_page *page;

    bool in_link; /* Between <a href> and its end. */
    bool nofollow;
    bool is_area;
    struct buf href;
    struct buf text;
    struct buf alt;   /* Of an image inside the link. */
    struct buf value; /* Of the current attribute. */
    /* Bytes of page's slices. */
    struct buf base;
    struct buf title;
    struct buf lang;
    struct buf charset;
    struct buf robots;
    struct buf canonical;
};

struct html_scanner *html_scanner_new(void)
{
    return mem_zalloc(1, sizeof(struct html_scanner));
}

void html_scanner_free(struct html_scanner *s)
{
    if (!s)
        return;
    buf_close(&s->href);
    buf_close(&s->text);
    buf_close(&s->alt);
    buf_close(&s->value);
    buf_close(&s->base);
    buf_close(&s->title);
    buf_close(&s->lang);
    buf_close(&s->charset);
    buf_close(&s->robots);
    buf_close(&s->canonical);
    mem_free(s);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f';
}

static bool is_alpha(char c)
{
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

/* --- links --------------------------------------------------------------- */

static void trim_end(struct buf *b)
{
    while (b->len && b->data[b->len - 1] == ' ')
        b->len--;
}

static void end_link(struct html_scanner *s)
{
    struct html_link link;
    if (!s->in_link)
        return;
    s->in_link = false;
    trim_end(&s->text);
    html_text_fix(&s->text, 0);
    if (s->text.len == 0) {
        trim_end(&s->alt);
        html_text_fix(&s->alt, 0);
    }
    link.href = buf_slice(&s->href);
    link.text = buf_slice(s->text.len ? &s->text : &s->alt);
    link.nofollow = s->nofollow;
    link.is_area = s->is_area;
    if (s->on_link)
        s->on_link(s->ctx, &link);
}

static void link_text(struct html_scanner *s, const char *from, const char *to)
{
    size_t n = (size_t)(to - from);
    if (s->text.len >= LINKS_TEXT_BYTES_MAX)
        return;
    html_text_append(&s->text, slice_make(from, n), true, LINKS_TEXT_BYTES_MAX);
}

/* --- attributes ---------------------------------------------------------- */

struct attr {
    struct slice name;
    struct slice value; /* Raw. */
};

/* The next attribute of the tag at s->p. False at its end: s->p is after '>'
 * then, or at s->end. */
static bool next_attr(struct html_scanner *s, struct attr *a)
{
    const char *p = s->p;
    const char *end = s->end;
    const char *q;
    a->value = SLICE_EMPTY;
    while (p < end && (is_space(*p) || *p == '/'))
        p++;
    if (p == end || *p == '>') {
        s->p = p < end ? p + 1 : end;
        return false;
    }
    q = p;
    p++; /* A '=' at the start is part of the name. */
    while (p < end && !is_space(*p) && *p != '/' && *p != '>' && *p != '=')
        p++;
    a->name = slice_make(q, (size_t)(p - q));
    while (p < end && is_space(*p))
        p++;
    if (p == end || *p != '=') {
        s->p = p;
        return true;
    }
    p++;
    while (p < end && is_space(*p))
        p++;
    if (p < end && (*p == '"' || *p == '\'')) {
        q = memchr(p + 1, *p, (size_t)(end - p - 1));
        if (!q) {
            s->p = end; /* Unfinished: it swallows the rest. */
            return false;
        }
        a->value = slice_make(p + 1, (size_t)(q - p - 1));
        s->p = q + 1;
        return true;
    }
    q = p;
    while (p < end && !is_space(*p) && *p != '>')
        p++;
    a->value = slice_make(q, (size_t)(p - q));
    s->p = p;
    return true;
}

static void skip_attrs(struct html_scanner *s)
{
    struct attr a;
    while (next_attr(s, &a))
        ;
}

/* The value decoded into @out. */
static void
keep_value(struct buf *out, struct slice raw, bool collapse, size_t most)
{
    buf_clear(out);
    if (raw.len > LINKS_VALUE_BYTES_MAX)
        return;
    while (raw.len && (unsigned char)raw.data[0] <= ' ')
        raw = slice_sub(raw, 1, raw.len);
    while (raw.len && (unsigned char)raw.data[raw.len - 1] <= ' ')
        raw = slice_sub(raw, 0, raw.len - 1);
    html_text_append(out, raw, collapse, most);
    html_text_fix(out, 0);
}

/* A href or src: references decoded, nothing else; bytes stay. */
static void keep_uri(struct buf *out, struct slice raw)
{
    buf_clear(out);
    if (raw.len > LINKS_VALUE_BYTES_MAX)
        return;
    while (raw.len && (unsigned char)raw.data[0] <= ' ')
        raw = slice_sub(raw, 1, raw.len);
    while (raw.len && (unsigned char)raw.data[raw.len - 1] <= ' ')
        raw = slice_sub(raw, 0, raw.len - 1);
    if (!memchr(raw.data ? raw.data : "", '&', raw.len))
        buf_append_slice(out, raw);
    else
        html_text_append(out, raw, false, LINKS_VALUE_BYTES_MAX * 2);
}

static bool contains_word(struct slice s, const char *lower)
{
    size_t n = strlen(lower);
    for (size_t i = 0; i + n <= s.len; i++)
        if ((i == 0 || !is_alpha(s.data[i - 1])) &&
            http_slice_is(slice_sub(s, i, i + n), lower))
            return true;
    return false;
}

/* --- tags ---------------------------------------------------------------- */

static void tag_a(struct html_scanner *s, bool is_area)
{
    struct attr a;
    bool has_href = false;
    end_link(s);
    s->nofollow = false;
    s->is_area = is_area;
    buf_clear(&s->text);
    buf_clear(&s->alt);
    while (next_attr(s, &a)) {
        if (!has_href && http_slice_is(a.name, "href")) {
            keep_uri(&s->href, a.value);
            has_href = true;
        } else if (http_slice_is(a.name, "rel")) {
            s->nofollow = contains_word(a.value, "nofollow");
        } else if (is_area && http_slice_is(a.name, "alt")) {
            keep_value(&s->alt, a.value, true, LINKS_TEXT_BYTES_MAX);
        }
    }
    if (!has_href)
        return;
    s->page->link_count++;
    s->in_link = true;
    if (is_area)
        end_link(s);
}

static void tag_img(struct html_scanner *s)
{
    struct attr a;
    while (next_attr(s, &a)) {
        if (http_slice_is(a.name, "src"))
            s->page->image_count++;
        else if (s->in_link && s->alt.len == 0 && http_slice_is(a.name, "alt"))
            keep_value(&s->alt, a.value, true, LINKS_TEXT_BYTES_MAX);
    }
}

static void tag_counted(struct html_scanner *s, uint32_t *count)
{
    struct attr a;
    while (next_attr(s, &a))
        if (http_slice_is(a.name, "src"))
            ++*count;
}

static void tag_base(struct html_scanner *s)
{
    struct attr a;
    while (next_attr(s, &a))
        if (s->base.len == 0 && http_slice_is(a.name, "href"))
            keep_uri(&s->base, a.value);
}

static void tag_link(struct html_scanner *s)
{
    struct attr a;
    struct slice href = SLICE_EMPTY;
    bool canonical = false;
    while (next_attr(s, &a)) {
        if (http_slice_is(a.name, "rel")) {
            s->page->style_count += contains_word(a.value, "stylesheet");
            canonical = http_slice_is(slice_trim(a.value), "canonical");
        } else if (http_slice_is(a.name, "href")) {
            href = a.value;
        }
    }
    if (canonical && s->canonical.len == 0)
        keep_uri(&s->canonical, href);
}

static void tag_html(struct html_scanner *s)
{
    struct attr a;
    while (next_attr(s, &a))
        if ((s->lang.len == 0 && http_slice_is(a.name, "xml:lang")) ||
            http_slice_is(a.name, "lang"))
            keep_value(&s->lang, a.value, true, 64);
}

static void tag_meta(struct html_scanner *s)
{
    struct attr a;
    struct slice name = SLICE_EMPTY;
    struct slice equiv = SLICE_EMPTY;
    struct slice content = SLICE_EMPTY;
    while (next_attr(s, &a)) {
        if (http_slice_is(a.name, "charset")) {
            if (s->charset.len == 0)
                keep_value(&s->charset, a.value, true, 64);
        } else if (http_slice_is(a.name, "name")) {
            name = a.value;
        } else if (http_slice_is(a.name, "http-equiv")) {
            equiv = a.value;
        } else if (http_slice_is(a.name, "content")) {
            content = a.value;
        }
    }
    if (http_slice_is(equiv, "content-type") && s->charset.len == 0)
        keep_value(&s->charset, http_charset(content), true, 64);
    else if (http_slice_is(equiv, "content-language") && s->lang.len == 0)
        keep_value(&s->lang, content, true, 64);
    if (http_slice_is(name, "robots") && s->robots.len == 0)
        keep_value(&s->robots, content, true, 256);
}

/* Skip the text of an element that ends only at its own end tag. */
static void raw_text(struct html_scanner *s, const char *name)
{
    size_t n = strlen(name);
    const char *p = s->p;
    while ((p = memchr(p, '<', (size_t)(s->end - p))) != NULL) {
        size_t left = (size_t)(s->end - p);
        if (left > n + 2 && p[1] == '/' &&
            http_slice_is(slice_make(p + 2, n), name) && !is_alpha(p[2 + n])) {
            s->p = p;
            return;
        }
        p++;
    }
    s->p = s->end;
}

static void tag_title(struct html_scanner *s)
{
    const char *from;
    skip_attrs(s);
    from = s->p;
    raw_text(s, "title");
    if (s->title.len == 0) {
        html_text_append(&s->title, slice_make(from, (size_t)(s->p - from)),
                         true, LINKS_TEXT_BYTES_MAX);
        trim_end(&s->title);
        html_text_fix(&s->title, 0);
    }
}

static void start_tag(struct html_scanner *s, struct slice name)
{
    char c = (char)(name.data[0] | 0x20);
    if (c == 'a' && name.len == 1) {
        tag_a(s, false);
    } else if (c == 'a' && http_slice_is(name, "area")) {
        tag_a(s, true);
    } else if (c == 'b' && http_slice_is(name, "base")) {
        tag_base(s);
    } else if (c == 'i' && http_slice_is(name, "img")) {
        tag_img(s);
    } else if (c == 'i' && http_slice_is(name, "iframe")) {
        tag_counted(s, &s->page->frame_count);
        raw_text(s, "iframe");
    } else if (c == 'f' && http_slice_is(name, "frame")) {
        tag_counted(s, &s->page->frame_count);
    } else if (c == 'l' && http_slice_is(name, "link")) {
        tag_link(s);
    } else if (c == 'm' && http_slice_is(name, "meta")) {
        tag_meta(s);
    } else if (c == 'h' && http_slice_is(name, "html")) {
        tag_html(s);
    } else if (c == 's' && http_slice_is(name, "script")) {
        tag_counted(s, &s->page->script_count);
        raw_text(s, "script");
    } else if (c == 's' && http_slice_is(name, "style")) {
        skip_attrs(s);
        raw_text(s, "style");
    } else if (c == 't' && http_slice_is(name, "title")) {
        tag_title(s);
    } else if (c == 't' && http_slice_is(name, "textarea")) {
        skip_attrs(s);
        raw_text(s, "textarea");
    } else if (c == 'x' && http_slice_is(name, "xmp")) {
        skip_attrs(s);
        raw_text(s, "xmp");
    } else {
        skip_attrs(s);
    }
}

/* --- markup -------------------------------------------------------------- */

/* After "<!": a comment, a doctype, or something similar. */
static void links_declaration(struct html_scanner *s)
{
    const char *p = s->p;
    if (s->end - p >= 2 && p[0] == '-' && p[1] == '-') {
        p += 2;
        if (p < s->end && *p == '>') {
            s->p = p + 1;
            return;
        }
        while ((p = memchr(p, '-', (size_t)(s->end - p))) != NULL) {
            if (s->end - p >= 3 && p[1] == '-' &&
                (p[2] == '>' ||
                 (p[2] == '!' && s->end - p >= 4 && p[3] == '>'))) {
                s->p = p + (p[2] == '>' ? 3 : 4);
                return;
            }
            p++;
        }
        s->p = s->end;
        return;
    }
    p = memchr(p, '>', (size_t)(s->end - p));
    s->p = p ? p + 1 : s->end;
}

static struct slice tag_name(struct html_scanner *s)
{
    const char *p = s->p;
    while (p < s->end && !is_space(*p) && *p != '>' && *p != '/')
        p++;
    {
        struct slice name = slice_make(s->p, (size_t)(p - s->p));
        s->p = p;
        return name;
    }
}

static void end_tag(struct html_scanner *s)
{
    struct slice name;
    if (s->p < s->end && !is_alpha(*s->p)) {
        links_declaration(s);
        return;
    }
    name = tag_name(s);
    if (name.len == 1 && (name.data[0] | 0x20) == 'a')
        end_link(s);
    skip_attrs(s);
}

/* At '<'. */
static void links_markup(struct html_scanner *s)
{
    char c;
    s->p++;
    if (s->p == s->end)
        return;
    c = *s->p;
    if (is_alpha(c)) {
        start_tag(s, tag_name(s));
    } else if (c == '/') {
        s->p++;
        end_tag(s);
    } else if (c == '!' || c == '?') {
        s->p += c == '!';
        links_declaration(s);
    } else if (s->in_link) {
        link_text(s, s->p - 1, s->p);
    }
}

void html_scan(struct html_scanner *s,
               struct slice html,
               html_link_cb on_link,
               void *ctx,
               struct html_page *page)
{
    memset(page, 0, sizeof(*page));
    s->on_link = on_link;
    s->ctx = ctx;
    s->page = page;
    s->in_link = false;
    s->base.len = s->title.len = s->lang.len = s->charset.len = 0;
    s->robots.len = s->canonical.len = 0;
    s->p = html.data;
    s->end = html.data + html.len;
    if (slice_starts_with(html, SLICE_LIT("\xef\xbb\xbf")))
        buf_append_str(&s->charset, "utf-8");
    while (s->p < s->end) {
        const char *lt = memchr(s->p, '<', (size_t)(s->end - s->p));
        if (s->in_link)
            link_text(s, s->p, lt ? lt : s->end);
        if (!lt)
            break;
        s->p = lt;
        links_markup(s);
    }
    end_link(s);
    page->base = buf_slice(&s->base);
    page->title = buf_slice(&s->title);
    page->lang = buf_slice(&s->lang);
    page->charset = buf_slice(&s->charset);
    page->robots = buf_slice(&s->robots);
    page->canonical = buf_slice(&s->canonical);
}

bool html_is(struct slice media_type, struct slice body)
{
    if (http_slice_is(media_type, "text/html") ||
        http_slice_is(media_type, "application/xhtml+xml"))
        return true;
    if (media_type.len && !http_slice_is(media_type, "text/plain") &&
        !http_slice_is(media_type, "application/octet-stream") &&
        !http_slice_is(media_type, "unknown/unknown") &&
        !http_slice_is(media_type, "no-type"))
        return false;
    if (media_type.len && http_slice_is(media_type, "text/plain"))
        return false;
    body = slice_trim(slice_sub(body, 0, 512));
    return body.len >= 6 && body.data[0] == '<' &&
           (http_slice_is(slice_sub(body, 0, 5), "<html") ||
            http_slice_is(slice_sub(body, 0, 6), "<head>") ||
            http_slice_is(slice_sub(body, 0, 14), "<!doctype html"));
}
