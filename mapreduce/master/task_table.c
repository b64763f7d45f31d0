/* The state of tasks. An attempt that dies at a record which can be skipped
 * does not count as a failure: each skip makes progress, and the job's number
 * of them is bounded. */
#include "mapreduce/master/task_table.h"

#include "base/core/panic.h"

void task_table_init(struct task_table *t,
                     unsigned count,
                     unsigned attempts_max,
                     unsigned *skips_left)
{
    *t = (struct task_table){
        .count = count, .attempts_max = attempts_max, .skips_left = skips_left};
    t->tasks = mem_zalloc((size_t)count + 1, sizeof(*t->tasks));
}

void task_table_close(struct task_table *t)
{
    for (unsigned i = 0; i < t->count; i++) {
        mem_free(t->tasks[i].skips);
        mem_free(t->tasks[i].group_skips);
    }
    mem_free(t->tasks);
    t->tasks = NULL;
    t->count = 0;
}

bool task_table_take(struct task_table *t, unsigned *task)
{
    for (; t->next < t->count; t->next++) {
        struct task_entry *e = &t->tasks[t->next];
        if (e->state != TASK_WAITING)
            continue;
        e->state = TASK_RUNNING;
        e->attempts++;
        t->running++;
        *task = t->next++;
        return true;
    }
    return false;
}

static void add_skip(uint64_t **skips, size_t *count, uint64_t number)
{
    *skips = mem_realloc(*skips, (*count + 1) * sizeof(**skips));
    (*skips)[(*count)++] = number;
}

static enum task_verdict
failed(struct task_table *t, struct task_entry *e, const struct task_outcome *o)
{
    if (o->at_record && *t->skips_left > 0) {
        --*t->skips_left;
        if (o->reducing)
            add_skip(&e->group_skips, &e->group_skip_count, o->number);
        else
            add_skip(&e->skips, &e->skip_count, o->number);
        return TASK_RETRY_SKIP;
    }
    e->failures++;
    if (o->permanent || e->failures >= t->attempts_max)
        return TASK_GIVE_UP;
    return TASK_RETRY;
}

enum task_verdict task_table_end(struct task_table *t,
                                 unsigned task,
                                 const struct task_outcome *outcome)
{
    struct task_entry *e = &t->tasks[task];
    PRE(task < t->count);
    PRE(e->state == TASK_RUNNING);
    t->running--;
    if (outcome->ok) {
        e->state = TASK_DONE;
        e->winner = e->attempts;
        t->done++;
        return TASK_ACCEPT;
    }
    e->state = TASK_WAITING;
    if (task < t->next)
        t->next = task;
    return failed(t, e, outcome);
}
