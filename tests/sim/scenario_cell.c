/* One cell: five lock servers, three namenodes, nine chunk servers, and their
 * clients; whole, or of one kind alone.
 *
 * In service are a majority of the replicated machines, and all but two chunk
 * servers. Clients may all be gone at once.
 */
#include <inttypes.h>

#include "base/core/buf.h"
#include "tests/sim/cell.h"
#include "tests/sim/cell_health.h"
#include "tests/sim/file_spy.h"
#include "tests/sim/file_storm.h"
#include "tests/sim/lock_storm.h"
#include "tests/sim/name_storm.h"
#include "tests/sim/scenario.h"
#include "tests/sim/storm.h"
#include "tests/sim/strike.h"

#define CALM_BEFORE_US (3 * SECOND_US)
#define STORM_US       (30 * SECOND_US)
/* Servers that the last fault ended are back, and elect. */
#define LEADER_US (10 * SECOND_US)
/* Every file is back at its copies so soon after the last fault, and nothing
 * is on the disks that should not be a while later: the chunk servers report in
 * full every 20 s. */
#define WHOLE_US   (120 * SECOND_US)
#define NO_LEAK_US (120 * SECOND_US)

/* The participants. */
struct cast {
    struct sim_cell_options cell;
    unsigned lockers;
    unsigned namers;
    unsigned writers;
    bool spies;
};

struct play {
    struct storm *storm;
    struct sim_cell *cell;
    struct lock_storm *locks;
    struct name_storm *names;
    struct file_storm *files;
    struct file_spy *spy;
};

/* --- faults -------------------------------------------------------------- */

static bool note_chunk_fault(void *ctx, enum nemesis_fault f, struct world *m)
{
    struct play *p = ctx;
    file_storm_note_fault(p->files, f, m);
    return true;
}

static void
add_servers(struct strike *s, struct play *p, enum sim_server_kind kind)
{
    struct world *machines[SIM_CELL_CHUNKS_MAX];
    size_t count = sim_cell_machines(p->cell, kind, machines);
    struct strike_group *g;
    if (count == 0)
        return;
    if (kind != SIM_CHUNK_SERVER) {
        strike_add(s, machines, count, (count - 1) / 2);
        return;
    }
    g = strike_add(s, machines, count, SIM_CELL_REPLICATION - 1);
    g->rot_prefix = SIM_CELL_CHUNK_DIR "/chunks";
    g->allow = note_chunk_fault;
    g->ctx = p;
}

static uint64_t strike(struct play *p)
{
    struct strike s = {.storm = p->storm, .duration_us = STORM_US};
    struct world *clients[STORM_CLIENTS_MAX];
    size_t count = storm_client_machines(p->storm, clients);
    add_servers(&s, p, SIM_LOCK_SERVER);
    add_servers(&s, p, SIM_NAMENODE);
    add_servers(&s, p, SIM_CHUNK_SERVER);
    strike_add(&s, clients, count, count);
    return strike_run(&s);
}

/* --- the play ------------------------------------------------------------ */

static void begin(struct play *p, const struct cast *cast)
{
    p->cell = sim_cell_new(p->storm->sim, &cast->cell);
    if (cast->spies)
        p->spy = file_spy_new(p->storm, p->cell);
    sim_cell_boot(p->cell);
    storm_sleep_us(CALM_BEFORE_US);
    if (cast->lockers)
        p->locks = lock_storm_new(p->storm, p->cell, cast->lockers);
    if (cast->namers)
        p->names = name_storm_new(p->storm, p->cell, cast->namers);
    if (cast->writers)
        p->files = file_storm_new(p->storm, p->cell, cast->writers);
    if (p->spy)
        file_spy_start(p->spy);
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
    if (p->spy) {
        file_spy_finish(p->spy);
        buf_printf(figures, " looks=%" PRIu64, file_spy_answers(p->spy));
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
    if (p->spy)
        file_spy_free(p->spy);
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
    cell_check_leaders(p.cell, LEADER_US);
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
                            .writers = 3,
                            .spies = true},
             figures);
}

const struct scenario scenario_cell = {
    "cell", "5 lock servers, 3 namenodes, 9 chunk servers, 10 clients",
    run_cell};
const struct scenario scenario_lock = {
    "lock", "3 or 5 lock servers, 4 clients, a fenced store", run_lock};
const struct scenario scenario_files = {
    "files", "3 namenodes, 6 chunk servers, 14 clients", run_files};
