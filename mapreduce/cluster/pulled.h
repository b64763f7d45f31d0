/* Pieces of one partition that were brought to a worker before a reduce attempt
 * asked for them: one file of segments, named by map and attempt, so that what
 * was made again is not taken for what it was.
 *
 * A file grows at its end; what was added stays as it is. Reading and writing
 * it is others' business (worker_pull.c, worker_fetch.c).
 *
 * The bound is one of the worker: bytes and spills are taken from its room
 * before a file grows, and given back with it.
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
    uint64_t bytes; /* Taken. */
    size_t spills;
};

/* Take as much, or nothing: false. */
bool pull_room_take(struct pull_room *r, uint64_t bytes, size_t spills);
void pull_room_give(struct pull_room *r, uint64_t bytes, size_t spills);

/* What one map attempt has left of the partition; it may be nothing. */
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
    size_t next;    /* Of what its puller knows: the first not tried yet. */
    struct pulled_spill *spills; /* Owned. */
    size_t spill_count;
    size_t spill_cap;
    struct task_segment *segments; /* Their file is not used. Owned. */
    size_t segment_count;
    size_t segment_cap;
};

LIST_HEAD(pulled_list, pulled);

struct pulled *pulled_new(uint32_t partition, const char *path);
/* Give its room back; the file stays. NULL is allowed. */
void pulled_free(struct pulled *p, struct pull_room *room);
/* @count segments of @spill follow at the end of the file, for which room was
 * taken. Of @at only lengths and pairs are used. */
void pulled_add(struct pulled *p,
                const struct task_spill *spill,
                bool early,
                const struct task_segment *at,
                size_t count);
/* It grows no more: make it ready for pulled_find(). */
void pulled_sort(struct pulled *p);
/* What is here of the attempt; NULL: nothing is known of it. */
const struct pulled_spill *
pulled_find(const struct pulled *p, uint32_t task, uint32_t attempt);

#endif /* MAPREDUCE_CLUSTER_PULLED_H */
