/* Calls between processes: a server's methods over streams, and channels to
 * them. rpc.h says what a call is; this is how it travels.
 *
 * Many calls share a connection; answers come in whatever order they are ready.
 * A caller's deadline and cancellation travel to the handler's fiber. Memory is
 * bounded on both sides: what a server cannot take yet waits in its clients.
 *
 * A connection that breaks, or carries what is no frame, is closed; calls still
 * waiting on it end with ERR_UNAVAILABLE, and whether they were executed is
 * unknown. There is no reconnecting here: whoever locates servers connects.
 */
#ifndef BASE_RPC_REMOTE_H
#define BASE_RPC_REMOTE_H

#include <stddef.h>

#include "base/rpc/rpc.h"

struct rpc_listener;

/* A channel to the server at @address (stream.h), over the running fiber's
 * loop.
 * *@out is owned: rpc_channel_free(), which parks. Parks. Errors: those of
 * stream_connect().
 *
 * Calls may come from any thread; those from elsewhere are run by the channel's
 * loop, and a cancellation of their caller reaches them only at the deadline.
 */
MUST_CHECK int
rpc_connect(const char *address, struct rpc_channel **out, struct err *err);

struct rpc_listen_options {
    size_t calls_max;    /* At once per connection; 0: 1024. */
    size_t in_bytes_max; /* Of requests being handled, per connection; 0: 64
                            MiB. One request is always taken. */
};

/* Serve @s (borrowed) at @address on the running fiber's loop: each call runs
 * in a fiber there. @opts may be NULL. *@out is owned. Errors: those of
 * stream_listen(). */
MUST_CHECK int rpc_listen(struct rpc_server *s,
                          const char *address,
                          const struct rpc_listen_options *opts,
                          struct rpc_listener **out,
                          struct err *err);
/* With the port that was chosen. Borrowed. */
const char *rpc_listener_address(const struct rpc_listener *l);
/* Take no more connections, cancel the running calls, wait for their end.
 * Parks. PRE: on the listener's loop. NULL is allowed. */
void rpc_listener_close(struct rpc_listener *l);

#endif /* BASE_RPC_REMOTE_H */
