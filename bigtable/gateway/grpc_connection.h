/* A connection and the answers its calls are given. Private to the gRPC server.
 */
#ifndef BIGTABLE_GATEWAY_GRPC_CONNECTION_H
#define BIGTABLE_GATEWAY_GRPC_CONNECTION_H

#include <nghttp2/nghttp2.h>

#include "bigtable/gateway/grpc_call.h"
#include "bigtable/gateway/session_memory.h"

/* About as much is written at a time. */
#define GRPC_WRITE_BYTES ((size_t)256 << 10)

struct grpc_crowd;

struct grpc_connection {
    struct grpc_server *server;
    struct grpc_connection *next; /* On the server's list. */
    struct grpc_connection *prev;
    struct stream *io;
    nghttp2_session *session;
    struct session_memory memory; /* The session's. */
    struct grpc_budget budget;    /* Of calls, within the server's. */
    struct grpc_call *calls;
    struct grpc_crowd *crowd; /* Calls that are about to start; NULL: none. */
    size_t call_count;        /* With the abandoned ones. */
    size_t receiving_count;   /* Of them: requests that have not ended, */
    size_t replying_count;    /* and replies that were begun. */
    uint64_t read_ns;         /* The clock at the last read, */
    size_t read_bytes;        /* which gave so much. */
    struct fiber *fiber;
    struct fiber *writer;
    struct buf out; /* To be written; filled by the writer alone. */
    bool kicked;    /* The writer has something to do. */
    bool ending;    /* No more is read. */
    bool broken;    /* Nothing can be written any more. */
    bool spoke;     /* The peer's first frame came. */
    bool has_ping;  /* One waits for its answer: */
    uint8_t ping[8];
    uint64_t ping_until_ns; /* No longer than until then. */
};

/* --- grpc.c -------------------------------------------------------------- */

/* The session opened @stream: a call that it holds. */
struct grpc_call *grpc_connection_add_call(struct grpc_connection *c,
                                           int32_t stream);
/* No more of the request comes. */
void grpc_connection_end_request(struct grpc_call *call);

/* --- grpc_session.c: what nghttp2 calls back with ------------------------- */

/* Open c->session, which reads and writes nothing by itself. */
void grpc_session_open(struct grpc_connection *c);
/* PRE: a ping waits for its answer. Returns 0 or nghttp2's error. */
int grpc_session_answer_ping(struct grpc_connection *c);

/* --- grpc_run.c: the fibers of calls ------------------------------------ */

/* The request of @call is complete: handle it now, or with those that came
 * together with it. */
void grpc_call_start(struct grpc_call *call);
/* No more comes at once: handle what came together. */
void grpc_crowd_start(struct grpc_connection *c);
/* PRE: it is empty. NULL is allowed. */
void grpc_crowd_free(struct grpc_crowd *crowd);

/* --- grpc_reply.c: what the session is told to send -------------------- */

/* The headers of a reply with messages, which follow as they come. */
void grpc_reply_begin(struct grpc_call *call);
/* A reply that is its status alone. */
void grpc_reply_status(struct grpc_call *call);
/* For a peer that does not speak gRPC; @status is a literal. */
void grpc_reply_http_error(struct grpc_call *call, const char *status);
/* nghttp2's nghttp2_send_data_callback: a frame of a reply into what will be
 * written. */
int grpc_reply_put_frame(nghttp2_session *session,
                         nghttp2_frame *frame,
                         const uint8_t *head,
                         size_t len,
                         nghttp2_data_source *source,
                         void *user);

#endif /* BIGTABLE_GATEWAY_GRPC_CONNECTION_H */
