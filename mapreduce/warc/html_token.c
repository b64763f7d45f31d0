/* The tokenizer: tags by their brackets and quotes, raw text by its end tag, so
 * that a page can be rewritten and written again byte for byte. */
#include "mapreduce/warc/html_token.h"

#include <string.h>
#include <strings.h>

#include "base/core/macros.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool html_name_is(struct slice name, const char *lower)
{
    /* Most names differ in the first byte. */
    return name.len && (name.data[0] | 0x20) == (lower[0] | 0x20) &&
           name.len == strlen(lower) &&
           strncasecmp(name.data, lower, name.len) == 0;
}

/* --- attributes ---------------------------------------------------------- */

static void skip_blanks(struct slice *s)
{
    while (s->len && is_blank(s->data[0]))
        *s = slice_sub(*s, 1, s->len);
}

static struct slice html_token_take(struct slice *s, size_t n)
{
    struct slice taken = slice_sub(*s, 0, n);
    *s = slice_sub(*s, n, s->len);
    return taken;
}

/* The first byte may be anything, an equals sign too. */
static size_t name_length(struct slice s)
{
    size_t n = 1;
    while (n < s.len && !is_blank(s.data[n]) && s.data[n] != '=' &&
           s.data[n] != '/' && s.data[n] != '>')
        n++;
    return n;
}

static void take_value(struct slice *rest, struct html_attribute *out)
{
    size_t n = 0;
    skip_blanks(rest);
    out->has_value = true;
    out->quote = rest->len ? rest->data[0] : '\0';
    if (out->quote != '"' && out->quote != '\'') {
        out->quote = '\0';
        while (n < rest->len && !is_blank(rest->data[n]) &&
               rest->data[n] != '>')
            n++;
        out->value = html_token_take(rest, n);
        return;
    }
    (void)html_token_take(rest, 1);
    out->value = html_token_take(rest, slice_find_byte(*rest, out->quote));
    (void)html_token_take(rest, 1);
}

bool html_attribute_next(struct slice *rest, struct html_attribute *out)
{
    struct slice behind;
    while (rest->len && (is_blank(rest->data[0]) || rest->data[0] == '/'))
        *rest = slice_sub(*rest, 1, rest->len);
    *out = (struct html_attribute){.value = SLICE_EMPTY};
    if (rest->len == 0 || rest->data[0] == '>')
        return false;
    out->name = html_token_take(rest, name_length(*rest));
    behind = *rest;
    skip_blanks(&behind);
    if (behind.len && behind.data[0] == '=') {
        *rest = slice_sub(behind, 1, behind.len);
        take_value(rest, out);
    }
    return true;
}

/* --- raw text ------------------------------------------------------------ */

static bool is_raw(struct slice name)
{
    static const char *const raw[] = {"script",  "style",   "textarea",
                                      "title",   "xmp",     "iframe",
                                      "noembed", "noframes"};
    for (size_t i = 0; i < ARRAY_LEN(raw); i++)
        if (html_name_is(name, raw[i]))
            return true;
    return false;
}

/* Is it "</name" or "<name", as @opening says, at @p? */
static bool is_tag_of(struct slice s, struct slice name)
{
    return s.len > name.len && strncasecmp(s.data, name.data, name.len) == 0 &&
           (is_blank(s.data[name.len]) || s.data[name.len] == '/' ||
            s.data[name.len] == '>');
}

/* The length of the raw text at the front of @s: up to the end tag, or all. In
 * a script, <!-- <script> … </script> --> does not end it. */
static size_t raw_length(struct slice s, struct slice name)
{
    bool is_script = html_name_is(name, "script");
    bool in_comment = false;
    bool is_nested = false;
    for (size_t i = 0; i < s.len; i++) {
        struct slice rest = slice_sub(s, i, s.len);
        if (s.data[i] == '-' && slice_starts_with(rest, SLICE_LIT("-->")))
            in_comment = is_nested = false;
        if (s.data[i] != '<')
            continue;
        if (is_script && slice_starts_with(rest, SLICE_LIT("<!--")))
            in_comment = true;
        else if (in_comment && is_tag_of(slice_sub(rest, 1, rest.len), name))
            is_nested = true;
        else if (rest.len > 1 && rest.data[1] == '/' &&
                 is_tag_of(slice_sub(rest, 2, rest.len), name)) {
            if (!is_nested)
                return i;
            is_nested = false;
        }
    }
    return s.len;
}

/* --- tokens -------------------------------------------------------------- */

static bool starts_markup(struct slice s)
{
    if (s.len < 2 || s.data[0] != '<')
        return false;
    return is_letter(s.data[1]) || s.data[1] == '!' || s.data[1] == '?' ||
           s.data[1] == '/';
}

static size_t text_length(struct slice s)
{
    size_t n = 0;
    while (n < s.len) {
        n += slice_find_byte(slice_sub(s, n, s.len), '<');
        if (n == s.len || starts_markup(slice_sub(s, n, s.len)))
            break;
        n++;
    }
    return n;
}

static size_t comment_length(struct slice s)
{
    const char *end;
    struct slice rest = slice_sub(s, 4, s.len);
    if (!slice_starts_with(s, SLICE_LIT("<!--")))
        return MIN_OF(slice_find_byte(s, '>') + 1, s.len);
    if (slice_starts_with(rest, SLICE_LIT(">")))
        return 5;
    if (slice_starts_with(rest, SLICE_LIT("->")))
        return 6;
    for (size_t i = 4; i < s.len; i++) {
        end = memchr(s.data + i, '>', s.len - i);
        if (!end)
            break;
        i = (size_t)(end - s.data);
        if (i >= 6 && memcmp(end - 2, "--", 2) == 0)
            return i + 1;
        if (i >= 7 && memcmp(end - 3, "--!", 3) == 0)
            return i + 1;
    }
    return s.len;
}

/* A tag at the front of @s. False: it has no end, and is text to browsers. */
static bool take_tag(struct slice s, size_t name_at, struct html_token *out)
{
    size_t n = name_at;
    struct slice rest;
    struct html_attribute a;
    while (n < s.len && !is_blank(s.data[n]) && s.data[n] != '/' &&
           s.data[n] != '>')
        n++;
    out->name = slice_sub(s, name_at, n);
    rest = slice_sub(s, n, s.len);
    while (html_attribute_next(&rest, &a)) {
    }
    if (rest.len == 0)
        return false;
    out->attributes = slice_sub(s, n, (size_t)(rest.data - s.data));
    out->bytes = slice_sub(s, 0, (size_t)(rest.data - s.data) + 1);
    return true;
}

static void
take_markup(struct html_tokens *t, struct slice s, struct html_token *out)
{
    size_t name_at = s.data[1] == '/' ? 2 : 1;
    bool is_tag = s.len > name_at && is_letter(s.data[name_at]);
    out->kind = is_tag ? name_at == 2 ? HTML_TOKEN_END : HTML_TOKEN_START
                       : HTML_TOKEN_COMMENT;
    if (!is_tag) {
        out->bytes = slice_sub(s, 0, comment_length(s));
    } else if (!take_tag(s, name_at, out)) {
        out->kind = HTML_TOKEN_TEXT;
        out->bytes = s;
    } else if (out->kind == HTML_TOKEN_START && is_raw(out->name)) {
        t->raw = out->name;
    }
}

bool html_token_next(struct html_tokens *t, struct html_token *out)
{
    struct slice s = slice_sub(t->html, t->at, t->html.len);
    *out = (struct html_token){.kind = HTML_TOKEN_TEXT, .name = t->raw};
    if (s.len == 0)
        return false;
    if (t->raw.len) {
        out->kind = HTML_TOKEN_RAW;
        out->bytes = slice_sub(s, 0, raw_length(s, t->raw));
        t->raw = SLICE_EMPTY;
    }
    if (out->bytes.len == 0) {
        out->kind = HTML_TOKEN_TEXT;
        if (starts_markup(s))
            take_markup(t, s, out);
        else
            out->bytes = slice_sub(s, 0, text_length(s));
    }
    t->at += out->bytes.len;
    return true;
}
