/* One call, between the stream it came on and the fiber that handles it.
 * Private to the gRPC server.
 *
 * A call is held by its stream, while that is open, and by its fiber, while
 * that runs, or by the crowd it goes with; who lets go last recycles it. The
 * connection outlives its calls.
 *
 * The bytes of a call, of its request and of replies that wait to be sent, are
 * charged to the server's budget.
 */
#ifndef BIGTABLE_GATEWAY_GRPC_CALL_H
#define BIGTABLE_GATEWAY_GRPC_CALL_H

#include <stdatomic.h>

#include "bigtable/gateway/grpc.h"

/* In front of each message: a flag (1: compressed) and the length. */
#define GRPC_PREFIX_BYTES 5

#define GRPC_CONTENT_TYPE "application/grpc"

struct fiber;
struct grpc_connection;
struct loop;
struct stream;
struct stream_listener;
struct var;

struct grpc_call {
    struct grpc_server *server;
    struct grpc_connection *connection;
    struct grpc_call *next; /* On the connection's list, or the spare one. */
    struct grpc_call *prev;
    int32_t stream;      /* 0: closed; nobody waits for the answer. */
    struct fiber *fiber; /* NULL: does not run. */
    bool together;       /* With others on one fiber, or about to be. */
    uint64_t until_ns;   /* Then, its deadline; 0: none. */
    const struct grpc_method *method;

    /* What the headers said. */
    bool is_post;
    bool is_grpc;
    bool has_path;
    bool gzip;           /* Of the request, and so of the reply. */
    uint64_t timeout_ns; /* 0: none. */

    /* The request: its prefix, then its bytes. */
    char prefix[GRPC_PREFIX_BYTES];
    size_t prefix_len;
    char *message; /* Owned. */
    size_t message_len;
    size_t message_cap;
    size_t message_size; /* As the prefix says. */
    size_t header_bytes;
    size_t charged; /* Of the budget, for the request. */
    bool receiving; /* More of it comes. */
    bool refused;   /* The rest of the request is thrown away. */

    /* The reply. */
    struct buf scratch; /* The handler's. */
    struct buf out;     /* Messages, from out_sent on not yet sent. */
    size_t out_sent;
    bool responded; /* Headers were handed to the stream, */
    bool replying;  /* with messages behind them. */
    bool deferred;  /* The stream waits for more of the reply. */
    bool finished;  /* The handler has returned. */
    bool waiting;   /* The fiber waits for room. */
    bool code_set;
    enum grpc_code code;
    struct buf text; /* Of the status; empty: none. */
};

/* With so many calls at once it matters more what each one costs than how soon
 * it is begun. */
#define GRPC_BUSY_CALLS 8

/* Everything calls of one server share. */
struct grpc_server {
    struct world *world;
    struct loop *loop;
    struct grpc_options options; /* Defaults filled in. */
    struct stream_listener *listener;
    struct fiber *accepting;
    struct fiber *closer; /* Waits in grpc_server_close(), or NULL. */
    struct grpc_connection *connections;
    atomic_size_t connection_count; /* Read by others, too. */
    atomic_size_t call_count;
    size_t buffered_bytes;   /* Charged now. */
    struct grpc_call *spare; /* For reuse. */
    size_t spare_count;
    struct var *calls_var;
    struct var *failed_var;
    struct var *connections_var;
};

/* --- grpc_call.c ------------------------------------------------------- */

/* A call of @server without a stream. Owned by its stream and its fiber. */
struct grpc_call *grpc_call_new(struct grpc_server *server);
/* Recycle it. PRE: neither stream nor fiber. */
void grpc_call_free(struct grpc_call *call);
void grpc_call_free_spares(struct grpc_server *server);

/* Take a header of the request. */
void grpc_call_take_header(struct grpc_call *call,
                           struct slice name,
                           struct slice value);

/* Take bytes of the request's body. On error the call is to be refused with
 * that code; it takes no more. */
MUST_CHECK int
grpc_call_take(struct grpc_call *call, struct slice bytes, struct err *err);
/* The body has ended: is there one whole message? */
MUST_CHECK int grpc_call_complete(const struct grpc_call *call,
                                  struct err *err);
/* Uncompress the request if it is compressed. Parks when it is long. */
MUST_CHECK int grpc_call_uncompress(struct grpc_call *call, struct err *err);
/* May it go on? Errors: ERR_CANCELLED, ERR_DEADLINE. */
MUST_CHECK int grpc_call_check(const struct grpc_call *call, struct err *err);
/* Bytes of the reply that wait. */
size_t grpc_call_unsent(const struct grpc_call *call);
/* The stream has taken @count of them. */
void grpc_call_sent(struct grpc_call *call, size_t count);
/* Keep @rc and its text as the status. */
void grpc_call_set_status(struct grpc_call *call,
                          int rc,
                          const struct err *err);

/* --- grpc.c: with grpc_reply.c, all that knows HTTP/2 ------------------- */

/* Serve @s (owned from now on) on a fiber of its own until it ends; the
 * connection is on the server's list meanwhile. */
void grpc_connection_start(struct grpc_server *server, struct stream *s);
struct grpc_connection *grpc_connection_next(const struct grpc_connection *c);
/* Tell the peer to open no more streams. */
void grpc_connection_drain(struct grpc_connection *c);
/* End it. */
void grpc_connection_cancel(struct grpc_connection *c);
/* The writer looks again what there is to send. */
void grpc_connection_kick(struct grpc_connection *c);
/* Take @call, which nobody holds any more, off its connection. */
void grpc_connection_drop(struct grpc_call *call);
/* More of @call's reply is there, or its end. */
void grpc_connection_resume(struct grpc_call *call);

#endif /* BIGTABLE_GATEWAY_GRPC_CALL_H */
