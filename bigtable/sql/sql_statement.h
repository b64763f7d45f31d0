/* The kind of a statement, and the names in those that change Quarry.
 */
#ifndef BIGTABLE_SQL_SQL_STATEMENT_H
#define BIGTABLE_SQL_SQL_STATEMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/buf.h"
#include "base/core/slice.h"

enum sql_statement_kind {
    SQL_STATEMENT_QUERY, /* Makes nothing. */
    SQL_STATEMENT_EXPLAIN,
    SQL_STATEMENT_INSERT, /* INTO a plain name, without more than a SELECT. */
    SQL_STATEMENT_DELETE, /* FROM a plain name, with WHERE or without. */
    SQL_STATEMENT_CREATE_VIEW, /* To be kept: not TEMP, not in a schema. */
    SQL_STATEMENT_DROP_VIEW,
    SQL_STATEMENT_OTHER, /* May make tables, attach databases, set options. */
};

#define SQL_STATEMENT_COLUMNS_MAX ((size_t)1600)

struct sql_statement {
    enum sql_statement_kind kind;
    bool collates;        /* May change how texts compare. */
    bool if_not_exists;   /* Of CREATE VIEW. */
    char *name;           /* Owned; of the table or view; NULL: none. */
    const char **columns; /* Owned; of INSERT; NULL: not said. */
    size_t column_count;
    struct slice select; /* The query inserted or kept, borrowed; the keys of
                            rows to delete, in `made`. */
    struct slice rest;   /* Of CREATE VIEW: what follows the name. Borrowed. */
    struct buf made;
};

/* Look at @text, one statement. sql_statement_close(). */
void sql_statement_open(struct sql_statement *st, struct slice text);
void sql_statement_close(struct sql_statement *st);

#endif /* BIGTABLE_SQL_SQL_STATEMENT_H */
