/* Streams: the part that is common to sockets and simulated ones. Calls loop
 * around the implementation's non-blocking operations and park between them,
 * and each holds the stream, so that another fiber may close it at any time. */
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

bool stream_listener_is_local(const struct stream_listener *l)
{
    return l->is_local;
}

/* --- reading and writing ------------------------------------------------- */

void stream__drop(struct stream *s)
{
    if (--s->users == 0)
        s->ops->free(s);
}

int stream__closed_error(const struct stream *s, struct err *err)
{
    return err_set(err, ERR_CLOSED, "%s: closed", s->peer);
}

int stream_try_read(struct stream *s,
                    void *dst,
                    size_t len,
                    size_t *got,
                    bool *end,
                    struct err *err)
{
    PRE(s->loop == loop_self());
    PRE(len > 0);
    *got = 0;
    *end = false;
    if (s->closed)
        return stream__closed_error(s, err);
    return s->ops->read(s, dst, len, got, end, err);
}

int stream__wait(struct stream *s, enum stream_side side, struct err *err)
{
    int rc;
    if (s->closed)
        return stream__closed_error(s, err);
    s->users++;
    rc = s->ops->wait(s, side, err);
    if (rc == 0 && s->closed)
        rc = stream__closed_error(s, err);
    stream__drop(s);
    return rc;
}

int stream_wait_readable(struct stream *s, struct err *err)
{
    PRE(s->loop == loop_self());
    return stream__wait(s, STREAM_READING, err);
}

int stream_read(struct stream *s,
                void *dst,
                size_t len,
                size_t *got,
                struct err *err)
{
    bool end;
    int rc;
    s->users++;
    for (;;) {
        rc = stream_try_read(s, dst, len, got, &end, err);
        if (rc || *got || end)
            break;
        rc = s->ops->wait(s, STREAM_READING, err);
        if (rc)
            break;
    }
    stream__drop(s);
    return rc;
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

/* Advance *@at by @done bytes of the parts. */
static size_t stream_advance_parts(const struct slice *parts,
                                   size_t count,
                                   size_t *at,
                                   size_t skip,
                                   size_t done)
{
    skip += done;
    while (*at < count && skip >= parts[*at].len)
        skip -= parts[(*at)++].len;
    return skip;
}

int stream_write(struct stream *s,
                 const struct slice *parts,
                 size_t part_count,
                 struct err *err)
{
    size_t at = 0;
    size_t skip = stream_advance_parts(parts, part_count, &at, 0, 0);
    int rc = 0;
    PRE(s->loop == loop_self());
    s->users++;
    while (rc == 0 && at < part_count) {
        size_t done = 0;
        if (s->closed)
            rc = stream__closed_error(s, err);
        else
            rc =
                s->ops->write(s, parts + at, part_count - at, skip, &done, err);
        if (rc == 0 && done == 0)
            rc = s->ops->wait(s, STREAM_WRITING, err);
        s->written += done;
        skip = stream_advance_parts(parts, part_count, &at, skip, done);
    }
    stream__drop(s);
    return rc;
}

bool stream_can_write_files(const struct stream *s)
{
    return s->ops->write_file != NULL;
}

int stream_write_file(struct stream *s,
                      struct file *f,
                      uint64_t offset,
                      size_t len,
                      struct err *err)
{
    int rc = 0;
    PRE(s->loop == loop_self());
    s->users++;
    while (rc == 0 && len) {
        size_t done = 0;
        rc = s->closed ? stream__closed_error(s, err)
                       : s->ops->write_file(s, f, offset, len, &done, err);
        if (rc == 0 && done == 0)
            rc = s->ops->wait(s, STREAM_WRITING, err);
        s->written += done;
        offset += done;
        len -= done;
    }
    stream__drop(s);
    return rc;
}

static int no_files(const struct stream *s, struct err *err)
{
    return err_set(err, ERR_UNSUPPORTED, "%s: it cannot transfer open files",
                   s->peer);
}

int stream_send_file(struct stream *s, struct file *f, struct err *err)
{
    bool done = false;
    int rc = s->ops->send_file ? 0 : no_files(s, err);
    PRE(s->loop == loop_self());
    s->users++;
    while (rc == 0 && !done) {
        rc = s->closed ? stream__closed_error(s, err)
                       : s->ops->send_file(s, f, &done, err);
        if (rc == 0 && !done)
            rc = s->ops->wait(s, STREAM_WRITING, err);
    }
    stream__drop(s);
    return rc;
}

int stream_receive_file(struct stream *s, struct file **out, struct err *err)
{
    int rc = s->ops->receive_file ? 0 : no_files(s, err);
    PRE(s->loop == loop_self());
    *out = NULL;
    s->users++;
    while (rc == 0 && !*out) {
        rc = s->closed ? stream__closed_error(s, err)
                       : s->ops->receive_file(s, out, err);
        if (rc == 0 && !*out)
            rc = s->ops->wait(s, STREAM_READING, err);
    }
    stream__drop(s);
    return rc;
}

void stream_end_writing(struct stream *s)
{
    PRE(s->loop == loop_self());
    if (!s->closed)
        s->ops->end_writing(s);
}

const char *stream_peer(const struct stream *s)
{
    return s->peer;
}

uint64_t stream_written(const struct stream *s)
{
    return s->written;
}

bool stream_is_local(const struct stream *s)
{
    return s->ops->is_local(s);
}

void stream_close(struct stream *s)
{
    if (!s)
        return;
    PRE(!s->closed);
    s->closed = true;
    s->ops->close(s);
    stream__drop(s);
}
