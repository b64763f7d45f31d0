/* A connection and its calls, for serve.c and serve_call.c only.
 *
 * Invariants
 *     INV-1. job_count is the number of `jobs`, and in_bytes the sum of their
 *            bytes.
 *     INV-2. The listener's in_bytes is the sum of in_bytes and coming_bytes
 *            over its connections; out_bytes that of the waiting bytes.
 *     INV-3. A connection is freed by its reading fiber, after its last job
 *            ended.
 */
#ifndef BASE_RPC_SERVE_INTERNAL_H
#define BASE_RPC_SERVE_INTERNAL_H

#include "base/rpc/frame_stream.h"
#include "base/rpc/rpc_server.h"
#include "base/rpc/serve.h"

struct fiber;
struct job;
struct shared_ring;

/* Memory of attachments kept for the next ones, per connection: touching fresh
 * memory costs more than copying it. */
#define SPARES_MAX      8
#define SPARE_BYTES_MAX ((size_t)1 << 20)

struct connection {
    struct connection *next; /* In the listener's list. */
    struct connection *prev;
    struct rpc_listener *listener;
    struct stream *stream;    /* Owned. */
    struct shared_ring *ring; /* Owned; NULL: there is none. */
    struct frame_reader reader;
    struct frame_writer writer;
    struct fiber *fiber; /* Reads. */
    struct job *jobs;
    size_t job_count;
    size_t in_bytes;               /* Of their requests. */
    size_t coming_bytes;           /* Of the request that is being read. */
    size_t held_bytes;             /* Of answers that wait for the writer. */
    struct buf spares[SPARES_MAX]; /* Empty, with memory. */
    size_t spare_count;
    uint64_t call_count;
    uint64_t since_us;
    uint64_t bytes_seen; /* Of the reader, at the last check. */
    unsigned silent_looks;
    uint64_t written_seen; /* Of the stream, at the last sweep. */
    unsigned stuck_sweeps;
    uint64_t frame_since_us; /* A frame's payload is being read; 0: none. */
    uint64_t frame_bytes;
    struct admission_guest guest;
    bool is_member;  /* A part of the cluster. */
    bool is_serving; /* Its handshake is over. */
    bool is_ending;
    char principal[RPC_NAME_BYTES_MAX + 1]; /* "" before the handshake. */
};

static inline struct world *serve__world(const struct connection *c)
{
    return rpc_server_world(c->listener->server);
}

/* Bytes of answers that wait for the peer to read. */
static inline size_t serve__waiting_bytes(const struct connection *c)
{
    return c->held_bytes + c->writer.bytes;
}

/* --- serve_call.c -------------------------------------------------------- */

/* Start a fiber that handles the request @f of method @m (NULL: there is none),
 * whose slices point into @body and @attachment; these are emptied. It ends by
 * itself and wakes c->fiber. */
void serve__start_call(struct connection *c,
                       const struct frame *f,
                       const struct rpc_method *m,
                       struct buf *body,
                       struct buf *attachment);
/* Cancel the call of that id, if it is being handled. */
void serve__cancel_call(struct connection *c, uint64_t call_id);
/* Cancel all of them. */
void serve__cancel_calls(struct connection *c);

/* --- serve.c ------------------------------------------------------------- */

/* Close the connection of a peer that is too slow: @why. */
void serve__end_slow(struct connection *c, const char *why);

#endif /* BASE_RPC_SERVE_INTERNAL_H */
