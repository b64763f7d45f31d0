/* Which links lead out of a page, and where to. A link is resolved against the
 * page's own address, not the archive's, which stands before it.
 */
#include "web/replay/link_rewriter.h"

#include <string.h>
#include <strings.h>

#include "base/core/macros.h"

/* The base stands in attributes and style sheets where a link stood: nothing of
 * it may end a string or a url(). */
static void put_harmless(struct buf *out, struct slice url)
{
    for (size_t i = 0; i < url.len; i++) {
        unsigned char c = (unsigned char)url.data[i];
        if (c <= 0x20 || c >= 0x7f || strchr("\"'()<>\\`", c))
            buf_printf(out, "%%%02X", c);
        else
            buf_append_byte(out, (char)c);
    }
}

static void set_base(struct link_rewriter *r, struct slice url)
{
    buf_clear(&r->base);
    put_harmless(&r->base, url);
    url_split(buf_slice(&r->base), &r->parts);
}

void link_rewriter_init(struct link_rewriter *r,
                        const char *prefix,
                        struct slice date,
                        struct slice url)
{
    *r = (struct link_rewriter){.prefix = prefix, .date = date};
    set_base(r, url);
}

void link_rewriter_close(struct link_rewriter *r)
{
    buf_close(&r->base);
    buf_close(&r->text);
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The bytes of a scheme at the front of @s, without its colon, or 0. */
static size_t link_scheme(struct slice s)
{
    size_t n = 0;
    while (n < s.len &&
           (is_letter(s.data[n]) ||
            (n && ((s.data[n] >= '0' && s.data[n] <= '9') || s.data[n] == '+' ||
                   s.data[n] == '-' || s.data[n] == '.'))))
        n++;
    return n < s.len && s.data[n] == ':' ? n : 0;
}

static bool is_web_scheme(struct slice s)
{
    static const char *const known[] = {"http", "https", "ftp"};
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (s.len == strlen(known[i]) &&
            strncasecmp(s.data, known[i], s.len) == 0)
            return true;
    return false;
}

/* @link without the blanks around it and the line ends and tabs in it. */
static struct slice link_tidy(struct link_rewriter *r, struct slice link)
{
    bool is_clean = true;
    link = slice_trim(link);
    for (size_t i = 0; is_clean && i < link.len; i++)
        is_clean = !strchr("\t\n\r", link.data[i]) || !link.data[i];
    if (is_clean)
        return link;
    buf_clear(&r->text);
    for (size_t i = 0; i < link.len; i++)
        if (link.data[i] != '\t' && link.data[i] != '\n' &&
            link.data[i] != '\r')
            buf_append_byte(&r->text, link.data[i]);
    return buf_slice(&r->text);
}

/* Does it lead to another resource of the web? */
static bool leads_out(struct slice link)
{
    size_t n = link_scheme(link);
    if (link.len == 0 || link.data[0] == '#' || link.data[0] == '{' ||
        slice_starts_with(link, SLICE_LIT("${")))
        return false;
    if (link.len > URL_BYTES_MAX)
        return false;
    return n == 0 || is_web_scheme(slice_sub(link, 0, n));
}

/* "http:/host" and "http:path" as browsers read them: with two slashes for
 * another scheme than the page's, else as a path of it. */
static void
put_target(struct link_rewriter *r, struct slice link, struct buf *out)
{
    size_t n = link_scheme(link);
    struct slice rest = slice_sub(link, n ? n + 1 : 0, link.len);
    if (n == 0 || slice_starts_with(rest, SLICE_LIT("//"))) {
        url_resolve(&r->parts, link, out);
    } else if (slice_eq(slice_sub(link, 0, n), r->parts.scheme)) {
        url_resolve(&r->parts, rest, out);
    } else {
        while (rest.len && rest.data[0] == '/')
            rest = slice_sub(rest, 1, rest.len);
        buf_append(out, link.data, n);
        buf_append_str(out, "://");
        buf_append_slice(out, rest);
    }
}

void link_rewriter_base(struct link_rewriter *r, struct slice url)
{
    struct buf resolved = BUF_INIT;
    struct url u;
    url = link_tidy(r, url);
    if (leads_out(url)) {
        put_target(r, url, &resolved);
        url_split(buf_slice(&resolved), &u);
        if (u.has_authority && u.host.len && is_web_scheme(u.scheme))
            set_base(r, buf_slice(&resolved));
    }
    buf_close(&resolved);
}

void link_rewrite(struct link_rewriter *r,
                  struct slice link,
                  enum replay_mod mod,
                  struct buf *out)
{
    struct slice tidy = link_tidy(r, link);
    if (!r->prefix || !leads_out(tidy)) {
        buf_append_slice(out, link);
        return;
    }
    buf_append_str(out, r->prefix);
    buf_append_slice(out, r->date);
    buf_append_str(out, replay_mod_name(mod));
    buf_append_byte(out, '/');
    put_target(r, tidy, out);
}
