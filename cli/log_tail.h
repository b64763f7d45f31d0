/* The last lines of a log: of a server process, asked by SERVER_LOG_TAIL, or of
 * any file of this machine.
 *
 * Threads: any.
 */
#ifndef CLI_LOG_TAIL_H
#define CLI_LOG_TAIL_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct buf;
struct world;

/* Of an answer. */
#define LOG_TAIL_BYTES_MAX ((size_t)1 << 20)

/* The request: [bytes], at most that many are wanted. A greater number than
 * LOG_TAIL_BYTES_MAX counts as that. Errors: ERR_CORRUPT. */
void log_tail_query_put(uint64_t bytes, struct buf *out);
MUST_CHECK int
log_tail_query_get(struct slice in, uint64_t *bytes, struct err *err);

/* Append to @out the last lines of the file @path, at most @bytes; one that
 * begins before is left out. Parks. Errors: those of reading it. */
MUST_CHECK int file_tail_read(struct world *w,
                              const char *path,
                              size_t bytes,
                              struct buf *out,
                              struct err *err);
/* The same of the log of @w's process. Errors: also ERR_UNSUPPORTED: it goes to
 * standard error. */
MUST_CHECK int
log_tail_read(struct world *w, size_t bytes, struct buf *out, struct err *err);

#endif /* CLI_LOG_TAIL_H */
