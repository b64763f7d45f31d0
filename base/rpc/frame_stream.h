/* Frames over a stream: a reader with a buffer, and a writer that gathers what
 * many fibers send into few system calls. Private to base/rpc.
 *
 * One loop. The writer's own fiber does the writing, so that the deadline of
 * one caller cannot cut a frame of another in two.
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
    size_t begin;             /* Bytes read and not yet taken: [begin, end). */
    size_t end;
    bool is_bulk;      /* The last frame was large: read little ahead, so that
                          the next one's bytes go where they belong at once. */
    uint64_t bytes_in; /* Ever read. */
    /* Called when the fiber's deadline passes while nothing comes: sets the
     * next one and returns 0, or ends the reading with an error. NULL: the
     * deadline is an error. */
    int (*idle)(void *ctx, struct err *err);
    /* Called with the bytes of payloads as they come, before memory is taken
     * for more; may end the reading with an error. NULL: nobody counts. */
    int (*charge)(void *ctx, size_t bytes, struct err *err);
    void *ctx;
};

void frame_reader_init(struct frame_reader *r,
                       struct stream *s,
                       struct shared_ring *ring);
void frame_reader_close(struct frame_reader *r);

/* A frame is read by three calls in this order; each parks. Errors: those of
 * frame_decode_header() and frame_verify(), of the stream, of idle(). */

/* *@end when the stream ended between two frames. */
MUST_CHECK int frame_reader_header(struct frame_reader *r,
                                   struct frame *f,
                                   bool *end,
                                   struct err *err);
/* Replace the contents of @body, which f->body then is. */
MUST_CHECK int frame_reader_body(struct frame_reader *r,
                                 struct frame *f,
                                 struct buf *body,
                                 struct err *err);
/* Replace the contents of @out, which f->attachment then is; its checksum is
 * compared by the caller unless @check. */
MUST_CHECK int frame_reader_attachment(struct frame_reader *r,
                                       struct frame *f,
                                       bool check,
                                       struct buf *out,
                                       struct err *err);
/* Instead: append it to **@sink, which has room for it. *@sink is looked at
 * again after each wait; once it is NULL the rest is dropped. */
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
    struct fiber *fiber;      /* Does the writing. */
    struct frame_item *first; /* Waiting to be written, oldest first. */
    struct frame_item **last;
    size_t bytes;                 /* Of these and of those being written. */
    size_t *total;                /* NULL, or has them added, too; borrowed. */
    struct frame_sender *senders; /* Wait for room. */
    struct slice batch[FRAME_BATCH_PARTS_MAX]; /* Being written. */
    uint64_t bytes_out;                        /* Ever written. */
    bool closing;
    bool broken; /* A write failed or was given up: nothing more goes out. */
};

/* How long the bytes of a frame's attachment stay where they are. */
struct frame_hold {
    struct buf *owned; /* NULL, or sent before f->attachment and f->parts: its
                          contents move, and it is left empty. */
    /* Called once the borrowed slices are not needed any more. NULL: nobody. */
    void (*release)(void *ctx);
    void *ctx;
    /* NULL, or set to the frame while its slices are needed, then to NULL: for
     * frame_writer_disown(). */
    struct frame_item **handle;
};

/* Start the writing fiber on the running loop. w->total may be set behind it,
 * before the first frame. */
void frame_writer_start(struct frame_writer *w,
                        struct stream *s,
                        struct shared_ring *ring);
/* Give up what is queued; the stream is not touched any more once the call in
 * progress on it, if any, has returned. */
void frame_writer_abandon(struct frame_writer *w);
/* Write what is queued (unless broken) and end the fiber. Parks. */
void frame_writer_stop(struct frame_writer *w);

/* Queue @f: its body is copied, its attachment held as @hold says (NULL:
 * there is none). Parks while much is queued. On success the hold's buffer and
 * release are the writer's. Errors: ERR_UNAVAILABLE (broken or closing),
 * ERR_DEADLINE, ERR_CANCELLED; nothing was queued then. PRE: at most
 * FRAME_PARTS_MAX - 2 parts. */
MUST_CHECK int frame_writer_send(struct frame_writer *w,
                                 struct frame *f,
                                 const struct frame_hold *hold,
                                 struct err *err);
/* Is so much queued that senders wait? */
bool frame_writer_is_full(const struct frame_writer *w);
/* Wait until it is not. Parks. Errors: as frame_writer_send(). */
MUST_CHECK int frame_writer_await_room(struct frame_writer *w, struct err *err);
/* Queue a frame without payload even when the queue is full. A caller whose
 * peer decides how many there are checks for room first. Silently dropped when
 * broken. */
void frame_writer_post(struct frame_writer *w, struct frame *f);
/* The borrowed slices of @i go away now. True when nothing of it was sent, and
 * it was taken off the queue; else what is left is sent from a copy. */
bool frame_writer_disown(struct frame_writer *w, struct frame_item *i);

#endif /* BASE_RPC_FRAME_STREAM_H */
