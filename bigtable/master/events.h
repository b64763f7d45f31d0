/* Events of a master: each is one line in the log, `event key=value…`, and a
 * counter of quarry_master_events_total.
 *
 * Threads: one loop. */
#ifndef BIGTABLE_MASTER_EVENTS_H
#define BIGTABLE_MASTER_EVENTS_H

#include "base/core/macros.h"

struct master_term;
struct metric_counter;
struct metrics;

enum master_event {
    EVENT_TERM,
    EVENT_SERVER_JOIN,
    EVENT_SERVER_DEATH,
    EVENT_ASSIGNMENT,
    EVENT_MOVE,
    EVENT_SPLIT,
    EVENT_MERGE,
    EVENT_RECOVERY,
    EVENT_SWEEP,
    EVENT_TABLE_CREATE,
    EVENT_TABLE_DROP,
    EVENT_SNAPSHOT,
    EVENT_SNAPSHOT_DROP,
    EVENT_RESTORE,
    EVENT_REPLICATION,
    EVENT_COUNT
};

struct master_events {
    struct metric_counter
        *counters[EVENT_COUNT]; /* Borrowed; NULL: not counted. */
};

/* Look up the counters in @m (NULL: none are counted). */
void master_events_init(struct master_events *e, struct metrics *m);
/* Log and count the event; the text has its details, "tablet=17 to=3". */
void master_note(struct master_term *r,
                 enum master_event e,
                 const char *fmt,
                 ...) PRINTF_LIKE(3, 4);

#endif /* BIGTABLE_MASTER_EVENTS_H */
