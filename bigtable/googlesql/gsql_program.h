/* A query of a materialized view as a program of the store's views: aggregates
 * of one table by groups (bigtable/quarry_view.h), in the language of
 * docs/language.md.
 *
 *     SELECT item, … FROM table [WHERE condition] GROUP BY item, …
 *
 * The program gives what the query gives when it is executed. A row of which an
 * expression fails ends the query; the program leaves that row out, and fails
 * on it, which is counted.
 *
 * Pure but for the catalog.
 */
#ifndef BIGTABLE_GOOGLESQL_GSQL_PROGRAM_H
#define BIGTABLE_GOOGLESQL_GSQL_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/googlesql/gsql_translate.h"

struct arena;

#define GSQL_PROGRAM_COLUMNS_MAX 64

enum gsql_program_source {
    GSQL_PROGRAM_KEY,     /* An expression of GROUP BY. */
    GSQL_PROGRAM_COUNT,   /* Missing: 0. */
    GSQL_PROGRAM_VALUE,   /* Missing: NULL. */
    GSQL_PROGRAM_AVERAGE, /* A value by a count. */
};

/* A field of the elements of one of the program's tables, whose kind is "sum",
 * "maximum" or "minimum"; NULL: no place. */
struct gsql_program_place {
    const char *kind;
    unsigned table;
    unsigned field;
};

struct gsql_program_column {
    struct slice name; /* Ends with a NUL. */
    enum gsql_kind type;
    enum gsql_program_source source;
    unsigned key; /* Of a key: its number in the index. */
    struct gsql_program_place value;
    struct gsql_program_place count; /* A value is NULL where this is 0. */
};

/* All of the arena. */
struct gsql_program {
    struct slice text;  /* The program. */
    struct slice table; /* The store's name of the table, with a NUL. */
    struct gsql_program_column columns[GSQL_PROGRAM_COLUMNS_MAX];
    size_t column_count;
};

/* Translate @query. Errors: ERR_INVALID (it does not parse), ERR_UNSUPPORTED
 * (it has what a program cannot have; says what), those of the catalog. */
MUST_CHECK int gsql_program_make(struct slice query,
                                 const struct gsql_options *options,
                                 struct arena *arena,
                                 struct gsql_program *out,
                                 struct err *err);

#endif /* BIGTABLE_GOOGLESQL_GSQL_PROGRAM_H */
