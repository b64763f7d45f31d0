/* Record files of cells, as quarry export writes them, for an import.
 *
 * Threads: any, a reader one.
 */
#ifndef CLI_IMPORT_RECORDS_H
#define CLI_IMPORT_RECORDS_H

#include "base/core/err.h"
#include "base/core/macros.h"
#include "mapreduce/ingest/ingest.h"

struct buf;
struct cli;

/* The cells of record files. @cli is borrowed. */
struct ingest_cell_source import_records_source(struct cli *cli);

/* Append the schema in the head of @path. Errors: ERR_INVALID (records of
 * something else), those of the file. */
MUST_CHECK int import_records_schema(struct cli *cli,
                                     const char *path,
                                     struct buf *schema,
                                     struct err *err);

#endif /* CLI_IMPORT_RECORDS_H */
