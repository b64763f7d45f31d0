/* Tables on a cell: everything there is, in one world. Five lock servers or
 * three, three namenodes, six chunk servers, two masters, eight tablet servers,
 * and their clients.
 *
 * In service are a majority of the replicated machines, all but two chunk
 * servers, and nothing else: masters, tablet servers and clients may all be
 * gone at once.
 */
#include <inttypes.h>

#include "base/core/buf.h"
#include "tests/sim/cell.h"
#include "tests/sim/cell_health.h"
#include "tests/sim/scenario.h"
#include "tests/sim/storm.h"
#include "tests/sim/strike.h"
#include "tests/sim/tables_cell.h"
#include "tests/sim/tables_health.h"
#include "tests/sim/tables_storm.h"
#include "tests/sim/tables_watch.h"

#define CALM_BEFORE_US (3 * SECOND_US)
#define STORM_US       (25 * SECOND_US)
/* Servers that the last fault ended are back, and elect. */
#define LEADER_US (10 * SECOND_US)
/* So soon after the last fault all tablets are served, */
#define TRUE_US (120 * SECOND_US)
/* every file that nobody needs is removed: found twice at sweeps 10 s apart,
 * when it is 20 s old, */
#define ORPHANS_US (180 * SECOND_US)
/* and, once the servers are gone, every file is whole, and nothing else. */
#define WHOLE_US   (120 * SECOND_US)
#define NO_LEAK_US (120 * SECOND_US)

enum {
    MASTERS = 2,
    TABLET_SERVERS = 8,
    USERS = 5
};

struct play {
    struct storm *storm;
    bool clocks; /* Those of masters and tablet servers jump; little else. */
    struct sim_cell *cell;
    struct tables_cell *tables;
    struct tables_watch *watch;
    struct tables_storm *clients;
};

static void begin(struct play *p)
{
    const struct sim_cell_options o = {.lock_servers =
                                           p->storm->seed % 2 ? 3 : 5,
                                       .namenodes = 3,
                                       .chunk_servers = 6};
    p->cell = sim_cell_new(p->storm->sim, &o);
    p->tables = tables_cell_new(p->cell, MASTERS, TABLET_SERVERS);
    sim_cell_boot(p->cell);
    storm_sleep_us(CALM_BEFORE_US);
    tables_cell_boot(p->tables);
    p->watch = tables_watch_new(p->tables);
    tables_await_true(p->tables, TRUE_US);
    p->clients = tables_storm_new(p->storm, p->tables, USERS);
}

static void
add_servers(struct strike *s, struct play *p, enum sim_server_kind kind)
{
    struct world *machines[SIM_CELL_CHUNKS_MAX];
    size_t count = sim_cell_machines(p->cell, kind, machines);
    if (kind == SIM_CHUNK_SERVER)
        strike_add(s, machines, count, SIM_CELL_REPLICATION - 1)->rot_prefix =
            SIM_CELL_CHUNK_DIR "/chunks";
    else
        strike_add(s, machines, count, (count - 1) / 2);
}

static uint64_t strike(struct play *p)
{
    struct strike s = {.storm = p->storm, .duration_us = STORM_US};
    struct world *machines[STORM_CLIENTS_MAX];
    size_t count;
    if (!p->clocks) {
        add_servers(&s, p, SIM_LOCK_SERVER);
        add_servers(&s, p, SIM_NAMENODE);
        add_servers(&s, p, SIM_CHUNK_SERVER);
    }
    count = tables_cell_masters(p->tables, machines);
    strike_add(&s, machines, count, count)->clocks_only = p->clocks;
    count = tables_cell_tablets(p->tables, machines);
    strike_add(&s, machines, count, count)->clocks_only = p->clocks;
    if (p->clocks)
        return strike_run(&s);
    count = storm_client_machines(p->storm, machines);
    strike_add(&s, machines, count, count);
    return strike_run(&s);
}

/* All lose their power at once, and everything is found in the logs. */
static void lose_power(struct play *p)
{
    struct world *machines[TABLES_TABLETS_MAX];
    size_t count = tables_cell_tablets(p->tables, machines);
    for (size_t i = 0; i < count; i++)
        if (sim_is_up(machines[i]))
            sim_crash(machines[i], SIM_CRASH_POWER);
    for (size_t i = 0; i < count; i++)
        sim_await_end(machines[i]);
}

static void finish(struct play *p, struct buf *figures)
{
    uint64_t took = tables_await_true(p->tables, TRUE_US);
    buf_printf(figures, " rows=%" PRIu64 " moves=%" PRIu64 " true_ms=%" PRIu64,
               tables_storm_loaded(p->clients), tables_watch_moves(p->watch),
               took / 1000);
    tables_storm_finish(p->clients);
    lose_power(p);
    took = tables_await_true(p->tables, TRUE_US);
    buf_printf(figures, " again_ms=%" PRIu64, took / 1000);
    tables_storm_finish(p->clients);
    tables_await_no_orphan(p->tables, ORPHANS_US);
    tables_watch_free(p->watch);
    tables_cell_stop(p->tables);
    cell_await_whole(p->cell, WHOLE_US);
    cell_await_no_leak(p->cell, NO_LEAK_US);
    sim_cell_stop(p->cell);
}

static void run(struct storm *s, struct buf *figures, bool clocks)
{
    struct play p = {.storm = s, .clocks = clocks};
    uint64_t faults;
    begin(&p);
    faults = strike(&p);
    sim_cell_supervise(p.cell);
    tables_cell_supervise(p.tables);
    storm_end(s);
    cell_check_leaders(p.cell, LEADER_US);
    buf_printf(figures, " faults=%" PRIu64 " calls=%" PRIu64, faults,
               s->call_count);
    finish(&p, figures);
    tables_storm_check(p.clients);
    tables_storm_free(p.clients);
    tables_cell_free(p.tables);
    sim_cell_free(p.cell);
}

static void run_tables(struct storm *s, struct buf *figures)
{
    run(s, figures, false);
}

static void run_clocks(struct storm *s, struct buf *figures)
{
    run(s, figures, true);
}

const struct scenario scenario_tables = {
    "tables",
    "3 or 5 lock servers, 3 namenodes, 6 chunk servers, 2 masters, 8 tablet "
    "servers, 8 clients",
    run_tables};

const struct scenario scenario_clocks = {
    "clocks", "tables whose masters and tablet servers have clocks that jump",
    run_clocks};
