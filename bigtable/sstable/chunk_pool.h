/* Chunks of memory of one size that are used again, not given back: the first
 * touch of fresh memory costs up to 3 s a GB on virtual machines, so memtables
 * hand theirs on to the next, and scans their read-ahead windows.
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

/* Idle chunks kept: two memtables of the default size. */
#define CHUNK_SPARE_COUNT_MAX ((size_t)512)

/* A pool without chunks. Owned. */
struct chunk_pool *chunk_pool_new(void);
void chunk_pool_free(struct chunk_pool *p); /* PRE: every chunk came back. */

/* A chunk of CHUNK_BYTES, uninitialised, aligned to CHUNK_ALIGN. Never NULL. */
void *chunk_pool_take(struct chunk_pool *p);
void chunk_pool_give(struct chunk_pool *p, void *chunk);

/* Free the idle chunks, where no chunk beside them is taken: the next ones cost
 * what fresh memory costs. Returns the bytes. */
size_t chunk_pool_release(struct chunk_pool *p);

/* Chunks that are taken. */
size_t chunk_pool_out(struct chunk_pool *p);

#endif /* BIGTABLE_SSTABLE_CHUNK_POOL_H */
