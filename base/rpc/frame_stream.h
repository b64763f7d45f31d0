/* Frames over a stream: a reader with a buffer, and a writer that gathers the
 * frames of many fibers into few system calls. Private to base/rpc.
 *
 * One loop. The writer's own fiber does the writing, so that the deadline of
 * one caller cannot cut a frame of another in two.
 *
 * Invariants
 *     INV-1. The writer's `bytes` is the sum of all queued and unfinished
 *            frames, and is part of *total.
 *     INV-2. Frames are sent whole and in the order of their queueing, unless
 *            `broken`.
 *     INV-3. After frame_writer_disown() no slice of the frame's owner is read.
 */
#ifndef BASE_RPC_FRAME_STREAM_H
#define BASE_RPC_FRAME_STREAM_H

#include <stdbool.h>

#include "base/core/buf.h"
#include "base/rpc/frame.h"

struct fiber;
struct rpc_sink;
struct shared_ring;
struct stream;

/* --- reading ------------------------------------------------------------- */

struct frame_reader {
    struct stream *stream;    /* Borrowed. */
    struct shared_ring *ring; /* Borrowed; NULL: there is none. */
    char *buffer;             /* Owned. */
    size_t begin;             /* Bytes read and not yet consumed: [begin,
                                 end). */
    size_t end;
    bool is_bulk;      /* The last frame was large: read little ahead, so
                          that the next one's bytes are received in place. */
    uint64_t bytes_in; /* Read since init. */
    /* Called when the fiber's deadline passes without bytes: sets the next
     * deadline and returns 0, or ends the reading with an error. NULL: the
     * deadline is an error. */
    int (*idle)(void *ctx, struct err *err);
    /* Called with the number of payload bytes as they arrive, before memory
     * is reserved for more; may end the reading with an error. May be NULL. */
    int (*charge)(void *ctx, size_t bytes, struct err *err);
    void *ctx;
};

/* Read frames from @s; @ring (may be NULL) has their shared attachments. */
void frame_reader_init(struct frame_reader *r,
                       struct stream *s,
                       struct shared_ring *ring);
void frame_reader_close(struct frame_reader *r);

/* A frame is read by three calls in this order; each parks. Errors: those of
 * frame_decode_header() and frame_verify(), of the stream, of idle(). */

/* Read a header; *@end if the stream ended between two frames. */
MUST_CHECK int frame_reader_header(struct frame_reader *r,
                                   struct frame *f,
                                   bool *end,
                                   struct err *err);
/* Read the body into @body, replacing its contents; f->body is then a slice
 * of it. */
MUST_CHECK int frame_reader_body(struct frame_reader *r,
                                 struct frame *f,
                                 struct buf *body,
                                 struct err *err);
/* Read the attachment into @out, likewise. Unless @check, the caller
 * compares its checksum. */
MUST_CHECK int frame_reader_attachment(struct frame_reader *r,
                                       struct frame *f,
                                       bool check,
                                       struct buf *out,
                                       struct err *err);
/* Or append it to **@sink, which has room for it. *@sink is read again after
 * each wait; once it is NULL the rest is dropped. */
MUST_CHECK int frame_reader_sink(struct frame_reader *r,
                                 const struct frame *f,
                                 struct rpc_sink **sink,
                                 struct err *err);

/* --- writing ------------------------------------------------------------- */

/* Slices of one frame's attachment. */
#define FRAME_PARTS_MAX 12
/* Slices given to one write. */
#define FRAME_BATCH_PARTS_MAX 64

struct frame_item;
struct frame_sender;

struct frame_writer {
    struct stream *stream;    /* Borrowed. */
    struct shared_ring *ring; /* Borrowed; NULL: there is none. */
    struct fiber *fiber;      /* Writes. */
    struct frame_item *first; /* Waiting to be written, oldest first. */
    struct frame_item **last;
    size_t bytes;                 /* Of these and of those being written. */
    size_t *total;                /* NULL, or a sum over writers that
                                     includes them; borrowed. */
    struct frame_sender *senders; /* Waiting for room. */
    struct slice batch[FRAME_BATCH_PARTS_MAX]; /* Being written. */
    uint64_t bytes_out;                        /* Written since the start. */
    bool closing;
    bool broken; /* A write failed or was abandoned: nothing more is sent. */
};

/* Ownership of the bytes of a frame's attachment. */
struct frame_hold {
    struct buf *owned; /* NULL, or sent before f->attachment and f->parts:
                          its contents are moved out of it. */
    /* Called once the borrowed slices are no longer needed; may be NULL. */
    void (*release)(void *ctx);
    void *ctx;
    /* NULL, or set to the frame while its slices are needed, then to NULL: for
     * frame_writer_disown(). */
    struct frame_item **handle;
};

/* Start the writing fiber on the running loop. w->total may be set
 * afterwards, before the first frame. */
void frame_writer_start(struct frame_writer *w,
                        struct stream *s,
                        struct shared_ring *ring);
/* Drop the queue; the stream is not used again after the call in progress on
 * it, if any, has returned. */
void frame_writer_abandon(struct frame_writer *w);
/* Write the queue (unless broken) and end the fiber. Parks. */
void frame_writer_stop(struct frame_writer *w);

/* Queue @f: its body is copied, its attachment held as @hold says (NULL:
 * there is none). Parks while the queue is full. On success the writer owns
 * the hold's buffer and calls release. Errors: ERR_UNAVAILABLE (broken or
 * closing), ERR_DEADLINE, ERR_CANCELLED; nothing was queued then. PRE: at
 * most FRAME_PARTS_MAX - 2 parts. */
MUST_CHECK int frame_writer_send(struct frame_writer *w,
                                 struct frame *f,
                                 const struct frame_hold *hold,
                                 struct err *err);
/* True if the queue is so full that senders wait. */
bool frame_writer_is_full(const struct frame_writer *w);
/* Park until it is not. Errors: as frame_writer_send(). */
MUST_CHECK int frame_writer_await_room(struct frame_writer *w, struct err *err);
/* Queue a frame without payload even when the queue is full. A caller that
 * answers a peer's frames this way checks for room first. Dropped when
 * broken. */
void frame_writer_post(struct frame_writer *w, struct frame *f);
/* Stop using the borrowed slices of @i. True if nothing of it was sent and
 * it was removed from the queue; else the rest is sent from a copy. */
bool frame_writer_disown(struct frame_writer *w, struct frame_item *i);

#endif /* BASE_RPC_FRAME_STREAM_H */
