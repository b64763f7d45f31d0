/* The request of ReadChangeStream: rows, and a place or a time to begin.
 *
 * Threads: one at a time.
 */
#ifndef BIGTABLE_GATEWAY_CHANGE_REQUEST_H
#define BIGTABLE_GATEWAY_CHANGE_REQUEST_H

#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/gateway/stream_token.h"

struct change_request_message {
    struct slice table; /* Borrowed from the request, as all slices here. */
    struct slice profile;
    struct slice tokens; /* Message StreamContinuationTokens. */
    bool has_tokens;
    struct buf start; /* Rows [start, end); an empty end is no bound. Owned. */
    struct buf end;
    int64_t start_us; /* 0: from now on. */
    int64_t end_us;   /* The last time that is told; 0: for ever. */
    uint64_t heartbeat_us;
};

/* Read @bytes into @out, all zero; close it in any case. ERR_INVALID. */
MUST_CHECK int change_request_parse(struct slice bytes,
                                    struct change_request_message *out,
                                    struct err *err);
void change_request_close(struct change_request_message *r);

/* Join the tokens of @r, which together are for its rows, into a token of
 * quarry_changes_open(); *@joined has the rest of them, without a place.
 * ERR_INVALID. */
MUST_CHECK int change_request_join(const struct change_request_message *r,
                                   const struct stream_table *table,
                                   struct buf *place,
                                   struct stream_token *joined,
                                   struct err *err);

/* Append field @number, a message StreamPartition of [start, end). */
void change_partition_put(struct buf *out,
                          unsigned number,
                          struct slice start,
                          struct slice end);

#endif /* BIGTABLE_GATEWAY_CHANGE_REQUEST_H */
