/* The rows that a ReadRows selects: its RowSet as keys and ranges of quarry.h.
 *
 * Threads: one at a time.
 */
#ifndef BIGTABLE_GATEWAY_REQUEST_ROWS_H
#define BIGTABLE_GATEWAY_REQUEST_ROWS_H

#include <stddef.h>

#include "base/core/arena.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/quarry.h"

struct request_rows {
    struct slice *keys; /* Owned; the bytes are the request's or `made`'s. */
    size_t key_count;
    struct quarry_range *ranges; /* Owned. */
    size_t range_count;
    bool none;         /* All it selects is empty ranges: no row. */
    struct arena made; /* Ends of ranges that had to change. */
};

/* Select nothing yet: all rows. */
void request_rows_init(struct request_rows *r);
/* Free what @r owns. */
void request_rows_close(struct request_rows *r);
/* Add the keys and ranges of @bytes, a message RowSet, borrowed until close.
 * Errors: ERR_INVALID. */
MUST_CHECK int
request_rows_parse(struct request_rows *r, struct slice bytes, struct err *err);

#endif /* BIGTABLE_GATEWAY_REQUEST_ROWS_H */
