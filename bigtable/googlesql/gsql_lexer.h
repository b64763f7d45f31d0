/* Tokens of GoogleSQL. Keywords are words like any other: the parser knows
 * where a word is one.
 *
 * The text is not trusted. Pure.
 */
#ifndef BIGTABLE_GOOGLESQL_GSQL_LEXER_H
#define BIGTABLE_GOOGLESQL_GSQL_LEXER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/slice.h"

struct buf;

enum gsql_token_kind {
    GSQL_TOKEN_END,
    GSQL_TOKEN_WORD,   /* A keyword or a plain name. */
    GSQL_TOKEN_QUOTED, /* `name`, quotes included. */
    GSQL_TOKEN_PARAM,  /* @name or @`name`. */
    GSQL_TOKEN_STRING, /* With prefix and quotes; is_bytes, is_raw. */
    GSQL_TOKEN_INTEGER,
    GSQL_TOKEN_FLOAT,
    GSQL_TOKEN_SYMBOL, /* One or two bytes. */
    GSQL_TOKEN_BAD,    /* `why` says what is wrong. */
};

struct gsql_token {
    enum gsql_token_kind kind;
    struct slice text; /* Borrowed from the lexer's. */
    size_t at;         /* Its offset there. */
    bool is_bytes;     /* b'…' */
    bool is_raw;       /* r'…' */
    size_t quote;      /* Bytes of a string's quotation mark: 1 or 3. */
    size_t prefix;     /* Bytes before it. */
    const char *why;
};

struct gsql_lexer {
    struct slice text;
    size_t at;
};

/* The next token; blanks and comments are skipped. */
struct gsql_token gsql_lexer_next(struct gsql_lexer *l);
/* Is @t the word @word, in any case? */
bool gsql_token_is(const struct gsql_token *t, const char *word);
/* Is @t the symbol @symbol? */
bool gsql_token_is_symbol(const struct gsql_token *t, const char *symbol);
/* Append the name that a word, a quoted name or a parameter stands for, or the
 * bytes of a string. NULL, or what is wrong with its escapes. */
const char *gsql_token_value(const struct gsql_token *t, struct buf *out);

/* Are the names equal, in any case? */
bool gsql_same_name(struct slice a, struct slice b);
/* The line and column of offset @at in @text, from 1; columns count
 * characters. */
void gsql_position(struct slice text, size_t at, size_t *line, size_t *column);

#endif /* BIGTABLE_GOOGLESQL_GSQL_LEXER_H */
