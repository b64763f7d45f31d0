/* The names of selected columns, and which columns identify a row of the
 * result: a materialized view makes its rows' keys of these.
 *
 * Pure.
 */
#ifndef BIGTABLE_GOOGLESQL_GSQL_KEYS_H
#define BIGTABLE_GOOGLESQL_GSQL_KEYS_H

#include "bigtable/googlesql/gsql_ast.h"
#include "bigtable/googlesql/gsql_translate.h"

/* The alias of @n, or the name that it is; empty: it has none. Borrowed. */
struct slice gsql_selected_name(const struct gsql_node *n);

/* Set is_key of the @count columns of @q: of each without an aggregate where
 * the query has groups, and else of each that ORDER BY names. */
void gsql_mark_keys(const struct gsql_query *q,
                    struct gsql_column *columns,
                    size_t count);

#endif /* BIGTABLE_GOOGLESQL_GSQL_KEYS_H */
