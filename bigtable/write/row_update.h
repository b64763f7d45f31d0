/* Row transactions: read a row, decide, write it, as if nothing came between.
 *
 * The write is queued on condition that the row was not written since it was
 * read, and all is done again when it was, as often as it takes. Transactions
 * of one row take turns, so that those of a hot counter do not make each other
 * begin again.
 *
 * Threads: any. Parks.
 */
#ifndef BIGTABLE_WRITE_ROW_UPDATE_H
#define BIGTABLE_WRITE_ROW_UPDATE_H

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/write/write_queue.h"

struct cell_check;
struct quarry_mutation;
struct quarry_row;
struct read_spec;
struct tablet_env;
struct table_part;

/* Decide by @row (NULL: nothing is there) what to write: *@m is borrowed until
 * the next call, NULL for nothing. @now_us: the stamp for its cells. Called
 * again for each try. */
typedef int (*row_decide_fn)(void *ctx,
                             const struct quarry_row *row,
                             int64_t now_us,
                             const struct quarry_mutation **m,
                             struct err *err);

/* @spec says how the row is read; its rows are replaced by @row. With @cells
 * (NULL: without) those are looked at instead: what is decided by is a row
 * without cells, or none. */
MUST_CHECK int row_update(struct tablet_env *env,
                          struct table_part *t,
                          struct read_spec *spec,
                          const struct cell_check *cells,
                          struct slice row,
                          row_decide_fn decide,
                          void *ctx,
                          enum write_durability durability,
                          struct err *err);

#endif /* BIGTABLE_WRITE_ROW_UPDATE_H */
