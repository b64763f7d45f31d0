/* Bump allocation. Blocks double from 4 KiB to 1 MiB, so that a small arena
 * costs little and a large one calls malloc() rarely; a request that exceeds
 * the block to come gets a block of its own size. reset() keeps up to 1 MiB
 * of blocks, because the record or call after it needs about as much memory
 * as the one before. */
#include "base/core/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include "base/core/panic.h"

#define ARENA_BLOCK_BYTES_MIN ((size_t)4096)
#define ARENA_BLOCK_BYTES_MAX ((size_t)1 << 20)
#define ARENA_SPARE_BYTES_MAX ((size_t)1 << 20)

struct arena_block {
    struct arena_block *older; /* Next in `block` or `spare`. */
    size_t bytes;              /* Usable bytes that follow this header. */
};

STATIC_ASSERT(sizeof(struct arena_block) % 8 == 0, "blocks keep alignment");

void arena_init(struct arena *a)
{
    *a = (struct arena){0};
}

static void free_blocks(struct arena_block *b)
{
    while (b) {
        struct arena_block *older = b->older;
        mem_free(b);
        b = older;
    }
}

void arena_close(struct arena *a)
{
    free_blocks(a->block);
    free_blocks(a->spare);
    arena_init(a);
}

static void use_block(struct arena *a, struct arena_block *b)
{
    b->older = a->block;
    a->block = b;
    a->next = (char *)(b + 1);
    a->end = a->next + b->bytes;
    INVARIANT(a->bytes <= a->reserved_bytes); /* INV-2 */
}

void arena_reset(struct arena *a)
{
    struct arena_block *b = a->block;
    size_t spare_bytes = 0;
    struct arena_block *s;

    for (s = a->spare; s; s = s->older)
        spare_bytes += s->bytes;
    while (b) {
        struct arena_block *older = b->older;
        if (spare_bytes + b->bytes <= ARENA_SPARE_BYTES_MAX) {
            spare_bytes += b->bytes;
            b->older = a->spare;
            a->spare = b;
        } else {
            a->reserved_bytes -= b->bytes;
            mem_free(b);
        }
        b = older;
    }
    a->block = NULL;
    a->next = a->end = NULL;
    a->bytes = 0;
    if (a->spare) {
        b = a->spare;
        a->spare = b->older;
        use_block(a, b);
    }
}

void *arena_alloc_block(struct arena *a, size_t size)
{
    size_t n = (size + 7) & ~(size_t)7;
    size_t bytes = a->block ? a->block->bytes * 2 : ARENA_BLOCK_BYTES_MIN;
    struct arena_block *b = a->spare;
    void *p;

    PRE(n >= size && n < SIZE_MAX / 2);
    if (b && b->bytes >= n) {
        a->spare = b->older;
    } else {
        if (bytes > ARENA_BLOCK_BYTES_MAX)
            bytes = ARENA_BLOCK_BYTES_MAX;
        if (bytes < n)
            bytes = n;
        b = mem_alloc(sizeof(*b) + bytes);
        b->bytes = bytes;
        a->reserved_bytes += bytes;
    }
    use_block(a, b);
    p = a->next;
    a->next += n;
    a->bytes += n;
    POST(a->next <= a->end); /* INV-1 */
    return p;
}

void *arena_zalloc(struct arena *a, size_t size)
{
    void *p = arena_alloc(a, size);
    memset(p, 0, size);
    return p;
}

struct slice arena_dup(struct arena *a, struct slice s)
{
    char *p = arena_alloc(a, s.len + 1);
    if (s.len)
        memcpy(p, s.data, s.len);
    p[s.len] = '\0';
    return slice_make(p, s.len);
}

char *arena_strdup(struct arena *a, const char *s)
{
    size_t n = strlen(s) + 1;
    return memcpy(arena_alloc(a, n), s, n);
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap;
    va_list again;
    char *p;
    int n;

    va_start(ap, fmt);
    va_copy(again, ap);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    PRE(n >= 0);
    p = arena_alloc(a, (size_t)n + 1);
    vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return p;
}
