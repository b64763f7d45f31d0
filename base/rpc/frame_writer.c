/* Writing frames to a stream: a queue, and a fiber that empties it with one
 * writev() for many frames. Attachments are sent from their owners' memory;
 * an owner that must leave before (its deadline passed) disowns the frame,
 * and only then are the bytes copied. */
#include <string.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/rpc/frame_stream.h"
#include "base/rpc/shared_ring.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/stream.h"
#include "base/runtime/world.h"

/* Bytes queued before senders wait. */
#define QUEUE_BYTES_MAX ((size_t)1 << 20)
/* Frames given to one write. */
#define BATCH_ITEMS_MAX 32

/* A frame in the queue, or being written. */
struct frame_item {
    struct frame_item *next;
    struct buf owned;    /* First part of its attachment. */
    struct slice *parts; /* The rest; borrowed. At the end of `head`. */
    size_t part_count;
    struct slice *batch; /* While it is written: where `parts` begin in
                            w->batch. */
    struct file *file;   /* NULL, or the attachment; borrowed. */
    uint64_t file_offset;
    size_t file_bytes;
    char *copy;                 /* Of the parts, after disowning. Owned. */
    void (*release)(void *ctx); /* Of the parts' owner, */
    void *ctx;
    struct frame_item **handle;    /* and its pointer to the frame. */
    size_t bytes;                  /* Of the whole frame. */
    char place[FRAME_PLACE_BYTES]; /* Where the attachment is, if shared. */
    bool shared;
    size_t head_bytes;
    char *head; /* Header and body; in the same memory. */
};

/* On the stack of a sender that waits for room. */
struct frame_sender {
    struct frame_sender *next;
    struct frame_sender *prev;
    struct fiber *fiber;
};

/* --- items --------------------------------------------------------------- */

/* One allocation: the struct, @head_bytes and @part_count slices. */
static struct frame_item *new_item(size_t head_bytes, size_t part_count)
{
    size_t parts_bytes = part_count * sizeof(struct slice);
    struct frame_item *i = mem_alloc(sizeof(*i) + parts_bytes + head_bytes);
    *i = (struct frame_item){.part_count = part_count};
    i->parts = (struct slice *)(i + 1);
    i->head = (char *)(i->parts + part_count);
    i->head_bytes = head_bytes;
    return i;
}

/* Tell the owner that the borrowed slices are no longer needed. */
static void let_go(struct frame_item *i)
{
    if (i->handle)
        *i->handle = NULL;
    if (i->release)
        i->release(i->ctx);
    i->handle = NULL;
    i->release = NULL;
}

static void free_item(struct frame_writer *w, struct frame_item *i)
{
    w->bytes -= i->bytes;
    if (w->total)
        *w->total -= i->bytes;
    let_go(i);
    buf_close(&i->owned);
    mem_free(i->copy);
    mem_free(i);
}

static struct frame_item *frame_writer_pop(struct frame_writer *w)
{
    struct frame_item *i = w->first;
    w->first = i->next;
    if (!w->first)
        w->last = &w->first;
    return i;
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
        free_item(w, frame_writer_pop(w));
    wake_senders(w);
}

/* --- the writing fiber --------------------------------------------------- */

/* Most slices that @i takes: its head, its parts, and the place if it is
 * shared. */
static size_t slices_of(const struct frame_item *i)
{
    size_t own = i->owned.len || i->file ? 2 : 1;
    return own + i->part_count;
}

/* Fill w->batch with @i from index @at on; returns the next index. */
static size_t
frame_writer_describe(struct frame_writer *w, struct frame_item *i, size_t at)
{
    w->batch[at++] = slice_make(i->head, i->head_bytes);
    if (i->shared)
        w->batch[at++] = slice_make(i->place, sizeof(i->place));
    if (i->owned.len)
        w->batch[at++] = buf_slice(&i->owned);
    i->batch = &w->batch[at];
    for (size_t p = 0; p < i->part_count; p++)
        w->batch[at++] = i->parts[p];
    return at;
}

static int write_file_of(struct frame_writer *w, const struct frame_item *i)
{
    if (!i->file)
        return 0;
    return stream_write_file(w->stream, i->file, i->file_offset, i->file_bytes,
                             NULL);
}

static char *put_bytes(char *to, struct slice s)
{
    if (s.len)
        memcpy(to, s.data, s.len);
    return to + s.len;
}

/* Copy the attachment of @i to @to. False if its file cannot be read. Parks
 * if the page cache has dropped it. */
static bool put_attachment(const struct frame_item *i, char *to)
{
    size_t got = 0;
    if (i->file)
        return file_read_at(i->file, i->file_offset, to, i->file_bytes, &got,
                            NULL) == 0 &&
               got == i->file_bytes;
    to = put_bytes(to, buf_slice(&i->owned));
    for (size_t p = 0; p < i->part_count; p++)
        to = put_bytes(to, i->parts[p]);
    return true;
}

/* Copy the attachment to shared memory if it is large enough and there is
 * room. Ranges of files too: that is one copy, and a socket would make one
 * as well, page by page. */
static void try_share(struct frame_writer *w, struct frame_item *i)
{
    size_t bytes = i->bytes - i->head_bytes;
    uint64_t place;
    char *to = NULL;
    if (w->ring && bytes >= SHARED_ATTACHMENT_BYTES_MIN)
        to = shared_ring_put(w->ring, bytes, &place);
    if (!to || !put_attachment(i, to))
        return;
    put_le64(i->place, place);
    frame_mark_shared(i->head);
    i->shared = true;
    i->part_count = 0;
    i->file = NULL;
    buf_close(&i->owned);
}

/* Write the oldest items by one call; one with a file is the last of them.
 * PRE: there is one. */
static void write_batch(struct frame_writer *w)
{
    struct frame_item *items[BATCH_ITEMS_MAX];
    size_t count = 0;
    size_t slices = 0;
    int rc;
    while (w->first && count < BATCH_ITEMS_MAX &&
           !(count && items[count - 1]->file) &&
           slices + slices_of(w->first) <= FRAME_BATCH_PARTS_MAX) {
        items[count] = frame_writer_pop(w);
        try_share(w, items[count]);
        slices = frame_writer_describe(w, items[count], slices);
        w->bytes_out += items[count]->bytes;
        count++;
    }
    rc = stream_write(w->stream, w->batch, slices, NULL);
    if (rc == 0)
        rc = write_file_of(w, items[count - 1]);
    for (size_t i = 0; i < count; i++)
        free_item(w, items[i]);
    if (rc)
        frame_writer_abandon(w);
    else if (w->senders && !frame_writer_is_full(w))
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

void frame_writer_start(struct frame_writer *w,
                        struct stream *s,
                        struct shared_ring *ring)
{
    *w = (struct frame_writer){.stream = s, .ring = ring};
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

/* --- sending ------------------------------------------------------------- */

static int frame_writer_unusable(const struct frame_writer *w, struct err *err)
{
    if (w->broken || w->closing)
        return err_set(err, ERR_UNAVAILABLE, "the connection is closed");
    return 0;
}

/* Not inlined: gcc 12 would take @s, which leave_senders() removes, for a
 * pointer that outlives its variable. */
NOINLINE static void join_senders(struct frame_writer *w,
                                  struct frame_sender *s)
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

bool frame_writer_is_full(const struct frame_writer *w)
{
    return w->bytes >= QUEUE_BYTES_MAX;
}

int frame_writer_await_room(struct frame_writer *w, struct err *err)
{
    struct frame_sender self = {.fiber = fiber_self()};
    int rc = frame_writer_unusable(w, err);
    if (rc || !frame_writer_is_full(w))
        return rc;
    join_senders(w, &self);
    while (rc == 0 && frame_writer_is_full(w)) {
        rc = fiber_park_checked(err);
        if (rc == 0)
            rc = frame_writer_unusable(w, err);
    }
    leave_senders(w, &self);
    return rc;
}

/* @f->attachment and @f->parts, without the empty ones. */
static size_t frame_collect(const struct frame *f, struct slice *out)
{
    size_t count = 0;
    if (f->attachment.len)
        out[count++] = f->attachment;
    for (size_t i = 0; i < f->part_count; i++)
        if (f->parts[i].len)
            out[count++] = f->parts[i];
    return count;
}

static void frame_writer_enqueue(struct frame_writer *w,
                                 struct frame *f,
                                 const struct frame_hold *hold)
{
    struct slice parts[FRAME_PARTS_MAX];
    size_t count = frame_collect(f, parts);
    struct frame_item *i = new_item(frame_head_bytes(f), count);
    if (count)
        memcpy(i->parts, parts, count * sizeof(*parts));
    if (hold && hold->owned) {
        i->owned = *hold->owned;
        *hold->owned = BUF_INIT;
    }
    i->file = f->file;
    i->file_offset = f->file_offset;
    i->file_bytes = f->file_bytes;
    f->attachment = buf_slice(&i->owned);
    f->parts = i->parts;
    f->part_count = count;
    i->bytes = i->head_bytes + frame_attachment_bytes(f);
    frame_encode_head(f, i->head);
    if (hold) {
        i->release = hold->release;
        i->ctx = hold->ctx;
        i->handle = hold->handle;
    }
    if (i->handle)
        *i->handle = i;
    *w->last = i;
    w->last = &i->next;
    w->bytes += i->bytes;
    if (w->total)
        *w->total += i->bytes;
    fiber_wake(w->fiber);
}

int frame_writer_send(struct frame_writer *w,
                      struct frame *f,
                      const struct frame_hold *hold,
                      struct err *err)
{
    int rc = frame_writer_await_room(w, err);
    PRE(f->part_count <= FRAME_PARTS_MAX - 2);
    if (rc == 0)
        frame_writer_enqueue(w, f, hold);
    return rc;
}

void frame_writer_post(struct frame_writer *w, struct frame *f)
{
    if (!w->broken && !w->closing)
        frame_writer_enqueue(w, f, NULL);
}

/* --- abandoning ---------------------------------------------------------- */

static bool remove_queued(struct frame_writer *w, const struct frame_item *i)
{
    struct frame_item **at = &w->first;
    while (*at && *at != i)
        at = &(*at)->next;
    if (!*at)
        return false;
    *at = i->next;
    if (!*at)
        w->last = at;
    return true;
}

/* Replace the slices of @i by a copy; the write in progress reads them again
 * after each wait. */
static void send_from_copy(struct frame_item *i)
{
    size_t bytes = 0;
    if (i->part_count == 0)
        return;
    for (size_t p = 0; p < i->part_count; p++)
        bytes += i->parts[p].len;
    i->copy = mem_alloc(bytes);
    bytes = 0;
    for (size_t p = 0; p < i->part_count; p++) {
        memcpy(i->copy + bytes, i->parts[p].data, i->parts[p].len);
        i->batch[p].data = i->copy + bytes;
        bytes += i->parts[p].len;
    }
}

bool frame_writer_disown(struct frame_writer *w, struct frame_item *i)
{
    if (remove_queued(w, i)) {
        free_item(w, i);
        return true;
    }
    send_from_copy(i);
    let_go(i);
    return false;
}
