/* Opening a store to read, beside other readers and the process that writes it.
 *
 * Nobody waits for a reader. It shares a lock on the directory of the log, so
 * that the writer releases no segment meanwhile (commit_log_release() leaves it
 * to the next time), reads the manifest, opens all SSTables, which stay
 * readable when they are removed, and then reads the log into its memtables.
 *
 * INV-1: what a reader returns is one state of the store. An entry that was
 * released from the log before the lock was taken is in an SSTable that the
 * manifest names; every later one is in the log that is read. Flushes and
 * compactions that the manifest gains meanwhile move entries and change none.
 * After any other change (tables, tablets, bulk loads), after a rotation of the
 * manifest, and if an SSTable is gone before it was opened, the reader starts
 * again. Where directories cannot be locked, it starts again after every
 * change.
 *
 * Threads: one.
 */
#ifndef BIGTABLE_STORE_READ_BESIDE_H
#define BIGTABLE_STORE_READ_BESIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct dir_lock;
struct store;
struct world;

/* Is @s opened as a reader of the newest state? */
bool is_read_beside(const struct store *s);

/* Known before the store is read. */
struct read_beside {
    struct dir_lock *log;    /* Owned; NULL: it cannot be locked. */
    uint64_t oldest_segment; /* Where the log begins; 0: nowhere. */
};

/* Before @s is read: ask read_beside_end() afterwards in any case. Nothing is
 * done for a store that is opened to write. Parks. */
MUST_CHECK int
read_beside_begin(struct store *s, struct read_beside *r, struct err *err);

/* @s was read with the outcome @rc. Returns 0 if what was read is one state,
 * ERR_BUSY if the writer changed the store meanwhile, else @rc, which is no
 * fault of the writer's as far as can be seen. Parks. */
MUST_CHECK int read_beside_end(struct store *s,
                               struct read_beside *r,
                               int rc,
                               struct err *err);

/* After an open failed with @rc: is it worth another try? Waits before it says
 * yes. *@tries counts them. Parks. */
bool read_beside_again(struct world *w,
                       int rc,
                       uint64_t begin_ns,
                       unsigned *tries);

#endif /* BIGTABLE_STORE_READ_BESIDE_H */
