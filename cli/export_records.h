/* Rows of a table as a record file of cells (cell_record.h).
 *
 * A record file is written by its own writer, under the name that the output
 * has until it is whole; for standard output, pipes and devices it is written
 * to a temporary file and copied at the end.
 *
 * Threads: one.
 */
#ifndef CLI_EXPORT_RECORDS_H
#define CLI_EXPORT_RECORDS_H

#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct cli;
struct export_records;
struct output_file;
struct quarry_row;

/* @to is borrowed, and stays open; @schema is copied. Owned:
 * export_records_close(). Parks. */
MUST_CHECK int export_records_open(struct cli *cli,
                                   struct output_file *to,
                                   struct slice schema,
                                   struct export_records **out,
                                   struct err *err);
/* ERR_TOOBIG: a value over 255 MiB. Parks. */
MUST_CHECK int export_records_row(struct export_records *x,
                                  const struct quarry_row *row,
                                  struct err *err);
/* Bytes of cells so far. */
uint64_t export_records_bytes(const struct export_records *x);
/* Complete the file unless @code is an error, and free. Returns @code, or what
 * went wrong. Parks. */
MUST_CHECK int
export_records_close(struct export_records *x, int code, struct err *err);

#endif /* CLI_EXPORT_RECORDS_H */
