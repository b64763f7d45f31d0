/* Rows of a table into the vectors of a batch of DuckDB.
 *
 * Threads: a batch is one thread's.
 */
#ifndef BIGTABLE_SQL_SQL_FILL_H
#define BIGTABLE_SQL_SQL_FILL_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "bigtable/quarry.h"
#include "bigtable/sql/duckdb_api.h"

struct sql_relation;
struct sql_column;

/* One column of the result. */
struct sql_output {
    const struct sql_column *column; /* NULL: nothing is read of it. */
    size_t place;         /* Of a column's cell in the last row: tried first. */
    duckdb_vector vector; /* These of the batch at hand: */
    void *data;
    duckdb_vector map_keys; /* of a map, of its entries, */
    duckdb_vector map_values;
    uint64_t map_length; /* and their number so far. */
};

/* Take the vectors of @batch. */
void sql_fill_begin(struct sql_output *outputs,
                    size_t count,
                    duckdb_data_chunk batch);
/* Put @row, or its cell @cell where there is a row a cell, at @at of the batch.
 * Errors: ERR_INVALID (a value that is not of its type; names row and column).
 */
MUST_CHECK int sql_fill_row(struct sql_output *outputs,
                            size_t count,
                            const struct quarry_row *row,
                            const struct quarry_cell *cell,
                            uint64_t at,
                            struct err *err);
/* The batch has all its rows. */
void sql_fill_end(struct sql_output *outputs, size_t count);

#endif /* BIGTABLE_SQL_SQL_FILL_H */
