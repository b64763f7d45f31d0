/* When a second attempt at a task is worth its slot: the backup tasks of
 * MapReduce (OSDI 2004, section 3.6). Near the end of a phase, when nothing
 * waits any more, an idle slot runs again the task that is expected to take
 * longest.
 *
 * Pure: no clock, no I/O.
 */
#ifndef MAPREDUCE_MASTER_STRAGGLER_H
#define MAPREDUCE_MASTER_STRAGGLER_H

#include <stdbool.h>
#include <stdint.h>

struct task_attempt;
struct task_table;

/* The pace of a younger attempt means nothing. */
#define STRAGGLER_AGE_US ((uint64_t)200 * 1000)
/* At most one in this many tasks of a phase runs twice at a time. */
#define STRAGGLER_SHARE 10

/* How long an attempt at a task of the phase takes: the mean of those that won
 * or, before any has, the projection of the fastest live one. 0: not known. */
uint64_t straggler_typical_us(const struct task_table *t, uint64_t now_us);

/* The time that @a still needs, by its pace so far, and not less than it has
 * stood still. An attempt without progress is assumed to be like the others
 * until it is half as old again as they became, and then to be halfway. */
uint64_t straggler_left_us(const struct task_attempt *a,
                           uint64_t typical_us,
                           uint64_t now_us);

/* The running task most worth a backup now; false: none is. */
bool straggler_find(const struct task_table *t,
                    uint64_t now_us,
                    uint32_t *task);

#endif /* MAPREDUCE_MASTER_STRAGGLER_H */
