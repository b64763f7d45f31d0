/* Whole messages in gzip. Threads: any. */
#ifndef BIGTABLE_GATEWAY_GZIP_H
#define BIGTABLE_GATEWAY_GZIP_H

#include <stddef.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

/* Append what @in was before it was compressed; at most @bytes_max.
 * Errors: ERR_INVALID (not gzip, or cut), ERR_TOOBIG. */
MUST_CHECK int gzip_uncompress(struct slice in,
                               size_t bytes_max,
                               struct buf *out,
                               struct err *err);
/* Append @in compressed. */
void gzip_compress(struct slice in, struct buf *out);

#endif /* BIGTABLE_GATEWAY_GZIP_H */
