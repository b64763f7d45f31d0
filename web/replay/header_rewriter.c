/* Header by header. A header that is not in the table of those that are kept is
 * put aside, so that one that nobody thought of reaches no browser.
 */
#include "web/replay/header_rewriter.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/core/panic.h"
#include "base/http/http.h"
#include "mapreduce/warc/archived_http.h"

#define PREFIX "X-Archive-Orig-"

enum header_rule {
    HEADER_ASIDE, /* X-Archive-Orig-NAME */
    HEADER_KEEP,
    HEADER_LINK,    /* Its value is a URL. */
    HEADER_REFRESH, /* "5; url=URL" */
    HEADER_LINKS,   /* "<URL>; rel=…, <URL>…" */
    HEADER_SKIP,    /* Made by the caller. */
};

static const struct {
    const char *name;
    enum header_rule rule;
} rules[] = {
    {"content-language", HEADER_KEEP}, {"content-disposition", HEADER_KEEP},
    {"content-range", HEADER_KEEP},    {"content-type", HEADER_SKIP},
    {"location", HEADER_LINK},         {"content-location", HEADER_LINK},
    {"refresh", HEADER_REFRESH},       {"link", HEADER_LINKS},
};

static enum header_rule rule_of(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(rules); i++)
        if (strcasecmp(name, rules[i].name) == 0)
            return rules[i].rule;
    return HEADER_ASIDE;
}

/* A name that HTTP allows, within @out. */
static bool take_name(struct slice name, char *out, size_t size)
{
    if (name.len == 0 || name.len >= size)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];
        if (c <= 0x20 || c >= 0x7f || strchr("()<>@,;:\\\"/[]?={}", c))
            return false;
    }
    memcpy(out, name.data, name.len);
    out[name.len] = '\0';
    return true;
}

/* A header's value is printable ASCII; in a URL the rest is escaped. */
static void put_printable(struct slice value, bool is_url, struct buf *out)
{
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.data[i];
        if (c >= 0x20 && c < 0x7f && !(is_url && c == ' '))
            buf_append_byte(out, (char)c);
        else if (is_url)
            buf_printf(out, "%%%02X", c);
        else
            buf_append_byte(out, '?');
    }
}

static void put_link(struct link_rewriter *links,
                     struct slice url,
                     enum replay_mod mod,
                     struct buf *out)
{
    struct buf text = BUF_INIT;
    link_rewrite(links, url, mod, &text);
    put_printable(buf_slice(&text), true, out);
    buf_close(&text);
}

static void put_refresh(struct link_rewriter *links,
                        struct slice value,
                        enum replay_mod mod,
                        struct buf *out)
{
    size_t at = 0;
    while (at + 4 <= value.len && strncasecmp(value.data + at, "url=", 4) != 0)
        at++;
    at = at + 4 <= value.len ? at + 4 : value.len;
    put_printable(slice_sub(value, 0, at), false, out);
    if (at < value.len)
        put_link(links, slice_sub(value, at, value.len), mod, out);
}

static void
put_links(struct link_rewriter *links, struct slice value, struct buf *out)
{
    while (value.len) {
        size_t begin = slice_find_byte(value, '<');
        size_t end =
            begin + slice_find_byte(slice_sub(value, begin, value.len), '>');
        if (end >= value.len)
            break;
        put_printable(slice_sub(value, 0, begin + 1), false, out);
        put_link(links, slice_sub(value, begin + 1, end), REPLAY_MOD_OE, out);
        value = slice_sub(value, end, value.len);
    }
    put_printable(value, false, out);
}

static void put_header(struct link_rewriter *links,
                       const struct http_header *h,
                       enum replay_mod mod,
                       struct http_reply *reply)
{
    char name[80] = PREFIX;
    const size_t n = sizeof(PREFIX) - 1;
    struct buf value = BUF_INIT;
    const char *as = name + n;
    if (!take_name(h->name, name + n, sizeof(name) - n))
        return;
    switch (rule_of(as)) {
    case HEADER_SKIP: return;
    case HEADER_KEEP: put_printable(h->value, false, &value); break;
    case HEADER_LINK: put_link(links, h->value, mod, &value); break;
    case HEADER_REFRESH: put_refresh(links, h->value, mod, &value); break;
    case HEADER_LINKS:
        put_links(links, h->value, &value);
        as = name;
        break;
    case HEADER_ASIDE:
        put_printable(h->value, false, &value);
        as = name;
        break;
    }
    if (reply->headers.len + strlen(as) + value.len <= HEADER_BYTES_MAX)
        http_reply_header(reply, as, buf_cstr(&value));
    buf_close(&value);
}

void headers_rewrite(struct link_rewriter *links,
                     struct slice head,
                     enum replay_mod mod,
                     struct http_reply *reply)
{
    struct http_message *m = mem_alloc(sizeof(*m));
    struct buf text = BUF_INIT;
    buf_append_slice(&text, head);
    buf_append_str(&text, "\r\n\r\n");
    if (http_parse(buf_slice(&text), m))
        for (size_t i = 0; i < m->header_count; i++)
            put_header(links, &m->headers[i], mod, reply);
    buf_close(&text);
    mem_free(m);
}
