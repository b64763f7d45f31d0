/* The listener and its connections: the state that they share. Private to
 * base/rpc.
 */
#ifndef BASE_RPC_SERVE_H
#define BASE_RPC_SERVE_H

#include "base/rpc/handshake.h"
#include "base/rpc/remote.h"

struct connection;
struct log_limiter;
struct stream;
struct stream_listener;
struct metric_counter;

/* The kinds of callers. */
enum caller_class {
    CALLER_CLUSTER,  /* A member of the cluster, for itself. */
    CALLER_USER,     /* Anybody else. */
    CALLER_DELEGATE, /* A member of the cluster, for a user. */
    CALLER_CLASS_COUNT
};

struct serve_counters {
    struct metric_counter *connections; /* Accepted. */
    struct metric_counter *refused[HANDSHAKE_REFUSAL_COUNT];
    struct metric_counter
        *too_many; /* Connections refused for lack of a place. */
    struct metric_counter
        *evicted; /* Unauthenticated connections closed to make room. */
    struct metric_counter
        *slow; /* Connections closed because they were slow. */
    struct metric_counter *calls[CALLER_CLASS_COUNT];
    struct metric_counter *unknown; /* Methods. */
    struct metric_counter *bad_frames;
    struct metric_counter *bytes_in;
    struct metric_counter *bytes_out;
};

struct rpc_listener {
    struct rpc_server *server; /* Borrowed. */
    struct rpc_listen_options options;
    struct stream_listener *listener; /* Owned. */
    struct stream_listener *nearby; /* For this machine (nearby.h), or NULL. */
    struct fiber *accepting;
    struct fiber *accepting_nearby; /* NULL: as above. */
    struct fiber *sweeping;         /* Looks for slow peers. */
    struct connection *connections;
    struct admission admission;
    size_t in_bytes;           /* Of requests arriving or being handled. */
    size_t out_bytes;          /* Of answers that wait or are being written. */
    struct fiber *closer;      /* Waits for the last connection to end. */
    struct log_limiter *limit; /* One line per peer and reason a minute. */
    struct serve_counters counters; /* NULL ones: not counted. */
};

/* Serve the new connection @s in fibers of its own, or refuse it.
 * @is_nearby: it came over a Unix socket. */
void serve_connection(struct rpc_listener *l, struct stream *s, bool is_nearby);
/* Close connections whose peers do not read, or do not finish a frame that
 * they began. Parks, until the fiber is cancelled. */
void serve_sweep(struct rpc_listener *l);
/* End @c: cancel its fiber and its calls. It is freed once they have
 * returned. */
void serve_cancel(struct connection *c);
/* The connection after @c in the listener's list, or NULL. */
struct connection *serve_next(struct connection *c);
/* Append the line of rpc_listener_print(). */
void serve_print(const struct connection *c, struct buf *out);

/* Log "what peer=@peer why=@why", once per peer and reason a minute. */
void serve_complain(struct rpc_listener *l,
                    const char *what,
                    const char *peer,
                    const char *why);

#endif /* BASE_RPC_SERVE_H */
