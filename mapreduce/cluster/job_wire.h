/* The calls between the job master and workers, and among workers.
 *
 *     lock service
 *       /mapreduce/workers/NUMBER   one per worker, there while its session
 *                                   lives; contents: struct worker_record
 *
 * Calls of the master begin with struct worker_head: they carry the sequencer
 * of its lock, which the worker checks, and the number of the worker meant: one
 * of another incarnation refuses with ERR_CLOSED. A pool with a new id belongs
 * to a new master: attempts of the old one are stopped.
 *
 * Bodies are MessagePack arrays, bulk is in attachments (base/core/coding.h).
 * put appends; get borrows from the bytes and fails with ERR_CORRUPT.
 *
 * Threads: any; nothing here parks.
 */
#ifndef MAPREDUCE_CLUSTER_JOB_WIRE_H
#define MAPREDUCE_CLUSTER_JOB_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "mapreduce/task/host.h"

#define MAPREDUCE_LOCK_ROOT    "/mapreduce"
#define MAPREDUCE_LOCK_WORKERS "/mapreduce/workers"

enum worker_method {
    /* Of the job master. */
    WORKER_PREPARE = 0x601, /* head of a job; attachment: its package. Answers
                               when its code is loaded; attachment: traits. */
    WORKER_ORDER = 0x602,   /* head; attachment: struct worker_order each.
                               ERR_NOTFOUND: a job is not prepared. */
    WORKER_WATCH = 0x603,   /* watch; attachment: news. Waits for some. */
    WORKER_FORGET = 0x604,  /* head of a job: it has ended. */
    /* Of workers. */
    WORKER_SPILL_INDEX = 0x611, /* spill_ask; attachment: spill_found each. */
    WORKER_SPILL_READ = 0x612,  /* spill_read; attachment: the bytes. */
};

/* --- who a worker is ----------------------------------------------------- */

#define WORKER_TEXT_BYTES_MAX 1024

struct worker_record {
    uint64_t number; /* Of this incarnation; random. */
    struct slice address;
    struct slice name;    /* Of its node. */
    struct slice machine; /* Its name, */
    struct slice boot; /* and an id that differs from every other machine's and
                          boot's. */
    struct slice rack;
    struct slice directory; /* Absolute, of its jobs. */
    uint32_t slots;
    uint64_t memory_bytes;
    uint32_t cores; /* Of its machine, which it may share with other workers. */
    bool pulls;     /* It accepts WORKER_PULL. */
};

void worker_record_put(const struct worker_record *r, struct buf *out);
/* Read @r from @file. Without cores, it has one for each slot; without `pulls`,
 * it does not pull: older workers' files. */
MUST_CHECK int
worker_record_get(struct slice in, struct worker_record *r, struct err *err);

/* "ADDRESS NUMBER BOOT DIRECTORY": how others reach the spills there. */
struct worker_place {
    uint64_t number;
    struct slice address;
    struct slice boot;
    struct slice directory;
};

void worker_place_put(const struct worker_record *r, struct buf *out);
MUST_CHECK int
worker_place_get(struct slice in, struct worker_place *p, struct err *err);

/* A job's work directory on a worker with @directory. Clears @out. */
void worker_job_dir(struct slice directory, const char *job, struct buf *out);
/* Is @id valid as the name of a job, and of a directory? */
bool worker_job_id_ok(struct slice id);

/* --- orders -------------------------------------------------------------- */

struct worker_head {
    struct slice sequencer;
    uint64_t number; /* Of the worker. */
    uint64_t pool;
    struct slice job; /* "" where none is meant. */
};

void worker_head_put(const struct worker_head *h, struct buf *out);
MUST_CHECK int
worker_head_get(struct slice in, struct worker_head *h, struct err *err);

enum worker_order_kind {
    WORKER_START = 1,
    WORKER_KILL = 2,
    WORKER_PULL = 3, /* To a worker that pulls, and of its master's news. */
};

struct worker_order {
    enum worker_order_kind kind;
    uint64_t
        ticket; /* Names the attempt, or the order to pull; never reused. */
    struct slice job;  /* But for WORKER_KILL: */
    struct slice spec; /* task_spec_encode(), or task_pull_encode(). */
};

void worker_order_put(const struct worker_order *o, struct buf *out);
struct cursor;
/* The next one; sets in->bad when malformed. */
void worker_order_get(struct cursor *in, struct worker_order *o);

/* --- news ---------------------------------------------------------------- */

struct worker_watch {
    struct worker_head head;
    uint64_t seen;    /* News up to this number were received. */
    uint64_t wait_us; /* How long to wait for news when nothing runs. */
};

void worker_watch_put(const struct worker_watch *w, struct buf *out);
MUST_CHECK int
worker_watch_get(struct slice in, struct worker_watch *w, struct err *err);

/* How far an attempt is; @note: with where it was last. */
void worker_status_put(const struct task_status *s, bool note, struct buf *out);
void worker_status_get(struct cursor *in, struct task_status *s);

/* The end of attempt @ticket, with its last status. The event's slot is not in
 * it. */
struct worker_news {
    uint64_t serial; /* From 1, one more each. */
    uint64_t ticket;
    struct slice event; /* worker_event_put() */
};

void worker_event_put(const struct attempt_event *e,
                      const struct task_status *s,
                      struct buf *out);
/* The event is the caller's to close in any case. */
MUST_CHECK int worker_event_get(struct slice in,
                                struct attempt_event *e,
                                struct task_status *s,
                                struct err *err);

/* The attachment: running:varint (ticket:varint status)* news:varint
 * (serial:varint ticket:varint event:lslice)* */

/* --- spills -------------------------------------------------------------- */

/* Bytes of one answer, about. */
#define SPILL_READ_BYTES_MAX ((uint64_t)4 << 20)
#define SPILL_ASK_MAX        4096

struct spill_ask {
    uint64_t number; /* Of the worker. */
    struct slice job;
    uint32_t partition;
    const struct task_spill *spills; /* Place is not used. */
    size_t count;
};

/* Body and attachment. */
void spill_ask_put(const struct spill_ask *a,
                   struct buf *body,
                   struct buf *out);
/* a->spills is owned by the caller: mem_free(), also after failure. */
MUST_CHECK int spill_ask_get(struct slice body,
                             struct slice attachment,
                             struct spill_ask *a,
                             struct task_spill **spills,
                             struct err *err);

/* For each spill, in the order of the question: found:u8 segments:varint
 * (offset:varint bytes:varint pairs:varint)* */

/* A piece of a spill. */
struct spill_piece {
    uint32_t task;
    uint32_t attempt;
    uint64_t offset;
    uint64_t bytes;
};

struct spill_read {
    uint64_t number;
    struct slice job;
    size_t count;
};

void spill_read_put(const struct spill_read *r,
                    const struct spill_piece *pieces,
                    struct buf *body,
                    struct buf *out);
/* *@pieces is owned by the caller: mem_free(), also after failure. Their bytes
 * together are at most 2 * SPILL_READ_BYTES_MAX. */
MUST_CHECK int spill_read_get(struct slice body,
                              struct slice attachment,
                              struct spill_read *r,
                              struct spill_piece **pieces,
                              struct err *err);

#endif /* MAPREDUCE_CLUSTER_JOB_WIRE_H */
