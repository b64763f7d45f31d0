/* The lines of a regular file that begin in a range of it, in blocks.
 *
 * Ranges that touch give each line once, wherever they are cut: a line belongs
 * to the range that its first byte is in.
 *
 * Threads: one.
 */
#ifndef MAPREDUCE_LINES_LINE_RANGE_H
#define MAPREDUCE_LINES_LINE_RANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct file;

struct line_range {
    struct file *file; /* Borrowed: several ranges read one. */
    const char *path;  /* Borrowed. */
    uint64_t begin;
    uint64_t end;       /* UINT64_MAX: of the file. */
    uint64_t at;        /* Where `buffer` begins in the file. */
    struct buf *buffer; /* Borrowed: memory for one block. */
    size_t taken;       /* Bytes of the buffer that were given or skipped. */
    size_t searched;    /* Bytes behind them without a line feed. */
    bool end_of_file;
    bool begun; /* `taken` is at the first line. */
};

/* Read [@begin, @end) of @file into @buffer, which is the caller's and may be
 * used for another range afterwards. */
void line_range_init(struct line_range *r,
                     struct file *file,
                     const char *path,
                     uint64_t begin,
                     uint64_t end,
                     struct buf *buffer);

/* The next block of whole lines, borrowed until the next call, and where it
 * begins in the file; *@more is false at the end.
 * Errors: as for line_stream_take(). */
MUST_CHECK int line_range_next(struct line_range *r,
                               struct slice *lines,
                               uint64_t *offset,
                               bool *more,
                               struct err *err);

#endif /* MAPREDUCE_LINES_LINE_RANGE_H */
