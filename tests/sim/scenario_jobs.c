/* Jobs on a cell while everything fails: three lock servers, three namenodes,
 * six chunk servers, two job masters and four workers. In service are a
 * majority of the replicated machines, all but two chunk servers, and nothing
 * else.
 *
 * A job may fail under faults: then another is begun. One that is said to have
 * succeeded has counted everything once; when all is healed, one succeeds.
 */
#include <inttypes.h>

#include "base/core/buf.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "gfs-lite/fs.h"
#include "tests/sim/cell.h"
#include "tests/sim/cell_health.h"
#include "tests/sim/jobs_cell.h"
#include "tests/sim/scenario.h"
#include "tests/sim/storm.h"
#include "tests/sim/strike.h"

#define CALM_BEFORE_US (3 * SECOND_US)
#define STORM_US       (25 * SECOND_US)
/* Servers that the last fault ended are back, and elect. */
#define LEADER_US (10 * SECOND_US)
/* So soon after the last fault a job that was begun has ended, */
#define END_US (300 * SECOND_US)
/* and one of this many attempts begun then succeeds. */
#define TRIES 3

enum {
    MASTERS = 2,
    WORKERS = 4,
    JOBS_MAX = 64
};

struct play {
    struct storm *storm;
    struct sim_cell *cell;
    struct jobs_cell *jobs;
    struct fs *fs;
    struct fiber *customer;
    bool over;
    bool succeeded[JOBS_MAX]; /* By number. */
    unsigned success_count;
    unsigned failure_count;
};

/* --- jobs, one after the other ------------------------------------------- */

static bool note_end(struct play *p)
{
    struct jobs_cell *j = p->jobs;
    bool succeeded = j->code == 0;
    p->succeeded[j->number] = succeeded;
    p->success_count += succeeded;
    p->failure_count += !succeeded;
    p->storm->call_count++;
    STORM_CHECK(!succeeded || j->records == JOBS_RECORDS,
                "job %u: %" PRIu64 " records instead of %d", j->number,
                j->records, JOBS_RECORDS);
    if (!succeeded)
        sim_note(p->storm->sim, "job %u fails: %s", j->number, j->err.text);
    return succeeded;
}

static void order_jobs(void *arg)
{
    struct play *p = arg;
    while (!p->over && p->jobs->number + TRIES + 1 < JOBS_MAX) {
        jobs_begin(p->jobs);
        while (!p->over && !p->jobs->done)
            storm_sleep_us(SECOND_US / 10);
        if (p->jobs->done)
            (void)note_end(p);
    }
}

static bool await_end(struct play *p)
{
    uint64_t until = storm_now_us() + END_US;
    while (!p->jobs->done) {
        STORM_CHECK(storm_now_us() < until, "job %u does not end",
                    p->jobs->number);
        jobs_cell_boot_ended(p->jobs);
        storm_sleep_us(SECOND_US / 10);
    }
    return note_end(p);
}

/* --- the play ------------------------------------------------------------ */

static void begin(struct play *p)
{
    const struct sim_cell_options o = {
        .lock_servers = 3, .namenodes = 3, .chunk_servers = 6};
    p->cell = sim_cell_new(p->storm->sim, &o);
    p->jobs = jobs_cell_new(p->cell, WORKERS, MASTERS);
    sim_cell_boot(p->cell);
    storm_sleep_us(CALM_BEFORE_US);
    p->fs = sim_cell_fs(p->cell, sim_director(p->storm->sim), "director");
    jobs_write_input(p->fs);
    jobs_cell_boot(p->jobs);
    p->customer = fiber_start(loop_self(), "customer", order_jobs, p);
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
    struct world *machines[JOBS_WORKERS_MAX];
    size_t count;
    add_servers(&s, p, SIM_LOCK_SERVER);
    add_servers(&s, p, SIM_NAMENODE);
    add_servers(&s, p, SIM_CHUNK_SERVER);
    count = jobs_cell_masters(p->jobs, machines);
    strike_add(&s, machines, count, count);
    count = jobs_cell_workers(p->jobs, machines);
    strike_add(&s, machines, count, count);
    return strike_run(&s);
}

static void finish(struct play *p)
{
    bool succeeded = false;
    if (!p->jobs->done)
        (void)await_end(p);
    for (int i = 0; i < TRIES && !succeeded; i++) {
        jobs_begin(p->jobs);
        succeeded = await_end(p);
    }
    STORM_CHECK(succeeded, "all is well, and jobs fail: %s", p->jobs->err.text);
    for (unsigned i = 0; i <= p->jobs->number; i++)
        if (p->succeeded[i])
            jobs_check_output(p->fs, i);
    fs_close(p->fs);
    jobs_cell_stop(p->jobs);
    sim_cell_stop(p->cell);
}

static void run_jobs(struct storm *s, struct buf *figures)
{
    struct play p = {.storm = s};
    uint64_t faults;
    begin(&p);
    faults = strike(&p);
    sim_cell_supervise(p.cell);
    cell_check_leaders(p.cell, LEADER_US);
    p.over = true;
    fiber_join(p.customer);
    finish(&p);
    buf_printf(figures,
               " faults=%" PRIu64 " succeeded=%u failed=%u early=%" PRIu64,
               faults, p.success_count, p.failure_count, p.jobs->early_bytes);
    jobs_cell_free(p.jobs);
    sim_cell_free(p.cell);
}

const struct scenario scenario_jobs = {
    "jobs",
    "3 lock servers, 3 namenodes, 6 chunk servers, 2 job masters, 4 workers",
    run_jobs};
