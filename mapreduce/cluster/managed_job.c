/* Jobs of a cell while they run. Each runs mr_run() or mr_resume() on a task of
 * its own; the loop sees its summary under the term's mutex. A job ends in
 * three steps, each of which the next master can repeat: its outputs are
 * published, its end is written to job.json, its directory moves to the
 * history. */
#include "mapreduce/cluster/managed_job.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/core/panic.h"
#include "base/crypt/secret.h"
#include "base/metrics/metrics.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/world.h"
#include "base/trace/span.h"
#include "base/trace/span_record.h"
#include "base/trace/tracer.h"
#include "gfs-lite/fs.h"
#include "gfs-lite/routed.h"
#include "mapreduce/cluster/cell_host.h"
#include "mapreduce/cluster/job_paths.h"
#include "mapreduce/cluster/managed_leftovers.h"
#include "mapreduce/cluster/pool.h"
#include "mapreduce/mapreduce.h"
#include "mapreduce/master/job_replay.h"
#include "mapreduce/master/job_timeline.h"
#include "mapreduce/master/journal.h"
#include "mapreduce/output/dirs.h"
#include "mapreduce/task/job_trace.h"

/* Memory of an attempt for pairs, if the workers have that much for it. */
#define PAIR_BYTES ((uint64_t)192 << 20)
/* The default of job.h. */
#define HEAP_BYTES ((uint64_t)1 << 30)
#define PROCESSES  256u
/* Slots that the plan of a job counts on. */
#define SLOTS_MAX 256u
#define LOOK_US   UINT64_C(100000)
/* Between tries to record that a job has ended. */
#define SAVE_AGAIN_US UINT64_C(1000000)

static void managed_job_announce(struct managed_job *j)
{
    j->version = ++j->term->versions;
    cond_broadcast(&j->term->changed);
}

static char *
path_of(const struct managed_job *j, const char *root, const char *name)
{
    struct buf b = BUF_INIT;
    buf_printf(&b, "%s/%s%s%s", root, j->id, *name ? "/" : "", name);
    return buf_take(&b);
}

/* --- what the running job asks and tells --------------------------------- */

/* While the lock service is silent it is unknown whether the lock is held. */
static int managed_job_check(void *ctx, struct err *err)
{
    struct managed_job *j = ctx;
    struct job_master_term *r = j->term;
    while (atomic_load(&r->in_danger) && !atomic_load(&r->over) &&
           fiber_check(NULL) == 0)
        world_sleep_us(r->world, LOOK_US);
    if (!atomic_load(&r->over) && fiber_check(NULL) == 0)
        return 0;
    return err_set(err, ERR_CLOSED, "another job master has job %s", j->id);
}

static void on_progress(void *ctx, const struct mr_progress *p)
{
    struct managed_job *j = ctx;
    mutex_lock(&j->term->mutex);
    j->progress = *p;
    j->progress.job_id = j->id;
    managed_job_announce(j);
    mutex_unlock(&j->term->mutex);
}

/* Does a job with @outputs write those of @j, or is it an earlier part? */
static bool writes_outputs(const struct managed_job *j,
                           const char *const *outputs,
                           size_t n)
{
    const struct mr_options *o = &j->submitted.options;
    bool same = n == o->output_count;
    for (size_t i = 0; i < n && same; i++)
        same = strcmp(outputs[i], o->outputs[i]) == 0;
    return same;
}

static int
managed_job_save(struct managed_job *j, struct slice json, struct err *err)
{
    char *path = path_of(j, JOBS_ROOT, "job.json");
    int rc = files_replace_sealed(&j->term->files, path, json, err);
    mem_free(path);
    return rc;
}

/* Write down how the job has ended, however long it takes: until then nobody is
 * told, and afterwards no master runs it again. */
static void save_end(struct managed_job *j, struct slice json)
{
    struct err err = ERR_INIT;
    while (managed_job_save(j, json, &err) && managed_job_check(j, NULL) == 0) {
        log_warn(j->term->world, "jobs", "job %s: its end: %s", j->id,
                 err.text);
        world_sleep_us(j->term->world, SAVE_AGAIN_US);
    }
}

/* Parts of a driver are reported as the driver's job. Once the outputs are
 * published the end is recorded at once: the journal that knows of it is about
 * to be removed. */
static void on_told(void *ctx, const struct job_summary *s)
{
    struct managed_job *j = ctx;
    struct job_summary one = *s;
    struct saved_job *o = &j->submitted;
    struct buf json = BUF_INIT;
    one.id = j->id;
    one.principal = j->principal;
    if (o->job_name && !o->options.label)
        one.name = o->job_name;
    one.started_us = j->submitted_us;
    job_summary_encode(&one, &json);
    if (s->state == JOB_SUCCEEDED &&
        writes_outputs(j, (const char *const *)s->outputs, s->output_count))
        save_end(j, buf_slice(&json));
    mutex_lock(&j->term->mutex);
    buf_close(&j->summary);
    j->summary = json;
    snprintf(j->phase, sizeof(j->phase), "%s", s->phase ? s->phase : "");
    snprintf(j->waits, sizeof(j->waits), "%s", s->waits ? s->waits : "");
    managed_job_announce(j);
    mutex_unlock(&j->term->mutex);
}

static void wait_for(struct managed_job *j, const char *what)
{
    mutex_lock(&j->term->mutex);
    j->waiting = what;
    managed_job_announce(j);
    mutex_unlock(&j->term->mutex);
}

static int open_host(void *ctx,
                     const struct job_setup *setup,
                     struct attempt_host **out,
                     struct err *err)
{
    struct managed_job *j = ctx;
    const struct cell_job share = {.priority = j->priority,
                                   .weight = j->weight,
                                   .slots_max = j->slots_max};
    return cell_host_open(j->term->pool, setup, &share, out, err);
}

/* --- running ------------------------------------------------------------- */

/* The plan counts on the slots that exist when it is made, as far as each has a
 * core: more of them would only make more tasks of the same work. */
static int
size_job(struct managed_job *j, struct mr_options *o, struct err *err)
{
    struct job_master_term *r = j->term;
    struct pool_size size;
    uint64_t each;
    wait_for(j, "no worker is up");
    while (!worker_pool_wait(r->pool, LOOK_US)) {
        int rc = managed_job_check(j, err);
        if (rc)
            return rc;
        if (atomic_load(&j->cancel))
            return err_set(err, ERR_CANCELLED, "job %s was killed", j->id);
    }
    wait_for(j, NULL);
    worker_pool_size(r->pool, &size);
    o->workers = worker_pool_cores(r->pool);
    o->workers = MAX_OF(MIN_OF(o->workers, SLOTS_MAX), 1u);
    if (j->slots_max > 0)
        o->workers = MIN_OF(o->workers, j->slots_max);
    each = MIN_OF(size.slot_bytes / 2, PAIR_BYTES);
    if (o->memory_bytes == 0)
        o->memory_bytes = each * o->workers;
    return 0;
}

static void fill_options(struct managed_job *j, struct mr_options *o)
{
    const struct job_master_options *m = j->term->options;
    o->id = j->id;
    o->fs = j->term->files.fs;
    o->keyring = j->term->files.keyring;
    o->world = j->term->world;
    o->history_dir = JOBS_ROOT;
    o->target = m->target;
    o->store_options = m->store_options;
    o->encrypts = m->encrypts;
    o->principal = *j->principal ? j->principal : NULL;
    o->progress = on_progress;
    o->progress_ctx = j;
    o->cancel = &j->cancel;
    o->open_host = open_host;
    o->host_ctx = j;
    o->check = managed_job_check;
    o->check_ctx = j;
    o->told = on_told;
    o->told_ctx = j;
    o->timeline = j->timeline;
    o->trace = j->trace;
    o->in_process = false;
}

/* A job that does not ask for a limit gets the default, or the most it may
 * have. */
static void fill_defaults(const struct job_caps *caps, struct mr_options *o)
{
    if (o->heap_bytes == 0 && caps->memory_max)
        o->heap_bytes = MIN_OF(caps->memory_max, HEAP_BYTES);
    if (o->processes_max == 0 && caps->processes_max)
        o->processes_max = MIN_OF(caps->processes_max, PROCESSES);
}

/* Finish part @name if it was publishing the job's outputs when its master
 * died; ERR_NOTFOUND: it was not. */
static int finish_part(struct managed_job *j,
                       struct mr_options *o,
                       const char *name,
                       struct mr_report **report,
                       struct err *err)
{
    struct replay log = {.planned = false};
    struct buf path = BUF_INIT;
    int rc;
    journal_path(&path, o->history_dir, name);
    rc = journal_load(&j->term->files, buf_cstr(&path), &log.bytes, &log.length,
                      err);
    if (rc == 0)
        rc = replay_read(&log, err);
    if (rc == 0 &&
        !(log.committing && writes_outputs(j, log.begin.options.outputs,
                                           log.begin.options.output_count)))
        rc = err_set(err, ERR_NOTFOUND, "a part that is not the last");
    if (rc == 0)
        rc = mr_resume(o, name, j->term->options->find, report, err);
    replay_close(&log);
    buf_close(&path);
    return rc;
}

static int finish_parts(struct managed_job *j,
                        struct mr_options *o,
                        struct mr_report **report,
                        struct err *err)
{
    char **names = NULL;
    size_t count = 0;
    int rc = files_list(&j->term->files, o->history_dir, &names, &count, err);
    if (rc == 0)
        rc = ERR_NOTFOUND;
    for (size_t i = 0; i < count && rc == ERR_NOTFOUND; i++)
        rc = finish_part(j, o, names[i], report, err);
    files_names_free(names, count);
    return rc;
}

/* Run a driver: its parts keep their files below its own. The next master
 * starts it again, unless the part that writes its outputs was publishing them.
 */
static int run_parts(struct managed_job *j,
                     struct mr_options *o,
                     struct mr_report **report,
                     struct err *err)
{
    const struct job_master_options *m = j->term->options;
    char *parts = path_of(j, JOBS_ROOT, "parts");
    unsigned char scratch_key[AEAD_KEY_BYTES];
    int rc = ERR_NOTFOUND;
    o->history_dir = parts;
    o->id = NULL;
    world_random_bytes(j->term->world, scratch_key, sizeof(scratch_key));
    o->scratch_key = o->encrypts ? scratch_key : NULL;
    if (j->resumed)
        rc = finish_parts(j, o, report, err);
    if (rc == ERR_NOTFOUND) {
        rc = kept_parts_forget(j, o, err);
        if (rc == 0)
            rc = m->drive(j->submitted.job_name, o, report, err);
    }
    o->scratch_key = NULL;
    secret_wipe(scratch_key, sizeof(scratch_key));
    mem_free(parts);
    return rc;
}

static int run_one(struct managed_job *j,
                   struct mr_options *o,
                   struct mr_report **report,
                   struct err *err)
{
    const struct job_master_options *m = j->term->options;
    struct err first = ERR_INIT;
    int rc = ERR_NOTFOUND;
    if (j->submitted.job_name)
        o->program.job = m->find(j->submitted.job_name);
    if (j->submitted.job_name && !o->program.job)
        return err_set(err, ERR_NOTFOUND, "the job master knows no job %s",
                       j->submitted.job_name);
    if (j->resumed)
        rc = mr_resume(o, j->id, m->find, report, &first);
    /* It had not begun. */
    if (rc == ERR_NOTFOUND && !*report)
        return mr_run(o, report, err);
    return rc ? err_copy(err, &first) : 0;
}

/* A job that failed before it had a summary gets one. */
static void report_end(struct managed_job *j, int code, const struct err *err)
{
    const struct mr_options *o = &j->submitted.options;
    struct job_summary s = {.id = j->id, .state = JOB_FAILED};
    s.name = (char *)(uintptr_t)(o->label ? o->label : "job");
    if (code == 0)
        s.state = JOB_SUCCEEDED;
    else if (code == ERR_CANCELLED)
        s.state = JOB_KILLED;
    s.ended_us = world_now_us(j->term->world);
    s.inputs = (char **)(uintptr_t)o->inputs;
    s.input_count = o->input_count;
    s.outputs = (char **)(uintptr_t)o->outputs;
    s.output_count = o->output_count;
    s.code = code;
    s.error = code ? (char *)(uintptr_t)err->text : NULL;
    s.hint = code && err->hint[0] ? (char *)(uintptr_t)err->hint : NULL;
    if (code && err->detail == ERR_DETAIL_NO_INPUT)
        s.missing = (char *)(uintptr_t)err->subject;
    on_told(j, &s);
}

/* The report of a driver has counters that its parts do not. */
static void managed_job_set_progress(struct managed_job *j,
                                     struct job_summary *s,
                                     const struct mr_report *report)
{
    struct mr_counter_value *own = s->counters;
    size_t own_count = s->counter_count;
    s->counters = report->counters;
    s->counter_count = report->counter_count;
    on_told(j, s);
    s->counters = own;
    s->counter_count = own_count;
}

static void managed_job_count(const struct managed_job *j, int code)
{
    const char *outcome = code == 0               ? "done"
                          : code == ERR_CANCELLED ? "killed"
                                                  : "failed";
    metric_add(metrics_counter(j->term->options->metrics, METRIC_jobs_ended,
                               METRIC_LABELS(outcome)),
               1);
}

/* Make sure that the summary says how the job ended. */
static void managed_job_set_outcome(struct managed_job *j,
                                    int code,
                                    const struct mr_report *report,
                                    const struct err *err)
{
    struct job_summary *s = mem_zalloc(1, sizeof(*s));
    log_debug(j->term->world, "jobs", "job %s: ends code=%d", j->id, code);
    if (j->summary.len == 0 ||
        job_summary_decode(buf_slice(&j->summary), s, NULL) ||
        (s->state == JOB_SUCCEEDED) != (code == 0) || s->state == JOB_RUNNING)
        report_end(j, code, err);
    else if (code == 0 && report && report->counter_count != s->counter_count)
        managed_job_set_progress(j, s, report);
    job_summaries_free(s, 1);
}

/* Move the files worth keeping to the history. */
static int put_away(struct managed_job *j, struct err *err)
{
    const struct job_files *files = &j->term->files;
    char *here = path_of(j, JOBS_ROOT, "");
    char *there = path_of(j, JOBS_HISTORY, "");
    static const char *const rest[] = {"files", "parts", "kill", "submitted"};
    int rc = 0;
    for (size_t i = 0; i < ARRAY_LEN(rest) && rc == 0; i++) {
        char *path = path_of(j, JOBS_ROOT, rest[i]);
        rc = dirs_remove(files, path, err);
        mem_free(path);
    }
    if (rc == 0)
        rc = files_rename(files, here, there, err);
    mem_free(here);
    mem_free(there);
    return rc;
}

/* Let the job use files with the rights of its submitter; *@theirs is owned, or
 * NULL. */
static int open_files(const struct managed_job *j,
                      struct mr_options *o,
                      struct fs **theirs,
                      struct err *err)
{
    const struct job_master_options *m = j->term->options;
    struct fs *fs;
    int rc;
    *theirs = NULL;
    if (!m->open_fs || !o->principal)
        return 0;
    rc = m->open_fs(m->ctx, o->principal, &fs, err);
    if (rc)
        return rc;
    *theirs = fs_routed_new(o->fs, fs, job_own_trees);
    o->fs = *theirs;
    return 0;
}

/* Its name, also before it has a summary. */
static const char *name_of(const struct managed_job *j)
{
    const struct saved_job *s = &j->submitted;
    if (s->options.label)
        return s->options.label;
    return s->job_name ? s->job_name : "job";
}

/* Continue the timeline that the master before this one has written. */
static void timeline_resume(struct managed_job *j)
{
    struct err err = ERR_INIT;
    if (j->resumed && job_timeline_load(j->timeline, &err))
        log_warn(j->term->world, "jobs", "job %s: timeline: %s", j->id,
                 err.text);
}

/* Calls of this thread for the job are parts of its trace. */
static void managed_job_enter_trace(struct managed_job *j,
                                    struct trace_context *c)
{
    struct tracer *t = world_tracer(j->term->world);
    struct trace_id id = job_trace_id(j->id);
    j->trace.high = id.high;
    j->trace.low = id.low;
    j->trace.sampled |= t && tracer_samples(t, id);
    *c = (struct trace_context){.trace = id,
                                .span_id = job_trace_root(id),
                                .sampled = j->trace.sampled,
                                .tracer = t};
    trace_use_context(c);
}

/* Keep the span of the whole job, which ends with @code. */
static void managed_job_record(const struct managed_job *j, int code)
{
    struct tracer *t = world_tracer(j->term->world);
    struct trace_id id = job_trace_of(&j->trace);
    uint64_t now = world_now_us(j->term->world);
    struct span_record s = {.trace = id,
                            .id = job_trace_root(id),
                            .kind = SPAN_INTERNAL,
                            .flags = SPAN_SAMPLED,
                            .status = code,
                            .start_us = j->submitted_us,
                            .name = SLICE_LIT("job"),
                            .attribute_count = 3};
    if (now > j->submitted_us)
        s.duration_us = now - j->submitted_us;
    s.attributes[0] = (struct span_attribute){.key = "job",
                                              .key_bytes = 3,
                                              .is_text = true,
                                              .text = slice_str(j->id)};
    s.attributes[1] = (struct span_attribute){.key = "label",
                                              .key_bytes = 5,
                                              .is_text = true,
                                              .text = slice_str(name_of(j))};
    s.attributes[2] = (struct span_attribute){.key = "principal",
                                              .key_bytes = 9,
                                              .is_text = true,
                                              .text = slice_str(j->principal)};
    if (t)
        tracer_record(t, &s);
}

static void managed_job_run(void *arg)
{
    struct managed_job *j = arg;
    struct job_master_term *r = j->term;
    struct mr_options o = j->submitted.options;
    struct mr_report *report = NULL;
    struct err err = ERR_INIT;
    struct trace_context context;
    struct fs *theirs;
    int rc;
    timeline_resume(j);
    managed_job_enter_trace(j, &context);
    fill_options(j, &o);
    fill_defaults(&r->options->caps, &o);
    rc = open_files(j, &o, &theirs, &err);
    if (rc == 0)
        rc = size_job(j, &o, &err);
    if (rc == 0) {
        const char *name = j->submitted.job_name;
        bool parts = name && r->options->is_driver(name);
        rc = parts ? run_parts(j, &o, &report, &err)
                   : run_one(j, &o, &report, &err);
    }
    if (managed_job_check(j, NULL) == 0) {
        managed_job_count(j, rc);
        managed_job_record(j, rc);
        managed_job_set_outcome(j, rc, report, &err);
        save_end(j, buf_slice(&j->summary));
        job_timeline_save(j->timeline, true);
        if (put_away(j, &err))
            log_warn(r->world, "jobs", "job %s: history: %s", j->id, err.text);
    } else {
        managed_job_forget_late(j);
    }
    mr_report_free(report);
    fs_close(theirs);
    mutex_lock(&r->mutex);
    INVARIANT(j->state == MANAGED_RUNNING); /* INV-1 */
    j->state = MANAGED_ENDED;
    managed_job_announce(j);
    mutex_unlock(&r->mutex);
}

/* --- the list ------------------------------------------------------------ */

int managed_job_add(struct job_master_term *r,
                    const struct job_submission *s,
                    bool resumed,
                    struct managed_job **out,
                    struct err *err)
{
    struct managed_job *j = mem_zalloc(1, sizeof(*j));
    struct trace_context submitter;
    char *dir;
    int rc = saved_job_decode(&j->submitted, s->options, err);
    *j = (struct managed_job){
        .term = r,
        .submitted = j->submitted,
        .id = mem_strndup(s->id.data, s->id.len),
        .principal = mem_strndup(s->principal.data, s->principal.len),
        .priority = (int)MAX_OF(MIN_OF(s->priority, 1000), -1000),
        .weight = s->weight,
        .slots_max = s->slots_max,
        .resumed = resumed};
    if (rc) {
        managed_job_free(j);
        return rc;
    }
    atomic_init(&j->cancel, false);
    j->submitted_us = (uint64_t)j->submitted.job_time_us;
    dir = path_of(j, JOBS_ROOT, "");
    j->timeline = job_timeline_new(&r->files, dir);
    mem_free(dir);
    j->waiting = JOB_WAITS_ITS_TURN;
    trace_copy_context(&submitter);
    j->trace.sampled = submitter.sampled;
    mutex_lock(&r->mutex);
    *r->last = j;
    r->last = &j->next;
    managed_job_announce(j);
    mutex_unlock(&r->mutex);
    log_debug(r->world, "jobs", "job %s: submitted by=%s resumed=%d", j->id,
              j->principal, resumed);
    *out = j;
    return 0;
}

void managed_job_free(struct managed_job *j)
{
    saved_job_close(&j->submitted);
    buf_close(&j->summary);
    job_timeline_free(j->timeline);
    mem_free(j->id);
    mem_free(j->principal);
    mem_free(j);
}

void managed_jobs_drop_timelines(struct job_master_term *r)
{
    for (struct managed_job *j = r->jobs; j; j = j->next)
        if (j->state == MANAGED_HISTORY) {
            INVARIANT(!j->task); /* INV-1 */
            job_timeline_free(j->timeline);
            j->timeline = NULL;
        }
}

static void managed_job_join(struct managed_job *j)
{
    task_join(j->task);
    j->task = NULL;
    mutex_lock(&j->term->mutex);
    INVARIANT(j->state == MANAGED_ENDED); /* INV-1 */
    INVARIANT(j->term->running > 0);
    j->state = MANAGED_HISTORY;
    j->term->running--;
    mutex_unlock(&j->term->mutex);
}

/* The next one to start: of the highest priority the oldest. */
static struct managed_job *next_waiting(struct job_master_term *r)
{
    struct managed_job *best = NULL;
    for (struct managed_job *j = r->jobs; j; j = j->next)
        if (j->state == MANAGED_WAITING &&
            (!best || j->priority > best->priority))
            best = j;
    return best;
}

static enum managed_state state_of(struct managed_job *j)
{
    enum managed_state s;
    mutex_lock(&j->term->mutex);
    s = j->state;
    mutex_unlock(&j->term->mutex);
    return s;
}

void managed_jobs_schedule(struct job_master_term *r)
{
    struct managed_job *j;
    for (j = r->jobs; j; j = j->next)
        if (state_of(j) == MANAGED_ENDED)
            managed_job_join(j);
    while (r->running < r->options->running_max && (j = next_waiting(r))) {
        mutex_lock(&r->mutex);
        INVARIANT(j->state == MANAGED_WAITING); /* INV-1 */
        j->state = MANAGED_RUNNING;
        j->waiting = NULL;
        r->running++;
        mutex_unlock(&r->mutex);
        j->task = task_start(r->world, "job", managed_job_run, j);
    }
}

void managed_jobs_end(struct job_master_term *r)
{
    if (r->pool)
        worker_pool_end(r->pool);
    for (struct managed_job *j = r->jobs; j; j = j->next)
        atomic_store(&j->cancel, true);
    for (struct managed_job *j = r->jobs; j; j = j->next)
        if (j->task)
            managed_job_join(j);
}

void managed_job_news(struct managed_job *j,
                      struct job_news *out,
                      struct buf *json)
{
    struct job_master_term *r = j->term;
    mutex_lock(&r->mutex);
    *out = (struct job_news){.version = j->version,
                             .ended = j->state >= MANAGED_ENDED,
                             .progress = j->progress};
    if (j->summary.len > 0) {
        buf_append_slice(json, buf_slice(&j->summary));
    } else {
        const struct mr_options *o = &j->submitted.options;
        struct job_summary s = {.id = j->id,
                                .principal = j->principal,
                                .name = (char *)(uintptr_t)name_of(j),
                                .state = JOB_RUNNING,
                                .phase = (char *)(uintptr_t) "plan",
                                .started_us = j->submitted_us,
                                .waits = (char *)(uintptr_t)j->waiting,
                                .inputs = (char **)(uintptr_t)o->inputs,
                                .input_count = o->input_count,
                                .outputs = (char **)(uintptr_t)o->outputs,
                                .output_count = o->output_count};
        job_summary_encode(&s, json);
    }
    mutex_unlock(&r->mutex);
    out->summary = buf_slice(json);
}

void managed_job_describe(struct managed_job *j, struct buf *out)
{
    const struct mr_progress *p = &j->progress;
    mutex_lock(&j->term->mutex);
    buf_printf(out, "%s %s: ", j->id, name_of(j));
    if (p->tasks_total > 0)
        buf_printf(out, "%s, %u of %u tasks done, %u run", j->phase,
                   p->tasks_done, p->tasks_total, p->tasks_running);
    else
        buf_printf(out, "%s", *j->phase ? j->phase : "waits");
    if (j->waiting || *j->waits)
        buf_printf(out, "; %s", j->waiting ? j->waiting : j->waits);
    mutex_unlock(&j->term->mutex);
}

bool managed_job_stalls(struct managed_job *j)
{
    bool stalls;
    mutex_lock(&j->term->mutex);
    stalls = (*j->waits || j->waiting) && j->progress.tasks_running == 0;
    mutex_unlock(&j->term->mutex);
    return stalls;
}

int managed_job_kill(struct managed_job *j, struct err *err)
{
    char *path;
    int rc;
    if (state_of(j) >= MANAGED_ENDED)
        return err_set(err, ERR_INVALID, "job %s does not run", j->id);
    path = path_of(j, JOBS_ROOT, "kill");
    rc = files_replace(&j->term->files, path, SLICE_EMPTY, err);
    mem_free(path);
    if (rc == 0)
        atomic_store(&j->cancel, true);
    return rc;
}
