/* Calls between processes: a server's methods over streams, and channels to
 * them. rpc.h defines a call; this header makes it travel.
 *
 * Many calls share a connection; answers come in whatever order they are ready.
 * A caller's deadline and cancellation travel to the handler's fiber. Memory is
 * bounded on both sides: requests that a server has no room for wait in its
 * clients.
 *
 * A connection that breaks, falls silent, or carries anything but frames is
 * closed; calls still waiting on it end with ERR_UNAVAILABLE, and whether they
 * were executed is unknown. The channel connects again with the next call,
 * after a pause that doubles with each failure; during the pause calls fail at
 * once.
 */
#ifndef BASE_RPC_REMOTE_H
#define BASE_RPC_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rpc/admission.h"
#include "base/rpc/rpc.h"

struct rpc_listener;
struct rpc_security;
struct metric_set;
struct metrics;

/* Zeros give the defaults. All pointers are borrowed for the channel's life. */
struct rpc_channel_options {
    const struct rpc_security *security; /* NULL: none, of no cluster. */
    uint64_t connect_timeout_us; /* With the handshake, after some failures:
                                    the first attempt has 0.5 s; default 5 s. */
    uint64_t connect_wait_us;    /* A call that waited this long for a
                                    connection fails with ERR_UNAVAILABLE:
                                    nothing was done. The attempt continues,
                                    for later calls. Shorter (50 ms) for a
                                    server that was silent when it was last
                                    tried. For callers that have another
                                    server; 0: until the attempt ends. */
    uint64_t ping_us;            /* About how long silence
                                    lasts before a ping; default 0.83 s. */
    uint64_t dead_us;            /* Silence after which the connection is
                                    closed, failing the calls that wait; default
                                    2.5 s. */
    uint64_t backoff_min_us;     /* Pause after a failure; default 20 ms. */
    uint64_t backoff_max_us;     /* It doubles up to here; default 2 s. */
    struct metrics *metrics;     /* Counters "rpc_client_*"; NULL: none. */
};

/* A channel to the server at @address (stream.h; copied), on the running
 * fiber's loop. It connects with its first call. @opts (NULL: defaults) is
 * copied. Owned: rpc_channel_free(), which parks and ends waiting calls.
 *
 * Calls may come from any thread; those from other threads are run by the
 * channel's loop, and a cancellation of their caller reaches them only at the
 * deadline.
 */
struct rpc_channel *rpc_channel_new(const char *address,
                                    const struct rpc_channel_options *opts);

/* The same, connected: Parks. Errors: those of stream_connect();
 * ERR_DENIED (the handshake failed). */
MUST_CHECK int
rpc_connect(const char *address, struct rpc_channel **out, struct err *err);

/* True if it has a connection now. On the channel's loop. */
bool rpc_channel_is_up(const struct rpc_channel *c);

/* Zeros give the defaults. All pointers are borrowed for the listener's life.
 */
struct rpc_listen_options {
    size_t calls_max;         /* At once per connection; default 1024. */
    size_t in_bytes_max;      /* Of requests being handled, per connection;
                                 default 64 MiB. One is always accepted. */
    size_t in_all_bytes_max;  /* Of requests arriving or being handled, over
                                 all connections; default 1 GiB. Members may
                                 exceed it. */
    size_t out_all_bytes_max; /* Of answers that wait for their readers, over
                                 all connections; default 1 GiB. Beyond it
                                 the connection with most of them is closed. */
    struct admission_limits admission; /* Of connections. */
    /* True for a member of the cluster, for which connections are reserved.
     * NULL: no.
     */
    bool (*is_member)(void *ctx, const char *principal, const char *peer);
    /* True if the cluster would lose something without this peer. Called
     * when there is no place for it; NULL: no. */
    bool (*is_holder)(void *ctx, const char *principal);
    void *ctx;
    uint64_t idle_us;      /* A client that is silent this long, pings
                              included, is disconnected; default 60 s. */
    uint64_t slow_us;      /* A client that reads none of its waiting
                              answers, or does not finish its request, for
                              this time is disconnected; default 30 s. */
    uint64_t handshake_us; /* Time a client has to authenticate; default 5 s. */
    const struct rpc_security *security; /* NULL: none, of no cluster. */
    struct metrics *metrics;             /* Counters "rpc_*"; NULL: none. */
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
/* One line per connection: peer, principal, age, calls, bytes. Peers' names
 * are printable. */
void rpc_listener_print(const struct rpc_listener *l, struct buf *out);
/* Connections and bytes, and their limits, as "key=value" pairs. */
void rpc_listener_status(const struct rpc_listener *l, struct buf *out);
/* Add the same as metrics. */
void rpc_listener_gather(const struct rpc_listener *l, struct metric_set *out);
/* The address, with the port that was chosen. Borrowed. */
const char *rpc_listener_address(const struct rpc_listener *l);
/* Accept no more connections, cancel the running calls and wait for their
 * end. Parks. PRE: on the listener's loop. NULL is allowed. */
void rpc_listener_close(struct rpc_listener *l);

#endif /* BASE_RPC_REMOTE_H */
