/* Lists of fibers that wait for the replica. A wait lives on its fiber's stack,
 * so it leaves its list before the fiber continues, also when it is cancelled.
 */
#include "base/core/panic.h"
#include "base/replica/replica_state.h"
#include "base/runtime/fiber.h"

static void link_last(struct replica_waits *list, struct replica_wait *w)
{
    PRE(!w->done);
    INVARIANT((list->first == NULL) == (list->count == 0));
    w->list = list;
    w->next = NULL;
    w->prev = list->last;
    if (list->last)
        list->last->next = w;
    else
        list->first = w;
    list->last = w;
    list->count++;
}

static void unlink_wait(struct replica_wait *w)
{
    struct replica_waits *list = w->list;
    PRE(list && list->count > 0); /* INV-2 */
    PRE(w->prev ? w->prev->next == w : list->first == w);
    if (w->prev)
        w->prev->next = w->next;
    else
        list->first = w->next;
    if (w->next)
        w->next->prev = w->prev;
    else
        list->last = w->prev;
    list->count--;
}

void replica__enqueue(struct replica_waits *list, struct replica_wait *w)
{
    PRE(fiber_self());
    w->fiber = fiber_self();
    link_last(list, w);
}

void replica__move(struct replica_waits *to, struct replica_wait *w)
{
    PRE(!w->done);
    unlink_wait(w);
    link_last(to, w);
}

void replica__finish(struct replica_wait *w, int rc)
{
    PRE(!w->done);
    unlink_wait(w);
    w->rc = rc;
    w->done = true;
    fiber_wake(w->fiber);
}

void replica__fail_all(struct replica_waits *list, int code, const char *why)
{
    PRE(code != 0);
    while (list->first) {
        struct replica_wait *w = list->first;
        replica__finish(w, err_set(w->err, code, "%s", why));
    }
    POST(list->count == 0);
}

int replica__await(struct replica_wait *w)
{
    int rc = 0;
    PRE(w->fiber == fiber_self());
    while (!w->done && rc == 0)
        rc = fiber_park_checked(w->err);
    if (w->done)
        return w->rc;
    unlink_wait(w);
    return rc;
}
