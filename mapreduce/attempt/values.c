/* Groups of a reduce task: the merge gives pairs in the order of keys, and a
 * group ends where the key, or the part that the job groups by, changes. */
#include "mapreduce/attempt/values.h"

#include "base/core/panic.h"

static struct slice group_of(struct mr_task *t, struct slice key)
{
    const struct mr_job *job = t->setup->job;
    if (!job->group)
        return key;
    return slice_sub(key, 0, job->group(t, key));
}

void values_start(struct mr_values *v)
{
    PRE(v->more);
    struct slice key = run_merge_current(v->merge)->key;
    buf_clear(&v->group);
    buf_append_slice(&v->group, group_of(v->task, key));
    v->key = key;
    v->first = true;
    v->ended = false;
}

/* Advance to the next pair; the group ends where its key changes. */
static void values_advance(struct mr_values *v)
{
    PRE(!v->ended); /* INV-2 */
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
