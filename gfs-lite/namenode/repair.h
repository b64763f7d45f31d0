/* How urgently a chunk needs another replica, or one fewer, and the queue in
 * that order (GFS 4.3: the first factor of a chunk's priority is how far it
 * is from its replication goal).
 *
 * Pure: a view of one chunk in, a level out. Replicas on servers that are to
 * leave serve as sources and do not count as copies.
 */
#ifndef GFS_LITE_NAMENODE_REPAIR_H
#define GFS_LITE_NAMENODE_REPAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Lower levels are repaired first. */
enum repair_level {
    REPAIR_LAST_COPY, /* One is left of several. */
    REPAIR_FEW,       /* At most a third is left. */
    REPAIR_SOME,      /* Some are missing. */
    REPAIR_LEAVING,   /* Enough copies, but some are on servers that leave. */
    REPAIR_RACK,      /* All on one rack, though there are others. */
    REPAIR_LEVELS,    /* Number of the levels above, which need a copy. */
    REPAIR_EXCESS = REPAIR_LEVELS, /* Too many copies: drop one. */
    REPAIR_NOTHING,                /* All is well. */
    REPAIR_LOST, /* No copy is known: the leader can only wait. */
};

struct repair_view {
    unsigned wanted;  /* Copies that its files ask for; at least 1. */
    unsigned staying; /* On servers in service, alive. */
    unsigned leaving; /* On servers that are to leave, alive. */
    unsigned racks;   /* Racks of the staying copies. */
    unsigned usable_racks;
    unsigned usable_servers;
};

/* The level of the chunk that @v describes. */
enum repair_level repair_level_of(const struct repair_view *v);

/* A queue of chunks by level, first in first out within a level.
 *     INV-1. counts[l] items are linked from first[l]; last[l] is the link
 *         to append at. */
struct repair_item {
    uint64_t chunk;
    struct repair_item *next;
};

struct repair_queue {
    struct repair_item *first[REPAIR_LEVELS];
    struct repair_item **last[REPAIR_LEVELS];
    size_t counts[REPAIR_LEVELS];
};

/* An empty queue. */
void repair_queue_init(struct repair_queue *q);
/* Free all items. */
void repair_queue_close(struct repair_queue *q);
/* Append @chunk. PRE: @level < REPAIR_LEVELS. */
void repair_queue_add(struct repair_queue *q,
                      uint64_t chunk,
                      enum repair_level level);
/* Take the most urgent chunk; false: the queue is empty. */
bool repair_queue_take(struct repair_queue *q, uint64_t *chunk);

#endif /* GFS_LITE_NAMENODE_REPAIR_H */
