/* The entries of a memtable in the order in which they came, which is that of
 * their sequence numbers, with the marks of their commits (change_marks.h):
 * what a table that keeps its changes has beside a skip list. It costs a
 * pointer an entry.
 *
 * Threads: one writer; readers at any time while the memtable lives, which see
 * what was added before they look. An entry may be seen here before it is in
 * the skip list: readers know by its number whether they may.
 */
#ifndef BIGTABLE_LSM_CHANGE_ORDER_H
#define BIGTABLE_LSM_CHANGE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/slice.h"
#include "bigtable/lsm/change_marks.h"

struct change_order;
struct mark_chunk;
struct order_chunk;
struct skip_node;

/* Owned. */
struct change_order *change_order_new(void);
void change_order_free(struct change_order *o); /* NULL is allowed. */

/* The entries that follow are of the commit that begins at @sequence, at @us;
 * @again: the one before it was to the same row. It may be said once for each
 * entry. */
void change_order_note(struct change_order *o,
                       uint64_t sequence,
                       int64_t us,
                       bool again);
/* Add an entry's node, which stays. PRE: its commit was noted. Returns how much
 * memory was taken for it, mostly 0. */
size_t change_order_add(struct change_order *o, const struct skip_node *n);

/* While a tablet is recovered its entries come in no order, and each commit is
 * noted; at the end all is put in order. PRE of the second: nobody reads @o. */
void change_order_note_loose(struct change_order *o,
                             uint64_t sequence,
                             int64_t us);
void change_order_sort(struct change_order *o);

/* Number of the first entry; UINT64_MAX: there is none. */
uint64_t change_order_first(const struct change_order *o);
/* Append the marks of commits that begin at or before @sequence_max. */
void change_order_copy_marks(const struct change_order *o,
                             uint64_t sequence_max,
                             struct change_marks *out);

/* The mark of the entry numbered @sequence, the last one at or before it.
 * False: there is none. */
bool change_order_find_mark(const struct change_order *o,
                            uint64_t sequence,
                            struct change_mark *out);

/* A walk over the entries in the order of their numbers. */
struct order_cursor {
    const struct order_chunk *chunk;
    const struct mark_chunk *marks;
    size_t at;
    size_t mark_at;
    uint64_t sequence_max;
    /* The entry it is at; node NULL: the end. Borrowed of the memtable. */
    const struct skip_node *node;
    uint64_t sequence;
    int64_t us;    /* Of its commit. */
    uint64_t mark; /* The last one at or before it: a number. */
};

/* To the first entry numbered above @after; those above @sequence_max are not
 * there. */
void order_cursor_open(struct order_cursor *c,
                       const struct change_order *o,
                       uint64_t after,
                       uint64_t sequence_max);
void order_cursor_next(struct order_cursor *c); /* PRE: c->node. */

#endif /* BIGTABLE_LSM_CHANGE_ORDER_H */
