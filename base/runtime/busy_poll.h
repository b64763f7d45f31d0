/* Looking for a while before going to sleep.
 *
 * Waking a sleeping thread costs some microseconds where its CPU is busy, and
 * fifty or more where that has gone to sleep as well: more than most calls
 * take. So whoever waits (a loop for its sockets, a thread for its waiter)
 * first looks again and again, letting other threads run in between, and sleeps
 * only when nothing came.
 *
 * What that may cost is bounded. Time spent looking for something that did not
 * come is paid from a credit that grows with the time that passes and with each
 * look that paid off; without credit, or when the last wait was a long one,
 * nobody looks. So a process that has nothing to do uses no time at all, and
 * one that is called now and then at most a quarter of a CPU for each thread.
 * Where other threads want the CPU, giving way costs a turn of theirs: it is
 * charged many times over, so that on a busy machine nobody looks either.
 *
 * Threads: an object belongs to the one thread that waits.
 */
#ifndef BASE_RUNTIME_BUSY_POLL_H
#define BASE_RUNTIME_BUSY_POLL_H

#include <stdbool.h>
#include <stdint.h>

/* How long one look lasts unless told otherwise. */
#define BUSY_POLL_US_DEFAULT 50
#define BUSY_POLL_US_MAX     10000

/* Zeros are a fresh one. */
struct busy_poll {
    int64_t credit_ns;
    uint64_t credited_ns; /* The clock, when time was last added to it. */
    uint64_t wait_ns;     /* How long the last wait was. */
    uint64_t began_ns;    /* This wait. */
    uint64_t looked_ns;   /* The clock at the last look. */
    uint64_t until_ns;    /* Of the looking. */
};

/* For all threads of the process from now on: look for @us at a time; 0:
 * never. Any thread. */
void busy_poll_set_us(uint64_t us);

/* Nobody looks from now on, until a few milliseconds after each pause has
 * ended: for servers with many requests under way, where it matters what each
 * of them costs, and not how soon after it came the first of them is seen. Any
 * thread.
 */
void busy_poll_pause(void);
void busy_poll_resume(void);

/* A wait begins; is it worth looking? */
bool busy_poll_begin(struct busy_poll *b);
/* Nothing was there: let others run; false when the time is over. */
bool busy_poll_again(struct busy_poll *b);
/* The wait is over. @caught: while looking; else a sleep came between. */
void busy_poll_end(struct busy_poll *b, bool caught);

#endif /* BASE_RUNTIME_BUSY_POLL_H */
