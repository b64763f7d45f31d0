/* Which rows a ReadRows asks for: its RowSet, as quarry.h takes it.
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
    bool none;         /* Nothing but empty ranges. */
    struct arena made; /* Ends of ranges that had to be changed. */
};

void request_rows_init(struct request_rows *r);
void request_rows_close(struct request_rows *r);
/* Add what the message RowSet in @bytes (borrowed until close) says.
 * Errors: ERR_INVALID. */
MUST_CHECK int
request_rows_parse(struct request_rows *r, struct slice bytes, struct err *err);

#endif /* BIGTABLE_GATEWAY_REQUEST_ROWS_H */
