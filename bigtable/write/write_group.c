/* One group of the write queue: gathered, numbered, logged, inserted. As in
 * LevelDB the first of the writers that wait writes for all of them. The
 * numbers and the stamps of rows are given before the log is written, so that
 * the next group may begin meanwhile; entries become visible all at once, in
 * the order of groups.
 */
#include "bigtable/write/write_group.h"

#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "base/trace/span.h"
#include "bigtable/log/write_log.h"
#include "bigtable/lsm/skip_batch.h"
#include "bigtable/lsm/skip_list.h" /* SKIP_LINE_BYTES */
#include "bigtable/row/mutation.h"
#include "bigtable/tablet/done_changes.h"
#include "bigtable/tablet/table_part.h"
#include "bigtable/tablet/tablet.h"
#include "bigtable/tablet/tablet_changes.h"
#include "bigtable/tablet/tablet_env.h"
#include "bigtable/write/tablet_writer.h"
#include "bigtable/write/write_insert.h"
#include "bigtable/write/write_queue.h"

/* A group ends at this size, so that its first writer does not wait for ever; a
 * small leader takes less, for its own sake. */
#define GROUP_BYTES_MAX ((size_t)1 << 20)
/* The disk takes this many bytes in about the time of a sync. A larger group
 * would hold all writers, and the CPUs would idle while it waits: two groups
 * that take turns keep them busy. */
#define GROUP_OVERLAPPING_BYTES_MAX ((size_t)560 << 10)
/* Where the log has one at a time, what a sync costs is shared by more. */
#define GROUP_SYNCED_BYTES_MAX  ((size_t)1120 << 10)
#define GROUP_COUNT_WRITERS_MAX 256
/* More of a large mutation is asked for by the CPU itself. */
#define ASK_FOR_BYTES_MAX ((size_t)1024)

struct write_group {
    struct write_group *next; /* Under way, behind it. */
    struct writer *first;
    struct writer *last;
    size_t count;
    size_t bytes;        /* Of rows and operations, */
    size_t logged_bytes; /* and of those that go into the log. */
    bool log;            /* Some of it goes into the log, */
    bool sync;           /* which is synced. */
    bool overlaps;       /* Others may be under way with it. */
    uint64_t last_sequence;
    int rc; /* Of the log. */
    struct err err;
};

static size_t group_limit(const struct writer *leader, unsigned writes_max)
{
    if (leader->durability != WRITE_SYNCED)
        return MIN_OF(GROUP_BYTES_MAX, leader->bytes + GROUP_BYTES_MAX / 8);
    return writes_max > 1 ? GROUP_OVERLAPPING_BYTES_MAX
                          : GROUP_SYNCED_BYTES_MAX;
}

/* The writers the leader writes for. PRE: the lock is held. */
static void write_group_gather(struct write_queue *q,
                               unsigned writes_max,
                               struct write_group *g)
{
    struct writer *w = q->head;
    size_t limit = group_limit(w, writes_max);
    size_t bytes = 0;
    bool alone = q->groups == NULL;
    PRE(w);
    PRE(g->count == 0);
    g->first = w;
    do {
        bytes += w->bytes;
        g->bytes += w->bytes;
        g->logged_bytes += w->durability == WRITE_DEFERRED ? 0 : w->bytes;
        g->last = w;
        g->count++;
        g->log |= w->durability != WRITE_DEFERRED;
        g->sync |= w->durability == WRITE_SYNCED;
        w = w->next;
    } while (w && !w->exclusive && (alone || !w->condition) &&
             bytes + w->bytes <= limit && g->count < GROUP_COUNT_WRITERS_MAX);
    POST(g->count <= GROUP_COUNT_WRITERS_MAX);
    POST(!g->sync || g->log);
}

static struct writer *next_in(const struct write_group *g,
                              const struct writer *w)
{
    PRE(g->last);
    return w == g->last ? NULL : w->next;
}

/* Was a row that the condition of @w is about written behind its number? */
static bool is_outdated(const struct tablet_env *env, const struct writer *w)
{
    const struct write_condition *c = w->condition;
    PRE(c);
    if (c->row.len)
        return atomic_load(row_stamps_slot(&env->stamps, c->row)) > c->sequence;
    for (size_t i = 0; i < w->count; i++)
        if (atomic_load(row_stamps_slot(
                &env->stamps, buf_slice(&w->mutations[i]->row))) > c->sequence)
            return true;
    return false;
}

/* May @w still be applied? Its table may have changed, or its row. */
static int check_writer(struct tablet_env *env, struct writer *w)
{
    PRE(w->view);
    if (w->table->closed) {
        w->stale = true;
        return err_set(&w->err, ERR_ABORTED, "the table is being changed");
    }
    if (!table_part_view_is_current(w->table, w->view)) {
        struct table_part_view *v = table_part_get_view(w->table);
        if (!v)
            return table_part_gone(w->table, &w->err);
        if (v->generation != w->view->generation) {
            table_part_view_unref(v);
            w->stale = true;
            return err_set(&w->err, ERR_ABORTED, "the schema changed");
        }
        table_part_view_unref(w->view);
        w->view = v;
    }
    if (w->condition && is_outdated(env, w))
        return err_set(&w->err, ERR_ABORTED, "the row was written meanwhile");
    return 0;
}

/* Give numbers to all entries of the group, and stamps to its rows. */
static void number_group(struct tablet_env *env, struct write_group *g)
{
    struct write_queue *q = env->queue;
    for (struct writer *w = g->first; w; w = next_in(g, w)) {
        w->rc = check_writer(env, w);
        if (w->rc)
            continue;
        writer_stamp(w);
        INVARIANT(w->op_count > 0);
        w->sequence = q->last_sequence + 1;
        q->last_sequence += w->op_count;
        for (size_t i = 0; i < w->count; i++)
            atomic_store_explicit(
                row_stamps_slot(&env->stamps, buf_slice(&w->mutations[i]->row)),
                q->last_sequence, memory_order_relaxed);
    }
    g->last_sequence = q->last_sequence;
    atomic_fetch_sub(&q->numbering, 1);
    POST(g->last_sequence >= atomic_load(&env->visible));
}

/* The records of @g for the log. */
static size_t make_records(const struct write_group *g,
                           struct log_record records[GROUP_COUNT_WRITERS_MAX])
{
    size_t count = 0;
    for (const struct writer *w = g->first; w; w = next_in(g, w)) {
        if (w->rc || w->durability == WRITE_DEFERRED)
            continue;
        INVARIANT(count < GROUP_COUNT_WRITERS_MAX);
        INVARIANT(w->op_count > 0);
        INVARIANT(w->op_count <= UINT32_MAX);
        records[count++] = (struct log_record){
            w->sequence, w->sequence + w->op_count - 1, (uint32_t)w->op_count,
            (const struct slice *)(const void *)w->parts.data,
            w->parts.len / sizeof(struct slice)};
    }
    return count;
}

/* The log has begun on @g, which overlaps: let the next leader begin. */
static void hand_over(struct write_queue *q, const struct write_group *g)
{
    PRE(g->overlaps);
    mutex_lock(&q->lock);
    write_queue__leave(q, g->last);
    mutex_unlock(&q->lock);
}

/* Write @g, which leaves the queue when it overlaps. */
static int
log_group(struct tablet_env *env, struct write_group *g, struct err *err)
{
    struct log_record records[GROUP_COUNT_WRITERS_MAX];
    struct write_ticket t = {
        .records = records, .count = make_records(g, records), .sync = g->sync};
    uint64_t start_ns = g->sync ? world_mono_ns(env->world) : 0;
    struct span s;
    int rc = 0;
    PRE(g->log);
    span_begin(&s, g->sync ? "log sync" : "log write");
    if (t.count == 0 || !g->overlaps) {
        if (t.count)
            rc = write_log_write(env->log, records, t.count, g->sync, err);
        if (g->overlaps)
            hand_over(env->queue, g);
    } else {
        rc = write_log_begin(env->log, &t, err);
        hand_over(env->queue, g);
        if (rc == 0)
            rc = write_log_end(env->log, &t, err);
    }
    span_number(&s, "bytes", (int64_t)g->logged_bytes);
    span_number(&s, "writers", (int64_t)g->count);
    span_end(&s, rc);
    if (g->sync && t.count)
        metric_observe(&env->queue->sync_seconds,
                       world_mono_ns(env->world) - start_ns);
    if (g->sync && t.count)
        write_queue__count_wait(env, start_ns, &env->queue->sync_count,
                                &env->queue->sync_us);
    /* The log was taken away; not that a row changed, which is tried again. */
    if (rc == ERR_ABORTED && err)
        rc = err->code = ERR_CLOSED;
    return rc;
}

/* Put one mutation into the memtables of its tablet. Returns the bytes. */
static uint64_t insert_mutation(struct write_queue *q,
                                const struct tablet *t,
                                struct slice row,
                                struct slice ops,
                                const struct resolved *resolved,
                                int64_t now_us,
                                uint64_t *sequence)
{
    struct cursor c = cursor_make(ops);
    struct mutation_op op;
    uint64_t bytes = 0;
    size_t row_length;
    PRE(*sequence > 0);
    buf_clear(&q->key);
    cell_key_append_row(&q->key, row);
    row_length = q->key.len;
    if (atomic_load_explicit(&t->changes->on, memory_order_relaxed))
        tablet_changes_begin_commit(t->changes, row, *sequence, now_us);
    while (mutation_next(&c, &op))
        bytes += write_insert_op(q->batch, &q->key, t, row_length, &op,
                                 resolved++, now_us, (*sequence)++);
    return bytes;
}

/* The next of @w's mutations, if there is one, will be copied: the CPU may get
 * it meanwhile. */
static void ask_for_mutation(const struct writer *w, size_t i)
{
    const struct buf *ops = i < w->count ? &w->mutations[i]->ops : NULL;
    size_t bytes = ops ? MIN_OF(ops->len, ASK_FOR_BYTES_MAX) : 0;
    for (size_t at = 0; at < bytes; at += SKIP_LINE_BYTES)
        __builtin_prefetch(ops->data + at);
}

/* The memory taken in a tablet by consecutive writes. */
struct written {
    struct tablet *tablet; /* NULL: none yet. */
    uint64_t rows;
    uint64_t bytes;
    uint64_t now_ns;
    bool is_single;   /* The write has one row. */
    struct slice row; /* The last one. */
};

/* The heat of a single row follows the meter, that of many their numbers. */
static void write_group_meter_rows(const struct written *in)
{
    const struct heat_operation op = {LOAD_WRITES, in->row, 1, in->bytes};
    uint64_t metered;
    PRE(!in->tablet || in->rows > 0);
    if (!in->tablet)
        return;
    metered = load_meter_add(&in->tablet->load, LOAD_WRITES, in->rows,
                             in->bytes, in->now_ns);
    if (in->is_single)
        tablet_note_heat(in->tablet, &op, metered);
}

/* One of many rows of a write, whose entries have numbers from @sequence on. */
static void write_group_note_heat(const struct written *in,
                                  uint64_t bytes,
                                  uint64_t sequence)
{
    const struct heat_operation op = {LOAD_WRITES, in->row, 1, bytes};
    unsigned weight = heat_weight_of_many(sequence);
    if (weight)
        tablet_add_heat(in->tablet, &op, weight);
}

static void insert_writer(struct tablet_env *env, const struct writer *w)
{
    const struct resolved *resolved = (const void *)w->resolved.data;
    struct written in = {.now_ns = world_mono_ns(env->world),
                         .is_single = w->count == 1};
    uint64_t sequence = w->sequence;
    uint64_t bytes = 0;
    for (size_t i = 0; i < w->count; i++) {
        const struct quarry_mutation *m = w->mutations[i];
        struct slice row = buf_slice(&m->row);
        ask_for_mutation(w, i + 1);
        if (!in.tablet || !tablet_contains(in.tablet, row)) {
            write_group_meter_rows(&in);
            in.tablet = table_part_view_find(w->view, row, NULL);
            in.rows = in.bytes = 0;
        }
        INVARIANT(in.tablet);
        bytes += insert_mutation(env->queue, in.tablet, row, buf_slice(&m->ops),
                                 resolved, w->now_us, &sequence);
        in.rows++;
        in.bytes += row.len + m->ops.len;
        in.row = row;
        if (!in.is_single)
            write_group_note_heat(&in, row.len + m->ops.len, sequence);
        resolved += m->count;
    }
    INVARIANT(sequence == w->sequence + w->op_count);
    write_group_meter_rows(&in);
    if (w->table->done)
        done_changes_note(w->table->done, w->mutations, w->count);
    atomic_fetch_add(&env->memory_bytes, bytes);
    if (w->durability == WRITE_DEFERRED)
        atomic_store(&env->deferred, true);
}

/* Freeze what @w filled. Only once its entries are visible: a flush drops what
 * newer entries hide, and a reader who does not see those yet would find
 * neither. */
static void freeze_filled(struct tablet_env *env, const struct writer *w)
{
    const struct tablet *t = NULL;
    PRE(w->view);
    for (size_t i = 0; i < w->count; i++) {
        struct slice row = buf_slice(&w->mutations[i]->row);
        if (t && tablet_contains(t, row))
            continue;
        t = table_part_view_find(w->view, row, NULL);
        write_freeze_full(env, t);
    }
}

static void
fail_group(const struct write_group *g, int rc, const struct err *err)
{
    PRE(rc != 0);
    for (struct writer *w = g->first; w; w = next_in(g, w))
        if (w->rc == 0) {
            w->rc = rc;
            err_copy(&w->err, err);
        }
}

/* Fibers of this loop that are ready to write, too, join the group: one sync
 * for all whose requests came together. PRE: the queue's lock is held. */
static void let_others_join(struct write_queue *q, const struct writer *self)
{
    PRE(mutex_is_held(&q->lock));
    if (self->durability != WRITE_SYNCED || !fiber_self())
        return;
    mutex_unlock(&q->lock);
    fiber_yield();
    mutex_lock(&q->lock);
    POST(mutex_is_held(&q->lock));
}

/* May a group led by @w, the head, begin? PRE: the queue's lock is held. */
static bool may_begin(const struct tablet_env *env,
                      const struct writer *w,
                      unsigned writes_max)
{
    const struct write_queue *q = env->queue;
    PRE(mutex_is_held(&env->queue->lock));
    if (!q->groups)
        return true;
    return w->durability == WRITE_SYNCED && !w->condition &&
           q->group_under_way < writes_max;
}

/* Begin the group of the writers that wait. PRE: the queue's lock is held. */
static void
begin_group(struct tablet_env *env, struct writer *self, struct write_group *g)
{
    struct write_queue *q = env->queue;
    unsigned writes_max = env->log ? write_log_writes_max(env->log) : 1;
    PRE(mutex_is_held(&env->queue->lock));
    *g = (struct write_group){.next = NULL};
    let_others_join(q, self);
    while (!may_begin(env, self, writes_max))
        cond_wait(&q->ended, &q->lock);
    INVARIANT(q->head == self); /* The head leads. */
    write_group_gather(q, writes_max, g);
    g->overlaps = g->sync && writes_max > 1;
    INVARIANT(g->first == self);
    INVARIANT(!*q->last_group);
    *q->last_group = g;
    q->last_group = &g->next;
    q->group_under_way++;
    atomic_fetch_add(&q->numbering, 1);
}

/* Put what was written of @g, before which all has ended, into the memtables,
 * and make it visible. */
static void insert_group(struct tablet_env *env, const struct write_group *g)
{
    INVARIANT(atomic_load(&env->visible) <= g->last_sequence);
    for (struct writer *w = g->first; w; w = next_in(g, w))
        if (w->rc == 0)
            insert_writer(env, w);
    skip_batch_end(env->queue->batch);
    atomic_store(&env->visible, g->last_sequence);
    change_bell_ring(&env->bell);
    for (struct writer *w = g->first; w; w = next_in(g, w))
        if (w->rc == 0)
            freeze_filled(env, w);
    atomic_fetch_add(&env->queue->group_count, 1);
    atomic_fetch_add(&env->queue->write_count, g->count);
    metric_add(&env->queue->ingested_bytes, g->bytes);
    metric_add(&env->queue->logged_bytes, g->logged_bytes);
}

/* Its writers are done. PRE: the queue's lock is held, and no group is before
 * it. */
static void
end_group(struct write_queue *q, struct write_group *g, struct writer *self)
{
    struct writer *w = g->first;
    PRE(mutex_is_held(&q->lock));
    PRE(q->groups == g);
    PRE(q->group_under_way > 0);
    if (!g->overlaps)
        write_queue__leave(q, g->last);
    q->groups = g->next;
    if (!q->groups)
        q->last_group = &q->groups;
    q->group_under_way--;
    INVARIANT((q->groups == NULL) == (q->group_under_way == 0));
    while (w) {
        struct writer *next = next_in(g, w);
        w->done = true;
        if (w != self)
            cond_signal(&w->woken);
        w = next;
    }
    cond_broadcast(&q->ended);
}

void write_group__lead(struct tablet_env *env, struct writer *self)
{
    struct write_queue *q = env->queue;
    struct write_group g;
    PRE(mutex_is_held(&q->lock));
    begin_group(env, self, &g);
    mutex_unlock(&q->lock);
    number_group(env, &g);
    if (g.log)
        g.rc = log_group(env, &g, &g.err);
    if (g.rc)
        fail_group(&g, g.rc, &g.err);
    mutex_lock(&q->lock);
    while (q->groups != &g)
        cond_wait(&q->ended, &q->lock);
    mutex_unlock(&q->lock);
    insert_group(env, &g);
    mutex_lock(&q->lock);
    end_group(q, &g, self);
    mutex_unlock(&q->lock);
}
