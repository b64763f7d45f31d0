/* An interface to the records of tablets, which are changed on conditions: rows
 * of METADATA (metadata_rows.c), and for the root tablet a file of the lock
 * service (root_record.c).
 *
 * Threads: any, unless said otherwise. Everything parks. */
#ifndef BIGTABLE_TABLET_SERVER_TABLET_ROWS_H
#define BIGTABLE_TABLET_SERVER_TABLET_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct chubby;
struct loop_tasks;
struct quarry;
struct tablet_rows;
struct world;

/* The columns of wire/metadata.h, copied; empty: absent. */
struct tablet_row {
    struct buf bounds;
    struct buf location;
    struct buf state;
    struct buf split;
    uint64_t version; /* Changes with every change of the state. */
};

/* Frees its columns. */
void tablet_row_close(struct tablet_row *r);

/* A change, made if t:location holds exactly the bytes `if_location` and the
 * version is `if_version` (0: any). An empty slice leaves its column as it is.
 */
struct tablet_row_change {
    struct slice key;
    struct slice if_location;
    uint64_t if_version;
    struct slice bounds;
    struct slice location;
    struct slice state;
    struct slice split;
    bool drop_split;
    const char *event; /* NULL: none. */
};

struct tablet_rows_ops {
    int (*read)(struct tablet_rows *r,
                struct slice key,
                struct tablet_row *out,
                struct err *err);
    int (*change)(struct tablet_rows *r,
                  const struct tablet_row_change *c,
                  bool *done,
                  uint64_t *version,
                  struct err *err);
    int (*create)(struct tablet_rows *r,
                  const struct tablet_row_change *c,
                  bool *done,
                  struct err *err);
    void (*free)(struct tablet_rows *r);
};

/* First member of every implementation. */
struct tablet_rows {
    const struct tablet_rows_ops *ops;
};

/* Read the record under @key. PRE: @out is empty. Errors: ERR_NOTFOUND; those
 * of METADATA or of the lock service. */
MUST_CHECK static inline int tablet_rows_read(struct tablet_rows *r,
                                              struct slice key,
                                              struct tablet_row *out,
                                              struct err *err)
{
    return r->ops->read(r, key, out, err);
}

/* Make the change @c. *@done: the condition held, and *@version is the new one.
 * An answer may be lost: without *@done, or after an error, the change may have
 * been made, and only reading tells. */
MUST_CHECK static inline int
tablet_rows_change(struct tablet_rows *r,
                   const struct tablet_row_change *c,
                   bool *done,
                   uint64_t *version,
                   struct err *err)
{
    return r->ops->change(r, c, done, version, err);
}

/* Make the row of c->key, with the columns given, unless there is one. */
MUST_CHECK static inline int
tablet_rows_create(struct tablet_rows *r,
                   const struct tablet_row_change *c,
                   bool *done,
                   struct err *err)
{
    return r->ops->create(r, c, done, err);
}

/* NULL is allowed. */
static inline void tablet_rows_free(struct tablet_rows *r)
{
    if (r)
        r->ops->free(r);
}

/* Rows of the table METADATA of @q, which is borrowed. Owned. */
MUST_CHECK int
metadata_rows_open(struct quarry *q, struct tablet_rows **out, struct err *err);
/* The root tablet's record, through @c (borrowed), of the loop alone. Owned. */
struct tablet_rows *root_record_new(struct chubby *c);
/* The rows of @kept (owned from now on), which belong to the loop of @e
 * (borrowed), for any thread; once the server ends they fail. Owned. */
struct tablet_rows *loop_rows_new(struct tablet_rows *kept,
                                  struct loop_tasks *e);

#endif /* BIGTABLE_TABLET_SERVER_TABLET_ROWS_H */
