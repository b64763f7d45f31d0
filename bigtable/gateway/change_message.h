/* A change as the API's messages DataChange: the mutations of one commit, in
 * their order, in as many messages as they need. A value that is larger than a
 * message should be goes in chunks, each in a message of its own.
 *
 * Threads: one at a time.
 */
#ifndef BIGTABLE_GATEWAY_CHANGE_MESSAGE_H
#define BIGTABLE_GATEWAY_CHANGE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/buf.h"
#include "base/core/slice.h"
#include "bigtable/quarry.h"

/* A message is sent from this size on; a chunk of a value has as much. */
#define CHANGE_MESSAGE_BYTES ((size_t)256 << 10)

struct change_writer {
    const struct quarry_change *change;     /* Borrowed, */
    const struct quarry_table_info *schema; /* as this, which has the families
                                               at present. */
    const char *cluster;                    /* And this: its id. */
    size_t entry;                           /* The next one, */
    size_t offset;                          /* from there in its value. */
};

/* Must the families be known to write @c? */
bool change_needs_schema(const struct quarry_change *c);
/* Begin to write @c. @schema may be NULL if it is not needed. */
void change_writer_begin(struct change_writer *w,
                         const struct quarry_change *c,
                         const struct quarry_table_info *schema,
                         const char *cluster);
/* Is there nothing to write: a row was deleted of which no family is left? */
bool change_writer_is_empty(const struct change_writer *w);
/* Append fields of the next message DataChange to @out. False: it was the
 * last, whose `done`, token and watermark the caller adds. */
bool change_writer_next(struct change_writer *w, struct buf *out);

#endif /* BIGTABLE_GATEWAY_CHANGE_MESSAGE_H */
