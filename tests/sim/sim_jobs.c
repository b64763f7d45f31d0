/* Jobs on a simulated cell end with the right output whatever dies: workers, a
 * chunk server, the job master. Everything is counted once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "gfs-lite/fs.h"
#include "mapreduce/cluster/worker.h"
#include "mapreduce/shuffle/spill.h"
#include "tests/lib/check_main.h"
#include "tests/sim/cell.h"
#include "tests/sim/cut_fs.h"
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

/* The fault beside the job. */
typedef void (*trouble_fn)(void);
static trouble_fn trouble;

static unsigned refused; /* Pulled runs that were damaged. */

static void see_line(void *ctx, const char *line)
{
    refused += strstr(line, "no more is pulled from") != NULL &&
               strstr(line, "wrong checksum") != NULL;
    if (!getenv("QUARRY_TRACE"))
        return;
    if (ctx || strstr(line, "INFO job-master") || strstr(line, "INFO worker") ||
        strstr(line, ": WARN"))
        fprintf(stderr, "%s\n", line);
}

static bool has_side; /* Jobs have a side file. */

static void scenario(void *arg)
{
    struct fs *fs;
    (void)arg;
    sim_cell_boot(cell);
    sleep_us(3 * SECOND_US);
    fs = sim_cell_fs(cell, sim_director(sim), "director");
    jobs_write_input(fs);
    if (has_side)
        jobs_write_side(fs);
    jobs->has_side = has_side;
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
    sim_cluster_on_trace(sim, see_line, NULL);
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

/* --- troubles ------------------------------------------------------------ */

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

/* Until some worker that lives has brought something while maps ran. WORKERS:
 * none has before the job was done. */
static int await_puller(void)
{
    while (!jobs->done) {
        for (int k = 0; k < WORKERS; k++) {
            struct worker_stats s = {.early_bytes = 0};
            if (sim_is_up(jobs->workers[k].world) && jobs->workers[k].worker)
                worker_get_stats(jobs->workers[k].worker, &s);
            if (s.early_bytes > 0)
                return k;
        }
        sleep_us(SECOND_US / 100);
    }
    return WORKERS;
}

static void lose_who_has_pulled(void)
{
    for (int i = 0; i < WORKERS - 1; i++) {
        int k = await_puller();
        /* Of those that are left none may have to pull any more. */
        ck_assert(k < WORKERS || i > 0);
        if (k == WORKERS)
            return;
        crash_worker(k, i % 2 ? SIM_CRASH_KILL : SIM_CRASH_POWER);
    }
}

/* Workers die that have brought pieces together, one after the other: their
 * partitions are others', which bring what is needed again. */
START_TEST(test_workers_die_that_have_pulled)
{
    play(lose_who_has_pulled);
}

END_TEST

static void hang_who_has_pulled(void)
{
    int k = await_puller();
    ck_assert_int_lt(k, WORKERS);
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
    ck_assert_int_lt(await_puller(), WORKERS);
    sim_crash(jobs->masters[0].world, SIM_CRASH_KILL);
    sim_await_end(jobs->masters[0].world);
    sleep_us(SECOND_US / 2);
    sim_boot_again(jobs->masters[0].world);
}

/* The next job master knows nothing of what was pulled: it restarts. */
START_TEST(test_the_master_dies_while_workers_pull)
{
    play(lose_master_while_pulling);
}

END_TEST

/* Change a byte of each segment of a spill; false: it is not complete. */
static bool rot_file(struct world *w, const char *path)
{
    struct spill_segment *found = NULL;
    struct file *f = NULL;
    size_t count = 0;
    bool there = spill_index_read(w, path, &found, &count, NULL) == 0;
    if (there)
        ck_assert_int_eq(file_open(w, path, FILE_READ | FILE_WRITE, &f, NULL),
                         0);
    for (size_t i = 0; i < count; i++) {
        uint64_t at = found[i].offset + BLOCK_HEADER_BYTES;
        char byte = 0;
        struct slice bytes = slice_make(&byte, 1);
        size_t got;
        ck_assert_int_eq(file_read_at(f, at, &byte, 1, &got, NULL), 0);
        byte ^= 1;
        ck_assert_int_eq(file_write_at(f, at, &bytes, 1, NULL), 0);
    }
    file_close(f);
    mem_free(found);
    return there;
}

/* Each spill of a worker that is not @known yet, by its task. */
static void rot(const struct jobs_worker *k, bool known[64])
{
    struct worker_stats s = {.number = 0};
    char id[JOBS_ID_BYTES];
    char dir[128];
    char **names;
    size_t count;
    worker_get_stats(k->worker, &s);
    jobs_id(id, 0);
    snprintf(dir, sizeof(dir), "/worker/%016llx/%s/work",
             (unsigned long long)s.number, id);
    if (world_list(k->world, dir, &names, &count, NULL))
        return;
    for (size_t i = 0; i < count; i++) {
        char path[256];
        unsigned task;
        if (!strstr(names[i], ".spill") ||
            sscanf(names[i], "m%u.1.", &task) != 1 || task >= 64 || known[task])
            continue;
        snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        known[task] = rot_file(k->world, path);
    }
    world_names_free(names, count);
}

static void rot_spills(void)
{
    bool known[64] = {false};
    for (int i = 0; i < 500 && !jobs->done && refused == 0; i++) {
        sleep_us(SECOND_US / 100);
        if (jobs->workers[0].worker)
            rot(&jobs->workers[0], known);
    }
}

/* Output that a worker's disk has changed is detected, and the maps run
 * again. */
START_TEST(test_a_disk_rots_that_others_pull_from)
{
    play(rot_spills);
    ck_assert_uint_gt(refused, 0);
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

/* Attempts of a stopped worker run elsewhere as well. */
START_TEST(test_a_worker_is_stopped)
{
    play(stop_one);
}

END_TEST

/* How much of the side file is on worker @k. */
static uint64_t copied_to(const struct jobs_worker *k)
{
    struct worker_stats s = {.number = 0};
    struct file_info info;
    char id[JOBS_ID_BYTES];
    char path[128];
    if (!k->worker)
        return 0;
    worker_get_stats(k->worker, &s);
    jobs_id(id, 0);
    snprintf(path, sizeof(path), "/worker/%016llx/%s/package/1/" JOBS_SIDE_NAME,
             (unsigned long long)s.number, id);
    return world_stat(k->world, path, &info, NULL) ? 0 : info.size_bytes;
}

/* Pause the workers that have a part of the side file, up to @max; returns
 * how many. */
static int stop_who_copies(int max)
{
    bool stopped[WORKERS] = {false};
    int count = 0;
    for (int i = 0; i < 20000 && count < max && !jobs->done; i++) {
        sleep_us(SECOND_US / 10000);
        for (int k = 0; k < WORKERS && count < max; k++) {
            uint64_t bytes = stopped[k] ? 0 : copied_to(&jobs->workers[k]);
            if (bytes == 0 || bytes == JOBS_SIDE_BYTES)
                continue;
            sim_pause(jobs->workers[k].world);
            stopped[k] = true;
            count++;
        }
    }
    return count;
}

static void stop_a_copy(void)
{
    ck_assert_int_eq(stop_who_copies(1), 1);
}

static void stop_all_copies(uint64_t us)
{
    ck_assert_int_eq(stop_who_copies(WORKERS), WORKERS);
    sleep_us(us);
    for (int k = 0; k < WORKERS; k++)
        sim_resume(jobs->workers[k].world);
    for (int i = 0; i < 100 && !jobs->done; i++) {
        jobs_cell_boot_ended(jobs);
        sleep_us(SECOND_US / 10);
    }
}

static void stop_all_copies_briefly(void)
{
    stop_all_copies(SECOND_US);
}

static void stop_all_copies_for_long(void)
{
    stop_all_copies(SECOND_US * 10);
}

/* One that stops as it copies what belongs to a job is not waited for. */
START_TEST(test_a_worker_is_stopped_as_it_copies)
{
    has_side = true;
    play(stop_a_copy);
}

END_TEST

/* Where all do, the job waits until they continue, */
START_TEST(test_all_workers_stop_briefly_as_they_copy)
{
    has_side = true;
    play(stop_all_copies_briefly);
}

END_TEST

/* or are there again, as other workers since their sessions are over. */
START_TEST(test_all_workers_stop_as_they_copy)
{
    has_side = true;
    play(stop_all_copies_for_long);
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

/* Late results are not counted twice. */
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

/* A job whose master dies continues where it was: maps that were done are
 * not repeated while their workers live. */
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

/* --- a job master is cut at every step of a job -------------------------- */

/* Under sanitizers every third step, another third for another seed; all of
 * them in the optimised build, by scripts/test. */
#ifdef __SANITIZE_ADDRESS__
#define STRIDE 3
#else
#define STRIDE 1
#endif

static struct cut cut;

/* A machine that dies as the power fails, or as it is killed. */
static void crash_it(uint64_t at)
{
    sim_crash(cut.machine, at % 2 ? SIM_CRASH_KILL : SIM_CRASH_POWER);
    sim_await_end(cut.machine);
    sleep_us(SECOND_US / 2);
    sim_boot_again(cut.machine);
}

static void await_job(void)
{
    for (int i = 0; i < 3000 && !jobs->done; i++)
        sleep_us(SECOND_US / 10);
    ck_assert_msg(jobs->done, "job %u has not ended", jobs->number);
}

static void crash_it_again(void)
{
    struct world *m = jobs->masters[0].world;
    sim_crash(m, SIM_CRASH_KILL);
    sim_await_end(m);
    sim_boot_again(m);
}

/* One that can change no file for a while: a job may fail of that, but what it
 * said of a job's end is so for ever, also when another master is asked. */
static void refuse_it(uint64_t at)
{
    int rc;
    sleep_us(SECOND_US * (1 + at / STRIDE % 3));
    cut.released = true;
    await_job();
    rc = jobs->code;
    crash_it_again();
    jobs_ask_again(jobs);
    await_job();
    ck_assert_msg(jobs->code == rc, "first %d, then %d: %s", rc, jobs->code,
                  jobs->err.text);
}

/* One that stands still until another master has ended its job, and then does
 * what it was about to do. */
static void pause_it(uint64_t at)
{
    (void)at;
    sim_pause(cut.machine);
    await_job();
    sim_resume(cut.machine);
    cut.released = true;
    sleep_us(SECOND_US * 5);
}

/* One whose lock is another's by then, or is just about to be. */
static void pause_it_briefly(uint64_t at)
{
    sim_pause(cut.machine);
    sleep_us(SECOND_US * 2 + at % 16 * SECOND_US / 4);
    sim_resume(cut.machine);
    cut.released = true;
    await_job();
    sleep_us(SECOND_US * 5);
}

static void (*hurt)(uint64_t at);

/* Write the output that job @number replaces: a count that is not its own. */
static void write_old_output(struct fs *fs, unsigned number)
{
    static const char old[] = "word00001\t5\n";
    char path[32];
    int rc;
    struct err err = ERR_INIT;
    snprintf(path, sizeof(path), "out-%u/part-old", number);
    rc = fs_replace(fs, path, slice_str(old), &err);
    ck_assert_msg(rc == 0, "%s", err.text);
}

/* There is nothing but results in an output, what job @number replaced least of
 * all. */
static void check_names(struct fs *fs, unsigned number)
{
    char path[32];
    char **names;
    size_t count;
    snprintf(path, sizeof(path), "out-%u", number);
    ck_assert_int_eq(fs_list(fs, path, &names, &count, NULL), 0);
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(strncmp(names[i], "part-0", 6) == 0 ||
                          strcmp(names[i], "_SUCCESS") == 0,
                      "%s/%s", path, names[i]);
    fs_names_free(names, count);
}

/* Nothing hidden is left beside the outputs, by whichever master. */
static void check_nothing_left(struct fs *fs, bool after)
{
    char **names;
    size_t count;
    ck_assert_int_eq(fs_list(fs, "", &names, &count, NULL), 0);
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(names[i][0] != '.', "cut %s step %u: %s is left",
                      after ? "behind" : "before", (unsigned)cut.at, names[i]);
    fs_names_free(names, count);
}

/* One job, cut there; false: it has fewer steps. */
static bool cut_job_at(struct fs *fs, uint64_t at, bool after)
{
    unsigned number;
    bool fails = hurt == refuse_it;
    cut = (struct cut){.at = at, .after = after, .fails = fails};
    if (jobs->overwrite)
        write_old_output(fs, jobs->number + jobs->wanted);
    number = jobs_begin(jobs);
    while (!jobs->done && !cut.reached)
        sleep_us(SECOND_US / 1000);
    if (cut.reached)
        hurt(at);
    await_job();
    if (jobs->code && fails)
        return true;
    ck_assert_msg(jobs->code == 0, "job %u, cut %s step %u: %s", number,
                  after ? "behind" : "before", (unsigned)at, jobs->err.text);
    ck_assert_uint_eq(jobs->records, JOBS_RECORDS);
    jobs_check_output(fs, number);
    if (!fails)
        check_names(fs, number);
    if (!fails)
        check_nothing_left(fs, after);
    return cut.reached;
}

static void sweep(void *arg)
{
    struct fs *fs;
    uint64_t at = 1 + test_seed() % STRIDE;
    (void)arg;
    sim_cell_boot(cell);
    sleep_us(3 * SECOND_US);
    fs = sim_cell_fs(cell, sim_director(sim), "director");
    jobs_write_input(fs);
    jobs_cell_boot(jobs);
    while (cut_job_at(fs, at, false) &&
           (jobs->in_parts || cut_job_at(fs, at, true)))
        at += STRIDE;
    ck_assert_uint_gt(at, 30);
    fs_close(fs);
    jobs_cell_stop(jobs);
    sim_cell_stop(cell);
}

static void play_sweep(void (*what)(uint64_t at),
                       unsigned masters,
                       bool overwrite,
                       bool in_parts)
{
    hurt = what;
    cut = (struct cut){.at = 0};
    sim = sim_cluster_new(test_seed());
    sim_cluster_on_trace(sim, see_line, NULL);
    cell = sim_cell_new(sim, &(struct sim_cell_options){.lock_servers = 1,
                                                        .namenodes = 1,
                                                        .chunk_servers = 3});
    jobs = jobs_cell_new(cell, WORKERS, masters);
    jobs->cut = &cut;
    jobs->overwrite = overwrite;
    jobs->in_parts = in_parts;
    sim_cluster_run(sim, sweep, NULL);
    jobs_cell_free(jobs);
    sim_cell_free(cell);
    sim_cluster_free(sim);
}

/* At whichever change a master dies, before or after it, the next one
 * continues: the same submission is one job, which succeeds once. */
START_TEST(test_the_master_dies_at_every_step)
{
    play_sweep(crash_it, 1, false, false);
}

END_TEST

/* Also where the output takes the place of an older one. */
START_TEST(test_the_master_dies_as_it_overwrites)
{
    play_sweep(crash_it, 1, true, false);
}

END_TEST

/* The same holds if it only stood still, and continues beside the next one. */
START_TEST(test_the_master_hangs_at_every_step)
{
    play_sweep(pause_it, 2, false, false);
}

END_TEST

/* A job that is several restarts, and nothing is left of what it was. (It
 * has twice the steps: it is cut before each.) */
START_TEST(test_the_master_dies_at_every_step_of_parts)
{
    play_sweep(crash_it, 1, false, true);
}

END_TEST

START_TEST(test_the_master_hangs_at_every_step_of_parts)
{
    play_sweep(pause_it, 2, false, true);
}

END_TEST

START_TEST(test_files_fail_from_every_step_on)
{
    play_sweep(refuse_it, 1, false, false);
}

END_TEST

/* And in the midst of what the next one does. */
START_TEST(test_masters_work_side_by_side)
{
    play_sweep(pause_it_briefly, 2, true, false);
}

END_TEST

TEST_MAIN("jobs",
          test_the_master_dies_at_every_step,
          test_the_master_dies_as_it_overwrites,
          test_the_master_hangs_at_every_step,
          test_the_master_dies_at_every_step_of_parts,
          test_the_master_hangs_at_every_step_of_parts,
          test_masters_work_side_by_side,
          test_files_fail_from_every_step_on,
          test_a_job_on_a_cell,
          test_workers_die_in_maps,
          test_workers_die_that_have_pulled,
          test_a_worker_hangs_that_has_pulled,
          test_the_master_dies_while_workers_pull,
          test_a_disk_rots_that_others_pull_from,
          test_workers_die_and_return,
          test_a_worker_is_stopped,
          test_a_worker_is_stopped_as_it_copies,
          test_all_workers_stop_briefly_as_they_copy,
          test_all_workers_stop_as_they_copy,
          test_workers_stop_and_go_on,
          test_the_master_dies,
          test_a_chunk_server_dies)
