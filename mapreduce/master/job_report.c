/* Reporting a running job: progress to the caller, notes for the report, the
 * summary for the history. Progress is limited to some calls a second, since it
 * is called for every event. */
#include <stdarg.h>

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "mapreduce/master/job_run.h"
#include "mapreduce/master/task_table.h"

#define REPORT_NS ((uint64_t)100 * 1000 * 1000)
#define SAVE_NS   ((uint64_t)1000 * 1000 * 1000)
/* Most notes about attempts in a report. */
#define NOTES_MAX 100

static const char *const phase_names[] = {
    [MR_PHASE_PLAN] = "plan",     [MR_PHASE_SAMPLE] = "sample",
    [MR_PHASE_MAP] = "map",       [MR_PHASE_REDUCE] = "reduce",
    [MR_PHASE_COMMIT] = "commit", [MR_PHASE_DONE] = "done",
};

void job_note(struct job_run *r, const char *fmt, ...)
{
    struct job_summary *s = &r->summary;
    struct buf text = BUF_INIT;
    va_list ap;
    if (s->note_count >= NOTES_MAX)
        return;
    va_start(ap, fmt);
    buf_vprintf(&text, fmt, ap);
    va_end(ap);
    s->notes = mem_realloc(s->notes, (s->note_count + 1) * sizeof(char *));
    s->notes[s->note_count++] = buf_take(&text);
}

void job_set_phase(struct job_run *r, enum mr_phase phase, unsigned tasks)
{
    PRE(phase <= MR_PHASE_DONE);
    r->progress.phase = phase;
    r->phase_us = world_now_us(r->setup.world);
    buf_clear(&r->waits_for);
    r->progress.tasks_total = tasks;
    r->progress.tasks_done = 0;
    r->progress.tasks_running = 0;
    r->progress.records = 0;
    r->progress.bytes = 0;
    mem_free(r->summary.phase);
    r->summary.phase = mem_strdup(phase_names[phase]);
    job_report(r, true);
}

void job_end_phase(struct job_run *r, const struct task_table *tasks)
{
    PRE(tasks->took_count <= tasks->started);
    struct job_summary *s = &r->summary;
    struct job_phase p = {.name = mem_strdup(phase_names[r->progress.phase]),
                          .started_us = r->phase_us,
                          .ended_us = world_now_us(r->setup.world),
                          .tasks = tasks->count,
                          .longest_us = tasks->longest_us};
    p.attempts = tasks->started;
    r->phases_tasks += tasks->count;
    r->phases_done += tasks->done;
    if (tasks->took_count > 0)
        p.mean_us = tasks->took_us / tasks->took_count;
    s->phases =
        mem_realloc(s->phases, (s->phase_count + 1) * sizeof(*s->phases));
    s->phases[s->phase_count++] = p;
}

void job_describe_wait(struct job_run *r)
{
    struct job_summary *s = &r->summary;
    mem_free(s->waits);
    s->waits = NULL;
    if (s->state == JOB_RUNNING && r->waits_for.len > 0)
        s->waits = mem_strdup(buf_cstr(&r->waits_for));
}

void job_report(struct job_run *r, bool now)
{
    uint64_t ns = world_mono_ns(r->setup.world);
    r->progress.job_id = r->setup.job_id;
    r->progress.elapsed_us = (ns - r->started_ns) / 1000;
    if (r->opts->progress && (now || ns - r->told_ns > REPORT_NS)) {
        r->told_ns = ns;
        r->opts->progress(r->opts->progress_ctx, &r->progress);
    }
    if (ns - r->saved_ns > SAVE_NS) {
        r->saved_ns = ns;
        job_history_save(r);
    }
}

int job_check_cancel(struct job_run *r, struct err *err)
{
    struct buf path = BUF_INIT;
    struct files_info info;
    int rc;
    if (r->opts->check && (rc = r->opts->check(r->opts->check_ctx, err)))
        return rc;
    if (r->opts->cancel && atomic_load(r->opts->cancel))
        return err_set(err, ERR_CANCELLED, "job %s was %s", r->setup.job_id,
                       r->opts->told ? "killed" : "interrupted");
    /* In a cell its master gets the summary by a call. */
    if (r->dir_is_temporary || r->setup.files.fs)
        return 0;
    buf_printf(&path, "%s/kill", r->job_dir);
    rc = files_stat(&r->setup.files, buf_cstr(&path), &info, NULL);
    buf_close(&path);
    if (rc == 0)
        return err_set(err, ERR_CANCELLED, "job %s was killed",
                       r->setup.job_id);
    return 0;
}
