/* Calls to the master about snapshots of tables, and the list of them.
 *
 * As those of control_calls.h: bodies are MessagePack arrays, get fails with
 * ERR_CORRUPT.
 *
 * Threads: any; nothing here parks.
 */
#ifndef BIGTABLE_WIRE_SNAPSHOT_CALLS_H
#define BIGTABLE_WIRE_SNAPSHOT_CALLS_H

#include "bigtable/wire/snapshot_record.h"

enum snapshot_method {
    MASTER_SNAPSHOT = 0x551,         /* struct snapshot_order: of the table */
    MASTER_SNAPSHOT_LIST = 0x552,    /* nothing; a list of summaries */
    MASTER_SNAPSHOT_SHOW = 0x553,    /* struct snapshot_order; the record, its
                                        tablets without their groups */
    MASTER_SNAPSHOT_DROP = 0x554,    /* struct snapshot_order */
    MASTER_SNAPSHOT_RESTORE = 0x555, /* struct snapshot_order: to the table */
    MASTER_CLONE = 0x556,            /* struct snapshot_order: the table named
                                        `name` to a new one, `table` */
};

/* Tables that jobs read instead of those they are of, as they were when the job
 * began, are called so (mapreduce/job.h). */
#define TABLE_OF_JOB_PREFIX ".job-"

struct snapshot_order {
    struct slice name;
    struct slice table;
    uint64_t ttl_us; /* 0: for ever. */
};

void snapshot_order_put(const struct snapshot_order *o, struct buf *out);
MUST_CHECK int
snapshot_order_get(struct slice in, struct snapshot_order *o, struct err *err);

/* On the wire, summaries one after the other. */
struct snapshot_list {
    struct snapshot_summary *list; /* In the arena given. */
    size_t count;
};

void snapshot_summary_put(const struct snapshot_summary *s, struct buf *out);
MUST_CHECK int snapshot_list_get(struct slice in,
                                 struct arena *a,
                                 struct snapshot_list *l,
                                 struct err *err);

#endif /* BIGTABLE_WIRE_SNAPSHOT_CALLS_H */
