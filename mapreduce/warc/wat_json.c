/* Links with their texts come from the scanner of pages, all other elements
 * from a walk over the tokens. */
#include "mapreduce/warc/wat_json.h"

#include <string.h>

#include "base/core/macros.h"
#include "base/core/panic.h"
#include "mapreduce/warc/archived_http.h"
#include "mapreduce/warc/cdx.h"
#include "mapreduce/warc/date.h"
#include "mapreduce/warc/digest.h"
#include "mapreduce/warc/html_text.h"
#include "mapreduce/warc/html_token.h"
#include "mapreduce/warc/links.h"

struct wat_writer {
    struct html_scanner *scanner;
    struct http_message message;
    struct buf value;
    struct buf links;
    struct buf metas;
    struct buf head_links;
    struct buf scripts;
    size_t link_count;
};

struct wat_writer *wat_writer_new(void)
{
    struct wat_writer *w = mem_zalloc(1, sizeof(*w));
    w->scanner = html_scanner_new();
    return w;
}

void wat_writer_free(struct wat_writer *w)
{
    if (!w)
        return;
    html_scanner_free(w->scanner);
    buf_close(&w->value);
    buf_close(&w->links);
    buf_close(&w->metas);
    buf_close(&w->head_links);
    buf_close(&w->scripts);
    mem_free(w);
}

/* --- JSON ---------------------------------------------------------------- */

/* A comma, unless the object or list has just begun. */
static void wat_separate(struct buf *out)
{
    if (out->len && !strchr("{[", out->data[out->len - 1]))
        buf_append_byte(out, ',');
}

static void wat_name(struct buf *out, struct slice name)
{
    wat_separate(out);
    cdx_json_string(name, out);
    buf_append_byte(out, ':');
}

/* Empty values are left out. */
static void wat_string(struct buf *out, const char *name, struct slice value)
{
    if (value.len == 0)
        return;
    wat_name(out, slice_str(name));
    cdx_json_string(value, out);
}

static void wat_number(struct buf *out, const char *name, uint64_t value)
{
    wat_name(out, slice_str(name));
    buf_printf(out, "\"%llu\"", (unsigned long long)value);
}

static void wat_list(struct buf *out, const char *name, const struct buf *list)
{
    if (list->len == 0)
        return;
    wat_name(out, slice_str(name));
    buf_append_byte(out, '[');
    buf_append_slice(out, buf_slice(list));
    buf_append_byte(out, ']');
}

/* --- a page -------------------------------------------------------------- */

static bool may_add_link(struct wat_writer *w)
{
    return w->link_count++ < WAT_LINKS_MAX;
}

static void wat_link(void *ctx, const struct html_link *link)
{
    struct wat_writer *w = ctx;
    if (!may_add_link(w))
        return;
    wat_separate(&w->links);
    buf_append_byte(&w->links, '{');
    wat_string(&w->links, "path",
               link->is_area ? SLICE_LIT("AREA@/href") : SLICE_LIT("A@/href"));
    wat_string(&w->links, "url", link->href);
    wat_string(&w->links, "text", link->text);
    if (link->nofollow)
        wat_string(&w->links, "rel", SLICE_LIT("nofollow"));
    buf_append_byte(&w->links, '}');
}

/* The value of @attribute with its references decoded, borrowed until the next
 * call. */
static struct slice
attribute_value(struct wat_writer *w, struct slice attributes, const char *name)
{
    struct html_attribute a;
    buf_clear(&w->value);
    while (html_attribute_next(&attributes, &a)) {
        if (!html_name_is(a.name, name))
            continue;
        html_text_append(&w->value, slice_trim(a.value), false,
                         LINKS_VALUE_BYTES_MAX);
        html_text_fix(&w->value, 0);
        break;
    }
    return buf_slice(&w->value);
}

/* The object of an element that loads something: its path and attributes. */
static void put_element(struct wat_writer *w,
                        struct buf *out,
                        const struct html_token *tag,
                        const char *path,
                        const char *source,
                        const char *const *more)
{
    if (attribute_value(w, tag->attributes, source).len == 0 ||
        !may_add_link(w))
        return;
    wat_separate(out);
    buf_append_byte(out, '{');
    wat_string(out, "path", slice_str(path));
    wat_string(out, "url", attribute_value(w, tag->attributes, source));
    for (; *more; more++)
        wat_string(out, *more, attribute_value(w, tag->attributes, *more));
    buf_append_byte(out, '}');
}

static void put_meta(struct wat_writer *w, const struct html_token *tag)
{
    static const char *const names[] = {"name", "property", "http-equiv",
                                        "content", "charset"};
    struct buf *out = &w->metas;
    if (!may_add_link(w))
        return;
    wat_separate(out);
    buf_append_byte(out, '{');
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        wat_string(out, names[i],
                   attribute_value(w, tag->attributes, names[i]));
    buf_append_byte(out, '}');
}

static void put_tag(struct wat_writer *w, const struct html_token *tag)
{
    static const char *const none[] = {NULL};
    static const char *const of_link[] = {"rel", "type", NULL};
    static const char *const of_script[] = {"type", NULL};
    static const char *const of_image[] = {"alt", NULL};
    static const char *const of_form[] = {"method", NULL};
    if (html_name_is(tag->name, "meta"))
        put_meta(w, tag);
    else if (html_name_is(tag->name, "link"))
        put_element(w, &w->head_links, tag, "LINK@/href", "href", of_link);
    else if (html_name_is(tag->name, "script"))
        put_element(w, &w->scripts, tag, "SCRIPT@/src", "src", of_script);
    else if (html_name_is(tag->name, "img"))
        put_element(w, &w->links, tag, "IMG@/src", "src", of_image);
    else if (html_name_is(tag->name, "iframe"))
        put_element(w, &w->links, tag, "IFRAME@/src", "src", none);
    else if (html_name_is(tag->name, "frame"))
        put_element(w, &w->links, tag, "FRAME@/src", "src", none);
    else if (html_name_is(tag->name, "form"))
        put_element(w, &w->links, tag, "FORM@/action", "action", of_form);
    else if (html_name_is(tag->name, "embed"))
        put_element(w, &w->links, tag, "EMBED@/src", "src", none);
}

static void
put_html_metadata(struct wat_writer *w, struct slice html, struct buf *out)
{
    struct html_tokens tokens = {.html = html, .raw = SLICE_EMPTY};
    struct html_token token;
    struct html_page page;
    buf_clear(&w->links);
    buf_clear(&w->metas);
    buf_clear(&w->head_links);
    buf_clear(&w->scripts);
    w->link_count = 0;
    html_scan(w->scanner, html, wat_link, w, &page);
    while (html_token_next(&tokens, &token))
        if (token.kind == HTML_TOKEN_START)
            put_tag(w, &token);
    wat_name(out, SLICE_LIT("HTML-Metadata"));
    buf_append_str(out, "{\"Head\":{");
    wat_string(out, "Title", page.title);
    wat_string(out, "Base", page.base);
    wat_list(out, "Metas", &w->metas);
    wat_list(out, "Link", &w->head_links);
    wat_list(out, "Scripts", &w->scripts);
    buf_append_byte(out, '}');
    wat_list(out, "Links", &w->links);
    buf_append_byte(out, '}');
}

/* --- the answer ---------------------------------------------------------- */

/* A name that comes twice has one value, as in other WAT files: the last. */
static bool comes_again(const struct http_message *m, size_t i)
{
    for (size_t k = i + 1; k < m->header_count; k++)
        if (m->headers[k].name.len == m->headers[i].name.len &&
            slice_eq(m->headers[k].name, m->headers[i].name))
            return true;
    return false;
}

static void put_headers(const struct http_message *m, struct buf *out)
{
    wat_name(out, SLICE_LIT("Headers"));
    buf_append_byte(out, '{');
    for (size_t i = 0; i < m->header_count; i++) {
        if (m->headers[i].name.len == 0 || comes_again(m, i))
            continue;
        wat_name(out, m->headers[i].name);
        cdx_json_string(m->headers[i].value, out);
    }
    buf_append_byte(out, '}');
}

static void
put_response(struct wat_writer *w, const struct wat_capture *c, struct buf *out)
{
    struct http_message *m = &w->message;
    wat_name(out, SLICE_LIT("HTTP-Response-Metadata"));
    buf_append_byte(out, '{');
    if (http_parse(c->head, m) && !m->is_request) {
        wat_name(out, SLICE_LIT("Response-Message"));
        buf_append_byte(out, '{');
        wat_string(out, "Version", m->version);
        if (m->status > 0)
            wat_number(out, "Status", (uint64_t)m->status);
        wat_string(out, "Reason", m->reason);
        buf_append_byte(out, '}');
        put_headers(m, out);
        wat_number(out, "Headers-Length", c->head.len);
    }
    wat_number(out, "Entity-Length", c->body.len);
    wat_string(out, "Entity-Digest", c->digest);
    wat_number(out, "Entity-Trailing-Slop-Length", 0);
    if (c->html.len)
        put_html_metadata(w, c->html, out);
    buf_append_byte(out, '}');
}

static void put_warc_header(const struct wat_capture *c, struct buf *out)
{
    char date[DATE_TEXT_BYTES];
    struct buf id = BUF_INIT;
    wat_name(out, SLICE_LIT("WARC-Header-Metadata"));
    buf_append_byte(out, '{');
    wat_string(out, "WARC-Type", slice_str(c->type));
    wat_string(out, "WARC-Date",
               slice_make(date, date_format_us(c->time_us, date)));
    if (c->id.len) {
        buf_printf(&id, "<%.*s>", SLICE_ARG(c->id));
        wat_string(out, "WARC-Record-ID", buf_slice(&id));
    }
    wat_string(out, "WARC-Target-URI", c->uri);
    wat_string(out, "WARC-IP-Address", c->ip);
    wat_string(out, "WARC-Payload-Digest", c->digest);
    if (c->head.len)
        wat_string(out, "Content-Type",
                   SLICE_LIT("application/http; msgtype=response"));
    wat_number(out, "Content-Length", c->head.len + c->body.len);
    buf_append_byte(out, '}');
    buf_close(&id);
}

void wat_put(struct wat_writer *w, const struct wat_capture *c, struct buf *out)
{
    PRE(w != NULL);
    buf_append_str(out, "{\"Container\":{");
    wat_string(out, "Filename", c->file);
    if (c->has_offset)
        wat_number(out, "Offset", c->offset);
    buf_append_str(out, "},\"Envelope\":{\"Format\":\"WARC\"");
    put_warc_header(c, out);
    buf_append_str(out, ",\"Payload-Metadata\":{");
    if (c->head.len) {
        wat_string(out, "Actual-Content-Type",
                   SLICE_LIT("application/http; msgtype=response"));
        wat_number(out, "Actual-Content-Length", c->head.len + c->body.len);
    }
    put_response(w, c, out);
    buf_append_str(out, "}}}");
}
