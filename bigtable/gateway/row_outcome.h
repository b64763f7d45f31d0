/* The outcome of a row of MutateRows, and its entry in the response: a code, a
 * sentence, and a google.rpc.RetryInfo where the row may be written later,
 * because a rate is reached or its server is not available.
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

/* All zero: the row was written. */
struct row_outcome {
    enum grpc_code code;
    char *text;        /* Owned; NULL: none. */
    uint64_t retry_us; /* Of ERR_DETAIL_RATE; else 0. */
};

/* Record that the row failed with @rc, for the reason in @err (if that has no
 * text, the name of @rc). */
void row_outcome_set(struct row_outcome *o, int rc, const struct err *err);
/* Free the text. */
void row_outcome_close(struct row_outcome *o);

/* Append the outcome as entry @index; NULL: the row was written. */
void row_outcome_put(const struct row_outcome *o,
                     size_t index,
                     struct buf *out);

#endif /* BIGTABLE_GATEWAY_ROW_OUTCOME_H */
