/* Mutations that are used again: a bulk write has a hundred, and the memory of
 * each would be taken and given back.
 *
 * Threads: any.
 */
#ifndef BIGTABLE_GATEWAY_MUTATION_POOL_H
#define BIGTABLE_GATEWAY_MUTATION_POOL_H

#include <stddef.h>

#include "bigtable/client/quarry.h"

struct mutation_pool;

struct mutation_pool *mutation_pool_new(void);
void mutation_pool_free(struct mutation_pool *p); /* NULL is allowed. */

/* Fill @out with @count mutations, each to be reset before its use. They go
 * back by mutation_pool_give(). */
void mutation_pool_take(struct mutation_pool *p,
                        struct quarry_mutation **out,
                        size_t count);
/* Give back @count mutations, which hold @bytes in all, more or less: they are
 * kept if that is little. */
void mutation_pool_give(struct mutation_pool *p,
                        struct quarry_mutation *const *mutations,
                        size_t count,
                        size_t bytes);

#endif /* BIGTABLE_GATEWAY_MUTATION_POOL_H */
