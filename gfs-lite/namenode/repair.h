/* What is to be done about a chunk's copies, and what first.
 *
 * Pure: a view of one chunk in, a level out. Copies on servers that are to
 * leave are good to copy from, and do not count as there.
 */
#ifndef GFS_LITE_NAMENODE_REPAIR_H
#define GFS_LITE_NAMENODE_REPAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The lower, the sooner. */
enum repair_level {
    REPAIR_LAST_COPY, /* One is left of several. */
    REPAIR_FEW,       /* At most a third is left. */
    REPAIR_SOME,      /* Some are missing. */
    REPAIR_LEAVING,   /* Enough copies, but some are on servers that leave. */
    REPAIR_RACK,      /* All on one rack, though there are others. */
    REPAIR_LEVELS,    /* Count of the levels above, that want a copy. */
    REPAIR_EXCESS = REPAIR_LEVELS, /* Too many copies: drop one. */
    REPAIR_NOTHING,                /* All is well. */
    REPAIR_LOST,                   /* No copy is known: only waiting helps. */
};

struct repair_view {
    unsigned wanted;  /* Copies its files ask for. */
    unsigned staying; /* On servers in service, alive. */
    unsigned leaving; /* On servers that are to leave, alive. */
    unsigned racks;   /* That the staying ones are on. */
    unsigned usable_racks;
    unsigned usable_servers;
};

enum repair_level repair_level_of(const struct repair_view *v);

/* A queue of chunks by level, first come first served within one. */
struct repair_item {
    uint64_t chunk;
    struct repair_item *next;
};

struct repair_queue {
    struct repair_item *first[REPAIR_LEVELS];
    struct repair_item **last[REPAIR_LEVELS];
    size_t counts[REPAIR_LEVELS];
};

void repair_queue_init(struct repair_queue *q);
void repair_queue_close(struct repair_queue *q);
void repair_queue_add(struct repair_queue *q,
                      uint64_t chunk,
                      enum repair_level level);
/* Take the most urgent one; false: it is empty. */
bool repair_queue_take(struct repair_queue *q, uint64_t *chunk);

#endif /* GFS_LITE_NAMENODE_REPAIR_H */
