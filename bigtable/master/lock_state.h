/* Files of the lock service that are read, and replaced on condition that
 * nobody has written to them since. Private to the master. */
#ifndef BIGTABLE_MASTER_LOCK_STATE_H
#define BIGTABLE_MASTER_LOCK_STATE_H

#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "bigtable/wire/metadata.h"
#include "chubby-lite/chubby.h"

/* Make the directories of the Bigtable, its counters and its version, if they
 * are not there: a cluster that is founded now is at @version, one of masters
 * that knew none at 1. Parks. */
MUST_CHECK int
lock_state_prepare(struct chubby *c, uint32_t version, struct err *err);

/* Take the next number of tables, or of servers and masters. Parks. */
MUST_CHECK int
lock_state_next_table(struct chubby *c, uint64_t *number, struct err *err);
MUST_CHECK int
lock_state_next_server(struct chubby *c, uint64_t *number, struct err *err);

/* Read the file @path and the generation of its contents. Parks. ERR_NOTFOUND.
 */
MUST_CHECK int lock_state_read(struct chubby *c,
                               const char *path,
                               struct buf *out,
                               uint64_t *generation,
                               struct err *err);
/* Replace the contents; @generation 0: make the file, ERR_EXISTS if it is
 * there. ERR_ABORTED: they have changed. Parks. */
MUST_CHECK int lock_state_write(struct chubby *c,
                                const char *path,
                                struct slice contents,
                                uint64_t generation,
                                struct err *err);
/* Delete the file @path. Parks. ERR_NOTFOUND. */
MUST_CHECK int
lock_state_remove(struct chubby *c, const char *path, struct err *err);

#endif /* BIGTABLE_MASTER_LOCK_STATE_H */
