/* Slabs of chunks, each with a stack of its idle ones, under a mutex: taken
 * once in 256 KiB, so its lock, and a walk over some hundred slabs, are not on
 * a hot path.
 */
#define _GNU_SOURCE /* MADV_HUGEPAGE */

#include "bigtable/sstable/chunk_pool.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/core/panic.h"
#include "base/runtime/sync.h"

/* A slab is a large page: searching a memtable costs less by the misses of the
 * table of pages, and its first touch is one fault instead of 512. */
#define SLAB_CHUNKS ((size_t)8)
#define SLAB_BYTES  (SLAB_CHUNKS * CHUNK_BYTES)
/* The first chunks come one by one: most processes need no more, and would be
 * charged for all of a large page. */
#define SINGLE_CHUNKS SLAB_CHUNKS

struct idle_chunk {
    struct idle_chunk *next;
};

struct slab {
    char *memory; /* Owned. */
    size_t count; /* Chunks in it. */
    struct idle_chunk *idle;
    size_t idle_count;
};

struct chunk_pool {
    struct mutex mutex; /* Guards all below; chunks come back on any thread. */
    struct slab *slabs; /* Owned. */
    size_t slab_count;
    size_t idle_count; /* Chunks of all slabs that are idle, */
    size_t out_count;  /* or taken and not given back. */
};

struct chunk_pool *chunk_pool_new(void)
{
    struct chunk_pool *p = mem_zalloc(1, sizeof(*p));
    mutex_init(&p->mutex);
    return p;
}

void chunk_pool_free(struct chunk_pool *p)
{
    INVARIANT(p->out_count == 0);
    for (size_t i = 0; i < p->slab_count; i++)
        free(p->slabs[i].memory);
    mem_free(p->slabs);
    mutex_close(&p->mutex);
    mem_free(p);
}

static void put_idle(struct chunk_pool *p, struct slab *s, void *chunk)
{
    struct idle_chunk *c = chunk;
    c->next = s->idle;
    s->idle = c;
    s->idle_count++;
    p->idle_count++;
    INVARIANT(s->idle_count <= s->count);
    INVARIANT(p->idle_count >= s->idle_count);
}

static struct slab *add_slab(struct chunk_pool *p)
{
    bool single = p->out_count < SINGLE_CHUNKS;
    size_t bytes = single ? CHUNK_BYTES : SLAB_BYTES;
    struct slab *s;
    PRE(mutex_is_held(&p->mutex));
    PRE(p->idle_count == 0);
    p->slabs = mem_realloc(p->slabs, (p->slab_count + 1) * sizeof(*p->slabs));
    s = &p->slabs[p->slab_count++];
    *s = (struct slab){
        .memory = aligned_alloc(single ? CHUNK_ALIGN : SLAB_BYTES, bytes),
        .count = bytes / CHUNK_BYTES};
    if (!s->memory)
        PANIC("no memory for a chunk");
    if (!single)
        (void)madvise(s->memory, bytes, MADV_HUGEPAGE); /* It may refuse. */
    for (size_t i = s->count; i > 0; i--)
        put_idle(p, s, s->memory + (i - 1) * CHUNK_BYTES);
    return s;
}

static struct slab *slab_with_idle(struct chunk_pool *p)
{
    PRE(mutex_is_held(&p->mutex));
    for (size_t i = 0; p->idle_count > 0 && i < p->slab_count; i++)
        if (p->slabs[i].idle)
            return &p->slabs[i];
    return NULL;
}

static struct slab *slab_of(struct chunk_pool *p, const void *chunk)
{
    PRE(mutex_is_held(&p->mutex));
    for (size_t i = 0; i < p->slab_count; i++)
        if ((uintptr_t)chunk - (uintptr_t)p->slabs[i].memory <
            p->slabs[i].count * CHUNK_BYTES)
            return &p->slabs[i];
    PANIC("a chunk of another pool");
}

void *chunk_pool_take(struct chunk_pool *p)
{
    struct slab *s;
    struct idle_chunk *c;
    mutex_lock(&p->mutex);
    s = slab_with_idle(p);
    if (!s)
        s = add_slab(p);
    c = s->idle;
    INVARIANT(c);
    INVARIANT(s->idle_count > 0);
    s->idle = c->next;
    s->idle_count--;
    p->idle_count--;
    p->out_count++;
    mutex_unlock(&p->mutex);
    return c;
}

/* Take @s, all of whose chunks are idle, out of the pool; returns its memory.
 */
static void *remove_slab(struct chunk_pool *p, struct slab *s)
{
    void *memory = s->memory;
    PRE(s->idle_count == s->count);
    PRE(p->idle_count >= s->count);
    p->idle_count -= s->count;
    *s = p->slabs[--p->slab_count];
    return memory;
}

void chunk_pool_give(struct chunk_pool *p, void *chunk)
{
    struct slab *s;
    void *unneeded = NULL;
    mutex_lock(&p->mutex);
    s = slab_of(p, chunk);
    PRE(p->out_count > 0);
    PRE(s->idle_count < s->count);
    put_idle(p, s, chunk);
    p->out_count--;
    if (p->idle_count > CHUNK_SPARE_COUNT_MAX && s->idle_count == s->count)
        unneeded = remove_slab(p, s);
    mutex_unlock(&p->mutex);
    free(unneeded);
}

size_t chunk_pool_release(struct chunk_pool *p)
{
    size_t bytes = 0;
    mutex_lock(&p->mutex);
    for (size_t i = p->slab_count; i > 0; i--) {
        struct slab *s = &p->slabs[i - 1];
        if (s->idle_count < s->count)
            continue;
        INVARIANT(p->idle_count >= s->count);
        bytes += s->count * CHUNK_BYTES;
        free(remove_slab(p, s));
    }
    mutex_unlock(&p->mutex);
    return bytes;
}

size_t chunk_pool_out(struct chunk_pool *p)
{
    size_t count;
    mutex_lock(&p->mutex);
    count = p->out_count;
    INVARIANT(p->slabs || count == 0);
    mutex_unlock(&p->mutex);
    return count;
}
