/* Principals beside the cluster's own, and files whose owners, modes, grants
 * and names change under them. Nobody ever gets the bytes of a file, its size
 * or a directory's names while he was denied them for as long as the call took;
 * nobody is refused what was allowed during the whole call, writing files of
 * one's own included. A file that is open already is read for as long as a
 * proof lasts after the right was taken away, and no longer.
 *
 *     spy = file_spy_new(storm, cell);     before the cell boots
 *     file_spy_start(spy);                 clients' machines boot
 *     … the storm …
 *     file_spy_finish(spy);
 *     file_spy_free(spy);
 *
 * Threads: one.
 */
#ifndef TESTS_SIM_FILE_SPY_H
#define TESTS_SIM_FILE_SPY_H

#include <stdint.h>

#include "tests/sim/cell.h"
#include "tests/sim/storm.h"

struct file_spy;

/* Lets @cell, which has not booted, prove names and turn keys of proofs in
 * seconds. Owned. */
struct file_spy *file_spy_new(struct storm *s, struct sim_cell *cell);
void file_spy_start(struct file_spy *f);
/* On the director, when all is healed: a reader who keeps his right reads on,
 * one who lost it does not. Parks. */
void file_spy_finish(struct file_spy *f);
/* Answers that were judged; for people. */
uint64_t file_spy_answers(const struct file_spy *f);
void file_spy_free(struct file_spy *f);

#endif /* TESTS_SIM_FILE_SPY_H */
