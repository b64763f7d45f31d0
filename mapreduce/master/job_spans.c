/* They are written when they have ended, with their times: an attempt lasts
 * longer than any fiber that could hold a span of it. */
#include "mapreduce/master/job_spans.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/runtime/world.h"
#include "base/trace/span_record.h"
#include "base/trace/tracer.h"
#include "mapreduce/master/job_run.h"
#include "mapreduce/task/job_trace.h"

static void add_number(struct span_record *s, const char *key, uint64_t n)
{
    s->attributes[s->attribute_count++] = (struct span_attribute){
        .key = key, .key_bytes = (uint8_t)strlen(key), .number = (int64_t)n};
}

static void add_text(struct span_record *s, const char *key, struct slice text)
{
    if (text.len)
        s->attributes[s->attribute_count++] =
            (struct span_attribute){.key = key,
                                    .key_bytes = (uint8_t)strlen(key),
                                    .is_text = true,
                                    .text = text};
}

static int status_of(enum attempt_end state)
{
    switch (state) {
    case ATTEMPT_END_FAILED: return ERR_ABORTED;
    case ATTEMPT_END_LOST: return ERR_UNAVAILABLE;
    case ATTEMPT_END_STOPPED: return ERR_CANCELLED;
    case ATTEMPT_END_RUNNING:
    case ATTEMPT_END_SUCCEEDED: return 0;
    }
    return 0;
}

void job_span_attempt(const struct job_run *r,
                      const struct attempt_record *a,
                      const char *worker,
                      const struct attempt_ending *e)
{
    struct tracer *t = world_tracer(r->setup.world);
    struct trace_id trace = job_trace_of(&r->opts->trace);
    uint64_t now = world_now_us(r->setup.world);
    struct buf name = BUF_INIT;
    struct span_record s = {
        .trace = trace,
        .id = job_trace_attempt(trace, r->setup.job_id, a->kind, a->task,
                                a->attempt),
        .parent = job_trace_phase(trace, r->setup.job_id, a->kind),
        .kind = SPAN_INTERNAL,
        .flags = SPAN_SAMPLED,
        .status = status_of(e->state),
        .start_us = a->begun_at_us,
        .duration_us = now > a->begun_at_us ? now - a->begun_at_us : 0};
    if (!t || !trace_id_is_set(trace))
        return;
    buf_printf(&name, "%s attempt", attempt_kind_name(a->kind));
    s.name = buf_slice(&name);
    add_number(&s, "task", a->task);
    add_number(&s, "attempt", a->attempt);
    add_text(&s, "worker", slice_str(worker ? worker : ""));
    add_text(&s, "state", slice_str(attempt_end_name(e->state)));
    if (a->backup)
        add_number(&s, "backup", 1);
    add_number(&s, "records", e->records);
    add_number(&s, "bytes", e->bytes);
    add_text(&s, "error", e->error);
    tracer_record(t, &s);
    buf_close(&name);
}

void job_span_phase(const struct job_run *r,
                    enum task_kind kind,
                    const struct job_phase *p)
{
    struct tracer *t = world_tracer(r->setup.world);
    struct trace_id trace = job_trace_of(&r->opts->trace);
    struct buf name = BUF_INIT;
    struct span_record s = {.trace = trace,
                            .id = job_trace_phase(trace, r->setup.job_id, kind),
                            .parent = job_trace_root(trace),
                            .kind = SPAN_INTERNAL,
                            .flags = SPAN_SAMPLED,
                            .start_us = p->started_us,
                            .duration_us = p->ended_us > p->started_us
                                               ? p->ended_us - p->started_us
                                               : 0};
    if (!t || !trace_id_is_set(trace))
        return;
    buf_printf(&name, "%s phase", p->name);
    s.name = buf_slice(&name);
    add_number(&s, "tasks", p->tasks);
    add_number(&s, "attempts", p->attempts);
    if (r->part > 1)
        add_number(&s, "part", r->part);
    tracer_record(t, &s);
    buf_close(&name);
}
