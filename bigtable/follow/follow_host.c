/* A host of followers: one task looks at all records every second, sends
 * heartbeats, ends runs that shall not be any more, and takes followers that
 * nobody runs.
 *
 * Hosts share the work by patience: one with more runs waits for longer before
 * it takes another. A second task finishes, every few minutes, what clients
 * with transactions that died have left.
 */
#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/metrics/metrics.h"
#include "base/runtime/log.h"
#include "base/runtime/world.h"
#include "bigtable/follow/follower_run.h"

#define TICK_US ((uint64_t)1000000)
/* Without any follower: a look at the names of the tables. */
#define IDLE_TICK_US ((uint64_t)5000000)
#define PATIENCE_NS  ((uint64_t)500000000)
#define PATIENT_MAX  8
/* Between two sweeps of what transactions have left (quarry_txn_sweep()), at
 * least; at most twice that, so that hosts do not sweep together. */
#define SWEEP_US ((uint64_t)120 * 1000000)

/* A follower of others, or of nobody, as it was seen. */
struct follower_seen {
    char key[FOLLOWER_KEY_BYTES];
    struct buf beat;
    uint64_t epoch;
    uint64_t since_ns; /* Unchanged since then. */
    bool there;        /* In this look. */
    bool silent;       /* Nobody runs it. */
};

struct follower_host {
    struct world *world; /* Borrowed, as `kinds` and `store`. */
    struct quarry *store;
    const struct follower_kind *const *kinds;
    size_t kind_count;
    char name[64];
    char *only;                 /* Owned; NULL: all. */
    struct quarry_table *table; /* Owned; NULL: there is none yet. */
    struct task *task;          /* Owned. */
    struct task *sweeper;       /* Owned. */

    struct mutex mutex; /* Of what follows; the task alone changes it. */
    struct cond changed;
    quarry_flag stopping;
    struct follower_run *runs[FOLLOWER_RUNS_MAX]; /* Owned. */
    size_t run_count;
    struct follower_seen *seen; /* Owned. */
    size_t seen_count;
};

static uint64_t host_now_ns(const struct follower_host *h)
{
    return world_mono_ns(h->world);
}

/* --- its runs ------------------------------------------------------------ */

static struct follower_run *find_run(const struct follower_host *h,
                                     const char *key)
{
    for (size_t i = 0; i < h->run_count; i++)
        if (strcmp(h->runs[i]->key, key) == 0)
            return h->runs[i];
    return NULL;
}

static void forget_run(struct follower_host *h, size_t at)
{
    struct follower_run *r = h->runs[at];
    mutex_lock(&h->mutex);
    h->runs[at] = h->runs[--h->run_count];
    mutex_unlock(&h->mutex);
    follower_run_free(r);
}

static bool is_same_slice(struct slice a, struct slice b)
{
    return slice_cmp(a, b) == 0;
}

/* Should the run end, by what the row says now? */
static void judge_run(struct follower_run *r, const struct follower_row *row)
{
    const struct follower_record *mine = &r->row.info.record;
    if (!row || row->info.record.epoch != r->epoch)
        r->lost = true;
    if (r->lost || row->info.record.paused ||
        !is_same_slice(row->info.record.settings, mine->settings) ||
        strcmp(row->info.record.table, mine->table) != 0)
        r->stop = true;
}

/* One that stopped in order is released; one that failed stays here, and is
 * tried again. */
static void tend_run(struct follower_host *h, size_t at)
{
    struct follower_run *r = h->runs[at];
    bool over;
    if (!r->lost)
        follower_run_beat(r, false);
    if (!follower_run_reap(r))
        return;
    over = r->stop || r->lost || h->stopping;
    if (over) {
        log_debug(h->world, "follow", "released follower=%s lost=%d", r->key,
                  (int)r->lost);
        if (!r->lost)
            follower_run_beat(r, true);
        forget_run(h, at);
    } else if (host_now_ns(h) >= r->retry_ns) {
        follower_run_start(r);
    }
}

/* --- what others have ---------------------------------------------------- */

static struct follower_seen *find_seen(struct follower_host *h, const char *key)
{
    struct follower_seen *s;
    for (size_t i = 0; i < h->seen_count; i++)
        if (strcmp(h->seen[i].key, key) == 0)
            return &h->seen[i];
    mutex_lock(&h->mutex);
    h->seen = mem_realloc(h->seen, (h->seen_count + 1) * sizeof(*h->seen));
    s = &h->seen[h->seen_count++];
    *s = (struct follower_seen){.beat = BUF_INIT};
    snprintf(s->key, sizeof(s->key), "%s", key);
    mutex_unlock(&h->mutex);
    return s;
}

static void drop_unseen(struct follower_host *h)
{
    size_t kept = 0;
    mutex_lock(&h->mutex);
    for (size_t i = 0; i < h->seen_count; i++) {
        if (h->seen[i].there)
            h->seen[kept++] = h->seen[i];
        else
            buf_close(&h->seen[i].beat);
    }
    h->seen_count = kept;
    mutex_unlock(&h->mutex);
}

/* Does nobody run it? */
static bool is_free(struct follower_host *h,
                    const char *key,
                    const struct follower_row *row)
{
    struct follower_seen *s = find_seen(h, key);
    uint64_t now = host_now_ns(h);
    uint64_t silent_ns = 0;
    s->there = true;
    if (!is_same_slice(buf_slice(&s->beat), row->beat_bytes) ||
        s->epoch != row->info.record.epoch) {
        buf_clear(&s->beat);
        buf_append_slice(&s->beat, row->beat_bytes);
        s->epoch = row->info.record.epoch;
        s->since_ns = now;
    }
    if (*row->info.runner && !row->beat.released)
        silent_ns = FOLLOWER_SILENT_US * 1000;
    mutex_lock(&h->mutex);
    s->silent = now - s->since_ns >= silent_ns;
    mutex_unlock(&h->mutex);
    /* A directory has one process: there is nobody to leave it to. */
    if (!quarry_is_directory(h->store))
        silent_ns += PATIENCE_NS * MIN_OF(h->run_count, (size_t)PATIENT_MAX);
    return now - s->since_ns >= silent_ns;
}

static const struct follower_kind *find_kind(const struct follower_host *h,
                                             const char *name)
{
    for (size_t i = 0; i < h->kind_count; i++)
        if (strcmp(h->kinds[i]->name, name) == 0)
            return h->kinds[i];
    return NULL;
}

/* Take it and run it; @row is the run's then. */
static bool take_it(struct follower_host *h,
                    const char *key,
                    const struct follower_kind *kind,
                    struct follower_row *row)
{
    struct err err = ERR_INIT;
    struct quarry_table *t = NULL;
    struct follower_run *r;
    uint64_t epoch = 0;
    int rc = quarry_table_open(h->store, FOLLOWERS_TABLE, &t, &err);
    if (rc == 0)
        rc = follower_take(h->store, t, key, row->info.record.epoch, h->name,
                           &epoch, &err);
    if (rc) {
        quarry_table_close(t);
        if (rc != ERR_CLOSED && rc != ERR_CONFLICT)
            log_warn(h->world, "follow", "not taken follower=%s why=\"%s\"",
                     key, err.text);
        return false;
    }
    r = follower_run_new(h->store, kind, row, epoch);
    r->table = t;
    log_info(h->world, "follow", "runs follower=%s epoch=%llu", key,
             (unsigned long long)epoch);
    follower_run_beat(r, false);
    mutex_lock(&h->mutex);
    h->runs[h->run_count++] = r;
    mutex_unlock(&h->mutex);
    follower_run_start(r);
    return true;
}

/* True: the row belongs to a run now. */
static bool look_at_row(struct follower_host *h, struct follower_row *row)
{
    const struct follower_record *record = &row->info.record;
    const struct follower_kind *kind = find_kind(h, record->kind);
    char key[FOLLOWER_KEY_BYTES];
    struct follower_run *mine;
    snprintf(key, sizeof(key), "%s/%s", record->kind, record->name);
    mine = find_run(h, key);
    if (mine) {
        judge_run(mine, row);
        return false;
    }
    if (!kind || record->paused || (h->only && strcmp(h->only, key) != 0))
        return false;
    if (kind->takes && !kind->takes(record))
        return false;
    if (!is_free(h, key, row) || h->run_count == FOLLOWER_RUNS_MAX)
        return false;
    return take_it(h, key, kind, row);
}

/* --- the look ------------------------------------------------------------ */

static void judge_dropped(struct follower_host *h,
                          const struct follower_row *rows,
                          size_t count)
{
    for (size_t i = 0; i < h->run_count; i++) {
        struct follower_run *r = h->runs[i];
        bool there = false;
        for (size_t k = 0; k < count && !there; k++)
            there =
                strcmp(rows[k].info.record.kind, r->kind->name) == 0 &&
                strcmp(rows[k].info.record.name, r->row.info.record.name) == 0;
        if (!there)
            judge_run(r, NULL);
    }
}

static void look_at_rows(struct follower_host *h)
{
    struct follower_row *rows = NULL;
    struct err err = ERR_INIT;
    size_t count = 0;
    int rc = follower_rows_read(h->table, "", &rows, &count, &err);
    if (rc) {
        log_warn(h->world, "follow", "no records why=\"%s\"", err.text);
        return;
    }
    judge_dropped(h, rows, count);
    for (size_t i = 0; i < h->seen_count; i++)
        h->seen[i].there = false;
    for (size_t i = 0; i < count; i++)
        if (!look_at_row(h, &rows[i]))
            follower_row_close(&rows[i]);
    drop_unseen(h);
    mem_free(rows);
}

static void host_tick(struct follower_host *h)
{
    if (!h->table && follower_table_open(h->store, &h->table, NULL))
        h->table = NULL;
    if (h->table && !h->stopping)
        look_at_rows(h);
    for (size_t i = h->run_count; i-- > 0;)
        tend_run(h, i);
}

static void host_task(void *arg)
{
    struct follower_host *h = arg;
    bool stopping;
    do {
        host_tick(h);
        mutex_lock(&h->mutex);
        if (!h->stopping)
            (void)cond_wait_us(&h->changed, &h->mutex, h->world,
                               h->table ? TICK_US : IDLE_TICK_US);
        stopping = h->stopping;
        for (size_t i = 0; stopping && i < h->run_count; i++)
            h->runs[i]->stop = true;
        mutex_unlock(&h->mutex);
        if (stopping && h->run_count)
            world_sleep_us(h->world, TICK_US / 50);
    } while (!stopping || h->run_count);
}

/* --- the sweeper --------------------------------------------------------- */

static void host_sweep(struct follower_host *h)
{
    struct quarry_txn_sweep found;
    struct err err = ERR_INIT;
    int rc = quarry_txn_sweep(h->store, &h->stopping, &found, &err);
    if (rc && rc != ERR_CANCELLED)
        log_warn(h->world, "follow", "sweep of transactions failed why=\"%s\"",
                 err.text);
    else if (found.resolved || found.statuses)
        log_info(h->world, "follow",
                 "swept transactions resolved=%llu statuses=%llu",
                 (unsigned long long)found.resolved,
                 (unsigned long long)found.statuses);
}

/* The first sweep comes soon: it finishes what was left before a restart. */
static void sweeper_task(void *arg)
{
    struct follower_host *h = arg;
    uint64_t wait_us = SWEEP_US / 8;
    mutex_lock(&h->mutex);
    while (!h->stopping) {
        uint64_t end_ns = host_now_ns(h) + wait_us * 1000;
        uint64_t now_ns;
        while (!h->stopping && (now_ns = host_now_ns(h)) < end_ns)
            (void)cond_wait_us(&h->changed, &h->mutex, h->world,
                               (end_ns - now_ns) / 1000 + 1);
        if (h->stopping)
            break;
        mutex_unlock(&h->mutex);
        host_sweep(h);
        wait_us = SWEEP_US + world_random(h->world) % SWEEP_US;
        mutex_lock(&h->mutex);
    }
    mutex_unlock(&h->mutex);
}

int follower_host_open(struct quarry *q,
                       const struct follower_kind *const *kinds,
                       size_t kind_count,
                       const struct follower_host_options *options,
                       struct follower_host **out,
                       struct err *err)
{
    struct follower_host *h = mem_zalloc(1, sizeof(*h));
    const char *name = options && options->name ? options->name : "host";
    (void)err;
    h->world = quarry_world(q);
    h->store = q;
    h->kinds = kinds;
    h->kind_count = kind_count;
    snprintf(h->name, sizeof(h->name), "%s", name);
    if (options && options->only)
        h->only = mem_strdup(options->only);
    mutex_init(&h->mutex);
    cond_init(&h->changed);
    h->task = task_start(h->world, "followers", host_task, h);
    h->sweeper = task_start(h->world, "sweeper", sweeper_task, h);
    *out = h;
    return 0;
}

void follower_host_close(struct follower_host *h)
{
    if (!h)
        return;
    mutex_lock(&h->mutex);
    h->stopping = true;
    cond_broadcast(&h->changed);
    mutex_unlock(&h->mutex);
    task_join(h->task);
    task_join(h->sweeper);
    POST(h->run_count == 0);
    for (size_t i = 0; i < h->seen_count; i++)
        buf_close(&h->seen[i].beat);
    mem_free(h->seen);
    quarry_table_close(h->table);
    mem_free(h->only);
    cond_close(&h->changed);
    mutex_close(&h->mutex);
    mem_free(h);
}

size_t follower_host_running(struct follower_host *h)
{
    size_t n;
    mutex_lock(&h->mutex);
    n = h->run_count;
    mutex_unlock(&h->mutex);
    return n;
}

static void gather_silent(const char *key, struct metric_set *out)
{
    const char *slash = strchr(key, '/');
    char *kind = mem_strndup(key, (size_t)(slash - key));
    metric_put(out, METRIC_follower_waiting, METRIC_LABELS(slash + 1, kind), 1);
    mem_free(kind);
}

void follower_host_gather(struct follower_host *h, struct metric_set *out)
{
    mutex_lock(&h->mutex);
    for (size_t i = 0; i < h->run_count; i++) {
        struct follower_run *r = h->runs[i];
        const char *const *labels =
            METRIC_LABELS(r->row.info.record.name, r->kind->name);
        mutex_lock(&r->mutex);
        if (r->beat.lag_us != UINT64_MAX)
            metric_put(out, METRIC_follower_lag_seconds, labels,
                       (double)r->beat.lag_us / 1e6);
        metric_put(out, METRIC_follower_changes, labels,
                   (double)r->beat.changes);
        metric_put(out, METRIC_follower_failures, labels,
                   (double)r->beat.failures);
        metric_put(out, METRIC_follower_running, labels, 1);
        mutex_unlock(&r->mutex);
    }
    for (size_t i = 0; i < h->seen_count; i++)
        if (h->seen[i].silent)
            gather_silent(h->seen[i].key, out);
    mutex_unlock(&h->mutex);
}
