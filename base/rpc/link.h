/* One connection of a channel: requests out, answers back to their callers.
 * Private to base/rpc.
 *
 * A link lives from the end of the handshake to its loss, and then until the
 * last call on it has returned. One loop.
 *
 * Invariants
 *     INV-1. A call is in the link's map from queueing its request until its
 *            answer, its caller's end or the loss of the link, whichever is
 *            first.
 *     INV-2. Nothing of a caller's memory is touched after its link_call()
 *            returned.
 */
#ifndef BASE_RPC_LINK_H
#define BASE_RPC_LINK_H

#include "base/core/hash_map.h"
#include "base/rpc/frame_stream.h"
#include "base/rpc/rpc.h"

struct link;
struct shared_ring;

/* A call that waits for its answer, on the stack of its caller. */
struct link_call {
    uint64_t call_id;
    struct fiber *fiber;
    struct frame_item *item; /* The request, while its slices are needed. */
    struct buf *reply_body;
    struct buf *reply_attachment;
    struct rpc_sink *into; /* NULL, or instead of reply_attachment. */
    struct err *err;
    int rc;
    bool queued; /* The request may reach the server. */
    bool done;
};

struct link_options {
    uint64_t ping_us;
    uint64_t dead_us;
    uint64_t idle_us; /* Without calls for this time, it is closed. */
    unsigned version; /* Of the protocol, as agreed upon. */
    /* The link is lost and takes no more calls. @silent: the peer had not
     * been heard for dead_us. */
    void (*lost)(void *ctx, bool silent);
    /* It was freed. */
    void (*gone)(void *ctx, uint64_t bytes_in, uint64_t bytes_out);
    void *ctx;
};

/* A link over the connected @s and @ring (may be NULL), both owned by it. It
 * frees itself: see link_close(). */
struct link *link_start(struct stream *s,
                        struct shared_ring *ring,
                        const struct link_options *o);
/* Lose it now; `gone` is called once its callers have returned. */
void link_close(struct link *l);

/* Send @f, with @k->call_id, and wait for the answer. Parks. Errors: the
 * answer's; ERR_UNAVAILABLE (lost), ERR_DEADLINE, ERR_CANCELLED. */
MUST_CHECK int link_call(struct link *l, struct frame *f, struct link_call *k);

#endif /* BASE_RPC_LINK_H */
