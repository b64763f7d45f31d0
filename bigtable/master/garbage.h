/* Which files nobody names any more: marks of files that were named, and a
 * decision for each file. No I/O, no clock.
 *
 * METADATA is read from end to end while tablets split, move and compact, so
 * one reading may miss a file that a row which was read already took over from
 * a row that was not. A file that two whole readings in a row did not find is
 * named by nobody: a file's name moves between tablets only by a split or a
 * merge, and stays in the row it went to for the rest of the second reading, or
 * is dropped. Files also wait for some time before they are removed, by the
 * master's own clock, because the clocks of the servers that wrote them may
 * differ. Whether the server that wrote an SSTable may still name it is known
 * by pending_outputs.h.
 *
 *     garbage_begin(&g)            a reading begins
 *     garbage_mark(&g, number)     …
 *     garbage_end(&g)              it was whole; garbage_abandon() if not
 *     garbage_is_due(&g, …)        may this one go?
 *
 * Invariants, kept by garbage.c
 *     INV-1. `whole` counts the readings that marks has, at most 2.
 *     INV-2. A number that is marked is not in `since`. */
#ifndef BIGTABLE_MASTER_GARBAGE_H
#define BIGTABLE_MASTER_GARBAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/hash_map.h"

struct garbage {
    struct hash_map marks[2]; /* Of the last reading but one, and of the last.
                               */
    struct hash_map reading;  /* Of the reading in progress. */
    struct hash_map since;    /* When each was first found due, in ns. */
    unsigned whole;           /* Consecutive whole readings, up to 2. */
};

/* No reading is in progress, and nothing is due. */
void garbage_init(struct garbage *g);
/* Frees the marks. */
void garbage_close(struct garbage *g);

/* A reading of METADATA begins. */
void garbage_begin(struct garbage *g);
/* @number: of an SSTable, or of a server whose log is needed. */
void garbage_mark(struct garbage *g, uint64_t number);
/* The reading was whole. */
void garbage_end(struct garbage *g);
/* The reading broke off: it counts for nothing. */
void garbage_abandon(struct garbage *g);

/* Did neither of the last two readings find @number, and is it older than
 * @safe_age_us? */
bool garbage_is_due(const struct garbage *g,
                    uint64_t number,
                    uint64_t age_us,
                    uint64_t safe_age_us);

/* How long @number has been due, as of @now_ns, since this was first asked; 0:
 * it is not due. */
uint64_t garbage_waits_us(struct garbage *g, uint64_t number, uint64_t now_ns);

#endif /* BIGTABLE_MASTER_GARBAGE_H */
