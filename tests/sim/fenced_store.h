/* A store that takes writes under the lock service's locks: each carries its
 * sequencer, and one whose lock has changed hands is refused, however late it
 * comes.
 *
 * It runs on a machine of its own which no nemesis strikes, checks sequencers
 * with a session of its own, one at a time, and puts every check into the
 * history of the lock service. Taking a sequencer older than one it took
 * before fails the storm.
 *
 * Threads: one.
 */
#ifndef TESTS_SIM_FENCED_STORE_H
#define TESTS_SIM_FENCED_STORE_H

#include "base/core/err.h"
#include "tests/lib/history_lock.h"
#include "tests/sim/cell.h"

struct fenced_store;

/* Booted at once. @h is borrowed, and must live as long. Owned. */
struct fenced_store *fenced_store_new(struct sim_cell *cell,
                                      struct history_lock *h);
void fenced_store_free(struct fenced_store *s); /* PRE: its machine is down. */
struct world *fenced_store_machine(const struct fenced_store *s);
uint64_t fenced_store_taken(const struct fenced_store *s);
uint64_t fenced_store_refused(const struct fenced_store *s);

/* Write under the lock @sequencer describes, from the machine of the running
 * fiber. Parks. Errors: ERR_ABORTED (refused); those of calls. */
MUST_CHECK int fenced_store_write(struct fenced_store *s,
                                  const char *sequencer,
                                  struct err *err);

/* The contents of a sequencer. */
struct sequencer {
    bool shared;
    uint64_t generation;
    const char *path; /* Borrowed from its text. */
};

struct sequencer sequencer_parse(const char *text);

#endif /* TESTS_SIM_FENCED_STORE_H */
