/* A stack of idle chunks under a mutex: taken once in 256 KiB, so its lock is
 * not on a hot path.
 */
#include "bigtable/sstable/chunk_pool.h"

#include <stdlib.h>

#include "base/core/panic.h"
#include "base/runtime/sync.h"

struct idle_chunk {
    struct idle_chunk *next;
};

struct chunk_pool {
    struct mutex mutex; /* Of the stack; chunks come back on any thread. */
    struct idle_chunk *idle;
    size_t idle_count;
    size_t out_count; /* Taken and not given back. */
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
    while (p->idle) {
        struct idle_chunk *c = p->idle;
        p->idle = c->next;
        free(c);
    }
    mutex_close(&p->mutex);
    mem_free(p);
}

void *chunk_pool_take(struct chunk_pool *p)
{
    struct idle_chunk *c;

    mutex_lock(&p->mutex);
    c = p->idle;
    if (c) {
        p->idle = c->next;
        p->idle_count--;
    }
    p->out_count++;
    mutex_unlock(&p->mutex);
    if (!c)
        c = aligned_alloc(CHUNK_ALIGN, CHUNK_BYTES);
    if (!c)
        PANIC("no memory for a chunk");
    return c;
}

void chunk_pool_give(struct chunk_pool *p, void *chunk)
{
    struct idle_chunk *c = chunk;

    mutex_lock(&p->mutex);
    p->out_count--;
    if (p->idle_count < CHUNK_SPARE_COUNT_MAX) {
        c->next = p->idle;
        p->idle = c;
        p->idle_count++;
        c = NULL;
    }
    mutex_unlock(&p->mutex);
    free(c);
}
