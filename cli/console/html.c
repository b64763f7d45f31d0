/* The writer of HTML. All escaping is in html_text() and html_url_put_one(),
 * and nothing else takes text that is not a literal: a page cannot forget it.
 */
#include "cli/console/html.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/core/text.h"
#include "cli/console/assets.h"

void html__literal(struct html *h, const char *text, size_t len)
{
    buf_append(h->out, text, len);
}

/* --- text ---------------------------------------------------------------- */

/* The entity of @c, or NULL. */
static const char *html_entity(char c)
{
    switch (c) {
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '&': return "&amp;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return NULL;
    }
}

void html_text(struct html *h, struct slice s)
{
    const char *p = s.data;
    const char *end = s.data + s.len;
    while (p < end) {
        const char *entity = html_entity(*p);
        uint32_t code;
        size_t n = utf8_decode(p, end, &code);
        bool control = code < 0x20 && code != '\n' && code != '\t';
        if (entity)
            buf_append_str(h->out, entity);
        else if (control || code == 0x7f ||
                 (n == 1 && code == UTF8_REPLACEMENT))
            buf_append_str(h->out, "\xef\xbf\xbd");
        else
            buf_append(h->out, p, n);
        p += n;
    }
}

void html_str(struct html *h, const char *s)
{
    html_text(h, slice_str(s ? s : ""));
}

void html_printf(struct html *h, const char *fmt, ...)
{
    struct buf b = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&b, fmt, ap);
    va_end(ap);
    html_text(h, buf_slice(&b));
    buf_close(&b);
}

static void html_dump(struct html *h, const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT);
    html_str(h, text);
    free(text);
}

void html_json(struct html *h, const json_t *value)
{
    if (!value || json_is_null(value))
        return;
    if (json_is_string(value))
        html_text(
            h, slice_make(json_string_value(value), json_string_length(value)));
    else if (json_is_boolean(value))
        html_str(h, json_is_true(value) ? "yes" : "no");
    else if (json_is_integer(value))
        html_printf(h, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        html_printf(h, "%.6g", json_real_value(value));
    else
        html_dump(h, value);
}

void html_attr_slice(struct html *h, const char *name, struct slice value)
{
    buf_append_byte(h->out, ' ');
    buf_append_str(h->out, name);
    buf_append_str(h->out, "=\"");
    html_text(h, value);
    buf_append_byte(h->out, '"');
}

void html_attr(struct html *h, const char *name, const char *value)
{
    html_attr_slice(h, name, slice_str(value ? value : ""));
}

void html_attr_int(struct html *h, const char *name, int64_t value)
{
    char text[24];
    snprintf(text, sizeof(text), "%lld", (long long)value);
    html_attr(h, name, text);
}

/* --- URLs ---------------------------------------------------------------- */

static bool html_is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || (c && strchr("-._~:,", c));
}

/* A name that ends in ".json" would mean the page's twin: its dot is escaped.
 */
static void html_url_put_one(struct buf *out, const char *part)
{
    size_t len = strlen(part);
    const char *dot = len >= 5 && strcmp(part + len - 5, ".json") == 0
                          ? part + len - 5
                          : NULL;
    for (; *part; part++)
        if (html_is_plain(*part) && part != dot)
            buf_append_byte(out, *part);
        else
            buf_printf(out, "%%%02X", (unsigned char)*part);
}

static void html_url_vput(struct buf *out, const char *pattern, va_list ap)
{
    for (const char *p = pattern; *p; p++) {
        const char *part;
        if (p[0] != '{' || p[1] != '}') {
            buf_append_byte(out, *p);
            continue;
        }
        part = va_arg(ap, const char *);
        html_url_put_one(out, part ? part : "");
        p++;
    }
}

void html_url_put(struct buf *out, const char *pattern, ...)
{
    va_list ap;
    va_start(ap, pattern);
    html_url_vput(out, pattern, ap);
    va_end(ap);
}

void html_url(struct html *h, const char *name, const char *pattern, ...)
{
    struct buf b = BUF_INIT;
    va_list ap;
    va_start(ap, pattern);
    html_url_vput(&b, pattern, ap);
    va_end(ap);
    html_attr_slice(h, name, buf_slice(&b));
    buf_close(&b);
}

/* --- figures ------------------------------------------------------------- */

void html_count(struct html *h, int64_t n)
{
    if (n < 0)
        buf_append_byte(h->out, '-');
    text_put_count(h->out, n < 0 ? (uint64_t)0 - (uint64_t)n : (uint64_t)n);
}

void html_time(struct html *h, int64_t at_us)
{
    struct buf b = BUF_INIT;
    text_put_time(&b, at_us);
    html_lit(h, "<time");
    html_attr_slice(h, "datetime", buf_slice(&b));
    html_attr_int(h, "data-us", at_us);
    html_lit(h, ">");
    html_text(h, buf_slice(&b));
    html_lit(h, "</time>");
    buf_close(&b);
}

/* --- parts --------------------------------------------------------------- */

void html_form_token(struct html *h)
{
    html_lit(h, "<input type=\"hidden\" name=\"form_token\"");
    html_attr(h, "value", h->view->form_token);
    html_lit(h, ">");
}

void html_asset(struct html *h, const char *attribute, const char *name)
{
    const struct console_asset *a = console_asset_find(slice_str(name));
    PRE(a);
    html_url(h, attribute, "/assets/{}?v={}", name, a->digest);
}
