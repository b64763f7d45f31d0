/* The words of a view's SQL.
 *
 * Threads: any.
 */
#ifndef BIGTABLE_VIEW_SQL_WORDS_H
#define BIGTABLE_VIEW_SQL_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

#define SQL_WORDS_MAX ((size_t)4000)

enum sql_word_kind {
    SQL_WORD_END,
    SQL_WORD_NAME,   /* In any case; a keyword, too. */
    SQL_WORD_QUOTED, /* "name" */
    SQL_WORD_STRING, /* 'text' */
    SQL_WORD_NUMBER,
    SQL_WORD_SIGN, /* One or two bytes: <= <> != || :: and others. */
};

struct sql_word {
    enum sql_word_kind kind;
    struct slice text; /* As it stands in the statement. */
};

/* The last word is SQL_WORD_END. *@out is owned: mem_free(). ERR_INVALID: a
 * quotation without an end, a byte that SQL has not; ERR_TOOBIG. */
MUST_CHECK int sql_words_split(struct slice text,
                               struct sql_word **out,
                               size_t *count,
                               struct err *err);
/* Is @w the name or sign @text, in any case? */
bool sql_word_is(const struct sql_word *w, const char *text);
/* Append what a name stands for, or a string means. */
void sql_word_value(const struct sql_word *w, struct buf *out);

#endif /* BIGTABLE_VIEW_SQL_WORDS_H */
