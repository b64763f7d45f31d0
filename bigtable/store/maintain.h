/* Upkeep of tables on demand: major compactions, and where to cut a table for
 * parallel work. Threads: any. Parks. */
#ifndef BIGTABLE_STORE_MAINTAIN_H
#define BIGTABLE_STORE_MAINTAIN_H

#include <stddef.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct store;
struct table_part;
struct tablet;

/* Flush the store and merge each group of each tablet of @t that holds rows of
 * [@start, @end) into one run; an empty @end is the table's. */
MUST_CHECK int compact_table(struct store *s,
                             struct table_part *t,
                             struct slice start,
                             struct slice end,
                             struct err *err);

/* Rows that cut @t into about @parts equal pieces, ascending: *@keys and their
 * bytes are one owned allocation. */
MUST_CHECK int table_split_points(struct table_part *t,
                                  size_t parts,
                                  struct slice **keys,
                                  size_t *count,
                                  struct err *err);

/* Put what @t has in memtables into SSTables, beside writers. Parks. */
MUST_CHECK int flush_tablet(struct store *s, struct tablet *t, struct err *err);

#endif /* BIGTABLE_STORE_MAINTAIN_H */
