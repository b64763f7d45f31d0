/* What fibers of a loop do for a server that may end at any time: orders that
 * nobody may break off, and what threads ask of what belongs to the loop. None
 * has a deadline; when the server ends all are cancelled, because then nobody
 * may be left who would answer them.
 */
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
