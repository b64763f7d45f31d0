/* Streams: what holds for sockets and simulated ones alike. */
#include "base/runtime/stream.h"

#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/stream_ops.h"
#include "base/runtime/world_ops.h"

static const struct world_ops *ops_here(void)
{
    PRE(fiber_self());
    return loop_world(loop_self())->ops;
}

int stream_listen(const char *address,
                  struct stream_listener **out,
                  struct err *err)
{
    *out = NULL;
    return ops_here()->listen(loop_self(), address, out, err);
}

const char *stream_listener_address(const struct stream_listener *l)
{
    return l->address;
}

int stream_accept(struct stream_listener *l,
                  struct stream **out,
                  struct err *err)
{
    PRE(l->loop == loop_self());
    *out = NULL;
    return l->ops->accept(l, out, err);
}

void stream_listener_close(struct stream_listener *l)
{
    if (l)
        l->ops->listener_close(l);
}

int stream_connect(const char *address, struct stream **out, struct err *err)
{
    *out = NULL;
    return ops_here()->connect(loop_self(), address, out, err);
}

int stream_read(struct stream *s,
                void *dst,
                size_t len,
                size_t *got,
                struct err *err)
{
    PRE(s->loop == loop_self());
    PRE(len > 0);
    *got = 0;
    return s->ops->read(s, dst, len, got, err);
}

int stream_read_full(struct stream *s, void *dst, size_t len, struct err *err)
{
    size_t done = 0;
    while (done < len) {
        size_t got;
        int rc = stream_read(s, (char *)dst + done, len - done, &got, err);
        if (rc)
            return rc;
        if (got == 0)
            return err_set(err, ERR_CLOSED, "%s: the connection ended",
                           s->peer);
        done += got;
    }
    return 0;
}

int stream_write(struct stream *s,
                 const struct slice *parts,
                 size_t part_count,
                 struct err *err)
{
    PRE(s->loop == loop_self());
    return s->ops->write(s, parts, part_count, err);
}

const char *stream_peer(const struct stream *s)
{
    return s->peer;
}

void stream_close(struct stream *s)
{
    if (s)
        s->ops->close(s);
}
