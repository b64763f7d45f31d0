/* Decoded blocks of tables, shared by all readers of a store and bounded.
 *
 * Replacement is S3-FIFO: a new block enters a small queue (a tenth of the
 * bytes) and moves to the main one only if it was asked for again, or if it is
 * remembered as recently thrown out. So a scan that touches each block once
 * flows through the small queue and leaves the hot blocks alone. A hit sets a
 * counter and moves nothing.
 *
 * Blocks are handed out by reference, without a copy; one that is evicted lives
 * until its last user lets go, so the bound can be passed by what is in use.
 *
 * The cache also keeps what its users recycle: idle decompression contexts and
 * the chunks of memtables (see decoder.h, chunk_pool.h).
 *
 * Threads: any. Locks: each shard has its own, held for a few lines; it exists
 * because a lookup must take its reference before an eviction can. Those of
 * loads are held while a block is read, so that many who miss it read it once.
 *
 * Invariants, of each shard, while its lock is free
 *     INV-1. Its queues charge no more than its share of the capacity.
 *     INV-2. A queue without a block charges nothing, and has neither an
 *            oldest nor a newest.
 *     INV-3. Freed blocks kept for reuse have no reference, and no more than
 *            SHARD_SPARE_BYTES together.
 *     INV-4. A block of the hash table is in one queue, and the cache has one
 *            reference to it.
 */
#ifndef BIGTABLE_SSTABLE_BLOCK_CACHE_H
#define BIGTABLE_SSTABLE_BLOCK_CACHE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/macros.h"

struct block_cache;
struct chunk_pool;
struct decoder_pool;
struct table_meter;

/* A block in memory, shared by reference count. */
struct cached_block {
    struct block_cache *cache;
    struct cached_block *chain; /* Next in its hash bucket. */
    struct cached_block *newer; /* Next in its queue. */
    uint64_t file;              /* block_cache_new_file(). */
    uint64_t offset;            /* In the file. */
    atomic_uint refs;           /* One of the cache's, while it is in it. */
    atomic_uchar hits;          /* Since it entered its queue, at most 3. */
    uint32_t capacity;          /* Bytes allocated at data. */
    uint32_t len;               /* Bytes of the block. */
    char data[];
};

/* A cache of about @capacity_bytes. Owned. */
struct block_cache *block_cache_new(size_t capacity_bytes);
/* PRE: no block is held. NULL is allowed. */
void block_cache_free(struct block_cache *c);

/* A number for a file that was just opened, never given before. */
uint64_t block_cache_new_file(struct block_cache *c);

/* An empty block with room for @bytes, one reference, not in the cache. NULL
 * when memory is short. */
MUST_CHECK struct cached_block *block_cache_alloc(struct block_cache *c,
                                                  size_t bytes);

/* The block of @file at @offset with one more reference, or NULL. */
struct cached_block *
block_cache_get(struct block_cache *c, uint64_t file, uint64_t offset);

/* To be called after block_cache_get() found nothing, before the block is
 * loaded: waits for others who are loading it. Returns what they put there, as
 * block_cache_get(); NULL: the caller is to load it, and to call
 * block_cache_end_load() in any case. One at a time. Parks. */
struct cached_block *
block_cache_begin_load(struct block_cache *c, uint64_t file, uint64_t offset);
void block_cache_end_load(struct block_cache *c,
                          uint64_t file,
                          uint64_t offset);

/* Put @b, filled and from block_cache_alloc(), into the cache. If another was
 * faster, that one is returned and @b is released. The caller's reference is to
 * the one returned. */
struct cached_block *block_cache_put(struct block_cache *c,
                                     uint64_t file,
                                     uint64_t offset,
                                     struct cached_block *b);

static inline struct cached_block *cached_block_ref(struct cached_block *b)
{
    atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
    return b;
}

void cached_block_unref(struct cached_block *b); /* NULL is allowed. */

/* Ask for @bytes of the share of memory (a quarter of the capacity, 16 MiB at
 * least) that may be pinned outside the queues, for indexes and filters. */
bool block_cache_reserve(struct block_cache *c, size_t bytes);
void block_cache_unreserve(struct block_cache *c, size_t bytes);

/* Readers say here how large their files are: a file of @bytes was opened, or
 * closed. */
void block_cache_add_file(struct block_cache *c, uint64_t bytes);
void block_cache_remove_file(struct block_cache *c, uint64_t bytes);
/* The sizes of all files that are open. */
uint64_t block_cache_file_bytes(struct block_cache *c);

struct block_cache_stats {
    uint64_t hits;
    uint64_t misses;
    uint64_t evicted;    /* Blocks dropped for want of room. */
    size_t bytes;        /* In the queues. */
    size_t pinned_bytes; /* Reserved. */
};

/* Sums over all shards, each at its own instant. */
void block_cache_stats(struct block_cache *c, struct block_cache_stats *out);

/* Borrowed; live as long as the cache. */
struct decoder_pool *block_cache_decoders(struct block_cache *c);
struct chunk_pool *block_cache_chunks(struct block_cache *c);
struct table_meter *block_cache_meter(struct block_cache *c);

#endif /* BIGTABLE_SSTABLE_BLOCK_CACHE_H */
