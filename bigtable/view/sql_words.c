/* The words of a view's SQL: where each begins and ends, and its value.
 * Enough to find the clauses and items of one SELECT; expressions stay text,
 * which is translated elsewhere. */
#include "bigtable/view/sql_words.h"

#include <string.h>
#include <strings.h>

#include "base/core/panic.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           is_digit(c) || (unsigned char)c >= 0x80;
}

/* Blanks, and comments to the end of the line. */
static size_t skip_blanks(struct slice s, size_t at)
{
    for (;;) {
        while (at < s.len && strchr(" \t\r\n", s.data[at]) && s.data[at])
            at++;
        if (at + 1 >= s.len || s.data[at] != '-' || s.data[at + 1] != '-')
            return at;
        while (at < s.len && s.data[at] != '\n')
            at++;
    }
}

/* Behind the closing quote, which stands for itself when it is doubled; 0:
 * there is none. */
static size_t end_of_quote(struct slice s, size_t at)
{
    const char quote = s.data[at++];
    for (; at < s.len; at++) {
        if (s.data[at] != quote)
            continue;
        if (at + 1 == s.len || s.data[at + 1] != quote)
            return at + 1;
        at++;
    }
    return 0;
}

static size_t end_of_number(struct slice s, size_t at)
{
    while (at < s.len && (is_digit(s.data[at]) || s.data[at] == '.'))
        at++;
    return at;
}

static size_t end_of_name(struct slice s, size_t at)
{
    while (at < s.len && is_name(s.data[at]))
        at++;
    return at;
}

static size_t end_of_sign(struct slice s, size_t at)
{
    static const char *const pairs[] = {"<=", ">=", "<>", "!=", "||", "::"};
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++)
        if (slice_starts_with(slice_sub(s, at, s.len), slice_str(pairs[i])))
            return at + 2;
    return s.data[at] && strchr("()[],*+-/%<>=.;:", s.data[at]) ? at + 1 : 0;
}

static int
next_word(struct slice s, size_t *at, struct sql_word *w, struct err *err)
{
    size_t begin = skip_blanks(s, *at);
    size_t end;
    char c;

    *w = (struct sql_word){SQL_WORD_END, SLICE_EMPTY};
    *at = begin;
    if (begin == s.len)
        return 0;
    c = s.data[begin];
    if (c == '\'' || c == '"') {
        w->kind = c == '"' ? SQL_WORD_QUOTED : SQL_WORD_STRING;
        end = end_of_quote(s, begin);
    } else if (is_digit(c)) {
        w->kind = SQL_WORD_NUMBER;
        end = end_of_number(s, begin);
    } else if (is_name(c)) {
        w->kind = SQL_WORD_NAME;
        end = end_of_name(s, begin);
    } else {
        w->kind = SQL_WORD_SIGN;
        end = end_of_sign(s, begin);
    }
    if (end == 0)
        return err_set(err, ERR_INVALID, "SQL: at byte %zu: %s", begin,
                       w->kind == SQL_WORD_SIGN ? "a character that has no "
                                                  "meaning here"
                                                : "a quotation without an end");
    w->text = slice_sub(s, begin, end);
    *at = end;
    return 0;
}

int sql_words_split(struct slice text,
                    struct sql_word **out,
                    size_t *count,
                    struct err *err)
{
    struct sql_word *words = mem_alloc((SQL_WORDS_MAX + 1) * sizeof(*words));
    size_t at = 0;
    size_t n = 0;
    int rc;

    do {
        rc = next_word(text, &at, &words[n], err);
        if (rc == 0 && n == SQL_WORDS_MAX)
            rc = err_set(err, ERR_TOOBIG, "SQL: more than %zu words",
                         SQL_WORDS_MAX);
    } while (rc == 0 && words[n++].kind != SQL_WORD_END);
    if (rc) {
        mem_free(words);
        return rc;
    }
    *out = words;
    *count = n;
    return 0;
}

bool sql_word_is(const struct sql_word *w, const char *text)
{
    return (w->kind == SQL_WORD_NAME || w->kind == SQL_WORD_SIGN) &&
           w->text.len == strlen(text) &&
           strncasecmp(w->text.data, text, w->text.len) == 0;
}

void sql_word_value(const struct sql_word *w, struct buf *out)
{
    struct slice s = w->text;
    if (w->kind != SQL_WORD_STRING && w->kind != SQL_WORD_QUOTED) {
        buf_append_slice(out, s);
        return;
    }
    for (size_t i = 1; i + 1 < s.len; i++) {
        buf_append_byte(out, s.data[i]);
        i += s.data[i] == s.data[0]; /* Doubled. */
    }
}
