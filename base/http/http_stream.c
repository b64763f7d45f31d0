/* Streams: replies whose bodies are made while they are sent.
 *
 * The writer, a fiber, lends one piece at a time and parks until the library's
 * thread has copied it to the connection; without a piece that thread suspends
 * the connection. So a stream costs no memory while nothing happens, and a
 * client that reads slowly holds up its own writer only.
 */
#include <string.h>

#include "base/core/panic.h"
#include "base/http/guests.h"
#include "base/http/http_private.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"

#define BLOCK_BYTES ((size_t)16 << 10)

static struct http_request *request_of(struct http_stream *s)
{
    return (
        struct http_request *)(void *)((char *)s -
                                       offsetof(struct http_request, stream));
}

/* --- the writer, on its fiber -------------------------------------------- */

/* The host of "host:port". */
static struct slice host_of(const char *peer)
{
    const char *colon = strrchr(peer, ':');
    return slice_make(peer, colon ? (size_t)(colon - peer) : strlen(peer));
}

static size_t count_streams(const struct http_request *r)
{
    size_t count = 0;
    for (const struct http_request *q = r->server->running; q; q = q->next)
        count += q->stream.fn && slice_eq(host_of(q->peer), host_of(r->peer));
    return count;
}

bool http_stream_begin(const struct http_request *request,
                       http_stream_fn fn,
                       void *ctx)
{
    struct http_request *r = (struct http_request *)(uintptr_t)request;
    struct http_server *s = r->server;
    bool ok;
    PRE(fn && !r->stream.fn);
    mutex_lock(&s->mutex);
    ok = s->streams < HTTP_STREAMS_MAX &&
         count_streams(r) < HTTP_ADDRESS_STREAMS_MAX; /* INV-2 */
    if (ok) {
        s->streams++;
        r->stream.fn = fn;
        r->stream.ctx = ctx;
        r->stream.has_left = r->is_head;
    }
    mutex_unlock(&s->mutex);
    return ok;
}

/* Have the library's thread ask for bytes again. PRE: the mutex is held. */
static void http_stream_resume(struct http_request *r)
{
    if (!r->stream.is_suspended)
        return;
    r->stream.is_suspended = false;
    MHD_resume_connection(r->connection);
}

/* PRE: the mutex is held. */
static int await_taken(struct http_request *r, struct err *err)
{
    struct http_server *s = r->server;
    struct world *w = loop_world(s->loop);
    uint64_t until_ns = world_mono_ns(w) + HTTP_STREAM_WRITE_US * 1000;
    int rc = 0;
    while (r->stream.piece.len && !r->stream.has_left && !s->is_closing) {
        uint64_t now_ns = world_mono_ns(w);
        if (now_ns >= until_ns)
            break;
        (void)cond_wait_us(&r->stream.taken, &s->mutex, w,
                           (until_ns - now_ns) / 1000 + 1);
    }
    if (r->stream.has_left || s->is_closing)
        rc = err_set(err, ERR_CLOSED, "the client has left");
    else if (r->stream.piece.len)
        rc = err_set(err, ERR_DEADLINE, "the client takes nothing");
    return rc;
}

int http_stream_write(struct http_stream *stream,
                      struct slice piece,
                      struct err *err)
{
    struct http_request *r = request_of(stream);
    int rc = fiber_check(err);
    if (rc)
        return rc;
    mutex_lock(&r->server->mutex);
    INVARIANT(!stream->piece.len);
    stream->piece = piece;
    http_stream_resume(r);
    rc = await_taken(r, err);
    stream->piece = SLICE_EMPTY; /* It was lent. */
    mutex_unlock(&r->server->mutex);
    return rc;
}

void http_stream_run(struct http_request *r)
{
    struct http_server *s = r->server;
    r->stream.fn(r->stream.ctx, &r->stream);
    mutex_lock(&s->mutex);
    r->stream.is_ended = true;
    s->streams--;
    http_stream_resume(r);
    if (!r->stream.has_left) { /* Its time runs now. */
        http_guests_busy(s->guests, r->guest, false);
        http_guests_answered(s->guests, r->guest,
                             world_mono_ns(loop_world(s->loop)) / 1000000000);
    }
    mutex_unlock(&s->mutex);
}

/* --- the library's thread ------------------------------------------------ */

static ssize_t read_stream(void *cls, uint64_t at, char *out, size_t max)
{
    struct http_request *r = cls;
    struct http_stream *x = &r->stream;
    ssize_t got = 0;
    (void)at;
    mutex_lock(&r->server->mutex);
    if (x->piece.len) {
        size_t n = MIN_OF(max, x->piece.len);
        memcpy(out, x->piece.data, n);
        x->piece = slice_sub(x->piece, n, x->piece.len);
        got = (ssize_t)n;
        if (!x->piece.len)
            cond_broadcast(&x->taken);
    } else if (x->is_ended) {
        got = MHD_CONTENT_READER_END_OF_STREAM;
    } else {
        x->is_suspended = true;
        MHD_suspend_connection(r->connection);
    }
    mutex_unlock(&r->server->mutex);
    return got;
}

struct MHD_Response *http_stream_response(struct http_request *r)
{
    PRE(r->stream.fn);
    if (r->is_head)
        return MHD_create_response_from_buffer(0, (void *)(uintptr_t) "",
                                               MHD_RESPMEM_PERSISTENT);
    return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES,
                                             read_stream, r, NULL);
}

void http_stream_leave(struct http_request *r)
{
    struct http_server *s = r->server;
    mutex_lock(&s->mutex);
    r->stream.has_left = true;
    cond_broadcast(&r->stream.taken);
    if (r->fiber && r->stream.fn)
        fiber_cancel(r->fiber);
    mutex_unlock(&s->mutex);
}
