/* GoogleSQL for Bigtable as SQL of DuckDB.
 *
 * Tables become calls of quarry() (bigtable/sql), with what the query says
 * about keys and times as parameters; every name in the result is made up here
 * (t0, f1, c2), and every value is written as a literal (gsql_literal.h), so
 * that no text of the query reaches DuckDB as it is. A function that is not in
 * the table of functions (gsql_functions.h) cannot be called, and no file can
 * be named.
 *
 * Pure but for the catalog.
 */
#ifndef BIGTABLE_GOOGLESQL_GSQL_TRANSLATE_H
#define BIGTABLE_GOOGLESQL_GSQL_TRANSLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/googlesql/gsql_type.h"

struct arena;
struct buf;

/* Bytes of a translated query, at most. */
#define GSQL_SQL_BYTES_MAX ((size_t)8 << 20)
/* Logical views in logical views. */
#define GSQL_VIEWS_MAX 8

struct gsql_column {
    struct slice name; /* Empty: the query gives it none. */
    const struct gsql_type *type;
    /* It is what a row is grouped by, or, without groups, ordered by. Never
     * set of a query with a *. */
    bool is_key;
};

/* A name in FROM. Made by the catalog, of the arena it is given. */
struct gsql_relation {
    struct slice view;   /* A logical view's query; empty: a table. */
    struct slice table;  /* The store's name of it, */
    struct slice source; /* and of the store, quarry()'s `target`; empty: the
                            session's own. */
    const struct slice *families;
    /* Of their newest values, INT64 or BYTES; NULL: BYTES. Values of histories
     * are BYTES. */
    const struct gsql_type *const *types;
    size_t family_count;
    /* It is a view that is kept up to date: quarry() of `table` has these
     * columns, and there are no families. */
    const struct gsql_column *kept;
    size_t kept_count;
};

/* The tables that a query may name. Find @name. Errors: ERR_NOTFOUND, of which
 * the translation says where, and any other, which end it. */
typedef int (*gsql_find_fn)(void *ctx,
                            struct slice name,
                            struct arena *arena,
                            struct gsql_relation *out,
                            struct err *err);

struct gsql_param {
    struct slice name;
    const struct gsql_type *type;
    struct slice sql; /* Its value as SQL of DuckDB (gsql_literal.h). */
    /* The bytes of a STRING or BYTES, for bounds of keys. */
    bool has_bytes;
    struct slice bytes;
};

/* Where a query that is asked again continues. */
struct gsql_resume {
    struct slice after; /* The key of the last row that was delivered; */
    uint64_t rows;      /* how many were, for LIMIT. */
};

struct gsql_options {
    gsql_find_fn find;
    void *ctx;
    const struct gsql_param *params;
    size_t param_count;
    bool keyed;                       /* See gsql_result.is_keyed. */
    const struct gsql_resume *resume; /* NULL: from the beginning. Only with
                                         `keyed`; counts if the query is. */
};

struct gsql_result {
    struct slice sql; /* Ends with a NUL. */
    const struct gsql_column *columns;
    size_t column_count;
    /* The query hands on rows of one table: it has neither groups nor another
     * order. If the options want that, its rows come in the order of their
     * keys, one for each row of the table, and a column "k" behind the others
     * has the key. */
    bool is_keyed;
};

/* Translate @query. All of @out is of @arena. Errors: ERR_INVALID (what and
 * where; also a table that is not there), those of the catalog. */
MUST_CHECK int gsql_translate(struct slice query,
                              const struct gsql_options *options,
                              struct arena *arena,
                              struct gsql_result *out,
                              struct err *err);

/* Append a query whose columns are those of @result, each cast to its type, so
 * that what DuckDB delivers is what the types say; and the key, if there is
 * one. PRE: gsql_type_settled() made the types. */
void gsql_put_cast(const struct gsql_result *result, struct buf *out);

#endif /* BIGTABLE_GOOGLESQL_GSQL_TRANSLATE_H */
