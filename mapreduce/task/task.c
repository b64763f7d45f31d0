/* The functions of mapreduce.h that need no more than the task itself: its
 * parameters, counters and place in the job, and values that are counts. */
#include "mapreduce/task/task.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/coding.h"
#include "base/core/panic.h"

const char *mr_param(const struct mr_task *t, const char *name)
{
    const struct mr_options *o = t->setup->opts;
    const struct mr_job *job = t->setup->job;
    for (size_t i = 0; i < o->param_count; i++)
        if (strcmp(o->params[i].name, name) == 0)
            return o->params[i].value;
    for (size_t i = 0; i < job->param_count; i++)
        if (strcmp(job->params[i].name, name) == 0)
            return job->params[i].fallback;
    return NULL;
}

const char *mr_file(const struct mr_task *t, const char *name)
{
    const struct mr_options *o = t->setup->opts;
    for (size_t i = 0; i < o->file_count; i++)
        if (strcmp(o->files[i].name, name) == 0)
            return o->files[i].value;
    return NULL;
}

int mr_param_i64(const struct mr_task *t,
                 const char *name,
                 int64_t min,
                 int64_t max,
                 int64_t *out,
                 struct err *err)
{
    const char *text = mr_param(t, name);
    char *end = NULL;
    long long v;
    errno = 0;
    v = text ? strtoll(text, &end, 10) : 0;
    if (!text || *text == '\0' || *end != '\0' || errno || v < min || v > max)
        return err_set(err, ERR_INVALID,
                       "parameter %s=%s: must be a number from %lld to %lld",
                       name, text ? text : "", (long long)min, (long long)max);
    *out = v;
    return 0;
}

void *mr_state(const struct mr_task *t)
{
    return t->state;
}

void mr_set_state(struct mr_task *t, void *state)
{
    t->state = state;
}

int64_t mr_job_time_us(const struct mr_task *t)
{
    return t->setup->job_time_us;
}

unsigned mr_task_index(const struct mr_task *t)
{
    return t->index;
}

unsigned mr_partition_count(const struct mr_task *t)
{
    return t->partition_count;
}

const char *mr_input_path(const struct mr_task *t)
{
    return t->input_path ? t->input_path : "";
}

bool mr_is_map(const struct mr_task *t)
{
    return t->is_map;
}

int64_t *mr_counter(struct mr_task *t, const char *name)
{
    return counters_get(&t->counters, name);
}

void mr_count(struct mr_task *t, const char *name, int64_t by)
{
    int64_t *c = counters_get(&t->counters, name);
    *c = (int64_t)((uint64_t)*c + (uint64_t)by);
}

void mr_note(struct mr_task *t, struct slice where)
{
    status_note(t->status, where);
}

void task_misuse(struct mr_task *t, const char *did)
{
    if (t->code == 0)
        t->code = err_set(&t->err, ERR_INVALID, "the job %s", did);
}

bool mr_has_output(const struct mr_task *t, const char *name)
{
    PRE(t->setup != NULL);
    for (size_t i = 0; i < t->setup->output_count; i++) {
        const char *n = t->setup->outputs[i].name;
        if (n && strcmp(n, name) == 0)
            return true;
    }
    return false;
}

int64_t mr_value_count(struct slice value)
{
    uint64_t v = 0;
    const char *end = value.data + value.len;
    if (get_varint(value.data, end, &v) != end)
        return 0;
    return zigzag_decode(v);
}

void mr_combine_sum(struct mr_task *t,
                    struct slice key,
                    struct buf *acc,
                    struct slice value)
{
    uint64_t sum = (uint64_t)mr_value_count(buf_slice(acc)) +
                   (uint64_t)mr_value_count(value);
    (void)t;
    (void)key;
    buf_clear(acc);
    buf_put_zigzag(acc, (int64_t)sum);
}
