/* A map from byte strings to 64-bit values or pointers: open addressing, linear
 * probing, no tombstones.
 *
 * Keys are copied, or borrowed (HASH_KEYS_BORROWED): then they must outlive
 * their entries. One thread.
 *
 * Invariants, kept by put and remove; also those of hash_slots.h
 *     INV-1. cap is 0 or a power of two, and a quarter of the slots is empty.
 *     INV-2. count is the number of slots whose hash is not 0.
 */
#ifndef BASE_CORE_HASH_MAP_H
#define BASE_CORE_HASH_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/slice.h"

union hash_value {
    uint64_t number;
    void *pointer;
};

struct hash_slot {
    uint64_t hash; /* 0: the slot is empty. */
    struct slice key;
    union hash_value value;
};

enum hash_keys {
    HASH_KEYS_COPIED,
    HASH_KEYS_BORROWED
};

struct hash_map {
    struct hash_slot *slots; /* Owned; NULL while empty. */
    size_t count;            /* Entries. */
    size_t cap;              /* Slots: 0 or a power of two. */
    enum hash_keys keys;
};

/* A number as a key: its bytes, borrowed from @id. */
static inline struct slice hash_key_u64(const uint64_t *id)
{
    return slice_make(id, sizeof(*id));
}

/* An empty map that owns no memory yet. */
void hash_map_init(struct hash_map *m, enum hash_keys keys);
void hash_map_close(struct hash_map *m); /* Values are the caller's. */
void hash_map_clear(struct hash_map *m); /* Keeps the memory. */

/* The value of @key, or NULL. Borrowed until the next put or remove. */
union hash_value *hash_map_get(const struct hash_map *m, struct slice key);
/* The same; an absent key is added with the value zero, and *added (NULL
 * allowed) is true then. */
union hash_value *
hash_map_put(struct hash_map *m, struct slice key, bool *added);
/* True if there was one; its value goes to *old (NULL allowed). */
bool hash_map_remove(struct hash_map *m,
                     struct slice key,
                     union hash_value *old);

/* Iterate over all entries in no order: start with *at = 0; NULL at the end.
 * No put or remove between calls. */
struct hash_slot *hash_map_next(const struct hash_map *m, size_t *at);

#endif /* BASE_CORE_HASH_MAP_H */
