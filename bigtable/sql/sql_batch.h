/* Rows of a result, as text and as JSON.
 *
 * Threads: those of the statement's caller.
 */
#ifndef BIGTABLE_SQL_SQL_BATCH_H
#define BIGTABLE_SQL_SQL_BATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct ArrowArray;
struct ArrowSchema;
struct buf;
struct sql_batch;

/* How a column is shown. */
enum sql_shape {
    SQL_SHAPE_TEXT,
    SQL_SHAPE_NUMBER,
    SQL_SHAPE_BYTES, /* A BLOB: any bytes. */
};

/* The columns of a result. Borrowed from the session while it runs. */
struct sql_header {
    const char *const *names;
    const enum sql_shape *shapes;
    size_t count;
    bool has_rows; /* False: the statement has no result but a count. */
};

/* Receives a result. Each function may be NULL; one that fails ends the
 * statement with its error. */
struct sql_sink {
    void *ctx;
    int (*begin)(void *ctx, const struct sql_header *header, struct err *err);
    int (*rows)(void *ctx, const struct sql_batch *batch, struct err *err);
    /* In place of rows, all three: columns of Arrow. Of a statement that has
     * rows, first their types, which stay to the end; then each batch, which
     * does not; and the end, if all went well. */
    int (*columns)(void *ctx, const struct ArrowSchema *types, struct err *err);
    int (*arrays)(void *ctx, const struct ArrowArray *batch, struct err *err);
    int (*arrays_end)(void *ctx, struct err *err);
    /* Lines about the scans, after the rows of EXPLAIN. */
    void (*note)(void *ctx, struct slice lines);
};

size_t sql_batch_row_count(const struct sql_batch *b);
/* Is the value NULL? */
bool sql_batch_is_null(const struct sql_batch *b, size_t column, size_t row);
/* The bytes of a VARCHAR or BLOB; false: it is of another type. Borrowed. */
bool sql_batch_bytes(const struct sql_batch *b,
                     size_t column,
                     size_t row,
                     struct slice *out);
/* Append the value as DuckDB writes it; nothing for NULL. */
void sql_batch_text(const struct sql_batch *b,
                    size_t column,
                    size_t row,
                    struct buf *out);
/* Append it as JSON. Bytes that are not UTF-8 are "base64:…". */
void sql_batch_json(const struct sql_batch *b,
                    size_t column,
                    size_t row,
                    struct buf *out);

/* Entries of a MAP of texts or bytes, for writing: their number, or SIZE_MAX if
 * the column is no such map. */
size_t sql_batch_map_size(const struct sql_batch *b, size_t column, size_t row);
/* Entry @entry of it. Borrowed; *@is_null: the value is NULL. */
void sql_batch_map_entry(const struct sql_batch *b,
                         size_t column,
                         size_t row,
                         size_t entry,
                         struct slice *key,
                         struct slice *value,
                         bool *is_null);

#endif /* BIGTABLE_SQL_SQL_BATCH_H */
