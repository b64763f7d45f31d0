/* A nemesis: draws faults, lets each last a while, and heals. Every draw
 * comes from one generator and every wait is virtual, so a seed repeats the
 * whole schedule. The number of machines that are down at once is bounded,
 * so that a scenario can demand progress of a majority. */
#include "base/sim/sim_nemesis.h"

#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"

#define DURATION_US_DEFAULT UINT64_C(60000000)
#define PAUSE_US_DEFAULT    UINT64_C(2000000)
#define FAULT_US_DEFAULT    UINT64_C(3000000)
#define DRIFT_PPM_DEFAULT   200
#define OFFSET_US_DEFAULT   INT64_C(10000000)
/* A supervisor's pause before it starts a program that ended. */
#define REVIVE_US UINT64_C(1000000)
/* Interval of checks of the machines between draws. */
#define WATCH_US UINT64_C(100000)
/* Faults that last at once. */
#define ACTIVE_MAX 16
/* A slow disk's factor, and its shortest time. */
#define SLOW_DISK_FACTOR  50
#define SLOW_DISK_SYNC_US 20000

static const struct {
    const char *text;
    uint32_t weight;
    bool is_down;
} kinds[] = {

#define X(name, weight, down, text) {text, weight, down},
    NEMESIS_FAULTS(X)
#undef X
};

STATIC_ASSERT(ARRAY_LEN(kinds) == NEMESIS_FAULT_COUNT, "one entry per fault");

const char *nemesis_fault_name(enum nemesis_fault f)
{
    return kinds[f].text;
}

uint32_t nemesis_default_weight(enum nemesis_fault f)
{
    return kinds[f].weight;
}

/* A fault that lasts. */
struct active {
    enum nemesis_fault fault;
    size_t victim;     /* Index of the machine; */
    struct world *far; /* The other end of a link; NULL: all. */
    uint64_t until_us;
};

/* The state of one machine. */
struct victim {
    struct world *machine;
    struct sim_options healthy;
    bool is_down;      /* A fault is active on it; it takes no other. */
    bool wants_boot;   /* Crashed by a fault that lasts. */
    uint64_t ended_us; /* When its program was found to have ended; 0: it
                          runs. */
};

struct nemesis {
    struct sim_cluster *cluster;
    struct nemesis_options o;
    struct nemesis_report report;
    struct rand_gen rand;
    struct victim *victims; /* Owned. */
    struct active active[ACTIVE_MAX];
    size_t active_count;
    size_t down_count;
};

static uint64_t now_us(const struct nemesis *n)
{
    return sim_cluster_now_us(n->cluster);
}

static void nemesis_nap(const struct nemesis *n, uint64_t us)
{
    world_sleep_us(sim_director(n->cluster), us);
}

/* Draw a time around @mean: a fifth of it to nearly twice as much. */
static uint64_t nemesis_draw_around(struct nemesis *n, uint64_t mean)
{
    return mean / 5 + rand_below(&n->rand, mean * 8 / 5 + 1);
}

/* --- starting a fault ---------------------------------------------------- */

static struct world *machine_of(const struct nemesis *n, size_t i)
{
    return n->victims[i].machine;
}

static void nemesis_crash(struct nemesis *n, size_t i, enum sim_crash how)
{
    sim_crash(machine_of(n, i), how);
    sim_await_end(machine_of(n, i));
    n->victims[i].wants_boot = true;
}

static void cut_all(struct nemesis *n, size_t i, bool inbound, bool outbound)
{
    struct sim_link cut = {.cut = true};
    if (inbound)
        sim_set_link(n->cluster, NULL, machine_of(n, i), &cut);
    if (outbound)
        sim_set_link(n->cluster, machine_of(n, i), NULL, &cut);
}

/* Cut it off from its peers; clients and others still reach it. */
static void nemesis_split(struct nemesis *n, size_t i)
{
    for (size_t j = 0; j < n->o.machine_count; j++)
        if (j != i) {
            sim_cut(machine_of(n, i), machine_of(n, j), true);
            sim_cut(machine_of(n, j), machine_of(n, i), true);
        }
}

static void
set_link(struct nemesis *n, const struct active *a, const struct sim_link *l)
{
    struct world *from = machine_of(n, a->victim);
    sim_set_link(n->cluster, from, a->far, l);
    sim_set_link(n->cluster, a->far, from, l);
}

static void slow_disk(struct nemesis *n, size_t i)
{
    struct sim_options o = n->victims[i].healthy;
    o.read_us *= SLOW_DISK_FACTOR;
    o.write_us *= SLOW_DISK_FACTOR;
    o.name_us *= SLOW_DISK_FACTOR;
    o.sync_us = MAX_OF(o.sync_us * SLOW_DISK_FACTOR, SLOW_DISK_SYNC_US);
    sim_set_options(machine_of(n, i), &o);
}

static void disk_errors(struct nemesis *n, size_t i)
{
    struct sim_options o = n->victims[i].healthy;
    o.read_error_rate = 20000;
    o.write_error_rate = 20000;
    o.sync_error_rate = 50000;
    sim_set_options(machine_of(n, i), &o);
}

static void nemesis_skew(struct nemesis *n, size_t i)
{
    uint64_t drift = 2 * (uint64_t)n->o.drift_ppm_max + 1;
    uint64_t offset = 2 * (uint64_t)n->o.offset_us_max + 1;
    sim_set_clock(machine_of(n, i),
                  (int64_t)rand_below(&n->rand, offset) - n->o.offset_us_max,
                  (int32_t)rand_below(&n->rand, drift) - n->o.drift_ppm_max);
}

static void nemesis_begin_fault(struct nemesis *n, const struct active *a)
{
    struct world *m = machine_of(n, a->victim);
    switch (a->fault) {
    case NEMESIS_POWER: nemesis_crash(n, a->victim, SIM_CRASH_POWER); break;
    case NEMESIS_KILL: nemesis_crash(n, a->victim, SIM_CRASH_KILL); break;
    case NEMESIS_RESTART:
        sim_stop(m);
        n->victims[a->victim].wants_boot = true;
        break;
    case NEMESIS_PAUSE: sim_pause(m); break;
    case NEMESIS_ISOLATE: cut_all(n, a->victim, true, true); break;
    case NEMESIS_DEAF: cut_all(n, a->victim, true, false); break;
    case NEMESIS_MUTE: cut_all(n, a->victim, false, true); break;
    case NEMESIS_SPLIT: nemesis_split(n, a->victim); break;
    case NEMESIS_CUT:
        if (a->far)
            sim_cut(m, a->far, true);
        break;
    case NEMESIS_SLOW_NET:
        set_link(n, a,
                 &(struct sim_link){.delay_us = 20000, .jitter_us = 60000});
        break;
    case NEMESIS_LOSSY_NET:
        set_link(n, a, &(struct sim_link){.loss_rate = 100000});
        break;
    case NEMESIS_RESETS:
        set_link(n, a, &(struct sim_link){.reset_rate = 20000});
        break;
    case NEMESIS_LOST_ANSWERS:
        set_link(n, a, &(struct sim_link){.answer_rate = 20000});
        break;
    case NEMESIS_SLOW_DISK: slow_disk(n, a->victim); break;
    case NEMESIS_FULL_DISK: sim_set_disk_bytes(m, 1); break;
    case NEMESIS_DISK_ERRORS: disk_errors(n, a->victim); break;
    case NEMESIS_ROT: sim_rot(m, n->o.rot_prefix); break;
    case NEMESIS_CLOCK: nemesis_skew(n, a->victim); break;
    case NEMESIS_FAULT_COUNT: break;
    }
}

/* --- ending a fault ------------------------------------------------------ */

static void nemesis_boot(struct nemesis *n, struct victim *v)
{
    v->wants_boot = false;
    v->ended_us = 0;
    sim_set_options(v->machine, &v->healthy);
    sim_boot_again(v->machine);
    (void)n;
}

static void mend_links(struct nemesis *n, const struct active *a)
{
    struct sim_link whole = {.cut = false};
    struct world *m = machine_of(n, a->victim);
    sim_set_link(n->cluster, m, NULL, &whole);
    sim_set_link(n->cluster, NULL, m, &whole);
}

static void nemesis_end_fault(struct nemesis *n, const struct active *a)
{
    struct victim *v = &n->victims[a->victim];
    switch (a->fault) {
    case NEMESIS_POWER:
    case NEMESIS_KILL:
    case NEMESIS_RESTART: nemesis_boot(n, v); break;
    case NEMESIS_PAUSE: sim_resume(v->machine); break;
    case NEMESIS_ISOLATE:
    case NEMESIS_SPLIT:
    case NEMESIS_DEAF:
    case NEMESIS_MUTE:
    case NEMESIS_CUT:
    case NEMESIS_SLOW_NET:
    case NEMESIS_LOSSY_NET:
    case NEMESIS_RESETS:
    case NEMESIS_LOST_ANSWERS: mend_links(n, a); break;
    case NEMESIS_SLOW_DISK:
    case NEMESIS_FULL_DISK:
    case NEMESIS_DISK_ERRORS: sim_set_options(v->machine, &v->healthy); break;
    case NEMESIS_ROT:
    case NEMESIS_CLOCK:
    case NEMESIS_FAULT_COUNT: break;
    }
    if (kinds[a->fault].is_down) {
        v->is_down = false;
        n->down_count--;
    }
}

static void end_active(struct nemesis *n, uint64_t before_us)
{
    for (size_t i = 0; i < n->active_count;) {
        struct active a = n->active[i];
        if (a.until_us > before_us) {
            i++;
            continue;
        }
        n->active[i] = n->active[--n->active_count];
        nemesis_end_fault(n, &a);
    }
}

/* --- the draw ------------------------------------------------------------ */

static uint32_t weight_of(const struct nemesis *n, enum nemesis_fault f)
{
    if (f == NEMESIS_ROT && !n->o.rot_prefix)
        return 0;
    if (kinds[f].is_down && n->down_count >= n->o.down_max)
        return 0;
    return n->o.weighted ? n->o.weights[f] : kinds[f].weight;
}

static bool draw_fault(struct nemesis *n, enum nemesis_fault *out)
{
    uint64_t total = 0;
    uint64_t at;
    for (int f = 0; f < NEMESIS_FAULT_COUNT; f++)
        total += weight_of(n, (enum nemesis_fault)f);
    if (total == 0)
        return false;
    at = rand_below(&n->rand, total);
    for (int f = 0; f < NEMESIS_FAULT_COUNT; f++) {
        uint32_t weight = weight_of(n, (enum nemesis_fault)f);
        if (at < weight) {
            *out = (enum nemesis_fault)f;
            return true;
        }
        at -= weight;
    }
    return false;
}

/* Draw the far end of a link of victim @i: NULL, for all, when the draw is @i
 * itself.
 */
static struct world *draw_far(struct nemesis *n, size_t i)
{
    size_t at = rand_below(&n->rand, n->o.machine_count + n->o.other_count);
    struct world *far = at < n->o.machine_count
                            ? machine_of(n, at)
                            : n->o.others[at - n->o.machine_count];
    return far == machine_of(n, i) ? NULL : far;
}

static void nemesis_strike(struct nemesis *n)
{
    struct active a = {.fault = NEMESIS_POWER};
    struct victim *v;
    if (n->active_count == ACTIVE_MAX || !draw_fault(n, &a.fault))
        return;
    a.victim = rand_below(&n->rand, n->o.machine_count);
    a.far = draw_far(n, a.victim);
    a.until_us = now_us(n) + nemesis_draw_around(n, n->o.fault_us);
    v = &n->victims[a.victim];
    if (v->is_down || v->ended_us ||
        (n->o.allow && !n->o.allow(n->o.ctx, a.fault, v->machine)))
        return;
    sim_note(n->cluster, "nemesis: %s on %s", kinds[a.fault].text,
             sim_machine_name(v->machine));
    if (kinds[a.fault].is_down) {
        v->is_down = true;
        n->down_count++;
    }
    n->report.counts[a.fault]++;
    n->active[n->active_count++] = a;
    nemesis_begin_fault(n, &a);
}

/* Boot programs that ended by themselves. */
static void nemesis_supervise(struct nemesis *n)
{
    for (size_t i = 0; i < n->o.machine_count; i++) {
        struct victim *v = &n->victims[i];
        if (v->wants_boot || sim_is_up(v->machine)) {
            v->ended_us = 0;
        } else if (!v->ended_us) {
            v->ended_us = now_us(n);
        } else if (now_us(n) - v->ended_us >= REVIVE_US) {
            n->report.revived_count++;
            v->ended_us = 0;
            sim_boot_again(v->machine);
        }
    }
}

/* --- run ----------------------------------------------------------------- */

static void set_defaults(struct nemesis_options *o)
{
    if (o->duration_us == 0)
        o->duration_us = DURATION_US_DEFAULT;
    if (o->pause_us == 0)
        o->pause_us = PAUSE_US_DEFAULT;
    if (o->fault_us == 0)
        o->fault_us = FAULT_US_DEFAULT;
    if (o->down_max == 0)
        o->down_max = (o->machine_count - 1) / 2;
    if (o->drift_ppm_max == 0)
        o->drift_ppm_max = DRIFT_PPM_DEFAULT;
    if (o->offset_us_max == 0)
        o->offset_us_max = OFFSET_US_DEFAULT;
}

static void nemesis_loop(struct nemesis *n)
{
    uint64_t stop_us = now_us(n) + n->o.duration_us;
    uint64_t strike_us = now_us(n) + nemesis_draw_around(n, n->o.pause_us);
    while (now_us(n) < stop_us && fiber_check(NULL) == 0) {
        nemesis_nap(n, WATCH_US);
        end_active(n, now_us(n));
        nemesis_supervise(n);
        if (now_us(n) >= strike_us) {
            nemesis_strike(n);
            strike_us = now_us(n) + nemesis_draw_around(n, n->o.pause_us);
        }
    }
}

static void nemesis_heal(struct nemesis *n)
{
    end_active(n, UINT64_MAX);
    sim_heal(n->cluster);
    for (size_t i = 0; i < n->o.machine_count; i++) {
        struct victim *v = &n->victims[i];
        sim_set_options(v->machine, &v->healthy);
        sim_set_clock(v->machine, 0, 0);
        sim_resume(v->machine);
        if (!sim_is_up(v->machine))
            nemesis_boot(n, v);
    }
}

void nemesis_run(struct sim_cluster *c,
                 const struct nemesis_options *o,
                 struct nemesis_report *report)
{
    struct nemesis n = {.cluster = c, .o = *o};
    PRE(o->machine_count > 0);
    set_defaults(&n.o);
    rand_init(&n.rand, o->seed ^ 0x6e656d65);
    n.victims = mem_zalloc(o->machine_count, sizeof(*n.victims));
    for (size_t i = 0; i < o->machine_count; i++) {
        n.victims[i].machine = o->machines[i];
        sim_get_options(o->machines[i], &n.victims[i].healthy);
    }
    nemesis_loop(&n);
    nemesis_heal(&n);
    mem_free(n.victims);
    if (report)
        *report = n.report;
}
