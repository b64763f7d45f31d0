/* A list of entries on the stacks of the fibers that wait; each takes its own
 * entry out when it runs again, so that waking is safe while others are added.
 */
#include "chubby-lite/wait_queue.h"

#include "base/core/panic.h"
#include "base/runtime/fiber.h"

struct wait_queue_entry {
    LIST_ENTRY(wait_queue_entry) link;
    struct fiber *fiber;
};

int wait_queue_wait(struct wait_queue *b, uint64_t until_ns, struct err *err)
{
    struct wait_queue_entry me = {.fiber = fiber_self()};
    uint64_t deadline = fiber_deadline();
    int rc;

    PRE(me.fiber);
    LIST_INSERT_HEAD(b, &me, link);
    if (until_ns && (deadline == 0 || until_ns < deadline))
        (void)fiber_set_deadline(until_ns);
    rc = fiber_park_checked(err);
    (void)fiber_set_deadline(deadline);
    LIST_REMOVE(&me, link);
    return rc;
}

void wait_queue_park(struct wait_queue *b)
{
    struct wait_queue_entry me = {.fiber = fiber_self()};

    PRE(me.fiber);
    LIST_INSERT_HEAD(b, &me, link);
    fiber_park();
    LIST_REMOVE(&me, link);
}

void wait_queue_wake(struct wait_queue *b)
{
    struct wait_queue_entry *w;

    LIST_FOREACH(w, b, link)
        fiber_wake(w->fiber);
}
