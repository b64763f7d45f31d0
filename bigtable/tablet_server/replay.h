/* What a tablet has in logs of dead servers alone, wherever their segments were
 * sorted.
 *
 * Each segment of such a log is read where the master says that it is in
 * memory: here, or at another server. What the master does not tell of, or
 * whose holder does not answer, is sorted here. So nothing depends on a holder,
 * or on what a master knew.
 *
 * Threads: any. Everything parks.
 */
#ifndef BIGTABLE_TABLET_SERVER_REPLAY_H
#define BIGTABLE_TABLET_SERVER_REPLAY_H

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/recovery/log_merge.h"

struct rpc_call;
struct tablet_origin;
struct tablet_server;

/* Call @fn for each mutation, once, that the logs of @o but our own have of its
 * rows [@start, @end). @sequencer and @holders: of the order to load it.
 * Errors: those of reading segments, and of @fn. */
MUST_CHECK int replay_logs(struct tablet_server *s,
                           const struct tablet_origin *o,
                           struct slice start,
                           struct slice end,
                           struct slice sequencer,
                           struct slice holders,
                           log_merge_fn fn,
                           void *ctx,
                           struct err *err);

#define LOG_DIR_BYTES 64
/* The directory of the log of server @number. */
void replay_log_dir(uint64_t number, char out[LOG_DIR_BYTES]);

#endif /* BIGTABLE_TABLET_SERVER_REPLAY_H */
