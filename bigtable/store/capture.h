/* The files of a table as of one moment: each tablet's SSTables, after all
 * writes are in them. Writers wait for the second of two minor
 * compactions, which has little to do.
 *
 * Threads: any.
 */
#ifndef BIGTABLE_STORE_CAPTURE_H
#define BIGTABLE_STORE_CAPTURE_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"

struct store;
struct table_part;

struct captured_tablet {
    struct buf start;
    struct buf end;
    struct buf groups; /* edit_put_groups() */
    uint64_t sequence; /* At least that of every entry in the files. */
    uint64_t bytes;
    int64_t stamped_us; /* manifest_tablet's. */
};

struct capture {
    struct buf schema;               /* schema_encode() */
    struct captured_tablet *tablets; /* Owned; in order of their rows. */
    size_t tablet_count;
    uint64_t *files; /* Owned. In a directory they are held: */
    size_t file_count;
};

/* Capture @t. Parks. On error nothing is held, and nothing is to be closed.
 * Errors: ERR_NOTFOUND: it was dropped; ERR_CANCELLED: it is another server's.
 */
MUST_CHECK int table_capture(struct store *s,
                             struct table_part *t,
                             struct capture *out,
                             struct err *err);
/* Release the files. Parks. */
void capture_release(struct store *s, struct capture *c);
/* The holds on the files are somebody else's now. */
void capture_keep(struct capture *c);

#endif /* BIGTABLE_STORE_CAPTURE_H */
