/* When a second attempt at a task is worth its slot: the backup tasks of the
 * MapReduce paper. Near the end of a phase, when nothing waits any more, a slot
 * that would stand idle runs again what is expected to take longest.
 *
 * Pure: no clock, no I/O.
 */
#ifndef MAPREDUCE_MASTER_STRAGGLER_H
#define MAPREDUCE_MASTER_STRAGGLER_H

#include <stdbool.h>
#include <stdint.h>

struct task_attempt;
struct task_table;

/* An attempt younger than this tells nothing about its pace. */
#define STRAGGLER_AGE_US ((uint64_t)200 * 1000)
/* Of the tasks of a phase, at most one in so many runs twice at a time. */
#define STRAGGLER_SHARE 10

/* How long an attempt at a task of the phase takes: the mean of those that won,
 * or, before any has, what the fastest live one looks like. 0: not known. */
uint64_t straggler_typical_us(const struct task_table *t, uint64_t now_us);

/* What is left of @a's time, by its pace so far, and not less than it has stood
 * still. An attempt that tells no progress is believed to be like the others
 * until it is half as old again as they became, and then to be as far from its
 * end as from its beginning. */
uint64_t straggler_left_us(const struct task_attempt *a,
                           uint64_t typical_us,
                           uint64_t now_us);

/* The running task most worth a backup now; false: none is. */
bool straggler_find(const struct task_table *t,
                    uint64_t now_us,
                    uint32_t *task);

#endif /* MAPREDUCE_MASTER_STRAGGLER_H */
