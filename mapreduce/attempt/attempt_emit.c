/* Where the pairs of a job's code go: into the collector of a map with
 * reducers, into the sample of a sampling task, else to an output.
 *
 * The test for the collector comes first: it is the path of every emitted pair.
 */
#include "mapreduce/attempt/attempt_emit.h"

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "mapreduce/output/output.h"
#include "mapreduce/shuffle/collector.h"
#include "mapreduce/task/task.h"

int task_error(const struct mr_task *t, struct err *err)
{
    PRE(t->setup != NULL);
    if (t->code)
        return err_copy(err, &t->err);
    if (t->collector && t->collector->code)
        return err_copy(err, &t->collector->err);
    return t->outputs ? output_set_error(t->outputs, err) : 0;
}

/* Pairs of a sampling task, and of a job without reducers. */
static void
emit_elsewhere(struct mr_task *t, struct slice key, struct slice value)
{
    PRE(t->collector == NULL); /* INV-1 */
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
