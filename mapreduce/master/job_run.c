/* mr_run() and mr_resume(): a job from its options to its report.
 *
 * A resumed job takes the same path with a replay of its journal, from which
 * each stage takes what is done already.
 */
#include "mapreduce/master/job_run.h"

#include <stdlib.h>

#include "base/core/ignore_result.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "mapreduce/job.h"
#include "mapreduce/records/files.h"

static void fill_defaults(struct mr_options *o)
{
    if (o->workers == 0)
        o->workers = MAX_OF(world_cpu_count(o->world), 1u);
    if (o->memory_bytes == 0)
        o->memory_bytes = (uint64_t)384 << 20;
    if (o->heap_bytes == 0)
        o->heap_bytes = (uint64_t)1 << 30;
    if (o->file_bytes == 0)
        o->file_bytes = (uint64_t)256 << 30;
    if (o->processes_max == 0)
        o->processes_max = 256;
    if (o->timeout_us == 0)
        o->timeout_us = (uint64_t)600 * 1000 * 1000;
    if (o->attempts_max == 0)
        o->attempts_max = 4;
    if (o->skips_max == 0)
        o->skips_max = 16;
}

static char **copy_texts(const char *const *from, size_t count)
{
    char **to = mem_alloc((count + 1) * sizeof(char *));
    for (size_t i = 0; i < count; i++)
        to[i] = mem_strdup(from[i]);
    return to;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct mr_counter_value *)a)->name,
                  ((const struct mr_counter_value *)b)->name);
}

static struct mr_counter_value *list_counters(const struct counters *c)
{
    struct mr_counter_value *list = mem_zalloc(c->count + 1, sizeof(*list));
    size_t n = 0;
    for (const struct counter *k = c->first; k; k = k->next)
        list[n++] = (struct mr_counter_value){mem_strdup(k->name), k->value};
    if (n > 1)
        qsort(list, n, sizeof(*list), by_name);
    return list;
}

static void free_counters(struct mr_counter_value *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        mem_free((void *)(uintptr_t)list[i].name);
    mem_free(list);
}

static void summary_start(struct job_run *r)
{
    const struct mr_options *o = r->opts;
    struct job_summary *s = &r->summary;
    const char *name = o->label ? o->label : r->host->traits.name;
    s->id = mem_strdup(r->setup.job_id);
    s->name = mem_strdup(name);
    s->state = JOB_RUNNING;
    s->phase = mem_strdup("plan");
    s->started_us = (uint64_t)r->setup.job_time_us;
    s->inputs = copy_texts(o->inputs, o->input_count);
    s->input_count = o->input_count;
    s->outputs = copy_texts(o->outputs, o->output_count);
    s->output_count = o->output_count;
}

static void summary_end(struct job_run *r, int code, const struct err *err)
{
    struct job_summary *s = &r->summary;
    s->state = code == 0 ? JOB_SUCCEEDED : JOB_FAILED;
    if (code == ERR_CANCELLED)
        s->state = JOB_KILLED;
    s->ended_us = world_now_us(r->setup.world);
    if (code)
        s->error = mem_strdup(err->text);
    if (code && err->hint[0])
        s->hint = mem_strdup(err->hint);
    if (code && err->detail == ERR_DETAIL_NO_INPUT)
        s->missing = mem_strdup(err->subject);
    s->code = code;
    s->attempts_failed = r->progress.attempts_failed;
    s->counters = list_counters(&r->counters);
    s->counter_count = r->counters.count;
    job_history_save(r);
}

static struct mr_report *make_report(struct job_run *r)
{
    struct mr_report *p = mem_zalloc(1, sizeof(*p));
    p->job_id = r->summary.id ? mem_strdup(r->summary.id) : NULL;
    p->elapsed_us = (world_mono_ns(r->setup.world) - r->started_ns) / 1000;
    p->map_tasks = (unsigned)r->splits.count;
    if (r->host && r->host->traits.has_reduce)
        p->reduce_tasks = r->partition_count;
    p->attempts_failed = r->progress.attempts_failed;
    p->counters = list_counters(&r->counters);
    p->counter_count = r->counters.count;
    p->notes = copy_texts((const char *const *)r->summary.notes,
                          r->summary.note_count);
    p->note_count = r->summary.note_count;
    return p;
}

void mr_report_free(struct mr_report *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->note_count; i++)
        mem_free(r->notes[i]);
    mem_free(r->notes);
    free_counters(r->counters, r->counter_count);
    mem_free(r->job_id);
    mem_free(r);
}

int64_t mr_report_counter(const struct mr_report *r, const char *name)
{
    for (size_t i = 0; i < r->counter_count; i++)
        if (strcmp(r->counters[i].name, name) == 0)
            return r->counters[i].value;
    return 0;
}

/* Attempts go to the caller's timeline, or to one beside the history. */
static void timeline_start(struct job_run *r)
{
    struct err err = ERR_INIT;
    r->timeline = r->opts->timeline;
    if (!r->timeline && !r->dir_is_temporary)
        r->timeline = r->own_timeline =
            job_timeline_new(&r->setup.files, r->job_dir);
    if (r->own_timeline && r->replay &&
        job_timeline_load(r->own_timeline, &err))
        job_note(r, "attempts before this process: %s", err.text);
    if (r->timeline)
        r->part = job_timeline_begin_part(r->timeline, r->replay != NULL);
}

static int job_run_all(struct job_run *r, struct err *err)
{
    int rc = job_prepare(r, err);
    if (rc)
        return rc;
    summary_start(r);
    timeline_start(r);
    rc = job_plan(r, err);
    job_history_save(r);
    if (rc == 0) {
        rc = job_phases(r, err);
        if (rc && rc != ERR_CANCELLED)
            err_wrap(err, "job %s", r->summary.name);
    }
    if (rc == 0)
        rc = job_check_cancel(r, err);
    if (rc == 0)
        rc = job_commit(r, err);
    return rc;
}

static void summary_free(struct job_summary *s)
{
    struct job_summary *one = mem_alloc(sizeof(*one));
    *one = *s;
    job_summaries_free(one, 1);
}

/* If another process has taken over the job, nothing of it is removed. */
static void look_for_others(struct job_run *r, int *code, struct err *err)
{
    const struct mr_options *o = r->opts;
    struct err said = ERR_INIT;
    if (o->check && o->check(o->check_ctx, &said) != 0) {
        r->given_up = true;
        *code = err_copy(err, &said);
    }
}

static int run_options(struct mr_options *o,
                       struct replay *replay,
                       struct mr_report **report,
                       struct err *err)
{
    struct job_run *r = mem_zalloc(1, sizeof(*r));
    int rc;
    if (!o->world)
        o->world = r->own_world = world_real_new();
    fill_defaults(o);
    r->opts = o;
    r->replay = replay;
    r->setup.opts = o;
    r->setup.world = o->world;
    r->skips_left = o->skips_max;
    r->skips_max = o->skips_max;
    r->started_ns = r->saved_ns = world_mono_ns(o->world);
    counters_init(&r->counters);
    rc = job_run_all(r, err);
    look_for_others(r, &rc, err);
    if (r->tasks_restored > 0)
        job_note(r, "resumed: %u tasks had been done", r->tasks_restored);
    if (r->summary.id && !r->given_up) {
        summary_end(r, rc, err);
        look_for_others(r, &rc,
                        err); /* Writing the history may have taken its time. */
    }
    if (r->own_timeline && !r->given_up)
        job_timeline_save(r->own_timeline, true);
    job_set_phase(r, MR_PHASE_DONE, 0);
    if (report)
        *report = make_report(r);
    job_cleanup(r);
    job_timeline_free(r->own_timeline);
    buf_close(&r->waits_for);
    summary_free(&r->summary);
    world_free(r->own_world);
    mem_free(r);
    return rc;
}

int mr_run(const struct mr_options *opts,
           struct mr_report **report,
           struct err *err)
{
    struct mr_options o = *opts;
    struct err local = ERR_INIT;
    return run_options(&o, NULL, report, err ? err : &local);
}

/* --- resuming ------------------------------------------------------------ */

static int find_dead(const struct mr_options *base,
                     const char *id,
                     struct job_summary **job,
                     struct err *err)
{
    const struct job_files files = {base->world, base->fs, base->keyring};
    int rc = job_history_get(&files, base->history_dir, id, job, err);
    if (rc)
        return rc;
    if ((*job)->state == JOB_RUNNING)
        return err_set(err, ERR_BUSY, "job %s runs, in process %llu",
                       (*job)->id, (unsigned long long)(*job)->pid);
    if ((*job)->state != JOB_LOST)
        return err_set(err, ERR_INVALID,
                       "job %s has ended: it %s; only one whose process died "
                       "can be resumed",
                       (*job)->id, job_state_name((*job)->state));
    return 0;
}

static int load_replay(const struct mr_options *base,
                       const char *id,
                       struct replay *log,
                       struct err *err)
{
    const struct job_files files = {base->world, base->fs, base->keyring};
    struct buf path = BUF_INIT;
    int rc;
    journal_path(&path, base->history_dir, id);
    rc = journal_load(&files, buf_cstr(&path), &log->bytes, &log->length, err);
    if (rc == ERR_NOTFOUND)
        rc = err_set(err, ERR_NOTFOUND,
                     "job %s left nothing to resume: run it again", id);
    if (rc == 0)
        rc = replay_read(log, err);
    buf_clear(&path);
    buf_printf(&path, "%s/%s/kill", base->history_dir, id);
    if (rc == 0) {
        /* Removed so that the request does not end the resumed job. */
        IGNORE_RESULT(files_remove(&files, buf_cstr(&path), NULL));
    }
    buf_close(&path);
    return rc;
}

static int job_resume_from(const struct mr_options *base,
                           struct replay *log,
                           const struct mr_job *(*find)(const char *name),
                           struct mr_report **report,
                           struct err *err)
{
    struct mr_options o = log->begin.options;
    if (log->begin.job_name)
        o.program.job = find ? find(log->begin.job_name) : NULL;
    if (log->begin.job_name && !o.program.job)
        return err_set(err, ERR_UNSUPPORTED,
                       "job %s is a part of another, which has to be run again",
                       log->begin.job_name);
    o.history_dir = base->history_dir;
    o.world = base->world;
    o.fs = base->fs;
    o.keyring = base->keyring;
    o.encrypts = base->encrypts;
    o.open_host = base->open_host;
    o.host_ctx = base->host_ctx;
    o.check = base->check;
    o.check_ctx = base->check_ctx;
    o.told = base->told;
    o.told_ctx = base->told_ctx;
    o.timeline = base->timeline;
    if (base->workers > 0) {
        o.workers = base->workers;
        o.memory_bytes = base->memory_bytes;
    }
    o.store = base->store;
    o.store_options = base->store_options;
    o.open_store = base->open_store;
    o.open_store_ctx = base->open_store_ctx;
    if (base->principal) /* The cell has proven it; the journal only claims it.
                          */
        o.principal = base->principal;
    o.progress = base->progress;
    o.progress_ctx = base->progress_ctx;
    o.cancel = base->cancel;
    o.step = base->step;
    o.step_ctx = base->step_ctx;
    return run_options(&o, log, report, err);
}

int mr_resume(const struct mr_options *base,
              const char *id,
              const struct mr_job *(*find)(const char *name),
              struct mr_report **report,
              struct err *err)
{
    struct mr_options b = *base;
    struct world *own = NULL;
    struct job_summary *job = NULL;
    struct replay log = {.planned = false};
    struct err local = ERR_INIT;
    int rc;
    PRE(b.history_dir != NULL);
    if (!err)
        err = &local;
    if (report)
        *report = NULL;
    if (!b.world)
        b.world = own = world_real_new();
    /* The master of a cell knows which are dead. */
    rc = b.fs ? 0 : find_dead(&b, id, &job, err);
    if (rc == 0)
        rc = load_replay(&b, job ? job->id : id, &log, err);
    if (rc == 0)
        rc = job_resume_from(&b, &log, find, report, err);
    replay_close(&log);
    job_summaries_free(job, job ? 1 : 0);
    world_free(own);
    return rc;
}
