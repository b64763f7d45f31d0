/* Tokens as PostgreSQL's scanner, from which DuckDB's comes, sees them.
 */
#include "bigtable/sql/sql_lexer.h"

#include <string.h>
#include <strings.h>

#include "base/core/buf.h"

static bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (unsigned char)c >= 0x80;
}

static bool is_name_byte(char c)
{
    return is_name_start(c) || (c >= '0' && c <= '9') || c == '$';
}

static char byte_at(const struct sql_lexer *l, size_t at)
{
    return at < l->text.len ? l->text.data[at] : '\0';
}

/* Comments nest. */
static void skip_block_comment(struct sql_lexer *l)
{
    size_t depth = 0;
    do {
        if (byte_at(l, l->at) == '/' && byte_at(l, l->at + 1) == '*') {
            depth++;
            l->at += 2;
        } else if (byte_at(l, l->at) == '*' && byte_at(l, l->at + 1) == '/') {
            depth--;
            l->at += 2;
        } else {
            l->at++;
        }
    } while (depth > 0 && l->at < l->text.len);
    l->unfinished |= depth > 0;
}

static void skip_blanks(struct sql_lexer *l)
{
    while (l->at < l->text.len) {
        const char c = l->text.data[l->at];
        if (c == ' ' || (c >= '\t' && c <= '\r'))
            l->at++;
        else if (c == '-' && byte_at(l, l->at + 1) == '-')
            l->at +=
                slice_find_byte(slice_sub(l->text, l->at, l->text.len), '\n');
        else if (c == '/' && byte_at(l, l->at + 1) == '*')
            skip_block_comment(l);
        else
            return;
    }
    if (l->at > l->text.len)
        l->at = l->text.len;
}

/* From a quote to its end; a doubled one is part of it, and so is what a
 * backslash escapes, if there are escapes. */
static void skip_quotation(struct sql_lexer *l, char quote, bool escapes)
{
    for (l->at++; l->at < l->text.len; l->at++) {
        const char c = l->text.data[l->at];
        if (escapes && c == '\\') {
            l->at++;
        } else if (c == quote && byte_at(l, l->at + 1) == quote) {
            l->at++;
        } else if (c == quote) {
            l->at++;
            return;
        }
    }
    l->at = l->text.len;
    l->unfinished = true;
}

/* $tag$ … $tag$; false if there is no such thing here. */
static bool skip_dollars(struct sql_lexer *l)
{
    const struct slice rest = slice_sub(l->text, l->at, l->text.len);
    size_t n = 1, at;
    while (n < rest.len && is_name_byte(rest.data[n]) && rest.data[n] != '$')
        n++;
    if (n >= rest.len || rest.data[n] != '$' ||
        (rest.data[1] >= '0' && rest.data[1] <= '9'))
        return false;
    n++;
    for (at = n; at + n <= rest.len; at++)
        if (memcmp(rest.data + at, rest.data, n) == 0) {
            l->at += at + n;
            return true;
        }
    l->at = l->text.len;
    l->unfinished = true;
    return true;
}

struct sql_token sql_lexer_next(struct sql_lexer *l)
{
    struct sql_token t = {.kind = SQL_TOKEN_OTHER};
    char c;
    skip_blanks(l);
    t.at = l->at;
    c = byte_at(l, l->at);
    if (l->at >= l->text.len) {
        t.kind = SQL_TOKEN_END;
    } else if (c == '\'') {
        t.kind = SQL_TOKEN_STRING;
        skip_quotation(l, c, false);
    } else if (c == '"') {
        t.kind = SQL_TOKEN_QUOTED;
        skip_quotation(l, c, false);
    } else if ((c == 'e' || c == 'E') && byte_at(l, l->at + 1) == '\'') {
        t.kind = SQL_TOKEN_STRING;
        l->at++;
        skip_quotation(l, '\'', true);
    } else if (is_name_start(c)) {
        t.kind = SQL_TOKEN_WORD;
        while (l->at < l->text.len && is_name_byte(l->text.data[l->at]))
            l->at++;
    } else if (c == '$' && skip_dollars(l)) {
        t.kind = SQL_TOKEN_STRING;
    } else {
        l->at++;
    }
    t.text = slice_sub(l->text, t.at, l->at);
    return t;
}

bool sql_token_is(const struct sql_token *t, const char *word)
{
    return t->kind == SQL_TOKEN_WORD && t->text.len == strlen(word) &&
           strncasecmp(t->text.data, word, t->text.len) == 0;
}

bool sql_token_is_byte(const struct sql_token *t, char c)
{
    return t->kind == SQL_TOKEN_OTHER && t->text.data[0] == c;
}

void sql_token_name(const struct sql_token *t, struct buf *out)
{
    if (t->kind != SQL_TOKEN_QUOTED) {
        buf_append_slice(out, t->text);
        return;
    }
    for (size_t i = 1; i + 1 < t->text.len; i++) {
        buf_append_byte(out, t->text.data[i]);
        if (t->text.data[i] == '"')
            i++;
    }
}

bool sql_statement_end(struct slice text, size_t *len, size_t *end)
{
    struct sql_lexer l = {.text = text};
    size_t last = 0;
    for (;;) {
        const struct sql_token t = sql_lexer_next(&l);
        if (t.kind == SQL_TOKEN_END || sql_token_is_byte(&t, ';')) {
            *len = last;
            *end = l.at;
            return t.kind != SQL_TOKEN_END;
        }
        last = l.at;
    }
}

void sql_put_string(struct buf *out, struct slice s)
{
    bool plain = true;
    for (size_t i = 0; i < s.len; i++)
        plain &= s.data[i] >= ' ' && s.data[i] <= '~' && s.data[i] != '\\';
    buf_append_byte(out, '\'');
    for (size_t i = 0; i < s.len; i++)
        if (!plain)
            buf_printf(out, "\\x%02X", (unsigned)(unsigned char)s.data[i]);
        else if (s.data[i] == '\'')
            buf_append_str(out, "''");
        else
            buf_append_byte(out, s.data[i]);
    buf_append_str(out, plain ? "'" : "'::BLOB");
}

void sql_put_name(struct buf *out, const char *name)
{
    buf_append_byte(out, '"');
    for (; *name; name++) {
        if (*name == '"')
            buf_append_byte(out, '"');
        buf_append_byte(out, *name);
    }
    buf_append_byte(out, '"');
}
