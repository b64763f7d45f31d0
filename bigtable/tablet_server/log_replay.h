/* Replaying the rows of a tablet that are only in logs of dead servers.
 *
 * The order to load the tablet names the servers that have sorted segments of
 * these logs in memory. Each such segment is read there. A segment that the
 * order does not name, or whose holder does not answer, is sorted here:
 * recovery depends neither on a holder nor on what a master knew.
 *
 * Threads: any. Everything parks. */
#ifndef BIGTABLE_TABLET_SERVER_LOG_REPLAY_H
#define BIGTABLE_TABLET_SERVER_LOG_REPLAY_H

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/recovery/log_merge.h"

struct rpc_call;
struct tablet_origin;
struct tablet_server;

/* Call @fn once for each mutation of the rows [@start, @end) in the logs of @o,
 * other than our own. @sequencer and @holders are those of the order to load
 * the tablet. Errors: those of reading segments, and of @fn; ERR_CORRUPT: a log
 * or a segment is missing. */
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

#endif /* BIGTABLE_TABLET_SERVER_LOG_REPLAY_H */
