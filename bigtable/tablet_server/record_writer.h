/* Changing records of tablets until it is known what became of it.
 *
 * Threads: any; a place is used by one at a time. Everything parks.
 */
#ifndef BIGTABLE_TABLET_SERVER_RECORD_WRITER_H
#define BIGTABLE_TABLET_SERVER_RECORD_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/tablet_server/tablet_rows.h"

struct world;

/* See struct tablet_registry_options. */
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

void record_place_init(struct record_place *p,
                       struct slice key,
                       const struct tablet_row *row);
void record_place_close(struct record_place *p);

/* Make the change @c, whose key and conditions are those of @p, which follows.
 * Tries until it is decided. Errors: ERR_CANCELLED: the record is another
 * server's; ERR_CLOSED: it is over, and the change was made or not. */
MUST_CHECK int record_write(const struct record_writer *w,
                            struct record_place *p,
                            const struct tablet_row_change *c,
                            struct err *err);

/* Give the lower half that @split, t:split of the record at @upper, describes
 * its row, unless it has one, and take t:split away. @lower, whose key is set,
 * gets what is in that row. Errors: as above. */
MUST_CHECK int record_put_half(const struct record_writer *w,
                               struct record_place *upper,
                               struct slice split,
                               struct record_place *lower,
                               struct err *err);

#endif /* BIGTABLE_TABLET_SERVER_RECORD_WRITER_H */
