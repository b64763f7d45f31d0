/* The lanes of a tablet server's log. Private to shared_log.c and log_lane.c.
 *
 * A lane has a worker, a fiber or a task, that does one job after the other:
 * begin a segment if need be, write, sync. The caller that gives it a job waits
 * on the log's `done`.
 *
 * Threads. The log's lock guards all but the job and the segment of a busy
 * lane, which are its worker's.
 *
 * Invariants
 *     INV-1. A lane gets a job only when it is idle; it is idle again only
 *            after the outcome was taken, or nobody waits for it any more.
 *     INV-2. A segment takes records only after its header and its list are on
 *            the disks, and after the lane's segment before it, unless that one
 *            failed, has announced it.
 *     INV-3. A number is given to one segment only.
 *     INV-4. The file of a segment is removed only when tables have all its
 *            entries, and a later segment whose list leaves it out is on the
 *            disks.
 *     INV-5. Tickets are retired in the order in which they were begun. So
 *            written_sequence only rises, and synced_sequence never passes it.
 */
#ifndef BIGTABLE_LOG_LOG_LANE_H
#define BIGTABLE_LOG_LOG_LANE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/runtime/sync.h"
#include "base/trace/span.h"
#include "bigtable/log/log_format.h"
#include "bigtable/log/shared_log.h"
#include "bigtable/log/write_log.h"

struct fiber;
struct fs_writer;
struct shared_log;
struct task;
struct unit_sealer;

#define LANES 2

/* A file of the log that is not being written to any more. */
struct full_segment {
    struct full_segment *next;
    uint64_t number;
    uint64_t bytes;
    uint64_t synced; /* Of them; known to be on the disks. */
    uint64_t last_sequence;
    bool released;        /* SSTables have all that is in it. */
    uint64_t unlisted_by; /* The first segment whose list leaves it out; 0: none
                             does. */
    bool unlisted;        /* That one, or a later one, is on the disks. */
};

enum lane_state {
    LANE_IDLE,
    LANE_BUSY, /* Its job is being done. */
    LANE_DONE, /* And was not looked at yet. */
};

struct lane {
    struct shared_log *log;
    struct fiber *fiber; /* Or */
    struct task *task;
    struct cond work;
    /* Under the log's lock: */
    enum lane_state state;
    bool orphan; /* Nobody waits for its job any more. */
    bool dirty;  /* Something is flushed, and not synced. */
    bool tried;  /* Bytes of its job may have reached the disks. */
    int rc;
    struct err err;
    uint64_t avoid_ns; /* It was slow: until then the other one is better. */
    /* The job: */
    bool sync;
    bool rotate;                /* Begin segment `number` first. */
    struct buf bytes;           /* To be written; empty: sync alone. */
    uint64_t last;              /* Sequence of the last entry in it. */
    struct trace_context trace; /* Of who gave it. */
    /* The segment; the worker's while the lane is busy: */
    struct fs_writer *file; /* NULL: none, or it failed. */
    uint64_t number;        /* Of the file, or of the one to begin. */
    uint64_t old;           /* Of the file that is to be left. */
    uint64_t offset;
    struct unit_sealer *sealer; /* NULL: records are not encrypted. */
    uint64_t synced;            /* Offset known to be on the disks. */
    uint64_t last_sequence;
    struct buf list; /* Of the segments there are, for one that begins. */
    /* Under the log's lock, as of the last job: `old` and `synced`. */
    uint64_t listed;
    uint64_t listed_bytes;
};

struct shared_log {
    struct write_log base;
    struct shared_log_options options;
    char dir[LOG_PATH_BYTES];
    struct mutex lock;
    struct cond done;
    struct lane lanes[LANES];
    size_t active;
    uint64_t next_number;
    struct full_segment *full;
    struct shared_log_stats stats;
    bool stop;
    bool broken;
    struct err error; /* Why. */
    atomic_ullong bytes;
    atomic_ullong synced_sequence;
    struct write_ticket *tickets; /* Begun and not retired, in order. */
    struct write_ticket **last_ticket;
    uint64_t written_sequence; /* Of those that are retired. */
};

/* Have a sealer for @n, with the data key of now, if records are encrypted.
 * Parks. PRE: nobody else uses @n. */
MUST_CHECK int
log_lane__take_sealer(struct shared_log *l, struct lane *n, struct err *err);
/* Start the worker of @n for @l. */
void log_lane__start(struct shared_log *l, struct lane *n);
/* Wait for it to end: l->stop has been told. Parks. */
void log_lane__join(struct lane *n);
/* Give @n, which is idle, something to do. PRE: the lock is held. */
void log_lane__submit(struct lane *n,
                      const struct log_record *records,
                      size_t count,
                      bool sync);

#endif /* BIGTABLE_LOG_LOG_LANE_H */
