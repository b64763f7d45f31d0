/* Waiting for a change, see bell.h. */
#include "chubby-lite/bell.h"

#include "base/runtime/fiber.h"

struct bell_waiter {
    LIST_ENTRY(bell_waiter) link;
    struct fiber *fiber;
};

int bell_wait(struct bell *b, uint64_t until_ns, struct err *err)
{
    struct bell_waiter me = {.fiber = fiber_self()};
    uint64_t deadline = fiber_deadline();
    int code;

    LIST_INSERT_HEAD(b, &me, link);
    if (until_ns && (deadline == 0 || until_ns < deadline))
        (void)fiber_set_deadline(until_ns);
    code = fiber_park_checked(err);
    (void)fiber_set_deadline(deadline);
    LIST_REMOVE(&me, link);
    return code;
}

void bell_park(struct bell *b)
{
    struct bell_waiter me = {.fiber = fiber_self()};

    LIST_INSERT_HEAD(b, &me, link);
    fiber_park();
    LIST_REMOVE(&me, link);
}

void bell_ring(struct bell *b)
{
    struct bell_waiter *w;

    LIST_FOREACH(w, b, link)
    fiber_wake(w->fiber);
}
