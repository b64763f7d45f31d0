/* The scan cache: what the tables gave back for rows and columns that are read
 * again and again. It lies above the block cache and saves the whole way down:
 * filters, indexes, blocks, and the merge of many tables.
 *
 * An entry is either the newest cell of one column, or all entries of one row
 * in one locality group, as they are stored: the reader judges
 * deletions, versions and age. It belongs to a tablet and a generation of the
 * schema; tablets never change their range, so splits and dropped rows make new
 * ones, and entries of the old ones are evicted in time.
 *
 * Validity. An entry tells the sequence number S up to which it has everything.
 * Each write stamps the slot its row hashes to (row_stamps.h) before anybody
 * can see it. For a reader who sees numbers up to R the entry is what he would
 * read himself if nothing was written to the row behind the lower of the two:
 * stamp <= min(S, R). Nothing has to be looked for when rows are written.
 *
 * Admission. A row that is read once is not kept: its hash is noted, and only
 * if it is read again before others overwrite the note does the reader put it
 * in. So a walk over many rows, each read once, changes nothing. Room is made
 * in the order of arrival, with another round for what was asked for meanwhile.
 * While hardly any lookup is answered, most are not tried (and not counted).
 *
 * Threads: any. Locks: each shard has its own, held for a few lines, because a
 * lookup must take its reference before an eviction can; a lookup of what is
 * not there mostly takes none.
 *
 * Invariants
 *     INV-1. An entry is handed out only if its row's stamp is at most S and at
 *            most R, and its generation is the reader's.
 *     INV-2. An entry in the cache is in the chain of its bucket and in the
 *            queue of its shard, and the cache has one reference to it.
 *     INV-3. Of one tablet, group and key there is at most one entry.
 *     INV-4. The entries of a shard have at most its share of the capacity,
 *            except inside a put.
 *     INV-5. The set of a bucket has the bits of all entries in its chain.
 */
#ifndef BIGTABLE_READ_SCAN_CACHE_H
#define BIGTABLE_READ_SCAN_CACHE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/macros.h"
#include "base/core/slice.h"

struct scan_cache;
struct row_stamps;

/* The key of a lookup. */
struct scan_key {
    uint64_t tablet;     /* Its `life`: another one each time it is opened. */
    uint64_t generation; /* Of the schema; not part of the hash. */
    uint32_t group;      /* Index in the tablet. */
    struct slice bytes;  /* Encoded row, or encoded column. */
    uint64_t hash;       /* scan_key_make() sets it. */
};

/* Where one stored entry of a row lies in the bytes of a scan_entry. */
struct scan_pair {
    uint32_t key_at;
    uint32_t key_len;
    uint32_t value_at;
    uint32_t value_len;
};

/* Shared by reference count. While it is in the cache its contents do not
 * change; its links are under the shard's lock. */
struct scan_entry {
    struct scan_entry *chain; /* Next in its bucket. */
    struct scan_entry *older; /* In order of arrival. */
    struct scan_entry *newer;
    atomic_uint refs;  /* One of the cache's, while it is in it. */
    atomic_uchar hits; /* Since it came or was spared, at most 3. */
    bool oversized;    /* Stands for a row that is too large to keep. */
    uint32_t group;    /* Of its key, as the next ones. */
    uint32_t key_len;
    uint64_t hash;
    uint64_t tablet;
    uint64_t generation;
    uint64_t sequence;    /* S above. */
    int64_t timestamp_us; /* Of a cell. */
    uint32_t pair_count;  /* Of a row: scan_entry_pair(). */
    uint32_t bytes_len;   /* A cell's value; what the pairs point into. */
    char data[];          /* The pairs, the bytes, then the key. */
};

static inline const struct scan_pair *
scan_entry_pair(const struct scan_entry *e, size_t i)
{
    return (const struct scan_pair *)(const void *)e->data + i;
}

/* The bytes that pairs point into. */
static inline char *scan_entry_bytes(struct scan_entry *e)
{
    return e->data + e->pair_count * sizeof(struct scan_pair);
}

/* A cache of about @capacity_bytes. Owned. */
struct scan_cache *scan_cache_new(size_t capacity_bytes);
/* PRE: no entry is held. NULL is allowed. */
void scan_cache_free(struct scan_cache *c);

/* The most bytes one entry may have. */
size_t scan_cache_entry_max(const struct scan_cache *c);

/* @bytes_hash is hash64_slice(@bytes). */
struct scan_key scan_key_make(uint64_t tablet,
                              uint64_t generation,
                              uint32_t group,
                              struct slice bytes,
                              uint64_t bytes_hash);

/* The entry of @k with one more reference, for a reader who sees numbers up to
 * @sequence, which was read before the call; NULL when there is none or @row (a
 * plain name) was written since. */
struct scan_entry *scan_cache_get(struct scan_cache *c,
                                  const struct scan_key *k,
                                  const struct row_stamps *stamps,
                                  struct slice row,
                                  uint64_t sequence);

/* @k was read from below: is that worth keeping? Notes it if not. */
bool scan_cache_wants(struct scan_cache *c, const struct scan_key *k);

/* An entry for @k with room for @pair_count pairs and @bytes_len bytes, one
 * reference, not in the cache. */
struct scan_entry *
scan_entry_new(const struct scan_key *k, size_t pair_count, size_t bytes_len);

/* Put @e into the cache, in the place of another of its key, as what was there
 * at @sequence, unless @row was written since. Keeps the caller's reference.
 */
void scan_cache_put(struct scan_cache *c,
                    struct scan_entry *e,
                    const struct row_stamps *stamps,
                    struct slice row,
                    uint64_t sequence);

void scan_entry_unref(struct scan_entry *e); /* NULL is allowed. */

struct scan_cache_stats {
    uint64_t hits;
    uint64_t misses;   /* Outdated ones included. */
    uint64_t outdated; /* The row, or the schema, had changed. */
    uint64_t admitted;
    uint64_t evicted; /* For want of room. */
    size_t entries;
    size_t bytes;
    size_t capacity;
};

void scan_cache_stats(struct scan_cache *c, struct scan_cache_stats *out);

#endif /* BIGTABLE_READ_SCAN_CACHE_H */
