/* Reading frames from a stream. Small frames are read many at a time into a
 * buffer; the payload of a large one is received in place. Memory for a
 * payload grows as its bytes arrive, so that a header alone reserves
 * nothing. */
#include <string.h>

#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "base/rpc/frame_stream.h"
#include "base/rpc/rpc.h"
#include "base/rpc/shared_ring.h"
#include "base/runtime/stream.h"

/* Bytes of one read: many small frames, or the start of a large one. */
#define READ_BUFFER_BYTES ((size_t)64 << 10)
/* The same after a large frame. */
#define READ_AHEAD_BYTES ((size_t)1 << 10)
#define BULK_BYTES       ((size_t)16 << 10)
/* A payload's memory grows by this much as its bytes arrive, so that a
 * header alone reserves nothing. */
#define PAYLOAD_STEP_BYTES ((size_t)1 << 20)

void frame_reader_init(struct frame_reader *r,
                       struct stream *s,
                       struct shared_ring *ring)
{
    *r = (struct frame_reader){.stream = s, .ring = ring};
    r->buffer = mem_alloc(READ_BUFFER_BYTES);
}

void frame_reader_close(struct frame_reader *r)
{
    mem_free(r->buffer);
}

/* --- bytes --------------------------------------------------------------- */

/* Park until bytes arrive; idle() decides what happens when none come in
 * time. */
static int frame_reader_wait(struct frame_reader *r, struct err *err)
{
    int rc = stream_wait_readable(r->stream, err);
    if (rc == ERR_DEADLINE && r->idle)
        rc = r->idle(r->ctx, err);
    return rc;
}

static int frame_reader_ended(const struct frame_reader *r, struct err *err)
{
    return err_set(err, ERR_CLOSED, "%s: the connection ended inside a frame",
                   stream_peer(r->stream));
}

/* Read at least one byte: *@got 0 only when the stream has ended. */
static int read_some(struct frame_reader *r,
                     char *dst,
                     size_t len,
                     size_t *got,
                     struct err *err)
{
    bool end = false;
    int rc;
    for (;;) {
        rc = stream_try_read(r->stream, dst, len, got, &end, err);
        if (rc || *got || end)
            break;
        rc = frame_reader_wait(r, err);
        if (rc)
            break;
    }
    r->bytes_in += *got;
    return rc;
}

/* Fill the buffer to at least @want bytes; *end if the stream ends before
 * the first. */
static int frame_reader_fill(struct frame_reader *r,
                             size_t want,
                             bool *end,
                             struct err *err)
{
    size_t room = r->is_bulk ? READ_AHEAD_BYTES : READ_BUFFER_BYTES;
    *end = false;
    if (r->end - r->begin >= want)
        return 0;
    memmove(r->buffer, r->buffer + r->begin, r->end - r->begin);
    r->end -= r->begin;
    r->begin = 0;
    while (r->end < want) {
        size_t got;
        int rc = read_some(r, r->buffer + r->end, room - r->end, &got, err);
        if (rc)
            return rc;
        if (got == 0 && r->end == 0) {
            *end = true;
            return 0;
        }
        if (got == 0)
            return frame_reader_ended(r, err);
        r->end += got;
    }
    return 0;
}

static int
frame_reader_charge(struct frame_reader *r, size_t bytes, struct err *err)
{
    return r->charge && bytes ? r->charge(r->ctx, bytes, err) : 0;
}

/* Replace the contents of @out by the next @len bytes. */
static int read_payload(struct frame_reader *r,
                        size_t len,
                        struct buf *out,
                        struct err *err)
{
    size_t have = MIN_OF(len, r->end - r->begin);
    int rc;
    INVARIANT(r->begin <= r->end);
    buf_clear(out);
    if (len)
        buf_reserve(out, MIN_OF(len, PAYLOAD_STEP_BYTES));
    buf_append(out, r->buffer + r->begin, have);
    r->begin += have;
    rc = frame_reader_charge(r, have, err);
    while (rc == 0 && out->len < len) {
        size_t step = MIN_OF(len - out->len, PAYLOAD_STEP_BYTES);
        size_t got;
        rc = read_some(r, buf_reserve(out, step), step, &got, err);
        if (rc)
            return rc;
        if (got == 0)
            return frame_reader_ended(r, err);
        buf_extend(out, got);
        rc = frame_reader_charge(r, got, err);
    }
    return rc;
}

/* --- frames -------------------------------------------------------------- */

int frame_reader_header(struct frame_reader *r,
                        struct frame *f,
                        bool *end,
                        struct err *err)
{
    int rc = frame_reader_fill(r, FRAME_HEADER_BYTES, end, err);
    if (rc || *end)
        return rc;
    rc = frame_decode_header(r->buffer + r->begin, f, err);
    if (rc)
        return rc;
    r->begin += FRAME_HEADER_BYTES;
    r->is_bulk = f->attachment.len >= BULK_BYTES && !(f->flags & FRAME_SHARED);
    return 0;
}

int frame_reader_body(struct frame_reader *r,
                      struct frame *f,
                      struct buf *body,
                      struct err *err)
{
    int rc = read_payload(r, f->body.len, body, err);
    if (rc)
        return rc;
    f->body = buf_slice(body);
    rc = frame_verify(f, crc32c(f->body.data, f->body.len), f->attachment_crc,
                      err);
    return rc ? rc : frame_take_front(f, err);
}

/* Read the place of the attachment of @f in the shared memory; *@from is
 * valid until shared_ring_taken(). */
static int find_shared(struct frame_reader *r,
                       const struct frame *f,
                       uint64_t *place,
                       const char **from,
                       struct err *err)
{
    bool end;
    int rc;
    if (!r->ring)
        return err_set(err, ERR_CORRUPT,
                       "frame: its attachment is in memory that is not shared");
    rc = frame_reader_fill(r, FRAME_PLACE_BYTES, &end, err);
    if (rc == 0 && end)
        rc = frame_reader_ended(r, err);
    if (rc)
        return rc;
    *place = get_le64(r->buffer + r->begin);
    r->begin += FRAME_PLACE_BYTES;
    return shared_ring_find(r->ring, *place, f->attachment.len, from, err);
}

static int take_shared(struct frame_reader *r,
                       const struct frame *f,
                       struct buf *out,
                       struct err *err)
{
    uint64_t place;
    const char *from;
    int rc = find_shared(r, f, &place, &from, err);
    if (rc)
        return rc;
    buf_clear(out);
    buf_append(out, from, f->attachment.len);
    shared_ring_taken(r->ring, place, f->attachment.len);
    return frame_reader_charge(r, f->attachment.len, err);
}

int frame_reader_attachment(struct frame_reader *r,
                            struct frame *f,
                            bool check,
                            struct buf *out,
                            struct err *err)
{
    int rc = f->flags & FRAME_SHARED
                 ? take_shared(r, f, out, err)
                 : read_payload(r, f->attachment.len, out, err);
    if (rc)
        return rc;
    f->attachment = buf_slice(out);
    if (!check)
        return 0;
    return frame_verify(f, f->body_crc,
                        crc32c(f->attachment.data, f->attachment.len), err);
}

/* Copy up to @len buffered or arriving bytes to @dst. */
static int take_some(struct frame_reader *r,
                     char *dst,
                     size_t len,
                     size_t *got,
                     struct err *err)
{
    size_t have = MIN_OF(len, r->end - r->begin);
    bool end = false;
    int rc = 0;
    if (have) {
        memcpy(dst, r->buffer + r->begin, have);
        r->begin += have;
        *got = have;
        return 0;
    }
    rc = stream_try_read(r->stream, dst, len, got, &end, err);
    r->bytes_in += *got;
    return rc == 0 && end ? frame_reader_ended(r, err) : rc;
}

static int sink_shared(struct frame_reader *r,
                       const struct frame *f,
                       struct rpc_sink **sink,
                       struct err *err)
{
    uint32_t crc = f->attachment_crc;
    uint64_t place;
    const char *from;
    int rc = find_shared(r, f, &place, &from, err);
    if (rc)
        return rc;
    if (*sink) {
        char *dst = (char *)(*sink)->data + (*sink)->len;
        crc = crc32c_copy(dst, from, f->attachment.len);
        (*sink)->len += f->attachment.len;
    }
    shared_ring_taken(r->ring, place, f->attachment.len);
    return frame_verify(f, f->body_crc, crc, err);
}

int frame_reader_sink(struct frame_reader *r,
                      const struct frame *f,
                      struct rpc_sink **sink,
                      struct err *err)
{
    char dropped[4096];
    size_t left = f->attachment.len;
    uint32_t crc = 0;
    if (f->flags & FRAME_SHARED)
        return sink_shared(r, f, sink, err);
    while (left) {
        struct rpc_sink *to = *sink;
        char *dst = to ? (char *)to->data + to->len : dropped;
        size_t room = to ? left : MIN_OF(left, sizeof(dropped));
        size_t got = 0;
        int rc = take_some(r, dst, room, &got, err);
        if (rc == 0 && got == 0)
            rc = frame_reader_wait(r, err);
        if (rc)
            return rc;
        if (got == 0)
            continue; /* The sink may have been withdrawn during the wait. */
        crc = crc32c_extend(crc, dst, got);
        if (to)
            to->len += got;
        left -= got;
    }
    return frame_verify(f, f->body_crc, crc, err);
}
