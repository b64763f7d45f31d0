/* Columns of an Arrow table, filled cell by cell. Private to bindings/python.
 *
 * Ownership: a batch's buffers are handed over to its ArrowArray, whose
 * release() frees them.
 *
 * Threads: a column is one thread's. Nothing here needs the GIL.
 */
#ifndef BINDINGS_PYTHON_SRC_ARROW_H
#define BINDINGS_PYTHON_SRC_ARROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/arrow_abi.h"
#include "base/core/err.h"
#include "base/core/slice.h"
#include "bigtable/row/cells.h"

/* Where the values of a column come from. */
enum arrow_source {
    ARROW_ROW_KEY,
    ARROW_CELL_FAMILY, /* These four: of a table with a row a cell. */
    ARROW_CELL_QUALIFIER,
    ARROW_CELL_TIMESTAMP,
    ARROW_CELL_VALUE,
    ARROW_COLUMN, /* The newest value of one column, */
    ARROW_FAMILY, /* or of all columns of a family, by qualifier: of a table
                     with a row a row. */
};

enum arrow_type {
    ARROW_BINARY,
    ARROW_UTF8,
    ARROW_INT64,   /* From 8 bytes, big endian, as increments write them; or */
    ARROW_FLOAT64, /* the bits of a double in that order; */
    ARROW_TIMESTAMP, /* µs since 1970, UTC. */
    ARROW_MAP,       /* binary to binary. */
};

struct arrow_buffer {
    char *data; /* Owned. */
    size_t len;
    size_t cap;
    size_t first; /* Room to begin with: of the batch before. */
};

/* A column under construction. Zeros and a spec are an empty one. */
struct arrow_column {
    enum arrow_source source;
    enum arrow_type type;
    char *name; /* Owned, as the next two. */
    char *family;
    size_t family_len;
    char *qualifier; /* NULL: none. */
    size_t qualifier_len;
    size_t place; /* Of an ARROW_COLUMN: of its cell in the last row. */
    struct arrow_buffer validity; /* Bits. */
    struct arrow_buffer offsets;  /* int32_t; of ARROW_MAP: of entries. */
    struct arrow_buffer data;     /* Of fixed types the values. */
    struct arrow_buffer map_key_offsets;
    struct arrow_buffer map_keys;
    struct arrow_buffer map_value_offsets;
    struct arrow_buffer map_values;
    size_t length;
    size_t null_count;
    size_t map_length; /* Entries. */
};

/* Bytes that it holds. */
size_t arrow_column_bytes(const struct arrow_column *c);
/* Append the values of @row, one a row, or one a cell for the sources of cells.
 * Errors: ERR_INVALID (a value that is not of the type; names row and column),
 * ERR_TOOBIG (more than an Arrow array's offsets reach), ERR_NOMEM. */
MUST_CHECK int arrow_column_add(struct arrow_column *c,
                                const struct quarry_row *row,
                                bool by_cells,
                                struct err *err);
/* Hand the values over to *@out; @c is empty then. ERR_NOMEM. */
MUST_CHECK int arrow_column_take(struct arrow_column *c,
                                 struct ArrowArray *out,
                                 struct err *err);
/* Describe it. ERR_NOMEM. */
MUST_CHECK int arrow_column_schema(const struct arrow_column *c,
                                   struct ArrowSchema *out,
                                   struct err *err);
/* Free its memory and texts. */
void arrow_column_close(struct arrow_column *c);

/* A struct array, or its schema, with @count children that are to be filled in,
 * zeroed. ERR_NOMEM. */
MUST_CHECK int arrow_struct_array(struct ArrowArray *out,
                                  size_t count,
                                  size_t length,
                                  struct err *err);
MUST_CHECK int arrow_struct_schema(struct ArrowSchema *out,
                                   const char *format,
                                   const char *name,
                                   int64_t flags,
                                   size_t count,
                                   struct err *err);

#endif /* BINDINGS_PYTHON_SRC_ARROW_H */
