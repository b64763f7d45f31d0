/* Rows on standard output, one after the other, in the user's format.
 *
 * As text a row is its key and below it a line for each cell; as JSON one
 * object a line; as CSV a line for each cell. Nothing is kept between rows.
 */
#ifndef CLI_ROW_PRINTER_H
#define CLI_ROW_PRINTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "cli/cli.h"

struct quarry_row;

struct row_printer {
    enum cli_format format;
    bool keys_only;
    size_t value_columns; /* Values are cut there as text; 0: never. */
    bool tsv; /* With FORMAT_CSV: tabs and escapes, as quarry load reads. */
    bool header_done;
    uint64_t row_count;
    uint64_t byte_count;
    FILE *out; /* Borrowed; standard output unless the caller changes it. */
    struct buf line;
};

/* @cut: columns for values as text; 0: what the terminal has room for. */
void row_printer_init(struct row_printer *p,
                      enum cli_format format,
                      bool keys_only,
                      size_t cut);
void row_printer_row(struct row_printer *p, const struct quarry_row *row);
/* Also prints the header of a CSV file without rows. */
void row_printer_close(struct row_printer *p);

#endif /* CLI_ROW_PRINTER_H */
