/* Polling for a while before a thread sleeps.
 *
 * Waking a sleeping thread costs some microseconds where its CPU is busy, and
 * fifty or more where that has gone to sleep as well: more than most calls
 * take. So a waiting thread (a loop for its sockets, a plain thread for its
 * waiter) first polls, letting other threads run in between, and sleeps only if
 * nothing came.
 *
 * The cost is bounded. Polling in vain is paid from a credit that grows with
 * elapsed time and with each successful poll; without credit, after a long
 * wait, or where waits are long on average, a thread sleeps at once. An idle
 * process therefore uses no CPU, and one that is called now and then uses at
 * most a quarter of a CPU for each thread. If other threads want the CPU,
 * yielding to them costs a turn of theirs, which is charged many times over, so
 * that on a busy machine nothing polls either.
 *
 * Threads: an object belongs to the one thread that waits.
 *
 * Invariants, kept by the three functions below
 *     INV-1. credit_ns lies between -DEBT_MAX_NS and CREDIT_MAX_NS.
 */
#ifndef BASE_RUNTIME_BUSY_POLL_H
#define BASE_RUNTIME_BUSY_POLL_H

#include <stdbool.h>
#include <stdint.h>

/* How long one poll lasts, unless busy_poll_set_us() changed it. */
#define BUSY_POLL_US_DEFAULT 50
#define BUSY_POLL_US_MAX     10000

/* All zeros are its initial state. */
struct busy_poll {
    int64_t credit_ns;
    uint64_t credited_ns; /* When time was last added to the credit. */
    uint64_t wait_ns;     /* Duration of the last wait. */
    uint64_t average_ns;  /* Of the last waits. */
    uint64_t began_ns;    /* This wait. */
    uint64_t looked_ns;   /* When the last poll was made. */
    uint64_t until_ns;    /* When polling ends. */
};

/* Set for all threads of the process how long they poll: @us at a time; 0:
 * never. Any thread. */
void busy_poll_set_us(uint64_t us);

/* Stop all polling until a few milliseconds after each pause has ended: for
 * servers with many requests under way, where the cost of each counts for more
 * than the delay of the first. Pauses nest. Any thread.
 */
void busy_poll_pause(void);
void busy_poll_resume(void);

/* A wait begins; true if polling is worth its cost. */
bool busy_poll_begin(struct busy_poll *b);
/* The poll found nothing: yield to other threads; false when the time is
 * over. */
bool busy_poll_again(struct busy_poll *b);
/* The wait is over. @caught: while polling; else the thread slept. */
void busy_poll_end(struct busy_poll *b, bool caught);

#endif /* BASE_RUNTIME_BUSY_POLL_H */
