/* The lines of a file or of standard input, read from the beginning to the end,
 * many at a time.
 *
 * Threads: one at a time.
 */
#ifndef MAPREDUCE_LINES_LINE_STREAM_H
#define MAPREDUCE_LINES_LINE_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"

/* One line must fit into memory beside everything else. */
#define LINE_BYTES_MAX ((size_t)1 << 30)

struct file;
struct world;

struct line_stream {
    int fd;
    struct file *file;    /* Instead of `fd`, of a mounted name. Owned. */
    uint64_t read_offset; /* In it. */
    bool owned;           /* It is not standard input. */
    const char *path;     /* Borrowed. */
    struct buf rest; /* Read and not taken yet: less than a line, mostly. */
    uint64_t offset; /* Of `rest` in the file. */
    bool end_of_file;
    uint64_t size; /* Of a regular file; 0: not known. */
    bool seekable; /* A regular file with contents. */
};

/* @path "-" is standard input; names that are mounted in @world (borrowed) are
 * read by it. On success line_stream_close(). */
MUST_CHECK int line_stream_open(struct line_stream *s,
                                struct world *world,
                                const char *path,
                                struct err *err);
void line_stream_close(struct line_stream *s);

/* Replace @out by whole lines: those that begin in the next @bytes, or all that
 * are there when @bytes is 0, at least one; the last of a file may lack its
 * line feed. Empty at the end. *@offset gets where they begin.
 * Errors: ERR_IO; ERR_TOOBIG a line of more than LINE_BYTES_MAX, without its
 * number. */
MUST_CHECK int line_stream_take(struct line_stream *s,
                                uint64_t bytes,
                                struct buf *out,
                                uint64_t *offset,
                                struct err *err);

#endif /* MAPREDUCE_LINES_LINE_STREAM_H */
