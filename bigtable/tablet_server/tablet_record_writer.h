/* Changing records of tablets, and trying until the outcome is known.
 *
 * A change is conditional on t:location and on the record's version, so that it
 * is made at most once. An answer may be lost: then the record is read, and
 * tells whether the change was made, can be tried again, or whether the record
 * is another server's now.
 *
 * Threads: any; a place is used by one at a time. Everything parks.
 *
 * Invariants of a place, kept by tablet_record_writer.c
 *     INV-1. The key never changes.
 *     INV-2. Location, state and version are those of the last read or write of
 *            the record that is known to have happened.
 */
#ifndef BIGTABLE_TABLET_SERVER_TABLET_RECORD_WRITER_H
#define BIGTABLE_TABLET_SERVER_TABLET_RECORD_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/tablet_server/tablet_rows.h"

struct world;

/* The callbacks are those of struct tablet_registry_options. */
struct record_writer {
    struct world *world;
    int (*rows)(void *ctx,
                struct slice key,
                struct tablet_rows **out,
                struct err *err);
    bool (*is_over)(void *ctx);
    void *ctx;
};

/* A record as it was read or written last. */
struct record_place {
    struct buf key;
    struct buf location;
    struct buf state;
    uint64_t version;
};

/* A place for the record @row under @key, both copied. */
void record_place_init(struct record_place *p,
                       struct slice key,
                       const struct tablet_row *row);
void record_place_close(struct record_place *p);

/* Make the change @c; its key and conditions are those of @p, which then
 * follows the record. Tries until the outcome is known. Errors: ERR_CANCELLED:
 * the record is another server's; ERR_CLOSED: the server ends, and the change
 * was made or not. */
MUST_CHECK int record_write(const struct record_writer *w,
                            struct record_place *p,
                            const struct tablet_row_change *c,
                            struct err *err);

/* Make the row of the lower half, which @split (t:split of the record at
 * @upper) describes, unless it is there; then remove t:split. @lower, whose key
 * is set, gets that row. Errors: as above. */
MUST_CHECK int record_put_half(const struct record_writer *w,
                               struct record_place *upper,
                               struct slice split,
                               struct record_place *lower,
                               struct err *err);

#endif /* BIGTABLE_TABLET_SERVER_TABLET_RECORD_WRITER_H */
