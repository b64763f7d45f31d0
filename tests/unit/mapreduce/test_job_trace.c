/* The ids of a job's trace follow from its id alone, and differ wherever what
 * they name does. */
#include <string.h>

#include "base/runtime/world.h"
#include "base/trace/span.h"
#include "mapreduce/task/job_trace.h"
#include "tests/lib/check_main.h"

#define JOB   "20260102-030405-abcdef"
#define OTHER "20260102-030405-abcdee"

START_TEST(test_ids)
{
    struct trace_id t = job_trace_id(JOB);
    uint64_t attempt = job_trace_attempt(t, JOB, TASK_MAP, 3, 1);
    ck_assert(trace_id_is_set(t));
    ck_assert(trace_id_eq(t, job_trace_id(JOB)));
    ck_assert(!trace_id_eq(t, job_trace_id(OTHER)));
    ck_assert_uint_eq(attempt, job_trace_attempt(t, JOB, TASK_MAP, 3, 1));
    ck_assert_uint_ne(attempt, job_trace_attempt(t, JOB, TASK_MAP, 3, 2));
    ck_assert_uint_ne(attempt, job_trace_attempt(t, JOB, TASK_MAP, 4, 1));
    ck_assert_uint_ne(attempt, job_trace_attempt(t, JOB, TASK_REDUCE, 3, 1));
    ck_assert_uint_ne(attempt, job_trace_attempt(t, OTHER, TASK_MAP, 3, 1));
    ck_assert_uint_ne(job_trace_phase(t, JOB, TASK_MAP),
                      job_trace_phase(t, JOB, TASK_REDUCE));
    ck_assert_uint_ne(job_trace_root(t), job_trace_phase(t, JOB, TASK_MAP));
}

END_TEST

/* An attempt's calls are children of its span; without a trace there is no
 * context. */
START_TEST(test_context)
{
    struct trace_id t = job_trace_id(JOB);
    struct mr_trace trace = {.high = t.high, .low = t.low, .sampled = true};
    struct mr_trace none = {.high = 0};
    struct task_spec spec = {.kind = TASK_REDUCE, .index = 7, .attempt = 2};
    struct world *w = world_real_new();
    struct trace_context c;
    job_trace_context(&trace, w, JOB, &spec, &c);
    ck_assert(trace_id_eq(c.trace, t) && c.sampled && !c.tracer);
    ck_assert_uint_eq(c.span_id, job_trace_attempt(t, JOB, TASK_REDUCE, 7, 2));
    job_trace_context(&none, w, JOB, &spec, &c);
    ck_assert(!trace_id_is_set(c.trace) && !c.sampled);
    world_free(w);
}

END_TEST

TEST_MAIN("job_trace", test_ids, test_context)
