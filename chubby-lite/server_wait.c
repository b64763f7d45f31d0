/* Calls that wait for locks, in the order in which they came. The order is the
 * leader's own: a new leader starts with an empty list, and clients ask again.
 */
#include "base/core/panic.h"
#include "base/rpc/rpc.h"
#include "chubby-lite/server_state.h"

struct lock_wait {
    TAILQ_ENTRY(lock_wait) link;
    uint64_t handle;
    uint64_t instance; /* Of its node; 0: it was removed. */
    enum chubby_lock mode;
    struct wait_queue waiters;
    bool turn; /* The lock may be free: try. */
};

/* Is @n's lock free for @mode, lock-delay aside? */
static bool is_free(const struct node *n, enum chubby_lock mode)
{
    return n->mode == CHUBBY_FREE ||
           (n->mode == CHUBBY_SHARED && mode == CHUBBY_SHARED);
}

/* Does an earlier call wait for the same lock, in a mode that excludes @w's? */
static bool has_elder(const struct chubby_server *s, const struct lock_wait *w)
{
    const struct lock_wait *o;

    TAILQ_FOREACH(o, &s->waits, link) {
        if (o == w)
            return false;
        if (o->instance == w->instance &&
            (o->mode == CHUBBY_EXCLUSIVE || w->mode == CHUBBY_EXCLUSIVE))
            return true;
    }
    return false;
}

/* May it be @w's turn? A client that asks again, because an answer was lost,
 * has its lock already. Without a handle or node the attempt fails with a
 * reason. */
static bool is_turn(const struct chubby_server *s, const struct lock_wait *w)
{
    const struct handle *h = handle_find(cell_sessions(s->cell), w->handle);

    INVARIANT(!h || h->node || h->holding == CHUBBY_FREE);
    return !h || !h->node || h->holding != CHUBBY_FREE ||
           (is_free(h->node, w->mode) && !has_elder(s, w));
}

void server__wake_waits(struct chubby_server *s)
{
    struct lock_wait *w;

    TAILQ_FOREACH(w, &s->waits, link) {
        INVARIANT(s->wait_count > 0); /* INV-4 */
        if (w->turn || !is_turn(s, w))
            continue;
        w->turn = true;
        wait_queue_wake(&w->waiters);
    }
}

void server__wake_all_waits(struct chubby_server *s)
{
    struct lock_wait *w;

    TAILQ_FOREACH(w, &s->waits, link) {
        INVARIANT(s->wait_count > 0); /* INV-4 */
        w->turn = true;
        wait_queue_wake(&w->waiters);
    }
}

/* Wait until it may be @w's turn. @retry_us: the cell's time when the
 * lock-delay ends; 0: there is none. */
static int wait_turn(struct chubby_server *s,
                     struct lock_wait *w,
                     uint64_t retry_us,
                     struct err *err)
{
    uint64_t until = 0;
    int rc = 0;

    if (retry_us)
        until = s->base_ns + (retry_us - s->base_us) * 1000;
    while (!rc && !w->turn) {
        rc = wait_queue_wait(&w->waiters, until, err);
        if (rc == ERR_DEADLINE && until && server__now_us(s) >= retry_us) {
            w->turn = true;
            rc = 0;
        }
    }
    POST(rc || w->turn);
    return rc;
}

int server__acquire(struct chubby_server *s,
                    struct chubby_command *c,
                    struct buf *answer,
                    struct err *err)
{
    const struct handle *h = handle_find(cell_sessions(s->cell), c->handle);
    struct lock_wait w = {.handle = c->handle,
                          .instance = h && h->node ? h->node->instance : 0,
                          .mode = (enum chubby_lock)c->flags};
    struct chubby_answer a;
    int rc;

    PRE(c->operation == CHUBBY_OP_ACQUIRE);
    PRE(c->sequence == 0);
    LIST_INIT(&w.waiters);
    TAILQ_INSERT_TAIL(&s->waits, &w, link);
    s->wait_count++;
    /* Later calls wait for their turn, also when the lock looks free. */
    w.turn = (h && h->holding != CHUBBY_FREE) || !has_elder(s, &w);
    a.retry_us = 0;
    for (;;) {
        rc = wait_turn(s, &w, a.retry_us, err);
        if (!rc)
            rc = server__check_leader(s, err);
        buf_clear(answer);
        if (!rc)
            rc = server__execute(s, c, answer, err);
        if (!rc)
            rc = chubby_answer_get(buf_slice(answer), &a, err);
        if (rc || a.code != ERR_BUSY)
            break;
        w.turn = false;
    }
    TAILQ_REMOVE(&s->waits, &w, link);
    INVARIANT(s->wait_count > 0); /* INV-4 */
    s->wait_count--;
    server__wake_waits(s);
    return rc;
}
