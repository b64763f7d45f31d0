/* The inside of a skip list, shared by its two ways of inserting: one entry at
 * a time (skip_list.c), and many whose searches are interleaved (skip_batch.c).
 */
#ifndef BIGTABLE_LSM_SKIP_LIST_PARTS_H
#define BIGTABLE_LSM_SKIP_LIST_PARTS_H

#include "base/core/coding.h"
#include "base/core/macros.h"
#include "bigtable/lsm/skip_list.h"

/* The result of a search: on each level, the last node before the key and the
 * one that followed it. Nodes inserted since may lie between the two. */
struct skip_place {
    struct skip_node *before[SKIP_LIST_HEIGHT_MAX];
    struct skip_node *after[SKIP_LIST_HEIGHT_MAX];
};

/* A node with copies of @key and @value, not linked in yet. */
struct skip_node *
skip_list__new_node(struct skip_list *l, struct slice key, struct slice value);

/* Link @n in. @stem_bytes: as of skip_list_insert(). @hash: of the stem; 0: not
 * known. @place: NULL: not searched for. */
void skip_list__link(struct skip_list *l,
                     struct skip_node *n,
                     size_t stem_bytes,
                     uint64_t hash,
                     const struct skip_place *place);

/* True if @key belongs directly after the last insert. */
bool skip_list__finger_fits(const struct skip_list *l, struct slice key);

/* True if the index of stems is kept: the list is large, and the index helped.
 */
bool skip_list__knows_stems(const struct skip_list *l);

static inline struct skip_node *next_at(const struct skip_node *n, size_t level)
{
    return atomic_load_explicit(&n->next[level], memory_order_acquire);
}

/* Keys of a list mostly differ within a few words: a call of memcmp() would
 * cost more than to compare these. */
static inline bool is_before(const struct skip_node *n, struct slice key)
{
    struct slice other;
    size_t bytes;
    if (!n)
        return false;
    other = skip_node_key(n);
    bytes = MIN_OF(other.len, key.len);
    for (size_t i = 0; i + sizeof(uint64_t) <= bytes; i += sizeof(uint64_t)) {
        uint64_t a = get_be64(other.data + i);
        uint64_t b = get_be64(key.data + i);
        if (a != b)
            return a < b;
    }
    return slice_cmp(other, key) < 0;
}

#endif /* BIGTABLE_LSM_SKIP_LIST_PARTS_H */
