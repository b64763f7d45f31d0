/* Calls of gRPC over one connection of HTTP/2, from the side that asks, without
 * I/O: bytes that have come are fed in, bytes to be sent are taken out, and the
 * caller of a call that has changed is woken. grpc_channel.h has the fibers and
 * the stream around it.
 *
 * The peer is not trusted: of each answer a bounded number of bytes is kept,
 * and what is malformed ends its call, or all of them.
 *
 * Pure but for the callbacks. Threads: one at a time.
 *
 * Invariants
 *     INV-1. An ask that has not ended is in the list of its exchange.
 *     INV-2. An ask keeps at most `in_max` bytes, with the frame that it
 *            refuses.
 */
#ifndef BASE_GRPC_GRPC_EXCHANGE_H
#define BASE_GRPC_GRPC_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <bsd/sys/queue.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/slice.h"

struct grpc_exchange;

/* Text of a status that is kept, its NUL included. */
#define GRPC_TEXT_BYTES 256
/* Headers of a request, beside those of gRPC. */
#define GRPC_HEADERS_MAX 4
/* Bytes in front of a message: the flag of its compression, its length. */
#define GRPC_PREFIX_BYTES 5

struct grpc_header {
    const char *name; /* In small letters. */
    const char *value;
};

/* One call. The caller's memory; must stay until grpc_ask_close(). */
struct grpc_ask {
    LIST_ENTRY(grpc_ask) link;
    struct grpc_exchange *exchange; /* NULL: it has ended. */
    int32_t id;
    struct buf out; /* Of the request, with prefixes, */
    size_t sent;    /* and what of it is on its way. */
    bool out_ends;  /* Nothing more will be added. */
    bool out_waits; /* The session has been told that there is nothing. */
    struct buf in;  /* Messages that came, with prefixes, */
    size_t taken;   /* and what of them was taken. */
    size_t in_max;
    /* The status; of use when it has ended. */
    unsigned http;              /* 0: none came. */
    int code;                   /* grpc-status; -1: none came. */
    char text[GRPC_TEXT_BYTES]; /* grpc-message. */
    int failure;                /* ERR_*: ended on this side; 0: by the peer. */
    void (*wake)(void *ctx);    /* Something of the above has changed. */
    void *ctx;
};

/* The beginning of a connection to @authority ("host:port"; copied). Owned. */
struct grpc_exchange *grpc_exchange_new(const char *authority, bool is_tls);
/* PRE: no ask has not ended. NULL is allowed. */
void grpc_exchange_free(struct grpc_exchange *x);

/* Bytes that came. Errors: ERR_CORRUPT, ERR_CLOSED (the peer takes no more
 * calls, and none is under way); then grpc_exchange_end(). */
MUST_CHECK int grpc_exchange_feed(struct grpc_exchange *x,
                                  struct slice bytes,
                                  struct err *err);
/* Append bytes to be sent to @out, about @most; nothing when there are none. */
MUST_CHECK int grpc_exchange_take(struct grpc_exchange *x,
                                  size_t most,
                                  struct buf *out,
                                  struct err *err);
/* The peer has said that it takes no new calls. */
bool grpc_exchange_is_leaving(const struct grpc_exchange *x);
/* The connection has ended: so have all calls, with @failure. */
void grpc_exchange_end(struct grpc_exchange *x, int failure);

/* Begin a call of @path. @a has `in_max`, `wake` and `ctx` set and all else
 * zero. Errors: ERR_UNAVAILABLE (the peer is leaving). */
MUST_CHECK int grpc_ask_begin(struct grpc_exchange *x,
                              struct grpc_ask *a,
                              const char *path,
                              const struct grpc_header *headers,
                              size_t header_count,
                              struct err *err);
/* Add one message to the request; nothing when the call has ended. PRE: not
 * after the last. */
void grpc_ask_send(struct grpc_ask *a, struct slice message, bool is_last);
/* The next message that has come whole: it is taken, and borrowed until more
 * bytes are fed. False: there is none yet, or no more. */
bool grpc_ask_next(struct grpc_ask *a, struct slice *message);

static inline bool grpc_ask_has_ended(const struct grpc_ask *a)
{
    return a->exchange == NULL;
}

/* Give it up, if it has not ended, and free what it holds. */
void grpc_ask_close(struct grpc_ask *a);

#endif /* BASE_GRPC_GRPC_EXCHANGE_H */
