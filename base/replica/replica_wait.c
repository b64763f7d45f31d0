/* Fibers that wait for the replica. */
#include "base/core/panic.h"
#include "base/replica/replica_state.h"
#include "base/runtime/fiber.h"

static void link_last(struct replica_waits *list, struct replica_wait *w)
{
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
    w->fiber = fiber_self();
    link_last(list, w);
}

void replica__move(struct replica_waits *to, struct replica_wait *w)
{
    unlink_wait(w);
    link_last(to, w);
}

void replica__finish(struct replica_wait *w, int rc)
{
    unlink_wait(w);
    w->rc = rc;
    w->done = true;
    fiber_wake(w->fiber);
}

void replica__fail_all(struct replica_waits *list, int code, const char *why)
{
    while (list->first) {
        struct replica_wait *w = list->first;
        replica__finish(w, err_set(w->err, code, "%s", why));
    }
}

int replica__await(struct replica_wait *w)
{
    int rc = 0;
    while (!w->done && rc == 0)
        rc = fiber_park_checked(w->err);
    if (w->done)
        return w->rc;
    unlink_wait(w);
    return rc;
}
