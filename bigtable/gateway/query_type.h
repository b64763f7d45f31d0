/* Types of GoogleSQL as messages Type, and back. Pure; any thread.
 */
#ifndef BIGTABLE_GATEWAY_QUERY_TYPE_H
#define BIGTABLE_GATEWAY_QUERY_TYPE_H

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/googlesql/gsql_type.h"

struct arena;
struct buf;

/* Append @type as field @number, a Type. PRE: it is settled. */
void query_type_put(struct buf *out,
                    unsigned number,
                    const struct gsql_type *type);

/* Read @message, the Type of parameter @name: a scalar, or an ARRAY of scalars.
 * *@out is static or of @arena. ERR_INVALID. */
MUST_CHECK int query_type_get(struct slice message,
                              struct slice name,
                              struct arena *arena,
                              const struct gsql_type **out,
                              struct err *err);

#endif /* BIGTABLE_GATEWAY_QUERY_TYPE_H */
