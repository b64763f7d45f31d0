/* The trace of a job: ids that follow from the job's, so that its master, the
 * workers and attempts, a later master and those who look for it agree on them
 * without a word.
 *
 *     job > phase (of a part) > attempt > files and rows that it uses
 *
 * Spans of job, phases and attempts are always kept, by the job master; the
 * rest by the rule of all traces (base/trace/span.h).
 *
 * Pure. Threads: any.
 */
#ifndef MAPREDUCE_TASK_JOB_TRACE_H
#define MAPREDUCE_TASK_JOB_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/trace/trace_id.h"
#include "mapreduce/job.h"
#include "mapreduce/task/task_spec.h" /* enum task_kind */

struct trace_context;
struct world;

/* Of the job @id, as a user knows it. */
struct trace_id job_trace_id(const char *id);
/* Its span at the top. */
uint64_t job_trace_root(struct trace_id trace);
/* The spans of the attempts of @kind of the job, or driver's part, @run; and of
 * one of them. */
uint64_t
job_trace_phase(struct trace_id trace, const char *run, enum task_kind kind);
uint64_t job_trace_attempt(struct trace_id trace,
                           const char *run,
                           enum task_kind kind,
                           uint32_t task,
                           uint32_t attempt);

struct trace_id job_trace_of(const struct mr_trace *t);

/* The context of attempt @spec of the run @run, for calls on its behalf in @w:
 * *@out is without a trace if @t is. */
void job_trace_context(const struct mr_trace *t,
                       struct world *w,
                       const char *run,
                       const struct task_spec *spec,
                       struct trace_context *out);

#endif /* MAPREDUCE_TASK_JOB_TRACE_H */
