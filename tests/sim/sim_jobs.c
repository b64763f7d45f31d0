/* Jobs on a simulated cell end with the right output whatever dies: workers, a
 * chunk server, the job master. What is counted is counted once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gfs-lite/fs.h"
#include "mapreduce/cluster/worker.h"
#include "tests/lib/check_main.h"
#include "tests/sim/cell.h"
#include "tests/sim/jobs_cell.h"

enum {
    WORKERS = 4
};

#define SECOND_US UINT64_C(1000000)

static struct sim_cluster *sim;
static struct sim_cell *cell;
static struct jobs_cell *jobs;
static uint64_t early_bytes; /* Of the job. */

static void sleep_us(uint64_t us)
{
    world_sleep_us(sim_director(sim), us);
}

/* What goes wrong, beside the job. */
typedef void (*trouble_fn)(void);
static trouble_fn trouble;

static void print_line(void *ctx, const char *line)
{
    if (ctx || strstr(line, "INFO job-master") || strstr(line, "INFO worker") ||
        strstr(line, ": WARN"))
        fprintf(stderr, "%s\n", line);
}

static void scenario(void *arg)
{
    struct fs *fs;
    (void)arg;
    sim_cell_boot(cell);
    sleep_us(3 * SECOND_US);
    fs = sim_cell_fs(cell, sim_director(sim), "director");
    jobs_write_input(fs);
    jobs_cell_boot(jobs);
    jobs_begin(jobs);
    if (trouble)
        trouble();
    for (int i = 0; i < 3000 && !jobs->done; i++)
        sleep_us(SECOND_US / 10);
    ck_assert_msg(jobs->done, "the job has not ended");
    ck_assert_msg(jobs->code == 0, "%s", jobs->err.text);
    ck_assert_uint_eq(jobs->records, JOBS_RECORDS);
    jobs_check_output(fs, 0);
    early_bytes = jobs->early_bytes;
    fs_close(fs);
    jobs_cell_stop(jobs);
    sim_cell_stop(cell);
}

static void play(trouble_fn what)
{
    trouble = what;
    sim = sim_cluster_new(test_seed());
    if (getenv("QUARRY_TRACE"))
        sim_cluster_on_trace(sim, print_line, NULL);
    cell = sim_cell_new(sim, &(struct sim_cell_options){.lock_servers = 1,
                                                        .namenodes = 1,
                                                        .chunk_servers = 3});
    jobs = jobs_cell_new(cell, WORKERS, 1);
    sim_cluster_run(sim, scenario, NULL);
    jobs_cell_free(jobs);
    sim_cell_free(cell);
    sim_cluster_free(sim);
}

/* A job on a cell does what it does on one machine, and what maps leave on
 * other machines comes while maps still run. */
START_TEST(test_a_job_on_a_cell)
{
    play(NULL);
    ck_assert_uint_gt(early_bytes, 0);
}

END_TEST

/* --- troubles ---------------------------------------------------------------
 */

static void crash_worker(int i, enum sim_crash how)
{
    sim_crash(jobs->workers[i].world, how);
    sim_await_end(jobs->workers[i].world);
}

static void lose_two_in_maps(void)
{
    sleep_us(SECOND_US * 3 / 2);
    crash_worker(0, SIM_CRASH_KILL);
    sleep_us(SECOND_US / 10);
    crash_worker(1, SIM_CRASH_POWER);
}

/* Workers that die while maps run take with them what was done. */
START_TEST(test_workers_die_in_maps)
{
    play(lose_two_in_maps);
}

END_TEST

/* Until some worker that lives has brought something while maps ran. */
static int await_puller(void)
{
    for (int i = 0; i < 1000; i++) {
        for (int k = 0; k < WORKERS; k++) {
            struct worker_stats s = {.early_bytes = 0};
            if (sim_is_up(jobs->workers[k].world) && jobs->workers[k].worker)
                worker_get_stats(jobs->workers[k].worker, &s);
            if (s.early_bytes > 0)
                return k;
        }
        sleep_us(SECOND_US / 100);
    }
    ck_abort_msg("nothing was pulled");
}

static void lose_who_has_pulled(void)
{
    for (int i = 0; i < WORKERS - 1; i++)
        crash_worker(await_puller(), i % 2 ? SIM_CRASH_KILL : SIM_CRASH_POWER);
}

/* Workers die that have brought pieces together, one after the other: their
 * partitions are others', which bring what is needed anew. */
START_TEST(test_workers_die_that_have_pulled)
{
    play(lose_who_has_pulled);
}

END_TEST

static void hang_who_has_pulled(void)
{
    int k = await_puller();
    sim_pause(jobs->workers[k].world);
    sleep_us(SECOND_US * 3);
    sim_resume(jobs->workers[k].world);
}

/* One that hangs in the midst of it, and comes back. */
START_TEST(test_a_worker_hangs_that_has_pulled)
{
    play(hang_who_has_pulled);
}

END_TEST

static void lose_master_while_pulling(void)
{
    (void)await_puller();
    sim_crash(jobs->masters[0].world, SIM_CRASH_KILL);
    sim_await_end(jobs->masters[0].world);
    sleep_us(SECOND_US / 2);
    sim_boot_again(jobs->masters[0].world);
}

/* The next job master knows nothing of what was pulled: it begins anew. */
START_TEST(test_the_master_dies_while_workers_pull)
{
    play(lose_master_while_pulling);
}

END_TEST

static void lose_one_after_another(void)
{
    for (int i = 0; i < 12 && !jobs->done; i++) {
        int k = i % WORKERS;
        sleep_us(SECOND_US * 7 / 10);
        crash_worker(k, i % 2 ? SIM_CRASH_KILL : SIM_CRASH_POWER);
        sleep_us(SECOND_US / 2);
        sim_boot_again(jobs->workers[k].world);
    }
}

/* However often workers die and return, in maps and in reduces, the job ends:
 * maps whose output is lost run again. */
START_TEST(test_workers_die_and_return)
{
    play(lose_one_after_another);
}

END_TEST

static void stop_one(void)
{
    sleep_us(SECOND_US);
    sim_pause(jobs->workers[2].world);
}

/* What runs on a worker that was stopped runs elsewhere, too. */
START_TEST(test_a_worker_is_stopped)
{
    play(stop_one);
}

END_TEST

static void stop_and_go(void)
{
    for (int i = 0; i < 8 && !jobs->done; i++) {
        sim_pause(jobs->workers[i % WORKERS].world);
        sleep_us(SECOND_US * 2);
        sim_resume(jobs->workers[i % WORKERS].world);
        sleep_us(SECOND_US / 4);
    }
}

/* What comes late is not taken twice. */
START_TEST(test_workers_stop_and_go_on)
{
    play(stop_and_go);
}

END_TEST

static void lose_the_master(void)
{
    for (int i = 0; i < 4 && !jobs->done; i++) {
        sleep_us(SECOND_US * 9 / 10);
        if (jobs->done)
            return;
        sim_crash(jobs->masters[0].world,
                  i % 2 ? SIM_CRASH_KILL : SIM_CRASH_POWER);
        sim_await_end(jobs->masters[0].world);
        sleep_us(SECOND_US * 2);
        if (!jobs->done)
            sim_boot_again(jobs->masters[0].world);
    }
}

/* A job whose master dies goes on where it was: maps that were done are not
 * repeated while their workers live. */
START_TEST(test_the_master_dies)
{
    play(lose_the_master);
}

END_TEST

static void lose_a_chunk_server(void)
{
    sleep_us(SECOND_US / 2);
    sim_crash(cell->chunks[1].world, SIM_CRASH_KILL);
    sim_await_end(cell->chunks[1].world);
    sleep_us(SECOND_US);
    sim_boot_again(cell->chunks[1].world);
}

/* Inputs and outputs are where they are whichever chunk server dies. */
START_TEST(test_a_chunk_server_dies)
{
    play(lose_a_chunk_server);
}

END_TEST

TEST_MAIN("jobs",
          test_a_job_on_a_cell,
          test_workers_die_in_maps,
          test_workers_die_that_have_pulled,
          test_a_worker_hangs_that_has_pulled,
          test_the_master_dies_while_workers_pull,
          test_workers_die_and_return,
          test_a_worker_is_stopped,
          test_workers_stop_and_go_on,
          test_the_master_dies,
          test_a_chunk_server_dies)
