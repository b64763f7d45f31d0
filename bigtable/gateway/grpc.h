/* A server of gRPC: calls of HTTP/2 streams, each handled on a fiber.
 *
 * A method takes one message and answers with one or many. Its handler reads
 * the request, sends messages as it makes them and returns 0 or an error, which
 * becomes the call's status. A method without a handler takes a stream of
 * messages, each of which is answered as it comes. HTTP/2 is spoken from the
 * first byte, with TLS or without (h2c with prior knowledge), as the clients of
 * an emulator do.
 *
 * Hostile peers: messages, header lists, streams of a connection, connections
 * of an address, bytes buffered by a connection and in all are bounded; what is
 * over is refused with RESOURCE_EXHAUSTED, what is malformed ends its stream or
 * its connection and nothing else. A peer that is slow or silent for too long
 * is left.
 *
 * Threads: one loop, that of the fiber that opened the server.
 */
#ifndef BIGTABLE_GATEWAY_GRPC_H
#define BIGTABLE_GATEWAY_GRPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/gateway/grpc_status.h"

struct grpc_call;
struct grpc_server;
struct tls_context;
struct metrics;
struct world;

/* Handle @call; the reply is sent through it. Parks. The result is the call's
 * status: 0, or an error whose text the client sees. */
typedef int (*grpc_handler)(void *ctx, struct grpc_call *call, struct err *err);

/* Calls that go together, at most. */
#define GRPC_TOGETHER_MAX 64

/* Handle @count calls that came together, each as its handler would, and tell
 * of those that fail by grpc_set_outcome(). Parks, but not for one of them
 * alone: a client that gives up is noticed only when its reply is sent. */
typedef void (*grpc_many_handler)(void *ctx,
                                  struct grpc_call *const *calls,
                                  size_t count);

/* Longest name of who calls, its NUL included. */
#define GRPC_PRINCIPAL_BYTES 129

/* Authenticate the caller: @certificate is the name in the client's
 * certificate, "" without one, @authorization the header of that name, ""
 * without it. Does not park. ERR_DENIED: UNAUTHENTICATED. */
typedef int (*grpc_authenticate)(void *ctx,
                                 struct slice certificate,
                                 struct slice authorization,
                                 char principal[GRPC_PRINCIPAL_BYTES],
                                 struct err *err);
/* The handler's context for a call of @principal. Parks. */
typedef int (*grpc_enter)(void *ctx,
                          const char *principal,
                          void **entered,
                          struct err *err);
/* The call has ended. */
typedef void (*grpc_leave)(void *ctx, void *entered);

/* Bytes of grpc_set_params()'s value, with its NUL, at most. */
#define GRPC_PARAMS_BYTES 192

/* A call is about to be handled, by its handler or with others. May park. */
typedef void (*grpc_describe)(void *ctx, struct grpc_call *call);

/* Append the answer to @request, one of a stream, to @out; an error ends the
 * stream with it as the status. Does not park. */
typedef int (*grpc_each)(void *ctx,
                         struct slice request,
                         struct buf *out,
                         struct err *err);

struct grpc_method {
    const char *path;    /* "/package.Service/Method"; lives as the server. */
    grpc_handler handle; /* NULL: grpc_options.each answers each message of the
                            request, which is a stream, as it comes. */
};

struct grpc_options {
    const struct grpc_method *methods; /* Sorted by path; borrowed. */
    size_t method_count;
    void *ctx;
    grpc_each each;                /* Of methods without a handler. */
    struct metrics *metrics;       /* NULL: counts nothing. */
    const struct tls_context *tls; /* Borrowed; NULL: no TLS. */
    /* NULL: everybody may call, on this machine's own addresses alone. */
    grpc_authenticate authenticate;
    const char *open_paths; /* Callers of methods whose paths begin so need not
                               say who they are; NULL: none. */
    grpc_enter enter;       /* NULL: the context is ctx; not of those that go */
    grpc_leave leave;       /* together. Both or none. */
    grpc_describe describe; /* With ctx; NULL: nothing. */
    /* The method whose calls go together when they come at once, by its
     * handler; NULL: none. */
    grpc_handler together;
    grpc_many_handler handle_many;
    size_t message_bytes_max;  /* Of one message, 0: 256 MiB. */
    size_t buffered_bytes_max; /* Requests and replies that wait, of the
                                  server; 0: 1 GiB. */
    unsigned calls_max;        /* At once on a connection; 0: 1,000. */
    unsigned connections_max;  /* 0: 1,000. */
    unsigned connections_per_address_max; /* 0: a quarter of them. From this
                                             machine half of them, if that is
                                             more. */
    uint64_t handshake_us; /* For the first bytes; 0: 10 seconds. */
    uint64_t request_us;   /* For a request, and more for its bytes; 0: a
                              minute. */
    uint64_t reply_us;     /* For a reply that its client does not take; 0: 5
                              minutes. */
    uint64_t write_us;     /* For a connection that takes no bytes; 0: a
                              minute. */
    uint64_t idle_us;      /* For a connection without calls; 0: 30 minutes. */
    uint64_t keepalive_us; /* Silence before a ping; 0: 2 minutes. */
    uint64_t keepalive_wait_us; /* For its answer; 0: 20 seconds. */
    uint64_t drain_us; /* For running calls at the end; 0: 2 seconds. */
};

/* Listen on @address ("host:port"; port 0: any). Errors: as stream_listen;
 * ERR_DENIED: an address of others than this machine, and nobody has to say who
 * it is. */
MUST_CHECK int grpc_server_open(struct world *w,
                                const char *address,
                                const struct grpc_options *opts,
                                struct grpc_server **out,
                                struct err *err);
/* With the port that was chosen. Borrowed. */
const char *grpc_server_address(const struct grpc_server *s);
/* Take no more calls, let running ones end, then cancel them. Parks. NULL is
 * allowed. */
void grpc_server_close(struct grpc_server *s);
/* Connections and running calls now. */
size_t grpc_server_connection_count(const struct grpc_server *s);
size_t grpc_server_call_count(const struct grpc_server *s);
/* Bytes of its budget that are charged now. */
size_t grpc_server_buffered_bytes(const struct grpc_server *s);

/* --- inside a handler ---------------------------------------------------- */

/* The message, uncompressed. Borrowed until the handler returns, which may
 * write over it. */
struct slice grpc_request(const struct grpc_call *call);

/* "/package.Service/Method". Borrowed. */
const char *grpc_path(const struct grpc_call *call);
/* Let the reply have the header x-goog-ext-425905942-bin, in base64: @value,
 * copied. PRE: shorter than GRPC_PARAMS_BYTES. */
void grpc_set_params(struct grpc_call *call, struct slice value);

/* An empty buffer that belongs to the call and has been begun. */
struct buf *grpc_scratch(struct grpc_call *call);
/* Make room for a message's header in front of it. PRE: @b is empty. */
void grpc_message_begin(struct buf *b);
/* Send the message in @b, begun by grpc_message_begin(). Its memory may be
 * swapped for other; it is empty afterwards, and started again. Parks while too
 * much waits for the client.
 * Errors: ERR_CANCELLED (the client gave up), ERR_DEADLINE, ERR_TOOBIG. */
MUST_CHECK int
grpc_send(struct grpc_call *call, struct buf *b, struct err *err);

/* For handlers of many: what @call's handler would have returned. */
void grpc_set_outcome(struct grpc_call *call, int rc, const struct err *err);

/* Let the status be @code, whatever error the handler returns. */
void grpc_set_code(struct grpc_call *call, enum grpc_code code);

/* Let it be FAILED_PRECONDITION, with a google.rpc.PreconditionFailure whose
 * violation is of @type; all are copied. */
void grpc_set_precondition(struct grpc_call *call,
                           struct slice type,
                           struct slice subject,
                           struct slice description);

#endif /* BIGTABLE_GATEWAY_GRPC_H */
