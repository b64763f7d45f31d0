/* Row filters as they come in requests. Threads: any. */
#ifndef BIGTABLE_GATEWAY_REQUEST_FILTER_H
#define BIGTABLE_GATEWAY_REQUEST_FILTER_H

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct quarry_filter;

/* The filter of the message RowFilter in @bytes; owned. Errors: ERR_INVALID
 * (malformed, or above the API's bound), ERR_TOOBIG (too many parts),
 * ERR_UNSUPPORTED. */
MUST_CHECK int
request_filter(struct slice bytes, struct quarry_filter **out, struct err *err);

#endif /* BIGTABLE_GATEWAY_REQUEST_FILTER_H */
