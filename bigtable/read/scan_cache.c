/* Shards of hash tables, each with a queue in order of arrival.
 *
 * Where rows are read at random, hardly any of them twice, looking here first
 * is nothing but a detour, and a miss of the CPU's cache for it is felt. So a
 * bucket tells without looking at its entries what is not in it, has the notes
 * of its keys beside it, and when few lookups are answered only one shard in
 * sixteen is asked any more, as a sample, until that one does well again.
 */
#include "bigtable/read/scan_cache.h"

#include <string.h>

#include "base/core/hash.h"
#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "bigtable/tablet/row_stamps.h"

#define SHARD_COUNT ((size_t)16)
#define HITS_MAX    3
/* One entry has at most this part of its shard, and never more than: */
#define ENTRY_SHARE     ((size_t)8)
#define ENTRY_BYTES_MAX ((size_t)64 << 10)
/* Bytes for each bucket. Sparse, so that most misses end at the bucket. There
 * is a note for half as many bytes: a note must outlive about as many other
 * reads as there may be entries. */
#define BYTES_PER_BUCKET ((size_t)512)
#define BUCKETS_MIN      ((size_t)16)
#define GROUP_SPREAD     UINT64_C(0x9e3779b97f4a7c15)
/* Lookups of the sample between two looks at its hits, in percent of which all
 * shards are asked, or only the sample. */
#define SAMPLE_LOOKUPS 2048
#define HITS_GOOD      25
#define HITS_BAD       15

/* The chain of a bucket in one word: in the lower bits the pointer, in the
 * upper sixteen a set of what its entries' hashes have in four bits. */
#define POINTER_BITS 48
#define POINTER_MASK ((UINT64_C(1) << POINTER_BITS) - 1)

struct bucket {
    _Atomic uint64_t chain; /* Looked at without the lock, too. */
    atomic_uint notes[2];   /* Fingerprints of what was read once: two. */
};

STATIC_ASSERT(sizeof(struct bucket) == 16, "never in two cache lines");

struct shard {
    struct mutex mutex; /* Of what is below and not atomic. */
    struct bucket *buckets;
    struct scan_entry *oldest;
    struct scan_entry *newest;
    size_t bytes;
    size_t entries;
    uint64_t outdated;
    uint64_t admitted;
    uint64_t evicted;
    atomic_ullong hits;
    atomic_ullong lookups;
    char padding[64]; /* Shards do not share a cache line. */
};

struct scan_cache {
    size_t capacity;           /* Of a shard. */
    size_t bucket_count;       /* Of a shard; a power of two. */
    atomic_bool sampling;      /* Only the first shard is asked. */
    atomic_ullong sample_hits; /* Of the first shard, at the last look. */
    struct shard shards[SHARD_COUNT];
};

static size_t power_of_two(size_t n)
{
    size_t p = BUCKETS_MIN;
    while (p < n)
        p *= 2;
    POST((p & (p - 1)) == 0);
    return p;
}

struct scan_cache *scan_cache_new(size_t capacity_bytes)
{
    struct scan_cache *c = mem_zalloc(1, sizeof(*c));
    c->capacity = capacity_bytes / SHARD_COUNT;
    c->bucket_count = power_of_two(c->capacity / BYTES_PER_BUCKET);
    for (size_t i = 0; i < SHARD_COUNT; i++) {
        mutex_init(&c->shards[i].mutex);
        c->shards[i].buckets =
            mem_zalloc(c->bucket_count, sizeof(*c->shards[i].buckets));
    }
    POST((c->bucket_count & (c->bucket_count - 1)) == 0);
    return c;
}

void scan_cache_free(struct scan_cache *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < SHARD_COUNT; i++) {
        struct shard *s = &c->shards[i];
        while (s->oldest) {
            struct scan_entry *e = s->oldest;
            s->oldest = e->newer;
            INVARIANT(atomic_load(&e->refs) == 1);
            mem_free(e);
        }
        mem_free(s->buckets);
        mutex_close(&s->mutex);
    }
    mem_free(c);
}

size_t scan_cache_entry_max(const struct scan_cache *c)
{
    return MIN_OF(c->capacity / ENTRY_SHARE, ENTRY_BYTES_MAX);
}

struct scan_key scan_key_make(uint64_t tablet,
                              uint64_t generation,
                              uint32_t group,
                              struct slice bytes,
                              uint64_t bytes_hash)
{
    uint64_t place = tablet * GROUP_SPREAD + group;
    PRE(bytes.len > 0);
    return (struct scan_key){tablet, generation, group, bytes,
                             hash_mix(bytes_hash ^ place)};
}

/* --- entries ------------------------------------------------------------- */

static char *key_of(struct scan_entry *e)
{
    return scan_entry_bytes(e) + e->bytes_len;
}

static size_t charge_of(const struct scan_entry *e)
{
    return sizeof(*e) + e->pair_count * sizeof(struct scan_pair) +
           e->bytes_len + e->key_len;
}

struct scan_entry *
scan_entry_new(const struct scan_key *k, size_t pair_count, size_t bytes_len)
{
    struct scan_entry *e =
        mem_alloc(sizeof(*e) + pair_count * sizeof(struct scan_pair) +
                  bytes_len + k->bytes.len);
    PRE(pair_count <= UINT32_MAX && bytes_len <= UINT32_MAX);
    *e = (struct scan_entry){.group = k->group,
                             .key_len = (uint32_t)k->bytes.len,
                             .hash = k->hash,
                             .tablet = k->tablet,
                             .generation = k->generation,
                             .pair_count = (uint32_t)pair_count,
                             .bytes_len = (uint32_t)bytes_len};
    atomic_init(&e->refs, 1);
    atomic_init(&e->hits, 0);
    memcpy(key_of(e), k->bytes.data, k->bytes.len);
    return e;
}

void scan_entry_unref(struct scan_entry *e)
{
    unsigned before;
    if (!e)
        return;
    before = atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel);
    INVARIANT(before > 0);
    if (before == 1)
        mem_free(e);
}

static struct shard *shard_of(struct scan_cache *c, uint64_t hash)
{
    return &c->shards[hash >> 60];
}

static struct bucket *
bucket_of(const struct scan_cache *c, const struct shard *s, uint64_t hash)
{
    ASSERT_SLOW(c->bucket_count > 0);
    return &s->buckets[hash & (c->bucket_count - 1)];
}

static uint64_t set_of(uint64_t hash)
{
    return UINT64_C(1) << (POINTER_BITS + (hash >> 40 & 15));
}

static struct scan_entry *first_of(const struct bucket *b)
{
    uint64_t word = atomic_load_explicit(&b->chain, memory_order_relaxed);
    ASSERT_SLOW((word & POINTER_MASK) % _Alignof(struct scan_entry) == 0);
    return (struct scan_entry *)(uintptr_t)(word & POINTER_MASK);
}

static void set_first(struct bucket *b, struct scan_entry *first)
{
    uint64_t word = (uintptr_t)first;
    INVARIANT((word & ~POINTER_MASK) == 0);
    for (const struct scan_entry *e = first; e; e = e->chain)
        word |= set_of(e->hash);
    atomic_store_explicit(&b->chain, word, memory_order_release);
}

static bool may_hold(const struct bucket *b, uint64_t hash)
{
    uint64_t word = atomic_load_explicit(&b->chain, memory_order_acquire);
    return (word & set_of(hash)) != 0;
}

static bool is_of(struct scan_entry *e, const struct scan_key *k)
{
    return e->hash == k->hash && e->tablet == k->tablet &&
           e->group == k->group &&
           slice_eq(slice_make(key_of(e), e->key_len), k->bytes);
}

static struct scan_entry *scan_cache_find(struct scan_entry *e,
                                          const struct scan_key *k)
{
    while (e && !is_of(e, k))
        e = e->chain;
    return e;
}

/* --- the queue ----------------------------------------------------------- */

static void scan_cache_enqueue(struct shard *s, struct scan_entry *e)
{
    INVARIANT(!s->oldest == !s->newest);
    e->newer = NULL;
    e->older = s->newest;
    if (s->newest)
        s->newest->newer = e;
    else
        s->oldest = e;
    s->newest = e;
}

static void scan_cache_dequeue(struct shard *s, struct scan_entry *e)
{
    PRE(s->oldest && s->newest);
    if (e->older)
        e->older->newer = e->newer;
    else
        s->oldest = e->newer;
    if (e->newer)
        e->newer->older = e->older;
    else
        s->newest = e->older;
}

/* Take @e out; the cache's reference moves to *@dropped, chained. */
static void take_out(struct shard *s,
                     struct bucket *bucket,
                     struct scan_entry *e,
                     struct scan_entry **dropped)
{
    struct scan_entry *before = first_of(bucket);
    PRE(may_hold(bucket, e->hash)); /* INV-5 */
    PRE(before);                    /* INV-2 */
    if (before == e) {
        set_first(bucket, e->chain);
    } else {
        struct scan_entry *first = before;
        while (before->chain != e)
            before = before->chain;
        before->chain = e->chain;
        set_first(bucket, first);
    }
    scan_cache_dequeue(s, e);
    INVARIANT(s->bytes >= charge_of(e));
    INVARIANT(s->entries > 0);
    s->bytes -= charge_of(e);
    s->entries--;
    e->chain = *dropped;
    *dropped = e;
}

static void scan_cache_shrink(struct scan_cache *c,
                              struct shard *s,
                              struct scan_entry **dropped)
{
    PRE(mutex_is_held(&s->mutex));
    while (s->bytes > c->capacity) {
        struct scan_entry *e = s->oldest;
        INVARIANT(e); /* INV-4 */
        unsigned char hits =
            atomic_load_explicit(&e->hits, memory_order_relaxed);
        if (hits > 0) {
            atomic_store_explicit(&e->hits, (unsigned char)(hits - 1),
                                  memory_order_relaxed);
            scan_cache_dequeue(s, e);
            scan_cache_enqueue(s, e);
        } else {
            take_out(s, bucket_of(c, s, e->hash), e, dropped);
            s->evicted++;
        }
    }
}

static void unref_chain(struct scan_entry *e)
{
    while (e) {
        struct scan_entry *next = e->chain;
        scan_entry_unref(e);
        e = next;
    }
}

/* @s is locked. */
static void scan_shard_check(const struct scan_cache *c, const struct shard *s)
{
    INVARIANT(s->bytes <= c->capacity); /* INV-4 */
    INVARIANT(!s->oldest == !s->newest);
    INVARIANT(!s->oldest == (s->entries == 0)); /* INV-2 */
    INVARIANT(!s->oldest == (s->bytes == 0));
}

/* --- admission ----------------------------------------------------------- */

static unsigned scan_cache_fingerprint(uint64_t hash)
{
    return (unsigned)(hash >> 28) | 1;
}

static bool is_passed_by(const struct scan_cache *c, uint64_t hash)
{
    return atomic_load_explicit(&c->sampling, memory_order_relaxed) &&
           shard_of((struct scan_cache *)(uintptr_t)c, hash) != &c->shards[0];
}

/* Is it worth asking the other shards, too? */
static void look_at_sample(struct scan_cache *c)
{
    uint64_t hits =
        atomic_load_explicit(&c->shards[0].hits, memory_order_relaxed);
    uint64_t before = atomic_exchange(&c->sample_hits, hits);
    uint64_t percent = (hits - before) * 100 / SAMPLE_LOOKUPS;
    if (percent >= HITS_GOOD)
        atomic_store_explicit(&c->sampling, false, memory_order_relaxed);
    else if (percent < HITS_BAD)
        atomic_store_explicit(&c->sampling, true, memory_order_relaxed);
}

static void put_note(struct bucket *b, unsigned mark)
{
    unsigned older =
        atomic_exchange_explicit(&b->notes[0], mark, memory_order_relaxed);
    atomic_store_explicit(&b->notes[1], older, memory_order_relaxed);
}

static bool has_note(struct bucket *b, unsigned mark)
{
    return atomic_load_explicit(&b->notes[0], memory_order_relaxed) == mark ||
           atomic_load_explicit(&b->notes[1], memory_order_relaxed) == mark;
}

bool scan_cache_wants(struct scan_cache *c, const struct scan_key *k)
{
    struct bucket *b = bucket_of(c, shard_of(c, k->hash), k->hash);
    unsigned mark = scan_cache_fingerprint(k->hash);
    if (is_passed_by(c, k->hash))
        return false;
    if (has_note(b, mark))
        return true;
    put_note(b, mark);
    return false;
}

/* @e was outdated: keep its successor at once if it was of use itself. */
static void note_outdated(struct bucket *b, const struct scan_entry *e)
{
    unsigned mark = scan_cache_fingerprint(e->hash);
    if (atomic_load_explicit(&e->hits, memory_order_relaxed) > 0)
        put_note(b, mark);
    else if (has_note(b, mark))
        put_note(b, 0);
}

/* --- lookups ------------------------------------------------------------- */

enum standing {
    CURRENT,
    OUTDATED, /* For everybody from now on. */
    ELSEWHEN, /* For this reader, who is of the past. */
};

static enum standing standing_of(const struct scan_entry *e,
                                 const struct scan_key *k,
                                 const atomic_ullong *stamp,
                                 uint64_t sequence)
{
    uint64_t written = atomic_load_explicit(stamp, memory_order_acquire);
    if (written > e->sequence || e->generation < k->generation)
        return OUTDATED;
    return written > sequence || e->generation > k->generation ? ELSEWHEN
                                                               : CURRENT;
}

static void note_hit(struct shard *s, struct scan_entry *e)
{
    unsigned char hits = atomic_load_explicit(&e->hits, memory_order_relaxed);
    INVARIANT(hits <= HITS_MAX);
    if (hits < HITS_MAX)
        atomic_store_explicit(&e->hits, (unsigned char)(hits + 1),
                              memory_order_relaxed);
    atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&s->hits, 1, memory_order_relaxed);
}

/* The result of a lookup that found @e. */
static struct scan_entry *scan_cache_use(struct shard *s,
                                         struct bucket *bucket,
                                         struct scan_entry *e,
                                         enum standing standing,
                                         struct scan_entry **outdated)
{
    PRE(mutex_is_held(&s->mutex));
    switch (standing) {
    case CURRENT: note_hit(s, e); return e;
    case ELSEWHEN: return NULL;
    case OUTDATED:
        s->outdated++;
        note_outdated(bucket, e);
        take_out(s, bucket, e, outdated);
        return NULL;
    }
    PANIC("standing %d", (int)standing);
}

struct scan_entry *scan_cache_get(struct scan_cache *c,
                                  const struct scan_key *k,
                                  const struct row_stamps *stamps,
                                  struct slice row,
                                  uint64_t sequence)
{
    struct shard *s = shard_of(c, k->hash);
    struct bucket *bucket = bucket_of(c, s, k->hash);
    struct scan_entry *outdated = NULL;
    struct scan_entry *e = NULL;
    uint64_t lookups;
    if (is_passed_by(c, k->hash))
        return NULL;
    if (may_hold(bucket, k->hash)) {
        mutex_lock(&s->mutex);
        e = scan_cache_find(first_of(bucket), k);
        if (e)
            e = scan_cache_use(
                s, bucket, e,
                standing_of(e, k, row_stamps_slot(stamps, row), sequence),
                &outdated);
        mutex_unlock(&s->mutex);
    }
    INVARIANT(!outdated || !outdated->chain);
    lookups =
        1 + atomic_fetch_add_explicit(&s->lookups, 1, memory_order_relaxed);
    if (UNLIKELY(lookups % SAMPLE_LOOKUPS == 0) && s == &c->shards[0])
        look_at_sample(c);
    scan_entry_unref(outdated);
    return e;
}

static void
scan_cache_insert(struct shard *s, struct bucket *bucket, struct scan_entry *e)
{
    atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
    e->chain = first_of(bucket);
    set_first(bucket, e);
    scan_cache_enqueue(s, e);
    s->bytes += charge_of(e);
    s->entries++;
    s->admitted++;
    POST(may_hold(bucket, e->hash)); /* INV-5 */
}

void scan_cache_put(struct scan_cache *c,
                    struct scan_entry *e,
                    const struct row_stamps *stamps,
                    struct slice row,
                    uint64_t sequence)
{
    struct shard *s = shard_of(c, e->hash);
    struct bucket *bucket = bucket_of(c, s, e->hash);
    const struct scan_key k = {e->tablet, e->generation, e->group,
                               slice_make(key_of(e), e->key_len), e->hash};
    struct scan_entry *dropped = NULL;
    struct scan_entry *old;
    e->sequence = sequence;
    PRE(atomic_load(&e->refs) > 0);
    if (charge_of(e) > c->capacity ||
        atomic_load_explicit(row_stamps_slot(stamps, row),
                             memory_order_acquire) > sequence)
        return;
    mutex_lock(&s->mutex);
    old = scan_cache_find(first_of(bucket), &k);
    if (!old || old->generation <= e->generation) {
        if (old)
            take_out(s, bucket, old, &dropped);
        scan_cache_insert(s, bucket, e);
        scan_cache_shrink(c, s, &dropped);
        scan_shard_check(c, s);
    }
    mutex_unlock(&s->mutex);
    unref_chain(dropped);
}

void scan_cache_stats(struct scan_cache *c, struct scan_cache_stats *out)
{
    *out = (struct scan_cache_stats){.capacity = c->capacity * SHARD_COUNT};
    for (size_t i = 0; i < SHARD_COUNT; i++) {
        struct shard *s = &c->shards[i];
        mutex_lock(&s->mutex);
        INVARIANT(s->bytes <= c->capacity); /* INV-4 */
        out->hits += atomic_load(&s->hits);
        out->misses += atomic_load(&s->lookups);
        out->outdated += s->outdated;
        out->admitted += s->admitted;
        out->evicted += s->evicted;
        out->entries += s->entries;
        out->bytes += s->bytes;
        mutex_unlock(&s->mutex);
    }
    out->misses -= MIN_OF(out->hits, out->misses);
}
