/* Boot, crash, stop, pause and bit rot of a simulated machine. A crash
 * cancels every fiber instead of freeing its stack: the code under test
 * unwinds through its own error paths, so that its memory is freed and the
 * sanitizers stay useful, while its disk and network refuse everything. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/sim/world_sim.h"

/* A crashed machine whose fibers have not ended after this much virtual time
 * never will: its program waits for an event that cannot come. */
#define UNWIND_NS_MAX UINT64_C(600000000000)

struct world *sim_machine_new(struct sim_cluster *c,
                              const char *name,
                              const struct sim_options *o)
{
    PRE(*name);
    return &sim__machine_new(c, name, o)->base;
}

const char *sim_machine_name(const struct world *m)
{
    return sim_world_const(m)->name;
}

struct sim_cluster *sim_machine_cluster(const struct world *m)
{
    return sim_world_const(m)->cluster;
}

void sim_note(struct sim_cluster *c, const char *fmt, ...)
{
    char text[TRACE_LINE_BYTES];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    sim__trace(c, "%s", text);
}

/* --- programs ------------------------------------------------------------ */

/* Make everything that still runs on @m unwind, without a disk and a
 * network. */
static void end_all(struct sim_world *m, enum sim_crash how)
{
    if (how == SIM_CRASH_POWER)
        m->off = true;
    else
        m->life++; /* Its open files and locks become invalid; the disk keeps
                      its contents. */
    sim__net_crash(m, how);
    m->dead = true;
    for (struct sim_loop *l = m->loops; l; l = l->next)
        loop__cancel_fibers(&l->base);
    m->cluster->attention = true;
}

static void run_program(void *arg)
{
    struct sim_program *p = arg;
    struct sim_world *m = p->machine;
    struct sim_program **at = &m->programs;
    p->fn(p->arg);
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    if (p->is_main && !m->dead) {
        sim__trace(m->cluster, "exit %s", m->name);
        end_all(m, SIM_CRASH_KILL);
    }
    mem_free(p);
}

static struct sim_program *
start_program(struct sim_world *m, const char *name, task_fn fn, void *arg)
{
    struct sim_program *p = mem_zalloc(1, sizeof(*p));
    struct sim_program **end = &m->programs;
    PRE(m->cluster->driving);
    while (*end)
        end = &(*end)->next;
    *end = p;
    p->machine = m;
    p->fn = fn;
    p->arg = arg;
    p->fiber = fiber_start(&m->main->base, name, run_program, p);
    fiber_detach(p->fiber);
    return p;
}

void sim_spawn(struct world *m, const char *name, task_fn fn, void *arg)
{
    start_program(sim_world(m), name, fn, arg);
}

/* --- boot ---------------------------------------------------------------- */

/* A kill left the disk unchanged; a loss of power applies its losses now. */
static void sim_machine_revive(struct sim_world *m)
{
    bool was_dead = m->dead;
    struct loop *l = &m->main->base;
    m->dead = false;
    l->stopping = false;
    atomic_store(&l->stop_asked, false);
    if (m->off)
        sim_power_on(&m->base);
    if (was_dead)
        sim__net_back(m);
}

void sim_boot(struct world *base, task_fn program, void *arg)
{
    struct sim_world *m = sim_world(base);
    PRE(!sim_is_up(base));
    PRE(!m->paused);
    m->boot_fn = program;
    m->boot_arg = arg;
    sim_machine_revive(m);
    sim__trace(m->cluster, "boot %s", m->name);
    start_program(m, "main", program, arg)->is_main = true;
}

void sim_boot_again(struct world *base)
{
    struct sim_world *m = sim_world(base);
    PRE(m->boot_fn);
    sim_boot(base, m->boot_fn, m->boot_arg);
}

bool sim_is_up(const struct world *m)
{
    return sim__has_live(sim_world_const(m));
}

/* --- the end ------------------------------------------------------------- */

void sim_crash(struct world *base, enum sim_crash how)
{
    struct sim_world *m = sim_world(base);
    PRE(!m->paused);
    sim__trace(m->cluster, "%s %s",
               how == SIM_CRASH_POWER ? "power off" : "kill", m->name);
    end_all(m, how);
}

void sim_await_end(struct world *base)
{
    struct sim_world *m = sim_world(base);
    struct fiber *self = fiber_self();
    struct sim_world *here = sim_world(loop_world(fiber_loop(self)));
    uint64_t patience = m->cluster->now_ns + UNWIND_NS_MAX;
    PRE(here != m);
    PRE(!m->awaiting);
    m->awaiting = self;
    while (sim_is_up(base)) {
        fiber_park_until(sim__alarm_ns(here, patience));
        if (sim_is_up(base) && m->cluster->now_ns >= patience)
            PANIC("machine %s, seed %llu: does not end", m->name,
                  (unsigned long long)m->cluster->seed);
    }
    m->awaiting = NULL;
}

void sim_stop(struct world *base)
{
    struct sim_world *m = sim_world(base);
    if (!sim_is_up(base))
        return;
    sim__trace(m->cluster, "stop %s", m->name);
    for (struct sim_program *p = m->programs; p; p = p->next)
        fiber_cancel(p->fiber);
    sim_await_end(base);
}

void sim_pause(struct world *base)
{
    struct sim_world *m = sim_world(base);
    if (m->paused)
        return;
    sim__trace(m->cluster, "pause %s", m->name);
    m->paused = true;
    sim__hold(m);
}

void sim_resume(struct world *base)
{
    struct sim_world *m = sim_world(base);
    if (!m->paused)
        return;
    sim__trace(m->cluster, "resume %s", m->name);
    m->paused = false;
    sim__unhold(m);
}

bool sim_is_paused(const struct world *m)
{
    return sim_world_const(m)->paused;
}

/* --- damage -------------------------------------------------------------- */

struct rot {
    const char *prefix;
    size_t prefix_bytes;
    struct rand_gen *rand;
    uint64_t seen;         /* Files that could rot, so far. */
    struct sim_node *node; /* The file drawn so far. */
    char path[TRACE_LINE_BYTES];
};

/* Offer each file below @dir, whose path is @path, to the draw. */
static void look_at(struct rot *r, struct sim_node *dir, const char *path)
{
    for (size_t i = 0; i < dir->entries.count; i++) {
        struct sim_entry *e = &dir->entries.items[i];
        char below[TRACE_LINE_BYTES];
        if (snprintf(below, sizeof(below), "%s/%s", path, e->name) >=
            (int)sizeof(below))
            continue;
        if (e->node->is_dir) {
            look_at(r, e->node, below); /* Recursion as deep as the disk's
                                           paths. */
        } else if (e->node->disk.len && e->node->data.len &&
                   strncmp(below, r->prefix, r->prefix_bytes) == 0 &&
                   rand_one_in(r->rand, ++r->seen)) {
            r->node = e->node;
            memcpy(r->path, below, sizeof(below));
        }
    }
}

bool sim_rot(struct world *base, const char *prefix)
{
    struct sim_world *m = sim_world(base);
    char rooted[TRACE_LINE_BYTES];
    struct rot r = {.rand = &m->faults};
    uint64_t at;
    unsigned bit;
    snprintf(rooted, sizeof(rooted), "%s%s", prefix[0] == '/' ? "" : "/",
             prefix);
    r.prefix = rooted;
    r.prefix_bytes = strlen(rooted);
    look_at(&r, m->disk.root, "");
    if (!r.node)
        return false;
    at = rand_below(r.rand, MIN_OF(r.node->disk.len, r.node->data.len));
    bit = (unsigned)rand_below(r.rand, 8);
    r.node->data.data[at] = (char)(r.node->data.data[at] ^ (1 << bit));
    r.node->disk.data[at] = (char)(r.node->disk.data[at] ^ (1 << bit));
    sim__trace(m->cluster, "rot on %s: bit %u of byte %llu of %s", m->name, bit,
               (unsigned long long)at, r.path);
    return true;
}
