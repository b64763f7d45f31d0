/* A transaction on a view's own table: the figures of the view are read at its
 * beginning and written at its end.
 *
 * Threads: one at a time. Everything parks.
 */
#ifndef BIGTABLE_VIEW_VIEW_TXN_H
#define BIGTABLE_VIEW_VIEW_TXN_H

#include <stdbool.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/quarry_txn.h"
#include "bigtable/view/view_core.h"
#include "bigtable/view/view_meta.h"

struct view_txn {
    struct view_core *view; /* Borrowed. */
    struct quarry_txn *txn; /* Borrowed; NULL: plain reads. */
    struct view_meta meta;
};

/* Call @fn in a transaction, which writes the figures and commits; again after
 * a conflict. */
typedef int (*view_txn_fn)(struct view_txn *t, void *ctx, struct err *err);
MUST_CHECK int
view_txn_run(struct view_core *v, view_txn_fn fn, void *ctx, struct err *err);
/* The same, reading alone. */
MUST_CHECK int
view_txn_look(struct view_core *v, view_txn_fn fn, void *ctx, struct err *err);

/* @value is replaced, and empty if there is no such row. */
MUST_CHECK int view_txn_get(struct view_txn *t,
                            struct slice key,
                            struct buf *value,
                            struct err *err);
MUST_CHECK int view_txn_put(struct view_txn *t,
                            struct slice key,
                            struct slice value,
                            struct err *err);
MUST_CHECK int
view_txn_delete(struct view_txn *t, struct slice key, struct err *err);

/* The rows of [start, end), one after the other. */
struct view_cursor {
    struct quarry_txn_scanner *txn; /* One of these; owned. */
    struct quarry_scanner *plain;
};

/* On failure nothing is owned. */
MUST_CHECK int view_cursor_open(struct view_txn *t,
                                struct slice start,
                                struct slice end,
                                struct view_cursor *out,
                                struct err *err);
MUST_CHECK int view_cursor_next(struct view_cursor *c,
                                const struct quarry_row **row,
                                struct err *err);
/* A zeroed one is not open. */
void view_cursor_close(struct view_cursor *c);

/* Call @fn with the rows whose keys begin with @prefix and are not before
 * @from, in order, until it sets *stop or fails. */
typedef int (*view_row_fn)(void *ctx,
                           struct slice key,
                           struct slice value,
                           bool *stop,
                           struct err *err);
MUST_CHECK int view_txn_scan(struct view_txn *t,
                             struct slice prefix,
                             struct slice from,
                             view_row_fn fn,
                             void *ctx,
                             struct err *err);

/* Make @run hold the results of one group alone: the row @key of the view's own
 * table, with @value. */
MUST_CHECK int view_load_group(struct view_txn *t,
                               struct saw_run *run,
                               struct slice key,
                               struct slice value,
                               struct err *err);

/* view_load() in a transaction. */
MUST_CHECK int
view_load_in(struct view_txn *t, struct saw_run *run, struct err *err);

#endif /* BIGTABLE_VIEW_VIEW_TXN_H */
