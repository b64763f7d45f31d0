/* Words of SQL: enough to find the end of a statement and the names in the few
 * statements that are not DuckDB's alone. DuckDB's parser decides what a
 * statement means.
 */
#ifndef BIGTABLE_SQL_SQL_LEXER_H
#define BIGTABLE_SQL_SQL_LEXER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/slice.h"

struct buf;

enum sql_token_kind {
    SQL_TOKEN_END,
    SQL_TOKEN_WORD,   /* A keyword or a plain name; letters in any case. */
    SQL_TOKEN_QUOTED, /* "name", quotes included. */
    SQL_TOKEN_STRING, /* 'text', E'text', $tag$text$tag$. */
    SQL_TOKEN_OTHER,  /* One byte of anything else. */
};

struct sql_token {
    enum sql_token_kind kind;
    struct slice text; /* Borrowed from the lexer's. */
    size_t at;         /* Its offset there. */
};

struct sql_lexer {
    struct slice text;
    size_t at;
    bool unfinished; /* A quotation or comment has no end. */
};

/* The next token; blanks and comments are skipped. */
struct sql_token sql_lexer_next(struct sql_lexer *l);
/* Is @t the word @word, in any case? */
bool sql_token_is(const struct sql_token *t, const char *word);
/* Is @t the byte @c? */
bool sql_token_is_byte(const struct sql_token *t, char c);
/* Append the name that a word or a quoted name stands for. */
void sql_token_name(const struct sql_token *t, struct buf *out);

/* Where the first statement of @text ends: *@end is behind its semicolon, *@len
 * without it. False: there is no semicolon, and it has begun or not
 * (*@len > 0). */
bool sql_statement_end(struct slice text, size_t *len, size_t *end);

/* Append @s as a string of SQL, or as a BLOB where it is not plain text. */
void sql_put_string(struct buf *out, struct slice s);
/* Append @name in double quotes. */
void sql_put_name(struct buf *out, const char *name);

#endif /* BIGTABLE_SQL_SQL_LEXER_H */
