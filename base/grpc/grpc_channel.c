/* The connection of a client of gRPC: a fiber that feeds what comes into the
 * exchange, one that writes what the exchange has to send, and callers that
 * park until their call has something.
 *
 * Both fibers have a reference, as calls under way and streams have; who breaks
 * the channel closes its stream, which ends the fibers.
 */
#include "base/grpc/grpc_channel.h"

#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/stream.h"
#include "base/runtime/tls.h"

#define MESSAGE_BYTES_MAX ((size_t)4 << 20)
/* Bytes read, or written, at once. */
#define READ_BYTES  ((size_t)16 << 10)
#define WRITE_BYTES ((size_t)64 << 10)

struct grpc_channel {
    unsigned refs;
    struct stream *io; /* NULL: broken. */
    struct grpc_exchange *exchange;
    struct fiber *writer; /* Valid while it has not ended; NULL then. */
    bool has_output;      /* Perhaps. */
    size_t message_bytes_max;
    struct err why; /* Of the break. */
};

struct channel_stream {
    struct grpc_channel *channel;
    struct grpc_ask ask;
    struct fiber *waiter; /* NULL: nobody waits. */
};

/* --- the connection ------------------------------------------------------ */

struct grpc_channel *grpc_channel_ref(struct grpc_channel *c)
{
    PRE(c->refs > 0);
    c->refs++;
    return c;
}

static void channel_kick(struct grpc_channel *c)
{
    c->has_output = true;
    if (c->writer)
        fiber_wake(c->writer);
}

static void channel_break(struct grpc_channel *c, const struct err *why)
{
    if (!c->io)
        return;
    c->why = *why;
    stream_close(c->io);
    c->io = NULL;
    grpc_exchange_end(c->exchange, ERR_UNAVAILABLE);
    channel_kick(c);
}

void grpc_channel_break(struct grpc_channel *c)
{
    struct err why = ERR_INIT;

    err_set(&why, ERR_UNAVAILABLE, "the connection was given up");
    channel_break(c, &why);
}

static void channel_drop(struct grpc_channel *c)
{
    PRE(c->refs > 0);
    if (--c->refs > 0)
        return;
    PRE(!c->io && !c->writer);
    grpc_exchange_free(c->exchange);
    mem_free(c);
}

void grpc_channel_unref(struct grpc_channel *c)
{
    if (!c)
        return;
    /* Its own two fibers are left: see channel_start(). */
    if (c->refs == 3)
        grpc_channel_break(c);
    channel_drop(c);
}

bool grpc_channel_is_open(const struct grpc_channel *c)
{
    return c->io && !grpc_exchange_is_leaving(c->exchange);
}

/* The end of one of the channel's fibers: that of the other comes next. */
static void fiber_leaves(struct grpc_channel *c, const struct err *why)
{
    channel_break(c, why);
    channel_drop(c);
}

static void read_loop(void *arg)
{
    struct grpc_channel *c = arg;
    char *bytes = mem_alloc(READ_BYTES);
    struct err err = ERR_INIT;
    size_t got = 0;
    int rc = 0;

    while (!rc && c->io) {
        rc = stream_read(c->io, bytes, READ_BYTES, &got, &err);
        if (!rc && got == 0)
            rc = err_set(&err, ERR_CLOSED, "the server has hung up");
        if (!rc && c->io)
            rc = grpc_exchange_feed(c->exchange, slice_make(bytes, got), &err);
        if (!rc)
            channel_kick(c);
    }
    mem_free(bytes);
    fiber_leaves(c, &err);
}

static void write_loop(void *arg)
{
    struct grpc_channel *c = arg;
    struct buf out = BUF_INIT;
    struct err err = ERR_INIT;
    int rc = 0;

    while (!rc && c->io) {
        struct slice part;
        c->has_output = false;
        buf_clear(&out);
        rc = grpc_exchange_take(c->exchange, WRITE_BYTES, &out, &err);
        part = buf_slice(&out);
        if (!rc && part.len > 0)
            rc = stream_write(c->io, &part, 1, &err);
        while (!rc && part.len == 0 && c->io && !c->has_output)
            rc = fiber_park_checked(&err);
    }
    buf_close(&out);
    c->writer = NULL;
    fiber_leaves(c, &err);
}

static void channel_start(struct grpc_channel *c)
{
    struct fiber *reader;

    c->refs = 3; /* The caller's, and one of each fiber. */
    reader = fiber_start(loop_self(), "grpc-reader", read_loop, c);
    fiber_detach(reader);
    c->writer = fiber_start(loop_self(), "grpc-writer", write_loop, c);
    fiber_detach(c->writer);
}

int grpc_channel_open(const char *address,
                      const struct grpc_channel_options *opts,
                      struct grpc_channel **out,
                      struct err *err)
{
    struct grpc_channel *c;
    struct stream *io;
    int rc = stream_connect(address, &io, err);

    *out = NULL;
    if (!rc && opts->tls)
        rc = tls_connect(opts->tls, opts->host, opts->host, &io, err);
    if (rc)
        return rc;
    c = mem_zalloc(1, sizeof(*c));
    c->io = io;
    c->exchange = grpc_exchange_new(address, opts->tls != NULL);
    c->message_bytes_max =
        opts->message_bytes_max ? opts->message_bytes_max : MESSAGE_BYTES_MAX;
    channel_start(c);
    *out = c;
    return 0;
}

/* --- streams ------------------------------------------------------------- */

static void wake_waiter(void *ctx)
{
    struct channel_stream *s = ctx;

    if (s->waiter)
        fiber_wake(s->waiter);
}

static int stream_init(struct grpc_channel *c,
                       struct channel_stream *s,
                       const char *path,
                       const struct grpc_header *headers,
                       size_t header_count,
                       struct err *err)
{
    int rc;

    *s = (struct channel_stream){
        .channel = c,
        .ask = {.in_max = c->message_bytes_max + GRPC_PREFIX_BYTES,
                .wake = wake_waiter,
                .ctx = s}};
    if (!c->io)
        return err_set(err, ERR_UNAVAILABLE, "%s", c->why.text);
    rc = grpc_ask_begin(c->exchange, &s->ask, path, headers, header_count, err);
    if (rc == 0)
        grpc_channel_ref(c);
    return rc;
}

static void stream_end(struct channel_stream *s)
{
    struct grpc_channel *c = s->channel;
    bool told = !grpc_ask_has_ended(&s->ask);

    grpc_ask_close(&s->ask);
    if (told)
        channel_kick(c);
    grpc_channel_unref(c);
}

/* The end of a call, on this side or by the server. */
static int read_status(const struct channel_stream *s,
                       struct channel_status *status,
                       struct err *err)
{
    const struct grpc_ask *a = &s->ask;

    if (a->failure == ERR_TOOBIG)
        return err_set(err, ERR_TOOBIG,
                       "the answer is compressed, or longer than %zu bytes",
                       s->channel->message_bytes_max);
    if (a->failure)
        return err_set(err, a->failure, "%s",
                       *s->channel->why.text ? s->channel->why.text
                                             : "the server has reset the call");
    if (a->http != 200 || a->code < 0)
        return err_set(err, ERR_UNAVAILABLE,
                       "the server's answer is none of gRPC (HTTP status %u)",
                       a->http);
    status->code = a->code;
    snprintf(status->text, sizeof(status->text), "%s", a->text);
    return 0;
}

int channel_stream_open(struct grpc_channel *c,
                        const char *path,
                        const struct grpc_header *headers,
                        size_t header_count,
                        struct channel_stream **out,
                        struct err *err)
{
    struct channel_stream *s = mem_zalloc(1, sizeof(*s));
    int rc = stream_init(c, s, path, headers, header_count, err);

    *out = rc ? NULL : s;
    if (rc)
        mem_free(s);
    else
        channel_kick(c);
    return rc;
}

void channel_stream_send(struct channel_stream *s, struct slice message)
{
    grpc_ask_send(&s->ask, message, false);
    channel_kick(s->channel);
}

int channel_stream_next(struct channel_stream *s,
                        struct slice *message,
                        bool *ended,
                        struct channel_status *status,
                        struct err *err)
{
    int rc = 0;

    PRE(!s->waiter);
    *ended = false;
    s->waiter = fiber_self();
    while (!rc && !grpc_ask_next(&s->ask, message)) {
        if (grpc_ask_has_ended(&s->ask)) {
            *ended = true;
            rc = read_status(s, status, err);
            break;
        }
        rc = fiber_park_checked(err);
    }
    s->waiter = NULL;
    return rc;
}

void channel_stream_close(struct channel_stream *s)
{
    if (!s)
        return;
    stream_end(s);
    mem_free(s);
}

/* --- calls --------------------------------------------------------------- */

/* Wait for the end of the call; its only message is appended to @reply. */
static int take_answer(struct channel_stream *s,
                       struct buf *reply,
                       struct channel_status *status,
                       struct err *err)
{
    struct slice message;
    unsigned count = 0;
    bool ended = false;
    int rc = 0;

    while (!rc && !ended) {
        rc = channel_stream_next(s, &message, &ended, status, err);
        if (!rc && !ended && count++ == 0)
            buf_append_slice(reply, message);
    }
    if (!rc && status->code == GRPC_STATUS_OK && count != 1)
        rc = err_set(err, ERR_CORRUPT, "the server has sent %u answers", count);
    return rc;
}

int grpc_channel_call(struct grpc_channel *c,
                      const char *path,
                      const struct grpc_header *headers,
                      size_t header_count,
                      struct slice message,
                      struct buf *reply,
                      struct channel_status *status,
                      struct err *err)
{
    struct channel_stream s;
    int rc = stream_init(c, &s, path, headers, header_count, err);

    if (rc)
        return rc;
    grpc_ask_send(&s.ask, message, true);
    channel_kick(c);
    rc = take_answer(&s, reply, status, err);
    stream_end(&s);
    return rc;
}
