/* One cell: five lock servers, three namenodes, nine chunk servers, and their
 * clients; whole, or of one kind alone.
 *
 * Each kind of machine has its nemesis, so that each keeps as many machines in
 * service as it promises to need: a majority of the replicated ones, all but
 * two chunk servers. Clients may all be gone at once. Which faults there are,
 * and how often, is drawn for every seed: a storm of everything hides what a
 * storm of losses of power alone would show.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/sim_nemesis.h"
#include "tests/sim/cell.h"
#include "tests/sim/cell_health.h"
#include "tests/sim/file_storm.h"
#include "tests/sim/lock_storm.h"
#include "tests/sim/name_storm.h"
#include "tests/sim/scenario.h"
#include "tests/sim/storm.h"

#define CALM_BEFORE_US (3 * SECOND_US)
#define STORM_US       (30 * SECOND_US)
/* Every file is back at its copies so soon after the last fault, and nothing
 * is on the disks that should not be a while later: the chunk servers report in
 * full every 20 s. */
#define WHOLE_US   (120 * SECOND_US)
#define NO_LEAK_US (120 * SECOND_US)

enum {
    NEMESES = 4,
    VICTIMS_MAX = 64
};

/* What takes part. */
struct cast {
    struct sim_cell_options cell;
    unsigned lockers;
    unsigned namers;
    unsigned writers;
};

struct play {
    struct storm *storm;
    struct sim_cell *cell;
    struct lock_storm *locks;
    struct name_storm *names;
    struct file_storm *files;
    struct world *machines[VICTIMS_MAX]; /* All, kind after kind. */
    size_t machine_count;
};

/* --- faults ----------------------------------------------------------- */

struct nemesis_run {
    struct play *play;
    struct nemesis_options options;
    struct nemesis_report report;
};

static bool note_chunk_fault(void *ctx, enum nemesis_fault f, struct world *m)
{
    struct play *p = ctx;
    file_storm_note_fault(p->files, f, m);
    return true;
}

/* Most seeds have a few kinds of faults, some have all. */
static void draw_weights(struct nemesis_options *o, struct rand_gen *r)
{
    uint64_t keep = 1 + rand_below(r, 4); /* Of four. */
    bool any = false;
    o->weighted = true;
    for (int f = 0; f < NEMESIS_FAULT_COUNT; f++) {
        uint32_t weight = nemesis_default_weight((enum nemesis_fault)f);
        if (f == NEMESIS_ROT && o->rot_prefix)
            weight = 2;
        o->weights[f] = rand_below(r, 4) < keep ? weight : 0;
        any |= o->weights[f] > 0;
    }
    if (!any)
        o->weighted = false;
}

/* Faults on @count machines from @first on. */
static void prepare(struct nemesis_run *n,
                    struct play *p,
                    size_t first,
                    size_t count,
                    size_t down_max)
{
    struct rand_gen *r = &p->storm->rand;
    n->play = p;
    n->options = (struct nemesis_options){
        .seed = rand_u64(r),
        .machines = p->machines + first,
        .machine_count = count,
        .others = p->machines,
        .other_count = p->machine_count,
        .duration_us = STORM_US,
        .pause_us = SECOND_US / 2 + rand_below(r, 4 * SECOND_US),
        .fault_us = SECOND_US + rand_below(r, 4 * SECOND_US),
        .down_max = down_max};
}

static void run_nemesis(void *arg)
{
    struct nemesis_run *n = arg;
    nemesis_run(n->play->storm->sim, &n->options, &n->report);
}

static size_t
add_machines(struct play *p, enum sim_server_kind kind, size_t *first)
{
    size_t count =
        sim_cell_machines(p->cell, kind, p->machines + p->machine_count);
    *first = p->machine_count;
    p->machine_count += count;
    return count;
}

/* One nemesis for each kind that there is; returns how many. */
static size_t prepare_all(struct play *p, struct nemesis_run n[NEMESES])
{
    size_t first[NEMESES];
    size_t count[NEMESES];
    size_t used = 0;
    for (int kind = SIM_LOCK_SERVER; kind <= SIM_CHUNK_SERVER; kind++)
        count[kind] = add_machines(p, (enum sim_server_kind)kind, &first[kind]);
    first[3] = p->machine_count;
    count[3] = storm_client_machines(p->storm, p->machines + first[3]);
    p->machine_count += count[3];
    for (size_t i = 0; i < NEMESES; i++) {
        size_t down_max = i == 3   ? count[i]
                          : i == 2 ? SIM_CELL_REPLICATION - 1
                                   : (count[i] - 1) / 2;
        if (!count[i])
            continue;
        prepare(&n[used], p, first[i], count[i], down_max);
        if (i == SIM_CHUNK_SERVER) {
            n[used].options.rot_prefix = SIM_CELL_CHUNK_DIR "/chunks";
            n[used].options.allow = note_chunk_fault;
            n[used].options.ctx = p;
        }
        draw_weights(&n[used].options, &p->storm->rand);
        used++;
    }
    return used;
}

static uint64_t strike(struct play *p)
{
    struct nemesis_run *n = mem_zalloc(NEMESES, sizeof(*n));
    struct fiber *fibers[NEMESES];
    size_t used = prepare_all(p, n);
    uint64_t faults = 0;
    for (size_t i = 0; i < used; i++)
        fibers[i] = fiber_start(loop_self(), "nemesis", run_nemesis, &n[i]);
    for (size_t i = 0; i < used; i++) {
        fiber_join(fibers[i]);
        for (int f = 0; f < NEMESIS_FAULT_COUNT; f++)
            faults += n[i].report.counts[f];
    }
    mem_free(n);
    return faults;
}

/* --- the play --------------------------------------------------------- */

static void begin(struct play *p, const struct cast *cast)
{
    p->cell = sim_cell_new(p->storm->sim, &cast->cell);
    sim_cell_boot(p->cell);
    storm_sleep_us(CALM_BEFORE_US);
    if (cast->lockers)
        p->locks = lock_storm_new(p->storm, p->cell, cast->lockers);
    if (cast->namers)
        p->names = name_storm_new(p->storm, p->cell, cast->namers);
    if (cast->writers)
        p->files = file_storm_new(p->storm, p->cell, cast->writers);
}

static void finish(struct play *p, struct buf *figures)
{
    if (p->files) {
        uint64_t whole = cell_await_whole(p->cell, WHOLE_US);
        file_storm_finish(p->files);
        cell_await_no_leak(p->cell, NO_LEAK_US);
        buf_printf(figures, " bytes=%" PRIu64 " whole_ms=%" PRIu64,
                   file_storm_bytes(p->files), whole / 1000);
    }
    if (p->names)
        name_storm_finish(p->names);
    if (p->locks)
        lock_storm_finish(p->locks);
    sim_cell_stop(p->cell);
}

static void judge(struct play *p)
{
    if (p->names) {
        name_storm_check(p->names);
        name_storm_free(p->names);
    }
    if (p->locks) {
        lock_storm_check(p->locks);
        lock_storm_free(p->locks);
    }
    if (p->files)
        file_storm_free(p->files);
    sim_cell_free(p->cell);
}

static void
run_cast(struct storm *s, const struct cast *cast, struct buf *figures)
{
    struct play p = {.storm = s};
    uint64_t faults;
    begin(&p, cast);
    faults = strike(&p);
    sim_cell_supervise(p.cell);
    storm_end(s);
    buf_printf(figures, " faults=%" PRIu64 " calls=%" PRIu64, faults,
               s->call_count);
    finish(&p, figures);
    judge(&p);
}

static void run_cell(struct storm *s, struct buf *figures)
{
    run_cast(
        s,
        &(struct cast){
            .cell = {.lock_servers = 5, .namenodes = 3, .chunk_servers = 9},
            .lockers = 3,
            .namers = 3,
            .writers = 2},
        figures);
}

static void run_lock(struct storm *s, struct buf *figures)
{
    run_cast(s,
             &(struct cast){.cell = {.lock_servers = s->seed % 2 ? 3 : 5},
                            .lockers = 4},
             figures);
}

static void run_files(struct storm *s, struct buf *figures)
{
    run_cast(s,
             &(struct cast){.cell = {.namenodes = 3, .chunk_servers = 6},
                            .namers = 2,
                            .writers = 3},
             figures);
}

const struct scenario scenario_cell = {
    "cell", "5 lock servers, 3 namenodes, 9 chunk servers, 10 clients",
    run_cell};
const struct scenario scenario_lock = {
    "lock", "3 or 5 lock servers, 4 clients, a fenced store", run_lock};
const struct scenario scenario_files = {
    "files", "3 namenodes, 6 chunk servers, 10 clients", run_files};
