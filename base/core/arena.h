/* Memory that dies together: bump allocation from growing blocks.
 *
 * arena_reset() keeps the blocks for the next use, which is what a per-record
 * arena wants; arena_close() gives them back. Not thread-safe.
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

void arena_init(struct arena *a);
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

void *arena_zalloc(struct arena *a, size_t size);

/* A copy of @s in the arena, NUL-terminated behind its end. */
struct slice arena_dup(struct arena *a, struct slice s);
char *arena_strdup(struct arena *a, const char *s);
char *arena_printf(struct arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif /* BASE_CORE_ARENA_H */
