/* A job on a worker: its package, and the thread that starts its attempts. One
 * thread per job uses the host, so that a host needs no lock, and a job that
 * blocks holds up no other. */
#include <stdio.h>
#include <string.h>

#include "base/core/ignore_result.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/world.h"
#include "gfs-lite/fs.h"
#include "gfs-lite/routed.h"
#include "mapreduce/attempt/process_host.h"
#include "mapreduce/cluster/job_paths.h"
#include "mapreduce/cluster/worker_state.h"
#include "mapreduce/output/dirs.h"
#include "mapreduce/records/files.h"
#include "mapreduce/records/stream_writer.h"

/* How long a thread waits for the host before it looks at its orders. */
#define TICK_US UINT64_C(100000)
#define IDLE_US UINT64_C(1000000)
/* Of a file of the package at a time. */
#define COPY_BYTES ((size_t)1 << 20)

/* --- files of the package ------------------------------------------------ */

static int open_fs(struct worker *k, struct err *err)
{
    if (k->fs || !k->options.open_fs)
        return 0;
    return k->options.open_fs(k->options.ctx, NULL, &k->fs, err);
}

/* The files as the job sees them: with the rights of its submitter. */
static int open_job_fs(struct worker_job *j, struct err *err)
{
    struct worker *k = j->worker;
    struct job_setup *s = &j->package.setup;
    const char *principal = s->opts->principal;
    struct fs *theirs;
    int rc;
    s->files.fs = s->cell_files ? k->fs : NULL;
    if (!s->files.fs || !principal || !k->options.files_have_owners)
        return 0;
    rc = k->options.open_fs(k->options.ctx, principal, &theirs, err);
    if (rc)
        return rc;
    j->fs = fs_routed_new(k->fs, theirs, job_own_trees);
    s->files.fs = j->fs;
    return 0;
}

static int
copy_bytes(struct fs_reader *from, struct stream_writer *to, struct err *err)
{
    char *piece = mem_alloc(COPY_BYTES);
    uint64_t offset = 0;
    size_t got = 0;
    int rc;
    do {
        rc = fs_read_at(from, offset, piece, COPY_BYTES, &got, err);
        if (rc == 0)
            stream_writer_append(to, piece, got);
        offset += got;
    } while (rc == 0 && got == COPY_BYTES);
    mem_free(piece);
    return rc;
}

static int
copy_file(struct worker *k, const char *from, const char *to, struct err *err)
{
    const struct job_files here = {.world = k->world};
    struct stream_writer w = {.file = NULL};
    struct fs_reader *r = NULL;
    int rc = fs_open(k->fs, files_fs_path(from), &r, err);
    if (rc == 0)
        rc = stream_writer_open(&w, &here, to, err);
    if (rc == 0)
        rc = copy_bytes(r, &w, err);
    if (rc == 0)
        rc = stream_writer_finish(&w, false, err);
    stream_writer_close(&w);
    fs_reader_close(r);
    if (rc)
        err_wrap(err, "copy %s to this worker", from);
    return rc;
}

/* Copy the file that *@path names in the cell to this machine. */
static int worker_job_bring(struct worker_job *j,
                            unsigned number,
                            const char **path,
                            struct err *err)
{
    const char *name = strrchr(*path, '/');
    struct buf to = BUF_INIT;
    int rc;
    buf_printf(&to, "%s/package/%u", j->directory, number);
    rc = dirs_make(&(struct job_files){.world = j->worker->world},
                   buf_cstr(&to), err);
    buf_printf(&to, "/%s", name ? name + 1 : *path);
    if (rc == 0)
        rc = copy_file(j->worker, *path, buf_cstr(&to), err);
    if (rc == 0) {
        mem_free((void *)(uintptr_t)*path);
        *path = buf_take(&to);
    }
    buf_close(&to);
    return rc;
}

static int bring_files(struct worker_job *j, struct err *err)
{
    struct mr_options *o = &j->package.options.options;
    int rc = open_fs(j->worker, err);
    if (!j->worker->fs || !j->package.setup.cell_files)
        return rc;
    if (rc == 0 && o->program.object)
        rc = worker_job_bring(j, 0, &o->program.object, err);
    for (size_t i = 0; i < o->file_count && rc == 0; i++) {
        /* The array is the package's own. */
        struct mr_setting *s = (struct mr_setting *)(uintptr_t)&o->files[i];
        rc = worker_job_bring(j, (unsigned)i + 1, &s->value, err);
    }
    return rc;
}

/* --- preparing ----------------------------------------------------------- */

static int
worker_job_unpack(struct worker_job *j, struct slice package, struct err *err)
{
    struct worker *k = j->worker;
    const struct job_files here = {.world = k->world};
    struct job_setup *s = &j->package.setup;
    struct buf work = BUF_INIT;
    int rc = job_package_decode(&j->package, package, k->world, err);
    if (rc == 0)
        rc = job_caps_check(&k->options.caps, s->opts, err);
    if (rc)
        return rc;
    buf_printf(&work, "%s/work", j->directory);
    mem_free(s->work_dir);
    s->work_dir = buf_take(&work);
    rc = dirs_make(&here, s->work_dir, err);
    if (rc == 0)
        rc = bring_files(j, err);
    if (k->options.find && j->package.job_name)
        j->package.options.options.program.job =
            k->options.find(j->package.job_name);
    j->store = (struct quarry_options){.must_exist = true,
                                       .security = k->options.security};
    j->package.options.options.store_options = &j->store;
    return rc ? rc : open_job_fs(j, err);
}

static int
begin_spare(struct worker_job *j, struct attempt_host *spare, struct err *err)
{
    int rc = process_host_begin(spare, &j->package.setup, err);
    if (rc)
        spare->close(spare);
    else
        j->host = spare;
    return rc;
}

static int open_host(struct worker_job *j, struct err *err)
{
    const struct worker_options *o = &j->worker->options;
    struct attempt_host *spare;
    log_debug(j->worker->world, "sandbox", "job %s: programs run %s", j->id,
              j->package.setup.opts->no_sandbox ? "without a sandbox"
                                                : "in the sandbox");
    if (o->open_host)
        return o->open_host(o->ctx, &j->package.setup, j->worker->slots,
                            &j->host, err);
    spare = worker_spare_take(j->worker);
    if (spare)
        return begin_spare(j, spare, err);
    return process_host_exec(&j->package.setup, o->command, j->worker->slots,
                             &j->host, err);
}

/* --- its thread ---------------------------------------------------------- */

void worker_job_wake(struct worker_job *j)
{
    cond_signal(&j->wake);
    if (j->host && j->host->wake)
        j->host->wake(j->host);
}

static struct worker_attempt *in_slot(struct worker_job *j, unsigned slot)
{
    struct worker_attempt *a;
    TAILQ_FOREACH(a, &j->attempts, link)
        if (a->state == WORKER_ATTEMPT_RUNNING && a->slot == slot)
            return a;
    return NULL;
}

static bool free_slot(struct worker_job *j, unsigned *slot)
{
    for (*slot = 0; *slot < j->host->slot_count; ++*slot)
        if (!in_slot(j, *slot))
            return true;
    return false;
}

/* An attempt that could not read a spill did not fail: the spill is missing. */
static void blame_spill(const struct worker_attempt *a, struct attempt_event *e)
{
    uint32_t bad = e->reported && e->report.code ? e->report.bad_source : 0;
    if (bad == 0 || bad > a->spec.segment_count || !a->owners)
        return;
    e->lost = true;
    e->missing = mem_alloc(sizeof(*e->missing));
    e->missing[0] = a->owners[bad - 1];
    e->missing_count = 1;
}

/* Pieces from other machines are counted here: the attempt cannot tell. */
static void count_far(const struct worker_attempt *a, struct attempt_event *e)
{
    struct counters *c = &e->report.counters;
    if (!e->reported || a->far_bytes == 0)
        return;
    *counters_get(c, "shuffle.fetched_bytes") += (int64_t)a->far_bytes;
    *counters_get(c, "shuffle.early_bytes") += (int64_t)a->early_bytes;
}

static void take_end(struct worker_job *j, struct attempt_event *e)
{
    struct worker_attempt *a = in_slot(j, e->slot);
    struct worker *k = j->worker;
    if (!a)
        return;
    blame_spill(a, e);
    count_far(a, e);
    log_debug(k->world, "attempt", "job %s: slot=%u ends task=%u.%u code=%d",
              j->id, e->slot, (unsigned)a->spec.index,
              (unsigned)a->spec.attempt, e->reported ? e->report.code : -1);
    worker_attempt_describe(a, e, j->host->status(j->host, e->slot));
    k->running--;
    j->running--;
    mutex_unlock(&k->lock);
    worker_fetch_remove(a);
    mutex_lock(&k->lock);
    worker_attempt_free(a);
}

/* All running attempts end with the process they were forked from. */
static void fail_running(struct worker_job *j, const char *why)
{
    struct worker_attempt *a;
    struct worker_attempt *next;
    for (a = TAILQ_FIRST(&j->attempts); a; a = next) {
        next = TAILQ_NEXT(a, link);
        if (a->state != WORKER_ATTEMPT_RUNNING)
            continue;
        INVARIANT(j->running > 0 && j->worker->running >= j->running);
        j->worker->running--;
        j->running--;
        worker_attempt_fail(a, why, false, NULL, 0);
        worker_attempt_free(a);
    }
}

/* The host is unusable: at the next order the master sends the package again,
 * and the job starts over. */
static void give_up(struct worker_job *j, const struct err *err)
{
    log_info(j->worker->world, "worker", "job %s: %s", j->id, err->text);
    fail_running(j, err->text);
    j->state = WORKER_JOB_ENDING;
}

static void
worker_job_start(struct worker_job *j, struct worker_attempt *a, unsigned slot)
{
    PRE(a->state == WORKER_ATTEMPT_QUEUED);
    struct worker *k = j->worker;
    struct err err = ERR_INIT;
    int rc;
    a->state = WORKER_ATTEMPT_RUNNING;
    a->slot = slot;
    k->running++;
    j->running++;
    k->started++;
    mutex_unlock(&k->lock);
    rc = j->host->start(j->host, slot, &a->spec, &slot, &err);
    mutex_lock(&k->lock);
    log_debug(k->world, "attempt", "job %s: slot=%u begins code=%d", j->id,
              slot, rc);
    if (rc)
        give_up(j, &err);
}

static void send_kill(struct worker_job *j, struct worker_attempt *a)
{
    struct worker *k = j->worker;
    a->kill_sent = true;
    mutex_unlock(&k->lock);
    j->host->kill(j->host, a->slot);
    mutex_lock(&k->lock);
}

static void join_fetch(struct worker_job *j, struct worker_attempt *a)
{
    struct worker *k = j->worker;
    struct task *t = a->fetch;
    a->fetch = NULL;
    mutex_unlock(&k->lock);
    task_join(t);
    mutex_lock(&k->lock);
}

/* It was stopped before it began, or its inputs cannot be had. */
static void drop_queued(struct worker_job *j, struct worker_attempt *a)
{
    struct worker *k = j->worker;
    bool lost = a->failed && !a->killed;
    worker_attempt_fail(a, lost ? a->death : "stopped before it began", lost,
                        a->missing, lost ? a->missing_count : 0);
    if (lost && a->pulled) {
        /* The master orders it again once maps have run again. */
        worker_pull_return(j, a->pulled);
        a->pulled = NULL;
    }
    mutex_unlock(&k->lock);
    worker_fetch_remove(a);
    mutex_lock(&k->lock);
    worker_attempt_free(a);
}

/* Do one thing; false: there is nothing to do. The lock may have been released
 * meanwhile. */
static bool do_something(struct worker_job *j)
{
    struct worker_attempt *a;
    unsigned slot;
    TAILQ_FOREACH(a, &j->attempts, link) {
        if (a->fetch && a->fetched) {
            join_fetch(j, a);
            return true;
        }
        if (a->state == WORKER_ATTEMPT_FETCHING || a->fetch)
            continue;
        if (a->state == WORKER_ATTEMPT_QUEUED && (a->killed || a->failed)) {
            drop_queued(j, a);
            return true;
        }
        if (a->killed && !a->kill_sent) {
            send_kill(j, a);
            return true;
        }
        if (a->state == WORKER_ATTEMPT_QUEUED && free_slot(j, &slot)) {
            worker_job_start(j, a, slot);
            return true;
        }
    }
    return false;
}

static void wait_for_host(struct worker_job *j)
{
    struct worker *k = j->worker;
    struct attempt_event e = {.slot = 0};
    struct err err = ERR_INIT;
    bool got = false;
    int rc;
    mutex_unlock(&k->lock);
    rc = j->host->wait(j->host, TICK_US, &e, &got, &err);
    mutex_lock(&k->lock);
    if (rc)
        give_up(j, &err);
    if (rc || !got)
        return;
    take_end(j, &e);
    attempt_event_close(&e);
}

static void run_attempts(struct worker_job *j)
{
    struct worker *k = j->worker;
    while (j->state == WORKER_JOB_READY) {
        if (do_something(j))
            continue;
        if (j->running > 0)
            wait_for_host(j);
        else
            (void)cond_wait_us(&j->wake, &k->lock, k->world, IDLE_US);
    }
}

/* Attempts that were ordered end with the job. */
static void drop_attempts(struct worker_job *j)
{
    struct worker_attempt *a;
    while ((a = TAILQ_FIRST(&j->attempts)) != NULL) {
        a->killed = true;
        if (a->fetch) {
            join_fetch(j, a);
            continue;
        }
        if (a->state == WORKER_ATTEMPT_RUNNING) {
            j->worker->running--;
            j->running--;
        }
        /* Lost with the job; the master retries them elsewhere. */
        worker_attempt_fail(a, "the job has ended on this worker", true, NULL,
                            0);
        worker_attempt_free(a);
    }
}

static void worker_job_load(struct worker_job *j)
{
    struct worker *k = j->worker;
    struct err err = ERR_INIT;
    int rc;
    mutex_unlock(&k->lock);
    rc = open_host(j, &err);
    mutex_lock(&k->lock);
    if (rc) {
        j->state = WORKER_JOB_FAILED;
        j->why = err;
    } else {
        job_traits_encode(&j->host->traits, &j->traits);
        if (j->state == WORKER_JOB_LOADING)
            j->state = WORKER_JOB_READY;
    }
    cond_broadcast(&j->ready);
}

static void run_job(void *arg)
{
    struct worker_job *j = arg;
    struct worker *k = j->worker;
    const struct job_files here = {.world = k->world};
    struct attempt_host *host;
    mutex_lock(&k->lock);
    worker_job_load(j);
    run_attempts(j);
    drop_attempts(j);
    worker_pull_stop(j);
    host = j->host;
    j->host = NULL;
    mutex_unlock(&k->lock);
    if (host)
        host->close(host);
    /* It is removed with the worker's directory. */
    IGNORE_RESULT(dirs_remove(&here, j->directory, NULL));
    mutex_lock(&k->lock);
    j->over = true;
    cond_broadcast(&j->ready);
    mutex_unlock(&k->lock);
}

/* --- the list ------------------------------------------------------------ */

struct worker_job *worker_job_find(struct worker *k, struct slice id)
{
    struct worker_job *j;
    LIST_FOREACH(j, &k->jobs, link)
        if (slice_eq(slice_str(j->id), id))
            return j;
    return NULL;
}

static struct worker_job *new_job(struct worker *k, struct slice id)
{
    struct worker_job *j = mem_zalloc(1, sizeof(*j));
    struct buf path = BUF_INIT;
    j->worker = k;
    j->id = mem_strndup(id.data, id.len);
    worker_job_dir(slice_str(k->directory), j->id, &path);
    j->directory = buf_take(&path);
    j->state = WORKER_JOB_LOADING;
    j->asked_ns = world_mono_ns(k->world);
    cond_init(&j->wake);
    cond_init(&j->ready);
    TAILQ_INIT(&j->attempts);
    LIST_INSERT_HEAD(&k->jobs, j, link);
    k->job_count++;
    return j;
}

static void free_job(struct worker_job *j)
{
    PRE(j->over);
    PRE(j->worker->job_count > 0);
    LIST_REMOVE(j, link);
    j->worker->job_count--;
    job_package_close(&j->package);
    fs_close(j->fs);
    buf_close(&j->traits);
    cond_close(&j->wake);
    cond_close(&j->ready);
    mem_free(j->directory);
    mem_free(j->id);
    mem_free(j);
}

/* Free jobs that are over and not in use. The lock is released meanwhile. */
static void worker_job_sweep(struct worker *k)
{
    struct worker_job *j;
    LIST_FOREACH(j, &k->jobs, link)
        if (j->over && j->users == 0)
            break;
    if (!j)
        return;
    j->users++;
    mutex_unlock(&k->lock);
    if (j->thread)
        task_join(j->thread);
    mutex_lock(&k->lock);
    free_job(j);
    worker_job_sweep(k);
}

void worker_job_release(struct worker_job *j)
{
    struct worker *k = j->worker;
    PRE(j->users > 0);
    j->users--;
    cond_broadcast(&j->ready);
    worker_job_sweep(k);
}

/* Wait while it is starting or ending. Returns 0 when it is ready. */
static int wait_ready(struct worker_job *j, struct err *err)
{
    struct worker *k = j->worker;
    int rc = 0;
    while (j->state == WORKER_JOB_LOADING && rc == 0) {
        (void)cond_wait_us(&j->ready, &k->lock, k->world, IDLE_US);
        rc = fiber_check(err);
    }
    if (rc == 0 && j->state == WORKER_JOB_FAILED)
        rc = err_copy(err, &j->why);
    if (rc == 0 && j->state == WORKER_JOB_ENDING)
        rc = err_set(err, ERR_UNAVAILABLE, "job %s ends here", j->id);
    return rc;
}

/* Wait until an earlier instance of the job on this worker is over: it has the
 * same directory. */
static int wait_gone(struct worker *k, struct slice id, struct err *err)
{
    for (;;) {
        struct worker_job *j = worker_job_find(k, id);
        int rc = fiber_check(err);
        if (rc || !j || j->state == WORKER_JOB_READY ||
            j->state == WORKER_JOB_LOADING)
            return rc;
        j->users++;
        while (!j->over && fiber_check(NULL) == 0)
            (void)cond_wait_us(&j->ready, &k->lock, k->world, IDLE_US);
        worker_job_release(j);
    }
}

static void worker_job_begin(struct worker_job *j, struct slice package)
{
    struct worker *k = j->worker;
    struct err err = ERR_INIT;
    int rc;
    mutex_unlock(&k->lock);
    rc = worker_job_unpack(j, package, &err);
    mutex_lock(&k->lock);
    if (rc == 0 && j->state == WORKER_JOB_LOADING && !k->stopping) {
        j->thread = task_start(k->world, "worker-job", run_job, j);
        return;
    }
    j->why = err;
    if (rc == 0)
        err_set(&j->why, ERR_UNAVAILABLE, "the job has ended");
    j->state = WORKER_JOB_FAILED;
    j->over = true;
    cond_broadcast(&j->ready);
}

int worker_job_prepare(struct worker *k,
                       struct slice id,
                       struct slice package,
                       struct worker_job **out,
                       struct err *err)
{
    struct worker_job *j;
    int rc = wait_gone(k, id, err);
    if (rc)
        return rc;
    if (k->stopping)
        return err_set(err, ERR_UNAVAILABLE, "this worker is stopping");
    j = worker_job_find(k, id);
    if (j) {
        j->users++;
    } else {
        j = new_job(k, id);
        j->users++;
        worker_job_begin(j, package);
    }
    j->asked_ns = world_mono_ns(k->world);
    rc = wait_ready(j, err);
    if (rc)
        worker_job_release(j);
    else
        *out = j;
    return rc;
}

void worker_job_end(struct worker_job *j)
{
    if (j->state == WORKER_JOB_LOADING || j->state == WORKER_JOB_READY)
        j->state = WORKER_JOB_ENDING;
    worker_job_wake(j);
}

void worker_jobs_wait(struct worker *k)
{
    for (;;) {
        struct worker_job *j;
        worker_job_sweep(k);
        j = LIST_FIRST(&k->jobs);
        if (!j)
            return;
        worker_job_wake(j);
        (void)cond_wait_us(&j->ready, &k->lock, k->world, TICK_US);
    }
}
