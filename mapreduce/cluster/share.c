/* Sharing slots: each goes, among the jobs of the highest priority that want
 * one, to the job that has the fewest for its weight, which is max-min fairness
 * in whole slots. All jobs are compared for each slot, so a thousand slots and
 * jobs are a million comparisons. */
#include "mapreduce/cluster/share.h"

#include <stdbool.h>

#include "base/core/panic.h"

/* Does @a come before @b, which is younger? */
static bool goes_first(const struct share_job *a, const struct share_job *b)
{
    if (a->priority != b->priority)
        return a->priority > b->priority;
    return (uint64_t)a->quota * b->weight <= (uint64_t)b->quota * a->weight;
}

static struct share_job *share_next(struct share_job *jobs, size_t count)
{
    struct share_job *first = NULL;
    for (size_t i = 0; i < count; i++)
        if (jobs[i].quota < jobs[i].wants &&
            (!first || !goes_first(first, &jobs[i])))
            first = &jobs[i];
    POST(!first || first->quota < first->wants);
    return first;
}

void share_slots(struct share_job *jobs, size_t count, uint32_t slots)
{
    struct share_job *j;
    PRE(count == 0 || jobs);
    for (size_t i = 0; i < count; i++)
        jobs[i].quota = 0;
    for (; slots > 0 && (j = share_next(jobs, count)) != NULL; slots--)
        j->quota++;
}
