/* Memory that is freed together: bump allocation from growing blocks.
 *
 * arena_reset() keeps the blocks for the next use, as a per-record arena needs;
 * arena_close() frees them. Not thread-safe.
 *
 * Invariants, kept by every function here
 *     INV-1. next <= end; both lie in `block`, or are NULL with it.
 *     INV-2. bytes <= reserved_bytes.
 */
#ifndef BASE_CORE_ARENA_H
#define BASE_CORE_ARENA_H

#include <stddef.h>

#include "base/core/slice.h"

struct arena_block;

struct arena {
    char *next;                /* First free byte of the current block. */
    char *end;                 /* End of the current block. */
    struct arena_block *block; /* Newest block; linked to older ones. */
    struct arena_block *spare; /* Kept by reset for reuse. */
    size_t bytes;              /* Handed out since the last reset. */
    size_t reserved_bytes;     /* Held from the system, spare included. */
};

/* An arena without memory: nothing fails, and nothing needs closing before
 * the first allocation. */
void arena_init(struct arena *a);
/* Free everything; @a may be used again. */
void arena_close(struct arena *a);

/* Everything handed out becomes invalid; at most 1 MiB of blocks is kept. */
void arena_reset(struct arena *a);

/* Slow path of arena_alloc. */
void *arena_alloc_block(struct arena *a, size_t size);

/* @size bytes aligned to 8, uninitialised; live until reset or close. */
static inline void *arena_alloc(struct arena *a, size_t size)
{
    size_t n = (size + 7) & ~(size_t)7;
    if (n >= size && n <= (size_t)(a->end - a->next)) {
        void *p = a->next;
        a->next += n;
        a->bytes += n;
        return p;
    }
    return arena_alloc_block(a, size);
}

/* As arena_alloc(), zeroed. */
void *arena_zalloc(struct arena *a, size_t size);

/* Copies in the arena, of a slice, a string and a formatted text; a NUL
 * follows each. */
struct slice arena_dup(struct arena *a, struct slice s);
char *arena_strdup(struct arena *a, const char *s);
char *arena_printf(struct arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif /* BASE_CORE_ARENA_H */
