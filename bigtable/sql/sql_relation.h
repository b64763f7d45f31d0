/* A table of Quarry as a relation: its columns, and which rows and cells of the
 * table it has. Made by the bind of the table functions quarry() and
 * quarry_cells(), and not changed afterwards.
 *
 * quarry('t') has the columns `key` and one for each family, a MAP of the
 * newest values by qualifier; or `key` and the columns that `columns :=`
 * declares, each of them the newest value of one column. quarry_cells('t') has
 * a row a cell.
 *
 * A row is in the relation if it has a cell that the parameters let through,
 * whatever columns the statement reads; with `missing := 'skip'`, if it has one
 * in a family that is read.
 *
 * Threads: made on one, read on any.
 *
 * Invariants
 *     INV-1. columns[0] is the key.
 *     INV-2. A column's family_index is below family_count, or SIZE_MAX.
 */
#ifndef BIGTABLE_SQL_SQL_RELATION_H
#define BIGTABLE_SQL_SQL_RELATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/arena.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/quarry.h"

struct buf;
struct sql_kept;
struct sql_stores;

/* Where the values of a column come from. */
enum sql_source {
    SQL_FROM_KEY,
    SQL_FROM_FAMILY,    /* All columns of a family. */
    SQL_FROM_COLUMN,    /* The newest value of one column. */
    SQL_FROM_CELL_NAME, /* These four: of a row a cell. */
    SQL_FROM_CELL_QUALIFIER,
    SQL_FROM_CELL_TIME,
    SQL_FROM_CELL_VALUE,
};

enum sql_type {
    SQL_TEXT,
    SQL_BYTES,
    SQL_BIGINT,  /* From decimal digits, */
    SQL_DOUBLE,  /* a decimal number, */
    SQL_INT64,   /* 8 bytes, big endian, as increments write them, */
    SQL_FLOAT64, /* the bits of a double in that order. */
    SQL_TIME,    /* µs since 1970. */
    SQL_MAP,
};

struct sql_column {
    enum sql_source source;
    enum sql_type type;
    const char *name; /* All bytes are of the relation's arena. */
    size_t family_index;
    struct slice family;
    struct slice qualifier;
    bool history; /* Of a family: all versions. */
};

struct sql_relation {
    struct arena arena;
    struct sql_stores *stores; /* Borrowed. */
    struct quarry_table *table;
    const char *name;
    struct sql_kept *kept; /* It is a view: nothing below counts. Owned. */
    bool by_cells;
    bool binary;       /* Keys and qualifiers are BLOB, not VARCHAR, */
    bool text;         /* and values of maps and cells VARCHAR, not BLOB. */
    bool history;      /* Maps have all versions, with their times. */
    bool skip_missing; /* See above. */
    bool ordered;      /* Rows in order of their keys, from one thread. */
    struct sql_column *columns;
    size_t column_count;
    const char **families; /* Of the table. */
    size_t family_count;
    struct quarry_range range; /* Rows to read, unless there are keys. */
    struct slice *keys;
    size_t key_count;
    bool has_keys;                      /* Even if they are none. */
    bool nothing;                       /* The range is empty. */
    struct quarry_read_options options; /* But for rows and families. */
    uint64_t row_estimate;
};

/* The parameters of quarry() and quarry_cells(), as given; NULL, empty and 0:
 * not given. Bytes are of the relation's arena. */
struct sql_parameters {
    const char *target;
    const char *key_file;
    bool binary;
    bool text;
    bool history;
    bool has_keys;
    bool ordered;        /* Rows in the order of their keys. */
    const char *missing; /* "skip" or "null". */
    struct slice key_from;
    struct slice key_to;   /* Exclusive, */
    struct slice key_last; /* inclusive. */
    struct slice key_prefix;
    struct slice *keys;
    size_t key_count;
    const char *const *families;
    size_t family_count;
    const char *column_regex;
    const char *program;
    uint64_t versions;
    int64_t time_from_us;
    int64_t time_to_us;
    uint64_t row_limit;
    /* Pairs: name of the column, "family:qualifier[::TYPE]". */
    const char *const *columns;
    size_t column_pair_count;
};

/* An empty relation, whose arena can be used for parameters. Owned. */
struct sql_relation *sql_relation_new(struct sql_stores *stores, bool by_cells);
/* Close the table and free all. */
void sql_relation_free(struct sql_relation *r);

/* Open table @name and make the columns. Parks: the table is described. Errors:
 * ERR_INVALID (a parameter; names it), ERR_NOTFOUND (table, family), those of
 * quarry_table_open(). */
MUST_CHECK int sql_relation_open(struct sql_relation *r,
                                 const char *name,
                                 const struct sql_parameters *p,
                                 struct err *err);

/* One line about what is read, without the columns of the statement. */
void sql_relation_describe(const struct sql_relation *r, struct buf *out);

#endif /* BIGTABLE_SQL_SQL_RELATION_H */
