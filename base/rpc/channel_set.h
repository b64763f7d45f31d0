/* Channels to the processes of a cluster, by address: made with the first call
 * and kept while they are used; one that no call has used for five minutes is
 * closed when others make calls.
 *
 * Threads: made and closed on a fiber of one loop, which the channels run on;
 * calls from any thread.
 */
#ifndef BASE_RPC_CHANNEL_SET_H
#define BASE_RPC_CHANNEL_SET_H

#include <stddef.h>

#include "base/rpc/remote.h"

struct channel_set;

/* @opts (NULL: defaults) is copied, what it points to borrowed. Owned. */
struct channel_set *channel_set_new(const struct rpc_channel_options *opts);
/* Parks. PRE: no call is under way. NULL is allowed. */
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

size_t channel_set_count(struct channel_set *s);

#endif /* BASE_RPC_CHANNEL_SET_H */
