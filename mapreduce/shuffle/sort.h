/* Sorting pairs by (partition, key): references with eight bytes of the key in
 * them are moved, the pairs are not.
 *
 * Radix from the most significant byte, so that a large array falls into pieces
 * that stay in the cache; keys that are equal in eight bytes are loaded with
 * the next eight and sorted again. Stable: equal keys keep their order.
 *
 * Any thread; nothing here parks.
 */
#ifndef MAPREDUCE_SHUFFLE_SORT_H
#define MAPREDUCE_SHUFFLE_SORT_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/slice.h"

struct sort_ref {
    uint64_t prefix; /* sort_prefix() of the key; destroyed by sorting. */
    uint32_t at;     /* Which pair: its meaning is the owner's. */
    uint32_t partition;
};

/* How the sorter reaches the key of a reference. */
struct sort_keys {
    struct slice (*key)(const void *ctx, uint32_t at);
    const void *ctx;
};

/* Bytes [from, from + 8) of @key as a big-endian number, zeros after its end.
 * PRE: from <= key.len. */
uint64_t sort_prefix(struct slice key, size_t from);

/* Sort @refs by partition, then key, using equally much room at @scratch. */
void sort_refs(struct sort_ref *refs,
               struct sort_ref *scratch,
               size_t count,
               unsigned partition_count,
               const struct sort_keys *keys);

/* Reverse the order in each partition, keeping that of equal keys. */
void sort_reverse(struct sort_ref *refs,
                  size_t count,
                  const struct sort_keys *keys);

#endif /* MAPREDUCE_SHUFFLE_SORT_H */
