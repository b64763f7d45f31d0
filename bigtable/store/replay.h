/* Reading the log of an embedded store into its memtables.
 *
 * Threads: the one that opens the store, before anybody writes.
 */
#ifndef BIGTABLE_STORE_REPLAY_H
#define BIGTABLE_STORE_REPLAY_H

#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct store;

/* Put one record of the log, of @count entries from number @sequence on, into
 * the memtables, where it is not in tables already, by store_replay_end() at
 * the latest. Errors: ERR_CORRUPT. */
MUST_CHECK int store_replay(struct store *s,
                            uint64_t sequence,
                            uint32_t count,
                            struct slice payload,
                            struct err *err);
/* All records are in the memtables, and visible. */
void store_replay_end(struct store *s);

#endif /* BIGTABLE_STORE_REPLAY_H */
