/* Views by SQL: one SELECT of keys and aggregates over one table, translated to
 * a program.
 *
 *     SELECT item, … FROM table [WHERE condition] [GROUP BY key, …]
 *
 * An item is a key of GROUP BY, or one of count(*), count(x), sum(x), min(x),
 * max(x), avg(x), perhaps AS name. In expressions `key` is the row's key and
 * family['qualifier'] the newest value of a column, both texts; casts
 * (::BIGINT,
 * ::DOUBLE, ::INT64 of 8 bytes, CAST) make numbers. A missing column is NULL,
 * and so is a text that cannot be cast.
 *
 * The program has, for each group, a table `n` of its rows, and one or two
 * tables for each aggregate; an index is { null, value }, so that NULLs are a
 * group. Expressions become assignments of one operation each: an undefined
 * variable is NULL.
 *
 * Threads: any.
 */
#ifndef BIGTABLE_VIEW_VIEW_SQL_H
#define BIGTABLE_VIEW_VIEW_SQL_H

#include <stddef.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/quarry_view.h"

#define VIEW_SQL_ITEMS_MAX 64

enum view_sql_kind {
    VIEW_SQL_KEY,
    VIEW_SQL_COUNT, /* Missing: 0. */
    VIEW_SQL_VALUE, /* sum, min, max; missing: NULL. */
    VIEW_SQL_AVG,   /* A sum, and behind it how many. */
};

struct view_sql_item {
    enum view_sql_kind kind;
    size_t key;     /* Of a key: its number in GROUP BY. */
    unsigned table; /* Of an aggregate: the number of its table, a<N>; the
                       table `n` is 0. */
    const char *table_kind; /* "sum", "maximum" or "minimum". */
    enum quarry_view_type type;
    struct buf name; /* Owned, of its column. */
};

struct view_sql {
    struct buf table;   /* Its rows are read. */
    struct buf program; /* The translation. */
    struct view_sql_item items[VIEW_SQL_ITEMS_MAX];
    size_t item_count;
    size_t key_count;
    unsigned table_count; /* `n`, a1, a2, … */
};

/* On failure nothing is owned. Errors: ERR_INVALID: it is no such statement;
 * ERR_UNSUPPORTED: it has what views do not do; the text names it. */
MUST_CHECK int
view_sql_parse(struct slice text, struct view_sql **out, struct err *err);
void view_sql_free(struct view_sql *s); /* NULL is allowed. */

#endif /* BIGTABLE_VIEW_VIEW_SQL_H */
