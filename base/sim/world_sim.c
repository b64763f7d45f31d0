/* One simulated machine: its clocks, tasks and loops. Its clocks are linear
 * functions of the cluster's true time, so that drift and jumps need no
 * events; the inverse function places timers on true time. */
#include "base/sim/world_sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/hash.h"
#include "base/core/panic.h"
#include "base/runtime/world_ops.h"
#include "base/sim/sim.h"

/* Saturday, 2025-01-04 00:00 UTC: where every simulated run begins. */
#define EPOCH_US UINT64_C(1735948800000000)
/* The cost of reading a clock. */
#define CLOCK_READ_NS 100
#define CPU_COUNT     2
#define PPM           1000000

/* --- clocks -------------------------------------------------------------- */

/* How much a drifting clock gains in @ns true nanoseconds. */
static int64_t drift_of(int64_t ns, int32_t ppm)
{
    return ns / PPM * ppm + ns % PPM * ppm / PPM;
}

uint64_t sim__local_ns(const struct sim_world *w, uint64_t true_ns)
{
    const struct sim_clock *k = &w->clock;
    int64_t gone = (int64_t)(true_ns - k->true_ns);
    if (true_ns == UINT64_MAX)
        return UINT64_MAX;
    return k->local_ns + (uint64_t)(gone + drift_of(gone, k->drift_ppm));
}

uint64_t sim__true_ns(const struct sim_world *w, uint64_t local_ns)
{
    const struct sim_clock *k = &w->clock;
    int64_t gone = (int64_t)(local_ns - k->local_ns);
    uint64_t t;
    if (local_ns == UINT64_MAX)
        return UINT64_MAX;
    if (k->drift_ppm == 0)
        return k->true_ns + (uint64_t)gone;
    /* A guess from below, then the exact one. */
    gone = (int64_t)((double)gone * PPM / (PPM + k->drift_ppm)) - 2;
    t = k->true_ns + (uint64_t)MAX_OF(gone, (int64_t)0);
    while (sim__local_ns(w, t) < local_ns)
        t++;
    return t;
}

/* On a slow clock several true nanoseconds share a local one, and an alarm
 * goes off at the first of them. */
uint64_t sim__alarm_ns(const struct sim_world *w, uint64_t true_ns)
{
    uint64_t local_ns = sim__local_ns(w, true_ns);
    return sim__true_ns(w, local_ns) < true_ns ? local_ns + 1 : local_ns;
}

static uint64_t sim_mono_ns(struct world *base)
{
    struct sim_world *w = sim_world(base);
    w->cluster->now_ns += CLOCK_READ_NS;
    return sim__local_ns(w, w->cluster->now_ns);
}

static uint64_t sim_now_us(struct world *base)
{
    uint64_t us = EPOCH_US + sim_mono_ns(base) / 1000;
    return us + (uint64_t)sim_world(base)->clock.offset_us;
}

void sim_set_clock(struct world *base, int64_t offset_us, int32_t drift_ppm)
{
    struct sim_world *w = sim_world(base);
    PRE(drift_ppm > -PPM / 10 && drift_ppm < PPM / 10);
    w->clock = (struct sim_clock){
        .true_ns = w->cluster->now_ns,
        .local_ns = sim__local_ns(w, w->cluster->now_ns),
        .drift_ppm = drift_ppm,
        .offset_us = offset_us,
    };
    w->cluster->due_ns = 0; /* Its timers come earlier or later now. */
    sim__trace(w->cluster, "clock of %s: %+lld us, %+d ppm", w->name,
               (long long)offset_us, drift_ppm);
}

static void sim_sleep_us(struct world *base, uint64_t us)
{
    if (fiber_self())
        fiber_sleep_us(us);
    else
        sim_world(base)->cluster->now_ns += us * 1000;
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

/* --- chance -------------------------------------------------------------- */

static uint64_t sim_random(struct world *base)
{
    return rand_u64(&sim_world(base)->user);
}

static void sim_random_bytes(struct world *base, void *dst, size_t len)
{
    for (size_t i = 0; i < len; i++)
        ((unsigned char *)dst)[i] = (unsigned char)sim_random(base);
}

static unsigned sim_cpu_count(struct world *base)
{
    unsigned count = sim_world(base)->options.cpu_count;
    return count ? count : CPU_COUNT;
}

bool sim__chance(struct rand_gen *r, uint32_t rate)
{
    return rate && rand_below(r, 1000000) < rate;
}

/* --- trace --------------------------------------------------------------- */

const char *sim__who(struct sim_cluster *c)
{
    struct fiber *f = fiber_self();
    const char *machine = f ? sim_world(loop_world(fiber_loop(f)))->name : "";
    snprintf(c->who, sizeof(c->who), "%s%s%s", machine, *machine ? "/" : "",
             f ? fiber_name(f) : "-");
    return c->who;
}

static void add_line(struct sim_cluster *c, const char *text)
{
    uint64_t now_us = c->now_ns / 1000;
    char line[TRACE_LINE_BYTES + 32];
    trace_add(&c->trace, now_us, "%s", text);
    if (!c->on_trace)
        return;
    snprintf(line, sizeof(line), "[%6llu.%06llu] %s",
             (unsigned long long)(now_us / 1000000),
             (unsigned long long)(now_us % 1000000), text);
    c->on_trace(c->on_trace_ctx, line);
}

void sim__trace(struct sim_cluster *c, const char *fmt, ...)
{
    char text[TRACE_LINE_BYTES];
    int who = snprintf(text, sizeof(text), "%-12s ", sim__who(c));
    va_list ap;
    va_start(ap, fmt);
    if (who > 0 && (size_t)who < sizeof(text))
        vsnprintf(text + who, sizeof(text) - (size_t)who, fmt, ap);
    va_end(ap);
    add_line(c, text);
}

static void sim_log_line(struct world *base, const char *line)
{
    struct sim_world *w = sim_world(base);
    char text[TRACE_LINE_BYTES];
    /* A log line may be longer; its beginning is enough. */
    if (snprintf(text, sizeof(text), "%s: %s", w->name, line) > 0)
        add_line(w->cluster, text);
}

/* --- tasks --------------------------------------------------------------- */

struct sim_task {
    struct task base;
    struct fiber *fiber;
};

static struct task *
sim_task_start(struct world *base, const char *name, task_fn fn, void *arg)
{
    struct sim_world *w = sim_world(base);
    struct sim_task *t = mem_zalloc(1, sizeof(*t));
    PRE(w->cluster->driving); /* Tasks run only inside sim_run(). */
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

/* --- loops --------------------------------------------------------------- */

static struct sim_world *world_of(struct loop *l)
{
    return sim_world(l->world);
}

static uint64_t loop_now(struct loop *l)
{
    struct sim_world *w = world_of(l);
    return sim__local_ns(w, w->cluster->now_ns);
}

static void loop_wakeup(struct loop *l)
{
    world_of(l)->cluster->attention = true;
}

/* Work takes no virtual time, but other fibers get their turn. */
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

static void run_started(void *arg)
{
    struct loop *base = arg;
    struct sim_loop *l = arg; /* Its base is its first member. */
    PRE(fiber_self());
    PRE(!l->runner);
    l->runner = fiber_self();
    while (!base->stopping || base->live_count)
        fiber_park();
    l->runner = NULL;
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
    .start = sim_loop_start,
    .join = sim_loop_join,
    .now_ns = loop_now,
    .wakeup = loop_wakeup,
    .ready = sim__make_ready,
    .offload = loop_offload,
};

static struct sim_loop *add_loop(struct sim_world *w, const char *name)
{
    struct sim_loop *l = mem_zalloc(1, sizeof(*l));
    loop__init(&l->base, &sim_loop_ops, &w->base, name);
    l->base.home = w->cluster;
    l->base.stopping = w->dead;
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

/* --- machines ------------------------------------------------------------ */

static void leave_cluster(struct sim_world *w)
{
    struct sim_world **at = &w->cluster->machines;
    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
}

static void sim_free(struct world *base)
{
    struct sim_world *w = sim_world(base);
    struct sim_cluster *alone = w->cluster->alone ? w->cluster : NULL;
    PRE(!sim__has_live(w));
    sim_loop_free(&w->main->base);
    PRE(!w->loops);
    PRE(!w->locks);
    PRE(!w->listeners);
    leave_cluster(w);
    sim_disk_close(&w->disk);
    mem_free(w->held.items);
    mem_free(w);
    if (alone)
        sim__cluster_free(alone);
}

static const struct world_ops sim_ops = {
    .free = sim_free,
    .now_us = sim_now_us,
    .mono_ns = sim_mono_ns,
    .random = sim_random,
    .random_bytes = sim_random_bytes,
    .cpu_count = sim_cpu_count,
    .sleep_us = sim_sleep_us,
    .log_line = sim_log_line,
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
    .space = sim__space,
    .list = sim__list,
    .lock = sim__lock,
    .unlock = sim__unlock,
    .task_start = sim_task_start,
    .task_join = sim_task_join,
    .loop_new = sim_loop_new,
    .listen = sim__listen,
    .connect = sim__connect,
};

struct sim_world *sim__machine_new(struct sim_cluster *c,
                                   const char *name,
                                   const struct sim_options *o)
{
    struct sim_world *w = mem_zalloc(1, sizeof(*w));
    struct sim_world **end = &c->machines;
    /* A single machine uses the seed unchanged, so that recorded seeds keep
     * their runs. */
    uint64_t seed =
        c->alone ? c->seed : hash_mix(c->seed + hash64(name, strlen(name), 1));
    PRE(strlen(name) <= SIM_NAME_BYTES_MAX && !strchr(name, ':'));
    for (; *end; end = &(*end)->next)
        PRE(strcmp((*end)->name, name) != 0);
    *end = w;
    w->base.ops = &sim_ops;
    w->cluster = c;
    w->index = c->machine_count++;
    snprintf(w->name, sizeof(w->name), "%s", name);
    w->options = *o;
    rand_init(&w->faults, seed ^ 1);
    rand_init(&w->user, seed ^ 2);
    sim_disk_init(&w->disk);
    w->disk.bytes_max = o->disk_bytes;
    w->clock.true_ns = c->now_ns;
    w->clock.local_ns = c->now_ns;
    w->main = add_loop(w, *name ? name : "sim");
    sim__links_grow(c);
    return w;
}

struct world *sim_world_new(const struct sim_options *o)
{
    return &sim__machine_new(sim__cluster_new(o->seed, true), "", o)->base;
}

/* --- options and figures ------------------------------------------------- */

void sim_set_options(struct world *w, const struct sim_options *o)
{
    sim_world(w)->options = *o;
    sim_world(w)->disk.bytes_max = o->disk_bytes;
}

void sim_get_options(const struct world *w, struct sim_options *o)
{
    *o = sim_world_const(w)->options;
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
    return sim_world_const(w)->cluster->trace.hash;
}

void sim_trace_print(const struct world *w, struct buf *out)
{
    trace_print(&sim_world_const(w)->cluster->trace, SIZE_MAX, out);
}
