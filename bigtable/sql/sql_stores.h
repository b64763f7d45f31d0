/* The stores whose tables SQL reads: one that the process has already, and
 * those that statements name as `target := '…'`, which are opened once and stay
 * open to the end.
 *
 * Threads: any. Tables and descriptions are opened for each use, so that a
 * change of schema is seen by the next statement.
 *
 * Invariants
 *     INV-1. A target is in the list once.
 */
#ifndef BIGTABLE_SQL_SQL_STORES_H
#define BIGTABLE_SQL_SQL_STORES_H

#include <stdbool.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct quarry;
struct sql_stores;

/* Gives the process's own store, borrowed; opens it if need be. */
typedef int (*sql_store_fn)(void *ctx, struct quarry **out, struct err *err);

/* @own may be NULL: then every statement names its target. Owned. */
struct sql_stores *sql_stores_new(sql_store_fn own, void *ctx);
/* Close the stores it opened. PRE: no statement runs. NULL is allowed. */
void sql_stores_free(struct sql_stores *s);

/* The store at @target ("file:DIR", "cluster:HOST:PORT,…", or NULL: the
 * process's own), with the cluster's key in @key_file (or NULL). Borrowed until
 * sql_stores_free(). Directories are opened to be read. Errors: ERR_INVALID (no
 * target, where there is no own store), those of quarry_open(). */
MUST_CHECK int sql_stores_find(struct sql_stores *s,
                               const char *target,
                               const char *key_file,
                               struct quarry **out,
                               struct err *err);

/* Lines about scans that were planned, for EXPLAIN. Kept while they are wanted.
 */
void sql_stores_want_notes(struct sql_stores *s, bool wanted);
void sql_stores_note(struct sql_stores *s, struct slice line);
/* Append the lines to @out and forget them. */
void sql_stores_take_notes(struct sql_stores *s, struct buf *out);

/* DuckDB keeps the text of a failure and not its code: the first failure of a
 * scan since the last sql_stores_take_failure(). */
void sql_stores_note_failure(struct sql_stores *s, const struct err *err);
/* Give and forget it; 0: there was none. */
int sql_stores_take_failure(struct sql_stores *s, struct err *err);

#endif /* BIGTABLE_SQL_SQL_STORES_H */
