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
struct stream;

/* --- reading ----------------------------------------------------------- */

struct frame_reader {
    struct stream *stream; /* Borrowed. */
    char *buffer;          /* Owned. */
    size_t begin;          /* Bytes read and not yet taken: [begin, end). */
    size_t end;
};

void frame_reader_init(struct frame_reader *r, struct stream *s);
void frame_reader_close(struct frame_reader *r);

/* The next frame: @f, with its body and attachment in @body and @attachment,
 * whose contents are replaced. *@end when the stream ended between two frames.
 * Parks. Errors: those of frame_decode_header() and frame_verify(); the
 * stream's. */
MUST_CHECK int frame_reader_next(struct frame_reader *r,
                                 struct frame *f,
                                 struct buf *body,
                                 struct buf *attachment,
                                 bool *end,
                                 struct err *err);

/* --- writing ----------------------------------------------------------- */

struct frame_item;
struct frame_sender;

struct frame_writer {
    struct stream *stream;    /* Borrowed. */
    struct fiber *fiber;      /* Does the writing. */
    struct frame_item *first; /* Waiting to be written, oldest first. */
    struct frame_item **last;
    size_t bytes;                 /* Of these and of those being written. */
    struct frame_sender *senders; /* Wait for room. */
    bool closing;
    bool broken; /* A write failed or was given up: nothing more goes out. */
};

/* Start the writing fiber on the running loop. */
void frame_writer_start(struct frame_writer *w, struct stream *s);
/* Give up what is queued; the stream is not touched any more once the call in
 * progress on it, if any, has returned. */
void frame_writer_abandon(struct frame_writer *w);
/* Write what is queued (unless broken) and end the fiber. Parks. */
void frame_writer_stop(struct frame_writer *w);

/* Queue @f: its body is copied, @attachment's contents become its attachment
 * and move (the buffer is empty afterwards). Parks while much is queued.
 * Errors: ERR_UNAVAILABLE (broken or closing), ERR_DEADLINE, ERR_CANCELLED;
 * nothing was queued then. */
MUST_CHECK int frame_writer_send(struct frame_writer *w,
                                 struct frame *f,
                                 struct buf *attachment,
                                 struct err *err);
/* A frame without payload, queued whatever the room; silently dropped when
 * broken. */
void frame_writer_post(struct frame_writer *w, struct frame *f);

#endif /* BASE_RPC_FRAME_STREAM_H */
