/* One call, between the stream it came on and the fiber that handles it.
 * Private to the gRPC server.
 *
 * Two may point to a call, and `holders` says which of them do: the HTTP/2
 * session, from the headers of the stream on, and the fiber that handles the
 * request, alone or with others that came together. The last one to release it
 * recycles it. A client that gives up changes nothing about that: the call is
 * abandoned, and its holders release it in their own time.
 *
 * The bytes of a call, of its request and of replies that wait to be sent, are
 * charged to the connection's budget before memory is taken for them.
 *
 * Invariants
 *     INV-1. A call is on its connection's list exactly while it has holders.
 *     INV-2. The session releases a call when it says that the stream is
 *            closed, or after it was deleted, and never before: until then it
 *            may call back with the call.
 *     INV-3. The fiber releases a call when the handler has returned and the
 *            status is with the session, if that still holds it.
 *     INV-4. A call without holders has no bytes charged to any budget.
 *     INV-5. An abandoned call sends nothing more, in particular no status.
 *     INV-6. The connection outlives its calls.
 */
#ifndef BIGTABLE_GATEWAY_GRPC_CALL_H
#define BIGTABLE_GATEWAY_GRPC_CALL_H

#include <stdatomic.h>

#include "base/trace/trace_id.h"
#include "bigtable/gateway/grpc.h"
#include "bigtable/gateway/grpc_budget.h"

/* In front of each message: a flag (1: compressed) and the length. */
#define GRPC_PREFIX_BYTES 5

#define GRPC_CONTENT_TYPE "application/grpc"

/* Of the tracestate, which spans keep. */
#define GRPC_TRACE_STATE_BYTES 129

struct fiber;
struct grpc_connection;
struct grpc_meter;
struct loop;
struct stream;
struct stream_listener;
struct metric_counter;

/* The holders of references to a call. */
enum grpc_holder {
    GRPC_HOLDER_SESSION = 1,
    GRPC_HOLDER_FIBER = 2, /* Also while it waits to be started. */
};

struct grpc_call {
    struct grpc_server *server;
    struct grpc_connection *connection;
    struct grpc_budget *budget; /* The connection's. */
    struct grpc_call *next; /* On the connection's list, or the spare one. */
    struct grpc_call *prev;
    unsigned holders;     /* Of enum grpc_holder. */
    int32_t stream;       /* Its number. */
    uint64_t begun_ns;    /* When its stream was opened, */
    uint64_t progress_ns; /* and when some of its reply was last taken. */
    bool abandoned;       /* Nobody waits for the answer. */
    struct fiber *fiber;  /* NULL: does not run. */
    bool together;        /* With others on one fiber, or about to be. */
    uint64_t until_ns;    /* Then, its deadline; 0: none. */
    const struct grpc_method *method;

    /* From the headers. */
    bool is_post;
    bool is_grpc;
    bool gzip;                /* Of the request, and so of the reply. */
    uint64_t timeout_ns;      /* 0: none. */
    struct buf authorization; /* Empty: it said nothing. */
    struct traceparent trace; /* The caller's, then its own span. */
    bool has_trace;           /* The caller gave one: the reply has it too. */
    char trace_state[GRPC_TRACE_STATE_BYTES]; /* Cut; "": none. */
    char principal[GRPC_PRINCIPAL_BYTES]; /* The caller; "": not authenticated.
                                           */

    /* The request: its prefix, then its bytes. */
    char prefix[GRPC_PREFIX_BYTES];
    size_t prefix_len;
    char *message; /* Owned. */
    size_t message_len;
    size_t message_cap;
    size_t message_size; /* As the prefix says. */
    size_t header_bytes;
    size_t charged; /* Of the budget, for the request: its capacity. */
    bool receiving; /* More of it comes. */
    bool refused;   /* The rest of the request is thrown away. */

    /* The reply. */
    struct buf scratch; /* The handler's. */
    struct buf out;     /* Messages, from out_sent on not yet sent. */
    size_t out_sent;    /* The rest is charged. */
    bool responded;     /* Headers were handed to the stream, */
    bool replying;      /* with messages behind them. */
    bool plain;         /* It is a text, without a status of gRPC. */
    bool deferred;      /* The stream waits for more of the reply. */
    bool finished;      /* The handler has returned. */
    bool waiting;       /* The fiber waits for room. */
    char params[GRPC_PARAMS_BYTES]; /* grpc_set_params(); "": none. */
    bool code_set;
    enum grpc_code code;
    struct buf text;   /* Of the status; empty: none. */
    struct buf detail; /* Of the status, too, an Any; empty: none. */
    uint64_t retry_us; /* Of ERR_DETAIL_RATE; 0: none. */
};

/* From this many concurrent calls on, the cost of each matters more than how
 * soon it begins. */
#define GRPC_BUSY_CALLS 8

/* Everything calls of one server share. */
struct grpc_server {
    struct world *world;
    struct loop *loop;
    struct grpc_options options; /* Defaults filled in. */
    struct stream_listener *listener;
    struct fiber *accepting;
    struct fiber *sweeping;
    struct log_limiter *limit; /* For lines about peers. */
    struct fiber *closer;      /* Waits in grpc_server_close(), or NULL. */
    struct grpc_connection *connections;
    atomic_size_t connection_count; /* Read by other threads. */
    atomic_size_t call_count;
    struct grpc_budget budget;         /* Connections' are within it. */
    struct grpc_budget session_budget; /* The same for HTTP/2 itself. */
    struct grpc_call *spare;           /* For reuse. */
    size_t spare_count;
    struct metric_counter *accepted; /* Connections. */
    struct metric_counter *turned_away;
    struct metric_counter *unauthenticated; /* Calls. */
    struct grpc_meter *meters;              /* One a method. Owned. */
};

/* --- grpc_each.c --------------------------------------------------------- */

/* Take @bytes of the request of a method that answers each message, and answer
 * those that are complete with them. An error is the call's status. */
MUST_CHECK int
grpc_each_take(struct grpc_call *call, struct slice bytes, struct err *err);
/* The request has ended, or @rc is what it failed with: so does the call. */
void grpc_each_end(struct grpc_call *call, int rc, struct err *err);

/* --- grpc_meter.c -------------------------------------------------------- */

/* Meters of all methods of the server, if it has metrics. */
void grpc_meters_open(struct grpc_server *server);
void grpc_meters_close(struct grpc_server *server);
/* Record how long @call took, and its status. PRE: it has ended. */
void grpc_meter_call(const struct grpc_call *call);

/* --- grpc_audit.c -------------------------------------------------------- */

/* Note in the audit log that @call was refused, if its status says so. */
void grpc_audit_refusal(const struct grpc_call *call);

/* --- grpc_call.c --------------------------------------------------------- */

/* A call of @connection, which has nobody that holds it yet. Owned. */
struct grpc_call *grpc_call_new(struct grpc_server *server,
                                struct grpc_connection *connection);
/* Recycle it. PRE: nobody holds it. */
void grpc_call_free(struct grpc_call *call);
void grpc_call_free_spares(struct grpc_server *server);
/* @holder points to it from now on. PRE: it did not. */
void grpc_call_hold(struct grpc_call *call, enum grpc_holder holder);

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
/* Give the request's memory back. */
void grpc_call_drop_message(struct grpc_call *call);
/* --- grpc_inflate.c */
/* Uncompress the request if it is compressed. Parks when it is long. Errors:
 * ERR_INVALID, ERR_TOOBIG, ERR_EXHAUSTED (the budget). */
MUST_CHECK int grpc_call_uncompress(struct grpc_call *call, struct err *err);
/* Check that @call should continue. Errors: ERR_CANCELLED, ERR_DEADLINE. */
MUST_CHECK int grpc_call_check(const struct grpc_call *call, struct err *err);
/* Bytes of the reply that wait. */
size_t grpc_call_unsent(const struct grpc_call *call);
/* The stream has taken @count of them. */
void grpc_call_sent(struct grpc_call *call, size_t count);
/* Keep @rc and its text as the status. */
void grpc_call_set_status(struct grpc_call *call,
                          int rc,
                          const struct err *err);

/* --- grpc_server.c */

/* Log @what about a peer, and @text, once a minute for each @key. */
void grpc_log(struct grpc_server *s,
              const char *what,
              const char *key,
              const char *text);

/* --- grpc.c: connections ------------------------------------------------- */

/* Serve @s (owned from now on) on a fiber of its own until it ends; the
 * connection is on the server's list meanwhile. @why: it is turned away, all of
 * its calls are answered so; NULL: it is not. */
void grpc_connection_start(struct grpc_server *server,
                           struct stream *s,
                           const struct err *why);
struct grpc_connection *grpc_connection_next(const struct grpc_connection *c);
/* Tell the peer to open no more streams. */
void grpc_connection_drain(struct grpc_connection *c);
/* End it. */
void grpc_connection_cancel(struct grpc_connection *c);
struct grpc_budget *grpc_connection_budget(struct grpc_connection *c);
/* The writer looks again what there is to send. */
void grpc_connection_kick(struct grpc_connection *c);
/* @holder no longer points to @call, which goes with its last one. PRE: it
 * held it. */
void grpc_call_release(struct grpc_call *call, enum grpc_holder holder);
/* The client no longer waits for the answer: cancel the handler, unless it also
 * serves other calls. */
void grpc_call_abandon(struct grpc_call *call);
/* More of @call's reply is there, or its end. */
void grpc_connection_resume(struct grpc_call *call);

#endif /* BIGTABLE_GATEWAY_GRPC_CALL_H */
