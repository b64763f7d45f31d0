/* Locks and sequencers. A lock's generation counts the times that it went from
 * free to held, so that a sequencer of an earlier holder is never valid again
 * (Chubby, OSDI 2006, section 2.4).
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/core/fault.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "chubby-lite/cell_state.h"
#include "chubby-lite/lock_path.h"

/* Tell the holders of the lock that another session asks for it. */
static void notify_conflict(struct cell *c, struct node *n)
{
    struct handle *h;

    PRE(n->mode != CHUBBY_FREE);
    LIST_FOREACH(h, &n->handles, of_node)
        if (h->holding != CHUBBY_FREE && c->on_event &&
            (h->events & CHUBBY_EVENT_CONFLICT))
            c->on_event(c->ctx, h, CHUBBY_EVENT_CONFLICT);
}

static int cell_lock_held(struct execution *x, const struct node *n)
{
    const struct handle *h;

    PRE(n->holder_count > 0);
    LIST_FOREACH(h, &n->handles, of_node)
        if (h->holding != CHUBBY_FREE)
            break;
    INVARIANT(h); /* INV-3 of node.h. */
    return err_set(x->err, ERR_BUSY,
                   "the lock is held by session %" PRIx64 " of \"%s\"%s",
                   h->session->id, h->session->principal,
                   n->holder_count > 1 ? " and others" : "");
}

/* Can the lock of @n be had in @mode? */
static int
cell_lock_obtainable(struct execution *x, struct node *n, enum chubby_lock mode)
{
    PRE(mode == CHUBBY_SHARED || mode == CHUBBY_EXCLUSIVE);
    if (n->mode == CHUBBY_EXCLUSIVE ||
        (n->mode == CHUBBY_SHARED && mode == CHUBBY_EXCLUSIVE)) {
        notify_conflict(x->cell, n);
        return cell_lock_held(x, n);
    }
    if (n->lock_free_us > x->cell->now_us) {
        x->answer->retry_us = n->lock_free_us;
        return err_set(x->err, ERR_BUSY,
                       "the lock's last holder failed; its delay has %" PRIu64
                       " ms to go",
                       (n->lock_free_us - x->cell->now_us + 999) / 1000);
    }
    return 0;
}

int cell__acquire(struct execution *x)
{
    enum chubby_lock mode = (enum chubby_lock)x->command->flags;
    struct handle *h;
    struct node *n;
    int rc;

    if (mode != CHUBBY_SHARED && mode != CHUBBY_EXCLUSIVE)
        return err_set(x->err, ERR_INVALID, "no mode of a lock");
    /* Writing, also for a shared lock: a reader could keep others out. */
    rc = cell_handle(x->cell, x->command->session, x->command->handle,
                     CHUBBY_WRITE, &h, x->err);
    if (rc)
        return rc;
    n = h->node;
    node_stat(n, &x->answer->stat);
    if (h->holding == mode)
        return 0;
    if (h->holding != CHUBBY_FREE)
        return err_set(x->err, ERR_INVALID,
                       "the handle holds the lock in the other mode: release "
                       "it first");
    rc = cell_lock_obtainable(x, n, mode);
    if (rc)
        return rc;
    if (n->mode == CHUBBY_FREE)
        n->lock_generation++;
    n->mode = mode;
    n->holder_count++;
    h->holding = mode;
    node_check(n);
    POST(n->lock_free_us <= x->cell->now_us);
    cell__notify(x->cell, n, CHUBBY_EVENT_LOCKED);
    node_stat(n, &x->answer->stat);
    return 0;
}

void cell__unlock(struct cell *c, struct handle *h, bool failed)
{
    struct node *n = h->node;
    uint64_t delayed_us;

    if (h->holding == CHUBBY_FREE)
        return;
    INVARIANT(n);
    INVARIANT(n->holder_count > 0);
    INVARIANT(h->holding == n->mode);
    if (failed) {
        delayed_us = c->now_us + (uint64_t)h->lock_delay_ms * 1000;
        n->lock_free_us = MAX_OF(n->lock_free_us, delayed_us);
    }
    h->holding = CHUBBY_FREE;
    if (--n->holder_count == 0)
        n->mode = CHUBBY_FREE;
    node_check(n);
}

int cell__release(struct execution *x)
{
    struct handle *h;
    int rc;

    rc = cell_handle(x->cell, x->command->session, x->command->handle, 0, &h,
                     x->err);
    if (rc)
        return rc;
    if (h->holding == CHUBBY_FREE)
        return err_set(x->err, ERR_INVALID,
                       "the handle does not hold the lock");
    INVARIANT(h->node);
    INVARIANT(h->node->holder_count > 0);
    cell__unlock(x->cell, h, false);
    POST(h->holding == CHUBBY_FREE);
    return 0;
}

/* --- sequencers ---------------------------------------------------------- */

int cell_sequencer(const struct handle *h, struct buf *out, struct err *err)
{
    if (h->holding == CHUBBY_FREE)
        return err_set(err, ERR_INVALID, "the handle does not hold the lock");
    INVARIANT(h->node);
    INVARIANT(h->holding == h->node->mode);
    buf_printf(out, "%c:%" PRIu64 ":%" PRIu64 ":",
               h->holding == CHUBBY_EXCLUSIVE ? 'x' : 's',
               h->node->lock_generation, h->node->instance);
    node_put_path(h->node, out);
    return 0;
}

/* Take the text up to the next ':' off *@rest. */
static struct slice sequencer_part(struct slice *rest)
{
    size_t end = slice_find_byte(*rest, ':');
    struct slice part = slice_sub(*rest, 0, end);

    *rest = slice_sub(*rest, end + 1, rest->len);
    return part;
}

int cell_check_sequencer(const struct cell *c,
                         struct slice sequencer,
                         struct err *err)
{
    struct slice rest = sequencer;
    struct slice mode = sequencer_part(&rest);
    uint64_t generation;
    uint64_t instance;
    const struct node *n;
    char held_mode;

    if ((!slice_eq_str(mode, "x") && !slice_eq_str(mode, "s")) ||
        text_parse_u64(sequencer_part(&rest), &generation, NULL) ||
        text_parse_u64(sequencer_part(&rest), &instance, NULL) ||
        path_check(rest, NULL))
        return err_set(err, ERR_INVALID, "\"%.*s\" is no sequencer",
                       SLICE_ARG(sequencer));
    n = node_find(c->root, rest);
    held_mode = 0;
    if (n && n->mode != CHUBBY_FREE)
        held_mode = n->mode == CHUBBY_EXCLUSIVE ? 'x' : 's';
    if ((!n || n->instance != instance || n->lock_generation != generation ||
         held_mode != mode.data[0]) &&
        !fault_hit("chubby.ignore_sequencer"))
        return err_set(err, ERR_ABORTED,
                       "the lock of sequencer \"%.*s\" is not held any more",
                       SLICE_ARG(sequencer));
    return 0;
}
