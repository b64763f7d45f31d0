/* What became of a row of MutateRows, as its answer says it:
 *
 *     MutateRowsResponse  entries 1 {index 1, status 2 {code 1, message 2,
 *                         details 3}}
 *
 * The detail is a google.rpc.RetryInfo, where the row may be written later: a
 * rate is reached, or no server has room for it now.
 *
 * Threads: one at a time.
 */
#ifndef BIGTABLE_GATEWAY_ROW_OUTCOME_H
#define BIGTABLE_GATEWAY_ROW_OUTCOME_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "bigtable/gateway/grpc_status.h"

struct buf;

/* Zeroed: it was written. */
struct row_outcome {
    enum grpc_code code;
    char *text;        /* Owned; NULL: none. */
    uint64_t retry_us; /* Of ERR_DETAIL_RATE; else 0. */
};

/* It failed with @rc, because of @err (without a text: of @rc's name). */
void row_outcome_set(struct row_outcome *o, int rc, const struct err *err);
void row_outcome_close(struct row_outcome *o);

/* Append it as entry @index; NULL: it was written. */
void row_outcome_put(const struct row_outcome *o,
                     size_t index,
                     struct buf *out);

#endif /* BIGTABLE_GATEWAY_ROW_OUTCOME_H */
