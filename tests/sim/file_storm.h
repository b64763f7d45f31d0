/* Clients of the file system's contents in a storm: writers that append, flush
 * and sync, and leave files open when they die; readers; one who takes files
 * from their writers; appenders of records to shared files; and the comparison
 * of all that is read with what was written.
 *
 * Used as lock_storm.h. Threads: one.
 */
#ifndef TESTS_SIM_FILE_STORM_H
#define TESTS_SIM_FILE_STORM_H

#include "base/sim/sim_nemesis.h"
#include "tests/sim/cell.h"
#include "tests/sim/storm.h"

struct file_storm;

/* On the director; machines of their own are booted: @writers, as many
 * appenders of records, one reader, one taker. Owned. */
struct file_storm *
file_storm_new(struct storm *s, struct sim_cell *cell, unsigned writers);
/* Fault @f begins on chunk server @m: nemesis_options.allow may call it. */
void file_storm_note_fault(struct file_storm *f,
                           enum nemesis_fault fault,
                           struct world *m);
/* On the director, once the file system is whole: read everything. Parks. */
void file_storm_finish(struct file_storm *f);
uint64_t file_storm_bytes(const struct file_storm *f);
void file_storm_free(struct file_storm *f);

#endif /* TESTS_SIM_FILE_STORM_H */
