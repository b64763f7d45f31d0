/* GoogleSQL for Bigtable, from text to tree.
 *
 * Texts are not trusted: levels of nesting are bounded. Constructs that
 * Bigtable has not (joins, set operations, subqueries as expressions, changes)
 * are refused by name. Pure.
 */
#ifndef BIGTABLE_GOOGLESQL_GSQL_PARSER_H
#define BIGTABLE_GOOGLESQL_GSQL_PARSER_H

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/googlesql/gsql_ast.h"

struct arena;

/* Bytes of a query, and levels of what is within each other. */
#define GSQL_QUERY_BYTES_MAX ((size_t)256 << 10)
#define GSQL_DEPTH_MAX       100

/* Parse @text, one query with or without a semicolon. *@out and all below are
 * of @arena and borrow from @text. ERR_INVALID: says what and where, as in
 * "Syntax error: … [at 1:8]". */
MUST_CHECK int gsql_parse(struct slice text,
                          struct arena *arena,
                          struct gsql_query **out,
                          struct err *err);

#endif /* BIGTABLE_GOOGLESQL_GSQL_PARSER_H */
