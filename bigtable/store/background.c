/* Choosing and running background jobs. A worker looks at all tablets each time
 * and takes the job that is worth the most bytes: flushes come before splits
 * and compactions (LevelDB, too, compacts its memtable first), because writers
 * wait for memory. Splits come before compactions, which under a steady load
 * are always due. There is no queue of jobs that could be out of date;
 * wake_count tells a worker that something changed while it looked.
 */
#include "bigtable/store/background.h"

#include <limits.h>
#include <stdio.h>

#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "bigtable/lsm/lsm.h"
#include "bigtable/sstable/block_cache.h"
#include "bigtable/sstable/chunk_pool.h"
#include "bigtable/store/split.h"
#include "bigtable/store/store.h"
#include "bigtable/tablet/tablet.h"

/* Between two tries of what failed for want of space. */
#define RETRY_US UINT64_C(1000000)
/* When memory is full, this part of it at least is flushed at once. */
#define FREEZE_PARTS 16
/* After the last job. */
#define RELEASE_US UINT64_C(10000000)

enum job_kind {
    JOB_NONE,
    JOB_FLUSH,
    JOB_COMPACT,
    JOB_SPLIT
};

struct job {
    enum job_kind kind;
    struct tablet *tablet; /* Referenced. */
    struct tablet_group *group;
    uint64_t worth; /* Bytes. */
};

struct background_worker {
    struct store *store;
    bool only_flushes;
};

void background_init(struct background *b, unsigned task_max)
{
    *b =
        (struct background){.task_max = MIN_OF(task_max, BACKGROUND_TASKS_MAX)};
    mutex_init(&b->lock);
    cond_init(&b->work);
    cond_init(&b->progress);
    b->workers = mem_zalloc(b->task_max + 1, sizeof(*b->workers));
    POST(b->task_max <= BACKGROUND_TASKS_MAX);
}

void background_close(struct background *b)
{
    PRE(b->task_count == 0);
    mem_free(b->workers);
    cond_close(&b->work);
    cond_close(&b->progress);
    mutex_close(&b->lock);
}

/* --- choosing ------------------------------------------------------------ */

static void background_propose(struct job *best,
                               enum job_kind kind,
                               struct tablet *t,
                               struct tablet_group *g,
                               uint64_t worth)
{
    PRE(kind != JOB_NONE);
    if (worth > best->worth)
        *best = (struct job){kind, t, g, worth};
}

static void propose_flush(struct job *best, struct tablet *t)
{
    PRE(mutex_is_held(&store_of(t)->background.lock));
    for (size_t i = 0; i < atomic_load(&t->group_count); i++) {
        struct tablet_group *g = t->groups[i];
        if (!g->flushing)
            background_propose(best, JOB_FLUSH, t, g,
                               lsm_frozen_memory(g->lsm));
    }
}

static void propose_compaction(struct job *best, struct tablet *t)
{
    PRE(mutex_is_held(&store_of(t)->background.lock));
    for (size_t i = 0; i < atomic_load(&t->group_count); i++) {
        struct tablet_group *g = t->groups[i];
        if (!g->compacting && !g->broken)
            background_propose(best, JOB_COMPACT, t, g,
                               lsm_compaction_debt(g->lsm));
    }
}

/* Bytes of all files that @t refers to, those of shared ones in full. */
static uint64_t bytes_of_files(const struct tablet *t)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < atomic_load(&t->group_count); i++) {
        struct lsm_stats stats;
        lsm_stats(t->groups[i]->lsm, &stats);
        bytes += stats.table_bytes;
    }
    return bytes;
}

static bool is_compacting(const struct tablet *t)
{
    PRE(mutex_is_held(&store_of(t)->background.lock));
    for (size_t i = 0; i < atomic_load(&t->group_count); i++)
        if (t->groups[i]->compacting)
            return true;
    return false;
}

/* A split between two compactions, not during one, whose work would be lost.
 * How much of shared files is the tablet's own is found out by run_split(). */
static void propose_split(struct store *s, struct job *best, struct tablet *t)
{
    uint64_t bytes;
    PRE(mutex_is_held(&s->background.lock));
    if (t->split_failed || t->splitting || is_compacting(t))
        return;
    bytes = bytes_of_files(t);
    if (bytes > s->options.split_bytes &&
        (bytes >= t->split_after_bytes ||
         tablet_crossing_files(t) != t->split_crossing))
        background_propose(best, JOB_SPLIT, t, NULL, bytes);
}

/* The best job for a worker, its tablet referenced and marked busy. PRE: the
 * background's lock is held. */
static struct job background_choose(struct store *s,
                                    struct table_part_view **views,
                                    size_t count,
                                    bool only_flushes)
{
    static const enum job_kind order[] = {JOB_FLUSH, JOB_SPLIT, JOB_COMPACT};
    struct job best = {JOB_NONE, NULL, NULL, 0};
    size_t kinds = only_flushes ? 1 : ARRAY_LEN(order);
    PRE(mutex_is_held(&s->background.lock));
    for (size_t k = 0; k < kinds && best.kind == JOB_NONE; k++)
        for (size_t i = 0; i < count; i++)
            for (size_t j = 0; j < views[i]->tablet_count; j++) {
                struct tablet *t = views[i]->tablets[j];
                if (t->paused || atomic_load(&t->lost))
                    continue;
                if (order[k] == JOB_FLUSH)
                    propose_flush(&best, t);
                else if (order[k] == JOB_COMPACT)
                    propose_compaction(&best, t);
                else
                    propose_split(s, &best, t);
            }
    if (best.kind != JOB_NONE)
        tablet_ref(best.tablet);
    INVARIANT(best.kind != JOB_FLUSH || !best.group->flushing); /* INV-1 */
    INVARIANT(best.kind != JOB_COMPACT || !best.group->compacting);
    INVARIANT(best.kind != JOB_SPLIT || !best.group);
    if (best.kind == JOB_FLUSH)
        best.group->flushing = true;
    if (best.kind == JOB_COMPACT)
        best.group->compacting = true;
    if (best.kind == JOB_SPLIT)
        best.tablet->splitting = true;
    return best;
}

static struct job next_job(struct store *s, bool only_flushes)
{
    struct background *b = &s->background;
    size_t count;
    struct table_part_view **views = store_views(s, &count);
    struct job job;
    mutex_lock(&b->lock);
    job = background_choose(s, views, count, only_flushes);
    mutex_unlock(&b->lock);
    store_views_free(views, count);
    POST(job.kind == JOB_NONE || job.tablet);
    return job;
}

/* --- running ------------------------------------------------------------- */

uint64_t background_count_memory(struct store *s)
{
    size_t count;
    struct table_part_view **views = store_views(s, &count);
    uint64_t active = 0;
    uint64_t frozen = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < views[i]->tablet_count; j++) {
            struct tablet *t = views[i]->tablets[j];
            for (size_t g = 0; g < atomic_load(&t->group_count); g++) {
                active += lsm_active_memory(t->groups[g]->lsm);
                frozen += lsm_frozen_memory(t->groups[g]->lsm);
            }
        }
    store_views_free(views, count);
    atomic_store(&s->env.memory_bytes, active + frozen);
    return frozen;
}

/* Does the cause of a failed flush go away by itself? Space does, and what the
 * servers of shared files suffer from. A disk of ours that failed is not to be
 * trusted any more. */
static bool is_passing(const struct store *s)
{
    return s->sharing || s->background.flush_error.code == ERR_FULL;
}

/* A line about the work on @g that began at @start_ns. */
static void note_job(const struct store *s,
                     const char *what,
                     const struct tablet_group *g,
                     uint64_t start_ns,
                     int rc)
{
    log_debug(s->world, "lsm", "%s tablet=%llu group=%u us=%llu code=%d", what,
              (unsigned long long)g->tablet->id, (unsigned)g->id,
              (unsigned long long)(world_mono_ns(s->world) - start_ns) / 1000,
              rc);
}

static void run_flush(struct store *s, struct tablet_group *g)
{
    struct background *b = &s->background;
    struct err err = ERR_INIT;
    uint64_t start_ns = world_mono_ns(s->world);
    int rc = lsm_flush(g->lsm, &err);
    note_job(s, "flush", g, start_ns, rc);
    metric_observe_long(&b->flush_seconds, world_mono_ns(s->world) - start_ns);
    mutex_lock(&b->lock);
    PRE(g->flushing); /* INV-1 */
    g->flushing = false;
    if (rc == 0) {
        b->flush_count++;
        if (is_passing(s))
            b->flush_error.code = 0;
    } else if (rc != ERR_CANCELLED) {
        b->flush_error = err;
        b->failure_count++;
    }
    atomic_store(&b->flush_error_code, b->flush_error.code);
    cond_broadcast(&b->progress);
    mutex_unlock(&b->lock);
    background_count_memory(s);
    if (rc == 0) {
        store_release_log(s);
        store_limit_log(s);
        background_wake(s); /* Another task takes the work that is due now. */
    }
}

static void run_compaction(struct store *s, struct tablet_group *g)
{
    struct background *b = &s->background;
    struct err err = ERR_INIT;
    bool did = false;
    uint64_t start_ns = world_mono_ns(s->world);
    int rc = lsm_compact(g->lsm, &did, &err);
    if (did)
        metric_observe_long(&b->compaction_seconds,
                            world_mono_ns(s->world) - start_ns);
    if (did || rc)
        note_job(s, "compaction", g, start_ns, rc);
    mutex_lock(&b->lock);
    PRE(g->compacting); /* INV-1 */
    g->compacting = false;
    if (rc == 0) {
        b->compaction_count += did;
    } else if (rc != ERR_CANCELLED) {
        b->compaction_error = err;
        g->broken = rc != ERR_FULL;
    }
    cond_broadcast(&b->progress);
    mutex_unlock(&b->lock);
}

/* Bytes of the rows of @t in files. */
static int bytes_of_rows(struct tablet *t, uint64_t *bytes)
{
    int rc = 0;
    *bytes = 0;
    for (size_t i = 0; i < atomic_load(&t->group_count) && rc == 0; i++) {
        uint64_t own;
        rc = lsm_bytes_in_range(t->groups[i]->lsm, &own, NULL);
        *bytes += own;
    }
    return rc;
}

static void run_split(struct store *s, struct tablet *t)
{
    struct background *b = &s->background;
    uint64_t all = bytes_of_files(t);
    size_t crossing = tablet_crossing_files(t);
    uint64_t limit = s->options.split_bytes;
    uint64_t own;
    bool did = false;
    int rc = bytes_of_rows(t, &own);
    PRE(t->splitting);
    if (rc == 0 && own > limit)
        rc = split_in_middle(s, t, &did, NULL);
    mutex_lock(&b->lock);
    b->split_count += rc == 0 && did;
    t->splitting = false;
    t->split_crossing = crossing;
    atomic_store(&t->unsplittable_bytes,
                 rc == 0 && own > limit && !did ? own : 0);
    t->split_after_bytes =
        all + (rc == 0 && own <= limit ? limit - own : limit / 8) + 1;
    mutex_unlock(&b->lock);
    if (did)
        background_wake(s); /* The halves may be too large as well. */
}

/* PRE: the lock is held. */
static void postpone_release(struct store *s)
{
    PRE(mutex_is_held(&s->background.lock));
    s->background.release_ns = world_mono_ns(s->world) + RELEASE_US * 1000;
}

void background_note_freed(struct store *s)
{
    mutex_lock(&s->background.lock);
    postpone_release(s);
    mutex_unlock(&s->background.lock);
    background_wake(s);
}

/* PRE: the lock is held; it is released meanwhile. One task does it for all. */
static void release_memory(struct store *s)
{
    struct background *b = &s->background;
    size_t bytes;
    PRE(mutex_is_held(&b->lock));
    b->release_ns = 0;
    b->release_count++;
    mutex_unlock(&b->lock);
    bytes = chunk_pool_release(block_cache_chunks(s->cache));
    mem_release();
    mutex_lock(&b->lock);
    b->released_bytes += bytes;
    POST(b->released_bytes >= bytes);
}

static void run_job(struct store *s, struct job *job)
{
    PRE(job->kind == JOB_NONE || job->tablet);
    switch (job->kind) {
    case JOB_NONE: return;
    case JOB_FLUSH: run_flush(s, job->group); break;
    case JOB_COMPACT: run_compaction(s, job->group); break;
    case JOB_SPLIT: run_split(s, job->tablet); break;
    }
    tablet_unref(job->tablet);
}

/* Must the next try wait? After a failure, yes. */
static void wait_for_work(struct store *s, bool failing)
{
    struct background *b = &s->background;
    uint64_t now;
    PRE(mutex_is_held(&b->lock));
    if (failing) {
        if (!b->stop)
            cond_wait_us(&b->work, &b->lock, s->world, RETRY_US);
        return;
    }
    if (b->stop)
        return;
    if (b->release_ns == 0) {
        cond_wait(&b->work, &b->lock);
        return;
    }
    now = world_mono_ns(s->world);
    if (now >= b->release_ns)
        release_memory(s);
    else
        cond_wait_us(&b->work, &b->lock, s->world,
                     (b->release_ns - now) / 1000 + 1);
    INVARIANT(mutex_is_held(&b->lock));
}

static void background_work(void *arg)
{
    struct background_worker *w = arg;
    struct store *s = w->store;
    struct background *b = &s->background;
    bool stop = false;
    PRE(s->background.started); /* INV-3 */
    PRE((size_t)(w - b->workers) < b->task_max);
    while (!stop) {
        uint64_t failures;
        struct job job;
        mutex_lock(&b->lock);
        failures = b->failure_count;
        b->wake_count_seen[w - b->workers] = b->wake_count;
        mutex_unlock(&b->lock);
        job = next_job(s, w->only_flushes);
        run_job(s, &job);
        mutex_lock(&b->lock);
        if (job.kind != JOB_NONE)
            postpone_release(s);
        if (job.kind == JOB_NONE) {
            if (b->wake_count_seen[w - b->workers] == b->wake_count)
                wait_for_work(s, false);
        } else if (b->failure_count != failures ||
                   (job.kind == JOB_COMPACT &&
                    b->compaction_error.code == ERR_FULL) ||
                   fiber_check(NULL)) { /* Cancelled: so is the next one. */
            b->compaction_error.code = 0;
            wait_for_work(s, true);
        }
        stop = b->stop;
        mutex_unlock(&b->lock);
    }
}

/* PRE: the lock is held. */
static void start_tasks(struct store *s)
{
    struct background *b = &s->background;
    PRE(mutex_is_held(&s->background.lock));
    PRE(b->started);
    PRE(!b->stop);
    while (b->task_count < b->task_max) {
        struct background_worker *w = &b->workers[b->task_count];
        w->store = s;
        w->only_flushes = b->task_count == 0 && b->task_max > 1;
        b->tasks[b->task_count++] =
            task_start(s->world, "quarry-engine", background_work, w);
    }
    POST(b->task_count == b->task_max);
}

void background_wake(struct store *s)
{
    struct background *b = &s->background;
    mutex_lock(&b->lock);
    b->wake_count++;
    if (b->started && !b->stop)
        start_tasks(s);
    cond_broadcast(&b->work);
    mutex_unlock(&b->lock);
}

void background_start(struct store *s)
{
    mutex_lock(&s->background.lock);
    PRE(!s->background.started);
    s->background.started = true;
    mutex_unlock(&s->background.lock);
}

static void cancel_all(struct store *s)
{
    size_t count;
    struct table_part_view **views = store_views(s, &count);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < views[i]->tablet_count; j++) {
            struct tablet *t = views[i]->tablets[j];
            for (size_t g = 0; g < atomic_load(&t->group_count); g++)
                lsm_cancel(t->groups[g]->lsm);
        }
    store_views_free(views, count);
}

void background_stop(struct store *s)
{
    struct background *b = &s->background;
    unsigned count;
    mutex_lock(&b->lock);
    INVARIANT(b->task_count <= b->task_max);
    b->stop = true;
    count = b->task_count;
    cond_broadcast(&b->work);
    cond_broadcast(&b->progress);
    mutex_unlock(&b->lock);
    cancel_all(s);
    for (unsigned i = 0; i < count; i++)
        task_join(b->tasks[i]);
    b->task_count = 0;
}

/* --- waiting ------------------------------------------------------------- */

/* The group with the most in its active memtable, if that is worth a flush. */
static struct tablet_group *largest_active(struct table_part_view **views,
                                           size_t count)
{
    struct tablet_group *best = NULL;
    size_t bytes = 0;
    PRE(views || count == 0);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < views[i]->tablet_count; j++) {
            struct tablet *t = views[i]->tablets[j];
            for (size_t g = 0; g < atomic_load(&t->group_count); g++) {
                size_t n = lsm_active_memory(t->groups[g]->lsm);
                if (n > bytes && !tablet_group_is_clean(t->groups[g])) {
                    best = t->groups[g];
                    bytes = n;
                }
            }
        }
    return best;
}

/* Freeze the largest memtables until their flushes make some room: one, or many
 * where thousands of tables have a little each. */
static void freeze_some(struct store *s)
{
    const uint64_t enough = s->options.memtable_bytes / FREEZE_PARTS;
    uint64_t frozen = 0;
    size_t count;
    struct table_part_view **views = store_views(s, &count);
    struct tablet_group *g;
    do {
        g = largest_active(views, count);
        if (!g)
            break;
        frozen += lsm_active_memory(g->lsm);
        tablet_group_freeze(g, tablet_last_sequence(g->tablet));
    } while (frozen < enough);
    store_views_free(views, count);
}

/* Have something to flush. Of many who wait, one freezes. */
static void freeze_largest(struct store *s)
{
    struct writer *turn;
    write_turn_take(&s->env, &turn);
    if (background_count_memory(s) == 0)
        freeze_some(s);
    write_turn_give(&s->env, turn);
    background_wake(s);
}

static bool has_room(const struct store *s)
{
    return atomic_load_explicit(&s->env.memory_bytes, memory_order_relaxed) <
           s->options.memtable_bytes;
}

/* The error that keeps writers out for good; 0 while there is hope. */
static int fatal_error(struct store *s, struct err *err)
{
    struct background *b = &s->background;
    PRE(mutex_is_held(&b->lock));
    if (b->flush_error.code == 0 || is_passing(s))
        return 0;
    err_copy(err, &b->flush_error);
    err_wrap(err, "the store takes no more writes");
    err_hint(err, "close the store and open it again when the disk works");
    return b->flush_error.code;
}

/* @why a flush failed, told to a writer. To writers ERR_ABORTED means that
 * their row has changed, and they try again. */
static int no_room(const struct err *why, struct err *err)
{
    int rc = err_copy(err, why);
    PRE(why->code != 0);
    err_wrap(err, "memory is full and cannot be flushed");
    if (rc != ERR_ABORTED)
        return rc;
    if (err)
        err->code = ERR_UNAVAILABLE;
    return ERR_UNAVAILABLE;
}

static int background_stall(struct store *s, struct err *err)
{
    struct background *b = &s->background;
    uint64_t start = world_mono_ns(s->world);
    uint64_t failures;
    int rc = 0;
    PRE(!s->options.read_only);
    freeze_largest(s);
    mutex_lock(&b->lock);
    failures = b->failure_count;
    while (rc == 0 && !has_room(s)) {
        bool hope;
        cond_wait_us(&b->progress, &b->lock, s->world, RETRY_US / 10);
        mutex_unlock(&b->lock);
        hope = background_count_memory(s) > 0;
        mutex_lock(&b->lock);
        if (!hope)
            break; /* Nothing to flush: the bound is below what must be. */
        rc = fatal_error(s, err);
        if (rc == 0)
            rc = fiber_check(err); /* A caller has not for ever. */
        if (rc == 0 && b->failure_count != failures)
            rc = no_room(&b->flush_error, err);
    }
    mutex_unlock(&b->lock);
    atomic_fetch_add(&s->queue.stall_count, 1);
    atomic_fetch_add(&s->queue.stall_us,
                     (world_mono_ns(s->world) - start) / 1000);
    return rc;
}

int background_wait_for_room(struct store *s, struct err *err)
{
    struct background *b = &s->background;
    int rc;
    if (UNLIKELY(
            atomic_load_explicit(&b->flush_error_code, memory_order_relaxed))) {
        mutex_lock(&b->lock);
        rc = fatal_error(s, err);
        mutex_unlock(&b->lock);
        if (rc)
            return rc;
    }
    if (LIKELY(has_room(s)))
        return 0;
    background_count_memory(s);
    return has_room(s) ? 0 : background_stall(s, err);
}

int background_wait_flushed(struct store *s,
                            struct tablet_group *g,
                            uint64_t sequence,
                            struct err *err)
{
    struct background *b = &s->background;
    uint64_t failures;
    int rc = 0;
    PRE(store_of(g->tablet) == s);
    mutex_lock(&b->lock);
    failures = b->failure_count;
    while (atomic_load(&g->flushed_sequence) < sequence &&
           !atomic_load(&g->retired)) {
        if (b->failure_count != failures) {
            rc = err_copy(err, &b->flush_error);
            break;
        }
        cond_wait(&b->progress, &b->lock);
    }
    mutex_unlock(&b->lock);
    return rc;
}

static bool is_busy(const struct tablet *t)
{
    PRE(mutex_is_held(&store_of(t)->background.lock));
    for (size_t i = 0; i < atomic_load(&t->group_count); i++)
        if (t->groups[i]->flushing || t->groups[i]->compacting)
            return true;
    return false;
}

void background_pause(struct store *s, struct tablet *t)
{
    struct background *b = &s->background;
    mutex_lock(&b->lock);
    INVARIANT(t->paused < UINT_MAX); /* INV-2 */
    t->paused++;
    cond_broadcast(&b->progress); /* It may be retired. */
    while (is_busy(t))
        cond_wait(&b->progress, &b->lock);
    mutex_unlock(&b->lock);
}

void background_resume(struct store *s, struct tablet *t)
{
    struct background *b = &s->background;
    mutex_lock(&b->lock);
    PRE(t->paused > 0); /* INV-2 */
    t->paused--;
    cond_broadcast(&b->progress); /* It was flushed, or retired. */
    mutex_unlock(&b->lock);
    background_wake(s);
}

int background_compact_major(struct store *s,
                             struct tablet_group *g,
                             struct err *err)
{
    struct background *b = &s->background;
    uint64_t start_ns;
    int rc;
    mutex_lock(&b->lock);
    while ((g->compacting || g->tablet->paused) && !atomic_load(&g->retired))
        cond_wait(&b->progress, &b->lock);
    if (atomic_load(&g->retired)) {
        mutex_unlock(&b->lock);
        return err_set(err, ERR_CANCELLED, "the tablet is in use no more");
    }
    g->compacting = true;
    mutex_unlock(&b->lock);
    start_ns = world_mono_ns(s->world);
    rc = lsm_compact_major(g->lsm, err);
    note_job(s, "major compaction", g, start_ns, rc);
    if (rc == 0)
        metric_observe_long(&b->major_seconds,
                            world_mono_ns(s->world) - start_ns);
    mutex_lock(&b->lock);
    INVARIANT(g->compacting); /* INV-1 */
    g->compacting = false;
    cond_broadcast(&b->progress);
    mutex_unlock(&b->lock);
    return rc;
}
