/* The functions of mapreduce.h that need no more than the task itself. */
#include "mapreduce/task/task.h"

#include <errno.h>
#include <stdlib.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "mapreduce/output/output.h"

/* --- about the task ------------------------------------------------------ */

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

static void task_misuse(struct mr_task *t, const char *what)
{
    if (t->code == 0)
        t->code = err_set(&t->err, ERR_INVALID, "the job %s", what);
}

int task_error(const struct mr_task *t, struct err *err)
{
    if (t->code)
        return err_copy(err, &t->err);
    if (t->collector && t->collector->code)
        return err_copy(err, &t->collector->err);
    return t->outputs ? output_set_error(t->outputs, err) : 0;
}

/* --- emitting ------------------------------------------------------------ */

/* Pairs of a sampling task, and of one that has no reducers. */
static void
emit_elsewhere(struct mr_task *t, struct slice key, struct slice value)
{
    if (!t->is_map) {
        task_misuse(t, "emitted from a reducer: reducers write");
    } else if (t->sample) {
        if (t->sample_left < key.len + 8)
            return;
        t->sample_left -= key.len + 8;
        buf_put_lslice(t->sample, key);
    } else {
        mr_write(mr_output(t, NULL), key, value);
    }
}

void mr_emit(struct mr_task *t, struct slice key, struct slice value)
{
    if (LIKELY(t->collector != NULL))
        collector_add(t->collector, key, value);
    else
        emit_elsewhere(t, key, value);
}

void mr_emit_count(struct mr_task *t, struct slice key, int64_t count)
{
    if (LIKELY(t->collector != NULL))
        collector_add_count(t->collector, key, count);
    else if (t->is_map && !t->sample)
        mr_write_count(mr_output(t, NULL), key, count);
    else
        emit_elsewhere(t, key, SLICE_EMPTY);
}

/* --- values -------------------------------------------------------------- */

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

static struct slice group_of(struct mr_task *t, struct slice key)
{
    const struct mr_job *job = t->setup->job;
    if (!job->group)
        return key;
    return slice_sub(key, 0, job->group(t, key));
}

void values_start(struct mr_values *v)
{
    struct slice key = run_merge_current(v->merge)->key;
    buf_clear(&v->group);
    buf_append_slice(&v->group, group_of(v->task, key));
    v->key = key;
    v->first = true;
    v->ended = false;
}

/* Step to the next pair; the group ends where its key changes. */
static void values_advance(struct mr_values *v)
{
    bool more = false;
    v->code = run_merge_next(v->merge, &more, &v->err);
    v->more = more;
    if (v->code || !more ||
        !slice_eq(group_of(v->task, run_merge_current(v->merge)->key),
                  buf_slice(&v->group)))
        v->ended = true;
}

bool mr_values_next(struct mr_values *v, struct slice *value)
{
    if (!v->ended && !v->first)
        values_advance(v);
    v->first = false;
    if (v->ended)
        return false;
    v->key = run_merge_current(v->merge)->key;
    *value = run_merge_current(v->merge)->value;
    v->count++;
    STATUS_SET(v->task->status, values, v->count);
    return true;
}

struct slice mr_values_key(const struct mr_values *v)
{
    return v->key;
}

int64_t mr_values_sum(struct mr_values *v)
{
    uint64_t sum = 0;
    struct slice value;
    while (mr_values_next(v, &value))
        sum += (uint64_t)mr_value_count(value);
    return (int64_t)sum;
}

void values_drain(struct mr_values *v)
{
    struct slice value;
    while (mr_values_next(v, &value)) {
    }
}

void values_close(struct mr_values *v)
{
    buf_close(&v->group);
}

/* --- outputs ------------------------------------------------------------- */

struct mr_output *mr_output(struct mr_task *t, const char *name)
{
    struct mr_output *o = NULL;
    bool maps = t->is_map && t->collector;
    if (t->outputs && !maps)
        o = output_set_find(t->outputs, name);
    if (!o)
        task_misuse(t, t->outputs && !maps
                           ? "wrote to an output it was not given"
                           : "wrote from a map function, though it has a "
                             "reducer: map functions emit");
    return o;
}

bool mr_has_output(const struct mr_task *t, const char *name)
{
    for (size_t i = 0; i < t->setup->output_count; i++) {
        const char *n = t->setup->outputs[i].name;
        if (n && strcmp(n, name) == 0)
            return true;
    }
    return false;
}
