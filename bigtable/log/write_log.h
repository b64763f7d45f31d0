/* The commit log as a store writes it: one for all its tablets.
 *
 * Implementations: commit_log.h over the world's files, for the embedded store;
 * shared_log.h over a file system, for a tablet server.
 *
 * Threads: write belongs to one at a time, the leader of a group commit, and so
 * does begin; the rest is any thread's.
 */
#ifndef BIGTABLE_LOG_WRITE_LOG_H
#define BIGTABLE_LOG_WRITE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

/* A record to append: its payload in parts, borrowed. */
struct log_record {
    uint64_t sequence; /* Of its first entry, */
    uint64_t last;     /* and of its last. */
    uint32_t count;
    const struct slice *parts;
    size_t part_count;
};

struct write_log;

/* A write under way, between begin and end: the log's own. */
struct write_ticket {
    struct write_ticket *next;
    const struct log_record *records; /* Borrowed. */
    size_t count;
    bool sync;
    int rc;
    int doom;         /* Why one before it failed; 0: none did. */
    uint64_t late_ns; /* It has been slow from then on. */
    void *lanes[2];   /* It was given to. */
    size_t lane_count;
};

struct write_log_ops {
    /* Writes that may be under way at once. One: begin and end are NULL. */
    unsigned writes_max;
    int (*write)(struct write_log *l,
                 const struct log_record *records,
                 size_t count,
                 bool sync,
                 struct err *err);
    int (*begin)(struct write_log *l, struct write_ticket *t, struct err *err);
    int (*end)(struct write_log *l, struct write_ticket *t, struct err *err);
    int (*sync)(struct write_log *l, struct err *err);
    uint64_t (*synced_sequence)(const struct write_log *l);
    void (*release)(struct write_log *l, uint64_t sequence);
    uint64_t (*bytes)(const struct write_log *l);
    size_t (*segment_count)(struct write_log *l);
    void (*close)(struct write_log *l);
};

/* First member of every implementation. */
struct write_log {
    const struct write_log_ops *ops;
};

/* Write @records behind each other, at once. They survive the process; with
 * @sync they, and all before them, survive the machine. Parks. On error they do
 * not count; after ERR_UNKNOWN_OUTCOME they may be found again after a crash,
 * as after errors of a file system of others that is not to be reached:
 * ERR_ABORTED, ERR_UNAVAILABLE, ERR_CLOSED, ERR_DEADLINE, ERR_CANCELLED. */
MUST_CHECK static inline int write_log_write(struct write_log *l,
                                             const struct log_record *records,
                                             size_t count,
                                             bool sync,
                                             struct err *err)
{
    return l->ops->write(l, records, count, sync, err);
}

static inline unsigned write_log_writes_max(const struct write_log *l)
{
    return l->ops->writes_max;
}

/* write_log_write() in two steps, so that others can begin between them: as
 * many as write_log_writes_max() tells, all with @sync if they are several.
 * @t->records to ->sync are filled in, and outlive the end. After an error of
 * begin there is nothing to end. They end in the order in which they began, and
 * when one fails, those that were under way with it do. Both park. */
MUST_CHECK static inline int
write_log_begin(struct write_log *l, struct write_ticket *t, struct err *err)
{
    return l->ops->begin(l, t, err);
}

MUST_CHECK static inline int
write_log_end(struct write_log *l, struct write_ticket *t, struct err *err)
{
    return l->ops->end(l, t, err);
}

/* Everything written before the call survives the machine. Parks. */
MUST_CHECK static inline int write_log_sync(struct write_log *l,
                                            struct err *err)
{
    return l->ops->sync(l, err);
}

/* Every entry up to this sequence number survives the machine. */
static inline uint64_t write_log_synced_sequence(const struct write_log *l)
{
    return l->ops->synced_sequence(l);
}

/* All entries up to and with @sequence are in SSTables: release the segments
 * that hold no others. Parks. */
static inline void write_log_release(struct write_log *l, uint64_t sequence)
{
    l->ops->release(l, sequence);
}

/* Bytes in segments that are not released. */
static inline uint64_t write_log_bytes(const struct write_log *l)
{
    return l->ops->bytes(l);
}

/* Segments that hold something no SSTable has yet, and the current one. */
static inline size_t write_log_segment_count(struct write_log *l)
{
    return l->ops->segment_count(l);
}

static inline void write_log_close(struct write_log *l) /* NULL is allowed. */
{
    if (l)
        l->ops->close(l);
}

#endif /* BIGTABLE_LOG_WRITE_LOG_H */
