/* How the rows of a tablet are cut into ranges, for counting which of them are
 * hot: an immutable list of at most HEAT_RANGES_MAX ranges, shared by the
 * tablet that counts and by the records of what it counted.
 *
 * The cuts come from a sample of the keys that were read and written, not from
 * the rows that are stored: so a hot part is cut finely, a row that alone makes
 * a sixteenth of the load has a range for itself, and nothing is read for it.
 * 16 ranges are what a hot key needs to stand out by an order of magnitude in
 * one tablet, and a table's picture has the ranges of all its tablets; more
 * would cost memory for each minute of the day.
 *
 * Keys are compared by their first HEAT_KEY_BYTES_MAX bytes, and cuts are no
 * longer: so a key that was cut off there is still put into the right range.
 *
 * Threads: any; immutable.
 */
#ifndef BIGTABLE_TABLET_HEAT_LAYOUT_H
#define BIGTABLE_TABLET_HEAT_LAYOUT_H

#include <stdatomic.h>
#include <stddef.h>

#include "base/core/slice.h"

#define HEAT_RANGES_MAX    16
#define HEAT_KEY_BYTES_MAX 128U

/* Which rows are counted: the tablet's. Borrowed. */
struct heat_place {
    const char *table;
    struct slice start;
    struct slice end; /* Empty: no bound. */
};

/* INV-1. The bounds ascend strictly, but for the last, which may be empty: no
 *        bound. */
struct heat_layout {
    atomic_uint references;
    size_t count;                             /* Of ranges, at least 1. */
    struct slice bounds[HEAT_RANGES_MAX + 1]; /* Range i: [i, i + 1). */
    const char *table;
    char bytes[]; /* Of the bounds and the name. */
};

/* The first bytes of @key, by which it is compared. */
struct slice heat_key(struct slice key);

/* The layout of @place cut at those of the @count @samples that divide them
 * best; with none, one range. Where they make fewer ranges than there may be,
 * some cuts of @before (NULL: there are none) remain. @samples is sorted by it.
 * One reference, the caller's. */
struct heat_layout *heat_layout_new(const struct heat_place *place,
                                    struct slice *samples,
                                    size_t count,
                                    const struct heat_layout *before);
struct heat_layout *heat_layout_ref(struct heat_layout *l);
/* NULL is allowed. */
void heat_layout_unref(struct heat_layout *l);
/* Bytes that it takes. */
size_t heat_layout_bytes(const struct heat_layout *l);
/* The range that has @key, or the nearest. */
size_t heat_layout_find(const struct heat_layout *l, struct slice key);

#endif /* BIGTABLE_TABLET_HEAT_LAYOUT_H */
