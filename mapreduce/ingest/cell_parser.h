/* Cells out of the lines that `quarry export` writes, and of TSV that others
 * wrote:
 *
 *     TSV   ROW, FAMILY:QUALIFIER, TIME, VALUE, escaped, with tabs between them
 *     JSON  {"row": …, "cells": [{"family": …, "qualifier": …, "timestamp_us":
 *           …, "value": …}, …]}, strings that are not UTF-8 as …_base64
 *     CSV   after the line "row,family,qualifier,timestamp_us,value", fields
 *           that are not UTF-8 as "base64:…"
 *
 * A record is a line, and of CSV several where a quoted field has line ends;
 * it has one cell, and of JSON any number.
 *
 *     cell_parser_init(&p, form);
 *     while (a record is there) {
 *         code = cell_parser_take(&p, record, &why);
 *         while (code == 0 && cell_parser_next(&p, &cell, &code, &why))
 *             use(&cell);
 *     }
 *
 * Threads: one. Pure.
 */
#ifndef MAPREDUCE_INGEST_CELL_PARSER_H
#define MAPREDUCE_INGEST_CELL_PARSER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "bigtable/client/bulk_load.h" /* struct quarry_bulk_cell */

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

struct cell_parser {
    enum cell_form form;
    struct buf fields[CELL_FIELDS]; /* Of the cell handed out. */
    struct buf room;
    char family[CELL_FAMILY_BYTES];
    struct json_t *object; /* The row at hand; owned. */
    size_t next_cell;      /* Of its cells. */
    bool have;             /* TSV, CSV: the cell at hand was not given out. */
    struct quarry_bulk_cell cell;
    char why[160];
};

void cell_parser_init(struct cell_parser *p, enum cell_form form);
void cell_parser_close(struct cell_parser *p);

/* The form of a text by its first line. JSON has no raw tab, TSV always has
 * one.
 */
enum cell_form cell_form_of(struct slice line);

/* Read a record, without its line end. ERR_INVALID: *@why, borrowed until the
 * next call, says what is wrong with it. PRE: the form is known, and @record is
 * not the header of CSV. */
MUST_CHECK int
cell_parser_take(struct cell_parser *p, struct slice record, const char **why);
/* Its next cell, borrowed until the next call. False: there are no more, or
 * *@code is ERR_INVALID. A cell of TSV without a time has QUARRY_NOW. */
bool cell_parser_next(struct cell_parser *p,
                      struct quarry_bulk_cell *cell,
                      int *code,
                      const char **why);

#endif /* MAPREDUCE_INGEST_CELL_PARSER_H */
