/* Channels to the processes of a cluster, by address: opened by the first call
 * and kept while they are used; a channel that no call used for five minutes is
 * closed during later calls.
 *
 * Threads: made and closed on a fiber of one loop, which the channels run on;
 * calls from any thread.
 */
#ifndef BASE_RPC_CHANNEL_SET_H
#define BASE_RPC_CHANNEL_SET_H

#include <stddef.h>

#include "base/rpc/remote.h"

struct channel_set;

/* @opts (NULL: defaults) is copied; its pointers are borrowed. Owned. */
struct channel_set *channel_set_new(const struct rpc_channel_options *opts);
/* Parks. PRE: no call is under way. NULL is allowed. */
/* Close all channels. */
void channel_set_close(struct channel_set *s);

/* rpc_call() of the server at @address. Parks. Errors: those of the channel and
 * of the handler; ERR_UNAVAILABLE when @address is empty. */
MUST_CHECK int channel_set_call(struct channel_set *s,
                                struct slice address,
                                uint32_t method,
                                const struct rpc_call_options *opts,
                                struct slice body,
                                struct slice attachment,
                                struct buf *reply_body,
                                struct buf *reply_attachment,
                                struct err *err);

/* Channels that exist now. */
size_t channel_set_count(struct channel_set *s);

#endif /* BASE_RPC_CHANNEL_SET_H */
