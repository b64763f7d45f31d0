/* References of characters that scripts are written in, there and back: a
 * script is read as a browser reads the attribute, else strings would not be
 * found. */
#include "web/replay/html_handler.h"

#include <string.h>
#include <strings.h>

#include "base/core/hex.h"
#include "base/core/macros.h"

static const struct {
    const char *name;
    char c;
} references[] = {
    {"quot", '"'}, {"apos", '\''}, {"amp", '&'},    {"lt", '<'},
    {"gt", '>'},   {"lpar", '('},  {"rpar", ')'},   {"colon", ':'},
    {"semi", ';'}, {"sol", '/'},   {"period", '.'}, {"equals", '='},
    {"num", '#'},  {"comma", ','}, {"Tab", '\t'},   {"NewLine", '\n'},
};

static const char scheme[] = "javascript:";

bool html_handler_is_script(struct slice value)
{
    while (value.len && (unsigned char)value.data[0] <= ' ')
        value = slice_sub(value, 1, value.len);
    return value.len >= strlen(scheme) &&
           strncasecmp(value.data, scheme, strlen(scheme)) == 0;
}

/* The ASCII character of "#…", or -1. */
static int numeric_character(struct slice digits)
{
    bool is_hex = digits.len > 1 && (digits.data[1] | 0x20) == 'x';
    int code = 0;
    if (digits.len > 9 || digits.len < (is_hex ? 3u : 2u))
        return -1;
    for (size_t i = is_hex ? 2 : 1; i < digits.len; i++) {
        int digit = hex_value(digits.data[i]);
        if (digit < 0 || (!is_hex && digit > 9))
            return -1;
        code = code * (is_hex ? 16 : 10) + digit;
        if (code >= 0x80)
            return -1;
    }
    return code ? code : -1;
}

/* The character of the reference "NAME;" at the front of @s, and its length;
 * -1: it is none that is known, or not ended. */
static int reference_at(struct slice s, size_t *length)
{
    size_t end = slice_find_byte(slice_sub(s, 0, 16), ';');
    struct slice name = slice_sub(s, 0, end);
    *length = end + 1;
    if (end == MIN_OF(s.len, (size_t)16))
        return -1;
    if (name.len && name.data[0] == '#')
        return numeric_character(name);
    for (size_t i = 0; i < ARRAY_LEN(references); i++)
        if (slice_eq_str(name, references[i].name))
            return (unsigned char)references[i].c;
    return -1;
}

/* Append @value with its references decoded. False: one is not known. An "&"
 * that neither a letter nor "#" follows is itself. */
static bool decode_text(struct slice value, struct buf *out)
{
    for (size_t i = 0; i < value.len; i++) {
        struct slice rest = slice_sub(value, i + 1, value.len);
        char next = rest.len ? rest.data[0] : ' ';
        size_t n = 0;
        int c = (unsigned char)value.data[i];
        if (c == '&' && (next == '#' || (next >= 'a' && next <= 'z') ||
                         (next >= 'A' && next <= 'Z'))) {
            c = reference_at(rest, &n);
            if (c < 0)
                return false;
        }
        buf_append_byte(out, (char)c);
        i += n;
    }
    return true;
}

static void encode_text(struct slice text, struct buf *out)
{
    for (size_t i = 0; i < text.len; i++)
        switch (text.data[i]) {
        case '"': buf_append_str(out, "&quot;"); break;
        case '\'': buf_append_str(out, "&#39;"); break;
        case '&': buf_append_str(out, "&amp;"); break;
        case '<': buf_append_str(out, "&lt;"); break;
        default: buf_append_byte(out, text.data[i]);
        }
}

bool html_handler_rewrite(const struct js_rewrite_options *js,
                          struct slice value,
                          struct buf *out)
{
    struct buf text = BUF_INIT;
    struct byte_sink script = {.pending = BUF_INIT};
    struct slice rest;
    bool is_link = html_handler_is_script(value);
    bool changes = decode_text(value, &text);
    rest = buf_slice(&text);
    if (changes && is_link)
        rest = slice_sub(rest, slice_find_byte(rest, ':') + 1, rest.len);
    changes = changes && js_rewrite(js, rest, &script);
    if (changes) {
        buf_append_str(out, is_link ? scheme : "");
        encode_text(buf_slice(&script.pending), out);
    }
    buf_close(&text);
    buf_close(&script.pending);
    return changes;
}
