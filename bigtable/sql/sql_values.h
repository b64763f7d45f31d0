/* Values of vectors for a sink, guided by their types.
 *
 * Threads: those of the batch's owner.
 */
#ifndef BIGTABLE_SQL_SQL_VALUES_H
#define BIGTABLE_SQL_SQL_VALUES_H

#include <stddef.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct gsql_sink;
struct gsql_type;
struct sql_vector;

/* Give value @row of @v, of @type, to @sink. ERR_INVALID: the vector is of
 * another type. */
MUST_CHECK int sql_values_put(const struct sql_vector *v,
                              size_t row,
                              const struct gsql_type *type,
                              const struct gsql_sink *sink,
                              struct err *err);

#endif /* BIGTABLE_SQL_SQL_VALUES_H */
