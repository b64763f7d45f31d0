/* A row as chunks of a ReadRowsResponse. Pure. */
#ifndef BIGTABLE_GATEWAY_ROW_CHUNKS_H
#define BIGTABLE_GATEWAY_ROW_CHUNKS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/buf.h"
#include "base/core/slice.h"
#include "bigtable/quarry.h"

/* Longer values are split over several chunks. */
#define ROW_CHUNKS_VALUE_BYTES_MAX ((size_t)1 << 20)

/* A row under way. */
struct row_chunks {
    const struct quarry_row *row; /* Borrowed; NULL: none. */
    size_t cell;                  /* The next one, */
    size_t offset;                /* and what of its value has gone. */
    struct slice family;          /* Of the cell before; data NULL: none. */
    struct slice qualifier;
};

/* Begin with @row, which has cells. */
void row_chunks_begin(struct row_chunks *c, const struct quarry_row *row);
/* Append chunks until @out has @limit bytes or more. True: that was all of the
 * row, its last chunk commits it. */
bool row_chunks_put(struct row_chunks *c, struct buf *out, size_t limit);

#endif /* BIGTABLE_GATEWAY_ROW_CHUNKS_H */
