/* Calls between processes: a server's methods over streams, and channels to
 * them. rpc.h says what a call is; this is how it travels.
 *
 * Many calls share a connection; answers come in whatever order they are ready.
 * A caller's deadline and cancellation travel to the handler's fiber. Memory is
 * bounded on both sides: what a server cannot take yet waits in its clients.
 *
 * A connection that breaks, falls silent, or carries what is no frame, is
 * closed; calls still waiting on it end with ERR_UNAVAILABLE, and whether they
 * were executed is unknown. The channel connects again with the next call,
 * after a pause that doubles with each failure; until it is over, calls fail at
 * once.
 */
#ifndef BASE_RPC_REMOTE_H
#define BASE_RPC_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rpc/admission.h"
#include "base/rpc/rpc.h"

struct call_trace;
struct rpc_listener;
struct rpc_security;
struct vars;

/* Zeros give the defaults. All pointers are borrowed for the channel's life. */
struct rpc_channel_options {
    const struct rpc_security *security; /* NULL: none, of no cluster. */
    uint64_t connect_timeout_us; /* With the handshake, after some failures: the
                                    first try has 0.5 s; default 5 s. */
    uint64_t connect_wait_us;    /* A call that has waited so long for a
                                    connection fails with ERR_UNAVAILABLE:
                                    nothing was done. The try to connect
                                    continues, for later calls. For callers that
                                    can ask elsewhere; 0: until the try ends. */
    uint64_t ping_us;            /* Silence before a ping; default 0.5 s. */
    uint64_t dead_us;         /* Silence after which the connection is given up,
                                 with the calls that wait; default 2.5 s. */
    uint64_t backoff_min_us;  /* Pause after a failure; default 20 ms. */
    uint64_t backoff_max_us;  /* It doubles up to here; default 2 s. */
    struct vars *vars;        /* Counters "rpc.client.ADDRESS.*"; NULL: none. */
    struct call_trace *trace; /* Of sampled calls (call_trace.h); NULL: none. */
};

/* A channel to the server at @address (stream.h; copied), over the running
 * fiber's loop. It connects with its first call. @opts (NULL: defaults) is
 * copied. Owned: rpc_channel_free(), which parks and ends waiting calls.
 *
 * Calls may come from any thread; those from elsewhere are run by the channel's
 * loop, and a cancellation of their caller reaches them only at the deadline.
 */
struct rpc_channel *rpc_channel_new(const char *address,
                                    const struct rpc_channel_options *opts);

/* The same, connected: Parks. Errors: those of stream_connect();
 * ERR_DENIED (the handshake failed). */
MUST_CHECK int
rpc_connect(const char *address, struct rpc_channel **out, struct err *err);

/* Does it have a connection now? On the channel's loop. */
bool rpc_channel_is_up(const struct rpc_channel *c);

/* Zeros give the defaults. All pointers are borrowed for the listener's life.
 */
struct rpc_listen_options {
    size_t calls_max;    /* At once per connection; default 1024. */
    size_t in_bytes_max; /* Of requests being handled, per connection; default
                            64 MiB. One request is always taken. */
    size_t in_all_bytes_max;  /* Of requests coming or being handled, in all;
                                 default 1 GiB. Members may have more. */
    size_t out_all_bytes_max; /* Of answers that wait for their readers, in all;
                                 default 1 GiB. Beyond it the connection with
                                 most of them is closed. */
    struct admission_limits admission; /* Of connections. */
    /* Is it a member of the cluster, for which connections are kept? NULL: no.
     */
    bool (*is_member)(void *ctx, const char *principal, const char *peer);
    /* Would the cluster lose something if it could not come back? Asked when
     * there is no place for it; NULL: no. */
    bool (*is_holder)(void *ctx, const char *principal);
    void *ctx;
    uint64_t idle_us;      /* A client this long silent, pings included, is
                              gone; default 60 s. */
    uint64_t slow_us;      /* One that for so long takes nothing of what waits
                              for it, or does not end its request, is gone;
                              default 30 s. */
    uint64_t handshake_us; /* Time a client has to prove itself; default 5 s. */
    const struct rpc_security *security; /* NULL: none, of no cluster. */
    struct vars *vars;        /* Counters "rpc.server.*"; NULL: none. */
    struct call_trace *trace; /* Of sampled calls; NULL: none. */
};

/* Serve @s (borrowed) at @address on the running fiber's loop: each call runs
 * in a fiber there. @opts (NULL: defaults) is copied. *@out is owned. Errors:
 * those of stream_listen(); ERR_DENIED (without security only local addresses).
 */
MUST_CHECK int rpc_listen(struct rpc_server *s,
                          const char *address,
                          const struct rpc_listen_options *opts,
                          struct rpc_listener **out,
                          struct err *err);
/* One line per connection: peer, principal, age, calls, bytes. What peers say
 * of themselves is printable. */
void rpc_listener_print(const struct rpc_listener *l, struct buf *out);
/* Connections and bytes, and their limits, as "key=value" pairs. */
void rpc_listener_status(const struct rpc_listener *l, struct buf *out);
/* With the port that was chosen. Borrowed. */
const char *rpc_listener_address(const struct rpc_listener *l);
/* Take no more connections, cancel the running calls, wait for their end.
 * Parks. PRE: on the listener's loop. NULL is allowed. */
void rpc_listener_close(struct rpc_listener *l);

#endif /* BASE_RPC_REMOTE_H */
