/* The rows of a kept view as those of a query that is executed: the same
 * columns and values, in the order of their keys, without an engine.
 *
 * Threads: one at a time. Everything parks.
 */
#ifndef BIGTABLE_GATEWAY_KEPT_ROWS_H
#define BIGTABLE_GATEWAY_KEPT_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/googlesql/gsql_engine.h"
#include "bigtable/googlesql/gsql_translate.h"

struct gateway;
struct kept_rows;

/* Errors: as kept_view_open(). *@out is owned: kept_rows_close(). */
MUST_CHECK int kept_rows_open(struct gateway *g,
                              struct slice instance,
                              struct slice id,
                              struct kept_rows **out,
                              struct err *err);
void kept_rows_close(struct kept_rows *k); /* NULL is allowed. */

/* Borrowed. */
const struct gsql_result *kept_rows_result(const struct kept_rows *k);

/* Continue with the first row whose key, as the API has it, is not before @key,
 * or with one before it. */
MUST_CHECK int
kept_rows_seek(struct kept_rows *k, struct slice key, struct err *err);
/* End behind the row with @key, or with ones behind it. */
MUST_CHECK int
kept_rows_until(struct kept_rows *k, struct slice key, struct err *err);
/* Give the next row to @sink; false in *@found: there is none. */
MUST_CHECK int kept_rows_next(struct kept_rows *k,
                              const struct gsql_sink *sink,
                              bool *found,
                              struct err *err);

#endif /* BIGTABLE_GATEWAY_KEPT_ROWS_H */
