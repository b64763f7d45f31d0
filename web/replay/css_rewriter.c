/* A scanner of CSS that stops only at what may hold a link. It knows comments
 * and strings, because a url(…) inside of them is none.
 */
#include "web/replay/css_rewriter.h"

#include <string.h>
#include <strings.h>

#include "base/core/macros.h"

struct css_scan {
    struct link_rewriter *links;
    struct slice css;
    size_t at;
    size_t copied; /* Bytes before it are in the output. */
    bool is_attribute;
    struct byte_sink *out;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

static bool css_has(const struct css_scan *s, size_t at, const char *lower)
{
    size_t n = strlen(lower);
    return s->css.len - at >= n && strncasecmp(s->css.data + at, lower, n) == 0;
}

static size_t css_skip_blanks(const struct css_scan *s, size_t at)
{
    while (at < s->css.len && is_blank(s->css.data[at]))
        at++;
    return at;
}

/* The quote at @at, a byte or a reference: its length, or 0. */
static size_t css_quote(const struct css_scan *s, size_t at)
{
    static const char *const references[] = {"&quot;", "&#34;", "&#x22;",
                                             "&apos;", "&#39;", "&#x27;"};
    if (at >= s->css.len)
        return 0;
    if (s->css.data[at] == '"' || s->css.data[at] == '\'')
        return 1;
    for (size_t i = 0; s->is_attribute && i < ARRAY_LEN(references); i++)
        if (css_has(s, at, references[i]))
            return strlen(references[i]);
    return 0;
}

/* The end of a string that began with the @n bytes before @at: where its other
 * quote begins, or a line that ends without it. */
static size_t css_string_end(const struct css_scan *s, size_t at, size_t n)
{
    const char *quote = s->css.data + at - n;
    for (; at < s->css.len; at++) {
        char c = s->css.data[at];
        if (c == '\\' && at + 1 < s->css.len)
            at++;
        else if (c == '\n' || (s->css.len - at >= n &&
                               memcmp(s->css.data + at, quote, n) == 0))
            break;
    }
    return at;
}

/* The end of an unquoted url(). */
static size_t css_bare_end(const struct css_scan *s, size_t at)
{
    for (; at < s->css.len; at++) {
        char c = s->css.data[at];
        if (c == '\\' && at + 1 < s->css.len)
            at++;
        else if (c == ')' || is_blank(c))
            break;
    }
    return at;
}

/* Write what is before @begin, and the link [begin, end) rewritten. */
static void
css_put_link(struct css_scan *s, size_t begin, size_t end, enum replay_mod mod)
{
    byte_sink_put(s->out, slice_sub(s->css, s->copied, begin));
    link_rewrite(s->links, slice_sub(s->css, begin, end), mod,
                 &s->out->pending);
    byte_sink_check(s->out);
    s->copied = s->at = end;
}

/* A link in quotes at s->at, if there is one. */
static bool css_quoted_link(struct css_scan *s, enum replay_mod mod)
{
    size_t n = css_quote(s, s->at);
    size_t begin = s->at + n;
    if (n == 0)
        return false;
    css_put_link(s, begin, css_string_end(s, begin, n), mod);
    s->at = MIN_OF(s->at + n, s->css.len);
    return true;
}

/* Behind "url(". */
static void css_url(struct css_scan *s, enum replay_mod mod)
{
    s->at = css_skip_blanks(s, s->at);
    if (!css_quoted_link(s, mod))
        css_put_link(s, s->at, css_bare_end(s, s->at), mod);
}

/* Behind "@import". */
static void css_import(struct css_scan *s)
{
    s->at = css_skip_blanks(s, s->at);
    if (css_has(s, s->at, "url(")) {
        s->at += 4;
        css_url(s, REPLAY_MOD_CS);
    } else {
        (void)css_quoted_link(s, REPLAY_MOD_CS);
    }
}

static void css_comment(struct css_scan *s)
{
    size_t at = s->at + 2;
    while (at < s->css.len) {
        at += slice_find_byte(slice_sub(s->css, at, s->css.len), '*') + 1;
        if (at < s->css.len && s->css.data[at] == '/')
            break;
    }
    s->at = MIN_OF(at + 1, s->css.len);
}

static bool is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '-' || c == '_' || (c & 0x80);
}

static void css_step(struct css_scan *s)
{
    char c = s->css.data[s->at];
    size_t n;
    if (c == '/' && css_has(s, s->at, "/*")) {
        css_comment(s);
    } else if (c == '@' && css_has(s, s->at, "@import")) {
        s->at += 7;
        css_import(s);
    } else if ((c == 'u' || c == 'U') && css_has(s, s->at, "url(") &&
               (s->at == 0 || !is_name_byte(s->css.data[s->at - 1]))) {
        s->at += 4;
        css_url(s, REPLAY_MOD_OE);
    } else if ((n = css_quote(s, s->at)) > 0) {
        s->at = MIN_OF(css_string_end(s, s->at + n, n) + n, s->css.len);
    } else if (c == '\\') {
        s->at = MIN_OF(s->at + 2, s->css.len);
    } else {
        s->at++;
    }
}

void css_rewrite(struct link_rewriter *links,
                 struct slice css,
                 bool is_attribute,
                 struct byte_sink *out)
{
    struct css_scan s = {
        .links = links, .css = css, .is_attribute = is_attribute, .out = out};
    while (s.at < css.len && out->rc == 0)
        css_step(&s);
    byte_sink_put(out, slice_sub(css, s.copied, css.len));
}
