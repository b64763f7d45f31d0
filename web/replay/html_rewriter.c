/* Links in HTML, by element and attribute. The tokenizer passes the page piece
 * by piece; bytes that are no link are copied as they came, because browsers
 * give odd markup a meaning that a parser and printer would lose.
 */
#include "web/replay/html_rewriter.h"

#include <string.h>
#include <strings.h>

#include "base/core/hex.h"
#include "base/core/macros.h"
#include "mapreduce/warc/html_token.h"
#include "web/replay/css_rewriter.h"
#include "web/replay/html_handler.h"
#include "web/replay/js_rewriter.h"

/* The links of elements, and what they are for. "*" is any element. */
static const struct link_attribute {
    const char *element;
    const char *attribute;
    enum replay_mod mod;
} link_attributes[] = {
    {"*", "href", REPLAY_MOD_MP},
    {"*", "src", REPLAY_MOD_OE},
    {"*", "action", REPLAY_MOD_MP},
    {"*", "formaction", REPLAY_MOD_MP},
    {"*", "cite", REPLAY_MOD_MP},
    {"*", "longdesc", REPLAY_MOD_MP},
    {"*", "background", REPLAY_MOD_IM},
    {"*", "poster", REPLAY_MOD_IM},
    {"*", "icon", REPLAY_MOD_IM},
    {"*", "lowsrc", REPLAY_MOD_IM},
    {"*", "xlink:href", REPLAY_MOD_OE},
    {"a", "xlink:href", REPLAY_MOD_MP},
    {"applet", "codebase", REPLAY_MOD_OE},
    {"applet", "archive", REPLAY_MOD_OE},
    {"object", "codebase", REPLAY_MOD_OE},
    {"object", "data", REPLAY_MOD_OE},
    {"html", "manifest", REPLAY_MOD_OE},
    {"image", "href", REPLAY_MOD_IM},
    {"image", "src", REPLAY_MOD_IM},
    {"image", "xlink:href", REPLAY_MOD_IM},
    {"img", "src", REPLAY_MOD_IM},
    {"input", "src", REPLAY_MOD_IM},
    {"iframe", "src", REPLAY_MOD_IF},
    {"frame", "src", REPLAY_MOD_FR},
    {"link", "href", REPLAY_MOD_OE},
    {"script", "src", REPLAY_MOD_JS},
    {"script", "href", REPLAY_MOD_JS},
    {"script", "xlink:href", REPLAY_MOD_JS},
    {"use", "href", REPLAY_MOD_IM},
    {"use", "xlink:href", REPLAY_MOD_IM},
};

/* Attributes that are kept under another name, which means nothing. */
static const char *const put_aside[] = {"integrity", "nonce", "crossorigin",
                                        "referrerpolicy"};

/* The contents of a <script>. */
enum script_kind {
    SCRIPT_OTHER, /* Data, templates. */
    SCRIPT_CLASSIC,
    SCRIPT_MODULE,
};

struct html_rewriter {
    const struct html_rewrite_options *opts;
    struct byte_sink *out;
    struct buf value; /* Of the attribute at hand, references decoded. */
    struct slice tag; /* Its bytes. */
    size_t copied;    /* Of those, what is in the output. */
    bool has_head;    /* opts->head_insert is written. */
    bool has_base;
    enum script_kind script; /* Of the last <script>. */
};

/* --- attribute values ---------------------------------------------------- */

static const struct {
    const char *reference;
    char c;
} named[] = {{"&colon;", ':'}, {"&sol;", '/'},     {"&period;", '.'},
             {"&num;", '#'},   {"&quest;", '?'},   {"&equals;", '='},
             {"&Tab;", '\t'},  {"&NewLine;", '\n'}};

/* The ASCII character of "&#…;" at the front of @s, and its length; 0: it is
 * another one, or stands for what may not stand in an attribute. */
static char numeric_reference(struct slice s, size_t *length)
{
    bool is_hex = s.len > 2 && (s.data[2] | 0x20) == 'x';
    size_t i = is_hex ? 3 : 2;
    size_t first = i;
    unsigned code = 0;
    for (; i < s.len && i - first < 8; i++) {
        int digit = hex_value(s.data[i]);
        if (digit < 0 || (!is_hex && digit > 9))
            break;
        code = code * (is_hex ? 16 : 10) + (unsigned)digit;
        if (code >= 0x7f)
            return '\0';
    }
    if (i == first || code == 0 || strchr("\"'&<>", (char)code))
        return '\0';
    *length = i + (i < s.len && s.data[i] == ';');
    return (char)code;
}

static char reference_at(struct slice s, size_t *length)
{
    if (s.len > 2 && s.data[1] == '#')
        return numeric_reference(s, length);
    for (size_t i = 0; i < ARRAY_LEN(named); i++)
        if (slice_starts_with(s, slice_str(named[i].reference))) {
            *length = strlen(named[i].reference);
            return named[i].c;
        }
    return '\0';
}

/* @value with those references decoded that hide a link ("&#104;ttp:").
 * Those of quotes, brackets and "&" stay as written. */
static struct slice decode_value(struct html_rewriter *r, struct slice value)
{
    buf_clear(&r->value);
    if (slice_find_byte(value, '&') == value.len)
        return value;
    for (size_t i = 0; i < value.len;) {
        size_t n = 1;
        char c = value.data[i];
        if (c == '&')
            c = reference_at(slice_sub(value, i, value.len), &n);
        buf_append_byte(&r->value, c ? c : '&');
        i += c ? n : 1;
    }
    return buf_slice(&r->value);
}

/* Write the tag up to the value of @a, and an opening quote if it had none. */
static void begin_value(struct html_rewriter *r, const struct html_attribute *a)
{
    size_t at = (size_t)(a->value.data - r->tag.data);
    byte_sink_put(r->out, slice_sub(r->tag, r->copied, at));
    r->copied = at + a->value.len;
    if (!a->quote)
        buf_append_byte(&r->out->pending, '"');
}

/* Close the value that begins at @from of the pending bytes. One without quotes
 * has got some: what would end it is escaped. */
static void end_value(struct html_rewriter *r,
                      const struct html_attribute *a,
                      struct slice text)
{
    struct buf *out = &r->out->pending;
    if (a->quote) {
        buf_append_slice(out, text);
        return;
    }
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] == '"')
            buf_append_str(out, "&quot;");
        else
            buf_append_byte(out, text.data[i]);
    buf_append_byte(out, '"');
}

static void put_value(struct html_rewriter *r,
                      const struct html_attribute *a,
                      struct slice text)
{
    begin_value(r, a);
    end_value(r, a, text);
    byte_sink_check(r->out);
}

/* --- kinds of values ----------------------------------------------------- */

static void put_link(struct html_rewriter *r,
                     const struct html_attribute *a,
                     enum replay_mod mod)
{
    struct buf text = BUF_INIT;
    link_rewrite(r->opts->links, decode_value(r, a->value), mod, &text);
    put_value(r, a, buf_slice(&text));
    buf_close(&text);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

/* The length of a candidate's URL; its commas at the end are not of it. */
static size_t candidate_url(struct slice s, bool *ends)
{
    size_t n = 0;
    while (n < s.len && !is_blank(s.data[n]))
        n++;
    *ends = n && s.data[n - 1] == ',';
    while (n && s.data[n - 1] == ',')
        n--;
    return n;
}

/* Up to the comma behind a candidate's descriptors. */
static size_t descriptors_length(struct slice s)
{
    bool in_parentheses = false;
    size_t n = 0;
    for (; n < s.len; n++)
        if (s.data[n] == '(')
            in_parentheses = true;
        else if (s.data[n] == ')')
            in_parentheses = false;
        else if (s.data[n] == ',' && !in_parentheses)
            break;
    return n;
}

/* srcset="a.png 1x, b.png 2x" */
static void put_srcset(struct html_rewriter *r, const struct html_attribute *a)
{
    struct slice s = decode_value(r, a->value);
    struct buf text = BUF_INIT;
    while (s.len) {
        bool ends;
        size_t n = 0;
        while (n < s.len && (is_blank(s.data[n]) || s.data[n] == ','))
            n++;
        buf_append(&text, s.data, n);
        s = slice_sub(s, n, s.len);
        n = candidate_url(s, &ends);
        link_rewrite(r->opts->links, slice_sub(s, 0, n), REPLAY_MOD_IM, &text);
        s = slice_sub(s, n, s.len);
        n = ends ? 0 : descriptors_length(s);
        buf_append(&text, s.data, n);
        s = slice_sub(s, n, s.len);
    }
    put_value(r, a, buf_slice(&text));
    buf_close(&text);
}

/* content="5; url=http://host/" */
static void put_refresh(struct html_rewriter *r, const struct html_attribute *a)
{
    struct slice s = decode_value(r, a->value);
    struct buf text = BUF_INIT;
    size_t at = 0;
    size_t end;
    while (at < s.len && s.data[at] != ';' && s.data[at] != ',')
        at++;
    while (at < s.len &&
           (is_blank(s.data[at]) || s.data[at] == ';' || s.data[at] == ','))
        at++;
    if (s.len - at > 3 && strncasecmp(s.data + at, "url", 3) == 0) {
        at += 3;
        while (at < s.len && (is_blank(s.data[at]) || s.data[at] == '='))
            at++;
    }
    end = s.len;
    if (at < s.len && (s.data[at] == '"' || s.data[at] == '\'')) {
        size_t n = slice_find_byte(slice_sub(s, at + 1, s.len), s.data[at]);
        at++;
        end = MIN_OF(at + n, s.len);
    }
    buf_append(&text, s.data, at);
    link_rewrite(r->opts->links, slice_sub(s, at, end), REPLAY_MOD_MP, &text);
    buf_append(&text, s.data + end, s.len - end);
    put_value(r, a, buf_slice(&text));
    buf_close(&text);
}

static void put_style(struct html_rewriter *r, const struct html_attribute *a)
{
    struct byte_sink text = {.pending = BUF_INIT};
    css_rewrite(r->opts->links, a->value, true, &text);
    put_value(r, a, buf_slice(&text.pending));
    buf_close(&text.pending);
}

/* The script of an event handler, or behind "javascript:". Values with
 * character references that are not known stay as they are. */
static void put_handler(struct html_rewriter *r, const struct html_attribute *a)
{
    const struct js_rewrite_options js = {.links = r->opts->links,
                                          .module_url = r->opts->module_url,
                                          .is_attribute = true};
    struct buf text = BUF_INIT;
    if (html_handler_rewrite(&js, a->value, &text))
        put_value(r, a, buf_slice(&text));
    buf_close(&text);
}

/* _top is the archive's page around this one; new windows are not allowed. */
static void put_target(struct html_rewriter *r, const struct html_attribute *a)
{
    if (html_name_is(a->value, "_top") || html_name_is(a->value, "_parent") ||
        html_name_is(a->value, "_blank"))
        put_value(r, a, SLICE_LIT("_self"));
}

/* Write the tag up to the name of @a, and an underscore before it. */
static void put_attribute_aside(struct html_rewriter *r,
                                const struct html_attribute *a)
{
    size_t at = (size_t)(a->name.data - r->tag.data);
    byte_sink_put(r->out, slice_sub(r->tag, r->copied, at));
    buf_append_byte(&r->out->pending, '_');
    r->copied = at;
}

/* --- elements ------------------------------------------------------------ */

/* The facts of an element that decide how its attributes are written. */
struct html_element {
    struct slice name;
    struct slice rel; /* Of <link>. */
    struct slice as;  /* Of <link rel=preload>. */
    enum script_kind script;
    bool is_refresh;  /* <meta http-equiv=refresh> */
    bool is_policy;   /* <meta http-equiv=content-security-policy> */
    bool is_referrer; /* <meta name=referrer> */
};

static enum script_kind script_of_type(struct slice type)
{
    type = slice_trim(type);
    if (html_name_is(type, "module"))
        return SCRIPT_MODULE;
    return type.len == 0 || js_is_type(type) ? SCRIPT_CLASSIC : SCRIPT_OTHER;
}

static void note_script(const struct html_token *token, struct html_element *e)
{
    struct slice rest = token->attributes;
    struct html_attribute a;
    e->script = SCRIPT_CLASSIC;
    while (html_attribute_next(&rest, &a))
        if (html_name_is(a.name, "type"))
            e->script = script_of_type(a.value);
}

static void note_element(const struct html_token *token, struct html_element *e)
{
    struct slice rest = token->attributes;
    struct html_attribute a;
    *e = (struct html_element){.name = token->name};
    if (html_name_is(e->name, "script"))
        note_script(token, e);
    if (!html_name_is(e->name, "meta") && !html_name_is(e->name, "link"))
        return;
    while (html_attribute_next(&rest, &a)) {
        struct slice value = slice_trim(a.value);
        if (html_name_is(a.name, "rel"))
            e->rel = value;
        else if (html_name_is(a.name, "as"))
            e->as = value;
        else if (html_name_is(a.name, "name"))
            e->is_referrer = html_name_is(value, "referrer");
        else if (html_name_is(a.name, "http-equiv")) {
            e->is_refresh = html_name_is(value, "refresh");
            e->is_policy =
                html_name_is(value, "content-security-policy") ||
                html_name_is(value, "content-security-policy-report-only") ||
                html_name_is(value, "x-frame-options");
        }
    }
}

static bool has_word(struct slice words, const char *lower)
{
    while (words.len) {
        size_t n = 0;
        while (n < words.len && !is_blank(words.data[n]))
            n++;
        if (html_name_is(slice_sub(words, 0, n), lower))
            return true;
        words = slice_sub(words, n + 1, words.len);
    }
    return false;
}

/* The use of a <link>'s file. */
static enum replay_mod mod_of_link(const struct html_element *e)
{
    if (has_word(e->rel, "stylesheet") || html_name_is(e->as, "style"))
        return REPLAY_MOD_CS;
    if (has_word(e->rel, "modulepreload"))
        return REPLAY_MOD_ESM;
    if (html_name_is(e->as, "script"))
        return REPLAY_MOD_JS;
    if (has_word(e->rel, "icon") || html_name_is(e->as, "image"))
        return REPLAY_MOD_IM;
    if (has_word(e->rel, "canonical") || has_word(e->rel, "alternate") ||
        has_word(e->rel, "next") || has_word(e->rel, "prev"))
        return REPLAY_MOD_MP;
    return REPLAY_MOD_OE;
}

/* The use of a link in attribute @name of @e; false: it holds none. Entries of
 * one element stand behind those of any. */
static bool
mod_of(const struct html_element *e, struct slice name, enum replay_mod *mod)
{
    bool found = false;
    for (size_t i = 0; i < ARRAY_LEN(link_attributes); i++) {
        const struct link_attribute *l = &link_attributes[i];
        if (!html_name_is(name, l->attribute) ||
            (*l->element != '*' && !html_name_is(e->name, l->element)))
            continue;
        *mod = l->mod;
        found = true;
    }
    if (found && html_name_is(e->name, "link"))
        *mod = mod_of_link(e);
    if (found && e->script == SCRIPT_MODULE)
        *mod = REPLAY_MOD_ESM;
    return found;
}

static bool is_put_aside(const struct html_element *e, struct slice name)
{
    if (e->is_policy && html_name_is(name, "http-equiv"))
        return true;
    if (e->is_referrer && html_name_is(name, "content"))
        return html_name_is(e->name, "meta");
    for (size_t i = 0; i < ARRAY_LEN(put_aside); i++)
        if (html_name_is(name, put_aside[i]))
            return true;
    return false;
}

static bool begins_with_url(struct slice s)
{
    return slice_starts_with(s, SLICE_LIT("http://")) ||
           slice_starts_with(s, SLICE_LIT("https://")) ||
           slice_starts_with(s, SLICE_LIT("//"));
}

/* Attributes that hold no link by their element. */
static void rewrite_other(struct html_rewriter *r,
                          const struct html_element *e,
                          const struct html_attribute *a)
{
    if (html_name_is(a->name, "srcset") || html_name_is(a->name, "imagesrcset"))
        put_srcset(r, a);
    else if (html_name_is(a->name, "style"))
        put_style(r, a);
    else if (html_name_is(a->name, "target"))
        put_target(r, a);
    else if (e->is_refresh && html_name_is(a->name, "content"))
        put_refresh(r, a);
    else if (r->opts->module_url && a->name.len > 2 &&
             strncasecmp(a->name.data, "on", 2) == 0)
        put_handler(r, a);
    else if (a->name.len > 5 && strncasecmp(a->name.data, "data-", 5) == 0 &&
             begins_with_url(a->value))
        put_link(r, a, REPLAY_MOD_MP);
}

static void rewrite_attribute(struct html_rewriter *r,
                              const struct html_element *e,
                              const struct html_attribute *a)
{
    enum replay_mod mod;
    bool is_base =
        html_name_is(e->name, "base") && html_name_is(a->name, "href");
    if (is_put_aside(e, a->name)) {
        put_attribute_aside(r, a);
    } else if (!a->has_value) {
        return;
    } else if (mod_of(e, a->name, &mod)) {
        if (is_base && !r->has_base) {
            r->has_base = true;
            link_rewriter_base(r->opts->links, decode_value(r, a->value));
        }
        if (r->opts->module_url && html_handler_is_script(a->value))
            put_handler(r, a);
        else
            put_link(r, a, mod);
    } else {
        rewrite_other(r, e, a);
    }
}

static void rewrite_tag(struct html_rewriter *r, const struct html_token *token)
{
    struct slice rest = token->attributes;
    struct html_attribute a;
    struct html_element e;
    note_element(token, &e);
    r->tag = token->bytes;
    r->copied = 0;
    r->script = e.script;
    while (html_attribute_next(&rest, &a))
        rewrite_attribute(r, &e, &a);
    byte_sink_put(r->out, slice_sub(r->tag, r->copied, r->tag.len));
}

/* --- the page ------------------------------------------------------------ */

static void put_head(struct html_rewriter *r)
{
    if (!r->has_head)
        byte_sink_put(r->out, r->opts->head_insert);
    r->has_head = true;
}

static bool is_text_of_page(struct slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!is_blank(s.data[i]) && (unsigned char)s.data[i] < 0x80)
            return true;
    return false;
}

static void put_start(struct html_rewriter *r, const struct html_token *token)
{
    bool is_head = html_name_is(token->name, "head");
    if (!is_head && !html_name_is(token->name, "html"))
        put_head(r);
    rewrite_tag(r, token);
    if (is_head)
        put_head(r);
}

static void put_raw(struct html_rewriter *r, const struct html_token *token)
{
    const struct js_rewrite_options js = {.links = r->opts->links,
                                          .module_url = r->opts->module_url,
                                          .is_module =
                                              r->script == SCRIPT_MODULE};
    if (html_name_is(token->name, "style"))
        css_rewrite(r->opts->links, token->bytes, false, r->out);
    else if (js.module_url && r->script != SCRIPT_OTHER &&
             html_name_is(token->name, "script"))
        js_rewrite(&js, token->bytes, r->out);
    else
        byte_sink_put(r->out, token->bytes);
}

static void put_token(struct html_rewriter *r, const struct html_token *token)
{
    switch (token->kind) {
    case HTML_TOKEN_START: put_start(r, token); break;
    case HTML_TOKEN_RAW: put_raw(r, token); break;
    case HTML_TOKEN_TEXT:
        if (is_text_of_page(token->bytes))
            put_head(r);
        byte_sink_put(r->out, token->bytes);
        break;
    case HTML_TOKEN_END:
    case HTML_TOKEN_COMMENT: byte_sink_put(r->out, token->bytes); break;
    }
}

void html_rewrite(const struct html_rewrite_options *opts,
                  struct slice html,
                  struct byte_sink *out)
{
    struct html_rewriter r = {.opts = opts, .out = out};
    struct html_tokens tokens = {.html = html, .raw = SLICE_EMPTY};
    struct html_token token;
    while (out->rc == 0 && html_token_next(&tokens, &token))
        put_token(&r, &token);
    buf_close(&r.value);
}
