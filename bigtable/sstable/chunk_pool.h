/* Chunks of memory of two sizes that are used again, not given back: the first
 * touch of fresh memory costs up to 3 s a GB on virtual machines, so memtables
 * hand theirs on to the next, and scans their read-ahead windows.
 *
 * A big one is a huge page where the system has them: it is touched at a sixth
 * of the cost, and searches in it find their way by fewer page tables. Who
 * holds little takes small ones, of which only what is used becomes resident.
 *
 * Threads: any.
 */
#ifndef BIGTABLE_SSTABLE_CHUNK_POOL_H
#define BIGTABLE_SSTABLE_CHUNK_POOL_H

#include <stddef.h>

struct chunk_pool;

/* Usable bytes of a chunk, and its alignment, which is that of direct I/O. */
#define CHUNK_BYTES ((size_t)256 << 10)
#define CHUNK_ALIGN ((size_t)4096)

/* Those of a big one. */
#define CHUNK_BIG_BYTES ((size_t)2 << 20)

/* Idle bytes kept of either size: two memtables of the default size. */
#define CHUNK_SPARE_BYTES_MAX ((size_t)128 << 20)

struct chunk_pool *chunk_pool_new(void);
void chunk_pool_free(struct chunk_pool *p); /* PRE: every chunk came back. */

/* A chunk of CHUNK_BYTES, uninitialised, aligned to CHUNK_ALIGN. Never NULL. */
void *chunk_pool_take(struct chunk_pool *p);
void chunk_pool_give(struct chunk_pool *p, void *chunk);
/* The same for CHUNK_BIG_BYTES, aligned to them. */
void *chunk_pool_take_big(struct chunk_pool *p);
void chunk_pool_give_big(struct chunk_pool *p, void *chunk);

#endif /* BIGTABLE_SSTABLE_CHUNK_POOL_H */
