/* The lines of a file or of standard input, whatever their length. */
#ifndef CLI_LINE_READER_H
#define CLI_LINE_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"

struct file;
struct world;

struct line_reader {
    FILE *file;           /* Owned unless it is standard input. */
    struct file *mounted; /* Instead of it, of a mounted name. Owned. */
    uint64_t offset;      /* In that. */
    const char *path;     /* Borrowed. */
    struct buf buffer;    /* Bytes read, of which [at, len) are to come. */
    size_t at;
    bool end_of_file;
    uint64_t size; /* Of the file; 0 when it is none. */
    uint64_t line_count;
    uint64_t byte_count;
};

/* @path "-" is standard input. On success line_reader_close(). */
MUST_CHECK int
line_reader_open(struct line_reader *r, const char *path, struct err *err);
/* The same, also of names that are mounted in @world, which is borrowed. */
MUST_CHECK int line_reader_open_in(struct line_reader *r,
                                   struct world *world,
                                   const char *path,
                                   struct err *err);
void line_reader_close(struct line_reader *r);

/* The next line without its line feed, borrowed until the next call; *@more is
 * false at the end. A line longer than memory allows is ERR_TOOBIG. */
MUST_CHECK int line_reader_next(struct line_reader *r,
                                struct slice *line,
                                bool *more,
                                struct err *err);

#endif /* CLI_LINE_READER_H */
