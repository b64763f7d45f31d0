/* Where the entries of a column begin in a skip list: a hash table from the
 * stem of keys, which is what all versions of one cell begin with, to the first
 * node that has it. A new version goes right before that node, so that whoever
 * overwrites cells need not search for them.
 *
 * It is worth its time only where cells are written again while the list lives.
 * So it counts what was looked up in vain, and gives up when that is nearly
 * all.
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

/* Zeros are an empty one. */
struct stem_index {
    struct stem_slot *slots; /* Owned. */
    size_t slot_count;       /* A power of two, or 0. */
    size_t stem_count;
    size_t hit_count;
    size_t miss_count;
    bool given_up;
};

void stem_index_close(struct stem_index *x);

/* Of @count keys that were inserted: did they come in no order, or many of them
 * to cells that were there? */
bool stem_index_saw_disorder(const struct stem_index *x, size_t count);

/* The first node whose key begins with @stem, whose hash is @hash; NULL: not
 * known. PRE: it has not given up. */
struct skip_node *
stem_index_find(struct stem_index *x, struct slice stem, uint64_t hash);

/* A stem with @hash will be looked up: the CPU may get its slot meanwhile.
 * Then, a little later, what its first node is, unless another stem has that
 * hash. */
void stem_index_ask_for(const struct stem_index *x, uint64_t hash);
struct skip_node *stem_index_guess(const struct stem_index *x, uint64_t hash);

/* From now on @first is the first of the stem with @hash, before @instead, as
 * it was found (NULL: none was). */
void stem_index_put(struct stem_index *x,
                    uint64_t hash,
                    const struct skip_node *instead,
                    struct skip_node *first);

#endif /* BIGTABLE_LSM_STEM_INDEX_H */
