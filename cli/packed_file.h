/* A stream for printing whose bytes reach another one compressed.
 *
 * Threads: one.
 */
#ifndef CLI_PACKED_FILE_H
#define CLI_PACKED_FILE_H

#include <stdio.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "mapreduce/warc/packer.h"

struct packed_file {
    FILE *out; /* To print to; the target itself if nothing is packed. */
    FILE *to;  /* Borrowed. */
    struct packer *packer;
    struct buf made;
    int code; /* The first error. */
    struct err err;
};

/* On success packed_file_close(). Errors: ERR_UNSUPPORTED (the build lacks
 * @packing). */
MUST_CHECK int packed_file_open(struct packed_file *f,
                                enum packing packing,
                                FILE *to,
                                struct err *err);
/* Write the rest to the target, unless @code is an error; that stays open.
 * Returns @code, or what went wrong. */
MUST_CHECK int
packed_file_close(struct packed_file *f, int code, struct err *err);

#endif /* CLI_PACKED_FILE_H */
