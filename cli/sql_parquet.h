/* Files of Parquet, by DuckDB: cells of a table written, and the rows of any
 * file read as cells.
 *
 * An export has the columns row, family, qualifier, timestamp_us and value, a
 * row a cell. A file with these is read back as those cells; of any other, each
 * row is a row, and each column but that of the key a cell.
 *
 * Only in builds with DuckDB.
 *
 * Threads: any; a reader has a thread of its own, in which DuckDB's statement
 * runs and waits while a batch of its rows is read.
 */
#ifndef CLI_SQL_PARQUET_H
#define CLI_SQL_PARQUET_H

#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "mapreduce/ingest/ingest.h"

struct cli;
struct quarry_read_options;

/* Write what @opts selects of @table to the file @path. Errors:
 * ERR_UNSUPPORTED (no DuckDB; an option that is not for it), ERR_CANCELLED,
 * those of the scan and of DuckDB. Parks. */
MUST_CHECK int sql_parquet_write(struct cli *cli,
                                 const char *table,
                                 const struct quarry_read_options *opts,
                                 const char *path,
                                 uint64_t *cells,
                                 struct err *err);

/* How rows of files that are no exports become cells. */
struct sql_parquet_columns {
    struct cli *cli;    /* Borrowed, as all is. */
    const char *key;    /* NULL: the first column. */
    const char *family; /* Of all cells. */
    const char *time;   /* NULL: all are at 0. */
};

/* The cells of files of Parquet. @columns is borrowed. */
struct ingest_cell_source
sql_parquet_source(struct sql_parquet_columns *columns);

#endif /* CLI_SQL_PARQUET_H */
