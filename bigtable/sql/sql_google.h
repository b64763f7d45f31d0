/* Statements in GoogleSQL for Bigtable, over the tables of one store. */
#ifndef BIGTABLE_SQL_SQL_GOOGLE_H
#define BIGTABLE_SQL_SQL_GOOGLE_H

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct buf;
struct quarry;

/* Append to @out the query @text as SQL of DuckDB, whose columns have the names
 * that the query gives them (f0_, f1_ where it gives none). Parks: tables are
 * described. Errors: ERR_INVALID (what and where), ERR_NOTFOUND (a table). */
MUST_CHECK int sql_google_translate(struct quarry *q,
                                    struct slice text,
                                    struct buf *out,
                                    struct err *err);

#endif /* BIGTABLE_SQL_SQL_GOOGLE_H */
