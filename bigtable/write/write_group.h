/* A group of the write queue, from its leader's first step to its end, and what
 * the queue lends it. Private to write_queue.c and write_group.c.
 */
#ifndef BIGTABLE_WRITE_WRITE_GROUP_H
#define BIGTABLE_WRITE_WRITE_GROUP_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/core/slice.h"

struct tablet_env;
struct write_queue;
struct writer;

/* Lead: write for the group that waits, @self first. Parks. PRE: the queue's
 * lock is held, by the head; it is not afterwards. */
void write_group__lead(struct tablet_env *env, struct writer *self);

/* Take the writers from the head to @last out of the queue, and wake the next
 * leader. PRE: the lock is held. */
void write_queue__leave(struct write_queue *q, struct writer *last);
/* Somebody waited since @start_ns. */
void write_queue__count_wait(struct tablet_env *env,
                             uint64_t start_ns,
                             atomic_ullong *count,
                             atomic_ullong *us);

#endif /* BIGTABLE_WRITE_WRITE_GROUP_H */
