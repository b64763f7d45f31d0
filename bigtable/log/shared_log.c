/* Writing the commit log of a tablet server: the two log writing threads of the
 * Bigtable paper (section 6, "Commit-log implementation"), here lanes. A write
 * that is late on its lane is given to the other lane too, and is done when one
 * of them has it; recovery counts a mutation once.
 *
 * Writes that overlap end in the order in which they began. When one fails, so
 * do those that were under way with it: their numbers are higher, and a log
 * with a hole would show a later change without an earlier one.
 */
#include "bigtable/log/shared_log.h"

#include <stdio.h>
#include <string.h>

#include "base/core/coding.h"
#include "base/core/ignore_result.h"
#include "base/core/panic.h"
#include "base/crypt/sealer.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "bigtable/log/log_format.h"
#include "bigtable/log/log_lane.h"
#include "gfs-lite/fs.h"

/* A lane that was slow is not chosen for this long. */
#define AVOID_US UINT64_C(1000000)

static const struct write_log_ops shared_ops;

/* @l is locked. */
static void shared_log_check(const struct shared_log *l)
{
    INVARIANT(!l->tickets == (l->last_ticket == &l->tickets));
    INVARIANT(atomic_load(&l->synced_sequence) <= l->written_sequence);
    INVARIANT(l->active < LANES);
}

static struct shared_log *of_base(struct write_log *l)
{
    PRE(l->ops == &shared_ops);
    return (struct shared_log *)l;
}

/* --- lanes --------------------------------------------------------------- */

static struct lane *other_lane(struct lane *n)
{
    struct shared_log *l = n->log;
    return &l->lanes[n == &l->lanes[0]];
}

/* True if @n will be free soon and usable. A lane that failed is not: the
 * writer that it failed may wait for the caller's lane. */
static bool is_at_work(const struct lane *n)
{
    return !n->orphan &&
           (n->state == LANE_BUSY || (n->state == LANE_DONE && n->rc == 0));
}

/* The active lane, or the other one when that is still at a job. PRE: the lock
 * is held. */
static struct lane *wait_for_lane(struct shared_log *l)
{
    for (;;) {
        uint64_t now = world_mono_ns(l->options.world);
        PRE(mutex_is_held(&l->lock));
        for (size_t i = 0; i < LANES; i++) {
            struct lane *n = &l->lanes[(l->active + i) % LANES];
            if (n->state != LANE_IDLE ||
                (n->avoid_ns > now && is_at_work(other_lane(n))))
                continue;
            INVARIANT(l->active < LANES);
            l->active = (l->active + i) % LANES;
            return n;
        }
        cond_wait(&l->done, &l->lock);
    }
}

/* Take the outcome of @n's job. PRE: the lock is held. */
static int take_outcome(struct lane *n, struct err *err)
{
    PRE(mutex_is_held(&n->log->lock));
    PRE(n->state == LANE_DONE); /* INV-1 */
    n->state = LANE_IDLE;
    cond_broadcast(&n->log->done);
    return n->rc ? err_copy(err, &n->err) : 0;
}

/* One that has what @t is, or NULL; *@failed: all have failed. PRE: the lock is
 * held. */
static struct lane *find_winner(const struct write_ticket *t, bool *failed)
{
    PRE(t->lane_count > 0);
    *failed = true;
    for (size_t i = 0; i < t->lane_count; i++) {
        struct lane *n = t->lanes[i];
        if (n->state == LANE_DONE && n->rc == 0)
            return n;
        *failed &= n->state == LANE_DONE;
    }
    return NULL;
}

/* Nobody waits for its lanes any more. PRE: the lock is held. */
static void leave_lanes(struct shared_log *l, const struct write_ticket *t)
{
    PRE(mutex_is_held(&l->lock));
    PRE(t->lane_count <= LANES);
    for (size_t i = 0; i < t->lane_count; i++) {
        struct lane *n = t->lanes[i];
        if (n->state == LANE_DONE)
            n->state = LANE_IDLE;
        else
            n->orphan = true;
    }
    cond_broadcast(&l->done);
}

static void give_to_lane(struct write_ticket *t, struct lane *n)
{
    PRE(t->lane_count < LANES);
    PRE(t->count > 0);
    t->lanes[t->lane_count++] = n;
    log_lane__submit(n, t->records, t->count, t->sync);
}

/* The first lane failed or is late: give it to @other, too. */
static void
switch_lanes(struct shared_log *l, struct write_ticket *t, struct lane *other)
{
    struct lane *slow = t->lanes[0];
    PRE(t->lane_count == 1);
    PRE(other != slow);
    slow->avoid_ns = world_mono_ns(l->options.world) + AVOID_US * 1000;
    give_to_lane(t, other);
    l->active = (size_t)(other - l->lanes);
    l->stats.switches++;
}

/* Wait for a change of the lanes, or until @t is late. PRE: the lock is held.
 */
static void wait_for_change(struct shared_log *l, const struct write_ticket *t)
{
    PRE(mutex_is_held(&l->lock));
    PRE(t->lane_count > 0);
    uint64_t now = world_mono_ns(l->options.world);
    if (t->lane_count < LANES && now < t->late_ns)
        (void)cond_wait_us(&l->done, &l->lock, l->options.world,
                           (t->late_ns - now + 999) / 1000);
    else
        cond_wait(&l->done, &l->lock);
}

/* A write failed with @rc: is the code right, if records may have reached the
 * disks? Who tries again elsewhere finds out, and codes that make callers do so
 * promise nothing; others would say that nothing is there. */
static int in_doubt(int rc, struct err *err)
{
    PRE(rc != 0);
    if (rc == ERR_ABORTED || rc == ERR_UNAVAILABLE || rc == ERR_CLOSED ||
        rc == ERR_DEADLINE || rc == ERR_CANCELLED)
        return rc;
    if (err) {
        err_wrap(err, "the change may be there after a recovery");
        err->code = ERR_UNKNOWN_OUTCOME;
    }
    return ERR_UNKNOWN_OUTCOME;
}

/* May records of @t have reached the disks? PRE: the lock is held. */
static bool was_tried(const struct write_ticket *t)
{
    bool tried = false;
    PRE(t->lane_count > 0);
    for (size_t i = 0; i < t->lane_count; i++) {
        const struct lane *n = t->lanes[i];
        tried |= n->state != LANE_DONE || n->tried;
    }
    return tried;
}

/* Wait until one of the lanes has the records: after a while, or when the first
 * fails, the other one gets them, too, once it has done what it is at. PRE: the
 * lock is held. */
static int
await_write(struct shared_log *l, struct write_ticket *t, struct err *err)
{
    struct lane *first = t->lanes[0];
    struct lane *other = other_lane(first);
    bool failed;
    int rc = 0;
    PRE(mutex_is_held(&l->lock));
    PRE(t->lane_count == 1);
    while (!find_winner(t, &failed)) {
        bool more = t->lane_count < LANES && !l->broken;
        bool late = world_mono_ns(l->options.world) >= t->late_ns;
        if ((failed || late) && more && other->state == LANE_IDLE) {
            switch_lanes(l, t, other);
        } else if (failed && !(more && is_at_work(other))) {
            struct lane *n = t->lanes[t->lane_count - 1];
            rc = err_copy(err, &n->err);
            if (was_tried(t))
                rc = in_doubt(rc, err);
            break;
        } else {
            wait_for_change(l, t);
        }
    }
    leave_lanes(l, t);
    return rc;
}

/* Sync the lanes that have something unsynced; one that is at a job is waited
 * for. PRE: the lock is held. */
static int sync_dirty(struct shared_log *l, struct err *err)
{
    int rc = 0;
    PRE(mutex_is_held(&l->lock));
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
        log_lane__submit(n, NULL, 0, true);
        while (n->state != LANE_DONE)
            cond_wait(&l->done, &l->lock);
        INVARIANT(!n->orphan);
        rc = take_outcome(n, err);
    }
    return rc;
}

static bool is_dirty(const struct shared_log *l)
{
    return l->lanes[0].dirty || l->lanes[1].dirty;
}

static int
shared_begin(struct write_log *base, struct write_ticket *t, struct err *err)
{
    struct shared_log *l = of_base(base);
    struct lane *n;
    int rc = 0;
    t->next = NULL;
    t->doom = 0;
    t->lane_count = 0;
    mutex_lock(&l->lock);
    n = wait_for_lane(l);
    if (l->broken) {
        rc = err_copy(err, &l->error);
    } else {
        t->late_ns =
            world_mono_ns(l->options.world) + l->options.slow_us * 1000;
        INVARIANT(!*l->last_ticket);
        *l->last_ticket = t;
        l->last_ticket = &t->next;
        give_to_lane(t, n);
    }
    mutex_unlock(&l->lock);
    return rc;
}

/* Release @t, the oldest: everything before it is known to be written, or
 * failed. PRE: the lock is held. */
static void shared_log_retire(struct shared_log *l, struct write_ticket *t)
{
    PRE(mutex_is_held(&l->lock));
    INVARIANT(l->tickets == t);
    l->tickets = t->next;
    if (!l->tickets)
        l->last_ticket = &l->tickets;
    cond_broadcast(&l->done);
    if (t->rc) {
        for (struct write_ticket *r = l->tickets; r; r = r->next)
            r->doom = t->rc;
        return;
    }
    INVARIANT(l->written_sequence <= t->records[t->count - 1].last); /* INV-5 */
    l->written_sequence = t->records[t->count - 1].last;
    shared_log_check(l);
    if (t->sync)
        atomic_store(&l->synced_sequence, l->written_sequence);
}

static int
shared_end(struct write_log *base, struct write_ticket *t, struct err *err)
{
    struct shared_log *l = of_base(base);
    PRE(t->lane_count > 0);
    mutex_lock(&l->lock);
    t->rc = await_write(l, t, err);
    if (t->rc == 0 && t->sync && is_dirty(l)) {
        t->rc = sync_dirty(l, err);
        if (t->rc)
            t->rc = in_doubt(t->rc, err);
    }
    while (l->tickets != t)
        cond_wait(&l->done, &l->lock);
    if (t->rc == 0 && t->doom)
        t->rc =
            in_doubt(err_set(err, t->doom, "a write before it failed"), err);
    shared_log_retire(l, t);
    mutex_unlock(&l->lock);
    return t->rc;
}

static int shared_write(struct write_log *base,
                        const struct log_record *records,
                        size_t count,
                        bool sync,
                        struct err *err)
{
    struct write_ticket t = {.records = records, .count = count, .sync = sync};
    PRE(records && count > 0);
    int rc = shared_begin(base, &t, err);
    return rc ? rc : shared_end(base, &t, err);
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
    shared_log_check(l);
    mutex_unlock(&l->lock);
    return rc;
}

/* --- upkeep -------------------------------------------------------------- */

static uint64_t shared_synced_sequence(const struct write_log *base)
{
    return atomic_load(&((const struct shared_log *)base)->synced_sequence);
}

/* Those that hold nothing above @sequence are released; of the ones that are,
 * take those that the newest list leaves out: nobody misses them. PRE: the lock
 * is held. */
static struct full_segment *take_released(struct shared_log *l,
                                          uint64_t sequence)
{
    struct full_segment **at = &l->full;
    struct full_segment *taken = NULL;
    PRE(mutex_is_held(&l->lock));
    while (*at) {
        struct full_segment *f = *at;
        if (!f->released && f->last_sequence <= sequence) {
            f->released = true;
            atomic_fetch_sub(&l->bytes, f->bytes);
        }
        if (!f->unlisted) {
            at = &f->next;
            continue;
        }
        INVARIANT(f->released); /* INV-4 */
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
        log_segment_path(path, l->dir, f->number);
        /* The master removes it, with the others of a server that left. */
        IGNORE_RESULT(fs_remove(l->options.fs, path, NULL));
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
        count += !f->released;
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

/* --- opening and closing ------------------------------------------------- */

static void stop_lanes(struct shared_log *l)
{
    mutex_lock(&l->lock);
    PRE(!l->stop);
    l->stop = true;
    for (size_t i = 0; i < LANES; i++)
        cond_broadcast(&l->lanes[i].work);
    mutex_unlock(&l->lock);
    for (size_t i = 0; i < LANES; i++)
        log_lane__join(&l->lanes[i]);
}

static void shared_close(struct write_log *base)
{
    struct shared_log *l = of_base(base);
    stop_lanes(l);
    PRE(!l->tickets);
    for (size_t i = 0; i < LANES; i++) {
        fs_writer_close(l->lanes[i].file);
        buf_close(&l->lanes[i].bytes);
        unit_sealer_free(l->lanes[i].sealer);
        buf_close(&l->lanes[i].list);
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
    .writes_max = LANES,
    .write = shared_write,
    .begin = shared_begin,
    .end = shared_end,
    .sync = shared_sync,
    .synced_sequence = shared_synced_sequence,
    .release = shared_release,
    .bytes = shared_bytes,
    .segment_count = shared_segment_count,
    .close = shared_close,
};

/* Let @n write @records, synced. PRE: the lock is held. */
static int write_on_lane(struct lane *n,
                         const struct log_record *records,
                         size_t count,
                         struct err *err)
{
    PRE(mutex_is_held(&n->log->lock));
    PRE(n->state == LANE_IDLE); /* INV-1 */
    log_lane__submit(n, records, count, true);
    while (n->state != LANE_DONE)
        cond_wait(&n->log->done, &n->log->lock);
    return take_outcome(n, err);
}

/* Both lanes' first segments, so that a reader that lists them knows both; the
 * first announces the second. */
static int begin_lanes(struct shared_log *l, struct err *err)
{
    char next[8];
    struct slice payload = slice_make(next, sizeof(next));
    const struct log_record announcement = {
        .count = 1, .parts = &payload, .part_count = 1};
    int rc = 0;
    mutex_lock(&l->lock);
    for (size_t i = 0; i < LANES && rc == 0; i++)
        rc = write_on_lane(&l->lanes[i], NULL, 0, err);
    put_le64(next, l->lanes[LANES - 1].number);
    INVARIANT(rc || l->next_number == LANES + 1); /* INV-3 */
    if (rc == 0)
        rc = write_on_lane(&l->lanes[0], &announcement, 1, err);
    mutex_unlock(&l->lock);
    return rc;
}

int shared_log_open(const struct shared_log_options *opts,
                    struct write_log **out,
                    struct err *err)
{
    struct shared_log *l = mem_zalloc(1, sizeof(*l));
    int rc;
    PRE(opts->world && opts->fs && opts->dir);
    l->base.ops = &shared_ops;
    l->options = *opts;
    if (l->options.segment_bytes == 0)
        l->options.segment_bytes = SHARED_LOG_SEGMENT_BYTES;
    if (l->options.slow_us == 0)
        l->options.slow_us = SHARED_LOG_SLOW_US;
    snprintf(l->dir, sizeof(l->dir), "%s", opts->dir);
    l->next_number = 1;
    l->last_ticket = &l->tickets;
    mutex_init(&l->lock);
    cond_init(&l->done);
    rc = 0;
    for (size_t i = 0; i < LANES && rc == 0; i++)
        rc = log_lane__take_sealer(l, &l->lanes[i], err);
    for (size_t i = 0; i < LANES; i++)
        log_lane__start(l, &l->lanes[i]);
    if (rc == 0)
        rc = begin_lanes(l, err);
    *out = &l->base;
    if (rc) {
        err_wrap(err, "commit log %s", opts->dir);
        shared_close(&l->base);
        *out = NULL;
    }
    return rc;
}
