/* The scheduler of a simulation: one thread that draws, step by step, which
 * fiber of which machine runs, and advances the clock when none can. All
 * machines share the run queue, so an interleaving of two machines is drawn
 * like one of two fibers of the same machine. */
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/hash.h"
#include "base/core/panic.h"
#include "base/runtime/world_ops.h"
#include "base/sim/world_sim.h"

#define TRACE_LINES    4096
#define TRACE_DUMP_MAX 60
/* True time when a simulation begins: not 0, which means "none" to timers. */
#define START_NS UINT64_C(1000000000)

/* --- ready fibers -------------------------------------------------------- */

static void sim_ready_push(struct sim_ready *r, struct fiber *f)
{
    if (r->count == r->cap) {
        r->cap = r->cap ? r->cap * 2 : 16;
        r->items = mem_realloc(r->items, r->cap * sizeof(*r->items));
    }
    r->items[r->count++] = f;
}

/* Remove the fiber at @at. The rest stays in order: the next fiber must
 * depend on nothing but the draw and the order in which fibers became ready. */
static struct fiber *sim_ready_take(struct sim_ready *r, size_t at)
{
    struct fiber *f = r->items[at];
    memmove(r->items + at, r->items + at + 1,
            (--r->count - at) * sizeof(*r->items));
    return f;
}

static struct sim_world *world_of(const struct fiber *f)
{
    return sim_world(loop_world(fiber_loop(f)));
}

void sim__make_ready(struct loop *l, struct fiber *f)
{
    struct sim_world *w = sim_world(l->world);
    sim_ready_push(w->paused ? &w->held : &w->cluster->ready, f);
}

void sim__hold(struct sim_world *w)
{
    struct sim_ready *r = &w->cluster->ready;
    for (size_t i = 0; i < r->count;) {
        if (world_of(r->items[i]) == w)
            sim_ready_push(&w->held, sim_ready_take(r, i));
        else
            i++;
    }
}

void sim__unhold(struct sim_world *w)
{
    for (size_t i = 0; i < w->held.count; i++)
        sim_ready_push(&w->cluster->ready, w->held.items[i]);
    w->held.count = 0;
    w->cluster->due_ns = 0; /* Timers may have expired meanwhile. */
    w->cluster->attention = true;
}

bool sim__has_live(const struct sim_world *w)
{
    for (const struct sim_loop *l = w->loops; l; l = l->next)
        if (l->base.live_count)
            return true;
    return false;
}

static bool any_live(const struct sim_cluster *c)
{
    for (const struct sim_world *w = c->machines; w; w = w->next)
        if (sim__has_live(w))
            return true;
    return false;
}

void sim_cluster_fibers_print(const struct sim_cluster *c, struct buf *out)
{
    for (struct sim_world *w = c->machines; w; w = w->next)
        for (struct sim_loop *l = w->loops; l; l = l->next)
            fiber_dump(&l->base, out);
}

NORETURN static void dump_and_panic(struct sim_cluster *c, const char *why)
{
    struct buf b = BUF_INIT;
    trace_print(&c->trace, TRACE_DUMP_MAX, &b);
    sim_cluster_fibers_print(c, &b);
    PANIC("simulated world with seed %llu: %s\n%s", (unsigned long long)c->seed,
          why, buf_cstr(&b));
}

/* --- time ---------------------------------------------------------------- */

static uint64_t next_timer_of(const struct sim_world *w,
                              const struct sim_loop *l)
{
    return sim__true_ns(w, loop__next_timer_ns(&l->base));
}

/* When the next timer of a machine that is not paused is due. */
static uint64_t next_timer(const struct sim_cluster *c)
{
    uint64_t next = UINT64_MAX;
    for (const struct sim_world *w = c->machines; w; w = w->next)
        for (const struct sim_loop *l = w->loops; l && !w->paused; l = l->next)
            next = MIN_OF(next, next_timer_of(w, l));
    return next;
}

static void serve_loop(struct sim_world *w, struct sim_loop *l)
{
    loop__drain_posts(&l->base);
    loop__expire_timers(&l->base, sim__local_ns(w, w->cluster->now_ns));
    if (atomic_load(&l->base.stop_asked) && !l->base.stopping)
        loop__cancel_fibers(&l->base);
    if (l->base.stopping && l->runner && !l->base.live_count)
        fiber__wake_here(l->runner);
}

/* Handle the posts, expired timers and stop requests of every loop. */
static void serve_loops(struct sim_cluster *c)
{
    c->attention = false;
    for (struct sim_world *w = c->machines; w; w = w->next)
        for (struct sim_loop *l = w->loops; l && !w->paused; l = l->next)
            serve_loop(w, l);
    c->due_ns = next_timer(c);
}

/* Run one fiber and update the clock and the loops after it. */
static void run_one(struct sim_cluster *c)
{
    size_t drawn = rand_below(&c->order, c->ready.count);
    size_t ready = c->ready.count;
    struct fiber *f = sim_ready_take(&c->ready, drawn);
    struct sim_loop *l = (struct sim_loop *)fiber_loop(f);
    struct sim_world *w = world_of(f);
    c->event_count++;
    c->digest = hash_mix(c->digest ^ c->now_ns ^ (uint64_t)ready << 32 ^
                         (uint64_t)w->index << 48 ^ drawn);
    loop__run_fiber(f);
    if (l->base.timer_count)
        c->due_ns = MIN_OF(c->due_ns, next_timer_of(w, l));
    if (l->base.stopping)
        c->attention = true;
    if (w->awaiting && !sim__has_live(w))
        fiber__wake_here(w->awaiting);
}

static void sim_scheduler_drive(struct sim_cluster *c)
{
    for (;;) {
        if (c->attention || c->now_ns >= c->due_ns)
            serve_loops(c);
        if (c->ready.count) {
            run_one(c);
            continue;
        }
        if (c->attention)
            continue;
        if (!any_live(c))
            return;
        c->due_ns = next_timer(c);
        if (c->due_ns == UINT64_MAX)
            dump_and_panic(c, "every fiber waits for another");
        c->now_ns = MAX_OF(c->now_ns, c->due_ns);
    }
}

void sim_run(struct world *base, task_fn fn, void *arg)
{
    struct sim_world *w = sim_world(base);
    struct sim_cluster *c = w->cluster;
    const void *home = loop__enter(c);
    PRE(!c->driving);
    c->driving = true;
    c->due_ns = 0;
    fiber_detach(fiber_start(&w->main->base, "main", fn, arg));
    sim_scheduler_drive(c);
    c->driving = false;
    loop__enter(home);
    for (w = c->machines; w; w = w->next)
        if (w->task_count)
            dump_and_panic(c, "a task was not joined");
}

/* --- clusters ------------------------------------------------------------ */

struct sim_cluster *sim__cluster_new(uint64_t seed, bool alone)
{
    struct sim_cluster *c = mem_zalloc(1, sizeof(*c));
    c->alone = alone;
    c->seed = seed;
    rand_init(&c->order, seed);
    rand_init(&c->net, seed ^ 3);
    trace_init(&c->trace, TRACE_LINES);
    c->now_ns = START_NS;
    return c;
}

void sim__cluster_free(struct sim_cluster *c)
{
    PRE(!c->driving);
    PRE(!c->machines);
    PRE(!c->pipes);
    trace_close(&c->trace);
    mem_free(c->ready.items);
    mem_free(c->links);
    mem_free(c);
}

struct sim_cluster *sim_cluster_new(uint64_t seed)
{
    struct sim_cluster *c = sim__cluster_new(seed, false);
    c->director = sim__machine_new(c, "director", &(struct sim_options){0});
    return c;
}

void sim_cluster_free(struct sim_cluster *c)
{
    if (!c)
        return;
    while (c->machines)
        world_free(&c->machines->base);
    sim__cluster_free(c);
}

struct world *sim_director(struct sim_cluster *c)
{
    return &c->director->base;
}

struct scenario {
    struct sim_cluster *cluster;
    task_fn fn;
    void *arg;
};

static void run_scenario(void *arg)
{
    struct scenario *s = arg;
    s->fn(s->arg);
    for (struct sim_world *w = s->cluster->machines; w; w = w->next) {
        if (w == s->cluster->director)
            continue;
        sim_resume(&w->base);
        sim_stop(&w->base);
    }
}

void sim_cluster_run(struct sim_cluster *c, task_fn fn, void *arg)
{
    struct scenario s = {c, fn, arg};
    sim_run(&c->director->base, run_scenario, &s);
}

uint64_t sim_cluster_now_us(const struct sim_cluster *c)
{
    return c->now_ns / 1000;
}

uint64_t sim_cluster_trace_hash(const struct sim_cluster *c)
{
    return c->trace.hash;
}

uint64_t sim_cluster_event_count(const struct sim_cluster *c)
{
    return c->event_count;
}

uint64_t sim_cluster_digest(const struct sim_cluster *c)
{
    return hash_mix(c->digest ^ c->trace.hash);
}

void sim_cluster_on_trace(struct sim_cluster *c,
                          void (*fn)(void *ctx, const char *line),
                          void *ctx)
{
    c->on_trace = fn;
    c->on_trace_ctx = ctx;
}

void sim_cluster_trace_print(const struct sim_cluster *c,
                             size_t max,
                             struct buf *out)
{
    trace_print(&c->trace, max, out);
}
