/* Writing the commit log of a tablet server. */
#include "bigtable/tablet/shared_log.h"

#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/fault.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "bigtable/tablet/log_format.h"
#include "gfs-lite/fs.h"

#define LANES 2

/* A file of the log that is not being written to any more. */
struct full_segment {
    struct full_segment *next;
    uint64_t number;
    uint64_t bytes;
    uint64_t last_sequence;
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
    int rc;
    struct err err;
    /* The job: */
    bool sync;
    bool rotate;      /* Begin segment `number` first. */
    struct buf bytes; /* To be written; empty: sync alone. */
    uint64_t last;    /* Sequence of the last entry in it. */
    /* The segment; the worker's while the lane is busy: */
    struct fs_writer *file; /* NULL: none, or it failed. */
    uint64_t number;        /* Of the file, or of the one to begin. */
    uint64_t old;           /* Of the file that is to be left. */
    uint64_t offset;
    uint64_t synced; /* Offset known to be on the disks. */
    uint64_t last_sequence;
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
    uint64_t written_sequence; /* The leader's. */
};

static struct shared_log *of_base(struct write_log *l)
{
    return (struct shared_log *)l;
}

/* --- a lane's worker ------------------------------------------------------ */

/* Say in the segment that is left which one follows: from then on whoever takes
 * the log away knows of it. A segment that failed cannot say so. */
static int announce(struct lane *n, uint64_t next, struct err *err)
{
    char bytes[LOG_RECORD_HEADER_BYTES + 8];
    struct slice payload = slice_make(bytes + LOG_RECORD_HEADER_BYTES, 8);
    struct log_record_header h = {8, 1, 0, n->synced};
    put_le64(bytes + LOG_RECORD_HEADER_BYTES, next);
    log_put_record_header(bytes, n->old, &h, &payload, 1);
    return fs_writer_append_sync(n->file, bytes, sizeof(bytes), err);
}

static void note_full(struct lane *n, uint64_t number)
{
    struct shared_log *l = n->log;
    struct full_segment *f = mem_zalloc(1, sizeof(*f));
    f->number = number;
    f->bytes = n->offset;
    f->last_sequence = n->last_sequence;
    mutex_lock(&l->lock);
    f->next = l->full;
    l->full = f;
    mutex_unlock(&l->lock);
}

/* Begin the segment n->number. */
static int begin_segment(struct lane *n, struct err *err)
{
    const struct fs_write_options opts = {.mode = FS_WRITE_LOG,
                                          .exclusive = true};
    struct log_segment_header h = {n->number, 0};
    char path[LOG_PATH_BYTES];
    char bytes[LOG_SEGMENT_HEADER_BYTES];
    struct fs_writer *file;
    int rc;
    log_segment_path(path, n->log->dir, n->number);
    rc = fs_create(n->log->options.fs, path, &opts, &file, err);
    if (rc)
        return rc;
    log_put_segment_header(bytes, &h);
    rc = fs_writer_append_sync(file, bytes, sizeof(bytes), err);
    if (rc == 0 && n->file)
        rc = announce(n, n->number, err);
    if (rc) {
        fs_writer_close(file);
        return rc;
    }
    if (n->old)
        note_full(n, n->old);
    fs_writer_close(n->file);
    n->file = file;
    n->old = n->number;
    n->offset = n->synced = sizeof(bytes);
    atomic_fetch_add(&n->log->bytes, sizeof(bytes));
    n->last_sequence = 0;
    return 0;
}

static int write_bytes(struct lane *n, struct err *err)
{
    struct fs_writer *f = n->file;
    bool bug = fault_hit("tablet.skip_log_sync");
    int rc;
    if (bug)
        rc = fs_writer_append(f, n->bytes.data, n->bytes.len, err);
    else if (n->bytes.len == 0)
        rc = fs_writer_sync(f, err);
    else if (n->sync)
        rc = fs_writer_append_sync(f, n->bytes.data, n->bytes.len, err);
    else
        rc = fs_writer_append(f, n->bytes.data, n->bytes.len, err);
    if (rc == 0 && n->bytes.len && !n->sync && !bug)
        rc = fs_writer_flush(f, err);
    if (rc)
        return rc;
    n->offset += n->bytes.len;
    atomic_fetch_add(&n->log->bytes, n->bytes.len);
    n->last_sequence = MAX_OF(n->last_sequence, n->last);
    if (n->sync)
        n->synced = n->offset;
    return 0;
}

static int run_job(struct lane *n, struct err *err)
{
    int rc = 0;
    if (n->rotate)
        rc = begin_segment(n, err);
    if (rc == 0)
        rc = write_bytes(n, err);
    if (rc) { /* What it holds is in doubt: leave it. */
        fs_writer_close(n->file);
        n->file = NULL;
    }
    return rc;
}

static void break_log(struct shared_log *l, const struct err *why)
{
    bool first = !l->broken;
    if (first) {
        l->error = *why;
        err_wrap(&l->error, "commit log %s", l->dir);
        l->broken = true;
        if (l->options.fenced)
            l->options.fenced(l->options.ctx, &l->error);
    }
}

static void finish_job(struct lane *n, int rc, const struct err *err)
{
    struct shared_log *l = n->log;
    n->rc = rc;
    n->err = *err;
    if (rc == 0)
        n->dirty = !n->sync;
    if (rc == ERR_ABORTED)
        break_log(l, err);
    n->state = n->orphan ? LANE_IDLE : LANE_DONE;
    cond_broadcast(&l->done);
}

static void work(void *arg)
{
    struct lane *n = arg;
    struct shared_log *l = n->log;
    mutex_lock(&l->lock);
    for (;;) {
        struct err err = ERR_INIT;
        int rc;
        while (n->state != LANE_BUSY && !l->stop)
            cond_wait(&n->work, &l->lock);
        if (n->state != LANE_BUSY)
            break;
        mutex_unlock(&l->lock);
        rc = run_job(n, &err);
        mutex_lock(&l->lock);
        finish_job(n, rc, &err);
    }
    mutex_unlock(&l->lock);
}

/* --- jobs ----------------------------------------------------------------- */

static void put_record(struct lane *n, const struct log_record *r)
{
    struct log_record_header h = {0, r->count, r->sequence, n->synced};
    char *p;
    for (size_t i = 0; i < r->part_count; i++)
        h.length += (uint32_t)r->parts[i].len;
    p = buf_extend(&n->bytes, LOG_RECORD_HEADER_BYTES);
    log_put_record_header(p, n->number, &h, r->parts, r->part_count);
    for (size_t i = 0; i < r->part_count; i++)
        buf_append_slice(&n->bytes, r->parts[i]);
}

/* Give @n, which is idle, something to do. PRE: the lock is held. */
static void submit(struct lane *n,
                   const struct log_record *records,
                   size_t count,
                   bool sync)
{
    struct shared_log *l = n->log;
    PRE(n->state == LANE_IDLE);
    n->rotate = !n->file || n->offset >= l->options.segment_bytes;
    if (n->rotate) {
        n->number = l->next_number++;
        l->stats.segments++;
    }
    buf_clear(&n->bytes);
    n->last = 0;
    for (size_t i = 0; i < count; i++) {
        put_record(n, &records[i]);
        n->last = records[i].last;
    }
    n->sync = sync;
    n->orphan = false;
    n->state = LANE_BUSY;
    cond_signal(&n->work);
}

/* The active lane, or the other one when that is still at an old job. PRE: the
 * lock is held. */
static struct lane *wait_for_lane(struct shared_log *l)
{
    for (;;) {
        for (size_t i = 0; i < LANES; i++) {
            struct lane *n = &l->lanes[(l->active + i) % LANES];
            if (n->state != LANE_IDLE)
                continue;
            l->active = (l->active + i) % LANES;
            return n;
        }
        cond_wait(&l->done, &l->lock);
    }
}

/* Take the outcome of @n's job. PRE: the lock is held. */
static int take_outcome(struct lane *n, struct err *err)
{
    n->state = LANE_IDLE;
    cond_broadcast(&n->log->done);
    return n->rc ? err_copy(err, &n->err) : 0;
}

/* The lanes a write was given to. */
struct attempt {
    struct lane *lanes[LANES];
    size_t count;
};

/* One that has it, or NULL; *@failed: all have failed. PRE: the lock is held.
 */
static struct lane *find_winner(const struct attempt *a, bool *failed)
{
    *failed = true;
    for (size_t i = 0; i < a->count; i++) {
        if (a->lanes[i]->state == LANE_DONE && a->lanes[i]->rc == 0)
            return a->lanes[i];
        *failed &= a->lanes[i]->state == LANE_DONE;
    }
    return NULL;
}

/* Nobody waits for its lanes any more. PRE: the lock is held. */
static void leave_attempt(const struct attempt *a)
{
    for (size_t i = 0; i < a->count; i++) {
        if (a->lanes[i]->state == LANE_DONE)
            a->lanes[i]->state = LANE_IDLE;
        else
            a->lanes[i]->orphan = true;
    }
    cond_broadcast(&a->lanes[0]->log->done);
}

/* Wait until one of the lanes has the records: after a while, or when the first
 * fails, the other one gets them, too. PRE: the lock is held. */
static int await_write(struct shared_log *l,
                       struct attempt *a,
                       const struct log_record *records,
                       size_t count,
                       bool sync,
                       struct err *err)
{
    struct lane *other = &l->lanes[a->lanes[0] == &l->lanes[0]];
    bool late = false;
    bool failed;
    int rc = 0;
    while (!find_winner(a, &failed)) {
        bool more = a->count < LANES && !l->broken && other->state == LANE_IDLE;
        if ((failed || late) && more) {
            submit(other, records, count, sync);
            a->lanes[a->count++] = other;
            l->active = (size_t)(other - l->lanes);
            l->stats.switches++;
        } else if (failed) {
            rc = err_copy(err, &a->lanes[a->count - 1]->err);
            break;
        } else if (a->count < LANES) {
            late = !cond_wait_us(&l->done, &l->lock, l->options.world,
                                 l->options.slow_us);
        } else {
            cond_wait(&l->done, &l->lock);
        }
    }
    leave_attempt(a);
    return rc;
}

/* Sync the lanes that have something unsynced. PRE: the lock is held, and
 * nobody but the caller waits for a lane. */
static int sync_dirty(struct shared_log *l, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < LANES && rc == 0; i++) {
        struct lane *n = &l->lanes[i];
        while (n->state != LANE_IDLE)
            cond_wait(&l->done, &l->lock);
        if (!n->dirty)
            continue;
        if (!n->file)
            return err_set(err, ERR_IO,
                           "commit log %s: what was written is "
                           "in doubt",
                           l->dir);
        submit(n, NULL, 0, true);
        while (n->state != LANE_DONE)
            cond_wait(&l->done, &l->lock);
        rc = take_outcome(n, err);
    }
    return rc;
}

static bool is_dirty(const struct shared_log *l)
{
    return l->lanes[0].dirty || l->lanes[1].dirty;
}

static int shared_write(struct write_log *base,
                        const struct log_record *records,
                        size_t count,
                        bool sync,
                        struct err *err)
{
    struct shared_log *l = of_base(base);
    struct attempt a = {.count = 1};
    int rc;
    mutex_lock(&l->lock);
    a.lanes[0] = wait_for_lane(l);
    if (l->broken) {
        rc = err_copy(err, &l->error);
        mutex_unlock(&l->lock);
        return rc;
    }
    submit(a.lanes[0], records, count, sync);
    rc = await_write(l, &a, records, count, sync, err);
    if (rc == 0 && sync && is_dirty(l))
        rc = sync_dirty(l, err);
    if (rc == 0)
        l->written_sequence = records[count - 1].last;
    if (rc == 0 && sync)
        atomic_store(&l->synced_sequence, l->written_sequence);
    mutex_unlock(&l->lock);
    return rc;
}

static int shared_sync(struct write_log *base, struct err *err)
{
    struct shared_log *l = of_base(base);
    uint64_t sequence;
    int rc;
    mutex_lock(&l->lock);
    sequence = l->written_sequence;
    rc = l->broken ? err_copy(err, &l->error) : sync_dirty(l, err);
    if (rc == 0 && sequence > atomic_load(&l->synced_sequence))
        atomic_store(&l->synced_sequence, sequence);
    mutex_unlock(&l->lock);
    return rc;
}

/* --- upkeep --------------------------------------------------------------- */

static uint64_t shared_synced_sequence(const struct write_log *base)
{
    return atomic_load(&((const struct shared_log *)base)->synced_sequence);
}

static struct full_segment *take_released(struct shared_log *l,
                                          uint64_t sequence)
{
    struct full_segment **at = &l->full;
    struct full_segment *taken = NULL;
    while (*at) {
        struct full_segment *f = *at;
        if (f->last_sequence > sequence) {
            at = &f->next;
            continue;
        }
        *at = f->next;
        f->next = taken;
        taken = f;
    }
    return taken;
}

static void shared_release(struct write_log *base, uint64_t sequence)
{
    struct shared_log *l = of_base(base);
    struct full_segment *taken;
    mutex_lock(&l->lock);
    taken = take_released(l, sequence);
    mutex_unlock(&l->lock);
    while (taken) {
        struct full_segment *f = taken;
        char path[LOG_PATH_BYTES];
        taken = f->next;
        atomic_fetch_sub(&l->bytes, f->bytes);
        log_segment_path(path, l->dir, f->number);
        if (fs_remove(l->options.fs, path, NULL) != 0) {
            /* The master removes it, with the others of a server that left. */
        }
        mem_free(f);
    }
}

static uint64_t shared_bytes(const struct write_log *base)
{
    return atomic_load(&((const struct shared_log *)base)->bytes);
}

static size_t shared_segment_count(struct write_log *base)
{
    struct shared_log *l = of_base(base);
    size_t count = LANES;
    mutex_lock(&l->lock);
    for (const struct full_segment *f = l->full; f; f = f->next)
        count++;
    mutex_unlock(&l->lock);
    return count;
}

void shared_log_get_stats(struct write_log *base, struct shared_log_stats *out)
{
    struct shared_log *l = of_base(base);
    mutex_lock(&l->lock);
    *out = l->stats;
    mutex_unlock(&l->lock);
}

/* --- opening and closing -------------------------------------------------- */

static void stop_lanes(struct shared_log *l)
{
    mutex_lock(&l->lock);
    l->stop = true;
    for (size_t i = 0; i < LANES; i++)
        cond_broadcast(&l->lanes[i].work);
    mutex_unlock(&l->lock);
    for (size_t i = 0; i < LANES; i++) {
        if (l->lanes[i].fiber)
            fiber_join(l->lanes[i].fiber);
        if (l->lanes[i].task)
            task_join(l->lanes[i].task);
    }
}

static void shared_close(struct write_log *base)
{
    struct shared_log *l = of_base(base);
    stop_lanes(l);
    for (size_t i = 0; i < LANES; i++) {
        fs_writer_close(l->lanes[i].file);
        buf_close(&l->lanes[i].bytes);
        cond_close(&l->lanes[i].work);
    }
    while (l->full) {
        struct full_segment *f = l->full;
        l->full = f->next;
        mem_free(f);
    }
    cond_close(&l->done);
    mutex_close(&l->lock);
    mem_free(l);
}

static const struct write_log_ops shared_ops = {
    shared_write,   shared_sync,  shared_synced_sequence,
    shared_release, shared_bytes, shared_segment_count,
    shared_close};

/* Both lanes' first segments, so that whoever lists them knows both. */
static int begin_lanes(struct shared_log *l, struct err *err)
{
    int rc = 0;
    mutex_lock(&l->lock);
    for (size_t i = 0; i < LANES && rc == 0; i++) {
        struct lane *n = &l->lanes[i];
        submit(n, NULL, 0, true);
        while (n->state != LANE_DONE)
            cond_wait(&l->done, &l->lock);
        rc = take_outcome(n, err);
    }
    mutex_unlock(&l->lock);
    return rc;
}

static void start_lane(struct shared_log *l, struct lane *n)
{
    n->log = l;
    cond_init(&n->work);
    if (loop_self())
        n->fiber = fiber_start(loop_self(), "commit-log", work, n);
    else
        n->task = task_start(l->options.world, "quarry-log", work, n);
}

int shared_log_open(const struct shared_log_options *opts,
                    struct write_log **out,
                    struct err *err)
{
    struct shared_log *l = mem_zalloc(1, sizeof(*l));
    int rc;
    l->base.ops = &shared_ops;
    l->options = *opts;
    if (l->options.segment_bytes == 0)
        l->options.segment_bytes = SHARED_LOG_SEGMENT_BYTES;
    if (l->options.slow_us == 0)
        l->options.slow_us = SHARED_LOG_SLOW_US;
    snprintf(l->dir, sizeof(l->dir), "%s", opts->dir);
    l->next_number = 1;
    mutex_init(&l->lock);
    cond_init(&l->done);
    for (size_t i = 0; i < LANES; i++)
        start_lane(l, &l->lanes[i]);
    rc = begin_lanes(l, err);
    *out = &l->base;
    if (rc) {
        err_wrap(err, "commit log %s", opts->dir);
        shared_close(&l->base);
        *out = NULL;
    }
    return rc;
}
