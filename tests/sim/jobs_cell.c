/* The programs of machines that run jobs. */
#include "tests/sim/jobs_cell.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/rpc/remote.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "gfs-lite/gfs.h"
#include "mapreduce/attempt/inline_host.h"
#include "mapreduce/cluster/job_client.h"
#include "mapreduce/cluster/job_master.h"
#include "mapreduce/cluster/worker.h"
#include "mapreduce/job.h"
#include "mapreduce/job_history.h"
#include "mapreduce/mapreduce.h"
#include "mapreduce/records/files.h"
#include "mapreduce/task/host.h"
#include "mapreduce/task/task.h"
#include "tests/sim/cut_fs.h"
#include "tests/sim/storm.h"

enum {
    FILES = 6,
    LINES = 400,
    WORDS = 97,
    SPLIT = 2000
};

STATIC_ASSERT(FILES *LINES == JOBS_RECORDS, "as the header says");

#define PORT ":7100"

/* --- the job: how often each word is there ------------------------------- */

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

/* The same as the last part of two. */
static const char words_in_parts[] = "words_in_parts";

static bool is_driver(const char *name)
{
    return strcmp(name, words_in_parts) == 0;
}

static int run_parts(const char *name,
                     const struct mr_options *opts,
                     struct mr_report **report,
                     struct err *err)
{
    struct mr_options o = *opts;
    struct buf first = BUF_INIT;
    const char *output;
    int rc;
    (void)name;
    buf_printf(&first, "file:%s/.first", opts->history_dir);
    output = buf_cstr(&first);
    o.program.job = &words;
    o.outputs = &output;
    o.overwrite = true;
    rc = mr_run(&o, NULL, err);
    o.outputs = opts->outputs;
    o.overwrite = opts->overwrite;
    if (rc == 0)
        rc = mr_run(&o, report, err);
    buf_close(&first);
    return rc;
}

static const struct mr_job *find_job(const char *name)
{
    return strcmp(name, words.name) == 0 ? &words : NULL;
}

/* --- workers ------------------------------------------------------------- */

static int
open_fs(void *ctx, const char *principal, struct fs **out, struct err *err)
{
    (void)principal; /* Nobody's name is proved. */
    const struct jobs_worker *k = ctx;
    const struct sim_cell *cell = k->jobs->cell;
    const struct gfs_options o = {.namenodes = cell->fs_addresses,
                                  .name = k->name,
                                  .security = cell->security};
    return fs_gfs_open(k->world, &o, out, err);
}

/* An attempt takes a while of virtual time, so that something can happen. */
static void pass_time(void *ctx, const char *step, unsigned task, unsigned n)
{
    const struct jobs_worker *k = ctx;
    (void)task;
    (void)n;
    if (strcmp(step, "mapped") == 0 || strcmp(step, "reduced") == 0)
        world_sleep_us(k->world, SECOND_US / 5);
}

static void make_side(struct buf *out)
{
    char *bytes = buf_extend(out, JOBS_SIDE_BYTES);
    for (size_t i = 0; i < JOBS_SIDE_BYTES; i++)
        bytes[i] = (char)(i / 251);
}

/* Attempts get from a worker exactly the files in the cell. */
static void check_side(struct world *w, const struct mr_options *o)
{
    const struct job_files here = {.world = w};
    struct buf want = BUF_INIT;
    struct buf got = BUF_INIT;
    struct err err = ERR_INIT;
    int rc;
    STORM_CHECK(o->file_count == 1, "%zu side files", o->file_count);
    rc = files_read_all(&here, o->files[0].value, 2 * JOBS_SIDE_BYTES, &got,
                        &err);
    STORM_CHECK(rc == 0, "the side file: %s", err.text);
    make_side(&want);
    STORM_CHECK(slice_eq(buf_slice(&got), buf_slice(&want)),
                "the side file is another: %zu bytes", got.len);
    buf_close(&want);
    buf_close(&got);
}

static int open_host(void *ctx,
                     const struct job_setup *setup,
                     unsigned slots,
                     struct attempt_host **out,
                     struct err *err)
{
    struct mr_options *o = (struct mr_options *)(uintptr_t)setup->opts;
    const struct jobs_worker *k = ctx;
    (void)slots;
    if (k->jobs->has_side)
        check_side(k->world, o);
    o->step = pass_time;
    o->step_ctx = ctx;
    return inline_host_open(setup, out, err);
}

static void worker_main(void *arg)
{
    struct jobs_worker *k = arg;
    const struct sim_cell *cell = k->jobs->cell;
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
    int rc = worker_open(k->world, rpc, &o, &k->worker, &err);
    if (rc == 0)
        rc = rpc_listen(rpc, "0.0.0.0" PORT, &listen, &listener, &err);
    if (rc == 0) {
        worker_start(k->worker, k->address);
        while (fiber_check(NULL) == 0 && worker_health(k->worker, NULL) == 0)
            world_sleep_us(k->world, SECOND_US / 10);
        worker_stop(k->worker);
    }
    rpc_listener_close(listener);
    worker_close(k->worker);
    k->worker = NULL;
    rpc_server_free(rpc);
}

/* --- job masters --------------------------------------------------------- */

static struct fs *open_master_fs(struct jobs_master *m)
{
    struct fs *fs = sim_cell_fs(m->jobs->cell, m->world, "job master");
    return m->jobs->cut ? cut_fs_new(fs, m->jobs->cut) : fs;
}

static void master_main(void *arg)
{
    struct jobs_master *m = arg;
    const struct sim_cell *cell = m->jobs->cell;
    struct rpc_server *rpc = rpc_server_new(m->world);
    struct fs *fs = open_master_fs(m);
    const struct job_master_options o = {.address = m->address,
                                         .cell = cell->lock_addresses,
                                         .cell_count =
                                             cell->options.lock_servers,
                                         .security = cell->security,
                                         .fs = fs,
                                         .find = find_job,
                                         .is_driver = is_driver,
                                         .drive = run_parts,
                                         .lease_ms = 3000};
    struct rpc_listen_options listen = {.security = cell->security};
    struct rpc_listener *listener = NULL;
    struct job_master *master = NULL;
    struct err err = ERR_INIT;
    int rc = job_master_open(m->world, rpc, &o, &master, &err);
    if (rc == 0)
        rc = rpc_listen(rpc, "0.0.0.0" PORT, &listen, &listener, &err);
    if (rc == 0) {
        job_master_start(master);
        while (fiber_check(NULL) == 0)
            world_sleep_us(m->world, SECOND_US / 10);
        job_master_stop(master);
    } else {
        sim_note(cell->sim, "%s ends: %s", sim_machine_name(m->world),
                 err.text);
    }
    rpc_listener_close(listener);
    job_master_close(master);
    fs_close(fs);
    rpc_server_free(rpc);
}

/* --- who wants jobs ------------------------------------------------------ */

void jobs_id(char id[JOBS_ID_BYTES], unsigned number)
{
    snprintf(id, JOBS_ID_BYTES, "20260101-000000-%04x", number & 0xffff);
}

static int submit(struct jobs_cell *j, struct job_client *c, struct err *err)
{
    char id[JOBS_ID_BYTES];
    char out[32];
    const char *inputs[] = {"file:/in/*"};
    const char *outputs[] = {out};
    const struct job_submission share = {.weight = 1};
    const struct mr_setting side = {JOBS_SIDE_NAME, "/" JOBS_SIDE_NAME};
    const struct mr_options o = {.inputs = inputs,
                                 .input_count = 1,
                                 .outputs = outputs,
                                 .output_count = 1,
                                 .files = &side,
                                 .file_count = j->has_side,
                                 .overwrite = j->overwrite,
                                 .reducers = 3,
                                 .memory_bytes = (uint64_t)j->worker_count
                                                 << 20,
                                 .split_bytes = SPLIT};
    jobs_id(id, j->number);
    snprintf(out, sizeof(out), "file:/out-%u", j->number);
    return job_client_submit(
        c, &o, id, j->in_parts ? words_in_parts : words.name, &share, err);
}

static uint64_t counter_of(const struct job_summary *s, const char *name)
{
    for (size_t i = 0; i < s->counter_count; i++)
        if (strcmp(s->counters[i].name, name) == 0)
            return (uint64_t)s->counters[i].value;
    return 0;
}

static int note_end(struct jobs_cell *j, struct slice json, struct err *err)
{
    struct job_summary *s = mem_zalloc(1, sizeof(*s));
    int rc = job_summary_decode(json, s, err);
    if (rc == 0 && s->state == JOB_SUCCEEDED) {
        j->records = counter_of(s, "map.records");
        j->early_bytes += counter_of(s, "shuffle.early_bytes");
    } else if (rc == 0) {
        j->code = err_set(&j->err, s->code ? s->code : ERR_ABORTED, "%s",
                          s->error ? s->error : "it does not say why");
    }
    j->done = rc == 0;
    job_summaries_free(s, 1);
    return rc;
}

/* Every later master knows an accepted job. */
static int await_end(struct jobs_cell *j, struct job_client *c, struct err *err)
{
    int rc = 0;
    char id[JOBS_ID_BYTES];
    struct job_watch w = {.wait_us = SECOND_US};
    jobs_id(id, j->number);
    w.id = slice_str(id);
    while (rc == 0 && !j->done) {
        struct job_news n;
        struct buf body = BUF_INIT;
        struct buf reply = BUF_INIT;
        job_watch_put(&w, &body);
        rc = job_client_call(c, JOB_WATCH, buf_slice(&body), w.wait_us, &reply,
                             err);
        STORM_CHECK(rc != ERR_NOTFOUND, "a job that was taken: %s", err->text);
        if (rc == 0)
            rc = job_news_get(buf_slice(&reply), &n, err);
        if (rc == 0 && n.ended)
            rc = note_end(j, n.summary, err);
        w.seen = rc == 0 ? n.version : 0;
        buf_close(&body);
        buf_close(&reply);
    }
    return rc;
}

/* Started again, with the same job, as often as it fails. */
static void follow(struct jobs_cell *j)
{
    const struct job_client_options o = {.cell = j->cell->lock_addresses,
                                         .cell_count =
                                             j->cell->options.lock_servers,
                                         .security = j->cell->security};
    struct world *w = sim_director(j->cell->sim);
    struct job_client *c = NULL;
    struct err err = ERR_INIT;
    int rc = job_client_open(w, &o, &c, &err);
    if (rc == 0)
        rc = submit(j, c, &err);
    if (rc == 0)
        rc = await_end(j, c, &err);
    job_client_close(c);
    if (rc) {
        sim_note(j->cell->sim, "customer: %s", err.text);
        world_sleep_us(w, SECOND_US / 10);
    }
}

static void customer(void *arg)
{
    struct jobs_cell *j = arg;
    while (fiber_check(NULL) == 0)
        if (j->wanted && !j->done)
            follow(j);
        else
            world_sleep_us(sim_director(j->cell->sim), SECOND_US / 10);
}

/* --- input and output ---------------------------------------------------- */

static unsigned word_of(unsigned file, unsigned line)
{
    return (file * 7919 + line * 31) % WORDS;
}

void jobs_write_input(struct fs *fs)
{
    struct fs_write_options o = {.mode = FS_WRITE_STREAM};
    for (unsigned i = 0; i < FILES; i++) {
        struct fs_writer *w;
        struct err err = ERR_INIT;
        char path[32];
        int rc;
        snprintf(path, sizeof(path), "in/%u", i);
        rc = fs_create(fs, path, &o, &w, &err);
        for (unsigned k = 0; k < LINES && rc == 0; k++) {
            char line[32];
            int n = snprintf(line, sizeof(line), "word%05u\n", word_of(i, k));
            rc = fs_writer_append(w, line, (size_t)n, &err);
        }
        if (rc == 0)
            rc = fs_writer_sync(w, &err);
        STORM_CHECK(rc == 0, "%s", err.text);
        fs_writer_close(w);
    }
}

void jobs_write_side(struct fs *fs)
{
    struct buf bytes = BUF_INIT;
    struct err err = ERR_INIT;
    int rc;
    make_side(&bytes);
    rc = fs_replace(fs, JOBS_SIDE_NAME, buf_slice(&bytes), &err);
    STORM_CHECK(rc == 0, "%s", err.text);
    buf_close(&bytes);
}

static void count_file(struct fs *fs, const char *path, unsigned got[WORDS])
{
    struct buf text = BUF_INIT;
    struct err err = ERR_INIT;
    unsigned word;
    unsigned n;
    int used;
    int rc = fs_read_all(fs, path, 1 << 20, &text, &err);
    STORM_CHECK(rc == 0, "%s", err.text);
    for (const char *p = buf_cstr(&text);
         sscanf(p, "word%u\t%u\n%n", &word, &n, &used) == 2; p += used)
        if (word < WORDS)
            got[word] += n;
    buf_close(&text);
}

void jobs_check_output(struct fs *fs, unsigned number)
{
    unsigned want[WORDS] = {0};
    unsigned got[WORDS] = {0};
    struct err err = ERR_INIT;
    char dir[32];
    char **names;
    size_t count;
    int rc;
    for (unsigned i = 0; i < FILES; i++)
        for (unsigned k = 0; k < LINES; k++)
            want[word_of(i, k)]++;
    snprintf(dir, sizeof(dir), "out-%u", number);
    rc = fs_list(fs, dir, &names, &count, &err);
    STORM_CHECK(rc == 0, "%s", err.text);
    for (size_t i = 0; i < count; i++) {
        struct buf path = BUF_INIT;
        buf_printf(&path, "%s/%s", dir, names[i]);
        if (strncmp(names[i], "part", 4) == 0)
            count_file(fs, buf_cstr(&path), got);
        buf_close(&path);
    }
    fs_names_free(names, count);
    for (unsigned i = 0; i < WORDS; i++)
        STORM_CHECK(got[i] == want[i], "job %u: word %u: %u instead of %u",
                    number, i, got[i], want[i]);
}

/* --- life ---------------------------------------------------------------- */

struct jobs_cell *
jobs_cell_new(struct sim_cell *cell, unsigned workers, unsigned masters)
{
    struct jobs_cell *j = mem_zalloc(1, sizeof(*j));
    PRE(workers <= JOBS_WORKERS_MAX && masters <= JOBS_MASTERS_MAX);
    j->cell = cell;
    j->worker_count = workers;
    j->master_count = masters;
    for (unsigned i = 0; i < workers; i++) {
        struct jobs_worker *k = &j->workers[i];
        k->jobs = j;
        snprintf(k->name, sizeof(k->name), "w%u", i % 10);
        snprintf(k->address, sizeof(k->address), "%s" PORT, k->name);
        k->world = sim_machine_new(cell->sim, k->name, &cell->options.machine);
    }
    for (unsigned i = 0; i < masters; i++) {
        char name[16];
        snprintf(name, sizeof(name), "jm%u", i % 10);
        snprintf(j->masters[i].address, sizeof(j->masters[i].address),
                 "%s" PORT, name);
        j->masters[i].jobs = j;
        j->masters[i].world =
            sim_machine_new(cell->sim, name, &cell->options.machine);
    }
    return j;
}

void jobs_cell_free(struct jobs_cell *j)
{
    mem_free(j);
}

void jobs_cell_boot(struct jobs_cell *j)
{
    for (unsigned i = 0; i < j->worker_count; i++)
        sim_boot(j->workers[i].world, worker_main, &j->workers[i]);
    for (unsigned i = 0; i < j->master_count; i++)
        sim_boot(j->masters[i].world, master_main, &j->masters[i]);
    j->customer = fiber_start(loop_self(), "customer", customer, j);
}

void jobs_cell_boot_ended(struct jobs_cell *j)
{
    for (unsigned i = 0; i < j->worker_count; i++)
        if (!sim_is_up(j->workers[i].world))
            sim_boot_again(j->workers[i].world);
    for (unsigned i = 0; i < j->master_count; i++)
        if (!sim_is_up(j->masters[i].world))
            sim_boot_again(j->masters[i].world);
}

void jobs_cell_stop(struct jobs_cell *j)
{
    fiber_cancel(j->customer);
    fiber_join(j->customer);
    for (unsigned i = 0; i < j->master_count; i++)
        if (sim_is_up(j->masters[i].world))
            sim_stop(j->masters[i].world);
    for (unsigned i = 0; i < j->worker_count; i++) {
        if (!sim_is_up(j->workers[i].world))
            continue;
        sim_resume(j->workers[i].world);
        sim_stop(j->workers[i].world);
    }
}

size_t jobs_cell_workers(const struct jobs_cell *j,
                         struct world *out[JOBS_WORKERS_MAX])
{
    for (unsigned i = 0; i < j->worker_count; i++)
        out[i] = j->workers[i].world;
    return j->worker_count;
}

size_t jobs_cell_masters(const struct jobs_cell *j,
                         struct world *out[JOBS_MASTERS_MAX])
{
    for (unsigned i = 0; i < j->master_count; i++)
        out[i] = j->masters[i].world;
    return j->master_count;
}

unsigned jobs_begin(struct jobs_cell *j)
{
    PRE(!j->wanted || j->done);
    j->number += j->wanted;
    j->wanted = true;
    jobs_ask_again(j);
    return j->number;
}

void jobs_ask_again(struct jobs_cell *j)
{
    j->done = false;
    j->code = 0;
    j->records = 0;
}
