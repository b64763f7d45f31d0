/* Messages in gzip: whole ones, or uncompressed step by step, so that memory
 * for what comes out is taken as it comes out. Threads: any, one at a time. */
#ifndef BIGTABLE_GATEWAY_GZIP_H
#define BIGTABLE_GATEWAY_GZIP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct gzip_reader;

/* About what a reader takes for itself. */
#define GZIP_READER_BYTES ((size_t)48 << 10)

/* Uncompress @in (borrowed) from its beginning. NULL: no memory. Owned. */
struct gzip_reader *gzip_reader_new(struct slice in);
void gzip_reader_free(struct gzip_reader *r); /* NULL is allowed. */
/* The next bytes, at most @room of them, to @to (never NULL); *@end: there are
 * no more. With @room 0 it tells whether there are.
 * Errors: ERR_INVALID (not gzip, or cut). */
MUST_CHECK int gzip_reader_next(struct gzip_reader *r,
                                char *to,
                                size_t room,
                                size_t *made,
                                bool *end,
                                struct err *err);

/* Append @in compressed. */
void gzip_compress(struct slice in, struct buf *out);

#endif /* BIGTABLE_GATEWAY_GZIP_H */
