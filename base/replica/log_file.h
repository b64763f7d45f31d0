/* The file of a log's segment: written in whole blocks, past the page cache.
 *
 * A sync then has nothing to write back and only flushes the disk's own cache.
 * The block that a write ends in is written again by the next one, so a copy of
 * it is kept. Private to log*.c; one thread at a time.
 */
#ifndef BASE_REPLICA_LOG_FILE_H
#define BASE_REPLICA_LOG_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct file;
struct world;

/* All zeros is a file that is closed. */
struct log_file {
    struct file *file; /* Owned; NULL: closed. */
    uint64_t bytes;    /* Written up to here, zeros included. */
    char *memory;      /* Owned. */
    char *blocks;      /* In it, aligned: the blocks written last. */
    size_t cap;
    uint64_t begin; /* Offset of the blocks. */
};

/* Make the file at @path, with a hole of @size bytes in it. Parks. */
MUST_CHECK int log_file_create(struct log_file *f,
                               struct world *w,
                               const char *path,
                               uint64_t size,
                               struct err *err);
/* Open the file at @path to continue at @offset, which is within it, and make
 * it @size bytes long if it is shorter. [@begin, @offset), which the page cache
 * may have alone, and the first block are written again. Parks. Errors: ERR_IO,
 * ERR_FULL, ERR_NOMEM; @f is closed then. */
MUST_CHECK int log_file_open(struct log_file *f,
                             struct world *w,
                             const char *path,
                             uint64_t begin,
                             uint64_t offset,
                             uint64_t size,
                             struct err *err);
/* Close without a sync; nothing if it is closed. */
void log_file_close(struct log_file *f);

/* Write @bytes and @zeros zeros or a few more at @offset: at the begin of a
 * block, or where the last write began, again, or within it. Parks. Not synced.
 */
MUST_CHECK int log_file_write(struct log_file *f,
                              uint64_t offset,
                              struct slice bytes,
                              size_t zeros,
                              struct err *err);
/* Make what was written durable. Parks. Errors: ERR_IO; nothing is known about
 * the disk then. */
MUST_CHECK int log_file_sync(struct log_file *f, struct err *err);

#endif /* BASE_REPLICA_LOG_FILE_H */
