/* Group commit: see write_queue.h. */
#include "bigtable/tablet/write_queue.h"

#include <string.h>

#include "base/core/coding.h"
#include "base/core/hash.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "bigtable/lsm/lsm.h"
#include "bigtable/row/mutation.h"
#include "bigtable/tablet/store.h"
#include "bigtable/tablet/tablet.h"
#include "bigtable/tablet/write_insert.h"
#include "bigtable/tablet/write_log.h"
#include "bigtable/tablet/writer.h"

/* A group ends when it has so many bytes, so that the first of it does not wait
 * for ever; a small leader takes less, for its own sake. */
#define GROUP_BYTES_MAX ((size_t)1 << 20)
/* The disk takes so many in the time that a sync costs anyway. */
#define GROUP_SYNCED_BYTES_MAX  ((size_t)4 << 20)
#define GROUP_COUNT_WRITERS_MAX 256

void write_queue_init(struct write_queue *q, uint64_t last_sequence)
{
    *q = (struct write_queue){.last_sequence = last_sequence};
    mutex_init(&q->lock);
    q->stamps = mem_zalloc(WRITE_STAMP_COUNT, sizeof(*q->stamps));
}

void write_queue_close(struct write_queue *q)
{
    PRE(q->head == NULL);
    while (q->spare) {
        struct writer *w = q->spare;
        q->spare = w->next;
        writer_free(w);
    }
    mem_free(q->stamps);
    buf_close(&q->key);
    mutex_close(&q->lock);
}

/* --- the queue ----------------------------------------------------------- */

static struct writer *take_writer(struct write_queue *q)
{
    struct writer *w;
    mutex_lock(&q->lock);
    w = q->spare;
    if (w)
        q->spare = w->next;
    mutex_unlock(&q->lock);
    if (!w)
        w = writer_new();
    return w;
}

static void give_writer(struct write_queue *q, struct writer *w)
{
    mutex_lock(&q->lock);
    w->next = q->spare;
    q->spare = w;
    mutex_unlock(&q->lock);
}

/* PRE: the lock is held. */
static void enqueue(struct write_queue *q, struct writer *w)
{
    w->next = NULL;
    w->done = false;
    if (q->tail)
        q->tail->next = w;
    else
        q->head = w;
    q->tail = w;
}

/* Wait until this writer, which is queued, leads, or until another has done its
 * work. True when it leads. PRE: the lock is held; it is then, and only then,
 * held afterwards. */
static bool wait_queued(struct write_queue *q, struct writer *w)
{
    while (!w->done && q->head != w)
        cond_wait(&w->woken, &q->lock);
    if (!w->done)
        return true;
    mutex_unlock(&q->lock);
    return false;
}

static bool wait_for_turn(struct write_queue *q, struct writer *w)
{
    mutex_lock(&q->lock);
    enqueue(q, w);
    return wait_queued(q, w);
}

/* Take the writers from the head to @last out of the queue and wake them and
 * the next leader. PRE: the lock is held. */
static void
leave_queue(struct write_queue *q, struct writer *self, struct writer *last)
{
    struct writer *w = q->head;
    q->head = last->next;
    if (!q->head)
        q->tail = NULL;
    for (;;) {
        struct writer *next = w->next;
        bool end = w == last;
        w->done = true;
        if (w != self)
            cond_signal(&w->woken);
        if (end)
            break;
        w = next;
    }
    if (q->head)
        cond_signal(&q->head->woken);
}

void write_turn_take(struct store *s, struct writer **turn)
{
    struct writer *w = take_writer(&s->queue);
    w->exclusive = true;
    if (!wait_for_turn(&s->queue, w))
        PANIC("an exclusive writer was written for");
    mutex_unlock(&s->queue.lock);
    s->queue.turn_began_ns = world_mono_ns(s->world);
    *turn = w;
}

uint64_t write_turn_close_table(struct store *s, struct table *t)
{
    struct writer *turn;
    uint64_t sequence;
    write_turn_take(s, &turn);
    table_close_writes(t);
    sequence = s->queue.last_sequence;
    write_turn_give(s, turn);
    return sequence;
}

void write_turn_open_table(struct store *s,
                           struct table *t,
                           bool replace,
                           struct table_view *view)
{
    struct writer *turn;
    write_turn_take(s, &turn);
    if (replace)
        table_set_view(t, view);
    table_open_writes(t);
    write_turn_give(s, turn);
}

/* Somebody waited since @start_ns. */
static void count_wait(struct store *s,
                       uint64_t start_ns,
                       atomic_ullong *count,
                       atomic_ullong *us)
{
    atomic_fetch_add(count, 1);
    atomic_fetch_add(us, (world_mono_ns(s->world) - start_ns) / 1000);
}

void write_turn_give(struct store *s, struct writer *turn)
{
    count_wait(s, s->queue.turn_began_ns, &s->queue.turn_count,
               &s->queue.turn_us);
    mutex_lock(&s->queue.lock);
    INVARIANT(s->queue.head == turn);
    leave_queue(&s->queue, turn, turn);
    mutex_unlock(&s->queue.lock);
    turn->exclusive = false;
    give_writer(&s->queue, turn);
}

/* --- a group ------------------------------------------------------------- */

struct group {
    struct writer *first;
    struct writer *last;
    size_t count;
    bool log;  /* Some of it goes into the log, */
    bool sync; /* which is synced. */
};

static size_t group_limit(const struct writer *leader)
{
    return leader->durability == WRITE_SYNCED
               ? GROUP_SYNCED_BYTES_MAX
               : MIN_OF(GROUP_BYTES_MAX, leader->bytes + GROUP_BYTES_MAX / 8);
}

/* The writers the leader writes for. PRE: the lock is held. */
static void gather(struct write_queue *q, struct group *g)
{
    struct writer *w = q->head;
    size_t limit = group_limit(w);
    size_t bytes = 0;
    *g = (struct group){.first = w};
    do {
        bytes += w->bytes;
        g->last = w;
        g->count++;
        g->log |= w->durability != WRITE_DEFERRED;
        g->sync |= w->durability == WRITE_SYNCED;
        w = w->next;
    } while (w && !w->exclusive && bytes + w->bytes <= limit &&
             g->count < GROUP_COUNT_WRITERS_MAX);
}

static struct writer *next_in(const struct group *g, const struct writer *w)
{
    return w == g->last ? NULL : w->next;
}

static atomic_ullong *stamp_of(const struct write_queue *q, struct slice row)
{
    return &q->stamps[hash64_slice(row) % WRITE_STAMP_COUNT];
}

const atomic_ullong *write_stamp(const struct write_queue *q, struct slice row)
{
    return stamp_of(q, row);
}

/* May @w still be applied? Its table may have changed, or its row. */
static int check_writer(struct store *s, struct writer *w)
{
    if (w->table->closed) {
        w->stale = true;
        return err_set(&w->err, ERR_ABORTED, "the table is being changed");
    }
    if (!table_view_is_current(w->table, w->view)) {
        struct table_view *v = table_get_view(w->table);
        if (!v)
            return table_gone(w->table, &w->err);
        if (v->generation != w->view->generation) {
            table_view_unref(v);
            w->stale = true;
            return err_set(&w->err, ERR_ABORTED, "the schema changed");
        }
        table_view_unref(w->view);
        w->view = v;
    }
    if (w->condition && atomic_load(stamp_of(&s->queue, w->condition->row)) >
                            w->condition->sequence)
        return err_set(&w->err, ERR_ABORTED, "the row was written meanwhile");
    return 0;
}

/* Give numbers to all entries of the group, and stamps to its rows. */
static void number_group(struct store *s, const struct group *g)
{
    struct write_queue *q = &s->queue;
    for (struct writer *w = g->first; w; w = next_in(g, w)) {
        w->rc = check_writer(s, w);
        if (w->rc)
            continue;
        w->sequence = q->last_sequence + 1;
        q->last_sequence += w->op_count;
        for (size_t i = 0; i < w->count; i++)
            atomic_store_explicit(stamp_of(q, buf_slice(&w->mutations[i]->row)),
                                  q->last_sequence, memory_order_relaxed);
    }
}

static int log_group(struct store *s, const struct group *g, struct err *err)
{
    struct log_record records[GROUP_COUNT_WRITERS_MAX];
    size_t count = 0;
    uint64_t start_ns = g->sync ? world_mono_ns(s->world) : 0;
    int rc;
    for (const struct writer *w = g->first; w; w = next_in(g, w)) {
        if (w->rc || w->durability == WRITE_DEFERRED)
            continue;
        records[count++] = (struct log_record){
            w->sequence, w->sequence + w->op_count - 1, (uint32_t)w->op_count,
            (const struct slice *)(const void *)w->parts.data,
            w->parts.len / sizeof(struct slice)};
    }
    if (count == 0)
        return 0;
    rc = write_log_write(s->log, records, count, g->sync, err);
    if (g->sync)
        count_wait(s, start_ns, &s->queue.sync_count, &s->queue.sync_us);
    /* The log was taken away; not that a row changed, which is tried again. */
    if (rc == ERR_ABORTED && err)
        rc = err->code = ERR_CLOSED;
    return rc;
}

/* Put one mutation into the memtables of its tablet. Returns the bytes. */
static uint64_t insert_mutation(struct store *s,
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
    buf_clear(&s->queue.key);
    cell_key_append_row(&s->queue.key, row);
    row_length = s->queue.key.len;
    while (mutation_next(&c, &op))
        bytes += write_insert_op(&s->queue.key, t, row_length, &op, resolved++,
                                 now_us, (*sequence)++);
    return bytes;
}

static void insert_writer(struct store *s, const struct writer *w)
{
    const struct resolved *resolved = (const void *)w->resolved.data;
    const struct tablet *t = NULL;
    uint64_t sequence = w->sequence;
    uint64_t bytes = 0;
    for (size_t i = 0; i < w->count; i++) {
        const struct quarry_mutation *m = w->mutations[i];
        struct slice row = buf_slice(&m->row);
        if (!t || !tablet_contains(t, row))
            t = table_view_find(w->view, row, NULL);
        bytes += insert_mutation(s, t, row, buf_slice(&m->ops), resolved,
                                 w->now_us, &sequence);
        resolved += m->count;
    }
    atomic_fetch_add(&s->memory_bytes, bytes);
    if (w->durability == WRITE_DEFERRED)
        atomic_store(&s->deferred, true);
}

/* Freeze what @w filled. Only once its entries are visible: a flush drops what
 * newer entries hide, and a reader who does not see those yet would find
 * neither. */
static void freeze_filled(struct store *s, const struct writer *w)
{
    const struct tablet *t = NULL;
    for (size_t i = 0; i < w->count; i++) {
        struct slice row = buf_slice(&w->mutations[i]->row);
        if (t && tablet_contains(t, row))
            continue;
        t = table_view_find(w->view, row, NULL);
        write_freeze_full(s, t);
    }
}

static void fail_group(const struct group *g, int rc, const struct err *err)
{
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
    if (self->durability != WRITE_SYNCED || !fiber_self())
        return;
    mutex_unlock(&q->lock);
    fiber_yield();
    mutex_lock(&q->lock);
}

/* Lead: write for the group that waits. PRE: the queue's lock is held. */
static void lead(struct store *s, struct writer *self)
{
    struct write_queue *q = &s->queue;
    struct err err = ERR_INIT;
    struct group g;
    int rc;
    let_others_join(q, self);
    gather(q, &g);
    mutex_unlock(&q->lock);
    number_group(s, &g);
    rc = g.log ? log_group(s, &g, &err) : 0;
    if (rc)
        fail_group(&g, rc, &err);
    for (struct writer *w = g.first; w; w = next_in(&g, w))
        if (w->rc == 0)
            insert_writer(s, w);
    atomic_store(&s->visible, q->last_sequence);
    for (struct writer *w = g.first; w; w = next_in(&g, w))
        if (w->rc == 0)
            freeze_filled(s, w);
    atomic_fetch_add(&q->group_count, 1);
    atomic_fetch_add(&q->write_count, g.count);
    mutex_lock(&q->lock);
    leave_queue(q, self, g.last);
    mutex_unlock(&q->lock);
}

/* --- writing ------------------------------------------------------------- */

/* Memory first, and whether it is let in at all. */
static int wait_for_entry(struct store *s, struct table *t, struct err *err)
{
    return t->is_system ? 0 : background_wait_for_room(s, err);
}

static int write_once(struct store *s,
                      struct writer *w,
                      size_t *failed_index,
                      struct err *err)
{
    struct err mistake = ERR_INIT;
    int bad = writer_prepare(w, &mistake);
    int rc = 0;
    w->stale = false;
    if (w->count > 0) {
        rc = wait_for_entry(s, w->table, err);
        if (rc) {
            *failed_index = 0;
            return rc;
        }
        if (wait_for_turn(&s->queue, w))
            lead(s, w);
        rc = w->rc;
        if (rc) {
            err_copy(err, &w->err);
            *failed_index = 0;
        }
    }
    if (rc == 0 && bad) {
        *failed_index = w->count;
        rc = err_copy(err, &mistake);
    }
    return rc;
}

int store_write(struct store *s,
                struct table *t,
                const struct quarry_mutation *const *mutations,
                size_t count,
                enum write_durability durability,
                int64_t now_us,
                const struct write_condition *condition,
                size_t *failed_index,
                struct err *err)
{
    size_t ignored;
    struct writer *w;
    int rc = store_check_writable(s, err);
    if (!failed_index)
        failed_index = &ignored;
    *failed_index = 0;
    if (rc || count == 0)
        return rc;
    w = take_writer(&s->queue);
    for (;;) {
        writer_start(w, t, mutations, count, durability, now_us, condition);
        rc = w->view ? write_once(s, w, failed_index, err) : table_gone(t, err);
        table_view_unref(w->view);
        w->view = NULL;
        if (LIKELY(rc != ERR_ABORTED) || !w->stale)
            break;
        table_wait_open(t);
    }
    give_writer(&s->queue, w);
    return rc;
}

/* --- several at once ----------------------------------------------------- */

/* Prepare @r. NULL when it is decided already: r->rc. */
static struct writer *prepare_request(struct store *s,
                                      struct store_write_request *r,
                                      enum write_durability durability,
                                      int64_t now_us)
{
    struct writer *w = take_writer(&s->queue);
    writer_start(w, r->table, r->mutations, r->count, durability, now_us, NULL);
    w->stale = false;
    r->rc =
        w->view ? writer_prepare(w, &r->err) : table_gone(r->table, &r->err);
    if (w->view && w->count > 0 && wait_for_entry(s, r->table, &w->err) == 0)
        return w;
    if (w->view && w->count > 0)
        r->rc = err_copy(&r->err, &w->err);
    r->failed_index = 0;
    table_view_unref(w->view);
    w->view = NULL;
    give_writer(&s->queue, w);
    return NULL;
}

/* @w was written: what became of @r. True when it is to be tried again. */
static bool
finish_request(struct store *s, struct store_write_request *r, struct writer *w)
{
    bool again = w->rc == ERR_ABORTED && w->stale;
    if (w->rc) {
        r->rc = err_copy(&r->err, &w->err);
        r->failed_index = 0;
    } else {
        r->failed_index = w->count;
    }
    table_view_unref(w->view);
    w->view = NULL;
    give_writer(&s->queue, w);
    return again;
}

void store_write_all(struct store *s,
                     struct store_write_request *requests,
                     size_t count,
                     enum write_durability durability,
                     int64_t now_us)
{
    struct write_queue *q = &s->queue;
    struct writer **writers = mem_zalloc(count + 1, sizeof(struct writer *));
    for (size_t i = 0; i < count; i++)
        writers[i] = prepare_request(s, &requests[i], durability, now_us);
    mutex_lock(&q->lock);
    for (size_t i = 0; i < count; i++)
        if (writers[i])
            enqueue(q, writers[i]);
    mutex_unlock(&q->lock);
    for (size_t i = 0; i < count; i++) {
        if (!writers[i])
            continue;
        mutex_lock(&q->lock);
        if (wait_queued(q, writers[i]))
            lead(s, writers[i]);
    }
    for (size_t i = 0; i < count; i++) {
        struct store_write_request *r = &requests[i];
        if (!writers[i] || !finish_request(s, r, writers[i]))
            continue;
        table_wait_open(r->table);
        r->rc = store_write(s, r->table, r->mutations, r->count, durability,
                            now_us, NULL, &r->failed_index, &r->err);
    }
    mem_free(writers);
}

void write_queue_raise(struct store *s, uint64_t sequence)
{
    struct writer *turn;
    write_turn_take(s, &turn);
    if (sequence > s->queue.last_sequence) {
        s->queue.last_sequence = sequence;
        atomic_store(&s->visible, sequence);
    }
    write_turn_give(s, turn);
}

/* The number is one that no entry has, and is visible at once. */
uint64_t write_turn_stamp_all(struct store *s)
{
    return write_turn_stamp_many(s, 1);
}

uint64_t write_turn_stamp_many(struct store *s, uint64_t count)
{
    struct writer *turn;
    uint64_t first;
    uint64_t sequence;
    write_turn_take(s, &turn);
    first = s->queue.last_sequence + 1;
    sequence = s->queue.last_sequence += count;
    for (size_t i = 0; i < WRITE_STAMP_COUNT; i++)
        atomic_store_explicit(&s->queue.stamps[i], sequence,
                              memory_order_relaxed);
    atomic_store(&s->visible, sequence);
    write_turn_give(s, turn);
    return first;
}

static void freeze_tablet(struct store *s, const struct tablet *t)
{
    for (size_t i = 0; i < atomic_load(&t->group_count); i++)
        if (!tablet_group_is_clean(t->groups[i]))
            tablet_group_freeze(t->groups[i], s->queue.last_sequence);
}

void write_turn_freeze(struct store *s, struct table *t)
{
    size_t count;
    struct table_view **views = store_views(s, &count);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < views[i]->tablet_count; k++)
            if (!t || views[i]->tablets[k]->table == t)
                freeze_tablet(s, views[i]->tablets[k]);
    store_views_free(views, count);
    background_wake(s);
}
