/* The tree of a statement, as DuckDB's own parser gives it
 * (json_serialize_sql): JSON, in which numbers are read as doubles. Nodes have
 * a class and a type, and what is not known is never what it is asked for here.
 *
 * Threads: one. Ownership: nodes and texts are the tree's, unless said.
 */
#ifndef BIGTABLE_SQL_SQL_TREE_H
#define BIGTABLE_SQL_SQL_TREE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/core/slice.h"

struct arena;

/* One thing in FROM. */
struct sql_item {
    json_t *node;
    const char *alias; /* By which its columns are named. */
    const char *table; /* Of Quarry, or NULL. */
    const char *view;  /* The SELECT of a kept view, or NULL. */
    json_t *parameters; /* Of quarry(…) or quarry_cells(…), its arguments; NULL:
                           a name. */
    bool by_cells;
    bool alone;  /* Nothing else is in FROM. */
    bool binary; /* Its keys and qualifiers are BLOB. */
};

/* The text @name of @node; empty if there is none. */
const char *tree_text(json_t *node, const char *name);
bool tree_has_type(json_t *node, const char *type);
bool tree_is_class(json_t *node, const char *kind);
/* Is there no @name, or nothing in it? */
bool tree_is_empty(json_t *node, const char *name);

/* The text of a constant VARCHAR, copied to @arena. */
bool tree_constant(struct arena *arena, json_t *node, struct slice *out);
/* A constant that is a whole number from 0 to 2^32 - 1. */
bool tree_number(json_t *node, uint64_t *out);

/* Is @node the column @name of @item? */
bool tree_is_column(json_t *node,
                    const struct sql_item *item,
                    const char *name);
/* The argument of @item's call with this name, or NULL. */
json_t *tree_parameter(const struct sql_item *item, const char *name);

#endif /* BIGTABLE_SQL_SQL_TREE_H */
