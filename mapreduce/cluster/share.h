/* How many slots each job may have: higher priorities first, equals by weight;
 * slots that one does not want go to the others. Pure. */
#ifndef MAPREDUCE_CLUSTER_SHARE_H
#define MAPREDUCE_CLUSTER_SHARE_H

#include <stddef.h>
#include <stdint.h>

struct share_job {
    int priority;
    uint32_t weight; /* At least 1. */
    uint32_t wants;  /* The slots it has and those it could use beyond. */
    uint32_t quota;  /* Out: what it may have. */
};

/* Share @slots among @jobs, oldest first. The quotas add up to no more than
 * @slots, and to all of them if they are wanted; none exceeds its wants. */
void share_slots(struct share_job *jobs, size_t count, uint32_t slots);

#endif /* MAPREDUCE_CLUSTER_SHARE_H */
