/* Streams of the simulated world: two queues of bytes that arrive later. */
#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/stream_ops.h"
#include "base/runtime/waiter.h"
#include "base/runtime/world_sim.h"

/* Bytes one direction holds before the writer waits. */
#define PIPE_BYTES_MAX ((size_t)256 << 10)

/* Connections that wait to be accepted. */
#define BACKLOG_MAX 64

/* Bytes that arrive together. */
struct sim_chunk {
    struct sim_chunk *next;
    uint64_t at_ns; /* When they may be read. */
    size_t read;    /* Already taken. */
    size_t len;
    char data[];
};

/* One direction; lives while either end does. */
struct sim_pipe {
    struct sim_chunk *first;
    struct sim_chunk **last;
    unsigned ends;        /* Streams that refer to it: 2, 1. */
    size_t bytes;         /* Not yet taken. */
    bool writer_gone;     /* The end follows the last chunk. */
    bool reader_gone;     /* Writing is of no use. */
    uint64_t last_at_ns;  /* Chunks arrive in order. */
    struct fiber *reader; /* Parked for bytes. */
    struct fiber *writer; /* Parked for room. */
};

struct sim_stream {
    struct stream base;
    struct sim_pipe *in;
    struct sim_pipe *out;
    unsigned users; /* Fibers inside calls, and the owner. */
    bool closed;
};

struct sim_listener {
    struct stream_listener base;
    struct sim_listener *next;               /* In the world's list. */
    struct sim_stream *waiting[BACKLOG_MAX]; /* Not yet accepted. */
    size_t waiting_count;
    struct fiber *acceptor;
    unsigned users;
    bool closed;
};

static struct sim_world *world_here(struct loop *l)
{
    return sim_world(l->world);
}

/* --- pipes ------------------------------------------------------------- */

static struct sim_pipe *pipe_new(void)
{
    struct sim_pipe *p = mem_zalloc(1, sizeof(*p));
    p->last = &p->first;
    p->ends = 2;
    return p;
}

static void wake(struct fiber *f)
{
    if (f)
        fiber_wake(f);
}

static void pop_chunk(struct sim_pipe *p)
{
    struct sim_chunk *c = p->first;
    p->first = c->next;
    if (!p->first)
        p->last = &p->first;
    mem_free(c);
}

/* An end is gone and nobody is inside a call on it; the last one frees it. */
static void pipe_release(struct sim_pipe *p)
{
    if (--p->ends)
        return;
    while (p->first)
        pop_chunk(p);
    mem_free(p);
}

static void pipe_wake(struct sim_pipe *p)
{
    wake(p->reader);
    wake(p->writer);
}

static void
add_chunk(struct sim_world *w, struct sim_pipe *p, const char *data, size_t len)
{
    struct sim_chunk *c = mem_alloc(sizeof(*c) + len);
    uint64_t delay = (uint64_t)w->options.network_us * 1000;
    c->next = NULL;
    c->read = 0;
    c->len = len;
    memcpy(c->data, data, len);
    c->at_ns = w->mono_ns + delay / 2;
    if (delay)
        c->at_ns += rand_below(&w->faults, delay + 1);
    c->at_ns = MAX_OF(c->at_ns, p->last_at_ns);
    p->last_at_ns = c->at_ns;
    *p->last = c;
    p->last = &c->next;
    p->bytes += len;
    wake(p->reader);
}

/* --- calls ------------------------------------------------------------- */

static struct sim_stream *sim_stream(struct stream *s)
{
    return (struct sim_stream *)s;
}

static void drop(struct sim_stream *s)
{
    if (--s->users)
        return;
    pipe_release(s->in);
    pipe_release(s->out);
    mem_free(s);
}

static int closed_error(const struct stream *s, struct err *err)
{
    return err_set(err, ERR_CLOSED, "%s: closed", s->peer);
}

/* Park until woken, or @at_ns, the deadline, cancellation. */
static int park(struct fiber **side, uint64_t at_ns, struct err *err)
{
    int rc = fiber_check(err);
    PRE(!*side);
    if (rc)
        return rc;
    *side = fiber_self();
    if (at_ns == UINT64_MAX)
        rc = fiber_park_checked(err);
    else
        fiber_park_until(at_ns);
    *side = NULL;
    return rc ? rc : fiber_check(err);
}

static size_t take(struct sim_pipe *p, char *dst, size_t len)
{
    struct sim_chunk *c = p->first;
    size_t n = MIN_OF(len, c->len - c->read);
    memcpy(dst, c->data + c->read, n);
    c->read += n;
    p->bytes -= n;
    if (c->read == c->len)
        pop_chunk(p);
    wake(p->writer);
    return n;
}

static int read_pipe(struct stream *base,
                     void *dst,
                     size_t len,
                     size_t *got,
                     struct err *err)
{
    struct sim_stream *s = sim_stream(base);
    struct sim_world *w = world_here(base->loop);
    int rc = 0;
    s->users++;
    for (;;) {
        struct sim_pipe *p = s->in;
        if (s->closed) {
            rc = closed_error(base, err);
            break;
        }
        if (p->first && p->first->at_ns <= w->mono_ns) {
            *got = take(p, dst, len);
            break;
        }
        if (!p->first && p->writer_gone)
            break;
        rc = park(&p->reader, p->first ? p->first->at_ns : UINT64_MAX, err);
        if (rc)
            break;
    }
    drop(s);
    return rc;
}

static int write_part(struct sim_stream *s, struct slice part, struct err *err)
{
    struct sim_world *w = world_here(s->base.loop);
    while (part.len) {
        struct sim_pipe *p = s->out;
        size_t room;
        int rc;
        if (s->closed || p->reader_gone)
            return closed_error(&s->base, err);
        room = p->bytes < PIPE_BYTES_MAX ? PIPE_BYTES_MAX - p->bytes : 0;
        if (room == 0) {
            rc = park(&p->writer, UINT64_MAX, err);
            if (rc)
                return rc;
            continue;
        }
        room = MIN_OF(room, part.len);
        add_chunk(w, p, part.data, room);
        part = slice_sub(part, room, part.len);
    }
    return 0;
}

static int write_pipe(struct stream *base,
                      const struct slice *parts,
                      size_t part_count,
                      struct err *err)
{
    struct sim_stream *s = sim_stream(base);
    int rc = 0;
    s->users++;
    for (size_t i = 0; i < part_count && rc == 0; i++)
        rc = write_part(s, parts[i], err);
    drop(s);
    return rc;
}

static void close_pipes(struct stream *base)
{
    struct sim_stream *s = sim_stream(base);
    PRE(!s->closed);
    s->closed = true;
    s->in->reader_gone = true;
    s->out->writer_gone = true;
    pipe_wake(s->in);
    pipe_wake(s->out);
    drop(s);
}

/* --- listening and connecting ------------------------------------------ */

static int
accept_pipe(struct stream_listener *base, struct stream **out, struct err *err);
static void close_listener(struct stream_listener *base);

static const struct stream_ops sim_stream_ops = {
    .read = read_pipe,
    .write = write_pipe,
    .close = close_pipes,
    .accept = accept_pipe,
    .listener_close = close_listener,
};

static struct sim_listener *find_listener(struct sim_world *w,
                                          const char *address)
{
    for (struct sim_listener *l = w->listeners; l; l = l->next)
        if (strcmp(l->base.address, address) == 0)
            return l;
    return NULL;
}

int sim__listen(struct loop *loop,
                const char *address,
                struct stream_listener **out,
                struct err *err)
{
    struct sim_world *w = world_here(loop);
    struct sim_listener *l;
    if (find_listener(w, address))
        return err_set(err, ERR_BUSY, "listen on %s: in use", address);
    l = mem_zalloc(1, sizeof(*l));
    l->base.ops = &sim_stream_ops;
    l->base.loop = loop;
    snprintf(l->base.address, sizeof(l->base.address), "%s", address);
    l->users = 1;
    l->next = w->listeners;
    w->listeners = l;
    *out = &l->base;
    return 0;
}

static void drop_listener(struct sim_listener *l)
{
    if (--l->users == 0)
        mem_free(l);
}

static int
accept_pipe(struct stream_listener *base, struct stream **out, struct err *err)
{
    struct sim_listener *l = (struct sim_listener *)base;
    int rc = 0;
    l->users++;
    while (rc == 0 && !l->closed && l->waiting_count == 0)
        rc = park(&l->acceptor, UINT64_MAX, err);
    if (rc == 0 && l->closed)
        rc = err_set(err, ERR_CLOSED, "%s: closed", base->address);
    if (rc == 0) {
        *out = &l->waiting[0]->base;
        (*out)->loop = base->loop;
        memmove(l->waiting, l->waiting + 1,
                --l->waiting_count * sizeof(l->waiting[0]));
    }
    drop_listener(l);
    return rc;
}

static void close_listener(struct stream_listener *base)
{
    struct sim_listener *l = (struct sim_listener *)base;
    struct sim_listener **at = &world_here(base->loop)->listeners;
    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
    l->closed = true;
    while (l->waiting_count)
        close_pipes(&l->waiting[--l->waiting_count]->base);
    wake(l->acceptor);
    drop_listener(l);
}

static struct sim_stream *stream_new(struct loop *l,
                                     struct sim_pipe *in,
                                     struct sim_pipe *out,
                                     const char *peer)
{
    struct sim_stream *s = mem_zalloc(1, sizeof(*s));
    s->base.ops = &sim_stream_ops;
    s->base.loop = l;
    snprintf(s->base.peer, sizeof(s->base.peer), "%s", peer);
    s->in = in;
    s->out = out;
    s->users = 1;
    return s;
}

int sim__connect(struct loop *loop,
                 const char *address,
                 struct stream **out,
                 struct err *err)
{
    struct sim_world *w = world_here(loop);
    struct sim_listener *l;
    struct sim_pipe *there;
    struct sim_pipe *back;
    int rc;
    sim__delay(w, w->options.network_us);
    rc = fiber_check(err);
    if (rc)
        return rc;
    l = find_listener(w, address);
    if (!l || l->waiting_count == ARRAY_LEN(l->waiting))
        return err_set(err, ERR_UNAVAILABLE,
                       "connect to %s: Connection refused", address);
    there = pipe_new();
    back = pipe_new();
    *out = &stream_new(loop, back, there, address)->base;
    l->waiting[l->waiting_count++] =
        stream_new(l->base.loop, there, back, sim__who());
    wake(l->acceptor);
    return 0;
}
