/* The S3-FIFO cache of block_cache.h, in shards by hash, so that threads rarely
 * meet on a lock. Each shard has its own queues, ghosts and share of the bytes.
 */
#include "bigtable/sstable/block_cache.h"

#include <string.h>

#include "base/core/hash.h"
#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "bigtable/sstable/chunk_pool.h"
#include "bigtable/sstable/decoder.h"
#include "bigtable/sstable/table_meter.h"

#define SHARD_COUNT       16
#define SHARD_BUCKETS_MIN 64
#define PINNED_BYTES_MIN  ((size_t)16 << 20)
#define HITS_MAX          3
/* Blocks that can be loaded at once, but for those that share a lock. */
#define LOAD_LOCK_COUNT 1024
/* Freed blocks kept by a shard for reuse: fresh memory is expensive. */
#define SHARD_SPARE_BYTES ((size_t)256 << 10)
#define SPARE_SLACK_BYTES 1024

struct block_queue {
    struct cached_block *oldest;
    struct cached_block *newest;
    size_t bytes;
};

struct shard {
    struct mutex mutex; /* Of all below: see the header. */
    struct cached_block **buckets;
    size_t bucket_count; /* A power of two. */
    size_t block_count;
    struct block_queue small;
    struct block_queue main;
    uint32_t *ghosts; /* Fingerprints of the recently evicted, by hash. */
    size_t ghost_count;
    size_t capacity;
    struct cached_block *spare; /* Freed blocks, linked by chain. */
    size_t spare_bytes;
    uint64_t hits;
    uint64_t misses;
    uint64_t evicted;
    char padding[64]; /* Shards do not share a cache line. */
};

struct block_cache {
    struct shard shards[SHARD_COUNT];
    struct mutex loads[LOAD_LOCK_COUNT]; /* By the block's hash. */
    atomic_ullong next_file;
    atomic_ullong file_bytes; /* Of the open files. */
    atomic_size_t pinned_bytes;
    size_t pinned_bytes_max;
    struct decoder_pool *decoders;
    struct chunk_pool *chunks;
    struct table_meter meter;
};

static uint64_t block_hash(uint64_t file, uint64_t offset)
{
    return hash_mix(file * UINT64_C(0x9e3779b97f4a7c15) + offset);
}

static struct shard *shard_of(struct block_cache *c, uint64_t hash)
{
    return &c->shards[hash >> 60];
}

static size_t block_charge(const struct cached_block *b)
{
    return sizeof(*b) + b->capacity;
}

struct block_cache *block_cache_new(size_t capacity_bytes)
{
    struct block_cache *c = mem_zalloc(1, sizeof(*c));

    STATIC_ASSERT(SHARD_COUNT == 1 << 4, "shard_of takes four bits");
    for (size_t i = 0; i < SHARD_COUNT; i++) {
        struct shard *s = &c->shards[i];
        mutex_init(&s->mutex);
        s->capacity = capacity_bytes / SHARD_COUNT;
        s->bucket_count = SHARD_BUCKETS_MIN;
        s->buckets = mem_zalloc(s->bucket_count, sizeof(struct cached_block *));
        s->ghost_count = SHARD_BUCKETS_MIN;
        s->ghosts = mem_zalloc(s->ghost_count, sizeof(uint32_t));
    }
    for (size_t i = 0; i < LOAD_LOCK_COUNT; i++)
        mutex_init(&c->loads[i]);
    c->pinned_bytes_max = MAX_OF(capacity_bytes / 4, PINNED_BYTES_MIN);
    atomic_init(&c->next_file, 1);
    atomic_init(&c->pinned_bytes, 0);
    atomic_init(&c->file_bytes, 0);
    c->decoders = decoder_pool_new();
    c->chunks = chunk_pool_new();
    return c;
}

static void free_shard(struct shard *s)
{
    struct cached_block *b;

    for (size_t i = 0; i < s->bucket_count; i++) {
        while ((b = s->buckets[i])) {
            s->buckets[i] = b->chain;
            INVARIANT(atomic_load(&b->refs) == 1);
            mem_free(b);
        }
    }
    while ((b = s->spare)) {
        s->spare = b->chain;
        s->spare_bytes -= b->capacity;
        mem_free(b);
    }
    INVARIANT(s->spare_bytes == 0);
    mem_free(s->buckets);
    mem_free(s->ghosts);
    mutex_close(&s->mutex);
}

void block_cache_free(struct block_cache *c)
{
    if (!c)
        return;
    PRE(atomic_load(&c->file_bytes) == 0);
    for (size_t i = 0; i < SHARD_COUNT; i++)
        free_shard(&c->shards[i]);
    for (size_t i = 0; i < LOAD_LOCK_COUNT; i++)
        mutex_close(&c->loads[i]);
    decoder_pool_free(c->decoders);
    chunk_pool_free(c->chunks);
    mem_free(c);
}

uint64_t block_cache_new_file(struct block_cache *c)
{
    return atomic_fetch_add(&c->next_file, 1);
}

/* --- memory of blocks ---------------------------------------------------- */

/* The shard whose spare list has blocks of this size, so that those of one size
 * meet. */
static struct shard *spare_shard(struct block_cache *c, size_t bytes)
{
    return &c->shards[hash_mix(bytes / SPARE_SLACK_BYTES) >> 60];
}

struct cached_block *block_cache_alloc(struct block_cache *c, size_t bytes)
{
    size_t rounded =
        (bytes + SPARE_SLACK_BYTES - 1) / SPARE_SLACK_BYTES * SPARE_SLACK_BYTES;
    struct shard *s = spare_shard(c, rounded);
    struct cached_block *b = NULL;

    if (rounded < bytes || rounded > UINT32_MAX)
        return NULL;
    mutex_lock(&s->mutex);
    if (s->spare && s->spare->capacity >= rounded &&
        s->spare->capacity <= rounded + SPARE_SLACK_BYTES) {
        b = s->spare;
        s->spare = b->chain;
        INVARIANT(s->spare_bytes >= b->capacity); /* INV-3 */
        s->spare_bytes -= b->capacity;
    }
    mutex_unlock(&s->mutex);
    if (!b) {
        b = mem_try_alloc(sizeof(*b) + rounded);
        if (!b)
            return NULL;
        b->capacity = (uint32_t)rounded;
    }
    b->cache = c;
    b->chain = b->newer = NULL;
    b->file = b->offset = 0;
    b->len = (uint32_t)bytes;
    atomic_init(&b->refs, 1);
    atomic_init(&b->hits, 0);
    return b;
}

/* @s is locked. */
static void shard_check(const struct shard *s)
{
    INVARIANT(s->small.bytes + s->main.bytes <= s->capacity); /* INV-1 */
    INVARIANT(s->small.oldest || s->small.bytes == 0);        /* INV-2 */
    INVARIANT(s->main.oldest || s->main.bytes == 0);
    INVARIANT(s->spare_bytes <= SHARD_SPARE_BYTES); /* INV-3 */
    INVARIANT(s->block_count <= s->bucket_count);
}

static void block_cache_recycle(struct cached_block *b)
{
    struct shard *s = spare_shard(b->cache, b->capacity);

    PRE(atomic_load_explicit(&b->refs, memory_order_relaxed) == 0);
    if (b->capacity <= SHARD_SPARE_BYTES / 2) {
        mutex_lock(&s->mutex);
        if (s->spare_bytes + b->capacity <= SHARD_SPARE_BYTES) {
            b->chain = s->spare;
            s->spare = b;
            s->spare_bytes += b->capacity;
            b = NULL;
        }
        mutex_unlock(&s->mutex);
    }
    mem_free(b);
}

void cached_block_unref(struct cached_block *b)
{
    unsigned before;

    if (!b)
        return;
    before = atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel);
    INVARIANT(before > 0);
    if (before == 1)
        block_cache_recycle(b);
}

/* --- queues -------------------------------------------------------------- */

static void queue_push(struct block_queue *q, struct cached_block *b)
{
    INVARIANT(!q->oldest == !q->newest); /* INV-2 */
    b->newer = NULL;
    if (q->newest)
        q->newest->newer = b;
    else
        q->oldest = b;
    q->newest = b;
    q->bytes += block_charge(b);
}

static struct cached_block *queue_pop(struct block_queue *q)
{
    struct cached_block *b = q->oldest;

    if (!b)
        return NULL;
    q->oldest = b->newer;
    if (!q->oldest)
        q->newest = NULL;
    INVARIANT(q->bytes >= block_charge(b));
    q->bytes -= block_charge(b);
    POST(q->oldest || q->bytes == 0); /* INV-2 */
    return b;
}

/* --- the hash table ------------------------------------------------------ */

static struct cached_block **
find_slot(struct shard *s, uint64_t hash, uint64_t file, uint64_t offset)
{
    struct cached_block **p = &s->buckets[hash & (s->bucket_count - 1)];
    ASSERT_SLOW(mutex_is_held(&s->mutex));
    ASSERT_SLOW((s->bucket_count & (s->bucket_count - 1)) == 0);

    while (*p && ((*p)->file != file || (*p)->offset != offset))
        p = &(*p)->chain;
    return p;
}

static void grow_buckets(struct shard *s)
{
    size_t count = s->bucket_count * 2;
    struct cached_block **to = mem_zalloc(count, sizeof(struct cached_block *));

    INVARIANT((s->bucket_count & (s->bucket_count - 1)) == 0);
    for (size_t i = 0; i < s->bucket_count; i++) {
        struct cached_block *b = s->buckets[i];
        while (b) {
            struct cached_block *next = b->chain;
            uint64_t hash = block_hash(b->file, b->offset);
            b->chain = to[hash & (count - 1)];
            to[hash & (count - 1)] = b;
            b = next;
        }
    }
    mem_free(s->buckets);
    s->buckets = to;
    s->bucket_count = count;
    /* As many ghosts as blocks; forgetting the old ones is harmless. */
    mem_free(s->ghosts);
    s->ghost_count = count;
    s->ghosts = mem_zalloc(count, sizeof(uint32_t));
}

static uint32_t block_cache_fingerprint(uint64_t hash)
{
    return (uint32_t)(hash >> 28) | 1;
}

static bool is_ghost(const struct shard *s, uint64_t hash)
{
    return s->ghosts[hash & (s->ghost_count - 1)] ==
           block_cache_fingerprint(hash);
}

/* Take @b out of the table; the cache's reference moves to *@evicted. */
static void block_cache_evict(struct shard *s,
                              struct cached_block *b,
                              bool remember,
                              struct cached_block **evicted)
{
    uint64_t hash = block_hash(b->file, b->offset);
    struct cached_block **slot = find_slot(s, hash, b->file, b->offset);

    INVARIANT(*slot == b);
    INVARIANT(s->block_count > 0);
    *slot = b->chain;
    s->block_count--;
    if (remember)
        s->ghosts[hash & (s->ghost_count - 1)] = block_cache_fingerprint(hash);
    s->evicted++;
    b->chain = *evicted;
    *evicted = b;
}

static void shrink_small(struct shard *s, struct cached_block **evicted)
{
    struct cached_block *b = queue_pop(&s->small);

    INVARIANT(b);
    if (atomic_load_explicit(&b->hits, memory_order_relaxed) > 0) {
        atomic_store_explicit(&b->hits, 0, memory_order_relaxed);
        queue_push(&s->main, b);
    } else {
        block_cache_evict(s, b, true, evicted);
    }
}

static void shrink_main(struct shard *s, struct cached_block **evicted)
{
    struct cached_block *b = queue_pop(&s->main);
    unsigned char hits = atomic_load_explicit(&b->hits, memory_order_relaxed);

    INVARIANT(hits <= HITS_MAX);
    if (hits > 0) {
        atomic_store_explicit(&b->hits, (unsigned char)(hits - 1),
                              memory_order_relaxed);
        queue_push(&s->main, b);
    } else {
        block_cache_evict(s, b, false, evicted);
    }
}

/* Make the shard fit again. Blocks that fell out are chained at *@evicted. */
static void block_cache_shrink(struct shard *s, struct cached_block **evicted)
{
    PRE(mutex_is_held(&s->mutex));
    while (s->small.bytes + s->main.bytes > s->capacity) {
        if (s->small.oldest &&
            (s->small.bytes > s->capacity / 10 || !s->main.oldest))
            shrink_small(s, evicted);
        else if (s->main.oldest)
            shrink_main(s, evicted);
        else
            break;
    }
    POST(s->small.bytes + s->main.bytes <= s->capacity); /* INV-1 */
}

/* --- lookups ------------------------------------------------------------- */

/* @is_retry: its miss was counted before. */
static struct cached_block *
look_up(struct block_cache *c, uint64_t file, uint64_t offset, bool is_retry)
{
    uint64_t hash = block_hash(file, offset);
    struct shard *s = shard_of(c, hash);
    struct cached_block *b;

    mutex_lock(&s->mutex);
    b = *find_slot(s, hash, file, offset);
    if (b) {
        unsigned char hits =
            atomic_load_explicit(&b->hits, memory_order_relaxed);
        ASSERT_SLOW(atomic_load(&b->refs) > 0); /* INV-4 */
        cached_block_ref(b);
        if (hits < HITS_MAX)
            atomic_store_explicit(&b->hits, (unsigned char)(hits + 1),
                                  memory_order_relaxed);
        s->hits += !is_retry;
    } else {
        s->misses += !is_retry;
    }
    mutex_unlock(&s->mutex);
    return b;
}

struct cached_block *
block_cache_get(struct block_cache *c, uint64_t file, uint64_t offset)
{
    return look_up(c, file, offset, false);
}

/* --- loading ------------------------------------------------------------- */

static struct mutex *
load_lock(struct block_cache *c, uint64_t file, uint64_t offset)
{
    return &c->loads[block_hash(file, offset) % LOAD_LOCK_COUNT];
}

struct cached_block *
block_cache_begin_load(struct block_cache *c, uint64_t file, uint64_t offset)
{
    struct mutex *lock = load_lock(c, file, offset);
    struct cached_block *b;

    mutex_lock(lock);
    b = look_up(c, file, offset, true);
    if (b)
        mutex_unlock(lock);
    return b;
}

void block_cache_end_load(struct block_cache *c, uint64_t file, uint64_t offset)
{
    PRE(mutex_is_held(load_lock(c, file, offset)));
    mutex_unlock(load_lock(c, file, offset));
}

struct cached_block *block_cache_put(struct block_cache *c,
                                     uint64_t file,
                                     uint64_t offset,
                                     struct cached_block *b)
{
    uint64_t hash = block_hash(file, offset);
    struct shard *s = shard_of(c, hash);
    struct cached_block *evicted = NULL;
    struct cached_block **slot;

    PRE(b->cache == c);
    PRE(b->len <= b->capacity);
    if (block_charge(b) > s->capacity)
        return b; /* It would only push out everything else. */
    mutex_lock(&s->mutex);
    slot = find_slot(s, hash, file, offset);
    if (*slot) {
        evicted = b;
        b = cached_block_ref(*slot);
        evicted->chain = NULL;
    } else {
        b->file = file;
        b->offset = offset;
        b->chain = NULL;
        *slot = cached_block_ref(b);
        queue_push(is_ghost(s, hash) ? &s->main : &s->small, b);
        if (++s->block_count > s->bucket_count)
            grow_buckets(s);
        block_cache_shrink(s, &evicted);
        shard_check(s);
    }
    mutex_unlock(&s->mutex);
    while (evicted) {
        struct cached_block *next = evicted->chain;
        cached_block_unref(evicted);
        evicted = next;
    }
    return b;
}

/* --- the rest ------------------------------------------------------------ */

bool block_cache_reserve(struct block_cache *c, size_t bytes)
{
    size_t old = atomic_fetch_add(&c->pinned_bytes, bytes);

    if (old + bytes <= c->pinned_bytes_max)
        return true;
    atomic_fetch_sub(&c->pinned_bytes, bytes);
    return false;
}

void block_cache_unreserve(struct block_cache *c, size_t bytes)
{
    size_t before = atomic_fetch_sub(&c->pinned_bytes, bytes);

    INVARIANT(before >= bytes);
}

void block_cache_add_file(struct block_cache *c, uint64_t bytes)
{
    atomic_fetch_add_explicit(&c->file_bytes, bytes, memory_order_relaxed);
}

void block_cache_remove_file(struct block_cache *c, uint64_t bytes)
{
    uint64_t before =
        atomic_fetch_sub_explicit(&c->file_bytes, bytes, memory_order_relaxed);
    POST(before >= bytes);
}

uint64_t block_cache_file_bytes(struct block_cache *c)
{
    return atomic_load_explicit(&c->file_bytes, memory_order_relaxed);
}

void block_cache_stats(struct block_cache *c, struct block_cache_stats *out)
{
    *out = (struct block_cache_stats){.pinned_bytes =
                                          atomic_load(&c->pinned_bytes)};
    for (size_t i = 0; i < SHARD_COUNT; i++) {
        struct shard *s = &c->shards[i];
        mutex_lock(&s->mutex);
        INVARIANT(s->small.bytes + s->main.bytes <= s->capacity); /* INV-1 */
        out->hits += s->hits;
        out->misses += s->misses;
        out->evicted += s->evicted;
        out->bytes += s->small.bytes + s->main.bytes;
        mutex_unlock(&s->mutex);
    }
}

struct decoder_pool *block_cache_decoders(struct block_cache *c)
{
    return c->decoders;
}

struct table_meter *block_cache_meter(struct block_cache *c)
{
    return &c->meter;
}

struct chunk_pool *block_cache_chunks(struct block_cache *c)
{
    return c->chunks;
}
