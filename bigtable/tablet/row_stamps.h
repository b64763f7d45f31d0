/* When rows were written last: a slot for each hash of a row holds the number
 * of the last entry that a write to one of its rows got.
 *
 * Each write stamps the slots of its rows before its entries are visible. A
 * reader who sees entries up to N finds in the slot of a row a number no lower
 * than that of any write to the row up to N. So a slot that still holds what it
 * did shows that the row did not change: row transactions and the scan cache
 * rely on it. Two rows of one slot conflict without need, and no more.
 *
 * Threads: slots are read by any, and written under the write turn or by the
 * leader of a group (write_queue.h).
 */
#ifndef BIGTABLE_TABLET_ROW_STAMPS_H
#define BIGTABLE_TABLET_ROW_STAMPS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/hash.h"
#include "base/core/slice.h"

/* At 100,000 writes a second two rows of one slot outdate each other's entries
 * in the scan cache one second after they were made, on the average. */
#define ROW_STAMP_COUNT ((size_t)131072)

struct row_stamps {
    atomic_ullong *slots; /* ROW_STAMP_COUNT of them. Owned. */
};

/* Every slot is 0. */
void row_stamps_init(struct row_stamps *s);
void row_stamps_close(struct row_stamps *s);

/* The slot of @row, a plain name. Borrowed from @s. */
static inline atomic_ullong *row_stamps_slot(const struct row_stamps *s,
                                             struct slice row)
{
    return &s->slots[hash64_slice(row) % ROW_STAMP_COUNT];
}

/* Every row counts as written at @sequence. */
void row_stamps_set_all(struct row_stamps *s, uint64_t sequence);

#endif /* BIGTABLE_TABLET_ROW_STAMPS_H */
