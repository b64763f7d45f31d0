/* Tokens of GoogleSQL, and the escapes in strings and quoted names. A token
 * borrows the query's text; its value is made only when the parser asks for
 * it. */
#include "bigtable/googlesql/gsql_lexer.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/core/buf.h"
#include "base/core/text.h"

static int byte_at(const struct gsql_lexer *l, size_t at)
{
    return at < l->text.len ? (unsigned char)l->text.data[at] : -1;
}

static bool is_name_start(int c)
{
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static bool is_name(int c)
{
    return is_name_start(c) || is_digit(c);
}

/* --- blanks -------------------------------------------------------------- */

static void skip_line(struct gsql_lexer *l)
{
    while (l->at < l->text.len && l->text.data[l->at] != '\n')
        l->at++;
}

/* False: a comment without an end, where the lexer stays. */
static bool skip_blanks(struct gsql_lexer *l)
{
    for (;;) {
        const int c = byte_at(l, l->at);
        const int next = byte_at(l, l->at + 1);
        if (c > 0 && isspace(c)) {
            l->at++;
        } else if (c == '#' || (c == '-' && next == '-')) {
            skip_line(l);
        } else if (c == '/' && next == '*') {
            size_t end = l->at + 2;
            while (byte_at(l, end) >= 0 &&
                   !(byte_at(l, end) == '*' && byte_at(l, end + 1) == '/'))
                end++;
            if (byte_at(l, end) < 0)
                return false;
            l->at = end + 2;
        } else {
            return true;
        }
    }
}

/* --- tokens -------------------------------------------------------------- */

static struct gsql_token
make_token(struct gsql_lexer *l, enum gsql_token_kind kind, size_t end)
{
    const struct gsql_token t = {
        .kind = kind, .text = slice_sub(l->text, l->at, end), .at = l->at};
    l->at = end;
    return t;
}

static struct gsql_token bad_token(struct gsql_lexer *l, const char *why)
{
    struct gsql_token t = make_token(l, GSQL_TOKEN_BAD, l->text.len);
    t.why = why;
    return t;
}

/* The end of what is quoted by @count times @mark, which begins at @at;
 * SIZE_MAX: there is none. */
static size_t
quoted_end(const struct gsql_lexer *l, size_t at, int mark, size_t count)
{
    for (at += count; at < l->text.len; at++) {
        const int c = byte_at(l, at);
        if (c == '\\') {
            at++;
        } else if (c == '\n' && count == 1) {
            return SIZE_MAX;
        } else if (c == mark && (count == 1 || (byte_at(l, at + 1) == mark &&
                                                byte_at(l, at + 2) == mark))) {
            return at + count;
        }
    }
    return SIZE_MAX;
}

static struct gsql_token string_token(struct gsql_lexer *l, size_t prefix)
{
    const size_t at = l->at + prefix;
    const int mark = byte_at(l, at);
    const size_t count =
        byte_at(l, at + 1) == mark && byte_at(l, at + 2) == mark ? 3 : 1;
    const size_t end = quoted_end(l, at, mark, count);
    struct gsql_token t;
    if (end == SIZE_MAX)
        return bad_token(l, "Unclosed string literal");
    t = make_token(l, GSQL_TOKEN_STRING, end);
    t.prefix = prefix;
    t.quote = count;
    for (size_t i = 0; i < prefix; i++) {
        t.is_bytes |= (t.text.data[i] | 0x20) == 'b';
        t.is_raw |= (t.text.data[i] | 0x20) == 'r';
    }
    return t;
}

/* Bytes of a string's prefix (b, r, br, rb) in front of a quotation mark;
 * SIZE_MAX: no string begins here. */
static size_t string_prefix(const struct gsql_lexer *l)
{
    bool b = false, r = false;
    for (size_t n = 0; n <= 2; n++) {
        const int c = byte_at(l, l->at + n);
        if (c == '\'' || c == '"')
            return n;
        if ((c | 0x20) == 'b' && c > 0 && !b)
            b = true;
        else if ((c | 0x20) == 'r' && c > 0 && !r)
            r = true;
        else
            break;
    }
    return SIZE_MAX;
}

static struct gsql_token number_token(struct gsql_lexer *l)
{
    size_t end = l->at;
    enum gsql_token_kind kind = GSQL_TOKEN_INTEGER;
    if (byte_at(l, end) == '0' && (byte_at(l, end + 1) | 0x20) == 'x' &&
        isxdigit(byte_at(l, end + 2) & 0xff)) {
        for (end += 2; isxdigit(byte_at(l, end) & 0xff);)
            end++;
        return make_token(l, kind, end);
    }
    while (is_digit(byte_at(l, end)))
        end++;
    if (byte_at(l, end) == '.') {
        kind = GSQL_TOKEN_FLOAT;
        for (end++; is_digit(byte_at(l, end));)
            end++;
    }
    if ((byte_at(l, end) | 0x20) == 'e' && byte_at(l, end) > 0) {
        size_t digits = end + 1;
        if (byte_at(l, digits) == '+' || byte_at(l, digits) == '-')
            digits++;
        if (is_digit(byte_at(l, digits))) {
            kind = GSQL_TOKEN_FLOAT;
            for (end = digits; is_digit(byte_at(l, end));)
                end++;
        }
    }
    if (is_name_start(byte_at(l, end)))
        return bad_token(l, "Missing whitespace between literal and alias");
    return make_token(l, kind, end);
}

static struct gsql_token
name_token(struct gsql_lexer *l, enum gsql_token_kind kind, size_t begin)
{
    size_t end = begin;
    if (byte_at(l, begin) == '`') {
        end = quoted_end(l, begin, '`', 1);
        if (end == SIZE_MAX)
            return bad_token(l, "Unclosed identifier literal");
        if (end - begin == 2)
            return bad_token(l, "Invalid empty identifier");
        return make_token(l, kind == GSQL_TOKEN_WORD ? GSQL_TOKEN_QUOTED : kind,
                          end);
    }
    while (is_name(byte_at(l, end)))
        end++;
    return make_token(l, kind, end);
}

static struct gsql_token symbol_token(struct gsql_lexer *l)
{
    static const char *const pairs[] = {
        "||", "!=", "<>", "<=", ">=", "<<", ">>", "=>", "->", "|>"};
    const struct slice two = slice_sub(l->text, l->at, l->at + 2);
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
        if (slice_eq_str(two, pairs[i]))
            return make_token(l, GSQL_TOKEN_SYMBOL, l->at + 2);
    return make_token(l, GSQL_TOKEN_SYMBOL, l->at + 1);
}

struct gsql_token gsql_lexer_next(struct gsql_lexer *l)
{
    size_t prefix;
    int c, next;
    if (!skip_blanks(l))
        return bad_token(l, "Unclosed comment");
    c = byte_at(l, l->at);
    next = byte_at(l, l->at + 1);
    if (c < 0)
        return make_token(l, GSQL_TOKEN_END, l->at);
    prefix = string_prefix(l);
    if (prefix != SIZE_MAX)
        return string_token(l, prefix);
    if (is_digit(c) || (c == '.' && is_digit(next)))
        return number_token(l);
    if (is_name_start(c) || c == '`')
        return name_token(l, GSQL_TOKEN_WORD, l->at);
    if (c == '@' && (is_name_start(next) || next == '`'))
        return name_token(l, GSQL_TOKEN_PARAM, l->at + 1);
    if (c < 0x20 || c > 0x7e || c == '\\')
        return bad_token(l, "Illegal input character");
    return symbol_token(l);
}

bool gsql_token_is(const struct gsql_token *t, const char *word)
{
    return t->kind == GSQL_TOKEN_WORD &&
           gsql_same_name(t->text, slice_str(word));
}

bool gsql_token_is_symbol(const struct gsql_token *t, const char *symbol)
{
    return t->kind == GSQL_TOKEN_SYMBOL && slice_eq_str(t->text, symbol);
}

/* --- values -------------------------------------------------------------- */

/* Take up to @most digits of @base from @at of @s; false: fewer than @least. */
static bool take_digits(struct slice s,
                        size_t *at,
                        size_t least,
                        size_t most,
                        unsigned base,
                        uint32_t *out)
{
    size_t n = 0;
    *out = 0;
    while (n < most && *at < s.len) {
        const unsigned char c = (unsigned char)s.data[*at];
        unsigned v = 99;
        if (is_digit(c))
            v = (unsigned)(c - '0');
        else if (isxdigit(c))
            v = (unsigned)((c | 0x20) - 'a' + 10);
        if (v >= base)
            break;
        *out = *out * base + v;
        ++*at;
        n++;
    }
    return n >= least;
}

static const char *put_code_point(struct buf *out, uint32_t c, bool is_bytes)
{
    if (is_bytes)
        return "a Unicode escape in a BYTES literal";
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return "an escape that is no Unicode character";
    if (c < 0x80) {
        buf_append_byte(out, (char)c);
        return NULL;
    }
    if (c >= 0x10000) {
        buf_append_byte(out, (char)(0xf0 | c >> 18));
        buf_append_byte(out, (char)(0x80 | (c >> 12 & 63)));
    } else if (c >= 0x800) {
        buf_append_byte(out, (char)(0xe0 | c >> 12));
    }
    if (c >= 0x800)
        buf_append_byte(out, (char)(0x80 | (c >> 6 & 63)));
    else
        buf_append_byte(out, (char)(0xc0 | c >> 6));
    buf_append_byte(out, (char)(0x80 | (c & 63)));
    return NULL;
}

/* The byte that an escape by a number gives; in a STRING, a character. */
static const char *put_numbered(struct buf *out, uint32_t v, bool is_bytes)
{
    if (v > 255)
        return "an octal escape above \\377";
    if (!is_bytes)
        return put_code_point(out, v, false);
    buf_append_byte(out, (char)v);
    return NULL;
}

/* The escape behind a backslash at *@at of @s. */
static const char *
put_escape(struct slice s, size_t *at, bool is_bytes, struct buf *out)
{
    static const char plain[] = "abfnrtv\\?\"'`";
    static const char meant[] = "\a\b\f\n\r\t\v\\?\"'`";
    const char c = *at < s.len ? s.data[*at] : '\0';
    const char *found = c ? strchr(plain, c) : NULL;
    uint32_t v;
    if (found) {
        buf_append_byte(out, meant[found - plain]);
        ++*at;
        return NULL;
    }
    if (c >= '0' && c <= '3')
        return take_digits(s, at, 3, 3, 8, &v) ? put_numbered(out, v, is_bytes)
                                               : "an octal escape has 3 digits";
    ++*at;
    switch (c) {
    case 'x':
    case 'X':
        return take_digits(s, at, 2, 2, 16, &v) ? put_numbered(out, v, is_bytes)
                                                : "an escape \\x has 2 digits";
    case 'u':
        return take_digits(s, at, 4, 4, 16, &v)
                   ? put_code_point(out, v, is_bytes)
                   : "an escape \\u has 4 digits";
    case 'U':
        return take_digits(s, at, 8, 8, 16, &v)
                   ? put_code_point(out, v, is_bytes)
                   : "an escape \\U has 8 digits";
    default: return "an unknown escape";
    }
}

static const char *
put_unescaped(struct slice s, bool is_bytes, bool is_raw, struct buf *out)
{
    const char *why = NULL;
    for (size_t i = 0; i < s.len && !why;) {
        if (s.data[i] == '\\' && !is_raw) {
            i++;
            why = put_escape(s, &i, is_bytes, out);
        } else {
            buf_append_byte(out, s.data[i++]);
        }
    }
    return why;
}

const char *gsql_token_value(const struct gsql_token *t, struct buf *out)
{
    struct slice s = t->text;
    const size_t before = out->len;
    const char *why;
    if (t->kind == GSQL_TOKEN_PARAM)
        s = slice_sub(s, 1, s.len);
    if (t->kind == GSQL_TOKEN_STRING)
        s = slice_sub(s, t->prefix + t->quote, s.len - t->quote);
    else if (s.len >= 2 && s.data[0] == '`')
        s = slice_sub(s, 1, s.len - 1);
    else {
        buf_append_slice(out, s);
        return NULL;
    }
    why = put_unescaped(s, t->is_bytes, t->is_raw, out);
    if (!why && !t->is_bytes &&
        !utf8_valid(slice_sub(buf_slice(out), before, out->len)))
        why = "not UTF-8";
    return why;
}

/* --- names and places ---------------------------------------------------- */

bool gsql_same_name(struct slice a, struct slice b)
{
    return a.len == b.len && strncasecmp(a.data, b.data, a.len) == 0;
}

void gsql_position(struct slice text, size_t at, size_t *line, size_t *column)
{
    *line = *column = 1;
    for (size_t i = 0; i < at && i < text.len; i++) {
        if (text.data[i] == '\n') {
            ++*line;
            *column = 1;
        } else if (((unsigned char)text.data[i] & 0xc0) != 0x80) {
            ++*column;
        }
    }
}
