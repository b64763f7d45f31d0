/* The programs of machines that run jobs. */
#include "tests/sim/jobs_cell.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/rpc/remote.h"
#include "base/runtime/fiber.h"
#include "gfs-lite/gfs.h"
#include "mapreduce/cluster/cell_host.h"
#include "mapreduce/cluster/pool.h"
#include "mapreduce/cluster/worker.h"
#include "mapreduce/job.h"
#include "mapreduce/mapreduce.h"
#include "mapreduce/task.h"
#include "tests/sim/storm.h"

enum {
    FILES = 6,
    LINES = 400,
    WORDS = 97,
    SPLIT = 2000
};

STATIC_ASSERT(FILES *LINES == JOBS_RECORDS, "as the header says");

#define PORT ":7100"

/* --- the job: how often each word is there ------------------------------ */

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

/* --- workers ------------------------------------------------------------ */

static int open_fs(void *ctx, struct fs **out, struct err *err)
{
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
    int code = worker_open(k->world, rpc, &o, &k->worker, &err);
    if (code == 0)
        code = rpc_listen(rpc, "0.0.0.0" PORT, &listen, &listener, &err);
    if (code == 0) {
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

/* --- job masters -------------------------------------------------------- */

static int host_on_pool(void *ctx,
                        const struct job_setup *setup,
                        struct attempt_host **out,
                        struct err *err)
{
    struct jobs_master *m = ctx;
    const struct cell_job job = {.weight = 1};
    int code = cell_host_open(m->pool, setup, &job, out, err);
    m->host = code == 0 ? *out : NULL;
    return code;
}

/* Does it still reign? If not, the job is the next master's: nothing of it is
 * removed. As kept_job.c does. */
static int check_reign(void *ctx, struct err *err)
{
    struct jobs_master *m = ctx;
    while (atomic_load(&m->in_danger) && !atomic_load(&m->over) &&
           fiber_check(NULL) == 0)
        world_sleep_us(m->world, SECOND_US / 100);
    if (!atomic_load(&m->over))
        return 0;
    if (m->host)
        cell_host_keep(m->host);
    return err_set(err, ERR_CLOSED, "another job master goes on");
}

static int run_job(struct jobs_master *m,
                   struct fs *fs,
                   uint64_t *records,
                   struct err *err)
{
    struct jobs_cell *j = m->jobs;
    char id[32];
    char out[32];
    char path[40];
    struct fs_info info;
    const char *inputs[] = {"file:/in/*"};
    const char *outputs[] = {out};
    struct mr_options o = {.program = {.job = &words},
                           .inputs = inputs,
                           .input_count = 1,
                           .outputs = outputs,
                           .output_count = 1,
                           .workers = j->worker_count,
                           .reducers = 3,
                           .memory_bytes = (uint64_t)j->worker_count << 20,
                           .split_bytes = SPLIT,
                           .id = id,
                           .history_dir = "/jobs",
                           .fs = fs,
                           .open_host = host_on_pool,
                           .host_ctx = m,
                           .check = check_reign,
                           .check_ctx = m,
                           .world = m->world};
    struct mr_report *report = NULL;
    int code;
    m->host = NULL;
    snprintf(id, sizeof(id), "job-%u", j->number);
    snprintf(out, sizeof(out), "file:/out-%u", j->number);
    snprintf(path, sizeof(path), "jobs/%s", id);
    /* Did a master before us begin it? */
    code = fs_stat(fs, path, &info, err) == ERR_NOTFOUND
               ? mr_run(&o, &report, err)
               : mr_resume(&o, id, find_job, &report, err);
    if (report)
        j->early_bytes +=
            (uint64_t)mr_report_counter(report, "shuffle.early_bytes");
    if (report)
        *records = (uint64_t)mr_report_counter(report, "map.records");
    mr_report_free(report);
    return code;
}

/* The job that is wanted, or waits for one. */
static void work(struct jobs_master *m, struct fs *fs)
{
    struct jobs_cell *j = m->jobs;
    while (fiber_check(NULL) == 0 && !atomic_load(&m->over)) {
        struct err err = ERR_INIT;
        unsigned number = j->number;
        uint64_t records = 0;
        int code;
        if (!j->wanted || j->done) {
            world_sleep_us(m->world, SECOND_US / 10);
            continue;
        }
        code = run_job(m, fs, &records, &err);
        /* Who goes on with it when we do not? The next one. */
        if (fiber_check(NULL) || atomic_load(&m->over))
            return;
        /* One that was cut off and does not know it yet comes late. */
        if (j->number != number || j->done)
            continue;
        j->records = records;
        j->code = code;
        j->err = err;
        j->done = true;
    }
}

static int reign(struct jobs_master *m, struct chubby *chubby, struct err *err)
{
    const struct sim_cell *cell = m->jobs->cell;
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
        code = worker_pool_open(m->world, &o, &m->pool, err);
    if (code == 0) {
        fs = sim_cell_fs(m->jobs->cell, m->world, "master");
        work(m, fs);
        fs_close(fs);
        worker_pool_close(m->pool);
        m->pool = NULL;
    }
    chubby_close(h);
    return code;
}

static void
on_event(void *ctx, struct chubby_handle *h, enum chubby_event event)
{
    struct jobs_master *m = ctx;
    (void)h;
    if (event == CHUBBY_EVENT_EXPIRED)
        atomic_store(&m->over, true);
    else if (event == CHUBBY_EVENT_JEOPARDY)
        atomic_store(&m->in_danger, true);
    else if (event == CHUBBY_EVENT_SAFE)
        atomic_store(&m->in_danger, false);
}

static void master_main(void *arg)
{
    struct jobs_master *m = arg;
    struct chubby *chubby = NULL;
    struct err err = ERR_INIT;
    int code;
    atomic_store(&m->over, false);
    atomic_store(&m->in_danger, false);
    code = sim_cell_chubby(m->jobs->cell, m->world, on_event, m, &chubby, &err);
    if (code == 0)
        code = reign(m, chubby, &err);
    chubby_disconnect(chubby);
    if (code)
        sim_note(m->jobs->cell->sim, "%s ends: %s", sim_machine_name(m->world),
                 err.text);
}

/* --- input and output --------------------------------------------------- */

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

/* --- life --------------------------------------------------------------- */

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
    j->done = false;
    j->code = 0;
    j->records = 0;
    return j->number;
}
