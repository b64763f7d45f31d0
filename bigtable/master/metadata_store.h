/* The rows of METADATA, as the master reads and changes them.
 *
 * An interface, so that the master can be tested without tablet servers; in a
 * cluster it is the table METADATA through the client library
 * (metadata_table.c). The root tablet's record is not a row of METADATA: see
 * rows.c.
 *
 * Threads: fibers of one loop. Everything parks. */
#ifndef BIGTABLE_MASTER_METADATA_STORE_H
#define BIGTABLE_MASTER_METADATA_STORE_H

#include <stdbool.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/slice.h"

struct metadata_store;
struct quarry;
struct world;

/* The newest cells of a tablet's row; an absent one is empty. Borrowed until
 * the function that got it returns. */
struct metadata_row {
    struct slice key;
    struct slice tablet;
    struct slice location;
    struct slice state;
    struct slice split;
};

enum metadata_condition {
    METADATA_IF_ABSENT,  /* The row has nothing. */
    METADATA_IF_LOCATION /* t:location holds exactly these bytes. */
};

/* A change of one row, made if the condition holds. An empty slice leaves its
 * column as it is. */
struct metadata_change {
    struct slice key;
    enum metadata_condition condition;
    struct slice if_location;
    bool remove;         /* The row. */
    struct slice tablet; /* The columns. */
    struct slice location;
    struct slice state;
    struct slice event;
};

/* An error ends the scan with it. */
typedef int (*metadata_row_fn)(void *ctx,
                               const struct metadata_row *row,
                               struct err *err);

struct metadata_store_ops {
    /* Call @fn with each row in [@start, @end), in order. */
    int (*scan)(struct metadata_store *s,
                struct slice start,
                struct slice end,
                metadata_row_fn fn,
                void *ctx,
                struct err *err);
    /* *@done: the condition held, and the change was made. An answer may be
     * lost: the change may have been made although *@done is false or there is
     * an error, and only reading tells. */
    int (*change)(struct metadata_store *s,
                  const struct metadata_change *c,
                  bool *done,
                  struct err *err);
    void (*free)(struct metadata_store *s);
};

/* First member of every implementation. */
struct metadata_store {
    const struct metadata_store_ops *ops;
};

MUST_CHECK static inline int metadata_scan(struct metadata_store *s,
                                           struct slice start,
                                           struct slice end,
                                           metadata_row_fn fn,
                                           void *ctx,
                                           struct err *err)
{
    return s->ops->scan(s, start, end, fn, ctx, err);
}

MUST_CHECK static inline int metadata_change(struct metadata_store *s,
                                             const struct metadata_change *c,
                                             bool *done,
                                             struct err *err)
{
    return s->ops->change(s, c, done, err);
}

static inline void metadata_store_free(struct metadata_store *s)
{
    if (s)
        s->ops->free(s);
}

/* The table METADATA of @q, which is borrowed, as @world is. It is opened with
 * the first call. Owned. */
struct metadata_store *metadata_table_new(struct world *world,
                                          struct quarry *q);

#endif /* BIGTABLE_MASTER_METADATA_STORE_H */
