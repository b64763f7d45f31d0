/* Which files nobody needs any more: marks of what is named, and a decision for
 * each file. No I/O, no clock.
 *
 * METADATA is read from end to end while tablets split, move and compact, so
 * one reading may miss a file that a row behind the reader just took over from
 * a row before it. What two whole readings in a row did not meet is named by
 * nobody: a file's name moves between tablets only by a split or a merge, and
 * stays in the row it went to for the rest of the second reading or is dropped.
 * Files also wait for some time before they go, which is the master's own: the
 * clocks of those that wrote them may differ. Who may yet name an SSTable
 * that it has written is known by pending_outputs.h.
 *
 *     garbage_begin(&g)            a reading begins
 *     garbage_mark(&g, number)     …
 *     garbage_end(&g)              it was whole; garbage_abandon() if not
 *     garbage_is_due(&g, …)        may this one go?
 */
#ifndef BIGTABLE_MASTER_GARBAGE_H
#define BIGTABLE_MASTER_GARBAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/hash_map.h"

struct garbage {
    struct hash_map marks[2]; /* Of the reading before, and of the newest. */
    struct hash_map reading;  /* Of the one that goes on. */
    struct hash_map since;    /* Found to be due for any age: first, in ns. */
    unsigned whole;           /* Readings in a row, up to 2. */
};

void garbage_init(struct garbage *g);
void garbage_close(struct garbage *g);

void garbage_begin(struct garbage *g);
/* @number: of an SSTable, or of a server whose log is needed. */
void garbage_mark(struct garbage *g, uint64_t number);
void garbage_end(struct garbage *g);
/* The reading broke off: it counts for nothing. */
void garbage_abandon(struct garbage *g);

/* Was it named by neither of the last two readings, and is it older than
 * @safe_age_us? */
bool garbage_is_due(const struct garbage *g,
                    uint64_t number,
                    uint64_t age_us,
                    uint64_t safe_age_us);

/* For how long, as of @now_ns, @number has been due for any age, whenever that
 * was looked at; 0 when it is not. */
uint64_t garbage_waits_us(struct garbage *g, uint64_t number, uint64_t now_ns);

#endif /* BIGTABLE_MASTER_GARBAGE_H */
