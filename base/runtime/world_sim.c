/* The simulated world: its clock, its scheduler, its tasks and loops. */
#include "base/runtime/world_sim.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/sim.h"
#include "base/runtime/world_ops.h"

/* Saturday, 2025-01-04 00:00 UTC: where every simulated run begins. */
#define EPOCH_US UINT64_C(1735948800000000)
/* What a look at a clock costs. */
#define CLOCK_READ_NS  100
#define CPU_COUNT      2
#define TRACE_LINES    4096
#define TRACE_DUMP_MAX 60

/* --- time and chance --------------------------------------------------- */

static uint64_t sim_mono_ns(struct world *base)
{
    return sim_world(base)->mono_ns += CLOCK_READ_NS;
}

static uint64_t sim_now_us(struct world *base)
{
    return EPOCH_US + sim_mono_ns(base) / 1000;
}

static uint64_t sim_random(struct world *base)
{
    return rand_u64(&sim_world(base)->user);
}

static unsigned sim_cpu_count(struct world *base)
{
    unsigned count = sim_world(base)->options.cpu_count;
    return count ? count : CPU_COUNT;
}

static void sim_sleep_us(struct world *base, uint64_t us)
{
    if (fiber_self())
        fiber_sleep_us(us);
    else
        sim_world(base)->mono_ns += us * 1000;
}

void sim__delay(struct sim_world *w, uint32_t about_us)
{
    if (!fiber_self())
        return;
    if (about_us == 0)
        fiber_yield();
    else
        fiber_sleep_us(about_us / 2 + rand_below(&w->faults, about_us + 1));
}

bool sim__chance(struct sim_world *w, uint32_t rate)
{
    return rate && rand_below(&w->faults, 1000000) < rate;
}

const char *sim__who(void)
{
    struct fiber *f = fiber_self();
    return f ? fiber_name(f) : "-";
}

/* --- scheduler --------------------------------------------------------- */

static struct sim_world *world_of(struct loop *l)
{
    return sim_world(l->world);
}

static void make_ready(struct loop *l, struct fiber *f)
{
    struct sim_world *w = world_of(l);
    if (w->ready_count == w->ready_cap) {
        w->ready_cap = w->ready_cap ? w->ready_cap * 2 : 16;
        w->ready = mem_realloc(w->ready, w->ready_cap * sizeof(*w->ready));
    }
    w->ready[w->ready_count++] = f;
}

static struct fiber *draw_ready(struct sim_world *w)
{
    size_t at = rand_below(&w->order, w->ready_count);
    struct fiber *f = w->ready[at];
    /* Keep the rest in order: who is drawn must depend on nothing but the draw
     * and the order in which fibers became ready. */
    memmove(w->ready + at, w->ready + at + 1,
            (--w->ready_count - at) * sizeof(*w->ready));
    return f;
}

/* Let the clock jump to the next timer; false when there is none. */
static bool jump(struct sim_world *w)
{
    uint64_t next = UINT64_MAX;
    for (struct sim_loop *l = w->loops; l; l = l->next)
        next = MIN_OF(next, loop__next_timer_ns(&l->base));
    if (next == UINT64_MAX)
        return false;
    w->mono_ns = MAX_OF(w->mono_ns, next);
    return true;
}

static bool has_live(const struct sim_world *w)
{
    for (const struct sim_loop *l = w->loops; l; l = l->next)
        if (l->base.live_count)
            return true;
    return false;
}

NORETURN static void dump_and_panic(struct sim_world *w, const char *why)
{
    struct buf b = BUF_INIT;
    trace_print(&w->trace, TRACE_DUMP_MAX, &b);
    for (struct sim_loop *l = w->loops; l; l = l->next)
        fiber_dump(&l->base, &b);
    PANIC("simulated world with seed %llu: %s\n%s",
          (unsigned long long)w->options.seed, why, buf_cstr(&b));
}

/* Deal with posts, timers and requests to stop of every loop. */
static void serve_loops(struct sim_world *w)
{
    for (struct sim_loop *l = w->loops; l; l = l->next) {
        loop__drain_posts(&l->base);
        loop__expire_timers(&l->base, w->mono_ns);
        if (atomic_load(&l->base.stop_asked) && !l->base.stopping)
            loop__cancel_fibers(&l->base);
        if (l->base.stopping && l->runner && !l->base.live_count)
            fiber__wake_here(l->runner);
    }
}

static void drive(struct sim_world *w)
{
    while (has_live(w)) {
        serve_loops(w);
        if (w->ready_count)
            loop__run_fiber(draw_ready(w));
        else if (has_live(w) && !jump(w))
            dump_and_panic(w, "every fiber waits for another");
    }
}

void sim_run(struct world *base, task_fn fn, void *arg)
{
    struct sim_world *w = sim_world(base);
    const void *home = loop__enter(w);
    PRE(!w->driving);
    w->driving = true;
    fiber_detach(fiber_start(&w->main->base, "main", fn, arg));
    drive(w);
    w->driving = false;
    loop__enter(home);
    if (w->task_count)
        dump_and_panic(w, "a task was not joined");
}

/* --- tasks ------------------------------------------------------------- */

struct sim_task {
    struct task base;
    struct fiber *fiber;
};

static struct task *
sim_task_start(struct world *base, const char *name, task_fn fn, void *arg)
{
    struct sim_world *w = sim_world(base);
    struct sim_task *t = mem_zalloc(1, sizeof(*t));
    PRE(w->driving); /* Tasks run only inside sim_run(). */
    t->base.world = base;
    t->fiber = fiber_start(&w->main->base, name, fn, arg);
    w->task_count++;
    return &t->base;
}

static void sim_task_join(struct task *base)
{
    struct sim_task *t = (struct sim_task *)base;
    fiber_join(t->fiber);
    sim_world(base->world)->task_count--;
    mem_free(t);
}

/* --- loops ------------------------------------------------------------- */

static uint64_t loop_now(struct loop *l)
{
    return world_of(l)->mono_ns;
}

static void loop_wakeup(struct loop *l)
{
    (void)l; /* The driver looks at every loop in turn. */
}

/* Nothing takes CPU time here; others get their turn all the same. */
static void loop_offload(struct loop *l, loop_fn fn, void *arg)
{
    (void)l;
    fiber_yield();
    fn(arg);
}

static void sim_loop_free(struct loop *base)
{
    struct sim_loop *l = (struct sim_loop *)base;
    struct sim_loop **at = &world_of(base)->loops;
    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
    loop__close(base);
    mem_free(l);
}

static void sim_loop_run(struct loop *base)
{
    struct sim_loop *l = (struct sim_loop *)base;
    PRE(fiber_self());
    PRE(!l->runner);
    l->runner = fiber_self();
    while (!base->stopping || base->live_count)
        fiber_park();
    l->runner = NULL;
}

static void run_started(void *arg)
{
    sim_loop_run(arg);
}

static void sim_loop_start(struct loop *base)
{
    struct sim_loop *l = (struct sim_loop *)base;
    l->task = sim_task_start(base->world, base->name, run_started, base);
}

static void sim_loop_join(struct loop *base)
{
    sim_task_join(((struct sim_loop *)base)->task);
}

static const struct loop_ops sim_loop_ops = {
    .free = sim_loop_free,
    .run = sim_loop_run,
    .start = sim_loop_start,
    .join = sim_loop_join,
    .now_ns = loop_now,
    .wakeup = loop_wakeup,
    .ready = make_ready,
    .offload = loop_offload,
};

static struct sim_loop *add_loop(struct sim_world *w, const char *name)
{
    struct sim_loop *l = mem_zalloc(1, sizeof(*l));
    loop__init(&l->base, &sim_loop_ops, &w->base, name);
    l->base.home = w;
    l->next = w->loops;
    w->loops = l;
    return l;
}

static int sim_loop_new(struct world *w,
                        const char *name,
                        struct loop **out,
                        struct err *err)
{
    (void)err;
    *out = &add_loop(sim_world(w), name)->base;
    return 0;
}

/* --- life and figures -------------------------------------------------- */

static void sim_free(struct world *base)
{
    struct sim_world *w = sim_world(base);
    PRE(!w->driving);
    sim_loop_free(&w->main->base);
    PRE(!w->loops);
    PRE(!w->locks);
    PRE(!w->listeners);
    sim_disk_close(&w->disk);
    trace_close(&w->trace);
    mem_free(w->ready);
    mem_free(w);
}

static const struct world_ops sim_ops = {
    .free = sim_free,
    .now_us = sim_now_us,
    .mono_ns = sim_mono_ns,
    .random = sim_random,
    .cpu_count = sim_cpu_count,
    .sleep_us = sim_sleep_us,
    .file_open = sim__file_open,
    .file_read_at = sim__file_read_at,
    .file_write_at = sim__file_write_at,
    .file_sync = sim__file_sync,
    .file_size = sim__file_size,
    .file_truncate = sim__file_truncate,
    .file_allocate = sim__file_allocate,
    .file_advise = sim__file_advise,
    .file_close = sim__file_close,
    .rename = sim__rename,
    .remove = sim__remove,
    .mkdir = sim__mkdir,
    .rmdir = sim__rmdir,
    .stat = sim__stat,
    .sync_dir = sim__sync_dir,
    .list = sim__list,
    .lock = sim__lock,
    .unlock = sim__unlock,
    .task_start = sim_task_start,
    .task_join = sim_task_join,
    .loop_new = sim_loop_new,
    .listen = sim__listen,
    .connect = sim__connect,
};

struct world *sim_world_new(const struct sim_options *o)
{
    struct sim_world *w = mem_zalloc(1, sizeof(*w));
    w->base.ops = &sim_ops;
    w->options = *o;
    rand_init(&w->order, o->seed);
    rand_init(&w->faults, o->seed ^ 1);
    rand_init(&w->user, o->seed ^ 2);
    trace_init(&w->trace, TRACE_LINES);
    sim_disk_init(&w->disk);
    w->disk.bytes_max = o->disk_bytes;
    w->mono_ns = 1000000000;
    w->main = add_loop(w, "sim");
    return &w->base;
}

void sim_set_options(struct world *w, const struct sim_options *o)
{
    sim_world(w)->options = *o;
    sim_world(w)->disk.bytes_max = o->disk_bytes;
}

void sim_set_disk_bytes(struct world *w, uint64_t bytes)
{
    sim_world(w)->disk.bytes_max = bytes;
}

uint64_t sim_sync_count(const struct world *w)
{
    return sim_world_const(w)->sync_count;
}

uint64_t sim_write_count(const struct world *w)
{
    return sim_world_const(w)->write_count;
}

uint64_t sim_op_count(const struct world *w)
{
    return sim_world_const(w)->op_count;
}

uint64_t sim_disk_bytes(const struct world *w)
{
    return sim_world_const(w)->disk.used_bytes;
}

uint64_t sim_trace_hash(const struct world *w)
{
    return sim_world_const(w)->trace.hash;
}

void sim_trace_print(const struct world *w, struct buf *out)
{
    trace_print(&sim_world_const(w)->trace, SIZE_MAX, out);
}
