/* The frame of the replicated logs that are measured beside each other: three
 * processes over loopback, of which the one that leads takes commands from
 * within and says how fast they were committed.
 *
 *     PROGRAM DIRECTORY IN_FLIGHT SECONDS    prints "commits/s p50-us p99-us"
 *     PROGRAM DIRECTORY kill                 prints the ms from the death of a
 *                                            leader to the next one's first
 *                                            commit
 */
#ifndef TESTS_BENCH_LOCK_H
#define TESTS_BENCH_LOCK_H

#include <stddef.h>
#include <stdint.h>

enum {
    BENCH_MEMBERS = 3,
    BENCH_COMMAND_BYTES = 16,
    BENCH_LATENCIES_MAX = 4000000
};

struct bench_cell {
    const char *directory;
    unsigned in_flight; /* 0: only tell who leads. */
    double seconds;
    int result_fd; /* Where the leader writes its line. */
};

/* Serve as member @id (1 to 3) until killed; leading, measure and tell.
 * Implemented by each peer. */
void bench_serve(const struct bench_cell *c, unsigned id);

/* A commit took @us; keeps it once the warm-up is over. */
void bench_commit(double us);
double bench_now(void); /* Seconds. */
/* True until the leader has committed enough; then it prints the result. */
int bench_continues(const struct bench_cell *c);
/* This member leads and has committed a command. */
void bench_report_leader(const struct bench_cell *c);

#endif /* TESTS_BENCH_LOCK_H */
