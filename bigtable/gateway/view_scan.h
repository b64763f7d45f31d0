/* The rows of a materialized view: what is kept of it, or its query, executed
 * when it is read, with the bounds of keys that the reader asks for.
 *
 * Each row of the result is a row of the view (view_key.h says under which
 * key); its other columns are cells of the time 0, numbers in 8 bytes, the
 * highest first. A row has the cell "default:", too, without a value, so that
 * one whose columns are all NULL is there. NULLs are no cells. A row whose key
 * is NULL, empty or larger than a row's may be is left out.
 *
 * Threads: open and close on a fiber of the loop; next() on the thread that
 * view_scan_run() chooses, one at a time; interrupt() any.
 */
#ifndef BIGTABLE_GATEWAY_VIEW_SCAN_H
#define BIGTABLE_GATEWAY_VIEW_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/quarry.h"

struct gateway;
struct grpc_call;
struct request_rows;
struct view_scan;

struct view_scan_options {
    struct slice name;               /* "projects/…/materializedViews/V". */
    const struct request_rows *rows; /* These three borrowed. */
    struct quarry_filter *filter;    /* NULL: all cells. */
    struct grpc_call *call;          /* Its status may get another code. */
    uint64_t limit;                  /* Of rows with a cell; 0: none. */
    bool reversed;
};

/* Plan the query and wait until it may run. *@out is owned:
 * view_scan_close(). Parks. Errors: ERR_NOTFOUND (no such view, or a table of
 * it), ERR_INVALID (a name, a query whose rows have no keys), ERR_UNSUPPORTED
 * and ERR_NOTFOUND with a hint (no engine), those of query_pool_enter(). */
MUST_CHECK int view_scan_open(struct gateway *g,
                              const struct view_scan_options *opts,
                              struct view_scan **out,
                              struct err *err);
/* *@row is borrowed until the next call, and NULL at the end. Errors: those of
 * gsql_engine.next(); ERR_INVALID: two rows have one key. */
MUST_CHECK int view_scan_next(struct view_scan *s,
                              const struct quarry_row **row,
                              struct err *err);
void view_scan_interrupt(struct view_scan *s);
/* Run fn(arg), which calls next(), on a thread of the pool of queries, or of
 * the workers where nothing is executed; interrupt(arg) ends it. Parks. */
void view_scan_run(struct view_scan *s,
                   void (*fn)(void *arg),
                   void (*interrupt)(void *arg),
                   void *arg);
/* Rows and cells of the view that were looked at so far. */
void view_scan_seen(const struct view_scan *s, uint64_t *rows, uint64_t *cells);
void view_scan_close(struct view_scan *s); /* Parks. NULL is allowed. */

#endif /* BIGTABLE_GATEWAY_VIEW_SCAN_H */
