/* The inside of a batch. Private to this room. */
#ifndef BIGTABLE_SQL_SQL_BATCH_OF_H
#define BIGTABLE_SQL_SQL_BATCH_OF_H

#include "bigtable/sql/duckdb_api.h"
#include "bigtable/sql/sql_batch.h"

/* A vector with its type. */
struct sql_vector {
    duckdb_vector vector; /* Borrowed from the chunk. */
    duckdb_logical_type type;
    duckdb_type id;
    void *data;
    uint64_t *validity;          /* NULL: all are valid. */
    struct sql_vector *children; /* Of lists, maps, structs; owned. */
    size_t child_count;
};

struct sql_batch {
    struct sql_vector *columns; /* Owned. */
    size_t column_count;
    size_t row_count;
};

/* The vectors of @chunk, which outlives the batch. sql_batch_close(). */
void sql_batch_open(struct sql_batch *b, duckdb_data_chunk chunk);
void sql_batch_close(struct sql_batch *b);

#endif /* BIGTABLE_SQL_SQL_BATCH_OF_H */
