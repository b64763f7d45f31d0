/* Hash tables with open addressing and linear probing, over an array of any
 * kind of slots. The owner of the array decides when it grows and where its
 * memory comes from; this header finds, moves and removes slots.
 *
 *     HASH_SLOTS_DEFINE(word_slots, struct word *, word_is_free, word_hash)
 *
 * defines static functions:
 *
 *     word_slots_move(from, from_cap, to, to_cap)   all of them, to free slots
 *     word_slots_take_out(slots, cap, at)           one; later ones move up
 *
 * and a search with a condition to stop at:
 *
 *     HASH_SLOTS_SEEK(at, cap, hash, !slots[at] || is(slots[at], key));
 *
 * is_free(const type *) says whether a slot is empty, hash(const type *) is the
 * hash of its item. Free slots are all zeros.
 *
 * Invariants, for arrays of @cap slots, a power of two
 *     INV-1. Between the home of an item (its hash modulo cap) and its slot no
 *            slot is free: a search ends at the first free one.
 *     INV-2. At least one slot is free.
 *
 * Threads: none of its own.
 */
#ifndef BASE_CORE_HASH_SLOTS_H
#define BASE_CORE_HASH_SLOTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/macros.h"

/* Set @at, a size_t, to the first slot, from the home of @hash on, for which
 * @stop (an expression that may use @at) is true. */
#define HASH_SLOTS_SEEK(at, cap, hash, stop)                                   \
    do {                                                                       \
        (at) = (size_t)(hash) & ((size_t)(cap)-1);                             \
        while (!(stop))                                                        \
            (at) = ((at) + 1) & ((size_t)(cap)-1);                             \
    } while (0)

#define HASH_SLOTS_DEFINE(name, type, is_free, hash)                           \
    UNUSED static inline void name##_move(type const *from, size_t from_cap,   \
                                          type *to, size_t to_cap)             \
    {                                                                          \
        for (size_t i = 0; i < from_cap; i++) {                                \
            size_t at;                                                         \
            if (is_free(&from[i]))                                             \
                continue;                                                      \
            HASH_SLOTS_SEEK(at, to_cap, hash(&from[i]), is_free(&to[at]));     \
            to[at] = from[i];                                                  \
        }                                                                      \
    }                                                                          \
                                                                               \
    UNUSED static inline void name##_take_out(type *slots, size_t cap,         \
                                              size_t hole)                     \
    {                                                                          \
        size_t mask = cap - 1;                                                 \
        for (size_t at = (hole + 1) & mask; !is_free(&slots[at]);              \
             at = (at + 1) & mask) {                                           \
            size_t home = (size_t)hash(&slots[at]) & mask;                     \
            /* It may move to the hole if its home is not between them. */     \
            if (((at - home) & mask) >= ((at - hole) & mask)) {                \
                slots[hole] = slots[at];                                       \
                hole = at;                                                     \
            }                                                                  \
        }                                                                      \
        slots[hole] = (type){0};                                               \
    }                                                                          \
    STATIC_ASSERT(sizeof(type) > 0, "a semicolon follows")

#endif /* BASE_CORE_HASH_SLOTS_H */
