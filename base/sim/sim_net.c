/* The network of a simulation: links between machines, and their effect on
 * the bytes of a connection. TCP is modelled by what its users see: loss is
 * a delay that doubles, a cut holds bytes until they get through or the
 * sender gives up, and a reset may come after the bytes were executed. */
#include <string.h>

#include "base/core/hash.h"
#include "base/core/panic.h"
#include "base/sim/sim_pipe.h"

/* TCP's first retransmission; it doubles with each loss. */
#define RETRANSMIT_NS UINT64_C(200000000)
#define LOSS_ROW_MAX  5
/* Longest time until held bytes are sent again after the link is mended: the
 * sender's timer has backed off. */
#define RESUME_NS_MAX UINT64_C(800000000)
/* How long the server's end outlives a lost answer: time to execute the
 * request.
 */
#define ANSWER_LOST_NS UINT64_C(5000000)

/* --- links --------------------------------------------------------------- */

struct sim_link *sim__link(struct sim_cluster *c,
                           const struct sim_world *from,
                           const struct sim_world *to)
{
    return &c->links[from->index * c->machine_count + to->index];
}

/* The table has one row and one column for each machine made before. */
void sim__links_grow(struct sim_cluster *c)
{
    size_t n = c->machine_count;
    struct sim_link *links = mem_zalloc(n * n, sizeof(*links));
    for (size_t i = 0; i + 1 < n; i++)
        memcpy(links + i * n, c->links + i * (n - 1), (n - 1) * sizeof(*links));
    mem_free(c->links);
    c->links = links;
}

bool sim__is_cut(const struct sim_world *from, const struct sim_world *to)
{
    return from != to && sim__link(from->cluster, from, to)->cut;
}

uint64_t sim__travel_ns(const struct sim_world *from,
                        const struct sim_world *to)
{
    struct sim_cluster *c = from->cluster;
    const struct sim_link *l = sim__link(c, from, to);
    uint64_t usual = (uint64_t)from->options.network_us * 1000;
    uint64_t ns = usual / 2 + (uint64_t)l->delay_us * 1000;
    if (usual)
        ns += rand_below(&c->net, usual + 1);
    if (l->jitter_us)
        ns += rand_below(&c->net, (uint64_t)l->jitter_us * 1000 + 1);
    for (int i = 0; i < LOSS_ROW_MAX && sim__chance(&c->net, l->loss_rate); i++)
        ns += RETRANSMIT_NS << i;
    return ns;
}

/* --- pipes --------------------------------------------------------------- */

struct sim_pipe *sim__pipe_new(struct sim_cluster *c,
                               struct sim_world *from,
                               struct sim_world *to)
{
    struct sim_pipe *p = mem_zalloc(1, sizeof(*p));
    p->from = from;
    p->to = to;
    p->last = &p->first;
    p->deaf_ns = SIM_NEVER;
    p->next = c->pipes;
    if (p->next)
        p->next->prev = p;
    c->pipes = p;
    return p;
}

void sim__pipe_pop(struct sim_pipe *p)
{
    struct sim_chunk *k = p->first;
    p->first = k->next;
    if (!p->first)
        p->last = &p->first;
    p->bytes -= k->len - k->read;
    mem_free(k);
}

void sim__pipe_release(struct sim_cluster *c, struct sim_pipe *p)
{
    if (p->writer || p->reader)
        return;
    while (p->first)
        sim__pipe_pop(p);
    if (p->prev)
        p->prev->next = p->next;
    else
        c->pipes = p->next;
    if (p->next)
        p->next->prev = p->prev;
    mem_free(p);
}

static bool is_stuck(const struct sim_pipe *p)
{
    return p->black_hole || sim__is_cut(p->from, p->to);
}

/* True if acknowledgements of the bytes in @p do not get back. */
static bool is_unacknowledged(const struct sim_pipe *p)
{
    return is_stuck(p) || sim__is_cut(p->to, p->from);
}

void sim__stream_wake(struct sim_stream *s)
{
    if (s && s->reading)
        fiber_wake(s->reading);
    if (s && s->writing)
        fiber_wake(s->writing);
}

void sim__stream_reset(struct sim_stream *s, uint64_t at_ns)
{
    if (!s || s->reset_ns <= at_ns)
        return;
    s->reset_ns = at_ns;
    sim__stream_wake(s);
}

/* Start or stop the time-out of the writer. */
static void watch_acknowledgements(struct sim_pipe *p)
{
    struct sim_stream *s = p->writer;
    uint64_t now = p->from->cluster->now_ns;
    if (!s || s->base.closed)
        return;
    if (!is_unacknowledged(p))
        s->give_up_ns = SIM_NEVER;
    else if (s->give_up_ns == SIM_NEVER && p->first)
        s->give_up_ns = now + SIM_NET_GIVE_UP_US * 1000;
    sim__stream_wake(s);
}

/* When a chunk that is sent now arrives. */
static uint64_t sim_net_arrival(struct sim_pipe *p, size_t len)
{
    struct sim_cluster *c = p->from->cluster;
    const struct sim_link *l = sim__link(c, p->from, p->to);
    uint64_t at = c->now_ns;
    if (is_stuck(p) || p->last_at_ns == SIM_NEVER)
        return SIM_NEVER;
    if (l->bytes_per_s) {
        p->busy_ns = MAX_OF(p->busy_ns, at);
        p->busy_ns += len * UINT64_C(1000000000) / l->bytes_per_s;
        at = p->busy_ns;
    }
    at += sim__travel_ns(p->from, p->to);
    return MAX_OF(at, p->last_at_ns);
}

/* Draw whether the connection breaks with the chunk @k, and when. */
static void draw_break(struct sim_pipe *p, struct sim_chunk *k)
{
    struct sim_cluster *c = p->from->cluster;
    const struct sim_link *l = sim__link(c, p->from, p->to);
    if (k->at_ns == SIM_NEVER)
        return;
    if (sim__chance(&c->net, l->reset_rate)) {
        sim__trace(c, "reset %s %s", p->from->name, p->to->name);
        sim__stream_reset(p->writer, c->now_ns);
        sim__stream_reset(p->reader, k->at_ns);
    } else if (sim__chance(&c->net, l->answer_rate)) {
        sim__trace(c, "answer lost %s %s", p->from->name, p->to->name);
        sim__stream_reset(p->writer, k->at_ns);
        sim__stream_reset(p->reader, k->at_ns + ANSWER_LOST_NS);
    }
}

void sim__pipe_send(struct sim_pipe *p, const char *data, size_t len, bool end)
{
    struct sim_cluster *c = p->from->cluster;
    struct sim_chunk *k = mem_alloc(sizeof(*k) + len);
    k->next = NULL;
    k->end = end;
    k->read = 0;
    k->len = len;
    if (len)
        memcpy(k->data, data, len);
    k->at_ns = sim_net_arrival(p, len);
    p->last_at_ns = k->at_ns;
    *p->last = k;
    p->last = &k->next;
    p->bytes += len;
    c->trace.hash = hash_mix(c->trace.hash ^ k->at_ns ^ len);
    draw_break(p, k);
    if (is_unacknowledged(p))
        watch_acknowledgements(p);
    if (k->at_ns != SIM_NEVER && k->at_ns >= p->deaf_ns)
        sim__stream_reset(p->writer, k->at_ns + sim__travel_ns(p->to, p->from));
    sim__stream_wake(p->reader);
}

void sim__pipe_deafen(struct sim_pipe *p)
{
    uint64_t now = p->from->cluster->now_ns;
    p->deaf_ns = MIN_OF(p->deaf_ns, now);
    while (p->first)
        sim__pipe_pop(p);
    p->last_at_ns = MAX_OF(p->last_at_ns == SIM_NEVER ? 0 : p->last_at_ns, now);
    sim__stream_wake(p->writer);
}

/* Send the held chunks again if the link allows it. */
static void sim_net_resume(struct sim_pipe *p)
{
    struct sim_cluster *c = p->from->cluster;
    uint64_t start = c->now_ns + rand_below(&c->net, RESUME_NS_MAX);
    p->last_at_ns = 0;
    for (struct sim_chunk *k = p->first; k; k = k->next) {
        if (k->at_ns == SIM_NEVER)
            k->at_ns = start + sim__travel_ns(p->from, p->to);
        k->at_ns = MAX_OF(k->at_ns, p->last_at_ns);
        p->last_at_ns = k->at_ns;
        if (k->at_ns >= p->deaf_ns)
            sim__stream_reset(p->writer, k->at_ns);
    }
    sim__stream_wake(p->reader);
}

/* A link changed: update every connection. */
static void sim_net_refresh(struct sim_cluster *c)
{
    for (struct sim_pipe *p = c->pipes; p; p = p->next) {
        if (!is_stuck(p) && p->last_at_ns == SIM_NEVER)
            sim_net_resume(p);
        watch_acknowledgements(p);
    }
}

/* --- crashes ------------------------------------------------------------- */

/* Close a connection as the system does for a killed process: with a FIN, or
 * a reset if bytes were left unread. */
static void hang_up(struct sim_stream *s)
{
    struct sim_pipe *out = s->out;
    if (s->in->first)
        sim__stream_reset(out->reader, out->from->cluster->now_ns +
                                           sim__travel_ns(out->from, out->to));
    else
        sim__pipe_send(out, NULL, 0, true);
    sim__pipe_deafen(s->in);
}

void sim__net_crash(struct sim_world *w, enum sim_crash how)
{
    for (struct sim_pipe *p = w->cluster->pipes; p; p = p->next) {
        struct sim_stream *s = p->from == w ? p->writer : NULL;
        if (p->to == w && how == SIM_CRASH_POWER)
            p->black_hole = true;
        if (!s || s->base.closed || s->gone)
            continue;
        if (how == SIM_CRASH_KILL && s->reset_ns > w->cluster->now_ns)
            hang_up(s);
        s->gone = true;
        sim__stream_wake(s);
    }
    sim_net_refresh(w->cluster);
}

void sim__net_back(struct sim_world *w)
{
    for (struct sim_pipe *p = w->cluster->pipes; p; p = p->next) {
        if (p->to != w)
            continue;
        p->black_hole = false;
        p->deaf_ns = MIN_OF(p->deaf_ns, w->cluster->now_ns);
    }
    sim_net_refresh(w->cluster);
}

/* --- links as scenarios set them ----------------------------------------- */

static bool sim_net_matches(const struct sim_world *w,
                            const struct world *wanted)
{
    return !wanted || &w->base == wanted;
}

void sim_set_link(struct sim_cluster *c,
                  struct world *from,
                  struct world *to,
                  const struct sim_link *link)
{
    for (struct sim_world *a = c->machines; a; a = a->next)
        for (struct sim_world *b = c->machines; b; b = b->next)
            if (a != b && sim_net_matches(a, from) && sim_net_matches(b, to))
                *sim__link(c, a, b) = *link;
    sim__trace(
        c, "link %s %s: %s delay %u jitter %u loss %u reset %u answer %u",
        from ? sim_machine_name(from) : "*", to ? sim_machine_name(to) : "*",
        link->cut ? "cut" : "whole", link->delay_us, link->jitter_us,
        link->loss_rate, link->reset_rate, link->answer_rate);
    sim_net_refresh(c);
}

void sim_cut(struct world *from, struct world *to, bool cut)
{
    struct sim_cluster *c = sim_world(from)->cluster;
    sim__link(c, sim_world(from), sim_world(to))->cut = cut;
    sim__trace(c, "%s %s %s", cut ? "cut" : "mend", sim_machine_name(from),
               sim_machine_name(to));
    sim_net_refresh(c);
}

static bool
is_among(const struct sim_world *w, struct world *const *side, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (side[i] == &w->base)
            return true;
    return false;
}

void sim_partition(struct sim_cluster *c,
                   struct world *const *side,
                   size_t count)
{
    for (struct sim_world *a = c->machines; a; a = a->next)
        for (struct sim_world *b = c->machines; b; b = b->next)
            if (is_among(a, side, count) != is_among(b, side, count))
                sim__link(c, a, b)->cut = true;
    for (size_t i = 0; i < count; i++)
        sim__trace(c, "partition: %s", sim_machine_name(side[i]));
    sim_net_refresh(c);
}

void sim_heal(struct sim_cluster *c)
{
    memset(c->links, 0,
           c->machine_count * c->machine_count * sizeof(*c->links));
    sim__trace(c, "heal");
    sim_net_refresh(c);
}

void sim_reset_connections(struct sim_cluster *c,
                           struct world *a,
                           struct world *b)
{
    for (struct sim_pipe *p = c->pipes; p; p = p->next)
        if ((sim_net_matches(p->from, a) && sim_net_matches(p->to, b)) ||
            (sim_net_matches(p->from, b) && sim_net_matches(p->to, a)))
            sim__stream_reset(p->writer, c->now_ns);
    sim__trace(c, "reset %s %s", a ? sim_machine_name(a) : "*",
               b ? sim_machine_name(b) : "*");
}
