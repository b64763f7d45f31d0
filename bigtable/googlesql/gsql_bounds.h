/* The rows that a condition on the key can be true of. Pure.
 */
#ifndef BIGTABLE_GOOGLESQL_GSQL_BOUNDS_H
#define BIGTABLE_GOOGLESQL_GSQL_BOUNDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/slice.h"

struct gsql_node;
struct gsql_translator;

/* Single keys that are kept apart; more become their hull. */
#define GSQL_KEYS_MAX ((size_t)1000)

/* Rows from @from up to @to, exclusive (empty: no end); with @has_keys, these
 * alone. */
struct gsql_bounds {
    struct slice from;
    struct slice to;
    bool nothing;
    bool has_keys;
    struct slice *keys; /* Of the arena. */
    size_t key_count;
};

/* The rows that @where (NULL: all) can be true of, by the key of the only table
 * of the scope, whose alias is @alias. */
struct gsql_bounds gsql_bounds_of(struct gsql_translator *t,
                                  const struct gsql_node *where,
                                  struct slice alias);

/* Those of @b whose keys are behind @key. */
struct gsql_bounds gsql_bounds_after(struct gsql_translator *t,
                                     struct gsql_bounds b,
                                     struct slice key);

#endif /* BIGTABLE_GOOGLESQL_GSQL_BOUNDS_H */
