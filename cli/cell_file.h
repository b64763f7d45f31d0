/* Cells out of the files that `quarry export` writes, in any of its formats
 * (told by the first line), and of TSV that others wrote: cell_parser.h says
 * what they look like.
 *
 * Threads: one.
 */
#ifndef CLI_CELL_FILE_H
#define CLI_CELL_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "cli/line_reader.h"
#include "mapreduce/ingest/cell_parser.h"

struct cell_file {
    struct line_reader lines;
    struct cell_parser parser;
    struct buf record; /* A record of CSV over several lines. */
};

/* @path "-" is standard input; borrowed, as @world is. On success
 * cell_file_close(). */
MUST_CHECK int cell_file_open(struct cell_file *f,
                              struct world *world,
                              const char *path,
                              struct err *err);
void cell_file_close(struct cell_file *f);

/* The next cell, borrowed until the next call; *@more is false at the end.
 * Errors: ERR_INVALID names the file, the line and what is wrong with it. */
MUST_CHECK int cell_file_next(struct cell_file *f,
                              struct quarry_bulk_cell *cell,
                              bool *more,
                              struct err *err);

#endif /* CLI_CELL_FILE_H */
