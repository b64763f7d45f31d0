/* Types of GoogleSQL, as far as Bigtable has them.
 *
 * The translator infers the type of each expression; DuckDB has the last word,
 * and where a type is not known here (GSQL_UNKNOWN) the expression is left to
 * it. Pure; any thread.
 */
#ifndef BIGTABLE_GOOGLESQL_GSQL_TYPE_H
#define BIGTABLE_GOOGLESQL_GSQL_TYPE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/slice.h"

struct arena;
struct buf;

enum gsql_kind {
    GSQL_UNKNOWN,
    GSQL_BOOL,
    GSQL_INT64,
    GSQL_FLOAT32,
    GSQL_FLOAT64,
    GSQL_STRING,
    GSQL_BYTES,
    GSQL_DATE,
    GSQL_TIMESTAMP,
    GSQL_INTERVAL, /* Of an argument; no column has it. */
    GSQL_ARRAY,
    GSQL_STRUCT,
    GSQL_MAP,
#define GSQL_KIND_COUNT 13
};

/* Levels of types within types. */
#define GSQL_TYPE_DEPTH_MAX 15

struct gsql_type;

struct gsql_field {
    struct slice name; /* May be empty. */
    const struct gsql_type *type;
};

/* All of the arena it was made in, or static. */
struct gsql_type {
    enum gsql_kind kind;
    const struct gsql_type *element; /* Of an ARRAY; the values of a MAP. */
    const struct gsql_type *key;     /* Of a MAP. */
    const struct gsql_field *fields; /* Of a STRUCT. */
    size_t field_count;
};

/* The type of a @kind without parts. Static. */
const struct gsql_type *gsql_scalar(enum gsql_kind kind);
const struct gsql_type *gsql_array_of(struct arena *arena,
                                      const struct gsql_type *element);
const struct gsql_type *gsql_map_of(struct arena *arena,
                                    const struct gsql_type *key,
                                    const struct gsql_type *value);
/* A cell's history: ARRAY<STRUCT<timestamp TIMESTAMP, value @value>>. */
const struct gsql_type *gsql_history_of(struct arena *arena,
                                        const struct gsql_type *value);
/* Is @t such an array? */
bool gsql_is_history(const struct gsql_type *t);
/* Do two values of these types compare and join? Unknown ones do. */
bool gsql_type_fits(const struct gsql_type *a, const struct gsql_type *b);
bool gsql_is_number(const struct gsql_type *t);

/* @t as a result has it: what is not known is an INT64, as an untyped NULL is.
 * NULL: @t has a part that no column can have. */
const struct gsql_type *gsql_type_settled(struct arena *arena,
                                          const struct gsql_type *t);
/* Are the types the same, with the names of fields? */
bool gsql_type_eq(const struct gsql_type *a, const struct gsql_type *b);

/* The kind that a type's name means, in any case; GSQL_UNKNOWN: none. */
enum gsql_kind gsql_kind_of(struct slice name);
/* Append the type as GoogleSQL writes it, and as DuckDB does. */
void gsql_type_put(const struct gsql_type *t, struct buf *out);
void gsql_type_put_duckdb(const struct gsql_type *t, struct buf *out);

#endif /* BIGTABLE_GOOGLESQL_GSQL_TYPE_H */
