/* Cells out of the files that `quarry export` writes, in any of its formats
 * (told by the first line), and of TSV that others wrote:
 *
 *     TSV   ROW, FAMILY:QUALIFIER, TIME, VALUE, escaped, with tabs between them
 *     JSON  {"row": …, "cells": [{"family": …, "qualifier": …, "timestamp_us":
 *           …, "value": …}, …]}, strings that are not UTF-8 as …_base64
 *     CSV   behind the line "row,family,qualifier,timestamp_us,value", fields
 *           that are not UTF-8 as "base64:…"
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
#include "bigtable/client/bulk_load.h"
#include "cli/line_reader.h"

#define CELL_FIELDS       5
#define CELL_FAMILY_BYTES 128

/* The first line of CSV. */
#define CELL_CSV_HEADER "row,family,qualifier,timestamp_us,value"

enum cell_form {
    CELLS_UNKNOWN,
    CELLS_TSV,
    CELLS_JSON,
    CELLS_CSV
};

struct json_t;

struct cell_file {
    struct line_reader lines;
    enum cell_form form;
    struct buf fields[CELL_FIELDS]; /* Of the cell handed out. */
    struct buf record;              /* A record of CSV over several lines. */
    char family[CELL_FAMILY_BYTES];
    struct json_t *object; /* The row at hand; owned. */
    size_t next_cell;      /* Of its cells. */
};

/* @path "-" is standard input; borrowed. On success cell_file_close(). */
MUST_CHECK int
cell_file_open(struct cell_file *f, const char *path, struct err *err);
void cell_file_close(struct cell_file *f);

/* The next cell, borrowed until the next call; *@more is false at the end.
 * Errors: ERR_INVALID names the file, the line and what is wrong with it. */
MUST_CHECK int cell_file_next(struct cell_file *f,
                              struct quarry_bulk_cell *cell,
                              bool *more,
                              struct err *err);

#endif /* CLI_CELL_FILE_H */
