/* Frames over a stream. */
#include "base/rpc/frame_stream.h"

#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/stream.h"

/* What one read may take: many small frames, or the start of a large one. */
#define READ_BUFFER_BYTES ((size_t)64 << 10)
/* A payload's memory grows by this much as its bytes arrive, so that a header
 * alone makes nobody allocate. */
#define PAYLOAD_STEP_BYTES ((size_t)1 << 20)
/* Bytes queued before senders wait. */
#define QUEUE_BYTES_MAX ((size_t)1 << 20)
/* Frames given to one write. */
#define BATCH_ITEMS_MAX 32

/* --- reading ----------------------------------------------------------- */

void frame_reader_init(struct frame_reader *r, struct stream *s)
{
    *r = (struct frame_reader){.stream = s};
    r->buffer = mem_alloc(READ_BUFFER_BYTES);
}

void frame_reader_close(struct frame_reader *r)
{
    mem_free(r->buffer);
}

/* Have at least @want bytes in the buffer; *end when the stream ends with none
 * there. */
static int fill(struct frame_reader *r, size_t want, bool *end, struct err *err)
{
    *end = false;
    if (r->end - r->begin >= want)
        return 0;
    memmove(r->buffer, r->buffer + r->begin, r->end - r->begin);
    r->end -= r->begin;
    r->begin = 0;
    while (r->end < want) {
        size_t got;
        int rc = stream_read(r->stream, r->buffer + r->end,
                             READ_BUFFER_BYTES - r->end, &got, err);
        if (rc)
            return rc;
        if (got == 0 && r->end == 0) {
            *end = true;
            return 0;
        }
        if (got == 0)
            return err_set(err, ERR_CLOSED,
                           "%s: the connection ended inside a "
                           "frame",
                           stream_peer(r->stream));
        r->end += got;
    }
    return 0;
}

/* Replace @out by the next @len bytes. */
static int read_payload(struct frame_reader *r,
                        size_t len,
                        struct buf *out,
                        struct err *err)
{
    size_t have = MIN_OF(len, r->end - r->begin);
    buf_clear(out);
    buf_append(out, r->buffer + r->begin, have);
    r->begin += have;
    while (out->len < len) {
        size_t step = MIN_OF(len - out->len, PAYLOAD_STEP_BYTES);
        int rc = stream_read_full(r->stream, buf_extend(out, step), step, err);
        if (rc)
            return rc;
    }
    return 0;
}

int frame_reader_next(struct frame_reader *r,
                      struct frame *f,
                      struct buf *body,
                      struct buf *attachment,
                      bool *end,
                      struct err *err)
{
    char header[FRAME_HEADER_BYTES];
    int rc = fill(r, FRAME_HEADER_BYTES, end, err);
    if (rc || *end)
        return rc;
    memcpy(header, r->buffer + r->begin, sizeof(header));
    rc = frame_decode_header(header, f, err);
    if (rc)
        return rc;
    r->begin += FRAME_HEADER_BYTES;
    rc = read_payload(r, f->body.len, body, err);
    if (rc == 0)
        rc = read_payload(r, f->attachment.len, attachment, err);
    if (rc)
        return rc;
    f->body = buf_slice(body);
    f->attachment = buf_slice(attachment);
    return frame_verify(header, f, err);
}

/* --- writing ----------------------------------------------------------- */

/* A frame in the queue. */
struct frame_item {
    struct frame_item *next;
    struct buf attachment; /* Owned. */
    size_t head_bytes;
    char head[]; /* Header and body. */
};

/* On the stack of one who waits for room. */
struct frame_sender {
    struct frame_sender *next;
    struct frame_sender *prev;
    struct fiber *fiber;
};

static size_t item_bytes(const struct frame_item *i)
{
    return i->head_bytes + i->attachment.len;
}

static struct frame_item *pop(struct frame_writer *w)
{
    struct frame_item *i = w->first;
    w->first = i->next;
    if (!w->first)
        w->last = &w->first;
    return i;
}

static void free_item(struct frame_writer *w, struct frame_item *i)
{
    w->bytes -= item_bytes(i);
    buf_close(&i->attachment);
    mem_free(i);
}

static void wake_senders(struct frame_writer *w)
{
    for (struct frame_sender *s = w->senders; s; s = s->next)
        fiber_wake(s->fiber);
}

void frame_writer_abandon(struct frame_writer *w)
{
    w->broken = true;
    while (w->first)
        free_item(w, pop(w));
    wake_senders(w);
}

/* Write the oldest items in one go. PRE: there is one. */
static void write_batch(struct frame_writer *w)
{
    struct frame_item *items[BATCH_ITEMS_MAX];
    struct slice parts[2 * BATCH_ITEMS_MAX];
    size_t count = 0;
    int rc;
    do {
        struct frame_item *i = pop(w);
        items[count] = i;
        parts[2 * count] = slice_make(i->head, i->head_bytes);
        parts[2 * count + 1] = buf_slice(&i->attachment);
        count++;
    } while (w->first && count < BATCH_ITEMS_MAX);
    rc = stream_write(w->stream, parts, 2 * count, NULL);
    for (size_t i = 0; i < count; i++)
        free_item(w, items[i]);
    if (rc)
        frame_writer_abandon(w);
    wake_senders(w);
}

static void run_writer(void *arg)
{
    struct frame_writer *w = arg;
    while (!w->closing || w->first) {
        if (w->first)
            write_batch(w);
        else
            fiber_park();
    }
}

void frame_writer_start(struct frame_writer *w, struct stream *s)
{
    *w = (struct frame_writer){.stream = s};
    w->last = &w->first;
    w->fiber = fiber_start(loop_self(), "rpc writer", run_writer, w);
}

void frame_writer_stop(struct frame_writer *w)
{
    w->closing = true;
    fiber_wake(w->fiber);
    fiber_join(w->fiber);
    INVARIANT(!w->first);
}

static int unusable(const struct frame_writer *w, struct err *err)
{
    if (w->broken || w->closing)
        return err_set(err, ERR_UNAVAILABLE, "the connection is closed");
    return 0;
}

static void join_senders(struct frame_writer *w, struct frame_sender *s)
{
    s->next = w->senders;
    if (s->next)
        s->next->prev = s;
    w->senders = s;
}

static void leave_senders(struct frame_writer *w, struct frame_sender *s)
{
    if (s->prev)
        s->prev->next = s->next;
    else
        w->senders = s->next;
    if (s->next)
        s->next->prev = s->prev;
}

static int wait_for_room(struct frame_writer *w, struct err *err)
{
    struct frame_sender self = {.fiber = fiber_self()};
    int rc = unusable(w, err);
    if (rc || w->bytes < QUEUE_BYTES_MAX)
        return rc;
    join_senders(w, &self);
    while (rc == 0 && w->bytes >= QUEUE_BYTES_MAX) {
        rc = fiber_park_checked(err);
        if (rc == 0)
            rc = unusable(w, err);
    }
    leave_senders(w, &self);
    return rc;
}

/* Takes @attachment's contents; NULL is allowed. */
static void
enqueue(struct frame_writer *w, struct frame *f, struct buf *attachment)
{
    struct frame_item *i =
        mem_alloc(sizeof(*i) + FRAME_HEADER_BYTES + f->body.len);
    i->next = NULL;
    i->attachment = attachment ? *attachment : BUF_INIT;
    if (attachment)
        *attachment = BUF_INIT;
    f->attachment = buf_slice(&i->attachment);
    i->head_bytes = FRAME_HEADER_BYTES + f->body.len;
    frame_encode_header(f, i->head);
    if (f->body.len)
        memcpy(i->head + FRAME_HEADER_BYTES, f->body.data, f->body.len);
    *w->last = i;
    w->last = &i->next;
    w->bytes += item_bytes(i);
    fiber_wake(w->fiber);
}

int frame_writer_send(struct frame_writer *w,
                      struct frame *f,
                      struct buf *attachment,
                      struct err *err)
{
    int rc = wait_for_room(w, err);
    if (rc == 0)
        enqueue(w, f, attachment);
    return rc;
}

void frame_writer_post(struct frame_writer *w, struct frame *f)
{
    if (!w->broken && !w->closing)
        enqueue(w, f, NULL);
}
