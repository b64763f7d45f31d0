/* A client of gRPC: calls over one connection of HTTP/2, on fibers.
 *
 *     grpc_channel_open("host:2379", &opts, &c, &err)
 *     grpc_channel_call(c, "/package.Service/Method", …, &status, &err)
 *     grpc_channel_unref(c)
 *
 * A call has one message and one answer, or is a stream of both. Any number of
 * them may be under way. A channel whose connection has broken stays so: its
 * owner opens another, perhaps to another server. Calls end with the fiber's
 * deadline or cancellation; the server is told.
 *
 * Two fibers belong to a channel, one that reads and one that writes; no call
 * waits for another's bytes to be taken.
 *
 * Threads: one loop, that of the fiber that opened it.
 */
#ifndef BASE_GRPC_GRPC_CHANNEL_H
#define BASE_GRPC_GRPC_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/core/slice.h"
#include "base/grpc/grpc_exchange.h"

struct buf;
struct channel_stream;
struct grpc_channel;
struct tls_context;

struct grpc_channel_options {
    const struct tls_context *tls; /* Borrowed; NULL: no TLS. */
    const char *host;              /* That the server's certificate is for. */
    size_t message_bytes_max;      /* Of an answer; 0: 4 MiB. */
};

/* The numbers of gRPC. */
enum grpc_status_code {
    GRPC_STATUS_OK = 0,
    GRPC_STATUS_CANCELLED = 1,
    GRPC_STATUS_UNKNOWN = 2,
    GRPC_STATUS_INVALID_ARGUMENT = 3,
    GRPC_STATUS_DEADLINE_EXCEEDED = 4,
    GRPC_STATUS_NOT_FOUND = 5,
    GRPC_STATUS_PERMISSION_DENIED = 7,
    GRPC_STATUS_RESOURCE_EXHAUSTED = 8,
    GRPC_STATUS_FAILED_PRECONDITION = 9,
    GRPC_STATUS_OUT_OF_RANGE = 11,
    GRPC_STATUS_UNAVAILABLE = 14,
    GRPC_STATUS_UNAUTHENTICATED = 16,
};

/* How the server has ended a call. */
struct channel_status {
    int code; /* GRPC_STATUS_*, or another number. */
    char text[GRPC_TEXT_BYTES];
};

/* Connect to @address. Parks. *@out is one reference. Errors: those of
 * stream_connect() and of tls_connect(). */
MUST_CHECK int grpc_channel_open(const char *address,
                                 const struct grpc_channel_options *opts,
                                 struct grpc_channel **out,
                                 struct err *err);
struct grpc_channel *grpc_channel_ref(struct grpc_channel *c);
/* The last reference closes it. Does not park. NULL is allowed. */
void grpc_channel_unref(struct grpc_channel *c);
/* Close the connection: calls under way end with ERR_UNAVAILABLE. Does not
 * park. */
void grpc_channel_break(struct grpc_channel *c);
/* May calls be begun? */
bool grpc_channel_is_open(const struct grpc_channel *c);

/* One message, one answer, which is appended to @reply. Parks. 0: the server
 * has answered; @status says how, and unless its code is GRPC_STATUS_OK there
 * is no answer. Errors: ERR_UNAVAILABLE (it may have done what was asked),
 * ERR_TOOBIG (the answer), ERR_CORRUPT, ERR_DEADLINE, ERR_CANCELLED. */
MUST_CHECK int grpc_channel_call(struct grpc_channel *c,
                                 const char *path,
                                 const struct grpc_header *headers,
                                 size_t header_count,
                                 struct slice message,
                                 struct buf *reply,
                                 struct channel_status *status,
                                 struct err *err);

/* Begin a stream. *@out is owned. Does not park. ERR_UNAVAILABLE. */
MUST_CHECK int channel_stream_open(struct grpc_channel *c,
                                   const char *path,
                                   const struct grpc_header *headers,
                                   size_t header_count,
                                   struct channel_stream **out,
                                   struct err *err);
/* Send one more message; it is lost if the stream has ended. Does not park. */
void channel_stream_send(struct channel_stream *s, struct slice message);
/* The next message, borrowed until the caller parks; *@ended: there is none,
 * the server has ended the stream as @status says. Parks. One fiber. Errors: as
 * grpc_channel_call(). */
MUST_CHECK int channel_stream_next(struct channel_stream *s,
                                   struct slice *message,
                                   bool *ended,
                                   struct channel_status *status,
                                   struct err *err);
/* Give it up. Does not park. NULL is allowed. */
void channel_stream_close(struct channel_stream *s);

#endif /* BASE_GRPC_GRPC_CHANNEL_H */
