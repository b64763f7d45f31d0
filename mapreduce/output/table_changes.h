/* Changes of rows on their way from a task to the table: as bytes in a record
 * file whose keys are row names, and back into mutations when the job commits.
 *
 *     change = kind:u8 family:lslice qualifier:lslice time:zigzag value:rest
 */
#ifndef MAPREDUCE_OUTPUT_TABLE_CHANGES_H
#define MAPREDUCE_OUTPUT_TABLE_CHANGES_H

#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/slice.h"

struct quarry;
struct job_files;
struct keyring;

enum table_change_kind {
    TABLE_PUT = 1,
    TABLE_DELETE_COLUMN,
    TABLE_DELETE_FAMILY,
    TABLE_DELETE_ROW,
};

struct table_change {
    enum table_change_kind kind;
    struct slice family;
    struct slice qualifier;
    int64_t timestamp_us;
    struct slice value;
};

/* Append the bytes of @c to @out. */
void table_change_encode(const struct table_change *c, struct buf *out);
/* Borrowed from @bytes. ERR_CORRUPT. */
MUST_CHECK int table_change_decode(struct slice bytes,
                                   struct table_change *c,
                                   struct err *err);

/* Apply all changes of the record file @path to @table, rows in their order in
 * the file; several changes of one row that follow each other are one mutation.
 * Applying a file again changes nothing, since timestamps are fixed. The
 * changes are durable after quarry_flush(). @keys opens the file; NULL: it is
 * not encrypted. Parks. */
MUST_CHECK int table_changes_apply(const struct job_files *files,
                                   const char *path,
                                   struct keyring *keys,
                                   struct quarry *store,
                                   const char *table,
                                   uint64_t *rows,
                                   struct err *err);

#endif /* MAPREDUCE_OUTPUT_TABLE_CHANGES_H */
