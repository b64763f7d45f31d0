/* Conditions of a statement, pushed into the scans of its tables.
 *
 * DuckDB's C API gives a table function no conditions. So the statement is
 * looked at before it runs: DuckDB's own parser gives its tree
 * (json_serialize_sql), conditions of WHERE that bound the key of a table of
 * Quarry are collected, and the table's name in the text is replaced by a call
 * of quarry() with these bounds as parameters. The conditions themselves stay:
 * the bounds only leave out rows that cannot meet them. Of a kept view that
 * passes the key on, the text is put in place of its name, with the bounds in
 * it.
 *
 * Pushed: comparisons of `key` with a text, BETWEEN, IN, LIKE and starts_with()
 * with a fixed beginning; a LIMIT of a statement without conditions; and that
 * rows without a cell in the families that are read do not matter, where a
 * condition on such a column cannot hold for them.
 */
#ifndef BIGTABLE_SQL_SQL_PUSH_H
#define BIGTABLE_SQL_SQL_PUSH_H

#include <stdbool.h>

#include "base/core/slice.h"

struct buf;

/* The meaning of a statement's names. All of @ctx's owner. */
struct sql_names {
    void *ctx;
    /* Append the tree of the SELECT @sql as JSON; false: it is none. */
    bool (*parse)(void *ctx, struct slice sql, struct buf *json);
    /* Is `FROM name` the table of that name of Quarry? */
    bool (*is_table)(void *ctx, const char *name);
    /* Has it the column family? */
    bool (*has_family)(void *ctx, const char *table, const char *family);
    /* The SELECT of the kept view @name, borrowed; NULL: there is none. */
    const char *(*view)(void *ctx, const char *name);
};

/* Append to @out the statement @sql with what could be pushed. False: nothing
 * was, and @out is as before. */
bool sql_push(const struct sql_names *names, struct slice sql, struct buf *out);

#endif /* BIGTABLE_SQL_SQL_PUSH_H */
