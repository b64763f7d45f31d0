/* A row as chunks of a ReadRowsResponse, as many at a time as a message holds.
 * Pure.
 */
#ifndef BIGTABLE_GATEWAY_ROW_CHUNKS_H
#define BIGTABLE_GATEWAY_ROW_CHUNKS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/buf.h"
#include "base/core/slice.h"
#include "bigtable/quarry.h"

/* Longer values are split over several chunks. */
#define ROW_CHUNKS_VALUE_BYTES_MAX ((size_t)1 << 20)

/* A row that is being written.
 *
 * INV-1. While `row` is set, `cell` is below its count of cells between calls,
 *        and `offset` is at most the size of that cell's value.
 */
struct row_chunks {
    const struct quarry_row *row; /* Borrowed; NULL: none. */
    size_t cell;                  /* The next cell, */
    size_t offset;       /* and the bytes of its value already written. */
    struct slice family; /* Of the previous cell; data NULL: none. */
    struct slice qualifier;
};

/* Begin with @row, which has cells and is borrowed until its last chunk. */
void row_chunks_begin(struct row_chunks *c, const struct quarry_row *row);
/* Append chunks until @out has @limit bytes or more. True: the row is complete,
 * and its last chunk commits it. */
bool row_chunks_put(struct row_chunks *c, struct buf *out, size_t limit);

#endif /* BIGTABLE_GATEWAY_ROW_CHUNKS_H */
