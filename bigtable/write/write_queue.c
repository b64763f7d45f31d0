/* Group commit: see write_queue.h. Queueing, waiting for the lead, the write
 * turn, and writes with retries; the work of a leader is in write_group.c.
 */
#include "bigtable/write/write_queue.h"

#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "base/trace/span.h"
#include "bigtable/lsm/skip_batch.h"
#include "bigtable/row/mutation.h"
#include "bigtable/tablet/table_part.h"
#include "bigtable/tablet/tablet.h"
#include "bigtable/tablet/tablet_env.h"
#include "bigtable/write/tablet_writer.h"
#include "bigtable/write/write_group.h"

void write_queue_init(struct write_queue *q, uint64_t last_sequence)
{
    *q = (struct write_queue){.last_sequence = last_sequence};
    mutex_init(&q->lock);
    cond_init(&q->ended);
    q->last_group = &q->groups;
    q->batch = skip_batch_new();
}

void write_queue_close(struct write_queue *q)
{
    PRE(q->head == NULL && q->groups == NULL);
    while (q->spare) {
        struct writer *w = q->spare;
        q->spare = w->next;
        writer_free(w);
    }
    buf_close(&q->key);
    skip_batch_free(q->batch);
    cond_close(&q->ended);
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
    POST(!w->view);
    return w;
}

static void give_writer(struct write_queue *q, struct writer *w)
{
    PRE(!w->view);
    mutex_lock(&q->lock);
    w->next = q->spare;
    q->spare = w;
    mutex_unlock(&q->lock);
}

/* PRE: the lock is held. */
static void write_queue_enqueue(struct write_queue *q, struct writer *w)
{
    PRE(mutex_is_held(&q->lock));
    INVARIANT((q->head == NULL) == (q->tail == NULL));
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
    PRE(mutex_is_held(&q->lock));
    INVARIANT(w->done || q->head); /* INV-1 */
    if (!w->done && q->head != w) {
        struct span s;
        span_begin(&s, "group commit");
        while (!w->done && q->head != w)
            cond_wait(&w->woken, &q->lock);
        span_end(&s, 0);
    }
    if (!w->done)
        return true;
    mutex_unlock(&q->lock);
    return false;
}

static bool wait_for_turn(struct write_queue *q, struct writer *w)
{
    mutex_lock(&q->lock);
    write_queue_enqueue(q, w);
    return wait_queued(q, w);
}

/* Take the writers from the head to @last out of the queue, and wake the next
 * leader. PRE: the lock is held. */
void write_queue__leave(struct write_queue *q, struct writer *last)
{
    PRE(mutex_is_held(&q->lock));
    PRE(q->head);
    q->head = last->next;
    if (q->head)
        cond_signal(&q->head->woken);
    else
        q->tail = NULL;
    POST((q->head == NULL) == (q->tail == NULL));
}

/* Groups are under way no more. PRE: the lock is held, by the head. */
static void await_groups(struct write_queue *q)
{
    PRE(mutex_is_held(&q->lock));
    while (q->groups)
        cond_wait(&q->ended, &q->lock);
}

void write_turn_take(struct tablet_env *env, struct writer **turn)
{
    struct writer *w = take_writer(env->queue);
    w->exclusive = true;
    if (!wait_for_turn(env->queue, w))
        PANIC("an exclusive writer was written for");
    await_groups(env->queue);
    INVARIANT(env->queue->head == w);
    mutex_unlock(&env->queue->lock);
    env->queue->turn_began_ns = world_mono_ns(env->world);
    *turn = w;
}

uint64_t write_turn_close_table(struct tablet_env *env, struct table_part *t)
{
    struct writer *turn;
    uint64_t sequence;
    write_turn_take(env, &turn);
    table_part_close_writes(t);
    sequence = env->queue->last_sequence;
    write_turn_give(env, turn);
    return sequence;
}

void write_turn_open_table(struct tablet_env *env,
                           struct table_part *t,
                           bool replace,
                           struct table_part_view *view)
{
    struct writer *turn;
    write_turn_take(env, &turn);
    if (replace)
        table_part_set_view(t, view);
    table_part_open_writes(t);
    write_turn_give(env, turn);
}

/* Somebody waited since @start_ns. */
void write_queue__count_wait(struct tablet_env *env,
                             uint64_t start_ns,
                             atomic_ullong *count,
                             atomic_ullong *us)
{
    atomic_fetch_add(count, 1);
    atomic_fetch_add(us, (world_mono_ns(env->world) - start_ns) / 1000);
}

void write_turn_give(struct tablet_env *env, struct writer *turn)
{
    write_queue__count_wait(env, env->queue->turn_began_ns,
                            &env->queue->turn_count, &env->queue->turn_us);
    mutex_lock(&env->queue->lock);
    INVARIANT(env->queue->head == turn);
    PRE(turn->exclusive);
    INVARIANT(!env->queue->groups);
    write_queue__leave(env->queue, turn);
    mutex_unlock(&env->queue->lock);
    turn->exclusive = false;
    give_writer(env->queue, turn);
}

/* --- writing ------------------------------------------------------------- */

/* Memory first, and whether it is let in at all. */
static int
wait_for_entry(struct tablet_env *env, struct table_part *t, struct err *err)
{
    PRE(env->ops);
    return t->is_system ? 0 : env->ops->wait_for_room(env, err);
}

static int write_once(struct tablet_env *env,
                      struct writer *w,
                      size_t *failed_index,
                      struct err *err)
{
    struct err mistake = ERR_INIT;
    int bad = writer_prepare(w, &mistake);
    int rc = 0;
    w->stale = false;
    if (w->count > 0) {
        rc = wait_for_entry(env, w->table, err);
        if (rc) {
            *failed_index = 0;
            return rc;
        }
        if (wait_for_turn(env->queue, w))
            write_group__lead(env, w);
        INVARIANT(w->done);
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

int write_apply(struct tablet_env *env,
                struct table_part *t,
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
    int rc = tablet_env_check_writable(env, err);
    PRE(mutations || count == 0);
    if (!failed_index)
        failed_index = &ignored;
    *failed_index = 0;
    if (rc || count == 0)
        return rc;
    w = take_writer(env->queue);
    for (;;) {
        writer_start(w, t, mutations, count, durability, now_us, condition);
        rc = w->view ? write_once(env, w, failed_index, err)
                     : table_part_gone(t, err);
        table_part_view_unref(w->view);
        w->view = NULL;
        if (LIKELY(rc != ERR_ABORTED) || !w->stale)
            break;
        table_part_wait_open(t);
    }
    give_writer(env->queue, w);
    return rc;
}

/* --- several at once ----------------------------------------------------- */

/* Prepare @r. NULL when it is decided already: r->rc. */
static struct writer *prepare_request(struct tablet_env *env,
                                      struct write_request *r,
                                      enum write_durability durability,
                                      int64_t now_us)
{
    struct writer *w = take_writer(env->queue);
    PRE(r->mutations || r->count == 0);
    writer_start(w, r->table, r->mutations, r->count, durability, now_us, NULL);
    w->stale = false;
    r->rc = w->view ? writer_prepare(w, &r->err)
                    : table_part_gone(r->table, &r->err);
    if (w->view && w->count > 0 && wait_for_entry(env, r->table, &w->err) == 0)
        return w;
    if (w->view && w->count > 0)
        r->rc = err_copy(&r->err, &w->err);
    r->failed_index = 0;
    table_part_view_unref(w->view);
    w->view = NULL;
    give_writer(env->queue, w);
    return NULL;
}

/* @w was written: what became of @r. True when it is to be tried again. */
static bool finish_request(struct tablet_env *env,
                           struct write_request *r,
                           struct writer *w)
{
    bool again = w->rc == ERR_ABORTED && w->stale;
    PRE(w->done);
    if (w->rc) {
        r->rc = err_copy(&r->err, &w->err);
        r->failed_index = 0;
    } else {
        r->failed_index = w->count;
    }
    table_part_view_unref(w->view);
    w->view = NULL;
    give_writer(env->queue, w);
    return again;
}

void write_apply_all(struct tablet_env *env,
                     struct write_request *requests,
                     size_t count,
                     enum write_durability durability,
                     int64_t now_us)
{
    struct write_queue *q = env->queue;
    struct writer **writers = mem_zalloc(count + 1, sizeof(struct writer *));
    PRE(requests || count == 0);
    for (size_t i = 0; i < count; i++)
        writers[i] = prepare_request(env, &requests[i], durability, now_us);
    mutex_lock(&q->lock);
    for (size_t i = 0; i < count; i++)
        if (writers[i])
            write_queue_enqueue(q, writers[i]);
    mutex_unlock(&q->lock);
    for (size_t i = 0; i < count; i++) {
        if (!writers[i])
            continue;
        mutex_lock(&q->lock);
        if (wait_queued(q, writers[i]))
            write_group__lead(env, writers[i]);
    }
    for (size_t i = 0; i < count; i++) {
        struct write_request *r = &requests[i];
        if (!writers[i] || !finish_request(env, r, writers[i]))
            continue;
        table_part_wait_open(r->table);
        r->rc = write_apply(env, r->table, r->mutations, r->count, durability,
                            now_us, NULL, &r->failed_index, &r->err);
    }
    mem_free(writers);
}

void write_queue_raise(struct tablet_env *env, uint64_t sequence)
{
    struct writer *turn;
    write_turn_take(env, &turn);
    INVARIANT(atomic_load(&env->visible) <= env->queue->last_sequence);
    if (sequence > env->queue->last_sequence) {
        env->queue->last_sequence = sequence;
        atomic_store(&env->visible, sequence);
    }
    write_turn_give(env, turn);
}

/* The number is one that no entry has, and is visible at once. */
uint64_t write_turn_stamp_all(struct tablet_env *env)
{
    return write_turn_stamp_many(env, 1);
}

uint64_t write_turn_stamp_many(struct tablet_env *env, uint64_t count)
{
    struct writer *turn;
    uint64_t first;
    uint64_t sequence;
    PRE(count > 0);
    write_turn_take(env, &turn);
    first = env->queue->last_sequence + 1;
    sequence = env->queue->last_sequence += count;
    row_stamps_set_all(&env->stamps, sequence);
    atomic_store(&env->visible, sequence);
    write_turn_give(env, turn);
    return first;
}

/* Writers stamp at least the time that is noted here, but for those of groups
 * that have their numbers already. */
bool write_queue_settle(struct tablet_env *env,
                        struct table_part *t,
                        int64_t *us,
                        uint64_t *sequence)
{
    struct write_queue *q = env->queue;
    int64_t now_us = table_part_stamp_us(t, (int64_t)world_now_us(env->world));
    bool settled;
    table_part_note_stamp(t, now_us);
    mutex_lock(&q->lock);
    settled = atomic_load(&q->numbering) == 0;
    *sequence = q->last_sequence;
    mutex_unlock(&q->lock);
    *us = now_us - 1;
    POST(*us >= 0);
    return settled;
}

void write_turn_freeze(struct tablet_env *env, const struct tablet *t)
{
    PRE(env->queue);
    for (size_t i = 0; i < atomic_load(&t->group_count); i++)
        if (!tablet_group_is_clean(t->groups[i]))
            tablet_group_freeze(t->groups[i], env->queue->last_sequence);
}
