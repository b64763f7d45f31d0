/* The bounds that conditions of a WHERE set to the rows and cells of one table:
 * of its key, and, of quarry_cells(), of families, qualifiers and times. Each
 * is a necessary condition, never a sufficient one: the WHERE stays.
 *
 * Threads: one. Ownership: all bytes are of the arena, or of the tree.
 */
#ifndef BIGTABLE_SQL_SQL_BOUNDS_H
#define BIGTABLE_SQL_SQL_BOUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/slice.h"
#include "bigtable/sql/sql_push.h"
#include "bigtable/sql/sql_tree.h"

struct arena;
struct buf;

/* Texts of which a value is one; NULL: any. */
struct sql_texts {
    struct slice *list;
    size_t count;
};

struct sql_bounds {
    struct arena *arena; /* Borrowed. */
    struct slice from;   /* Of the key; data NULL: none. */
    struct slice to;
    struct slice last;
    struct slice prefix;
    struct sql_texts keys;
    /* Of cells. */
    struct sql_texts families;
    struct sql_texts qualifiers;
    struct slice qualifier_prefix;
    struct slice time_from; /* Expressions of SQL; data NULL: none. */
    struct slice time_to;
    bool skip_missing;
    uint64_t row_limit;
};

/* Add to @b what the condition @node (NULL: none) says about the rows of
 * @item. */
void sql_bounds_add(struct sql_bounds *b,
                    const struct sql_names *names,
                    json_t *node,
                    const struct sql_item *item);
/* Take away what @item's call says itself, or would mean otherwise. */
void sql_bounds_fit(struct sql_bounds *b,
                    const struct sql_names *names,
                    const struct sql_item *item);
bool sql_bounds_any(const struct sql_bounds *b);
/* Append them as parameters of quarry(), each with a comma before it. */
void sql_bounds_put(struct buf *out, const struct sql_bounds *b);

#endif /* BIGTABLE_SQL_SQL_BOUNDS_H */
