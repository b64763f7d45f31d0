/* Streams of the simulated world: the ends of pipes, and the listeners.
 * Connecting goes through the same faults as bytes do: a cut link makes it
 * wait, a machine without power answers nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/core/slice.h"
#include "base/sim/sim_pipe.h"

/* Connections that wait to be accepted. */
#define BACKLOG_MAX 64
/* First of the ports that are assigned. */
#define PORT_FIRST 32768
/* Half of the connections to a machine that is off fail after this time (no
 * route to host); the others get no answer. */
#define NO_ROUTE_NS UINT64_C(3000000000)
/* Between two tries of a connection that nothing answers. */
#define SYN_RETRY_US 1000000

struct sim_listener {
    struct stream_listener base;
    struct sim_listener *next; /* In the machine's list. */
    struct sim_world *machine;
    struct sim_stream *waiting[BACKLOG_MAX]; /* Not yet accepted. */
    size_t waiting_count;
    struct fiber *acceptor;
    unsigned users;
    bool closed;
};

static struct sim_world *machine_of(struct loop *l)
{
    return sim_world(l->world);
}

static struct sim_stream *sim_stream(struct stream *s)
{
    return (struct sim_stream *)s;
}

/* --- waiting ------------------------------------------------------------- */

/* Park until a wake, true time @at_ns, the deadline or cancellation. */
static int
world_sim_stream_park(struct fiber **side, uint64_t at_ns, struct err *err)
{
    struct fiber *self = fiber_self();
    struct sim_world *w = machine_of(fiber_loop(self));
    uint64_t until = sim__alarm_ns(w, at_ns);
    int rc = fiber_check(err);
    PRE(!*side);
    if (rc)
        return rc;
    if (fiber_deadline())
        until = MIN_OF(until, fiber_deadline());
    *side = self;
    fiber_park_until(until);
    *side = NULL;
    return fiber_check(err);
}

/* The time of the next event on @s. */
static uint64_t next_event(const struct sim_stream *s)
{
    return MIN_OF(s->reset_ns, s->give_up_ns);
}

static int
wait_pipe(struct stream *base, enum stream_side side, struct err *err)
{
    struct sim_stream *s = sim_stream(base);
    uint64_t at = next_event(s);
    if (side == STREAM_WRITING)
        return world_sim_stream_park(&s->writing, at, err);
    if (s->in->first)
        at = MIN_OF(at, s->in->first->at_ns);
    return world_sim_stream_park(&s->reading, at, err);
}

/* 0 while the connection is open; resets it when its time-out has passed. */
static int world_sim_stream_check(struct sim_stream *s, struct err *err)
{
    struct sim_world *w = machine_of(s->base.loop);
    uint64_t now = w->cluster->now_ns;
    if (s->gone)
        return err_set(err, ERR_CLOSED, "%s: power lost", s->base.peer);
    if (now >= s->give_up_ns && s->reset_ns > now) {
        s->reset_ns = now;
        sim__trace(w->cluster, "give up %s", s->base.peer);
        return err_set(err, ERR_CLOSED, "%s: Connection timed out",
                       s->base.peer);
    }
    if (now >= s->reset_ns)
        return err_set(err, ERR_CLOSED, "%s: Connection reset by peer",
                       s->base.peer);
    return 0;
}

/* --- reading and writing ------------------------------------------------- */

static size_t sim_pipe_take(struct sim_pipe *p, char *dst, size_t len)
{
    struct sim_chunk *k = p->first;
    size_t n = MIN_OF(len, k->len - k->read);
    memcpy(dst, k->data + k->read, n);
    k->read += n;
    p->bytes -= n;
    if (k->read == k->len)
        sim__pipe_pop(p);
    sim__stream_wake(p->writer);
    return n;
}

static int read_pipe(struct stream *base,
                     void *dst,
                     size_t len,
                     size_t *got,
                     bool *end,
                     struct err *err)
{
    struct sim_stream *s = sim_stream(base);
    struct sim_pipe *p = s->in;
    size_t done = 0;
    int rc = world_sim_stream_check(s, err);
    if (rc)
        return rc;
    while (done < len && p->first &&
           p->first->at_ns <= p->to->cluster->now_ns) {
        if (p->first->end) {
            *end = done == 0;
            break;
        }
        done += sim_pipe_take(p, (char *)dst + done, len - done);
    }
    *got = done;
    return 0;
}

static int write_pipe(struct stream *base,
                      const struct slice *parts,
                      size_t part_count,
                      size_t skip,
                      size_t *done,
                      struct err *err)
{
    struct sim_stream *s = sim_stream(base);
    struct sim_pipe *p = s->out;
    int rc = world_sim_stream_check(s, err);
    for (size_t i = 0; i < part_count && rc == 0; i++) {
        struct slice part = slice_sub(parts[i], skip, parts[i].len);
        size_t room =
            p->bytes < SIM_PIPE_BYTES_MAX ? SIM_PIPE_BYTES_MAX - p->bytes : 0;
        size_t n = MIN_OF(part.len, room);
        if (n)
            sim__pipe_send(p, part.data, n, false);
        *done += n;
        if (n < part.len)
            break;
        skip = 0;
    }
    return rc;
}

/* --- the end ------------------------------------------------------------- */

static void end_writing(struct stream *base)
{
    struct sim_stream *s = sim_stream(base);
    if (!s->gone && s->reset_ns > machine_of(base->loop)->cluster->now_ns)
        sim__pipe_send(s->out, NULL, 0, true);
}

static void close_pipes(struct stream *base)
{
    struct sim_stream *s = sim_stream(base);
    uint64_t now = machine_of(base->loop)->cluster->now_ns;
    sim__stream_wake(s);
    if (s->gone)
        return;
    if (s->reset_ns > now)
        sim__pipe_send(s->out, NULL, 0, true);
    sim__pipe_deafen(s->in);
}

static void free_stream(struct stream *base)
{
    struct sim_stream *s = sim_stream(base);
    struct sim_cluster *c = s->in->to->cluster;
    s->in->reader = NULL;
    s->out->writer = NULL;
    sim__pipe_release(c, s->in);
    sim__pipe_release(c, s->out);
    mem_free(s);
}

static bool is_local(const struct stream *s)
{
    (void)s;
    return true;
}

/* --- addresses ----------------------------------------------------------- */

/* True if the part of @address before its last colon is @host. */
static bool sim_address_names_host(const char *address, const char *host)
{
    const char *colon = strrchr(address, ':');
    return colon && (size_t)(colon - address) == strlen(host) &&
           strncmp(address, host, strlen(host)) == 0;
}

static bool names_itself(const struct sim_world *w, const char *address)
{
    static const char *const own[] = {"",          "0.0.0.0",   "[::]",
                                      "localhost", "127.0.0.1", "[::1]"};
    for (size_t i = 0; i < ARRAY_LEN(own); i++)
        if (sim_address_names_host(address, own[i]))
            return true;
    return sim_address_names_host(address, w->name);
}

/* The machine that @address means on @w, and the listener's name there:
 * "NAME:port", or the whole text for other forms. */
static struct sim_world *
world_sim_stream_resolve(struct sim_world *w,
                         const char *address,
                         char out[STREAM_ADDRESS_BYTES])
{
    struct sim_cluster *c = w->cluster;
    struct sim_world *to = NULL;
    snprintf(out, STREAM_ADDRESS_BYTES, "%s", address);
    if (c->alone || strncmp(address, "unix:", 5) == 0)
        return w;
    if (names_itself(w, address))
        to = w;
    for (struct sim_world *m = c->machines; m && !to; m = m->next)
        if (sim_address_names_host(address, m->name))
            to = m;
    if (to)
        snprintf(out, STREAM_ADDRESS_BYTES, "%s%s", to->name,
                 strrchr(address, ':'));
    return to;
}

/* --- listening ----------------------------------------------------------- */

static int
accept_pipe(struct stream_listener *base, struct stream **out, struct err *err);
static void close_listener(struct stream_listener *base);

static const struct stream_ops sim_stream_ops = {
    .read = read_pipe,
    .write = write_pipe,
    .wait = wait_pipe,
    .end_writing = end_writing,
    .close = close_pipes,
    .free = free_stream,
    .is_local = is_local,
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
    struct sim_world *w = machine_of(loop);
    char point[STREAM_ADDRESS_BYTES];
    struct sim_listener *l;
    int rc = fiber_check(err);
    if (rc)
        return rc;
    if (world_sim_stream_resolve(w, address, point) != w)
        return err_set(err, ERR_INVALID, "listen on %s: not this machine",
                       address);
    if (!w->cluster->alone && strcmp(strrchr(point, ':'), ":0") == 0)
        snprintf(point, sizeof(point), "%s:%u", w->name,
                 PORT_FIRST + ++w->cluster->last_port);
    if (find_listener(w, point))
        return err_set(err, ERR_BUSY, "listen on %s: in use", address);
    l = mem_zalloc(1, sizeof(*l));
    l->base.ops = &sim_stream_ops;
    l->base.loop = loop;
    l->base.is_local = true;
    snprintf(l->base.address, sizeof(l->base.address), "%s", point);
    l->machine = w;
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
        rc = world_sim_stream_park(&l->acceptor, SIM_NEVER, err);
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
    struct sim_listener **at = &l->machine->listeners;
    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
    l->closed = true;
    while (l->waiting_count)
        stream_close(&l->waiting[--l->waiting_count]->base);
    if (l->acceptor)
        fiber_wake(l->acceptor);
    drop_listener(l);
}

/* --- connecting ---------------------------------------------------------- */

static struct sim_stream *stream_new(struct loop *l,
                                     struct sim_pipe *in,
                                     struct sim_pipe *out,
                                     const char *peer)
{
    struct sim_stream *s = mem_zalloc(1, sizeof(*s));
    s->base.ops = &sim_stream_ops;
    s->base.loop = l;
    s->base.users = 1;
    snprintf(s->base.peer, sizeof(s->base.peer), "%s", peer);
    s->in = in;
    s->out = out;
    s->reset_ns = SIM_NEVER;
    s->give_up_ns = SIM_NEVER;
    in->reader = s;
    out->writer = s;
    return s;
}

/* Nothing answers: wait for the link to be mended, as long as TCP would. */
static int await_way(struct sim_world *from,
                     struct sim_world *to,
                     const char *address,
                     struct err *err)
{
    struct sim_cluster *c = from->cluster;
    uint64_t start = c->now_ns;
    bool has_router = rand_one_in(&c->net, 2);
    int rc = fiber_check(err);
    while (rc == 0 && from != to &&
           (sim__is_cut(from, to) || sim__is_cut(to, from) || to->off)) {
        struct fiber *none = NULL;
        if (to->off && has_router && c->now_ns >= start + NO_ROUTE_NS)
            return err_set(err, ERR_UNAVAILABLE,
                           "connect to %s: No route to host", address);
        if (c->now_ns >= start + SIM_NET_GIVE_UP_US * 1000)
            return err_set(err, ERR_UNAVAILABLE,
                           "connect to %s: Connection timed out", address);
        rc = world_sim_stream_park(
            &none, c->now_ns + SYN_RETRY_US * UINT64_C(1000), err);
    }
    return rc;
}

static void name_peer(struct sim_world *w, char out[STREAM_ADDRESS_BYTES])
{
    if (w->cluster->alone)
        snprintf(out, STREAM_ADDRESS_BYTES, "%s", sim__who(w->cluster));
    else
        snprintf(out, STREAM_ADDRESS_BYTES, "%s:%u", w->name,
                 PORT_FIRST + ++w->cluster->last_port);
}

static int world_sim_stream_refused(const char *address, struct err *err)
{
    err_set(err, ERR_UNAVAILABLE, "connect to %s: Connection refused", address);
    err_set_detail(err, ERR_DETAIL_REFUSED, "");
    return ERR_UNAVAILABLE;
}

int sim__connect(struct loop *loop,
                 const char *address,
                 struct stream **out,
                 struct err *err)
{
    struct sim_world *w = machine_of(loop);
    struct sim_listener *l;
    struct sim_pipe *there;
    struct sim_pipe *back;
    char point[STREAM_ADDRESS_BYTES];
    char own[STREAM_ADDRESS_BYTES];
    struct sim_world *to = world_sim_stream_resolve(w, address, point);
    int rc;
    if (!to)
        return err_set(err, ERR_NOTFOUND, "%s: no such host", address);
    sim__delay(w, w->options.network_us);
    rc = await_way(w, to, address, err);
    if (rc)
        return rc;
    l = to->dead ? NULL : find_listener(to, point);
    if (!l)
        return world_sim_stream_refused(address, err);
    if (l->waiting_count == ARRAY_LEN(l->waiting))
        return err_set(err, ERR_UNAVAILABLE,
                       "connect to %s: Connection timed out", address);
    there = sim__pipe_new(w->cluster, w, to);
    back = sim__pipe_new(w->cluster, to, w);
    name_peer(w, own);
    *out = &stream_new(loop, back, there, address)->base;
    l->waiting[l->waiting_count++] = stream_new(l->base.loop, there, back, own);
    if (l->acceptor)
        fiber_wake(l->acceptor);
    return 0;
}
