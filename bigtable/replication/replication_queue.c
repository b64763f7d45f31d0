/* A ring of batches that the reader fills and every sender passes by itself.
 * The last sender to pass a batch makes its token the place that was reached,
 * so a place is never ahead of any sender.
 */
#include "bigtable/replication/replication_queue.h"

#include <string.h>

#include "base/core/hash.h"
#include "base/core/panic.h"

void replication_queue_init(struct replication_queue *q)
{
    memset(q, 0, sizeof(*q));
    mutex_init(&q->lock);
    cond_init(&q->passed);
    cond_init(&q->over);
    for (unsigned i = 0; i < REPLICATION_SENDERS; i++)
        cond_init(&q->pushed[i]);
}

void replication_queue_close(struct replication_queue *q)
{
    for (size_t i = 0; i < REPLICATION_SLOTS; i++) {
        for (unsigned k = 0; k < REPLICATION_SENDERS; k++)
            replication_batch_close(&q->slots[i].parts[k]);
        buf_close(&q->slots[i].token);
    }
    for (unsigned i = 0; i < REPLICATION_SENDERS; i++)
        cond_close(&q->pushed[i]);
    cond_close(&q->passed);
    cond_close(&q->over);
    mutex_close(&q->lock);
    buf_close(&q->token);
}

static struct replication_slot *slot_at(struct replication_queue *q, uint64_t n)
{
    return &q->slots[n % REPLICATION_SLOTS];
}

static void wake_all(struct replication_queue *q)
{
    for (unsigned i = 0; i < REPLICATION_SENDERS; i++)
        cond_broadcast(&q->pushed[i]);
    cond_broadcast(&q->passed);
    cond_broadcast(&q->over);
}

/* --- the reader ---------------------------------------------------------- */

static void empty_slot(struct replication_slot *s)
{
    for (unsigned i = 0; i < REPLICATION_SENDERS; i++)
        replication_batch_clear(&s->parts[i]);
    buf_clear(&s->token);
    s->watermark_us = 0;
    s->changes = 0;
    s->bytes = 0;
}

struct replication_slot *replication_queue_reserve(struct replication_queue *q)
{
    struct replication_slot *s = NULL;
    mutex_lock(&q->lock);
    PRE(!q->closed);
    while (q->rc == 0 && q->head == q->tail + REPLICATION_SLOTS)
        cond_wait(&q->passed, &q->lock);
    if (q->rc == 0)
        s = slot_at(q, q->head);
    mutex_unlock(&q->lock);
    if (s)
        empty_slot(s);
    return s;
}

struct replication_batch *replication_slot_part(struct replication_slot *slot,
                                                struct slice row)
{
    return &slot->parts[hash64_slice(row) % REPLICATION_SENDERS];
}

/* Free what all have passed. */
static void advance_tail(struct replication_queue *q)
{
    uint64_t tail = q->head;
    PRE(mutex_is_held(&q->lock));
    for (unsigned i = 0; i < REPLICATION_SENDERS; i++)
        tail = MIN_OF(tail, q->next[i]);
    INVARIANT(tail >= q->tail && q->head <= tail + REPLICATION_SLOTS);
    if (tail == q->tail)
        return;
    for (; q->tail < tail; q->tail++) {
        q->changes += slot_at(q, q->tail)->changes;
        q->bytes += slot_at(q, q->tail)->bytes;
    }
    buf_clear(&q->token);
    buf_append_slice(&q->token, buf_slice(&slot_at(q, tail - 1)->token));
    q->watermark_us = slot_at(q, tail - 1)->watermark_us;
    cond_broadcast(&q->passed);
    if (q->closed && q->tail == q->head)
        cond_broadcast(&q->over);
}

void replication_queue_push(struct replication_queue *q)
{
    struct replication_slot *s;
    mutex_lock(&q->lock);
    PRE(!q->closed && q->head < q->tail + REPLICATION_SLOTS);
    s = slot_at(q, q->head++);
    PRE(s->token.len > 0);
    for (unsigned i = 0; i < REPLICATION_SENDERS; i++)
        if (q->next[i] + 1 < q->head)
            continue; /* It is busy and looks again. */
        else if (s->parts[i].count)
            cond_signal(&q->pushed[i]);
        else
            q->next[i] = q->head;
    advance_tail(q);
    mutex_unlock(&q->lock);
}

void replication_queue_finish(struct replication_queue *q)
{
    mutex_lock(&q->lock);
    q->closed = true;
    wake_all(q);
    mutex_unlock(&q->lock);
}

void replication_queue_fail(struct replication_queue *q,
                            int rc,
                            const struct err *err)
{
    PRE(rc);
    mutex_lock(&q->lock);
    if (q->rc == 0) {
        q->rc = rc;
        q->err = *err;
    }
    wake_all(q);
    mutex_unlock(&q->lock);
}

/* --- senders ------------------------------------------------------------- */

static void append_part(const struct replication_batch *part,
                        struct quarry_mutation ***list,
                        size_t *room,
                        size_t count)
{
    if (count + part->count > *room) {
        *room = 2 * (count + part->count);
        *list = mem_realloc(*list, *room * sizeof(struct quarry_mutation *));
    }
    if (part->count)
        memcpy(*list + count, part->list,
               part->count * sizeof(struct quarry_mutation *));
}

bool replication_queue_take(struct replication_queue *q,
                            unsigned i,
                            struct quarry_mutation ***list,
                            size_t *room,
                            size_t *count,
                            uint64_t *to)
{
    size_t bytes = 0;
    bool found;
    *count = 0;
    mutex_lock(&q->lock);
    while (q->rc == 0 && q->next[i] == q->head && !q->closed)
        cond_wait(&q->pushed[i], &q->lock);
    found = q->rc == 0 && q->next[i] < q->head;
    for (*to = q->next[i]; found && *to < q->head; ++*to) {
        const struct replication_batch *part = &slot_at(q, *to)->parts[i];
        if (*count && (bytes + part->bytes > REPLICATION_BATCH_BYTES ||
                       *count + part->count > REPLICATION_BATCH_ROWS))
            break;
        append_part(part, list, room, *count);
        *count += part->count;
        bytes += part->bytes;
    }
    mutex_unlock(&q->lock);
    return found;
}

void replication_queue_pass(struct replication_queue *q,
                            unsigned i,
                            uint64_t to)
{
    mutex_lock(&q->lock);
    PRE(to > q->next[i] && to <= q->head);
    q->next[i] = to;
    advance_tail(q);
    mutex_unlock(&q->lock);
}

/* --- who waits ----------------------------------------------------------- */

static bool is_over(const struct replication_queue *q)
{
    return q->rc || (q->closed && q->tail == q->head);
}

bool replication_queue_wait(struct replication_queue *q,
                            struct world *w,
                            uint64_t us)
{
    bool over;
    mutex_lock(&q->lock);
    over = is_over(q);
    if (!over)
        (void)cond_wait_us(&q->over, &q->lock, w, us);
    over = is_over(q);
    mutex_unlock(&q->lock);
    return !over;
}

void replication_queue_reached(struct replication_queue *q,
                               struct buf *token,
                               struct quarry_replication_place *out)
{
    mutex_lock(&q->lock);
    buf_clear(token);
    buf_append_slice(token, buf_slice(&q->token));
    *out = (struct quarry_replication_place){.token = buf_slice(token),
                                             .watermark_us = q->watermark_us,
                                             .changes = q->changes,
                                             .bytes = q->bytes};
    q->changes = 0;
    q->bytes = 0;
    mutex_unlock(&q->lock);
}
