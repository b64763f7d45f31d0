/* The job master: candidate for the lock, then term after term.
 *
 * In a term it reads all submissions, resumes the jobs that had begun, and
 * answers calls; when the lock is lost it stops everything and becomes a
 * candidate again. A submission's file, a journal and job.json are its only
 * memory: a term begins with nothing else.
 */
#include <string.h>

#include "base/core/panic.h"
#include "base/rpc/rpc.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "chubby-lite/chubby.h"
#include "gfs-lite/fs.h"
#include "mapreduce/cluster/job_master_state.h"
#include "mapreduce/cluster/job_wire.h"
#include "mapreduce/cluster/pool.h"
#include "mapreduce/output/dirs.h"

/* Masters are told apart by the lock's sequencer: the lock may be free again at
 * once. */
#define LOCK_DELAY_MS 1
/* Between terms, and between checks for work. */
#define AGAIN_US UINT64_C(500000)
#define LOOK_US  UINT64_C(500000)
#define DRAIN_US UINT64_C(10000)
/* Uploads that were not submitted are removed after a day. */
#define UPLOAD_US_MAX       (UINT64_C(24) * 3600 * 1000000)
#define SUBMITTED_BYTES_MAX ((size_t)16 << 20)
#define RUNNING_MAX         64
#define HISTORY_MAX         1000

/* --- the end of a term --------------------------------------------------- */

static void end_term(struct job_master *m, const char *why)
{
    struct job_master_term *r = &m->present;
    if (atomic_exchange(&r->over, true))
        return;
    log_info(m->world, "jobs", "this is not the job master any more: %s", why);
    cond_broadcast(&r->changed);
}

static void on_event(void *ctx, struct chubby_handle *h, enum chubby_event e)
{
    struct job_master *m = ctx;
    if (e == CHUBBY_EVENT_EXPIRED)
        end_term(m, "the session with the lock service is lost");
    else if (h && h == m->lock && e == CHUBBY_EVENT_INVALID)
        end_term(m, "the lock's file is gone");
    else if (e == CHUBBY_EVENT_JEOPARDY)
        atomic_store(&m->present.in_danger, true);
    else if (e == CHUBBY_EVENT_SAFE)
        atomic_store(&m->present.in_danger, false);
}

/* --- its beginning ------------------------------------------------------- */

static int job_master_connect(struct job_master *m, struct err *err)
{
    const struct job_master_options *o = &m->options;
    const struct chubby_options c = {.servers = o->cell,
                                     .server_count = o->cell_count,
                                     .security = o->security,
                                     .lease_ms = o->lease_ms,
                                     .memo = o->memo,
                                     .address = o->address,
                                     .on_event = on_event,
                                     .ctx = m};
    return chubby_connect(m->world, &c, &m->chubby, err);
}

static int
make_directory(struct job_master *m, const char *path, struct err *err)
{
    struct chubby_handle *h = NULL;
    int rc = chubby_open(m->chubby, path,
                         CHUBBY_READ | CHUBBY_CREATE | CHUBBY_DIRECTORY, NULL,
                         &h, err);
    chubby_close(h);
    return rc;
}

static int take_lock(struct job_master *m,
                     char sequencer[CHUBBY_SEQUENCER_BYTES_MAX],
                     struct err *err)
{
    const struct chubby_open_options o = {.lock_delay_ms = LOCK_DELAY_MS};
    int rc = make_directory(m, MAPREDUCE_LOCK_ROOT, err);
    if (rc == 0)
        rc = chubby_open(m->chubby, JOBS_LOCK_MASTER,
                         CHUBBY_READ | CHUBBY_WRITE | CHUBBY_CREATE, &o,
                         &m->lock, err);
    if (rc == 0)
        rc = chubby_acquire(m->lock, CHUBBY_EXCLUSIVE, err);
    if (rc == 0)
        rc = chubby_sequencer(m->lock, sequencer, err);
    return rc;
}

void job_file_path(struct buf *out,
                   const char *root,
                   const char *id,
                   const char *name)
{
    buf_clear(out);
    buf_printf(out, "%s/%s%s%s", root, id, *name ? "/" : "", name);
}

/* A job that had ended when its master died: only its history is not in place.
 */
static int
take_ended(struct job_master_term *r, const char *id, struct err *err)
{
    static const char *const rest[] = {"files", "parts", "work", "kill",
                                       "submitted"};
    struct buf from = BUF_INIT;
    struct buf to = BUF_INIT;
    int rc = 0;
    for (size_t i = 0; i < ARRAY_LEN(rest) && rc == 0; i++) {
        job_file_path(&from, JOBS_ROOT, id, rest[i]);
        rc = dirs_remove(&r->files, buf_cstr(&from), err);
    }
    job_file_path(&from, JOBS_ROOT, id, "");
    job_file_path(&to, JOBS_HISTORY, id, "");
    if (rc == 0)
        rc = files_rename(&r->files, buf_cstr(&from), buf_cstr(&to), err);
    buf_close(&from);
    buf_close(&to);
    return rc;
}

static int take_submitted(struct job_master_term *r,
                          const char *id,
                          struct slice bytes,
                          struct err *err)
{
    struct job_submission s;
    struct files_info info;
    struct managed_job *j = NULL;
    struct buf path = BUF_INIT;
    int rc = job_submission_get(bytes, &s, err);
    if (rc == 0 && !slice_eq_str(s.id, id))
        rc = err_set(err, ERR_CORRUPT, "the submission of another job");
    if (rc == 0)
        rc = managed_job_add(r, &s, true, &j, err);
    job_file_path(&path, JOBS_ROOT, id, "kill");
    if (rc == 0 && files_stat(&r->files, buf_cstr(&path), &info, NULL) == 0)
        atomic_store(&j->cancel, true);
    buf_close(&path);
    return rc;
}

/* If job @id is in the history, remove its directory, which a delayed master
 * may have made again. */
static int forget_leftovers(struct job_master_term *r,
                            const char *id,
                            bool *is_over,
                            struct err *err)
{
    struct buf path = BUF_INIT;
    struct files_info info;
    int rc;
    job_file_path(&path, JOBS_HISTORY, id, "job.json");
    rc = files_stat(&r->files, buf_cstr(&path), &info, err);
    *is_over = rc == 0;
    job_file_path(&path, JOBS_ROOT, id, "");
    if (*is_over)
        rc = dirs_remove(&r->files, buf_cstr(&path), err);
    buf_close(&path);
    return rc == ERR_NOTFOUND ? 0 : rc;
}

/* Remove an upload that was not submitted. Its name begins with the time. */
static void remove_upload(struct job_master_term *r, const char *id)
{
    struct buf path = BUF_INIT;
    struct fs_info info;
    job_file_path(&path, JOBS_ROOT, id, "");
    if (fs_stat(r->files.fs, files_fs_path(buf_cstr(&path)), &info, NULL) ==
            0 &&
        info.modified_us + UPLOAD_US_MAX < world_now_us(r->world) &&
        dirs_remove(&r->files, buf_cstr(&path), NULL) == 0)
        log_info(r->world, "jobs", "removed what was uploaded for job %s", id);
    buf_close(&path);
}

static int
take_over_job(struct job_master_term *r, const char *id, struct err *err)
{
    struct buf path = BUF_INIT;
    struct buf bytes = BUF_INIT;
    struct files_info info;
    bool is_over;
    int rc = forget_leftovers(r, id, &is_over, err);
    if (rc || is_over)
        return rc;
    job_file_path(&path, JOBS_ROOT, id, "job.json");
    rc = files_stat(&r->files, buf_cstr(&path), &info, err);
    if (rc == 0) {
        rc = take_ended(r, id, err);
    } else if (rc == ERR_NOTFOUND) {
        job_file_path(&path, JOBS_ROOT, id, "submitted");
        rc = files_read_all_sealed(&r->files, buf_cstr(&path),
                                   SUBMITTED_BYTES_MAX, &bytes, err);
        if (rc == 0)
            rc = take_submitted(r, id, buf_slice(&bytes), err);
        else if (rc == ERR_NOTFOUND)
            remove_upload(r, id);
        rc = rc == ERR_NOTFOUND ? 0 : rc;
    }
    buf_close(&path);
    buf_close(&bytes);
    return rc;
}

/* Names begin with the time of the submission: the oldest is first. A job that
 * cannot be read does not stop the others. */
static int take_over(struct job_master_term *r, struct err *err)
{
    char **names = NULL;
    size_t count = 0;
    int rc = dirs_make(&r->files, JOBS_ROOT, err);
    if (rc == 0)
        rc = dirs_make(&r->files, JOBS_HISTORY, err);
    if (rc == 0)
        rc = files_list(&r->files, JOBS_ROOT, &names, &count, err);
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct err why = ERR_INIT;
        int one = worker_job_id_ok(slice_str(names[i]))
                      ? take_over_job(r, names[i], &why)
                      : 0;
        if (one == ERR_CORRUPT || one == ERR_INVALID)
            log_error(r->world, "jobs", "job %s: %s", names[i], why.text);
        else if (one)
            rc = err_copy(err, &why);
    }
    files_names_free(names, count);
    return rc;
}

static void trim_history(struct job_master_term *r)
{
    char **names = NULL;
    size_t count = 0;
    struct buf path = BUF_INIT;
    if (files_list(&r->files, JOBS_HISTORY, &names, &count, NULL))
        return;
    for (size_t i = 0; i + r->options->history_max < count; i++) {
        job_file_path(&path, JOBS_HISTORY, names[i], "");
        if (dirs_remove(&r->files, buf_cstr(&path), NULL))
            break;
    }
    files_names_free(names, count);
    buf_close(&path);
}

/* Forget jobs that ended a while ago: calls find them in the history. */
static void forget_ended(struct job_master_term *r)
{
    enum {
        KEPT_MAX = 100
    };

    size_t ended = 0;
    struct managed_job **at = &r->jobs;
    for (struct managed_job *j = r->jobs; j; j = j->next)
        ended += j->state == MANAGED_HISTORY;
    if (ended <= KEPT_MAX)
        return;
    trim_history(r);
    mutex_lock(&r->mutex);
    while (*at && ended > KEPT_MAX / 2) {
        struct managed_job *j = *at;
        if (j->state != MANAGED_HISTORY) {
            at = &j->next;
            continue;
        }
        *at = j->next;
        if (r->last == &j->next)
            r->last = at;
        managed_job_free(j);
        ended--;
    }
    mutex_unlock(&r->mutex);
}

/* --- a term -------------------------------------------------------------- */

static void job_master_govern(struct job_master *m)
{
    struct job_master_term *r = &m->present;
    while (!m->stopping && !atomic_load(&r->over) && fiber_check(NULL) == 0) {
        uint64_t seen = r->versions;
        managed_jobs_schedule(r);
        if (m->calls == 0) {
            managed_jobs_drop_timelines(r);
            forget_ended(r);
        }
        mutex_lock(&r->mutex);
        if (seen == r->versions && !atomic_load(&r->over))
            (void)cond_wait_us(&r->changed, &r->mutex, r->world,
                               world_to_tick_us(r->world, LOOK_US));
        mutex_unlock(&r->mutex);
    }
}

static int
open_pool(struct job_master *m, const char *sequencer, struct err *err)
{
    const struct worker_pool_options o = {.chubby = m->chubby,
                                          .sequencer = sequencer,
                                          .security = m->options.security};
    return worker_pool_open(m->world, &o, &m->present.pool, err);
}

static int
open_keyring(const struct job_master_options *o, bool create, struct err *err)
{
    return fs_open_keyring(o->fs, files_fs_path(o->keys_path), o->master_keys,
                           create, err);
}

/* Keys are made once: the Bigtable master makes them too. */
static int make_keys(struct job_master *m, struct err *err)
{
    const struct job_master_options *o = &m->options;
    struct buf path = BUF_INIT;
    struct fs_lock *lock;
    int rc = fs_mkdirs(o->fs, files_fs_path(o->keys_dir), err);
    buf_printf(&path, "%s/LOCK", files_fs_path(o->keys_dir));
    if (rc == 0)
        rc = fs_lock(o->fs, buf_cstr(&path), &lock, err);
    if (rc == 0) {
        rc = open_keyring(o, true, err);
        fs_unlock(lock);
    }
    buf_close(&path);
    return rc;
}

static int open_keys(struct job_master *m, struct err *err)
{
    const struct job_master_options *o = &m->options;
    int rc = 0;
    if (!o->master_keys)
        return 0;
    if (!fs_keyring(o->fs))
        rc = open_keyring(o, false, err);
    if (rc == 0 && !fs_keyring(o->fs))
        rc = make_keys(m, err);
    if (rc)
        err_wrap(err, "keys of jobs");
    m->present.files.keyring = fs_keyring(o->fs);
    return rc;
}

static int job_master_begin(struct job_master *m, struct err *err)
{
    struct job_master_term *r = &m->present;
    char sequencer[CHUBBY_SEQUENCER_BYTES_MAX];
    int rc = job_master_connect(m, err);
    if (rc == 0)
        rc = take_lock(m, sequencer, err);
    if (rc == 0)
        rc = open_keys(m, err);
    if (rc == 0)
        rc = open_pool(m, sequencer, err);
    if (rc == 0)
        rc = take_over(r, err);
    if (rc == 0)
        rc = chubby_write(m->lock, slice_str(m->options.address), 0, err);
    return rc;
}

static void master_term_open(struct job_master *m)
{
    struct job_master_term *r = &m->present;
    *r = (struct job_master_term){
        .world = m->world,
        .options = &m->options,
        .files = {.world = m->world, .fs = m->options.fs}};
    r->last = &r->jobs;
    mutex_init(&r->mutex);
    cond_init(&r->changed);
    atomic_init(&r->over, false);
    atomic_init(&r->in_danger, false);
}

static void master_term_close(struct job_master *m)
{
    struct job_master_term *r = &m->present;
    m->term = NULL;
    end_term(m, "it stops");
    managed_jobs_end(r);
    mutex_lock(&r->mutex);
    while (m->calls > 0)
        (void)cond_wait_us(&r->changed, &r->mutex, m->world, DRAIN_US);
    mutex_unlock(&r->mutex);
    while (r->jobs) {
        struct managed_job *j = r->jobs;
        r->jobs = j->next;
        managed_job_free(j);
    }
    worker_pool_close(r->pool);
    r->pool = NULL;
    chubby_close(m->lock);
    chubby_disconnect(m->chubby);
    m->lock = NULL;
    m->chubby = NULL;
    cond_close(&r->changed);
    mutex_close(&r->mutex);
}

static void master_term_once(struct job_master *m)
{
    struct err err = ERR_INIT;
    int rc;
    master_term_open(m);
    rc = job_master_begin(m, &err);
    if (rc == 0) {
        log_info(m->world, "jobs", "this is the job master");
        m->term = &m->present;
        job_master_govern(m);
    } else if (!m->stopping && fiber_check(NULL) == 0) {
        log_warn(m->world, "jobs", "cannot be job master: %s", err.text);
    }
    master_term_close(m);
}

static void job_master_run(void *arg)
{
    struct job_master *m = arg;
    while (!m->stopping && fiber_check(NULL) == 0) {
        master_term_once(m);
        if (!m->stopping && fiber_check(NULL) == 0)
            world_sleep_us(m->world, AGAIN_US);
    }
}

/* --- a master ------------------------------------------------------------ */

int job_master_open(struct world *w,
                    struct rpc_server *server,
                    const struct job_master_options *opts,
                    struct job_master **out,
                    struct err *err)
{
    struct job_master *m;
    *out = NULL;
    if (opts->cell_count == 0 || !opts->fs)
        return err_set(err, ERR_INVALID,
                       "a job master needs a lock service and a file system");
    m = mem_zalloc(1, sizeof(*m));
    m->world = w;
    m->options = *opts;
    if (m->options.running_max == 0)
        m->options.running_max = RUNNING_MAX;
    if (m->options.history_max == 0)
        m->options.history_max = HISTORY_MAX;
    job_answers_add(m, server);
    *out = m;
    return 0;
}

void job_master_start(struct job_master *m)
{
    PRE(!m->fiber);
    m->fiber = fiber_start(loop_self(), "job master", job_master_run, m);
}

void job_master_stop(struct job_master *m)
{
    if (!m->fiber)
        return;
    m->stopping = true;
    if (m->term)
        end_term(m, "asked to stop");
    fiber_cancel(m->fiber);
    fiber_join(m->fiber);
    m->fiber = NULL;
}

void job_master_close(struct job_master *m)
{
    if (!m)
        return;
    job_master_stop(m);
    mem_free(m);
}

void job_master_get_status(const struct job_master *m,
                           struct job_master_status *out)
{
    struct pool_size size;
    *out = (struct job_master_status){.is_master = m->term != NULL};
    if (!m->term)
        return;
    for (struct managed_job *j = m->term->jobs; j; j = j->next) {
        out->waiting += j->state == MANAGED_WAITING;
        out->running += j->state == MANAGED_RUNNING;
        out->stalled += j->state == MANAGED_RUNNING && managed_job_stalls(j);
        out->ended += j->state >= MANAGED_ENDED;
    }
    worker_pool_size(m->term->pool, &size);
    out->workers = size.workers;
    out->slots = size.slots;
    out->busy = size.busy;
}

void job_master_put_jobs(const struct job_master *m, struct buf *out)
{
    enum {
        SHOWN_MAX = 20
    };

    size_t shown = 0;
    if (!m->term)
        return;
    for (struct managed_job *j = m->term->jobs; j && shown < SHOWN_MAX;
         j = j->next) {
        size_t at;
        if (j->state >= MANAGED_ENDED)
            continue;
        buf_append_str(out, " job=\"");
        at = out->len;
        managed_job_describe(j, out);
        /* A label may contain anything; the line may not. */
        for (; at < out->len; at++)
            if (out->data[at] == '"' || (unsigned char)out->data[at] < ' ')
                out->data[at] = '\'';
        buf_append_byte(out, '"');
        shown++;
    }
}
