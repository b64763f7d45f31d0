/* A connection and the answers its calls are given. Private to the gRPC server.
 */
#ifndef BIGTABLE_GATEWAY_GRPC_CONNECTION_H
#define BIGTABLE_GATEWAY_GRPC_CONNECTION_H

#include <nghttp2/nghttp2.h>

#include "base/core/err.h"
#include "base/runtime/stream.h"
#include "bigtable/gateway/grpc_call.h"
#include "bigtable/gateway/grpc_frames.h"
#include "bigtable/gateway/session_memory.h"

/* A connection that is done waits so long for its peer to end it. */
#define GRPC_LINGER_US UINT64_C(1000000)

/* About as much is written at a time. */
#define GRPC_WRITE_BYTES ((size_t)256 << 10)

/* Streams of a connection that are remembered as closed by the peer. */
#define GRPC_CLOSED_COUNT 32

struct grpc_crowd;

struct grpc_connection {
    struct grpc_server *server;
    struct grpc_connection *next; /* On the server's list. */
    struct grpc_connection *prev;
    struct stream *io;
    nghttp2_session *session;
    struct session_memory memory;      /* The session's. */
    struct grpc_budget session_budget; /* For it. */
    struct grpc_budget budget;         /* Of calls, within the server's. */
    struct grpc_call *calls;
    struct grpc_crowd *crowd; /* Calls that are about to start; NULL: none. */
    size_t call_count;        /* With the abandoned ones. */
    size_t receiving_count;   /* Of them: requests that have not ended, */
    size_t replying_count;    /* and replies that were begun. */
    uint64_t read_ns;         /* The clock at the last read, */
    size_t read_bytes;        /* which gave so much. */
    struct fiber *fiber;
    struct fiber *writer;
    struct buf out;            /* To be written; filled by the writer alone. */
    struct grpc_frames frames; /* Frames that came in. */
    int32_t last_stream;       /* The newest that its peer opened; */
    int32_t skipped_first;     /* from here to before the next, */
    int32_t skipped_end;       /* streams it never opened. */
    int32_t reset_stream;      /* The last one that it reset. */
    int32_t closed[GRPC_CLOSED_COUNT]; /* By the peer, not long ago. */
    size_t closed_at;
    bool kicked; /* The writer has something to do. */
    bool ending; /* No more is read. */
    bool broken; /* Nothing can be written any more. */
    bool spoke;  /* The peer's first frame came. */
    bool local;  /* The peer is on this machine. */
    bool failed; /* The session gave the peer up, without a word to it. */
    bool turned_away;
    char certificate[GRPC_PRINCIPAL_BYTES]; /* The peer's name in it; "": it
                                               showed none. */
    struct buf authorization;             /* Of the last call; it was that of */
    char principal[GRPC_PRINCIPAL_BYTES]; /* this caller, */
    uint64_t principal_ns;                /* as was found then. */
    struct err why;                       /* Then. */
    bool leaving;        /* The session has said GOAWAY and is done. */
    uint64_t leaving_ns; /* Since when. */
    uint64_t idle_ns;    /* Since when no call is under way. */
    uint64_t writing_ns; /* Since when a write waits; 0: none does. */
    uint64_t pinged_ns;  /* When it was last asked for a sign of life; 0: it
                            gave one. */
    bool has_ping;       /* One waits for its answer: */
    uint8_t ping[8];
    uint64_t ping_until_ns; /* No longer than until then. */
};

/* --- grpc.c -------------------------------------------------------------- */

/* The session opened @stream: a call that it holds. */
struct grpc_call *grpc_connection_add_call(struct grpc_connection *c,
                                           int32_t stream);
/* No more of the request comes. */
void grpc_connection_end_request(struct grpc_call *call);

/* It says GOAWAY when its calls have ended, and then ends; @why (NULL: nothing)
 * is logged. */
void grpc_connection_leave(struct grpc_connection *c, const char *why);
/* A line about it, now and then. */
void grpc_connection_log(struct grpc_connection *c,
                         const char *what,
                         const char *why);

/* --- grpc_session.c: what nghttp2 calls back with ------------------------ */

/* Open c->session, which reads and writes nothing by itself. ERR_EXHAUSTED: no
 * memory for it. */
MUST_CHECK int grpc_session_open(struct grpc_connection *c);
/* The peer sent @bytes. Returns 0 or nghttp2's error: it is of no more use. */
MUST_CHECK int grpc_session_receive(struct grpc_connection *c,
                                    struct slice bytes);
/* PRE: a ping waits for its answer. Returns 0 or nghttp2's error. */
int grpc_session_answer_ping(struct grpc_connection *c);
/* Ask the peer for a sign of life. */
void grpc_session_ping(struct grpc_connection *c, uint64_t now_ns);
/* The request of @call does not come: DEADLINE_EXCEEDED. */
void grpc_session_refuse_slow(struct grpc_call *call);
/* The reply of @call is not taken: its stream is reset. */
void grpc_session_reset_slow(struct grpc_call *call);

/* --- grpc_run.c: the fibers of calls ------------------------------------- */

/* The request of @call is complete: handle it now, or with those that came
 * together with it. */
void grpc_call_start(struct grpc_call *call);
/* No more comes at once: handle what came together. */
void grpc_crowd_start(struct grpc_connection *c);
/* PRE: it is empty. NULL is allowed. */
void grpc_crowd_free(struct grpc_crowd *crowd);

/* --- grpc_reply.c: what the session is told to send ---------------------- */

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
