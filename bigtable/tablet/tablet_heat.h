/* Counting which rows of one tablet are read and written, minute by minute.
 *
 * Every operation is counted until there are HEAT_EXACT of them in a slot of
 * the load meter (four seconds); of further ones, one in HEAT_WEIGHT counts
 * that often. Which one is drawn from the meter's own count by a sequence that
 * has no period, so that no pattern of keys hides in it: each operation counts
 * once on average. Of n operations on a range, the relative error is about
 * 4 / sqrt(n).
 *
 * The first HEAT_SAMPLES operations of a tablet decide how it is cut into
 * ranges (heat_layout.h). After each HEAT_SAMPLES more, if a range that could
 * be cut has a third of the load, it is cut again by them: at most
 * HEAT_CUTS_MAX times in a row, and once a minute in the long run. So a row
 * that becomes hot has a range of its own within seconds. Records keep the
 * ranges that they were counted by.
 *
 * A tablet that was never used costs a pointer; one that was, about 4 kB until
 * it leaves the server, charged to the log, or half a kB without ranges.
 *
 * Invariants (under the lock)
 *     INV-1. Counts are of the minutes [minute, last], none of a record.
 *     INV-2. A tablet without a sample has one range.
 *
 * Threads: any.
 */
#ifndef BIGTABLE_TABLET_TABLET_HEAT_H
#define BIGTABLE_TABLET_TABLET_HEAT_H

#include "base/core/macros.h"
#include "base/runtime/sync.h"
#include "bigtable/tablet/heat_log.h"

#define HEAT_EXACT    64U
#define HEAT_WEIGHT   16U
#define HEAT_SAMPLES  64U
#define HEAT_CUTS_MAX 4U

struct heat_counter;

struct tablet_heat {
    struct mutex lock;
    struct heat_counter *counter; /* Owned; NULL: never used. */
};

/* How often one of many operations counts: @number is its own among them. By
 * the golden ratio: multiples of an irrational number are spread evenly. */
static inline unsigned heat_weight_of_many(uint64_t number)
{
    return number * UINT64_C(0x9e3779b97f4a7c15) >> 60 ? 0 : HEAT_WEIGHT;
}

/* How often an operation counts which load_meter_add() has answered with
 * @metered: mostly 0. */
static inline unsigned heat_weight(uint64_t metered)
{
    return (metered & LOAD_COUNT_MAX) < HEAT_EXACT
               ? 1
               : heat_weight_of_many(metered);
}

void tablet_heat_init(struct tablet_heat *h);
/* Append what was counted to @log, and free the counter. @log may be NULL if
 * nothing was ever counted. */
void tablet_heat_close(struct tablet_heat *h, struct heat_log *log);

/* Rows that were read or written at and behind @key. */
struct heat_operation {
    enum load_kind kind; /* LOAD_READS or LOAD_WRITES. */
    struct slice key;
    uint64_t rows;
    uint64_t bytes;
};

/* Count @op, done at @now_us of the wall clock, for the tablet of @place. */
void tablet_heat_add(struct tablet_heat *h,
                     struct heat_log *log,
                     const struct heat_place *place,
                     const struct heat_operation *op,
                     uint64_t now_us);
/* Give @fn what is counted and in no record yet, if there is anything. */
void tablet_heat_look(struct tablet_heat *h,
                      struct heat_log *log,
                      const struct heat_place *place,
                      void (*fn)(void *ctx, const struct heat_record *r),
                      void *ctx);

#endif /* BIGTABLE_TABLET_TABLET_HEAT_H */
