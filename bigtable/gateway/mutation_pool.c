/* A stack of idle mutations. */
#include "bigtable/gateway/mutation_pool.h"

#include "base/core/panic.h"
#include "base/runtime/sync.h"

/* Idle ones kept: what a few dozen bulk writes under way have, */
#define IDLE_MAX ((size_t)8192)
/* if they have no more than so many bytes each on the average. */
#define IDLE_BYTES_MAX ((size_t)4096)

struct mutation_pool {
    struct mutex mutex; /* Guards all below. */
    size_t idle_count;
    struct quarry_mutation *idle[IDLE_MAX]; /* Owned. */
};

struct mutation_pool *mutation_pool_new(void)
{
    struct mutation_pool *p = mem_zalloc(1, sizeof(*p));
    mutex_init(&p->mutex);
    return p;
}

void mutation_pool_free(struct mutation_pool *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->idle_count; i++)
        quarry_mutation_free(p->idle[i]);
    mutex_close(&p->mutex);
    mem_free(p);
}

void mutation_pool_take(struct mutation_pool *p,
                        struct quarry_mutation **out,
                        size_t count)
{
    size_t n = 0;
    mutex_lock(&p->mutex);
    while (n < count && p->idle_count > 0)
        out[n++] = p->idle[--p->idle_count];
    mutex_unlock(&p->mutex);
    while (n < count)
        out[n++] = quarry_mutation_new(SLICE_EMPTY);
}

void mutation_pool_give(struct mutation_pool *p,
                        struct quarry_mutation *const *mutations,
                        size_t count,
                        size_t bytes)
{
    size_t n = 0;
    if (bytes <= count * IDLE_BYTES_MAX) {
        mutex_lock(&p->mutex);
        while (n < count && p->idle_count < IDLE_MAX)
            p->idle[p->idle_count++] = mutations[n++];
        mutex_unlock(&p->mutex);
    }
    while (n < count)
        quarry_mutation_free(mutations[n++]);
}
