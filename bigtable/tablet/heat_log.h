/* How much the rows of a server's tablets were read and written, by ranges and
 * by minutes, for a day: a queue of records, from the newest to as old as its
 * memory allows.
 *
 * A record belongs to no tablet: it has the rows that it is about in its layout
 * (heat_layout.h), so it stays when the tablet is moved or split, and is gone a
 * day later. A minute in which a tablet was not used has no record.
 *
 * Memory: at most HEAT_BYTES_MAX a server, three quarters of it for records. A
 * record of a tablet in use takes about 100 bytes, so 140 kB a day; 350 tablets
 * that are used in every minute are kept in full. With more of them, the
 * minutes of those that are used least are put together by ten, without ranges,
 * until the rest fits: then a tablet takes 3 bytes a minute, and 10,000 tablets
 * in use are remembered for a day. Then the oldest records are dropped.
 *
 * Invariants
 *     INV-1. record_bytes is what blocks and the layouts charged to them take,
 *            and blocks are dropped while it is above three quarters of
 *            bytes_max; counter_bytes is what was charged for counters, at most
 *            the other quarter.
 *     INV-2. Every record holds a reference to its layout.
 *
 * Threads: any.
 */
#ifndef BIGTABLE_TABLET_HEAT_LOG_H
#define BIGTABLE_TABLET_HEAT_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "bigtable/tablet/heat_layout.h"
#include "bigtable/tablet/load_meter.h"

struct heat_log;

#define HEAT_BYTES_MAX  ((size_t)64 << 20)
#define HEAT_MINUTE_US  UINT64_C(60000000)
#define HEAT_DAY        1440U /* Minutes. */
#define HEAT_SPAN_MAX   10U   /* Minutes of a tablet that is used little. */
#define HEAT_MINUTE_MAX UINT32_MAX

/* Rows read, rows written, and bytes of both, of one range. */
typedef uint64_t heat_counts[LOAD_KIND_COUNT];

/* The counts of the @span minutes from @minute (since the epoch) on. */
struct heat_record {
    struct heat_layout *layout; /* Borrowed. */
    uint32_t minute;
    uint32_t span;
    heat_counts counts[HEAT_RANGES_MAX];
};

/* An empty log that keeps @bytes_max. Owned. */
struct heat_log *heat_log_new(size_t bytes_max);
/* PRE: no tablet counts for it any more. NULL is allowed. */
void heat_log_free(struct heat_log *l);
/* Append a copy of @r. */
void heat_log_append(struct heat_log *l, const struct heat_record *r);
/* Give @fn each record that touches the minutes [@from, @to), those that are
 * appended meanwhile aside; the record is valid during the call. */
void heat_log_each(struct heat_log *l,
                   uint32_t from,
                   uint32_t to,
                   void (*fn)(void *ctx, const struct heat_record *r),
                   void *ctx);

/* Operations a minute below which a tablet is used little: 0 while there is
 * room for all. */
uint64_t heat_log_threshold(const struct heat_log *l);
/* Charge @bytes for the counters of a tablet. False: there is no room. */
bool heat_log_charge(struct heat_log *l, size_t bytes);
void heat_log_uncharge(struct heat_log *l, size_t bytes);
/* Bytes that it takes. */
size_t heat_log_bytes(const struct heat_log *l);

#endif /* BIGTABLE_TABLET_HEAT_LOG_H */
