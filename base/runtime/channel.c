/* A ring of pointers and two lists of those who wait for room or for items. */
#include "base/runtime/channel.h"

#include "base/core/panic.h"
#include "base/runtime/fiber_loop.h"
#include "base/runtime/sync.h"
#include "base/runtime/waiter.h"

/* Waiters of one side, oldest first; linked through next and prev. */
struct side {
    struct sync_waiter *head;
    struct sync_waiter *tail;
};

struct channel {
    struct mutex mutex; /* Guards all below. */
    struct side senders;
    struct side receivers;
    void **items; /* A ring. Owned. */
    size_t cap;
    size_t first; /* Index of the oldest item. */
    size_t count;
    bool closed;
};

struct channel *channel_new(size_t capacity)
{
    struct channel *c = mem_zalloc(1, sizeof(*c));
    PRE(capacity > 0);
    mutex_init(&c->mutex);
    c->cap = capacity;
    c->items = mem_zalloc(capacity, sizeof(*c->items));
    return c;
}

void channel_free(struct channel *c)
{
    if (!c)
        return;
    PRE(!c->senders.head && !c->receivers.head);
    mutex_close(&c->mutex);
    mem_free(c->items);
    mem_free(c);
}

/* --- waiting; the mutex is held ---------------------------------------- */

static void join_side(struct side *s, struct sync_waiter *w)
{
    w->queued = true;
    w->next = NULL;
    w->prev = s->tail;
    if (s->tail)
        s->tail->next = w;
    else
        s->head = w;
    s->tail = w;
}

static void leave_side(struct side *s, struct sync_waiter *w)
{
    w->queued = false;
    if (w->prev)
        w->prev->next = w->next;
    else
        s->head = w->next;
    if (w->next)
        w->next->prev = w->prev;
    else
        s->tail = w->prev;
}

static void wake_one(struct side *s)
{
    struct sync_waiter *w = s->head;
    if (w) {
        leave_side(s, w);
        waiter_wake(w);
    }
}

/* Wait for a wake-up from the other side, without the mutex meanwhile. A fiber
 * also returns at its deadline or cancellation. */
static int wait_side(struct channel *c, struct side *s, struct err *err)
{
    struct sync_waiter w;
    int rc;
    waiter_init(&w);
    join_side(s, &w);
    mutex_unlock(&c->mutex);
    rc = waiter_wait_checked(&w, err);
    mutex_lock(&c->mutex);
    if (w.queued) {
        leave_side(s, &w);
    } else if (rc) {
        /* It was chosen and will not use its turn: pass that on. The waker may
         * still be busy with @w. */
        waiter_wait(&w);
        wake_one(s);
    }
    return rc;
}

/* --- sending and receiving; the mutex is held --------------------------- */

static bool put(struct channel *c, void *item)
{
    if (c->closed || c->count == c->cap)
        return false;
    c->items[(c->first + c->count++) % c->cap] = item;
    wake_one(&c->receivers);
    return true;
}

static bool take(struct channel *c, void **item)
{
    if (c->count == 0)
        return false;
    *item = c->items[c->first];
    c->first = (c->first + 1) % c->cap;
    c->count--;
    wake_one(&c->senders);
    return true;
}

int channel_send(struct channel *c, void *item, struct err *err)
{
    int rc = 0;
    mutex_lock(&c->mutex);
    while (rc == 0 && !put(c, item))
        rc = c->closed ? err_set(err, ERR_CLOSED, "channel closed")
                       : wait_side(c, &c->senders, err);
    mutex_unlock(&c->mutex);
    return rc;
}

int channel_receive(struct channel *c, void **item, struct err *err)
{
    int rc = 0;
    *item = NULL;
    mutex_lock(&c->mutex);
    while (rc == 0 && !take(c, item))
        rc = c->closed ? err_set(err, ERR_CLOSED, "channel closed")
                       : wait_side(c, &c->receivers, err);
    mutex_unlock(&c->mutex);
    return rc;
}

bool channel_try_send(struct channel *c, void *item)
{
    bool done;
    mutex_lock(&c->mutex);
    done = put(c, item);
    mutex_unlock(&c->mutex);
    return done;
}

bool channel_try_receive(struct channel *c, void **item)
{
    bool done;
    mutex_lock(&c->mutex);
    done = take(c, item);
    mutex_unlock(&c->mutex);
    return done;
}

void channel_close(struct channel *c)
{
    mutex_lock(&c->mutex);
    c->closed = true;
    while (c->senders.head)
        wake_one(&c->senders);
    while (c->receivers.head)
        wake_one(&c->receivers);
    mutex_unlock(&c->mutex);
}

size_t channel_count(struct channel *c)
{
    size_t count;
    mutex_lock(&c->mutex);
    count = c->count;
    mutex_unlock(&c->mutex);
    return count;
}
