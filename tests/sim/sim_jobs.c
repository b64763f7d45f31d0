/* Jobs on a simulated cell end with the right output whatever dies: workers, a
 * chunk server, the job master. What is counted is counted once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/rpc/remote.h"
#include "base/runtime/fiber.h"
#include "chubby-lite/chubby.h"
#include "gfs-lite/gfs.h"
#include "mapreduce/cluster/cell_host.h"
#include "mapreduce/cluster/pool.h"
#include "mapreduce/cluster/worker.h"
#include "mapreduce/job.h"
#include "mapreduce/mapreduce.h"
#include "mapreduce/task.h"
#include "tests/lib/check_main.h"
#include "tests/sim/cell.h"

enum {
    WORKERS = 4,
    FILES = 6,
    LINES = 400,
    SPLIT = 2000
};

#define SECOND_US UINT64_C(1000000)
#define PORT      ":7100"

static struct sim_cluster *sim;
static struct sim_cell *cell;

/* --- the job: how often each word is there ---------------------------------
 */

static struct world *slow_machine; /* Whose records take time. */

static int
map_words(struct mr_task *t, const struct mr_record *r, struct err *err)
{
    (void)err;
    mr_emit_count(t, r->value, 1);
    return 0;
}

static int reduce_words(struct mr_task *t,
                        struct slice key,
                        struct mr_values *v,
                        struct err *err)
{
    (void)err;
    mr_write_count(mr_output(t, NULL), key, mr_values_sum(v));
    return 0;
}

static const struct mr_job words = {.abi_version = MR_ABI_VERSION,
                                    .name = "words",
                                    .map = map_words,
                                    .reduce = reduce_words,
                                    .combine = mr_combine_sum};

static const struct mr_job *find_job(const char *name)
{
    return strcmp(name, words.name) == 0 ? &words : NULL;
}

/* --- workers ----------------------------------------------------------------
 */

struct sim_worker {
    struct world *world;
    char name[16];
    char address[32];
    struct worker *worker;
};

static struct sim_worker workers[WORKERS];

static int open_fs(void *ctx, struct fs **out, struct err *err)
{
    const struct sim_worker *k = ctx;
    const struct gfs_options o = {.namenodes = cell->fs_addresses,
                                  .name = k->name,
                                  .security = cell->security};
    return fs_gfs_open(k->world, &o, out, err);
}

/* An attempt takes a while of virtual time, so that something can happen. */
static void pass_time(void *ctx, const char *step, unsigned task, unsigned n)
{
    struct sim_worker *k = ctx;
    (void)task;
    (void)n;
    if (strcmp(step, "mapped") == 0 || strcmp(step, "reduced") == 0)
        world_sleep_us(k->world, k->world == slow_machine ? 60 * SECOND_US
                                                          : SECOND_US / 5);
}

static int open_host(void *ctx,
                     const struct job_setup *setup,
                     unsigned slots,
                     struct attempt_host **out,
                     struct err *err)
{
    struct mr_options *o = (struct mr_options *)(uintptr_t)setup->opts;
    (void)slots;
    o->step = pass_time;
    o->step_ctx = ctx;
    return inline_host_open(setup, out, err);
}

static void worker_main(void *arg)
{
    struct sim_worker *k = arg;
    struct rpc_server *rpc = rpc_server_new(k->world);
    struct worker_options o = {.cell = cell->lock_addresses,
                               .cell_count = cell->options.lock_servers,
                               .security = cell->security,
                               .name = k->name,
                               .directory = "/worker",
                               .slots = 1,
                               .memory_bytes = 64 << 20,
                               .lease_ms = 3000,
                               .open_fs = open_fs,
                               .open_host = open_host,
                               .find = find_job,
                               .ctx = k};
    struct rpc_listen_options listen = {.security = cell->security};
    struct rpc_listener *listener = NULL;
    struct err err = ERR_INIT;
    int code = worker_open(k->world, rpc, &o, &k->worker, &err);
    if (code == 0)
        code = rpc_listen(rpc, "0.0.0.0" PORT, &listen, &listener, &err);
    if (code == 0) {
        worker_start(k->worker, k->address);
        while (fiber_check(NULL) == 0 && worker_health(k->worker, NULL) == 0)
            world_sleep_us(k->world, 100000);
        worker_stop(k->worker);
    }
    rpc_listener_close(listener);
    worker_close(k->worker);
    k->worker = NULL;
    rpc_server_free(rpc);
}

static void boot_workers(void)
{
    for (int i = 0; i < WORKERS; i++) {
        struct sim_worker *k = &workers[i];
        snprintf(k->name, sizeof(k->name), "w%d", i);
        snprintf(k->address, sizeof(k->address), "w%d" PORT, i);
        k->world = sim_machine_new(sim, k->name,
                                   &(struct sim_options){.network_us = 300});
        sim_boot(k->world, worker_main, k);
    }
}

/* --- the job master ---------------------------------------------------------
 */

struct sim_master {
    struct world *world;
    bool done;
    int code;
    struct err err;
    int64_t records; /* Of the report. */
    unsigned resumes;
};

static struct worker_pool *pool;

static int host_on_pool(void *ctx,
                        const struct job_setup *setup,
                        struct attempt_host **out,
                        struct err *err)
{
    const struct cell_job job = {.weight = 1};
    (void)ctx;
    return cell_host_open(pool, setup, &job, out, err);
}

static int run_job(struct sim_master *m, struct fs *fs, struct err *err)
{
    const char *inputs[] = {"file:/in/*"};
    const char *outputs[] = {"file:/out"};
    struct mr_options o = {.program = {.job = &words},
                           .inputs = inputs,
                           .input_count = 1,
                           .outputs = outputs,
                           .output_count = 1,
                           .workers = WORKERS,
                           .reducers = 3,
                           .memory_bytes = WORKERS << 20,
                           .split_bytes = SPLIT,
                           .id = "the-job",
                           .history_dir = "/jobs",
                           .fs = fs,
                           .open_host = host_on_pool,
                           .world = m->world};
    struct mr_report *report = NULL;
    struct fs_info info;
    int code;
    if (fs_stat(fs, "jobs/the-job", &info, NULL) == 0 && m->resumes++ < 20)
        code = mr_resume(&o, "the-job", find_job, &report, err);
    else
        code = mr_run(&o, &report, err);
    if (report)
        m->records = mr_report_counter(report, "map.records");
    for (size_t i = 0; report && i < report->note_count; i++)
        if (getenv("QUARRY_TRACE"))
            fprintf(stderr, "note: %s\n", report->notes[i]);
    mr_report_free(report);
    return code;
}

static int reign(struct sim_master *m, struct chubby *chubby, struct err *err)
{
    struct chubby_handle *h = NULL;
    struct worker_pool_options o = {.chubby = chubby,
                                    .security = cell->security};
    char sequencer[CHUBBY_SEQUENCER_BYTES_MAX];
    struct fs *fs = NULL;
    int code =
        chubby_open(chubby, "/job-master",
                    CHUBBY_READ | CHUBBY_WRITE | CHUBBY_CREATE, NULL, &h, err);
    if (code == 0)
        code = chubby_acquire(h, CHUBBY_EXCLUSIVE, err);
    if (code == 0)
        code = chubby_sequencer(h, sequencer, err);
    o.sequencer = sequencer;
    if (code == 0)
        code = worker_pool_open(m->world, &o, &pool, err);
    if (code == 0) {
        fs = sim_cell_fs(cell, m->world, "master");
        code = run_job(m, fs, err);
        fs_close(fs);
        worker_pool_close(pool);
    }
    chubby_close(h);
    return code;
}

static void master_main(void *arg)
{
    struct sim_master *m = arg;
    struct chubby *chubby = NULL;
    struct err err = ERR_INIT;
    int code = sim_cell_chubby(cell, m->world, NULL, NULL, &chubby, &err);
    if (code == 0)
        code = reign(m, chubby, &err);
    chubby_disconnect(chubby);
    if (fiber_check(NULL))
        return;
    m->code = code;
    m->err = err;
    m->done = true;
}

/* --- input and output -------------------------------------------------------
 */

static unsigned word_of(unsigned file, unsigned line)
{
    return (file * 7919 + line * 31) % 97;
}

static void write_input(struct fs *fs)
{
    struct fs_write_options o = {.mode = FS_WRITE_STREAM};
    for (unsigned i = 0; i < FILES; i++) {
        struct fs_writer *w;
        char path[32];
        snprintf(path, sizeof(path), "in/%u", i);
        ck_assert_int_eq(fs_create(fs, path, &o, &w, NULL), 0);
        for (unsigned k = 0; k < LINES; k++) {
            char line[32];
            int n = snprintf(line, sizeof(line), "word%05u\n", word_of(i, k));
            ck_assert_int_eq(fs_writer_append(w, line, (size_t)n, NULL), 0);
        }
        ck_assert_int_eq(fs_writer_sync(w, NULL), 0);
        fs_writer_close(w);
    }
}

static void check_output(struct fs *fs)
{
    unsigned want[97] = {0};
    unsigned got[97] = {0};
    char **names;
    size_t count;
    for (unsigned i = 0; i < FILES; i++)
        for (unsigned k = 0; k < LINES; k++)
            want[word_of(i, k)]++;
    ck_assert_int_eq(fs_list(fs, "out", &names, &count, NULL), 0);
    for (size_t i = 0; i < count; i++) {
        struct buf path = BUF_INIT;
        struct buf text = BUF_INIT;
        unsigned word;
        unsigned n;
        int used;
        buf_printf(&path, "out/%s", names[i]);
        if (strncmp(names[i], "part", 4) == 0)
            ck_assert_int_eq(
                fs_read_all(fs, buf_cstr(&path), 1 << 20, &text, NULL), 0);
        for (const char *p = buf_cstr(&text);
             sscanf(p, "word%u\t%u\n%n", &word, &n, &used) == 2; p += used)
            got[word] += n;
        buf_close(&path);
        buf_close(&text);
    }
    fs_names_free(names, count);
    for (unsigned i = 0; i < 97; i++)
        ck_assert_msg(got[i] == want[i], "word %u: %u instead of %u", i, got[i],
                      want[i]);
}

/* --- scenarios ---------------------------------------------------------------
 */

static void sleep_us(uint64_t us)
{
    world_sleep_us(sim_director(sim), us);
}

/* What goes wrong, beside the job. */
typedef void (*trouble_fn)(struct sim_master *m);
static trouble_fn trouble;

static void print_line(void *ctx, const char *line)
{
    if (ctx || strstr(line, "INFO job-master") || strstr(line, "INFO worker") ||
        strstr(line, ": WARN"))
        fprintf(stderr, "%s\n", line);
}

static void scenario(void *arg)
{
    struct sim_master m = {.code = 0};
    struct fs *fs;
    (void)arg;
    sim_cell_boot(cell);
    sleep_us(3 * SECOND_US);
    fs = sim_cell_fs(cell, sim_director(sim), "director");
    write_input(fs);
    boot_workers();
    m.world = sim_machine_new(sim, "master",
                              &(struct sim_options){.network_us = 300});
    sim_boot(m.world, master_main, &m);
    if (trouble)
        trouble(&m);
    for (int i = 0; i < 3000 && !m.done; i++)
        sleep_us(SECOND_US / 10);
    ck_assert_msg(m.done, "the job has not ended");
    ck_assert_msg(m.code == 0, "%s", m.err.text);
    ck_assert_int_eq(m.records, FILES * LINES);
    check_output(fs);
    fs_close(fs);
    sim_await_end(m.world);
    for (int i = 0; i < WORKERS; i++) {
        sim_resume(workers[i].world);
        sim_stop(workers[i].world);
    }
    sim_cell_stop(cell);
}

static void play(trouble_fn what)
{
    trouble = what;
    slow_machine = NULL;
    memset(workers, 0, sizeof(workers));
    sim = sim_cluster_new(test_seed());
    if (getenv("QUARRY_TRACE"))
        sim_cluster_on_trace(sim, print_line, NULL);
    cell = sim_cell_new(sim, &(struct sim_cell_options){.lock_servers = 1,
                                                        .namenodes = 1,
                                                        .chunk_servers = 3});
    sim_cluster_run(sim, scenario, NULL);
    sim_cell_free(cell);
    sim_cluster_free(sim);
}

/* A job on a cell does what it does on one machine. */
START_TEST(test_a_job_on_a_cell)
{
    play(NULL);
}

END_TEST

/* --- troubles ---------------------------------------------------------------
 */

static void crash_worker(int i, enum sim_crash how)
{
    sim_crash(workers[i].world, how);
    sim_await_end(workers[i].world);
}

static void lose_two_in_maps(struct sim_master *m)
{
    (void)m;
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

static void lose_one_after_another(struct sim_master *m)
{
    for (int i = 0; i < 12 && !m->done; i++) {
        int k = i % WORKERS;
        sleep_us(SECOND_US * 7 / 10);
        crash_worker(k, i % 2 ? SIM_CRASH_KILL : SIM_CRASH_POWER);
        sleep_us(SECOND_US / 2);
        sim_boot_again(workers[k].world);
    }
}

/* However often workers die and return, in maps and in reduces, the job ends:
 * maps whose output is lost run again. */
START_TEST(test_workers_die_and_return)
{
    play(lose_one_after_another);
}

END_TEST

static void stop_one(struct sim_master *m)
{
    (void)m;
    sleep_us(SECOND_US);
    sim_pause(workers[2].world);
}

/* What runs on a worker that was stopped runs elsewhere, too. */
START_TEST(test_a_worker_is_stopped)
{
    play(stop_one);
}

END_TEST

static void stop_and_go(struct sim_master *m)
{
    for (int i = 0; i < 8 && !m->done; i++) {
        sim_pause(workers[i % WORKERS].world);
        sleep_us(SECOND_US * 2);
        sim_resume(workers[i % WORKERS].world);
        sleep_us(SECOND_US / 4);
    }
}

/* What comes late is not taken twice. */
START_TEST(test_workers_stop_and_go_on)
{
    play(stop_and_go);
}

END_TEST

static void lose_the_master(struct sim_master *m)
{
    for (int i = 0; i < 4 && !m->done; i++) {
        sleep_us(SECOND_US * 9 / 10);
        if (m->done)
            return;
        sim_crash(m->world, i % 2 ? SIM_CRASH_KILL : SIM_CRASH_POWER);
        sim_await_end(m->world);
        sleep_us(SECOND_US * 2);
        if (!m->done)
            sim_boot_again(m->world);
    }
}

/* A job whose master dies goes on where it was: maps that were done are not
 * repeated while their workers live. */
START_TEST(test_the_master_dies)
{
    play(lose_the_master);
}

END_TEST

static void lose_a_chunk_server(struct sim_master *m)
{
    (void)m;
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
          test_workers_die_and_return,
          test_a_worker_is_stopped,
          test_workers_stop_and_go_on,
          test_the_master_dies,
          test_a_chunk_server_dies)
