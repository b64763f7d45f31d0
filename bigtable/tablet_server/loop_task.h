/* Work of a server on fibers of its loop, which is cancelled when the server
 * ends: orders, which must not end with the call that brought them, and
 * requests of threads to what belongs to the loop. None has a deadline. When
 * the server ends all are cancelled, because those who would answer them may
 * have ended.
 *
 * Invariants, kept by loop_task.c
 *     INV-1. A task is in `running` from before its function begins until after
 *            it has returned.
 *     INV-2. After `ended` no function begins without being cancelled. */
#ifndef BIGTABLE_TABLET_SERVER_LOOP_TASK_H
#define BIGTABLE_TABLET_SERVER_LOOP_TASK_H

#include <stdbool.h>
#include <sys/queue.h>

struct loop_task;
struct loop;

struct loop_tasks {
    struct loop *loop;
    bool ended;
    LIST_HEAD(, loop_task) running;
};

/* No task runs yet. @loop is borrowed. */
void loop_tasks_init(struct loop_tasks *e, struct loop *loop);
/* Run fn(arg) on a fiber of its own, and wait. Parks. On the loop. */
void loop_task_run(struct loop_tasks *e, void (*fn)(void *), void *arg);
/* Run fn(arg) on the calling fiber, which is there for nothing else. Parks. On
 * the loop. */
void loop_task_run_here(struct loop_tasks *e, void (*fn)(void *), void *arg);
/* Run fn(arg) on the loop and wait: from the loop itself on the calling fiber,
 * which is cancelled if the server ends meanwhile. Parks. Any thread. */
void loop_task_call(struct loop_tasks *e, void (*fn)(void *), void *arg);
/* The server ends: cancel all that run, and all to come. On the loop. */
void loop_tasks_end(struct loop_tasks *e);

#endif /* BIGTABLE_TABLET_SERVER_LOOP_TASK_H */
