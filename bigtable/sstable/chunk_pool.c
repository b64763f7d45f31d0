/* Stacks of idle chunks under a mutex: taken once in 256 KiB, so its lock is
 * not on a hot path.
 */
#define _DEFAULT_SOURCE /* MADV_HUGEPAGE */
#include "bigtable/sstable/chunk_pool.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "base/core/panic.h"
#include "base/runtime/sync.h"

struct idle_chunk {
    struct idle_chunk *next;
};

/* Chunks of one size. */
struct chunk_stack {
    size_t bytes; /* Of each, */
    size_t align; /* and what they are aligned to. */
    struct idle_chunk *idle;
    size_t idle_count;
};

struct chunk_pool {
    struct mutex mutex; /* Of the stacks; chunks come back on any thread. */
    struct chunk_stack small;
    struct chunk_stack big;
    size_t out_count; /* Taken and not given back. */
};

struct chunk_pool *chunk_pool_new(void)
{
    struct chunk_pool *p = mem_zalloc(1, sizeof(*p));
    p->small = (struct chunk_stack){.bytes = CHUNK_BYTES, .align = CHUNK_ALIGN};
    p->big = (struct chunk_stack){.bytes = CHUNK_BIG_BYTES,
                                  .align = CHUNK_BIG_BYTES};
    mutex_init(&p->mutex);
    return p;
}

static void free_idle(struct chunk_stack *s)
{
    while (s->idle) {
        struct idle_chunk *c = s->idle;
        s->idle = c->next;
        free(c);
    }
}

void chunk_pool_free(struct chunk_pool *p)
{
    INVARIANT(p->out_count == 0);
    free_idle(&p->small);
    free_idle(&p->big);
    mutex_close(&p->mutex);
    mem_free(p);
}

static void *new_chunk(const struct chunk_stack *s)
{
    void *c = aligned_alloc(s->align, s->bytes);
    if (!c)
        PANIC("no memory for a chunk");
    if (s->bytes == CHUNK_BIG_BYTES &&
        madvise(c, s->bytes, MADV_HUGEPAGE) != 0) {
        /* Small pages serve as well. */
    }
    return c;
}

static void *take(struct chunk_pool *p, struct chunk_stack *s)
{
    struct idle_chunk *c;

    mutex_lock(&p->mutex);
    c = s->idle;
    if (c) {
        s->idle = c->next;
        s->idle_count--;
    }
    p->out_count++;
    mutex_unlock(&p->mutex);
    return c ? c : new_chunk(s);
}

static void give(struct chunk_pool *p, struct chunk_stack *s, void *chunk)
{
    struct idle_chunk *c = chunk;

    mutex_lock(&p->mutex);
    p->out_count--;
    if (s->idle_count < CHUNK_SPARE_BYTES_MAX / s->bytes) {
        c->next = s->idle;
        s->idle = c;
        s->idle_count++;
        c = NULL;
    }
    mutex_unlock(&p->mutex);
    free(c);
}

void *chunk_pool_take(struct chunk_pool *p)
{
    return take(p, &p->small);
}

void chunk_pool_give(struct chunk_pool *p, void *chunk)
{
    give(p, &p->small, chunk);
}

void *chunk_pool_take_big(struct chunk_pool *p)
{
    return take(p, &p->big);
}

void chunk_pool_give_big(struct chunk_pool *p, void *chunk)
{
    give(p, &p->big, chunk);
}
