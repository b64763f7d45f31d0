/* Binary heaps over an array of any type: the first item is before all others.
 *
 *     static bool timer_before(struct loop *l, struct fiber *const *a, …)
 *     HEAP_DEFINE(timer_heap, struct fiber *, struct loop *, timer_before)
 *
 * defines static functions for that array, whose memory is the caller's:
 *
 *     timer_heap_sift_up(l, items, at)            items[at] may belong higher,
 *     timer_heap_sift_down(l, items, count, at)   or lower
 *     timer_heap_make(l, items, count)            of items in any order
 *     timer_heap_take_out(l, items, &count, at)   any item; the order stays
 *
 * @before(ctx, a, b) is a strict order and is inlined. HEAP_DEFINE_PLACED also
 * calls @placed(ctx, item, at) whenever an item moves, for items that record
 * their own index.
 *
 * Invariants
 *     INV-1. No items[i] is before items[(i - 1) / 2].
 *
 * Threads: none of its own.
 */
#ifndef BASE_CORE_HEAP_H
#define BASE_CORE_HEAP_H

#include <stddef.h>

#include "base/core/macros.h"

#define HEAP_NOT_PLACED(ctx, item, at) ((void)(ctx))

#define HEAP_DEFINE(name, type, ctx_type, before)                              \
    HEAP_DEFINE_PLACED(name, type, ctx_type, before, HEAP_NOT_PLACED)

#define HEAP_DEFINE_PLACED(name, type, ctx_type, before, placed)               \
    UNUSED static inline void name##_sift_up(ctx_type ctx, type *items,        \
                                             size_t at)                        \
    {                                                                          \
        type item = items[at];                                                 \
        while (at > 0 && before(ctx, &item, &items[(at - 1) / 2])) {           \
            items[at] = items[(at - 1) / 2];                                   \
            placed(ctx, &items[at], at);                                       \
            at = (at - 1) / 2;                                                 \
        }                                                                      \
        items[at] = item;                                                      \
        placed(ctx, &items[at], at);                                           \
    }                                                                          \
                                                                               \
    UNUSED static inline void name##_sift_down(ctx_type ctx, type *items,      \
                                               size_t count, size_t at)        \
    {                                                                          \
        type item = items[at];                                                 \
        for (;;) {                                                             \
            size_t child = 2 * at + 1;                                         \
            if (child >= count)                                                \
                break;                                                         \
            if (child + 1 < count &&                                           \
                before(ctx, &items[child + 1], &items[child]))                 \
                child++;                                                       \
            if (!before(ctx, &items[child], &item))                            \
                break;                                                         \
            items[at] = items[child];                                          \
            placed(ctx, &items[at], at);                                       \
            at = child;                                                        \
        }                                                                      \
        items[at] = item;                                                      \
        placed(ctx, &items[at], at);                                           \
    }                                                                          \
                                                                               \
    UNUSED static inline void name##_make(ctx_type ctx, type *items,           \
                                          size_t count)                        \
    {                                                                          \
        for (size_t i = count / 2; i-- > 0;)                                   \
            name##_sift_down(ctx, items, count, i);                            \
    }                                                                          \
                                                                               \
    UNUSED static inline void name##_take_out(ctx_type ctx, type *items,       \
                                              size_t *count, size_t at)        \
    {                                                                          \
        if (at == --*count)                                                    \
            return;                                                            \
        items[at] = items[*count];                                             \
        if (at > 0 && before(ctx, &items[at], &items[(at - 1) / 2]))           \
            name##_sift_up(ctx, items, at);                                    \
        else                                                                   \
            name##_sift_down(ctx, items, *count, at);                          \
    }                                                                          \
    STATIC_ASSERT(sizeof(type) > 0, "a semicolon follows")

#endif /* BASE_CORE_HEAP_H */
