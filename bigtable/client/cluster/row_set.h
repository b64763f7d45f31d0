/* Sets of rows, as ranges in order: what a scan still has to read. Pure.
 *
 * Threads: one.
 */
#ifndef BIGTABLE_CLIENT_CLUSTER_ROW_SET_H
#define BIGTABLE_CLIENT_CLUSTER_ROW_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/arena.h"
#include "bigtable/quarry.h"

struct row_set {
    struct arena arena;          /* Of the keys. */
    struct quarry_range *ranges; /* Ascending, disjoint, none empty. */
    size_t count;
};

/* The rows @opts (may be NULL: all) asks for; keys are copied. */
void row_set_init(struct row_set *s, const struct quarry_read_options *opts);
void row_set_close(struct row_set *s);

/* The first row at or behind @from that may be in the set: *@row is borrowed
 * from the set or @from. False: there is none. */
bool row_set_next(const struct row_set *s,
                  struct slice from,
                  struct slice *row);

/* Write into @out, with room for @max, the part of the set in [@from, @end) (an
 * empty @end: no bound), of keys of at most @bytes together but at least one
 * range. *@stop is where the part ends: @end, or an earlier key when there was
 * no room. Returns how many there are; all is borrowed. */
size_t row_set_part(const struct row_set *s,
                    struct slice from,
                    struct slice end,
                    size_t bytes,
                    struct quarry_range *out,
                    size_t max,
                    struct slice *stop);

#endif /* BIGTABLE_CLIENT_CLUSTER_ROW_SET_H */
