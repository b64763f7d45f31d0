/* Expressions of a view's SQL, translated to assignments of a program.
 *
 * Threads: one at a time.
 */
#ifndef BIGTABLE_VIEW_SQL_EXPRESSION_H
#define BIGTABLE_VIEW_SQL_EXPRESSION_H

#include <stddef.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "bigtable/view/sql_words.h"

enum sql_type {
    SQL_TEXT,
    SQL_INT,
    SQL_FLOAT,
    SQL_BOOL,
};

/* The variable x<number> of the program, which is undefined for NULL. */
struct sql_value {
    enum sql_type type;
    unsigned number;
    struct buf *column; /* Of a column that was not cast: its name; else NULL.
                           Borrowed from the reader. */
};

/* Reads words [at, end) and appends to the program. */
struct sql_reader {
    const struct sql_word *words; /* Borrowed. */
    size_t at;
    size_t end;
    struct buf *program; /* Borrowed. */
    unsigned next;       /* Number of the next variable. */
    unsigned depth;
    struct buf column; /* Owned: sql_reader_close(). */
};

void sql_reader_close(struct sql_reader *r);
/* The word at hand, which is SQL_WORD_END at the reader's end. */
const struct sql_word *sql_reader_word(const struct sql_reader *r);
/* Skip the word @text if it is at hand. */
bool sql_reader_take(struct sql_reader *r, const char *text);
/* ERR_INVALID, naming the word at hand. */
int sql_reader_fail(const struct sql_reader *r,
                    const char *wanted,
                    struct err *err);

/* Read one expression and translate it. Errors: ERR_INVALID, ERR_UNSUPPORTED.
 */
MUST_CHECK int sql_expression_read(struct sql_reader *r,
                                   struct sql_value *out,
                                   struct err *err);

/* Its name in the language. */
const char *sql_type_name(enum sql_type t);
/* Append @s as a literal of the language. ERR_INVALID: control characters. */
MUST_CHECK int
sql_put_literal(struct buf *out, struct slice s, struct err *err);

#endif /* BIGTABLE_VIEW_SQL_EXPRESSION_H */
