/* Pieces of one partition that were brought to a worker before a reduce attempt
 * needed them: one file of segments, named by map and attempt, so that pieces
 * of an attempt that was replaced are never used.
 *
 * A file only grows at its end. Reading and writing it is left to worker_pull.c
 * and worker_fetch.c.
 *
 * The bound is per worker: bytes and spills are reserved in its room before a
 * file grows, and returned with it.
 *
 * Invariants
 *
 * INV-1. Room in use never exceeds its bounds, and never goes below zero
 *        (pull_room_take(), pulled_free()).
 * INV-2. bytes is the sum of the segments' bytes (pulled_add()).
 *
 * One thread, or a lock.
 */
#ifndef MAPREDUCE_CLUSTER_PULLED_H
#define MAPREDUCE_CLUSTER_PULLED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <bsd/sys/queue.h>

#include "mapreduce/task/task_spec.h"

/* Entries of all files of a worker: about 12 MB of memory. */
#define PULL_SPILLS_MAX ((size_t)256 << 10)

struct pull_room {
    uint64_t bytes_max;
    uint64_t bytes; /* In use. */
    size_t spills;
};

/* Reserve all of it, or nothing: false. */
bool pull_room_take(struct pull_room *r, uint64_t bytes, size_t spills);
void pull_room_give(struct pull_room *r, uint64_t bytes, size_t spills);

/* The pieces of one map attempt; it may have none. */
struct pulled_spill {
    uint32_t task;
    uint32_t attempt;
    bool early;     /* It came while maps ran. */
    uint32_t first; /* Of the segments. */
    uint32_t count;
};

struct pulled {
    LIST_ENTRY(pulled) link;
    uint32_t partition;
    char *path;     /* Owned. */
    uint64_t bytes; /* Of the file, as far as it counts. */
    size_t next; /* Of the spills its puller knows: the first not tried yet. */
    struct pulled_spill *spills; /* Owned. */
    size_t spill_count;
    size_t spill_cap;
    struct task_segment *segments; /* Their file is not used. Owned. */
    size_t segment_count;
    size_t segment_cap;
};

LIST_HEAD(pulled_list, pulled);

struct pulled *pulled_new(uint32_t partition, const char *path);
/* Return its room; the file stays. NULL is allowed. */
void pulled_free(struct pulled *p, struct pull_room *room);
/* Append @count segments of @spill, which are at the end of the file and for
 * which room was taken. Of @at only lengths and pairs are used. */
void pulled_add(struct pulled *p,
                const struct task_spill *spill,
                bool early,
                const struct task_segment *at,
                size_t count);
/* It grows no more: prepare it for pulled_find(). */
void pulled_sort(struct pulled *p);
/* The pieces of the attempt; NULL: none are known. PRE: sorted. Borrowed. */
const struct pulled_spill *
pulled_find(const struct pulled *p, uint32_t task, uint32_t attempt);

#endif /* MAPREDUCE_CLUSTER_PULLED_H */
