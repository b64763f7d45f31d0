/* Statements of SQL over the tables of one store: what `quarry sql` runs.
 *
 * DuckDB, loaded from its library, parses, plans and executes. Tables of Quarry
 * are relations of their names (sql_relation.h); bounds on their keys are
 * pushed into scans (sql_push.h). Statements that change Quarry are executed
 * here: INSERT INTO table [(columns)] SELECT … | VALUES …    sql_write.h DELETE
 * FROM table [WHERE …] CREATE [OR REPLACE] VIEW, DROP VIEW       kept in the
 * table `sql_views`
 *
 * Life cycle: sql_session_open(), any number of sql_session_run(), close.
 *
 * Threads: one, but sql_session_interrupt() is for any other. DuckDB's own
 * threads scan.
 *
 * Invariants
 *     INV-1. `views` has the kept views that DuckDB has been told of.
 *     INV-2. The result of a statement is closed when its run returns.
 */
#ifndef BIGTABLE_SQL_SQL_SESSION_H
#define BIGTABLE_SQL_SQL_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/sql/sql_batch.h"
#include "bigtable/sql/sql_stores.h"

struct buf;
struct sql_session;

/* The table in which views are kept: the row is the name, the column `sql` of
 * the family `view` the statement that makes it. */
#define SQL_VIEWS_TABLE "sql_views"

struct sql_session_options {
    const char *library;   /* libduckdb.so. */
    sql_store_fn store;    /* Gives the store to read, */
    sql_store_fn writable; /* and to write. */
    void *ctx;             /* Of both. */
    bool google;           /* Statements are queries in GoogleSQL. */
};

/* Load DuckDB and make a session with an empty database in memory, and the
 * views that the store keeps. Parks. A view that cannot be made is left out;
 * @remarks (may be NULL) gets a line about it. Errors: ERR_NOTFOUND,
 * ERR_UNSUPPORTED (the library), those of the store. */
MUST_CHECK int sql_session_open(const struct sql_session_options *opts,
                                struct sql_session **out,
                                struct buf *remarks,
                                struct err *err);
void sql_session_close(struct sql_session *s); /* NULL is allowed. */

/* Run one statement, without its semicolon. Rows come to @sink as they are
 * found. *@changed (may be NULL) gets the number of rows that it wrote, or
 * UINT64_MAX. Errors: ERR_INVALID (DuckDB's message, with the place), those of
 * the sink and of the store, ERR_CANCELLED. */
MUST_CHECK int sql_session_run(struct sql_session *s,
                               struct slice statement,
                               const struct sql_sink *sink,
                               uint64_t *changed,
                               struct err *err);

/* End the statement that runs, if any, with ERR_CANCELLED. Any thread. */
void sql_session_interrupt(struct sql_session *s);

/* The version of DuckDB. Lives for ever. */
const char *sql_session_version(void);

#endif /* BIGTABLE_SQL_SQL_SESSION_H */
