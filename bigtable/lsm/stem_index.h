/* Where the entries of a column begin in a skip list: a hash table from the
 * stem of keys, which is what all versions of one cell begin with, to the first
 * node that has it. A new version goes right before that node, so that an
 * overwrite needs no search.
 *
 * The index pays only where cells are written again while the list lives. So it
 * counts misses, and gives up when nearly all lookups miss.
 *
 * No stem is the beginning of another one. Threads: the list's writer alone.
 */
#ifndef BIGTABLE_LSM_STEM_INDEX_H
#define BIGTABLE_LSM_STEM_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/slice.h"

struct skip_node;

struct stem_slot {
    uint64_t hash;
    struct skip_node *first; /* NULL: the slot is free. */
};

/* Zeroed memory is an empty index.
 *
 * INV-1  At most half of the slots are taken, so a probe ends. */
struct stem_index {
    struct stem_slot *slots; /* Owned. */
    size_t slot_count;       /* A power of two, or 0. */
    size_t stem_count;
    size_t hit_count;
    size_t miss_count;
    bool given_up;
};

void stem_index_close(struct stem_index *x);

/* True if the @count inserted keys came in no order, or many of them overwrote
 * cells. */
bool stem_index_saw_disorder(const struct stem_index *x, size_t count);

/* The first node whose key begins with @stem, whose hash is @hash; NULL: the
 * index has none. PRE: it has not given up. */
struct skip_node *
stem_index_find(struct stem_index *x, struct slice stem, uint64_t hash);

/* Prefetch the slot of @hash; and, when it has come, a guess of the first node
 * of its stem, which is wrong if another stem has the same hash. */
void stem_index_ask_for(const struct stem_index *x, uint64_t hash);
struct skip_node *stem_index_guess(const struct stem_index *x, uint64_t hash);

/* Record @first as the first node of the stem with @hash, in the place of
 * @instead, which stem_index_find() returned (NULL: it found none). */
void stem_index_put(struct stem_index *x,
                    uint64_t hash,
                    const struct skip_node *instead,
                    struct skip_node *first);

#endif /* BIGTABLE_LSM_STEM_INDEX_H */
