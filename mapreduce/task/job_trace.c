/* Ids are hashes. A job's id is random enough to make them unlike those of
 * other jobs. */
#include "mapreduce/task/job_trace.h"

#include <string.h>

#include "base/core/hash.h"
#include "base/trace/span.h"
#include "base/trace/tracer.h"

enum {
    SEED_HIGH = 1,
    SEED_LOW,
    SEED_ROOT,
    SEED_PHASE,
    SEED_ATTEMPT,
};

static uint64_t id_of(uint64_t seed, uint64_t of)
{
    return hash_mix(of + seed * UINT64_C(0x9e3779b97f4a7c15)) | 1;
}

static uint64_t text_of(const char *s)
{
    return hash64(s, strlen(s), 0);
}

struct trace_id job_trace_id(const char *id)
{
    uint64_t h = text_of(id);
    return (struct trace_id){id_of(SEED_HIGH, h), id_of(SEED_LOW, h)};
}

uint64_t job_trace_root(struct trace_id trace)
{
    return id_of(SEED_ROOT, trace.low);
}

uint64_t
job_trace_phase(struct trace_id trace, const char *run, enum task_kind kind)
{
    return id_of(SEED_PHASE,
                 trace.low ^ id_of((uint64_t)kind + 1, text_of(run)));
}

uint64_t job_trace_attempt(struct trace_id trace,
                           const char *run,
                           enum task_kind kind,
                           uint32_t task,
                           uint32_t attempt)
{
    uint64_t number = (uint64_t)task << 32 | attempt;
    return id_of(SEED_ATTEMPT,
                 job_trace_phase(trace, run, kind) ^ hash_mix(number + 1));
}

struct trace_id job_trace_of(const struct mr_trace *t)
{
    return (struct trace_id){t->high, t->low};
}

void job_trace_context(const struct mr_trace *t,
                       struct world *w,
                       const char *run,
                       const struct task_spec *spec,
                       struct trace_context *out)
{
    struct trace_id trace = job_trace_of(t);
    *out = (struct trace_context){.trace = trace};
    if (!trace_id_is_set(trace))
        return;
    out->span_id =
        job_trace_attempt(trace, run, spec->kind, spec->index, spec->attempt);
    out->sampled = t->sampled;
    out->tracer = world_tracer(w);
}
