/* Opening a store to read, beside other readers and the process that writes it.
 *
 * A reader takes no lock, and nobody waits for it. It reads the manifest, opens
 * all table files, which stay readable when they are removed, and then reads
 * the log into its memtables. This is one state of the store if meanwhile the
 * writer neither changed the manifest nor released a segment of the log. For
 * what leaves the log is in table files first, which a change of the manifest
 * says: while it stays the same, tables and log have every entry between them.
 * Otherwise the reader starts again.
 *
 * Threads: one.
 */
#ifndef BIGTABLE_TABLET_READ_BESIDE_H
#define BIGTABLE_TABLET_READ_BESIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct store;
struct world;

/* Is @s opened as a reader of the newest state? */
bool read_beside(const struct store *s);

/* What is known before the store is read: where its log begins. Parks. */
MUST_CHECK int
read_beside_begin(struct store *s, uint64_t *oldest_segment, struct err *err);

/* @s was read with the outcome @rc. Returns 0 if what was read is one state,
 * ERR_BUSY if the writer changed the store meanwhile, else @rc, which is no
 * fault of the writer's as far as can be seen. Parks. */
MUST_CHECK int read_beside_end(struct store *s,
                               uint64_t oldest_segment,
                               int rc,
                               struct err *err);

/* After an open failed with @rc: is it worth another try? Waits before it says
 * yes. *@tries counts them. Parks. */
bool read_beside_again(struct world *w,
                       int rc,
                       uint64_t begin_ns,
                       unsigned *tries);

#endif /* BIGTABLE_TABLET_READ_BESIDE_H */
