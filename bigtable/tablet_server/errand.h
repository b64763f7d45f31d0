/* What fibers of a loop do for a server that may end at any time: orders that
 * nobody may break off, and what threads ask of what belongs to the loop. None
 * has a deadline; when the server ends all are cancelled, because then nobody
 * may be left who would answer them.
 */
#ifndef BIGTABLE_TABLET_SERVER_ERRAND_H
#define BIGTABLE_TABLET_SERVER_ERRAND_H

#include <stdbool.h>
#include <sys/queue.h>

struct errand;
struct loop;

struct errands {
    struct loop *loop;
    bool ended;
    LIST_HEAD(, errand) running;
};

void errands_init(struct errands *e, struct loop *loop);
/* Run fn(arg) on a fiber of its own, and wait. Parks. On the loop. */
void errand_run(struct errands *e, void (*fn)(void *), void *arg);
/* Run fn(arg) on the calling fiber, which is there for nothing else. Parks. On
 * the loop. */
void errand_do(struct errands *e, void (*fn)(void *), void *arg);
/* Run fn(arg) on the loop and wait: from the loop itself on the calling fiber,
 * which is cancelled if the server ends meanwhile. Parks. Any thread. */
void errand_visit(struct errands *e, void (*fn)(void *), void *arg);
/* The server ends: cancel all that run, and all to come. On the loop. */
void errands_end(struct errands *e);

#endif /* BIGTABLE_TABLET_SERVER_ERRAND_H */
