/* The attempts of a job, as they are remembered: in memory while it runs, in a
 * file beside its history afterwards. */
#include "mapreduce/master/job_timeline.h"

#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/ignore_result.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "mapreduce/job_history.h"
#include "mapreduce/output/dirs.h"
#include "mapreduce/records/files.h"

#define TIMELINE_BYTES_MAX ((size_t)16 << 20)
#define TIMELINE_CRC_BYTES 4
/* Workers are few; names beyond this are not kept. */
#define TIMELINE_WORKERS_MAX 4096

struct job_timeline {
    struct job_files files;
    char *dir; /* Owned. */
    struct mutex mutex;
    /* Under the mutex: */
    struct attempt_list list; /* Texts are owned. */
    size_t map_count;         /* Of kinds other than reduces. */
    size_t error_count;
    size_t logs[TIMELINE_LOGS_MAX]; /* Attempts with a log, oldest first. */
    size_t log_count;
    bool changed;
    bool has_logs_dir;
    uint64_t saved_ns;
};

static uint64_t timeline_now_us(const struct job_timeline *t)
{
    return world_now_us(t->files.world);
}

struct job_timeline *job_timeline_new(const struct job_files *files,
                                      const char *dir)
{
    struct job_timeline *t = mem_zalloc(1, sizeof(*t));
    t->files = *files;
    t->dir = mem_strdup(dir);
    t->saved_ns = world_mono_ns(files->world);
    mutex_init(&t->mutex);
    return t;
}

static void free_slice(struct slice s)
{
    if (s.len > 0) /* An empty one has no memory. */
        mem_free((void *)(uintptr_t)s.data);
}

/* A copy; empty without memory. */
static struct slice own_slice(struct slice s)
{
    return s.len ? slice_make(mem_strndup(s.data, s.len), s.len) : SLICE_EMPTY;
}

void job_timeline_free(struct job_timeline *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->list.worker_count; i++)
        free_slice(t->list.workers[i]);
    for (size_t i = 0; i < t->list.count; i++)
        free_slice(t->list.at[i].error);
    attempt_list_close(&t->list);
    mutex_close(&t->mutex);
    mem_free(t->dir);
    mem_free(t);
}

/* --- attempts ------------------------------------------------------------ */

/* Index of the worker called @name. */
static uint32_t timeline_worker(struct job_timeline *t, struct slice name)
{
    struct attempt_list *l = &t->list;
    if (name.len == 0)
        return ATTEMPT_WORKER_NONE;
    for (size_t i = 0; i < l->worker_count; i++)
        if (slice_eq(l->workers[i], name))
            return (uint32_t)i;
    if (l->worker_count == TIMELINE_WORKERS_MAX)
        return ATTEMPT_WORKER_NONE;
    l->workers =
        mem_realloc(l->workers, (l->worker_count + 1) * sizeof(*l->workers));
    l->workers[l->worker_count] = own_slice(name);
    return (uint32_t)l->worker_count++;
}

static bool timeline_has_room(const struct job_timeline *t, enum task_kind kind)
{
    return t->list.count < ATTEMPT_RECORDS_MAX &&
           (kind == TASK_REDUCE || t->map_count < ATTEMPT_MAPS_MAX);
}

/* Append @a; its error becomes the timeline's. PRE: there is room. */
static size_t timeline_add(struct job_timeline *t,
                           const struct attempt_record *a)
{
    struct attempt_list *l = &t->list;
    PRE(timeline_has_room(t, a->kind));
    if ((l->count & (l->count - 1)) == 0)
        l->at = mem_realloc(l->at,
                            MAX_OF(l->count * 2, (size_t)1) * sizeof(*l->at));
    l->at[l->count] = *a;
    t->map_count += a->kind != TASK_REDUCE;
    t->error_count += a->error.len > 0;
    t->changed = true;
    return l->count++;
}

uint32_t job_timeline_begin_part(struct job_timeline *t, bool resumed)
{
    uint32_t part;
    mutex_lock(&t->mutex);
    if (!resumed || t->list.parts == 0)
        t->list.parts++;
    part = t->list.parts;
    mutex_unlock(&t->mutex);
    return part;
}

size_t job_timeline_begin(struct job_timeline *t,
                          const struct attempt_record *a,
                          const char *worker)
{
    struct attempt_record one = {.part = a->part,
                                 .kind = a->kind,
                                 .task = a->task,
                                 .attempt = a->attempt,
                                 .backup = a->backup,
                                 .begun_at_us = timeline_now_us(t)};
    size_t index = TIMELINE_NONE;
    mutex_lock(&t->mutex);
    if (timeline_has_room(t, a->kind)) {
        one.worker = timeline_worker(t, slice_str(worker ? worker : ""));
        index = timeline_add(t, &one);
    } else {
        t->list.dropped++;
    }
    mutex_unlock(&t->mutex);
    return index;
}

void job_timeline_progress(struct job_timeline *t,
                           const struct attempt_progress *at,
                           size_t count)
{
    mutex_lock(&t->mutex);
    for (size_t i = 0; i < count; i++) {
        struct attempt_record *a;
        if (at[i].index == TIMELINE_NONE)
            continue;
        PRE(at[i].index < t->list.count);
        a = &t->list.at[at[i].index];
        a->records = at[i].records;
        a->bytes = at[i].bytes;
        a->total = at[i].total;
    }
    mutex_unlock(&t->mutex);
}

/* --- logs ---------------------------------------------------------------- */

static void
log_path(const char *dir, const struct attempt_record *a, struct buf *out)
{
    const struct task_spec s = {
        .kind = a->kind, .index = a->task, .attempt = a->attempt};
    buf_printf(out, "%s/%s/%u-", dir, TIMELINE_LOGS_DIR, a->part);
    task_spec_prefix(&s, out);
}

/* The directory is made with the first log. Parks. */
static int make_logs_dir(struct job_timeline *t)
{
    struct buf path = BUF_INIT;
    int rc = 0;
    buf_printf(&path, "%s/%s", t->dir, TIMELINE_LOGS_DIR);
    if (!t->has_logs_dir)
        rc = dirs_make(&t->files, buf_cstr(&path), NULL);
    t->has_logs_dir = rc == 0;
    buf_close(&path);
    return rc;
}

/* Remember that @index has a log. If one has to go for it, *@old names it. */
static bool
note_log(struct job_timeline *t, size_t index, struct attempt_record *old)
{
    enum {
        FIRST = TIMELINE_LOGS_MAX / 2
    };

    bool full = t->log_count == TIMELINE_LOGS_MAX;
    if (full) {
        struct attempt_record *a = &t->list.at[t->logs[FIRST]];
        a->has_log = false;
        *old = *a;
        for (size_t i = FIRST; i + 1 < t->log_count; i++)
            t->logs[i] = t->logs[i + 1];
        t->log_count--;
    }
    t->logs[t->log_count++] = index;
    t->list.at[index].has_log = true;
    POST(t->log_count <= TIMELINE_LOGS_MAX); /* INV-2 */
    return full;
}

/* Keep the end of @log, which attempt @index wrote. Parks. */
static void keep_log(struct job_timeline *t, size_t index, struct slice log)
{
    struct attempt_record a;
    struct attempt_record old;
    struct buf path = BUF_INIT;
    bool full = false;
    int rc;
    if (log.len > TIMELINE_LOG_BYTES_MAX)
        log = slice_sub(log, log.len - TIMELINE_LOG_BYTES_MAX, log.len);
    mutex_lock(&t->mutex);
    a = t->list.at[index];
    mutex_unlock(&t->mutex);
    log_path(t->dir, &a, &path);
    rc = make_logs_dir(t);
    if (rc == 0)
        rc = files_replace_sealed(&t->files, buf_cstr(&path), log, NULL);
    if (rc == 0) {
        mutex_lock(&t->mutex);
        full = note_log(t, index, &old);
        mutex_unlock(&t->mutex);
    }
    buf_clear(&path);
    if (full) {
        log_path(t->dir, &old, &path);
        /* One file too many; it goes with the job. */
        IGNORE_RESULT(files_remove(&t->files, buf_cstr(&path), NULL));
    }
    buf_close(&path);
}

void job_timeline_end(struct job_timeline *t,
                      size_t index,
                      const struct attempt_ending *e)
{
    uint64_t now = timeline_now_us(t);
    struct attempt_record *a;
    PRE(e->state != ATTEMPT_END_RUNNING);
    if (index == TIMELINE_NONE)
        return;
    mutex_lock(&t->mutex);
    PRE(index < t->list.count);
    a = &t->list.at[index];
    INVARIANT(a->state == ATTEMPT_END_RUNNING); /* INV-1 */
    a->state = e->state;
    a->took_us = now > a->begun_at_us ? now - a->begun_at_us : 1;
    a->records = e->records;
    a->bytes = e->bytes;
    if (e->error.len > 0 && t->error_count < ATTEMPT_ERRORS_MAX) {
        a->error = own_slice(slice_sub(
            e->error, 0, MIN_OF(e->error.len, ATTEMPT_ERROR_BYTES_MAX)));
        t->error_count++;
    }
    t->changed = true;
    mutex_unlock(&t->mutex);
    if (e->state == ATTEMPT_END_FAILED && e->log.len > 0)
        keep_log(t, index, e->log);
}

/* --- files --------------------------------------------------------------- */

static void timeline_path(const char *dir, struct buf *out)
{
    buf_printf(out, "%s/%s", dir, TIMELINE_FILE);
}

void job_timeline_encode(struct job_timeline *t, struct buf *out)
{
    mutex_lock(&t->mutex);
    attempt_list_put(&t->list, out);
    mutex_unlock(&t->mutex);
}

void job_timeline_save(struct job_timeline *t, bool now)
{
    uint64_t ns = world_mono_ns(t->files.world);
    struct buf path = BUF_INIT;
    struct buf bytes = BUF_INIT;
    bool due;
    mutex_lock(&t->mutex);
    due = t->changed && (now || ns - t->saved_ns > TIMELINE_SAVE_US * 1000);
    if (due) {
        t->changed = false;
        t->saved_ns = ns;
    }
    mutex_unlock(&t->mutex);
    if (!due)
        return;
    put_le32(buf_extend(&bytes, TIMELINE_CRC_BYTES), 0);
    job_timeline_encode(t, &bytes);
    put_le32(bytes.data, crc32c(bytes.data + TIMELINE_CRC_BYTES,
                                bytes.len - TIMELINE_CRC_BYTES));
    timeline_path(t->dir, &path);
    /* A timeline that cannot be written must not stop the job; the next one may
     * be. */
    IGNORE_RESULT(files_replace_sealed(&t->files, buf_cstr(&path),
                                       buf_slice(&bytes), NULL));
    buf_close(&path);
    buf_close(&bytes);
}

int job_timeline_read(const struct job_files *files,
                      const char *dir,
                      struct buf *out,
                      struct err *err)
{
    struct buf path = BUF_INIT;
    struct buf bytes = BUF_INIT;
    struct slice body;
    int rc;
    timeline_path(dir, &path);
    rc = files_read_all_sealed(files, buf_cstr(&path), TIMELINE_BYTES_MAX,
                               &bytes, err);
    if (rc == 0 && bytes.len < TIMELINE_CRC_BYTES)
        rc = err_set(err, ERR_CORRUPT, "%s: too short", buf_cstr(&path));
    if (rc == 0) {
        body = slice_sub(buf_slice(&bytes), TIMELINE_CRC_BYTES, bytes.len);
        if (crc32c(body.data, body.len) != get_le32(bytes.data))
            rc = err_set(err, ERR_CORRUPT, "%s: bad CRC", buf_cstr(&path));
        else
            buf_append_slice(out, body);
    }
    buf_close(&path);
    buf_close(&bytes);
    return rc;
}

/* Take over what @l has; nobody knows how the running ones ended. */
static void take_list(struct job_timeline *t, const struct attempt_list *l)
{
    uint64_t now = timeline_now_us(t);
    t->list.parts = l->parts;
    t->list.dropped = l->dropped;
    for (size_t i = 0; i < l->count; i++) {
        struct attempt_record a = l->at[i];
        if (!timeline_has_room(t, a.kind)) {
            t->list.dropped++;
            continue;
        }
        if (a.state == ATTEMPT_END_RUNNING) {
            a.took_us = attempt_record_took_us(&a, now);
            a.state = ATTEMPT_END_LOST;
        }
        a.worker = timeline_worker(t, attempt_list_worker(l, &l->at[i]));
        a.error = own_slice(a.error);
        a.has_log &= t->log_count < TIMELINE_LOGS_MAX;
        if (a.has_log)
            t->logs[t->log_count++] = t->list.count;
        (void)timeline_add(t, &a);
    }
}

int job_timeline_load(struct job_timeline *t, struct err *err)
{
    struct buf bytes = BUF_INIT;
    struct attempt_list l = {.parts = 0};
    int rc;
    PRE(t->list.count == 0);
    rc = job_timeline_read(&t->files, t->dir, &bytes, err);
    if (rc == 0)
        rc = attempt_list_get(buf_slice(&bytes), &l, err);
    if (rc == 0) {
        mutex_lock(&t->mutex);
        take_list(t, &l);
        mutex_unlock(&t->mutex);
    }
    attempt_list_close(&l);
    buf_close(&bytes);
    return rc == ERR_NOTFOUND ? 0 : rc;
}

int job_timeline_read_log(const struct job_files *files,
                          const char *dir,
                          const struct attempt_record *a,
                          struct buf *out,
                          struct err *err)
{
    struct buf path = BUF_INIT;
    int rc;
    log_path(dir, a, &path);
    rc = files_read_all_sealed(files, buf_cstr(&path),
                               2 * TIMELINE_LOG_BYTES_MAX, out, err);
    buf_close(&path);
    return rc;
}

/* --- asking, of a history ------------------------------------------------ */

/* The directory of job @id, which may be the beginning of one. */
static int find_dir(const struct job_files *files,
                    const char *history_dir,
                    const char *id,
                    char **id_out,
                    struct buf *dir,
                    struct err *err)
{
    struct job_summary *job = NULL;
    int rc = job_history_get(files, history_dir, id, &job, err);
    *id_out = NULL;
    if (rc)
        return rc;
    *id_out = mem_strdup(job->id);
    buf_printf(dir, "%s/%s", history_dir, job->id);
    job_summaries_free(job, 1);
    return 0;
}

int job_history_attempts(const struct job_files *files,
                         const char *history_dir,
                         const char *id,
                         char **id_out,
                         struct buf *out,
                         struct err *err)
{
    const struct attempt_list none = {.parts = 0};
    struct buf dir = BUF_INIT;
    int rc = find_dir(files, history_dir, id, id_out, &dir, err);
    if (rc == 0) {
        rc = job_timeline_read(files, buf_cstr(&dir), out, err);
        if (rc == ERR_NOTFOUND) {
            attempt_list_put(&none, out);
            rc = 0;
        }
    }
    buf_close(&dir);
    return rc;
}

int job_history_log(const struct job_files *files,
                    const char *history_dir,
                    const char *id,
                    const struct attempt_record *a,
                    struct buf *out,
                    struct err *err)
{
    struct buf dir = BUF_INIT;
    char *name = NULL;
    int rc = find_dir(files, history_dir, id, &name, &dir, err);
    if (rc == 0) {
        rc = job_timeline_read_log(files, buf_cstr(&dir), a, out, err);
        if (rc == ERR_NOTFOUND)
            err_set(err, ERR_NOTFOUND,
                    "no output of that attempt of job %s is kept", name);
    }
    mem_free(name);
    buf_close(&dir);
    return rc;
}
